//! Slow nodes by elimination: pairs of nodes were measured, and a pair is as fast as its slower node and the path
//! between the two.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::figures::{list, short};

/// How far apart fast and slow pairs must be.
const GAP: f64 = 1.2;

/// One pair of nodes and what they reached together.
#[derive(Clone, Debug, PartialEq)]
pub struct PairMeasurement {
    /// One node.
    pub a: String,
    /// The other node.
    pub b: String,
    /// Bus bandwidth, in GB/s.
    pub busbw_gbytes_per_s: f64,
    /// Something the pairs may differ in, `crosses-tor`; empty where nothing is said.
    pub label: String,
}

/// Why a file of pairs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}; a line is nodeA,nodeB,busbw in GB/s, with an optional label")]
pub struct PairsError {
    /// File and line.
    pub place: String,
    /// What is wrong.
    pub why: String,
}

/// What elimination says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elimination {
    /// Least bandwidth of a fast pair, in GB/s; `None` where all pairs are alike.
    pub fast_from_gbytes_per_s: Option<f64>,
    /// Median of the slow pairs over median of the fast ones.
    pub slow_over_fast: Option<f64>,
    /// Nodes that are in a fast pair.
    pub good: Vec<String>,
    /// Nodes that are slow with a good node and in no fast pair.
    pub bad: Vec<String>,
    /// Slow pairs of which at least one node is slow, but nothing says which.
    pub at_least_one_of: Vec<(String, String)>,
    /// Slow pairs of two good nodes: the path between them is slow.
    pub slow_paths: Vec<(String, String)>,
    /// For each label, fast and slow pairs that have it.
    pub labels: BTreeMap<String, (usize, usize)>,
}

/// Reads a file of pairs: one `nodeA,nodeB,busbw[,label]` a line, `#` for comments, a first line of names.
pub fn read(source: &str, text: &str) -> Result<Vec<PairMeasurement>, PairsError> {
    let mut pairs = Vec::new();
    let mut first = true;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |why: String| PairsError { place: format!("{source}:{}", i + 1), why };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let header = std::mem::take(&mut first);
        let (a, b, busbw) = match fields.as_slice() {
            [a, b, busbw] | [a, b, busbw, _] => (*a, *b, *busbw),
            _ => return Err(fail(format!("{} fields", fields.len()))),
        };
        let Ok(value) = busbw.parse::<f64>() else {
            if header {
                continue;
            }
            return Err(fail(format!("\"{busbw}\" is no bandwidth")));
        };
        if !(value.is_finite() && value > 0.0) {
            return Err(fail(format!("\"{busbw}\" is no positive bandwidth")));
        }
        if a.is_empty() || b.is_empty() || a == b {
            return Err(fail(format!("\"{a}\" and \"{b}\" are no two nodes")));
        }
        let label = fields.get(3).copied().unwrap_or_default();
        pairs.push(PairMeasurement {
            a: a.to_string(),
            b: b.to_string(),
            busbw_gbytes_per_s: value,
            label: label.to_string(),
        });
    }
    if pairs.is_empty() {
        return Err(PairsError { place: source.to_string(), why: "no pair in it".to_string() });
    }
    Ok(pairs)
}

/// Finds good and bad nodes. Pairs are fast or slow by the widest gap between their bandwidths; where that is narrower
/// than a fifth, all are alike and nobody is bad.
pub fn eliminate(pairs: &[PairMeasurement]) -> Elimination {
    let mut values: Vec<f64> = pairs.iter().map(|pair| pair.busbw_gbytes_per_s).collect();
    values.sort_by(f64::total_cmp);
    let widest = values
        .windows(2)
        .map(|two| (two[1] / two[0], two[1]))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(gap, _)| *gap >= GAP);
    let threshold = widest.map(|(_, fast)| fast);
    let fast = |pair: &PairMeasurement| threshold.is_none_or(|from| pair.busbw_gbytes_per_s >= from);
    let mut result = Elimination { fast_from_gbytes_per_s: threshold, ..Elimination::default() };
    let nodes = |pair: &PairMeasurement| [pair.a.clone(), pair.b.clone()];
    let good: BTreeSet<String> = pairs.iter().filter(|pair| fast(pair)).flat_map(nodes).collect();
    let slow: Vec<&PairMeasurement> = pairs.iter().filter(|pair| !fast(pair)).collect();
    let bad: BTreeSet<String> = slow
        .iter()
        .filter_map(|pair| match (good.contains(&pair.a), good.contains(&pair.b)) {
            (true, false) => Some(pair.b.clone()),
            (false, true) => Some(pair.a.clone()),
            _ => None,
        })
        .collect();
    let (mut undecided, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for pair in &slow {
        let [low, high] = if pair.a <= pair.b { [&pair.a, &pair.b] } else { [&pair.b, &pair.a] };
        let names = (low.clone(), high.clone());
        match (good.contains(low), good.contains(high)) {
            (true, true) => drop(paths.insert(names)),
            (false, false) if !bad.contains(low) && !bad.contains(high) => drop(undecided.insert(names)),
            _ => {}
        }
    }
    if threshold.is_some() {
        let of = |is_fast: bool| -> Vec<f64> {
            pairs.iter().filter(|pair| fast(pair) == is_fast).map(|pair| pair.busbw_gbytes_per_s).collect()
        };
        result.slow_over_fast = Some(super::figures::median(&of(false)) / super::figures::median(&of(true)));
    }
    for pair in pairs.iter().filter(|pair| !pair.label.is_empty()) {
        let counts = result.labels.entry(pair.label.clone()).or_default();
        *(if fast(pair) { &mut counts.0 } else { &mut counts.1 }) += 1;
    }
    result.good = good.into_iter().collect();
    result.bad = bad.into_iter().collect();
    result.at_least_one_of = undecided.into_iter().collect();
    result.slow_paths = paths.into_iter().collect();
    result
}

impl Elimination {
    /// What it says, one code and text each.
    pub fn diagnosis(&self) -> Vec<super::Diagnosis> {
        let mut found = Vec::new();
        let mut push = |code: &'static str, text: String| found.push(super::Diagnosis { code, text });
        let (Some(from), Some(ratio)) = (self.fast_from_gbytes_per_s, self.slow_over_fast) else {
            push(
                "alike",
                "all pairs are alike (no gap of a fifth between them): nothing points to a node".to_string(),
            );
            return found;
        };
        push(
            "pairs",
            format!(
                "a pair is fast from {} GB/s; slow pairs reach {} of that of fast ones",
                short(from),
                short(ratio)
            ),
        );
        if !self.bad.is_empty() {
            let half = if (0.45..=0.62).contains(&ratio) {
                "; half the bandwidth is that of half its rails"
            } else {
                ""
            };
            push(
                "bad-node",
                format!("slow with a node that is fast with others: {}{half}", list(&self.bad, 20)),
            );
        }
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(a, b)| format!("{a} and {b}")).collect()
        };
        if !self.at_least_one_of.is_empty() {
            let text = format!(
                "at least one of {} is slow; measure each with a good node ({})",
                list(&names(&self.at_least_one_of), 20),
                list(&self.good, 4)
            );
            push("at-least-one-of", text);
        }
        if !self.slow_paths.is_empty() {
            let text = format!(
                "both fast with others, slow together: {}; that is the path between them, such as two flows on one \
                 uplink, and no node",
                list(&names(&self.slow_paths), 20)
            );
            push("slow-path", text);
        }
        for (label, (fast, slow)) in &self.labels {
            let verdict = match (fast, slow) {
                (0, _) => "all pairs with it are slow",
                (_, 0) => "all pairs with it are fast",
                _ => "it predicts nothing",
            };
            push("label", format!("\"{label}\": {fast} fast, {slow} slow; {verdict}"));
        }
        push("good-node", format!("in a fast pair: {}", list(&self.good, 40)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Elimination {
        eliminate(&read("pairs.csv", text).unwrap())
    }

    /// Figures of nccl-tests issue 106.
    #[test]
    fn the_slow_node_is_found_and_the_tor_is_not_blamed() {
        let found = pairs(
            "a,b,busbw,where\n644,699,49.36,\n632,641,88.36,\n284,678,49.28,crosses-tor\n641,644,49.30,\n404,699,86.81,crosses-tor\n",
        );
        assert_eq!(found.good, ["404", "632", "641", "699"]);
        assert_eq!(found.bad, ["644"]);
        assert_eq!(found.at_least_one_of, [("284".to_string(), "678".to_string())]);
        assert!(found.slow_paths.is_empty());
        assert_eq!(found.labels["crosses-tor"], (1, 1));
        assert!((found.slow_over_fast.unwrap() - 0.563).abs() < 0.002);
    }

    /// The triad of nccl issue 325: 1–3 fast, 2–4 fast, 1–2 slow is the path, not a node.
    #[test]
    fn two_good_nodes_that_are_slow_together_are_a_path() {
        let found = pairs("1,3,39\n2,4,39\n1,2,25\n");
        assert!(found.bad.is_empty() && found.at_least_one_of.is_empty());
        assert_eq!(found.slow_paths, [("1".to_string(), "2".to_string())]);
    }

    #[test]
    fn equal_pairs_blame_nobody() {
        let found = pairs("1,2,88\n3,4,87\n");
        assert_eq!((found.fast_from_gbytes_per_s, found.bad.len(), found.good.len()), (None, 0, 4));
        assert_eq!(found.diagnosis()[0].code, "alike");
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, message) in [
            ("1,2,88\n3,4\n", "p.csv:2: 2 fields"),
            ("1,2,88\n3,4,fast\n", "p.csv:2: \"fast\" is no bandwidth"),
            ("1,1,88\n", "p.csv:1: \"1\" and \"1\" are no two nodes"),
            ("1,2,-3\n", "p.csv:1: \"-3\" is no positive bandwidth"),
            ("# nothing\n", "p.csv: no pair in it"),
        ] {
            let error = read("p.csv", text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
