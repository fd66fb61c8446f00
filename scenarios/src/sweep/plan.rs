//! The points of a sweep, in order, each with a stable id and a seed. Points are made when they are asked for, so that
//! a plan of any size takes 8 bytes a setting at most.

use std::collections::HashSet;

use serde_json::Value;
use sim_core::random::{Purpose, below, stream, unit};

use super::constraint::{Constraint, value_at};
use super::error::SweepError;
use super::figures;
use super::hash::{Hasher, hex};
use super::spec::{Objective, Sampling, SweepSpec, Work};
use super::values::{Values, plain};
use crate::jobs::JobWork;
use crate::language::{self, Loaded, Override};
use crate::spec::Scenario;

/// Most candidates of a plan.
const MOST_POINTS: u64 = 10_000_000;
/// Draws a random sample makes for each of its settings before it gives up.
const DRAWS: u64 = 1000;
/// Points of a sampled plan whose values are checked before it runs.
const CHECKED: u64 = 20;
/// Where the streams of seeds and of strata begin; below are those of random settings.
const SEED_STREAMS: u64 = 1 << 40;
const STRATUM_STREAMS: u64 = 1 << 41;

/// The scenario a sweep starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its text.
    pub text: String,
    /// What errors call it.
    pub file: String,
    /// What is set at every point.
    pub sets: Vec<Override>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its place in the plan, from 0.
    pub index: u64,
    /// The number of its setting, from 0: points that differ in their seed alone share it.
    pub setting: u64,
    /// Which of the seeds of its setting it has, from 0.
    pub repeat: u32,
    /// The seed of all its random streams.
    pub seed: u64,
    /// Hash of its values and seed.
    pub hash: u64,
    /// The values of the parameters, in their order.
    pub values: Vec<Value>,
}

impl Point {
    /// Its id: the hash as 16 hexadecimal digits.
    pub fn id(&self) -> String {
        hex(self.hash)
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// The scenario.
    pub source: Source,
    /// What the sweep asks for, the command line's part included.
    pub spec: SweepSpec,
    /// Identifies scenario, `--set`s, parameters, sampling, constraints and repeats; not the objectives.
    pub fingerprint: String,
    /// What makes a setting a good one: the sweep's objectives, or the default ones.
    pub objectives: Vec<Objective>,
    parameters: Vec<(String, Values)>,
    /// Seed of the scenario.
    seed: u64,
    /// The seeds of each setting.
    seeds: Vec<u64>,
    candidates: u64,
    /// The candidates that are settings; all of them where it is `None`.
    chosen: Option<Vec<u64>>,
    /// For each parameter of a Latin hypercube the stratum of each candidate.
    strata: Vec<Vec<u32>>,
}

impl Plan {
    /// Plans the sweep of a scenario. `spec` is its sweep block together with what the command line adds.
    pub fn new(source: Source, spec: SweepSpec) -> Result<Self, SweepError> {
        let base = language::load(&source.text, &source.file, &source.sets)?;
        let constraints = spec
            .constraints
            .iter()
            .map(|text| Constraint::parse(text).map_err(SweepError::Spec))
            .collect::<Result<Vec<_>, _>>()?;
        let objectives = spec.objectives(work(&base.scenario));
        figures::check_objectives(&objectives)?;
        let parameters = parameters(&spec)?;
        let fingerprint = fingerprint(&source, &spec)?;
        let seed = base.scenario.seed;
        let mut plan = Self {
            name: base.scenario.name.clone(),
            seeds: seeds(seed, spec.repeat)?,
            candidates: candidates(&parameters, spec.sampling)?,
            chosen: None,
            strata: Vec::new(),
            source,
            spec,
            fingerprint,
            objectives,
            parameters,
            seed,
        };
        if let Sampling::LatinHypercube(sample) = plan.spec.sampling {
            let count = plan.parameters.len() as u64;
            plan.strata = (0..count).map(|p| shuffled(sample.points, seed, STRATUM_STREAMS + p)).collect();
        }
        plan.choose(&constraints, &base)?;
        if plan.len() > MOST_POINTS {
            return Err(SweepError::Spec(format!(
                "{} settings with {} seeds each are more than the {MOST_POINTS} points a sweep may have: take fewer",
                plan.settings(),
                plan.repeat()
            )));
        }
        plan.check_points()?;
        Ok(plan)
    }

    /// Paths of the parameters.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(path, _)| path.as_str())
    }

    /// The parameters with their values.
    pub fn parameters(&self) -> &[(String, Values)] {
        &self.parameters
    }

    /// Settings: points that differ in more than their seed.
    pub fn settings(&self) -> u64 {
        self.chosen.as_ref().map_or(self.candidates, |chosen| chosen.len() as u64)
    }

    /// Points in all.
    pub fn len(&self) -> u64 {
        self.settings() * self.seeds.len() as u64
    }

    /// Whether there is none; a plan that is made has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Seeds of each setting.
    pub fn repeat(&self) -> u32 {
        self.seeds.len() as u32
    }

    /// The point at `index`, which is below [`Self::len`].
    pub fn point(&self, index: u64) -> Point {
        let repeats = self.seeds.len() as u64;
        let (setting, repeat) = (index / repeats, (index % repeats) as u32);
        let candidate = self.chosen.as_ref().map_or(setting, |chosen| chosen[setting as usize]);
        let values = self.values(candidate);
        let seed = self.seeds[repeat as usize];
        let hash = self.hash(&values).add(format!("seed={seed}").as_bytes()).value();
        Point { index, setting, repeat, seed, hash, values }
    }

    /// What a point changes in the scenario, after [`Source::sets`].
    pub fn overrides(&self, values: &[Value]) -> Vec<Override> {
        let set =
            |((path, _), value): (&(String, Values), &Value)| Override::new(path.clone(), set_text(value));
        self.parameters.iter().zip(values).map(set).collect()
    }

    /// The scenario at a point, its seed included.
    pub fn load(&self, point: &Point) -> Result<Loaded, language::LanguageError> {
        let mut sets = self.source.sets.clone();
        sets.extend(self.overrides(&point.values));
        let mut loaded = language::load(&self.source.text, &self.source.file, &sets)?;
        loaded.scenario.seed = point.seed;
        loaded.scenario.sweep = None;
        Ok(loaded)
    }

    /// The values of the parameters at a candidate.
    fn values(&self, candidate: u64) -> Vec<Value> {
        match self.spec.sampling {
            Sampling::Grid => {
                let mut rest = candidate;
                let mut values: Vec<Value> = self.parameters.iter().map(|_| Value::Null).collect();
                for ((_, choices), value) in self.parameters.iter().zip(&mut values).rev() {
                    if let Values::List(list) = choices {
                        *value = list[(rest % list.len() as u64) as usize].clone();
                        rest /= list.len() as u64;
                    }
                }
                values
            }
            Sampling::Random(_) => {
                let mut random = stream(self.seed, Purpose::Sweep, candidate);
                self.parameters.iter().map(|(_, choices)| choices.at(unit(&mut random))).collect()
            }
            Sampling::LatinHypercube(sample) => {
                let mut random = stream(self.seed, Purpose::Sweep, candidate);
                let place = |stratum: u32, u: f64| (f64::from(stratum) + u) / f64::from(sample.points);
                self.parameters
                    .iter()
                    .zip(&self.strata)
                    .map(|((_, choices), strata)| {
                        choices.at(place(strata[candidate as usize], unit(&mut random)))
                    })
                    .collect()
            }
        }
    }

    fn hash(&self, values: &[Value]) -> Hasher {
        self.parameters.iter().zip(values).fold(Hasher::default(), |hash, ((path, _), value)| {
            hash.add(path.as_bytes()).add(b"=").add(value.to_string().as_bytes()).add(b"\n")
        })
    }

    /// Finds the candidates that are run.
    fn choose(&mut self, constraints: &[Constraint], base: &Loaded) -> Result<(), SweepError> {
        if constraints.is_empty() && self.spec.sampling == Sampling::Grid {
            return Ok(());
        }
        let (wanted, fixed) = match self.spec.sampling {
            Sampling::Grid => (u64::MAX, true),
            Sampling::Random(sample) => (u64::from(sample.points), false),
            Sampling::LatinHypercube(_) => (u64::MAX, true),
        };
        let resolved = self.resolve_needed(constraints).then(|| resolved(base));
        let mut chosen = Vec::new();
        let mut seen = HashSet::new();
        for candidate in 0..self.candidates {
            if chosen.len() as u64 == wanted {
                break;
            }
            let values = self.values(candidate);
            if self.spec.sampling != Sampling::Grid && !seen.insert(self.hash(&values).value()) {
                if fixed {
                    let text: Vec<String> = values.iter().map(plain).collect();
                    return Err(SweepError::Spec(format!(
                        "the Latin hypercube has the setting {} twice: ask for fewer points, or give more values",
                        text.join(", ")
                    )));
                }
                continue;
            }
            if self.allowed(constraints, &values, base, resolved.is_some())? {
                chosen.push(candidate);
            }
        }
        if chosen.is_empty() {
            let texts: Vec<String> = constraints.iter().map(|c| format!("\"{c}\"")).collect();
            return Err(SweepError::Spec(format!(
                "no setting meets all constraints ({}): the grid is empty; loosen one of them or widen the values",
                texts.join(", ")
            )));
        }
        if !fixed && (chosen.len() as u64) < wanted {
            return Err(SweepError::Spec(format!(
                "only {} different settings were found for a random sample of {wanted}: ask for fewer points, or give \
                 more values",
                chosen.len()
            )));
        }
        self.chosen = Some(chosen);
        Ok(())
    }

    /// Whether constraints look at more than the parameters themselves.
    fn resolve_needed(&self, constraints: &[Constraint]) -> bool {
        constraints.iter().flat_map(Constraint::paths).any(|path| self.paths().all(|known| known != path))
    }

    fn allowed(
        &self,
        constraints: &[Constraint],
        values: &[Value],
        base: &Loaded,
        resolve: bool,
    ) -> Result<bool, SweepError> {
        let root = if resolve { resolved(&self.read(values)?) } else { Value::Null };
        let lookup = |path: &str| {
            if let Some(index) = self.paths().position(|known| known == path) {
                return Ok(values[index].clone());
            }
            match path.strip_prefix("params.") {
                Some(name) if base.params.contains_key(name) => Ok(base.params[name].clone()),
                Some(_) | None => value_at(&root, path),
            }
        };
        for constraint in constraints {
            if !constraint.holds(&lookup).map_err(SweepError::Spec)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The scenario with these values, which may be out of range: then the point's row says so.
    fn read(&self, values: &[Value]) -> Result<Loaded, SweepError> {
        let swept = self.overrides(values);
        let mut sets = self.source.sets.clone();
        sets.extend_from_slice(&swept);
        language::load_unranged(&self.source.text, &self.source.file, &sets).map_err(|error| {
            let texts: Vec<String> = swept.iter().map(Override::to_string).collect();
            SweepError::point(error, &texts)
        })
    }

    /// Reads points until each value of each parameter was in one, so that a wrong path or type is found before any
    /// point runs.
    fn check_points(&self) -> Result<(), SweepError> {
        let repeats = u64::from(self.repeat());
        let check = |setting: u64| {
            let values = self.point(setting * repeats).values;
            let loaded = self.read(&values)?;
            if loaded.scenario.seed != self.seed {
                let text =
                    "a parameter of the sweep changes the seed of the scenario: seeds come from --repeat";
                return Err(SweepError::Spec(text.to_string()));
            }
            Ok(values)
        };
        if self.spec.sampling != Sampling::Grid {
            return (0..self.settings().min(CHECKED)).try_for_each(|setting| check(setting).map(|_| ()));
        }
        let mut left: Vec<HashSet<String>> = self
            .parameters
            .iter()
            .map(|(_, choices)| match choices {
                Values::List(list) => list.iter().map(Value::to_string).collect(),
                Values::Between { .. } => HashSet::new(),
            })
            .collect();
        for setting in 0..self.settings() {
            if left.iter().all(HashSet::is_empty) {
                break;
            }
            let values = self.point(setting * repeats).values;
            if values.iter().zip(&left).any(|(value, left)| left.contains(&value.to_string())) {
                check(setting)?;
                for (value, left) in values.iter().zip(&mut left) {
                    left.remove(&value.to_string());
                }
            }
        }
        Ok(())
    }
}

/// A value as an override takes it: text that would read as something else in quotes.
fn set_text(value: &Value) -> String {
    match value {
        Value::String(text)
            if serde_json::from_str::<Value>(text).is_err() && !text.starts_with(['{', '[', '"']) =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}

/// The scenario with all defaults, and the values of its parameters under `params`.
fn resolved(loaded: &Loaded) -> Value {
    let mut value = serde_json::to_value(&loaded.scenario).expect("a scenario has only text keys");
    value["params"] = serde_json::to_value(&loaded.params).expect("parameters have text keys");
    value
}

/// What the first job of a scenario does.
fn work(scenario: &Scenario) -> Option<Work> {
    scenario.jobs.first().map(|job| match job.work {
        JobWork::Collective(_) | JobWork::NcclTests(_) => Work::Collective,
        JobWork::TrainingStep(_) => Work::Training,
    })
}

/// The values of each parameter.
fn parameters(spec: &SweepSpec) -> Result<Vec<(String, Values)>, SweepError> {
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
fn candidates(parameters: &[(String, Values)], sampling: Sampling) -> Result<u64, SweepError> {
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
fn seeds(seed: u64, repeat: u32) -> Result<Vec<u64>, SweepError> {
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
fn shuffled(count: u32, seed: u64, index: u64) -> Vec<u32> {
    let mut random = stream(seed, Purpose::Sweep, index);
    let mut all: Vec<u32> = (0..count).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, below(&mut random, i as u64 + 1) as usize);
    }
    all
}

fn fingerprint(source: &Source, spec: &SweepSpec) -> Result<String, SweepError> {
    let mut scenario = language::canonical(&source.text, &source.file)?;
    if let Some(map) = scenario.as_object_mut() {
        map.shift_remove("sweep");
        map.shift_remove("description");
    }
    let planned = SweepSpec { objectives: Vec::new(), ..spec.clone() };
    let planned = serde_json::to_string(&planned).expect("a sweep has only text keys");
    let mut hash = Hasher::default().add(scenario.to_string().as_bytes()).add(b"\n").add(planned.as_bytes());
    for set in &source.sets {
        hash = hash.add(b"\n").add(set.to_string().as_bytes());
    }
    Ok(hex(hash.value()))
}
