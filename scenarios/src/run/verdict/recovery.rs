//! Retransmissions: livelock, their share, needless ones, and tails that wait for a timeout.

use models::config::Recovery;

use super::super::drive::End;
use super::super::facts::Facts;
use super::{flow_names, percent};
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Share of retransmissions from which they matter.
const MATTERS: f64 = 0.01;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    livelock(facts, findings);
    share(facts, findings);
    timeouts(facts, findings);
}

/// Flows that sent everything again, twice over, and are still not done.
fn livelock(facts: &Facts, findings: &mut Vec<Finding>) {
    if !matches!(facts.end, End::Until | End::Stalled) {
        return;
    }
    let mtu = facts.scenario.nic.mtu.0;
    let stuck: Vec<usize> = facts
        .waiting()
        .into_iter()
        .filter(|&flow| {
            let f = &facts.flows[flow];
            u64::from(facts.retransmissions[flow]) >= 2 * f.packets_per_message(mtu)
                && facts.delivered[flow] < f.size.0
        })
        .collect();
    let Some(&first) = stuck.first() else { return };
    let host = facts.flows[first].src;
    let port = facts.graph.first_port[host as usize];
    let sent = &facts.ports[port as usize];
    let wire = sent.tx_bytes + facts.scenario.nic.gap.0 * sent.tx_packets;
    let busy = wire as f64
        / facts.graph.link_of(port).rate.bytes_in(facts.sim_time.since(sim_core::Time::ZERO)).0 as f64;
    let again: u64 = stuck.iter().map(|&flow| u64::from(facts.retransmissions[flow])).sum();
    let cause = match facts.scenario.nic.recovery {
        Recovery::GoBack0 => {
            "go-back-0 starts a message again at each loss, so that none ever gets through: set nic.recovery to \
             go-back-n or selective-repeat"
        }
        Recovery::GoBackN | Recovery::SelectiveRepeat => {
            "what is sent again is lost again: look at the drops and their causes"
        }
    };
    let text = format!(
        "livelock: the links are busy ({} at {}) and deliver no message. {} sent {again} packets again and completed \
         nothing: {}. {cause}.",
        percent(busy.min(1.0)),
        facts.graph.names[host as usize],
        text::count(stuck.len(), "flow"),
        flow_names(facts, &stuck),
    );
    findings.push(Finding::new(Severity::Error, "livelock", facts.graph.names[host as usize].clone(), text));
}

fn share(facts: &Facts, findings: &mut Vec<Finding>) {
    let counters = facts.counters;
    if counters.retransmissions == 0 {
        return;
    }
    let share = counters.retransmissions as f64 / counters.data_sent.max(1) as f64;
    let lost = counters.dropped();
    let severity = if share >= MATTERS { Severity::Warning } else { Severity::Note };
    if lost == 0 {
        let text = format!(
            "{} data packets ({}) were sent again although none was lost: {} NAKs for packets out of order and {} \
             timeouts. Keep packets of a flow on one path, tolerate more reordering (nic.reorder_window with \
             selective-repeat), or raise nic.retransmission_timeout.",
            counters.retransmissions,
            percent(share),
            counters.naks,
            counters.timeouts,
        );
        findings.push(Finding::new(severity, "needless-retransmissions", "nic", text));
        return;
    }
    let each = counters.retransmissions as f64 / lost as f64;
    let remedy = match facts.scenario.nic.recovery {
        Recovery::GoBackN if each > 4.0 => {
            " Go-back-n sends everything behind a loss again; selective-repeat sends only what is missing."
        }
        Recovery::GoBack0 => " Go-back-0 sends the whole message again at each loss.",
        Recovery::GoBackN | Recovery::SelectiveRepeat => "",
    };
    let text = format!(
        "{} of the data packets sent, {}, were sent before: {each:.1} for each of {lost} packets lost.{remedy}",
        percent(share),
        counters.retransmissions,
    );
    findings.push(Finding::new(severity, "retransmissions", "nic", text));
}

fn timeouts(facts: &Facts, findings: &mut Vec<Finding>) {
    let timeouts = facts.counters.timeouts;
    if timeouts == 0 {
        return;
    }
    let timeout = facts.scenario.nic.retransmission_timeout;
    let text = format!(
        "{} of {}: a lost tail or a lost control packet is noticed only so. Each holds up its flow for that long; \
         lower nic.retransmission_timeout (above the longest round trip, pauses included).",
        text::count(timeouts as usize, "retransmission timeout"),
        text::span(timeout),
    );
    findings.push(Finding::new(Severity::Warning, "timeouts", "nic.retransmission_timeout", text));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::test_runs::{flows, found, leaf_spine, only, run, star};
    use crate::finding::Severity;

    fn lossy(recovery: &str, until: Value) -> Value {
        json!({
            "topology": star(2, 40, 10),
            "nic": { "recovery": recovery },
            "congestion": "none",
            "traffic": flows(&[("host0", "host1", "4MB")]),
            "faults": [{ "drop-every": { "at": "switch0", "every": 256 } }],
            "run": { "until": until }
        })
    }

    #[test]
    fn go_back_0_livelocks_and_the_others_do_not() {
        let outcome = run(lossy("go-back-0", json!("20ms")));
        assert_eq!(outcome.summary.flows.completed, 0);
        let finding = only(&outcome, "livelock");
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.text.contains("go-back-0 starts a message again"), "{}", finding.text);
        assert!(
            finding.text.contains("the links are busy (9") || finding.text.contains("(100 %"),
            "{}",
            finding.text
        );
        for recovery in ["go-back-n", "selective-repeat"] {
            let outcome = run(lossy(recovery, Value::Null));
            assert_eq!(outcome.summary.flows.completed, 1);
            assert!(found(&outcome, "livelock").is_empty());
            assert_eq!(found(&outcome, "retransmissions").len(), 1);
        }
    }

    #[test]
    fn packets_out_of_order_are_sent_again_needlessly() {
        let outcome = run(json!({
            "topology": leaf_spine(2, 4, 4),
            "routing": { "mode": "spray" },
            "congestion": "none",
            "traffic": [{ "permutation": { "size": "1MB", "shift": 4 } }]
        }));
        assert_eq!(outcome.summary.drops.total, 0);
        assert!(outcome.summary.retransmissions > 0);
        assert!(only(&outcome, "needless-retransmissions").text.contains("although none was lost"));
        assert!(found(&outcome, "retransmissions").is_empty());
    }
}
