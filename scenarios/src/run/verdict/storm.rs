//! Pause storms: a host that pauses without end, the ports its pauses reached, and what the watchdog did.

use std::collections::BTreeSet;

use models::config::WatchdogAction;
use models::counters::DropReason;
use models::deadlock::storm::PauseCause;
use models::topology::PortIndex;
use sim_core::{Duration, Time};

use super::super::facts::Facts;
use super::super::watch::TreeWatch;
use super::{percent, slowdown};
use crate::check::text;
use crate::finding::{Finding, Severity};

/// A host's pause that stands this long is a storm: a slow receiver resumes far sooner.
const STANDING: Duration = Duration::from_ms(1);
/// So is a shorter one that stood for most of the run.
const SHORT_STANDING: Duration = Duration::from_us(100);
/// A host that pauses its switch for less of the run is not worth a word.
const SLOW: f64 = 0.01;
/// Slowdown from which a flow counts as a victim.
pub(super) const VICTIM: f64 = 1.5;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    for (&(root, class), tree) in &facts.watch.trees {
        if tree.cause != PauseCause::Host {
            continue;
        }
        let run = facts.drained.since(Time::ZERO);
        let most_of_run = tree.standing >= SHORT_STANDING && tree.standing.0 >= run.0 / 2;
        if tree.standing >= STANDING || most_of_run {
            storm(facts, root, class, tree, findings);
        } else {
            slow_receiver(facts, root, class, findings);
        }
    }
    watchdog(facts, findings);
}

fn storm(facts: &Facts, root: PortIndex, class: u8, tree: &TreeWatch, findings: &mut Vec<Finding>) {
    let graph = facts.graph;
    let host = &graph.names[graph.ports[root as usize].peer_node as usize];
    let reached = match tree.reached.len() {
        0 => "Its pauses reached no other port.".to_string(),
        n => format!(
            "Its pauses reached {}, in this order: {}.",
            text::count(n, "more port"),
            order(facts, tree, true)
        ),
    };
    let victims = victims(facts, root, tree);
    let victims = match victims.len() {
        0 => String::new(),
        n => format!(
            " {} that do not go to {host} were held up: {}.",
            text::count(n, "flow"),
            super::flow_names(facts, &victims)
        ),
    };
    let advice = match facts.scenario.switch.watchdog.as_ref().filter(|watchdog| watchdog.enabled) {
        None => "Reset or replace that NIC, and set switch.watchdog so that one host cannot stop the fabric.",
        Some(_) => "Reset or replace that NIC.",
    };
    let text = format!(
        "{host} pauses {} in class {class} without end: from {} on, standing for up to {}. The port is the root: it \
         is paused while its own switch owes nothing. {reached}{victims} {advice}",
        graph.port_name(root),
        text::span(tree.first.since(Time::ZERO)),
        text::span(tree.standing),
    );
    findings.push(Finding::new(Severity::Error, "pfc-storm", graph.port_name(root), text));
}

/// The ports of a tree, by their distance from the root; for a storm each step with the time it was reached.
pub(super) fn order(facts: &Facts, tree: &TreeWatch, times: bool) -> String {
    let depths = tree.reached.values().map(|&(_, depth)| depth).max().unwrap_or(0);
    let steps: Vec<String> = (1..=depths)
        .filter_map(|depth| {
            let at = |port: &PortIndex| tree.reached[port].0;
            let mut ports: Vec<PortIndex> =
                tree.reached.iter().filter(|(_, (_, d))| *d == depth).map(|(port, _)| *port).collect();
            ports.sort_by_key(|port| (at(port), *port));
            let first = at(ports.first()?);
            let names = text::ports(facts.graph, &ports);
            Some(if times {
                format!("{names} (from {})", text::span(first.since(Time::ZERO)))
            } else {
                names
            })
        })
        .collect();
    steps.join(", then ")
}

/// Flows that a tree held up and that have no part in any congestion: they cross neither the root, nor the root of
/// another tree that is offered more than it carries.
pub(super) fn victims(facts: &Facts, root: PortIndex, tree: &TreeWatch) -> Vec<usize> {
    let roots: BTreeSet<PortIndex> = facts.watch.trees.keys().map(|&(port, _)| port).collect();
    let congested =
        |port: PortIndex| facts.offered[port as usize] > facts.graph.link_of(port).rate.0 as f64 * 1.001;
    let guilty = |port: PortIndex| port == root || (roots.contains(&port) && congested(port));
    (0..facts.ways.len())
        .filter(|&flow| {
            let Some(way) = &facts.ways[flow] else { return false };
            way.iter().any(|port| tree.reached.contains_key(port))
                && !way.iter().any(|&port| guilty(port))
                && slowdown(facts, flow).is_some_and(|times| times >= VICTIM)
        })
        .collect()
}

fn slow_receiver(facts: &Facts, root: PortIndex, class: u8, findings: &mut Vec<Finding>) {
    let state = &facts.ports[root as usize].classes[usize::from(class)];
    let part = state.paused as f64 / facts.drained.0.max(1) as f64;
    if part < SLOW {
        return;
    }
    let graph = facts.graph;
    let host = &graph.names[graph.ports[root as usize].peer_node as usize];
    let text = format!(
        "{host} paused class {class} of its switch port {} times, for {} of the run: it takes data more slowly than its \
         link brings it. Raise nic.drain_rate (PCIe, memory), or let the senders be slower.",
        state.rx_pause,
        percent(part),
    );
    findings.push(Finding::new(Severity::Warning, "slow-receiver", graph.port_name(root), text));
}

fn watchdog(facts: &Facts, findings: &mut Vec<Finding>) {
    let (storms, restores) = (facts.counters.watchdog_storms, facts.counters.watchdog_restores);
    let Some(config) = facts.scenario.switch.watchdog.as_ref().filter(|_| storms > 0) else { return };
    let action = match config.action {
        WatchdogAction::Drop => {
            format!("dropped {} packets of it", facts.counters.drops[DropReason::Watchdog as usize])
        }
        WatchdogAction::Forward => "sent on in spite of the pause".to_string(),
        WatchdogAction::Alert => "only counted (action alert)".to_string(),
    };
    let still =
        facts.stormed.iter().map(|&(port, class)| format!("{} class {class}", facts.graph.port_name(port)));
    let still = text::list(still.collect::<Vec<_>>().into_iter());
    let text = format!(
        "the PFC watchdog declared {} and {action}; it restored {}.{}",
        text::count(storms as usize, "storm"),
        text::count(restores as usize, "port"),
        if still.is_empty() { String::new() } else { format!(" Still in a storm: {still}.") },
    );
    let place = if still.is_empty() { "switch.watchdog".to_string() } else { still };
    findings.push(Finding::new(Severity::Warning, "watchdog-storm", place, text));
    if restores > 0 && storms > 1 {
        let text = format!(
            "the watchdog flaps: {storms} storms and {restores} restores. A port is restored while its peer still pauses \
             it when switch.watchdog.restoration is shorter than the peer's gaps between PAUSEs, or when the \
             mitigation itself stops the counter (frozen_counter_bug)."
        );
        findings.push(Finding::new(Severity::Warning, "watchdog-flaps", "switch.watchdog", text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::test_runs::{found, leaf_spine, only, run};
    use crate::finding::Severity;

    /// All hosts of two leaves send to the next one, and host4 pauses from the start.
    fn stormy(watchdog: Value) -> Value {
        json!({
            "topology": leaf_spine(2, 2, 4),
            "switch": { "watchdog": watchdog, "buffer": "4MB" },
            "congestion": "none",
            "traffic": [{ "permutation": { "size": "20MB", "shift": 4 } }],
            "faults": [{ "pause-storm": { "host": "host4", "at": "10us" } }],
            "run": { "until": "4ms" }
        })
    }

    #[test]
    fn the_root_the_order_and_the_victims_are_named() {
        let outcome = run(stormy(Value::Null));
        let finding = only(&outcome, "pfc-storm");
        assert_eq!((finding.severity, finding.place.as_str()), (Severity::Error, "leaf1:0"));
        assert!(finding.text.starts_with("host4 pauses leaf1:0 in class 3 without end"), "{}", finding.text);
        // From the leaf to the spine, from there to the other leaf, from there to the sender.
        let order = finding.text.split("in this order: ").nth(1).unwrap();
        let at = |name: &str| order.find(name).unwrap_or_else(|| panic!("{name} in {order}"));
        assert!(at("spine") < at("leaf0:") && at("leaf0:") < at("host0"), "{order}");
        assert!(found(&outcome, "slow-receiver").is_empty());
        assert!(!outcome.summary.verdict.healthy);
    }

    #[test]
    fn the_watchdog_reports_one_storm() {
        let outcome = run(stormy(json!({ "detection": "400us", "restoration": "400us", "poll": "200us" })));
        assert_eq!(outcome.summary.pfc.watchdog_storms, 1);
        assert_eq!(outcome.summary.pfc.watchdog_restores, 0);
        let finding = only(&outcome, "watchdog-storm");
        assert_eq!(finding.place, "leaf1:0 class 3");
        assert!(found(&outcome, "watchdog-flaps").is_empty());
        assert!(outcome.summary.drops.by_reason["watchdog"] > 0);
    }

    #[test]
    fn a_slow_receiver_is_no_storm() {
        let outcome = run(json!({
            "topology": leaf_spine(2, 1, 1),
            "nic": { "drain_rate": "40Gbps" },
            "congestion": "none",
            "traffic": [{ "flows": { "list": [{ "from": "host0", "to": "host1", "size": "20MB" }] } }]
        }));
        assert_eq!(outcome.summary.flows.completed, 1);
        assert_eq!(only(&outcome, "slow-receiver").place, "leaf1:0");
        assert!(found(&outcome, "pfc-storm").is_empty());
        assert_eq!(outcome.summary.pfc.pause_frames > 0, outcome.summary.pfc.resume_frames > 0);
    }
}
