//! What a sweep asks for, checked: the values of its parameters, how many candidates they make, the seeds and the order
//! of strata.

use std::collections::HashSet;

use sim_core::random::{Purpose, below, stream};

use super::MOST_POINTS;
use crate::sweep::error::SweepError;
use crate::sweep::spec::{Sampling, SweepSpec};
use crate::sweep::values::Values;

/// Draws a random sample makes for each of its settings before it gives up.
const DRAWS: u64 = 1000;
/// Where the streams of seeds and of strata begin; below are those of random settings.
const SEED_STREAMS: u64 = 1 << 40;
pub(super) const STRATUM_STREAMS: u64 = 1 << 41;

/// The values of each parameter.
pub(super) fn parameters(spec: &SweepSpec) -> Result<Vec<(String, Values)>, SweepError> {
    if spec.parameters.is_empty() {
        return Err(SweepError::Spec(
            "there is nothing to sweep: give the scenario a \"sweep\" block with parameters, or name some: --param \
             switch.ecn.kmin=100KB,200KB,400KB"
                .to_string(),
        ));
    }
    let mut all: Vec<(String, Values)> = Vec::new();
    for parameter in &spec.parameters {
        let path = &parameter.path;
        let refuse = |why: &str| SweepError::parameter(path, why);
        if path.split('.').any(|part| part.trim().is_empty()) || path.contains(['=', ' ']) {
            return Err(refuse("this is no path: write it as switch.ecn.kmin"));
        }
        match path.split('.').next() {
            Some("seed") => return Err(refuse("seeds are not swept but repeated: --repeat N")),
            Some("sweep" | "schema_version" | "name") => return Err(refuse("this cannot be swept")),
            _ => {}
        }
        for (earlier, _) in &all {
            if earlier == path {
                return Err(refuse("it stands in the sweep twice: its points would be run twice"));
            }
            if earlier.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('.')) {
                return Err(refuse(&format!(
                    "it replaces {earlier}, which stands before it and would do nothing: put it before that"
                )));
            }
        }
        let values = Values::of(parameter).map_err(|why| SweepError::parameter(path, why))?;
        if values.count().is_none() && spec.sampling == Sampling::Grid {
            return Err(refuse(
                "its range has no steps, as a grid needs them: add a \"step\" or a \"factor\"",
            ));
        }
        all.push((path.clone(), values));
    }
    Ok(all)
}

/// Settings before constraints; of a random sample, the most that are drawn.
pub(super) fn candidates(parameters: &[(String, Values)], sampling: Sampling) -> Result<u64, SweepError> {
    let sample = |points: u32| match points {
        0 => Err(SweepError::Spec("a sample of 0 points is empty: ask for at least one".to_string())),
        points => Ok(u64::from(points)),
    };
    let (settings, candidates) = match sampling {
        Sampling::Grid => {
            let counts = parameters.iter().map(|(_, values)| values.count().unwrap_or(1));
            let all = counts.fold(1u64, u64::saturating_mul);
            (all, all)
        }
        Sampling::Random(size) => (sample(size.points)?, sample(size.points)?.saturating_mul(DRAWS)),
        Sampling::LatinHypercube(size) => (sample(size.points)?, sample(size.points)?),
    };
    if settings > MOST_POINTS {
        return Err(SweepError::Spec(format!(
            "{settings} settings are more than the {MOST_POINTS} a sweep may have: take fewer values, or a sample"
        )));
    }
    Ok(candidates)
}

/// The seeds of each setting: first the scenario's own, then ones derived from it.
pub(super) fn seeds(seed: u64, repeat: u32) -> Result<Vec<u64>, SweepError> {
    if u64::from(repeat) > MOST_POINTS {
        return Err(SweepError::Spec(format!(
            "{repeat} repeats are more than the {MOST_POINTS} points of a sweep"
        )));
    }
    if repeat == 0 {
        return Err(SweepError::Spec("0 repeats leave nothing to run: repeat at least once".to_string()));
    }
    let mut seeds = vec![seed];
    let mut index = 1;
    let mut known = HashSet::from([seed]);
    while seeds.len() < repeat as usize {
        // 32 bits are short enough to be copied by hand.
        let derived = below(&mut stream(seed, Purpose::Sweep, SEED_STREAMS + index), 1 << 32);
        index += 1;
        if known.insert(derived) {
            seeds.push(derived);
        }
    }
    Ok(seeds)
}

/// The numbers below `count` in random order.
pub(super) fn shuffled(count: u32, seed: u64, index: u64) -> Vec<u32> {
    let mut random = stream(seed, Purpose::Sweep, index);
    let mut all: Vec<u32> = (0..count).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, below(&mut random, i as u64 + 1) as usize);
    }
    all
}
