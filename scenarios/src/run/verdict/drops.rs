//! Packets lost: where, why, and what was missing.

use std::collections::BTreeMap;

use models::config::ClassKind;
use models::counters::DropReason;
use models::topology::PortIndex;
use sim_core::{Duration, Rate};

use super::super::facts::Facts;
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Kinds of ports with lost headroom that get a finding each.
const MOST_KINDS: usize = 4;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    headroom(facts, findings);
    for reason in [
        DropReason::Buffer,
        DropReason::Egress,
        DropReason::Ttl,
        DropReason::NoRoute,
        DropReason::LinkDown,
        DropReason::LinkError,
        DropReason::Fault,
        DropReason::Nic,
    ] {
        other(facts, reason, findings);
    }
}

/// What ports that lost alike have in common: class, headroom limit, bytes missing, link delay and rate.
type LossKind = (u8, u64, u64, u64, u64);

/// One finding for the ports of each kind, the kind that lost most first.
fn headroom(facts: &Facts, findings: &mut Vec<Finding>) {
    let mut kinds: BTreeMap<LossKind, (u64, Vec<PortIndex>)> = BTreeMap::new();
    for (&(port, class), loss) in &facts.losses.headroom {
        let limit = u64::from(facts.ports[port as usize].classes[usize::from(class)].headroom_limit);
        let link = facts.graph.link_of(port);
        let kind = kinds.entry((class, limit, loss.missing, link.delay.0, link.rate.0)).or_default();
        kind.0 += loss.packets;
        kind.1.push(port);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, (packets, _))| (std::cmp::Reverse(*packets), *kind));
    let rest: usize = kinds.iter().skip(MOST_KINDS).map(|(_, (_, ports))| ports.len()).sum();
    for (index, ((class, limit, missing, delay, rate), (packets, ports))) in
        kinds.into_iter().take(MOST_KINDS).enumerate()
    {
        let needed = limit + missing;
        let more = match rest {
            n if n > 0 && index + 1 == MOST_KINDS => {
                format!(" {n} more ports lost packets so: see ports.csv.")
            }
            _ => String::new(),
        };
        let text = format!(
            "{} of lossless class {class} lost: headroom {limit} needed {needed}, {missing} B were missing after a \
             PAUSE on a link of {} and {}. Set switch.headroom to \"auto\" or to at least {needed}B; `fabsim check` \
             says what each link requires.{more}",
            text::count(packets as usize, "packet"),
            text::distance(Duration(delay)),
            Rate(rate),
        );
        let place = match ports.len() {
            1 => text::ports(facts.graph, &ports),
            n => format!("{} ({n} ports)", text::ports(facts.graph, &ports)),
        };
        findings.push(Finding::new(Severity::Error, "headroom-overrun", place, text));
    }
}

fn other(facts: &Facts, reason: DropReason, findings: &mut Vec<Finding>) {
    let mut ports: Vec<(u64, PortIndex)> = facts
        .losses
        .by_port
        .iter()
        .filter(|((_, why), _)| *why == reason)
        .map(|((port, _), packets)| (*packets, *port))
        .collect();
    let total = facts.counters.drops[reason as usize];
    if total == 0 {
        return;
    }
    ports.sort_by_key(|&(packets, port)| (std::cmp::Reverse(packets), port));
    let places = ports.iter().map(|&(packets, port)| format!("{} ({packets})", facts.graph.port_name(port)));
    let place = text::list(places.collect::<Vec<_>>().into_iter());
    let packets = text::count(total as usize, "packet");
    let (code, text) = describe(facts, reason, &packets);
    findings.push(Finding::new(Severity::Warning, code, place, text));
}

fn describe(facts: &Facts, reason: DropReason, packets: &str) -> (&'static str, String) {
    let lossless = facts.scenario.switch.classes.iter().any(|c| c.kind == ClassKind::Lossless);
    match reason {
        DropReason::Buffer => (
            "buffer-drops",
            format!(
                "{packets} of lossy classes lost: the ingress limit (switch.lossy_ingress) or the shared memory was \
                 full. Make the class lossless, let senders slow down earlier (switch.ecn.kmin), or enlarge \
                 switch.buffer."
            ),
        ),
        DropReason::Egress if lossless && facts.scenario.switch.lossless_egress.is_some() => (
            "egress-drops",
            format!(
                "{packets} lost at the limit of an egress queue: switch.lossless_egress drops before PFC can pause \
                 the senders. Leave it out for lossless classes, or set it above the sum of all ingress XOFFs."
            ),
        ),
        DropReason::Egress => (
            "egress-drops",
            format!(
                "{packets} lost at the limit of an egress queue (switch.lossy_egress): the queue outgrew it."
            ),
        ),
        DropReason::Ttl => (
            "ttl-drops",
            format!(
                "{packets} lost because they had crossed as many links as their TTL allows: there is a routing loop. \
                 Look at routing.routes and at the paths of flows."
            ),
        ),
        DropReason::NoRoute => {
            ("no-route-drops", format!("{packets} lost at switches without a route to their destination."))
        }
        DropReason::LinkDown => (
            "link-down-drops",
            format!(
                "{packets} lost at links that were down. routing.convergence and routing.on_failure say how long \
                 switches go on sending there."
            ),
        ),
        DropReason::LinkError => (
            "link-error-drops",
            format!(
                "{packets} lost to bit errors on links with an error_rate. Replace the cable or transceiver."
            ),
        ),
        DropReason::Fault => {
            ("injected-drops", format!("{packets} dropped by the faults of the scenario (drop-every)."))
        }
        DropReason::Nic if facts.scenario.nic.drain_rate.is_none() => {
            ("nic-drops", format!("{packets} lost at a NIC that had stopped receiving."))
        }
        DropReason::Nic => (
            "nic-drops",
            format!(
                "{packets} lost at a NIC whose receive buffer was full: nic.receive_xoff leaves \
                 too little of nic.receive_buffer for what arrives after its PAUSE."
            ),
        ),
        DropReason::Headroom | DropReason::Watchdog => ("drops", format!("{packets} lost.")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::test_runs::{found, incast, leaf_spine, only, run, star};
    use crate::finding::Severity;

    /// Two senders on cables of 300 m with the headroom of 40 m.
    fn long_cables(headroom: &str) -> serde_json::Value {
        json!({
            "topology": star(3, 100, 300),
            "nic": { "mtu": "9000B", "header": "216B" },
            "switch": { "headroom": { "bytes": headroom }, "ecn": null },
            "congestion": "none",
            "traffic": incast(2, "20MB")
        })
    }

    #[test]
    fn missing_headroom_is_told_in_bytes() {
        let outcome = run(long_cables("38912B"));
        let findings = found(&outcome, "headroom-overrun");
        assert_eq!(findings.len(), 1, "ports alike are one finding");
        let finding = &findings[0];
        assert_eq!(finding.place, "switch0:1, switch0:2 (2 ports)");
        assert_eq!(finding.severity, Severity::Error);
        let text = &finding.text;
        assert!(text.contains("headroom 38912 needed "), "{text}");
        let needed: u64 = text.split("needed ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        assert!((40_000..60_000).contains(&needed), "{text}");
        assert_eq!(outcome.summary.headroom.overruns, outcome.summary.drops.total);
        assert!(!outcome.summary.verdict.healthy);

        // What it says is needed is enough.
        let outcome = run(long_cables(&format!("{}B", needed + 9216)));
        assert_eq!(outcome.summary.drops.total, 0);
        assert!(found(&outcome, "headroom-overrun").is_empty());
    }

    #[test]
    fn other_losses_name_their_cause() {
        let lossy = run(json!({
            "topology": star(9, 100, 10),
            "switch": { "buffer": "200KB", "classes": [], "ecn": null },
            "congestion": "none",
            "traffic": incast(8, "1MB")
        }));
        assert!(only(&lossy, "egress-drops").text.contains("switch.lossy_egress"));

        let cut = run(json!({
            "topology": leaf_spine(2, 1, 1),
            "routing": { "on_failure": "none" },
            "nic": { "retransmission_timeout": "200us" },
            "traffic": [{ "flows": { "list": [{ "from": "host0", "to": "host1", "size": "1MB" }] } }],
            "faults": [{ "link-down": { "a": "leaf0", "b": "spine0", "at": "20us", "until": "300us" } }]
        }));
        assert_eq!(cut.summary.flows.completed, 1);
        let place = only(&cut, "link-down-drops").place;
        assert!(place.starts_with("leaf0:1 ("), "{place}");
        assert!(only(&cut, "timeouts").text.contains("200.00 us"));
    }
}
