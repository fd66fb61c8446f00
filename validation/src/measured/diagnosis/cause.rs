//! What limits the large sizes: the fabric, a collision of flows in it, or the hosts.

use super::Diagnosis;
use super::cliff::Cliff;
use crate::measured::bound::Bounds;
use crate::measured::comparison::{BANDWIDTH_FROM, ComparedRow, Comparison, LATENCY_BELOW};
use crate::measured::figures::{list, median, short, size};
use crate::measured::log::MeasuredLog;
use crate::measured::simulated::SimulatedRow;

/// Measured over simulated time within which the two agree.
const AGREES: f64 = 1.15;
/// Utilisation from which a link is what limits.
const FULL: f64 = 0.9;
/// How equal rails must be.
const RAILS: f64 = 1.1;

pub(super) fn diagnose(
    log: &MeasuredLog,
    comparison: &Comparison,
    cliff: Option<&Cliff>,
    bounds: Option<&Bounds>,
) -> Option<Diagnosis> {
    let before_cliff = |row: &&ComparedRow| cliff.is_none_or(|cliff| row.bytes < cliff.after_bytes);
    let from = |least: u64| -> Vec<(&ComparedRow, &SimulatedRow)> {
        let rows = comparison.rows.iter().filter(|row| row.bytes >= least).filter(before_cliff);
        rows.filter_map(|row| Some((row, row.simulated.as_ref().filter(|s| s.time_us > 0.0)?))).collect()
    };
    let rows = [BANDWIDTH_FROM, LATENCY_BELOW].into_iter().map(from).find(|rows| !rows.is_empty());
    let Some(rows) = rows else { return alone(log, comparison, bounds) };
    let ratios: Vec<f64> = rows.iter().map(|(row, s)| row.measured_us / s.time_us).collect();
    let ratio = median(&ratios);
    let (row, simulated) = *rows.last().expect("there are rows");
    let range = match rows.as_slice() {
        [(only, _)] => format!("at {}", size(only.bytes)),
        [(first, _), .., (last, _)] => format!("from {} to {}", size(first.bytes), size(last.bytes)),
        [] => String::new(),
    };
    let collision = rows.iter().rev().find_map(|(_, simulated)| simulated.network.collision.clone());
    if ratio < 1.0 / AGREES {
        let text = format!(
            "{range} the log takes {} of the simulated time: the scenario's fabric is slower than the measured one, or \
             another algorithm ran; check rate, NICs, oversubscription and NCCL_ALGO against the cluster",
            short(ratio)
        );
        return Some(Diagnosis::new("faster-than-simulated", text));
    }
    if ratio <= AGREES {
        return Some(agreement(&range, ratio, simulated, collision));
    }
    let gap = gap(&range, ratio, row, simulated);
    if let Some(flows) = collision {
        let text = format!(
            "{gap}. The simulation has flows that share a link ({flows}), and the log is slower still"
        );
        return Some(Diagnosis::new("collision", text));
    }
    let quiet = rows.iter().all(|(_, simulated)| simulated.network.is_quiet());
    if !quiet {
        let text = format!(
            "{gap}. {}: congestion explains a part, the rest is not in the scenario",
            congestion(simulated)
        );
        return Some(Diagnosis::new("unexplained", text));
    }
    Some(Diagnosis::new("host-limited", host(&gap, ratio, row, simulated)))
}

fn gap(range: &str, ratio: f64, row: &ComparedRow, simulated: &SimulatedRow) -> String {
    let mut text = format!(
        "{range} the log takes {} times the simulated time ({} of its bandwidth)",
        short(ratio),
        short(1.0 / ratio)
    );
    if let Some(busbw) = row.measured_busbw_gbytes_per_s {
        let simulated_busbw = busbw * row.measured_us / simulated.time_us;
        text.push_str(&format!(
            ": busbw {} GB/s at {}, simulated {}",
            short(busbw),
            size(row.bytes),
            short(simulated_busbw)
        ));
        if let Some(bound) = simulated.bound_busbw_gbytes_per_s {
            text.push_str(&format!(" of at most {}", short(bound)));
        }
    }
    text
}

/// Nothing in the network holds the ranks up: what the hosts must cost for the log to be right.
fn host(gap: &str, ratio: f64, row: &ComparedRow, simulated: &SimulatedRow) -> String {
    let mut text = format!("{gap}. In the simulation no packet is marked, paused or lost");
    let rails = &simulated.network.rails;
    let least = rails.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rails.iter().copied().fold(0.0, f64::max);
    if rails.len() > 1 && least > 0.0 && most / least <= RAILS {
        text.push_str(&format!(
            ", and all {} rails are equally busy ({} to {})",
            rails.len(),
            short(least),
            short(most)
        ));
    }
    text.push_str(", so the fabric does not explain the gap");
    if let Some(steps) = simulated.steps.filter(|steps| *steps > 0) {
        let (took, cost) =
            (row.measured_us / steps as f64, (row.measured_us - simulated.time_us) / steps as f64);
        text.push_str(&format!(
            "; a cost of {} us a step on the hosts does ({steps} steps of {} us each instead of {})",
            short(cost),
            short(took),
            short(took - cost)
        ));
    }
    text.push_str(
        ". Look at GPUDirect RDMA, PCIe, the proxy threads and the number of channels; do not slow the network down to fit",
    );
    if (1.8..=2.4).contains(&ratio) {
        text.push_str(
            ". Half the bandwidth is also what two flows on one uplink or half the rails of a node give: measure pairs \
             of nodes and see `fabsim compare --pairs`",
        );
    }
    text
}

/// Log and simulation agree: what limits the simulation limits the cluster.
fn agreement(range: &str, ratio: f64, simulated: &SimulatedRow, collision: Option<String>) -> Diagnosis {
    let text = format!("{range} log and simulation agree (measured/simulated {})", short(ratio));
    if let Some(flows) = collision {
        let text = format!("{text}, and in the simulation flows share a link which could be spread: {flows}");
        return Diagnosis::new("collision", text);
    }
    if let Some((link, utilisation)) = &simulated.network.hottest_link
        && *utilisation >= FULL
    {
        let text = format!("{text}: {link} is {:.0} % busy. {}", utilisation * 100.0, congestion(simulated));
        return Diagnosis::new("fabric-limited", text);
    }
    if !simulated.network.is_quiet() {
        return Diagnosis::new("fabric-limited", format!("{text}. {}", congestion(simulated)));
    }
    if let Some(by) = &simulated.bound_by {
        return Diagnosis::new("agrees", format!("{text}; no link is full, and the bound is set by {by}"));
    }
    Diagnosis::new("agrees", format!("{text}; no link of the network is full"))
}

fn congestion(simulated: &SimulatedRow) -> String {
    let network = &simulated.network;
    let counts = [
        (network.marked_packets, "marked packets"),
        (network.cnps, "CNPs"),
        (network.pause_frames, "pause frames"),
        (network.dropped_packets, "lost packets"),
        (network.retransmissions, "packets sent again"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if counts.is_empty() {
        "Nothing is marked, paused or lost".to_string()
    } else {
        format!("The simulation has {}", list(&counts, 5))
    }
}

/// Without a simulation: how near the log comes to what its NICs allow.
fn alone(log: &MeasuredLog, comparison: &Comparison, bounds: Option<&Bounds>) -> Option<Diagnosis> {
    let bounds = bounds?;
    let large = comparison.rows.iter().filter(|row| row.bytes >= BANDWIDTH_FROM);
    let best = large.filter_map(|row| Some((row.bytes, row.measured_busbw_gbytes_per_s?)));
    let (bytes, busbw) = best.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = busbw / bounds.ring_gbytes_per_s;
    if share > 1.0 {
        return None; // What is above the bound is said elsewhere.
    }
    let nodes = if bounds.nodes_known { "" } else { " (nodes not known: two assumed)" };
    let text = format!(
        "the best busbw is {} GB/s at {}, {:.0} % of the {} that a ring allows on these NICs{nodes}",
        short(busbw),
        size(bytes),
        share * 100.0,
        short(bounds.ring_gbytes_per_s)
    );
    let collective = log.collective().map_or("collective", |collective| collective.name());
    if share >= FULL {
        return Some(Diagnosis::new("near-bound", format!("{text}: the NICs limit this {collective}")));
    }
    let text = format!("{text}. A log alone does not tell hosts from fabric: compare it with --scenario");
    Some(Diagnosis::new("below-bound", text))
}
