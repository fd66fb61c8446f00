//! Cyclic buffer dependencies, before anything fails and after each failure of the scenario.

use std::collections::BTreeSet;

use models::config::FaultConfig;
use models::deadlock::cbd::{Cycle, Input, find_cycles};
use sim_core::Duration;

use super::context::{Context, Routes, links_down};
use super::{error, text};
use crate::finding::Finding;

/// Sets of failed links looked at, the earliest first.
const MOST_STATES: usize = 16;

/// Findings about cycles, the first of them.
const MOST_CYCLES: usize = 8;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    unknown_links(context, findings);
    if !context.any_lossless() {
        return;
    }
    let Some(at_start) = &context.routes else {
        return;
    };
    let mut reported: BTreeSet<(u8, Vec<u32>)> = BTreeSet::new();
    let mut seen: Vec<Vec<bool>> = Vec::new();
    for at in changes(context).into_iter().take(MOST_STATES) {
        let down = links_down(context.scenario, context.graph, at);
        if seen.contains(&down) {
            continue;
        }
        let later;
        let routes = if seen.is_empty() {
            at_start
        } else {
            match Routes::build(context.scenario, context.graph, context.flows, &down) {
                Ok(routes) => {
                    later = routes;
                    &later
                }
                Err(text) => return error(findings, "bad-route", "routing", text),
            }
        };
        let input = Input {
            graph: context.graph,
            table: &routes.table,
            explicit: &routes.explicit,
            flows: context.flows,
            switch: &context.scenario.switch,
            ack_class: context.scenario.nic.ack_class,
        };
        for cycle in find_cycles(&input) {
            if reported.len() < MOST_CYCLES && reported.insert((cycle.class, cycle.hops.clone())) {
                report(context, &cycle, at, &down, findings);
            }
        }
        seen.push(down);
    }
}

/// The start, and the times at which links go down or come back, ascending.
fn changes(context: &Context) -> BTreeSet<u64> {
    let mut times = BTreeSet::from([0]);
    for fault in &context.scenario.faults {
        match fault {
            FaultConfig::LinkDown(fault) if fault.enabled => {
                times.insert(fault.at.0);
                times.extend(fault.until.map(|until| until.0));
            }
            FaultConfig::LinkDown(_) | FaultConfig::PauseStorm(_) | FaultConfig::DropEvery(_) => {}
        }
    }
    times
}

fn report(context: &Context, cycle: &Cycle, at: u64, down: &[bool], findings: &mut Vec<Finding>) {
    let graph = context.graph;
    let mut ports: Vec<String> = cycle.hops.iter().map(|&p| graph.port_name(p)).collect();
    ports.extend(ports.first().cloned());
    let flows = cycle.flows.iter().map(|&index| {
        let flow = &context.flows[index as usize];
        text::flow(graph, index as usize, flow.src, flow.dst)
    });
    let dead: Vec<u32> = (0..).zip(down).filter(|(_, dead)| **dead).map(|(link, _)| link).collect();
    let when = if dead.is_empty() {
        String::new()
    } else {
        let links = text::list(dead.iter().map(|&l| context.link_name(l)).collect::<Vec<_>>().into_iter());
        format!(" once {links} is down (from {})", text::span(Duration(at)))
    };
    let text = format!(
        "cyclic buffer dependency in class {}{when}: {}. Each of these ports can be paused until the next one drains, \
         so that all of them may wait for ever. It is made by {}. Route these flows up and down the tree only, or put \
         the detour into another lossless class.",
        cycle.class,
        ports.join(" -> "),
        text::list(flows.collect::<Vec<_>>().into_iter()),
    );
    let place = format!("class {}, {}", cycle.class, ports[..ports.len() - 1].join(", "));
    error(findings, "cyclic-buffer-dependency", place, text);
}

/// Faults at links that do not exist.
fn unknown_links(context: &Context, findings: &mut Vec<Finding>) {
    for (index, fault) in context.scenario.faults.iter().enumerate() {
        match fault {
            FaultConfig::LinkDown(fault) => {
                let (a, b) = (context.graph.node(&fault.a), context.graph.node(&fault.b));
                let known = context
                    .graph
                    .links
                    .iter()
                    .any(|l| (Some(l.a), Some(l.b)) == (a, b) || (Some(l.b), Some(l.a)) == (a, b));
                if !known {
                    let text =
                        format!("there is no link between {} and {}: nothing would fail.", fault.a, fault.b);
                    error(findings, "unknown-link", format!("faults[{index}]"), text);
                }
            }
            FaultConfig::PauseStorm(_) | FaultConfig::DropEvery(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use models::config::{LinkDown, OnFailure, RouteOverride};

    use super::super::test_scenarios::{flow, found, leaf_spine, scenario};
    use super::*;

    #[test]
    fn a_loop_is_named_with_ports_class_and_flows() {
        let g = leaf_spine(2, 1, 2, 100);
        let mut s = scenario();
        s.routing.routes =
            vec![RouteOverride { at: "spine0".into(), to: "host3".into(), via: vec!["leaf0".into()] }];
        let findings = found(&s, &g, &[flow(0, 3)], "cyclic-buffer-dependency");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "class 3, leaf0:2, spine0:0");
        assert!(
            findings[0].text.starts_with(
                "cyclic buffer dependency in class 3: leaf0:2 -> spine0:0 -> leaf0:2. Each of these ports"
            ),
            "{}",
            findings[0].text
        );
        assert!(findings[0].text.contains("made by flow 0 (host0 to host3)"), "{}", findings[0].text);
        s.switch.pfc.enabled = false;
        assert!(found(&s, &g, &[flow(0, 3)], "cyclic-buffer-dependency").is_empty(), "nothing pauses");
    }

    #[test]
    fn a_cycle_that_needs_a_failure_says_which() {
        let g = leaf_spine(3, 2, 1, 100);
        let mut s = scenario();
        s.routing.on_failure = OnFailure::Local;
        let flows = [flow(1, 0), flow(2, 0)];
        assert!(found(&s, &g, &flows, "cyclic-buffer-dependency").is_empty());
        let mut fault = LinkDown {
            a: "leaf0".into(),
            b: "spine0".into(),
            at: Duration::from_us(50),
            until: Some(Duration::from_us(90)),
            enabled: true,
        };
        s.faults = vec![FaultConfig::LinkDown(fault.clone())];
        let findings = found(&s, &g, &flows, "cyclic-buffer-dependency");
        assert!(!findings.is_empty());
        assert!(
            findings[0].text.contains("class 3 once leaf0 to spine0 is down (from 50.00 us): "),
            "{}",
            findings[0].text
        );
        s.routing.on_failure = OnFailure::Global;
        assert!(found(&s, &g, &flows, "cyclic-buffer-dependency").is_empty());
        s.routing.on_failure = OnFailure::Local;
        fault.enabled = false;
        s.faults = vec![FaultConfig::LinkDown(fault)];
        assert!(found(&s, &g, &flows, "cyclic-buffer-dependency").is_empty());
    }

    #[test]
    fn a_fault_at_no_link_is_an_error() {
        let g = leaf_spine(2, 1, 1, 100);
        let mut s = scenario();
        s.faults = vec![FaultConfig::LinkDown(LinkDown {
            a: "leaf0".into(),
            b: "leaf1".into(),
            at: Duration::ZERO,
            until: None,
            enabled: true,
        })];
        assert_eq!(found(&s, &g, &[flow(0, 1)], "unknown-link")[0].place, "faults[0]");
    }
}
