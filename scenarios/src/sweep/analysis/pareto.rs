//! The Pareto front and the setting to take from it.

use super::{Goal, Objective, Setting, cost};

/// The setting to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recommendation {
    /// Its number.
    pub setting: usize,
    /// How far it is from the best of every objective, each scaled to 0 at its best and 1 at its worst setting:
    /// the root of the mean square. 0 is best in all of them.
    pub distance: f64,
}

/// The usable settings that no other beats: none is better in one objective and no worse in the others.
pub fn pareto_front(settings: &[Setting], objectives: &[Objective]) -> Vec<usize> {
    let costs = |index: usize| -> Vec<f64> {
        objectives
            .iter()
            .enumerate()
            .map(|(o, objective)| cost(settings[index].mean(o), objective.goal))
            .collect()
    };
    let mut order: Vec<(Vec<f64>, usize)> =
        (0..settings.len()).filter(|&i| settings[i].usable()).map(|i| (costs(i), i)).collect();
    // By the first objective, then the next: nothing is beaten by what comes after it.
    order.sort_by(|(a, i), (b, j)| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(i.cmp(j))
    });
    let mut front: Vec<(Vec<f64>, usize)> = Vec::new();
    for (costs, index) in order {
        let beaten = front
            .iter()
            .any(|(better, _)| *better != costs && better.iter().zip(&costs).all(|(b, c)| b <= c));
        if !beaten {
            front.push((costs, index));
        }
    }
    let mut front: Vec<usize> = front.into_iter().map(|(_, index)| index).collect();
    front.sort_unstable();
    front
}

/// The best and the worst mean of objective `index` over the usable settings.
pub fn range(settings: &[Setting], index: usize, goal: Goal) -> (f64, f64) {
    let means = settings.iter().filter(|s| s.usable()).map(|s| s.mean(index));
    let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), m| (l.min(m), h.max(m)));
    match goal {
        Goal::Min => (low, high),
        Goal::Max => (high, low),
    }
}

/// The setting of the front that is nearest to the best of every objective; the first among equals.
pub fn recommend(settings: &[Setting], objectives: &[Objective], front: &[usize]) -> Option<Recommendation> {
    nearest_first(settings, objectives, front).first().copied()
}

/// The settings of the front, those nearest to the best of every objective first.
pub fn nearest_first(settings: &[Setting], objectives: &[Objective], front: &[usize]) -> Vec<Recommendation> {
    let ranges: Vec<(f64, f64)> =
        objectives.iter().enumerate().map(|(o, objective)| range(settings, o, objective.goal)).collect();
    let distance = |index: usize| {
        let scaled = ranges.iter().enumerate().map(|(o, &(best, worst))| {
            if best == worst { 0.0 } else { (settings[index].mean(o) - best) / (worst - best) }
        });
        (scaled.map(|x| x * x).sum::<f64>() / ranges.len() as f64).sqrt()
    };
    let mut all: Vec<Recommendation> =
        front.iter().map(|&setting| Recommendation { setting, distance: distance(setting) }).collect();
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn setting(means: &[f64]) -> Setting {
        let samples = means.iter().map(|&mean| vec![mean]).collect();
        Setting { samples, ..Setting::new(Vec::new(), means.len()) }.judged()
    }

    fn objectives() -> Vec<Objective> {
        let objective = |figure: &str, goal| Objective { figure: figure.to_string(), goal };
        vec![objective("flows.fct_us.p99", Goal::Min), objective("flows.goodput_gbps.mean", Goal::Max)]
    }

    #[test]
    fn the_front_is_what_none_beats() {
        let mut settings: Vec<Setting> =
            [[1.0, 1.0], [2.0, 5.0], [3.0, 4.0], [4.0, 9.0], [2.0, 5.0], [0.5, 100.0]]
                .iter()
                .map(|m| setting(m))
                .collect();
        settings[5].unfinished = 1;
        assert_eq!(pareto_front(&settings, &objectives()), [0, 1, 3, 4]);
        let best = recommend(&settings, &objectives(), &[0, 1, 3, 4]).unwrap();
        // (1/3, 1/2) from the best, against (0, 1) and (1, 0).
        assert_eq!(best.setting, 1);
        assert!((best.distance - ((1.0 / 9.0 + 1.0 / 4.0) / 2.0f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn nothing_usable_recommends_nothing() {
        let mut only = setting(&[1.0, 1.0]);
        only.failed = 1;
        assert!(pareto_front(&[only.clone()], &objectives()).is_empty());
        assert_eq!(recommend(&[only], &objectives(), &[]), None);
    }
}
