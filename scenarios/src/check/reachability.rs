//! Flows that cannot arrive: no route, a loop, or a TTL that runs out.

use models::routing::{Walk, WalkOutcome, walk};
use models::traffic::Flow;

use super::context::{Context, Routes};
use super::{error, text};
use crate::finding::Finding;

/// Longest way looked at: no TTL allows more.
const MAX_PORTS: usize = 258;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let Some(routes) = &context.routes else {
        return;
    };
    // The first flow of each kind, and how many.
    let (mut unreachable, mut looped, mut expired) = (Kind::default(), Kind::default(), Kind::default());
    for (index, flow) in context.flows.iter().enumerate() {
        let way = slowest_way(context, routes, index, flow);
        match way.outcome {
            WalkOutcome::Unreachable => unreachable.add(index, way),
            WalkOutcome::Looped => looped.add(index, way),
            WalkOutcome::Arrived => {
                if crossings(&way) > usize::from(flow.ttl) {
                    expired.add(index, way);
                }
            }
        }
    }
    unreachable.report(context, findings, "unreachable", |way| {
        let last = way.ports.last().map_or(context.graph.hosts, |&p| context.graph.ports[p as usize].peer_node);
        let name = context.graph.names.get(last as usize).map_or("nowhere", String::as_str);
        format!(
            "there is no route at {name}: nothing of the flow arrives. Add the missing link, or check faults and \
             routing.routes."
        )
    });
    looped.report(context, findings, "routing-loop", |way| {
        format!(
            "packets go around in a loop ({}) until their TTL runs out, and never arrive. Check routing.routes.",
            loop_names(context, way)
        )
    });
    expired.report(context, findings, "ttl-too-small", |way| {
        format!("its way crosses {} between switches, more than its ttl allows. Raise ttl.", {
            text::count(crossings(way), "link")
        })
    });
}

/// The way of a flow that takes the longest link wherever it has a choice.
pub(super) fn slowest_way(context: &Context, routes: &Routes, index: usize, flow: &Flow) -> Walk {
    let slowest = |ports: &[u32]| {
        let delay = |i: usize| context.graph.link_of(ports[i]).delay;
        (0..ports.len()).rev().max_by_key(|&i| delay(i)).unwrap_or(0)
    };
    let most = MAX_PORTS.min(context.graph.nodes() as usize + 2);
    walk(context.graph, &routes.table, &routes.explicit, index as u32, flow, slowest, most)
}

/// Links between switches on a way that arrives: all but the first and last.
fn crossings(way: &Walk) -> usize {
    way.ports.len().saturating_sub(2)
}

/// The switches of a loop, once around.
fn loop_names(context: &Context, way: &Walk) -> String {
    let switches: Vec<u32> = way.ports.iter().map(|&p| context.graph.ports[p as usize].peer_node).collect();
    let last = switches[switches.len() - 1];
    let before = switches[..switches.len() - 1].iter().rposition(|&s| s == last).unwrap_or(0);
    let names: Vec<&str> =
        switches[before..].iter().map(|&s| context.graph.names[s as usize].as_str()).collect();
    names.join(" -> ")
}

#[derive(Default)]
struct Kind {
    count: usize,
    first: Option<(usize, Walk)>,
}

impl Kind {
    fn add(&mut self, index: usize, way: Walk) {
        self.count += 1;
        self.first.get_or_insert((index, way));
    }

    fn report(
        &self,
        context: &Context,
        findings: &mut Vec<Finding>,
        code: &str,
        text: impl Fn(&Walk) -> String,
    ) {
        let Some((index, way)) = &self.first else {
            return;
        };
        let flow = &context.flows[*index];
        let named = text::flow(context.graph, *index, flow.src, flow.dst);
        let place = match self.count - 1 {
            0 => named,
            more => format!("{named} and {more} more"),
        };
        error(findings, code, place, text(way));
    }
}

#[cfg(test)]
mod tests {
    use models::config::{FaultConfig, LinkDown, RouteOverride};
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, leaf_spine, scenario};
    use super::*;

    #[test]
    fn a_loop_is_named_switch_by_switch() {
        let g = leaf_spine(2, 1, 2, 100);
        let mut s = scenario();
        s.routing.routes =
            vec![RouteOverride { at: "spine0".into(), to: "host3".into(), via: vec!["leaf0".into()] }];
        let findings = found(&s, &g, &[flow(0, 2), flow(0, 3), flow(1, 3)], "routing-loop");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "flow 1 (host0 to host3) and 1 more");
        let names = ["leaf0 -> spine0 -> leaf0", "spine0 -> leaf0 -> spine0"];
        assert!(names.iter().any(|n| findings[0].text.contains(n)), "{}", findings[0].text);
    }

    #[test]
    fn a_dead_link_without_detour_is_unreachable() {
        let g = leaf_spine(2, 1, 2, 100);
        let mut s = scenario();
        let down = LinkDown {
            a: "spine0".into(),
            b: "leaf1".into(),
            at: Duration::ZERO,
            until: None,
            enabled: true,
        };
        s.faults = vec![FaultConfig::LinkDown(down.clone())];
        let findings = found(&s, &g, &[flow(0, 1), flow(0, 3)], "unreachable");
        assert!(findings[0].text.starts_with("there is no route at leaf0"), "{}", findings[0].text);
        s.faults = vec![FaultConfig::LinkDown(LinkDown { enabled: false, ..down })];
        assert!(found(&s, &g, &[flow(0, 3)], "unreachable").is_empty());
    }

    #[test]
    fn a_ttl_counts_links_between_switches() {
        let g = leaf_spine(2, 1, 2, 100);
        let short = [Flow { ttl: 1, ..flow(0, 3) }];
        assert!(found(&scenario(), &g, &short, "ttl-too-small")[0].text.contains("crosses 2 links"));
        let enough = [Flow { ttl: 2, ..flow(0, 3) }];
        assert!(found(&scenario(), &g, &enough, "ttl-too-small").is_empty());
    }

    #[test]
    fn bad_routes_are_a_finding() {
        let g = leaf_spine(2, 1, 2, 100);
        let mut s = scenario();
        s.routing.routes = vec![RouteOverride { at: "leaf9".into(), to: "host3".into(), via: vec![] }];
        let findings = found(&s, &g, &[flow(0, 3)], "bad-route");
        assert!(findings[0].text.contains("routing.routes[0].at: there is no node called \"leaf9\""));
    }
}
