//! Figures that the network cannot have carried.

use super::Diagnosis;
use crate::measured::bound::Bounds;
use crate::measured::comparison::Comparison;
use crate::measured::figures::{list, short, size};
use crate::measured::log::{MeasuredLog, Problem};

/// What rounding may add to a figure.
const ROUNDING: f64 = 1.001;

pub(super) fn diagnose(
    log: &MeasuredLog,
    comparison: &Comparison,
    bounds: Option<&Bounds>,
) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    let above = |bound: f64| -> Vec<(u64, f64)> {
        let rows =
            comparison.rows.iter().filter_map(|row| Some((row.bytes, row.measured_busbw_gbytes_per_s?)));
        rows.filter(|(_, busbw)| *busbw > bound * ROUNDING).collect()
    };
    if let Some(bounds) = bounds {
        let nodes = log.nodes.unwrap_or(2);
        let (ring, hierarchical, most) =
            (bounds.ring_gbytes_per_s, bounds.hierarchical_gbytes_per_s, bounds.most_gbytes_per_s);
        let over = above(most);
        let (network, ringed) = (above(hierarchical), above(ring));
        if let Some(worst) = over.iter().map(|(_, busbw)| *busbw).reduce(f64::max) {
            let sizes: Vec<String> = over.iter().map(|(bytes, _)| size(*bytes)).collect();
            let text = format!(
                "busbw up to {} GB/s, but the NICs of a node allow {} whatever the algorithm ({}): the log is not of \
                 this network, or its traffic did not leave the nodes",
                short(worst),
                short(most),
                list(&sizes, 4)
            );
            found.push(Diagnosis::new("impossible", text));
        } else if let Some(worst) = network.iter().map(|(_, busbw)| *busbw).reduce(f64::max) {
            let text = format!(
                "busbw up to {} GB/s is above the {} that {nodes} nodes reach with reduction in the hosts: only \
                 reduction in the network (bound {}) explains it",
                short(worst),
                short(hierarchical),
                short(most)
            );
            found.push(Diagnosis::new("above-host-bound", text));
        } else if let Some(worst) = ringed.iter().map(|(_, busbw)| *busbw).reduce(f64::max) {
            let text = format!(
                "busbw up to {} GB/s is above the {} of a ring but within the {} that {nodes} nodes allow: legitimate \
                 for a tree on two nodes, which sends the size once where a ring sends it nearly twice",
                short(worst),
                short(ring),
                short(hierarchical)
            );
            found.push(Diagnosis::new("above-ring-bound", text));
        }
    }
    let simulated: Vec<String> = comparison
        .rows
        .iter()
        .filter_map(|row| {
            let bound = row.simulated.as_ref()?.bound_busbw_gbytes_per_s?;
            let busbw = row.measured_busbw_gbytes_per_s?;
            (busbw > bound * ROUNDING)
                .then(|| format!("{}: {} over {}", size(row.bytes), short(busbw), short(bound)))
        })
        .collect();
    if !simulated.is_empty() {
        let text = format!(
            "measured busbw is above what the scenario's links allow ({}; GB/s): the log is of another network or \
             another algorithm than the scenario",
            list(&simulated, 3)
        );
        found.push(Diagnosis::new("impossible", text));
    }
    found
}

/// Rows whose printed bus bandwidth is above what the NICs allow, as problems of the log.
pub fn above_line_rate(log: &MeasuredLog, bounds: &Bounds) -> Vec<Problem> {
    let most = bounds.most_gbytes_per_s;
    let mut problems = Vec::new();
    for row in &log.rows {
        let printed = row.timings().filter_map(|(_, timing)| timing.busbw_gbytes_per_s).fold(0.0, f64::max);
        if printed > most * ROUNDING {
            let text = format!(
                "busbw {printed} GB/s of {} bytes is above the {} of the NICs",
                row.bytes,
                short(most)
            );
            problems.push(Problem { line: row.line, code: "above-bound", text });
        }
    }
    problems
}
