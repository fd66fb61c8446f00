//! How the recommended setting answers to each parameter: where it is flat, and what changes beyond.

use serde_json::Value;

use super::pareto::range;
use super::statistics::{Estimate, rank_correlation};
use super::{Goal, Objective, Setting};
use crate::sweep::plan::Plan;
use crate::sweep::spec::Sampling;
use crate::sweep::values::Quantity;

/// A mean that differs by less than this part of itself, or of the objective's range, is the same: with several seeds,
/// whose confidence intervals also have to be apart, and with a single one, where chance alone makes more.
const SAME: f64 = 0.02;
const SAME_WITH_ONE_SEED: f64 = 0.05;

/// How the objectives answer to one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Index of the parameter.
    pub parameter: usize,
    /// The settings that differ from the recommended one in this parameter alone, and it, in ascending order of the
    /// value; in a sampled sweep there are none.
    pub line: Vec<usize>,
    /// First and last of `line` around the recommended one within which no objective changes.
    pub flat: (usize, usize),
    /// What changes one step beyond `flat` on either side, and at the ends.
    pub changes: Vec<Change>,
    /// In a sampled sweep, the rank correlation of parameter and objective over all settings.
    pub ranks: Vec<Rank>,
}

/// An objective that differs from the recommended setting's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The setting.
    pub setting: usize,
    /// Index of the objective.
    pub objective: usize,
    /// The mean at the recommended setting, and there.
    pub means: (f64, f64),
    /// Whether it is worse.
    pub worse: bool,
}

/// Rank correlation of a parameter and an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// Index of the objective.
    pub objective: usize,
    /// Spearman's coefficient, -1 to 1.
    pub coefficient: f64,
}

/// The sensitivity of each parameter around a setting.
pub fn sensitivities(
    plan: &Plan,
    settings: &[Setting],
    objectives: &[Objective],
    recommended: usize,
) -> Vec<Sensitivity> {
    let parameters = 0..plan.parameters().len();
    if plan.spec.sampling == Sampling::Grid {
        parameters.map(|p| along(settings, objectives, recommended, p)).collect()
    } else {
        parameters.map(|p| over_all(settings, objectives, p)).collect()
    }
}

fn along(
    settings: &[Setting],
    objectives: &[Objective],
    recommended: usize,
    parameter: usize,
) -> Sensitivity {
    let at = &settings[recommended];
    let alike = |setting: &Setting| {
        setting.usable()
            && setting.values.iter().zip(&at.values).enumerate().all(|(p, (a, b))| p == parameter || a == b)
    };
    let mut line: Vec<usize> = (0..settings.len()).filter(|&i| alike(&settings[i])).collect();
    let amount = |i: &usize| Quantity::of(&settings[*i].values[parameter]).map(|q| q.amount);
    if line.iter().all(|i| amount(i).is_some()) {
        line.sort_by(|a, b| amount(a).unwrap_or(0.0).total_cmp(&amount(b).unwrap_or(0.0)));
    }
    let ranges: Vec<f64> = objectives
        .iter()
        .enumerate()
        .map(|(o, objective)| {
            let (best, worst) = range(settings, o, objective.goal);
            (worst - best).abs()
        })
        .collect();
    let changes_at = |setting: usize| -> Vec<Change> {
        (0..objectives.len())
            .filter_map(|o| change(settings, (recommended, setting), o, objectives[o].goal, ranges[o]))
            .collect()
    };
    let here = line.iter().position(|&i| i == recommended).unwrap_or(0);
    let (mut low, mut high) = (here, here);
    while low > 0 && changes_at(line[low - 1]).is_empty() {
        low -= 1;
    }
    while high + 1 < line.len() && changes_at(line[high + 1]).is_empty() {
        high += 1;
    }
    let mut looked_at = Vec::new();
    if low > 0 {
        looked_at.extend([line[0], line[low - 1]]);
    }
    if high + 1 < line.len() {
        looked_at.extend([line[high + 1], line[line.len() - 1]]);
    }
    looked_at.dedup();
    let changes = looked_at.into_iter().flat_map(changes_at).collect();
    Sensitivity { parameter, flat: (line[low], line[high]), line, changes, ranks: Vec::new() }
}

/// The change of objective `o` from one setting to another, unless it is small or may be chance: both have the same
/// seeds, and so the same traffic, so that it is the interval of their difference seed by seed that counts.
fn change(
    settings: &[Setting],
    (from, to): (usize, usize),
    o: usize,
    goal: Goal,
    range: f64,
) -> Option<Change> {
    let (a, b) = (&settings[from].samples[o], &settings[to].samples[o]);
    let (before, after) = (settings[from].estimates[o]?.mean, settings[to].estimates[o]?.mean);
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let unsure = Estimate::of(&differences)?.half_width;
    let same = if unsure.is_some() { SAME } else { SAME_WITH_ONE_SEED };
    let difference = (after - before).abs();
    if difference <= same * before.abs() || difference <= same * range || difference <= unsure.unwrap_or(0.0)
    {
        return None;
    }
    let worse = match goal {
        Goal::Min => after > before,
        Goal::Max => after < before,
    };
    Some(Change { setting: to, objective: o, means: (before, after), worse })
}

fn over_all(settings: &[Setting], objectives: &[Objective], parameter: usize) -> Sensitivity {
    let usable: Vec<&Setting> = settings.iter().filter(|setting| setting.usable()).collect();
    let value = |setting: &&Setting| -> Option<f64> {
        match &setting.values[parameter] {
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            other => Quantity::of(other).map(|q| q.amount),
        }
    };
    let values: Option<Vec<f64>> = usable.iter().map(value).collect();
    let ranks = match values {
        None => Vec::new(),
        Some(values) => (0..objectives.len())
            .filter_map(|objective| {
                let means: Vec<f64> = usable.iter().map(|setting| setting.mean(objective)).collect();
                Some(Rank { objective, coefficient: rank_correlation(&values, &means)? })
            })
            .collect(),
    };
    Sensitivity { parameter, line: Vec::new(), flat: (0, 0), changes: Vec::new(), ranks }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_flat_part_and_what_changes_beyond_it() {
        let goodput = [85.0, 94.0, 100.0, 100.5, 97.0, 80.0];
        let settings: Vec<Setting> = goodput
            .iter()
            .zip(["20KB", "40KB", "80KB", "160KB", "320KB", "1MB"])
            .map(|(&mean, value)| {
                let samples = vec![vec![mean]];
                Setting { samples, ..Setting::new(vec![json!(value)], 1) }.judged()
            })
            .collect();
        let objectives = [Objective { figure: "flows.goodput_gbps.mean".into(), goal: Goal::Max }];
        let found = along(&settings, &objectives, 3, 0);
        assert_eq!(found.line, [0, 1, 2, 3, 4, 5]);
        assert_eq!(found.flat, (2, 4));
        let changes: Vec<(usize, f64)> = found.changes.iter().map(|c| (c.setting, c.means.1)).collect();
        assert_eq!(changes, [(0, 85.0), (1, 94.0), (5, 80.0)]);
        assert!(found.changes.iter().all(|change| change.worse));
    }

    #[test]
    fn seeds_are_compared_one_by_one() {
        // The seeds differ by far more than the settings do, but each of them says the same of the two.
        let of = |value: &str, sample: [f64; 3]| {
            Setting { samples: vec![sample.to_vec()], ..Setting::new(vec![json!(value)], 1) }.judged()
        };
        let settings = [
            of("1KB", [100.0, 200.0, 300.0]),
            of("2KB", [110.0, 211.0, 309.0]),
            of("4KB", [90.0, 260.0, 290.0]),
        ];
        assert!(change(&settings, (0, 1), 0, Goal::Max, 100.0).is_some_and(|change| !change.worse));
        assert_eq!(change(&settings, (0, 2), 0, Goal::Max, 100.0), None);
    }
}
