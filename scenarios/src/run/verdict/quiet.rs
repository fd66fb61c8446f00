//! PFC that never triggered, and why.

use models::config::{CongestionConfig, Threshold, Window};
use models::topology::NodeIndex;
use sim_core::Bytes;

use super::super::facts::Facts;
use crate::check::text::{count, size};
use crate::finding::{Finding, Severity};

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    let switch = &facts.scenario.switch;
    if !switch.pfc.enabled || facts.counters.pause_frames > 0 {
        return;
    }
    let lossless = switch.lossless_classes();
    let map = switch.dscp_to_class();
    let class = |flow: &models::traffic::Flow| map[usize::from(flow.dscp & 63)];
    if !facts.flows.iter().any(|flow| lossless.contains(&class(flow))) {
        return;
    }
    let text = format!("0 events: PFC never triggered because {}", reason(facts));
    findings.push(Finding::new(Severity::Note, "pfc-quiet", "switch.pfc", text));
}

fn reason(facts: &Facts) -> String {
    let (fullest, held) = facts
        .buffer_peaks
        .iter()
        .enumerate()
        .map(|(switch, &peak)| (facts.graph.hosts + switch as NodeIndex, peak))
        .max_by_key(|&(node, peak)| (peak, std::cmp::Reverse(node)))
        .unwrap_or((facts.graph.hosts, 0));
    let pause_at = pause_at(facts, fullest, held);
    let name = &facts.graph.names[fullest as usize];
    let level = format!(
        "{name} held {} at most in all, where one ingress pauses at {}",
        size(Bytes(held)),
        size(Bytes(pause_at))
    );
    let frame = facts.scenario.nic.mtu.0 + facts.scenario.nic.header.0;
    let queued = facts.largest(facts.switch_ports(), |class| class.queue_peak).map_or(0, |(_, _, peak)| peak);
    if queued <= 4 * frame {
        return format!("nothing congested: no queue held more than {} ({level}).", size(Bytes(queued)));
    }
    if let Some((flows, window)) = window(facts) {
        return format!(
            "the window bounds the bytes in flight to {} × {} = {} at one receiver; {level}.",
            count(flows as usize, "flow"),
            size(Bytes(window)),
            size(Bytes(flows * window)),
        );
    }
    match facts.scenario.congestion {
        CongestionConfig::Dcqcn(_) if facts.counters.cnp_received > 0 => format!(
            "ECN and DCQCN kept the queues below XOFF: {} marks, {} CNPs and {} rate cuts; {level}.",
            facts.counters.marked, facts.counters.cnp_received, facts.rate_cuts
        ),
        CongestionConfig::Timely(_) | CongestionConfig::Swift(_) | CongestionConfig::Hpcc(_) => {
            format!("congestion control kept the queues below XOFF; {level}.")
        }
        CongestionConfig::None | CongestionConfig::Dcqcn(_) => {
            format!("what queued stayed below XOFF; {level}.")
        }
    }
}

/// Bytes at which a lossless ingress of `node` pauses while its switch holds `held` in all.
fn pause_at(facts: &Facts, node: NodeIndex, held: u64) -> u64 {
    let switch = &facts.scenario.switch;
    let lossless = switch.lossless_classes();
    let set_aside: u64 = facts
        .graph
        .ports_of(node)
        .flat_map(|port| lossless.iter().map(move |&class| (port, class)))
        .map(|(port, class)| {
            let headroom = facts.ports[port as usize].classes[usize::from(class)].headroom_limit;
            u64::from(headroom) + switch.reserved.0
        })
        .sum();
    let shared = switch.buffer.0.saturating_sub(set_aside);
    switch.reserved.0
        + match switch.xoff {
            Threshold::Static(bytes) => bytes.0,
            Threshold::Dynamic { alpha } => (alpha * shared.saturating_sub(held) as f64) as u64,
        }
}

/// Most flows at one receiver and the largest of their windows, if all flows have one.
fn window(facts: &Facts) -> Option<(u64, u64)> {
    let mut at = vec![0u64; facts.graph.hosts as usize];
    let mut largest = 0;
    for (flow, path) in facts.flows.iter().zip(facts.paths) {
        at[flow.dst as usize] += 1;
        largest = largest.max(match facts.scenario.nic.window? {
            Window::Bytes(bytes) => bytes.0,
            Window::Bdp => path.bdp(),
        });
    }
    Some((at.into_iter().max()?, largest))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::test_runs::{flows, found, incast, only, run, star};

    fn sixteen(window: Value, congestion: Value) -> Value {
        json!({
            "topology": star(17, 100, 100),
            "nic": { "window": window },
            "congestion": congestion,
            "traffic": incast(16, "2MB")
        })
    }

    #[test]
    fn a_window_keeps_pfc_away_and_is_named() {
        let outcome = run(sixteen(json!({ "bytes": "50KB" }), json!("none")));
        assert_eq!(outcome.summary.pfc.pause_frames, 0);
        let text = only(&outcome, "pfc-quiet").text;
        let said = "0 events: PFC never triggered because the window bounds the bytes in flight to 16 flows × 50000 B \
                    = 800.0 KB";
        assert!(text.starts_with(said), "{text}");
        let outcome = run(sixteen(Value::Null, json!("none")));
        assert!(outcome.summary.pfc.pause_frames > 0);
        assert!(found(&outcome, "pfc-quiet").is_empty());
    }

    #[test]
    fn ecn_or_the_want_of_congestion_are_named() {
        let slow = json!({ "dcqcn": { "preset": "hpcc-ns3" } });
        let mut object = sixteen(Value::Null, slow);
        object["switch"] = json!({ "xoff": { "dynamic": { "alpha": 8.0 } } });
        let outcome = run(object);
        assert!(only(&outcome, "pfc-quiet").text.contains("ECN and DCQCN kept the queues below XOFF"));
        let alone =
            run(json!({ "topology": star(2, 100, 10), "traffic": flows(&[("host0", "host1", "1MB")]) }));
        assert!(only(&alone, "pfc-quiet").text.contains("nothing congested"));
        assert!(alone.summary.verdict.healthy);
    }
}
