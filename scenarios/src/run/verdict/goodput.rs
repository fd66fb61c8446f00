//! Goodput against what the links allow: collapse and its cause, unfair shares, flows that share a path.

use models::topology::PortIndex;
use sim_core::stats;

use super::super::facts::Facts;
use super::{flow_names, percent};
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Efficiency below which goodput has collapsed.
const COLLAPSED: f64 = 0.5;
/// Efficiency below which it is worth a word.
const LOW: f64 = 0.85;
/// Part of the run a port is paused from which pauses may be why goodput is low.
const PAUSED: f64 = 0.05;
/// Fairness below which it is worth a word.
const UNFAIR: f64 = 0.9;

/// Findings that explain low goodput by themselves.
const EXPLAIN: [&str; 4] = ["deadlock", "pfc-storm", "stalled", "livelock"];

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    if findings.iter().any(|finding| EXPLAIN.contains(&finding.code.as_str())) {
        return;
    }
    efficiency(facts, findings);
    fairness(facts, findings);
}

/// Time a flow needs at its even share of its hosts' links, over the time it took: at most about 1.
fn efficiencies(facts: &Facts) -> Vec<f64> {
    (0..facts.flows.len())
        .filter_map(|flow| {
            let alone = facts.ideal.fct[flow] as f64;
            let shared = facts.flows[flow].bytes().0 as f64 * 8e12 / facts.ideal.share[flow];
            let due = alone.max(shared);
            match facts.states[flow].fct() {
                Some(fct) => Some(due / fct.0.max(1) as f64),
                None => {
                    let taken = facts.sim_time.0.checked_sub(facts.states[flow].started?.0)? as f64;
                    let done = facts.delivered[flow] as f64 / facts.flows[flow].bytes().0 as f64;
                    (taken > alone).then_some(due * done / taken)
                }
            }
        })
        .collect()
}

fn efficiency(facts: &Facts, findings: &mut Vec<Finding>) {
    let sample = efficiencies(facts);
    let Some(mean) = stats::mean(&sample) else { return };
    if mean >= LOW {
        return;
    }
    let counters = facts.counters;
    let got = format!("flows reach {} of their even share of the hosts' links on average", percent(mean));
    let again = counters.retransmissions as f64 / counters.data_sent.max(1) as f64;
    let crossing = busiest_link(facts);
    let paused = facts.ports.iter().flat_map(|p| &p.classes).map(|class| class.paused).max().unwrap_or(0);
    let paused = paused as f64 / facts.drained.0.max(1) as f64;
    let severity = if mean < COLLAPSED { Severity::Warning } else { Severity::Note };
    let (severity, code, text) = if counters.dropped() > 0 && (again > 0.02 || counters.timeouts > 0) {
        let text = format!(
            "{got}: collapse by drops and retransmissions. {} packets were lost, {} of what was sent was sent before, and \
             {} timeouts passed.",
            counters.dropped(),
            percent(again),
            counters.timeouts,
        );
        (severity, "collapse-drops", text)
    } else if let Some((port, flows, wanted)) = crossing {
        let rate = facts.graph.link_of(port).rate.as_gbps();
        let text = format!(
            "{got}: {} share {}, and together want {wanted:.0} Gb/s of its {rate:.0}: {}. Spread them (routing.mode \
             spray or adaptive, another seed), or add links.",
            text::count(flows.len(), "flow"),
            facts.graph.port_name(port),
            flow_names(facts, &flows),
        );
        (Severity::Note, "path-collision", text)
    } else if counters.dropped() == 0 && counters.cnp_received > 0 && paused < PAUSED {
        let text = format!(
            "{got} without a drop, and pauses are no cause (at most {} of the run): CNPs hold the rates down. {} CNPs and \
             {} rate cuts; {} of the data arrived marked. Raise switch.ecn.kmin, or let DCQCN recover faster (increase_timer, additive_increase).",
            percent(paused),
            counters.cnp_received,
            facts.rate_cuts,
            percent(counters.data_delivered_marked as f64 / counters.data_delivered.max(1) as f64),
        );
        (severity, "collapse-cnp", text)
    } else {
        let text = format!(
            "{got}. Drops: {}, CNPs: {}, longest a port was paused: {} of the run.",
            counters.dropped(),
            counters.cnp_received,
            percent(paused),
        );
        (severity, "low-goodput", text)
    };
    findings.push(Finding::new(severity, code, "flows", text));
}

/// The link between switches that is asked for most beyond its rate by flows at their even shares: its port, the
/// flows, and what they want in Gb/s.
fn busiest_link(facts: &Facts) -> Option<(PortIndex, Vec<usize>, f64)> {
    let graph = facts.graph;
    let over = |port: PortIndex| facts.wanted[port as usize] / graph.link_of(port).rate.0 as f64;
    let between_switches = |port: &PortIndex| !graph.is_host(graph.ports[*port as usize].peer_node);
    let port = facts
        .switch_ports()
        .filter(between_switches)
        .max_by(|&a, &b| over(a).total_cmp(&over(b)).then(b.cmp(&a)))
        .filter(|&port| over(port) > 1.05)?;
    let flows: Vec<usize> = (0..facts.flows.len())
        .filter(|&flow| facts.ways[flow].as_ref().is_some_and(|way| way.contains(&port)))
        .collect();
    (flows.len() > 1).then_some((port, flows, facts.wanted[port as usize] / 1e9))
}

/// Fairness among flows that are due the same: alike in size, start and share.
fn fairness(facts: &Facts, findings: &mut Vec<Finding>) {
    let alike = alike(facts);
    let rates: Vec<f64> = alike.iter().filter_map(|&flow| facts.goodput(flow)).collect();
    if rates.len() < 2 || rates.len() < alike.len() {
        return;
    }
    let Some(jain) = stats::jain(&rates).filter(|jain| *jain < UNFAIR) else { return };
    let (least, most) = rates.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &r| (l.min(r), m.max(r)));
    let severity = if jain < COLLAPSED { Severity::Warning } else { Severity::Note };
    let text = format!(
        "unfair: {} alike got {:.2} to {:.2} Gb/s, Jain's index {jain:.2} (1 is even).",
        text::count(rates.len(), "flow"),
        least / 1e9,
        most / 1e9,
    );
    findings.push(Finding::new(severity, "unfair-goodput", "flows", text));
}

/// All flows if they are alike in size, start and share, else none.
pub(in super::super) fn alike(facts: &Facts) -> Vec<usize> {
    let Some(first) = facts.flows.first() else { return Vec::new() };
    let share = facts.ideal.share[0];
    let same = facts.flows.iter().zip(&facts.ideal.share).all(|(flow, &its)| {
        flow.bytes() == first.bytes() && flow.start == first.start && (its - share).abs() <= share * 0.01
    });
    if same { (0..facts.flows.len()).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::test_runs::{flows, found, incast, leaf_spine, only, run, star};

    /// Lossy memory that is too small, and go-back-n: the collapse of perftest#219.
    #[test]
    fn collapse_by_losses_and_collapse_by_cnps_are_told_apart() {
        let drops = run(json!({
            "topology": star(9, 25, 10),
            "switch": { "buffer": "100KB", "classes": [], "ecn": null },
            "nic": { "mtu": "1024B", "retransmission_timeout": "4ms" },
            "congestion": "none",
            "traffic": incast(8, "1MB")
        }));
        let text = only(&drops, "collapse-drops").text;
        assert!(text.contains("collapse by drops and retransmissions"), "{text}");
        assert!(found(&drops, "collapse-cnp").is_empty());

        let cnps = run(json!({
            "topology": star(3, 25, 10),
            "switch": { "ecn": { "kmin": "2KB", "kmax": "4KB", "pmax": 1.0, "reference_rate": null } },
            "congestion": { "dcqcn": { "preset": "sigcomm15", "increase_timer": "5ms", "byte_counter": "0B" } },
            "traffic": incast(2, "10MB")
        }));
        assert_eq!((cnps.summary.drops.total, cnps.summary.pfc.pause_frames), (0, 0));
        let text = only(&cnps, "collapse-cnp").text;
        assert!(text.contains("without a drop, and pauses are no cause (at most 0 % of the run)"), "{text}");
        assert!(found(&cnps, "collapse-drops").is_empty());
    }

    #[test]
    fn flows_on_one_link_between_switches_are_named() {
        let outcome = run(json!({
            "topology": leaf_spine(2, 1, 4),
            "congestion": "none",
            "traffic": [{ "permutation": { "size": "4MB", "shift": 4 } }]
        }));
        let finding = only(&outcome, "path-collision");
        assert!(
            finding.text.contains("4 flows share leaf0:4, and together want 400 Gb/s of its 100"),
            "{}",
            finding.text
        );
    }

    #[test]
    fn an_even_share_says_nothing() {
        let outcome = run(json!({
            "topology": star(3, 100, 10),
            "congestion": "none",
            "traffic": incast(2, "10MB")
        }));
        for code in ["unfair-goodput", "low-goodput", "path-collision", "collapse-drops", "collapse-cnp"] {
            assert!(found(&outcome, code).is_empty(), "{code}");
        }
        assert!(outcome.summary.verdict.healthy);
    }

    #[test]
    fn unequal_flows_are_unfair() {
        // Two flows alike from host1 share its link; host2 has its own: 1/4, 1/4, 1/2 would be even per host.
        let outcome = run(json!({
            "topology": leaf_spine(3, 1, 3),
            "congestion": "none",
            "traffic": flows(&[
                ("host3", "host0", "8MB"), ("host4", "host0", "8MB"), ("host5", "host0", "8MB"), ("host6", "host0", "8MB")
            ])
        }));
        let finding = only(&outcome, "unfair-goodput");
        assert!(finding.text.contains("4 flows alike"), "{}", finding.text);
    }
}
