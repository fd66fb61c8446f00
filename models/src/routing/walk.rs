//! What packets do, or may do, under given routes.

use super::explicit::ExplicitRoutes;
use super::table::RouteTable;
use crate::topology::{Graph, NodeIndex, PortIndex};
use crate::traffic::Flow;

/// The way of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Egress ports, from the sending host's to the last.
    pub ports: Vec<PortIndex>,
    /// Where it ended.
    pub outcome: WalkOutcome,
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkOutcome {
    /// At its destination.
    Arrived,
    /// At a switch without a route, or at a host that is not its destination.
    Unreachable,
    /// Nowhere after the most hops allowed.
    Looped,
}

/// Follows a packet of `flow` (index `flow_index`) from its sender. `choose` picks one of the candidates it is given
/// (more than one, where paths are equal); the walk ends after `max_hops` ports.
pub fn walk(
    graph: &Graph,
    table: &RouteTable,
    explicit: &ExplicitRoutes,
    flow_index: u32,
    flow: &Flow,
    mut choose: impl FnMut(&[PortIndex]) -> usize,
    max_hops: usize,
) -> Walk {
    let mut walk = Walk { ports: Vec::new(), outcome: WalkOutcome::Unreachable };
    let Some(mut port) = graph.ports_of(flow.src).next() else {
        return walk;
    };
    loop {
        walk.ports.push(port);
        let node = graph.ports[port as usize].peer_node;
        if node == flow.dst {
            walk.outcome = WalkOutcome::Arrived;
            return walk;
        }
        if graph.is_host(node) {
            return walk;
        }
        if walk.ports.len() >= max_hops {
            walk.outcome = WalkOutcome::Looped;
            return walk;
        }
        let switch = node - graph.hosts;
        port = match explicit.lookup(switch, flow_index) {
            Some(port) => port,
            None => match table.candidates(table.group(switch, flow.dst)) {
                [] => return walk,
                [only] => *only,
                several => several[choose(several)],
            },
        };
    }
}

/// A way through a switch: in by one of its ports, out by another (or the same).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortPair {
    /// The switch's port the packet came in by.
    pub ingress: PortIndex,
    /// The switch's port it leaves by.
    pub egress: PortIndex,
}

/// Every way through every switch that packets from `sources` to `dst` may take when all equal-cost next hops are
/// used: each once, in the order they are reached. Explicit paths of flows are not part of it.
pub fn possible_edges(
    graph: &Graph,
    table: &RouteTable,
    sources: &[NodeIndex],
    dst: NodeIndex,
) -> Vec<PortPair> {
    let mut reached = vec![false; graph.ports.len()];
    let mut queue: Vec<PortIndex> = Vec::new();
    let mut enter = |queue: &mut Vec<PortIndex>, egress: PortIndex| {
        let end = graph.ports[egress as usize];
        if !graph.is_host(end.peer_node) && !std::mem::replace(&mut reached[end.peer as usize], true) {
            queue.push(end.peer);
        }
    };
    for &source in sources {
        graph.ports_of(source).for_each(|port| enter(&mut queue, port));
    }
    let mut edges = Vec::new();
    let mut head = 0;
    while let Some(&ingress) = queue.get(head) {
        head += 1;
        let switch = graph.ports[ingress as usize].node - graph.hosts;
        for &egress in table.candidates(table.group(switch, dst)) {
            edges.push(PortPair { ingress, egress });
            enter(&mut queue, egress);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::super::test_graphs::{flow, leaf_spine};
    use super::*;
    use crate::config::{RouteOverride, RoutingConfig};

    fn build(graph: &Graph, routes: &[(&str, &str, &str)]) -> RouteTable {
        let routes = routes
            .iter()
            .map(|&(at, to, via)| RouteOverride { at: at.into(), to: to.into(), via: vec![via.into()] })
            .collect();
        let config = RoutingConfig { routes, ..RoutingConfig::default() };
        RouteTable::build(graph, &config, &vec![false; graph.links.len()]).unwrap()
    }

    fn names(graph: &Graph, ports: &[PortIndex]) -> Vec<String> {
        ports.iter().map(|&p| graph.port_name(p)).collect()
    }

    #[test]
    fn a_walk_lists_every_egress_port() {
        let g = leaf_spine(2, 2, 2, 1);
        let t = build(&g, &[]);
        let none = ExplicitRoutes::default();
        let way = walk(&g, &t, &none, 0, &flow(0, 3), |c| c.len() - 1, 16);
        assert_eq!(way.outcome, WalkOutcome::Arrived);
        assert_eq!(names(&g, &way.ports), ["host0", "leaf0:3", "spine1:1", "leaf1:1"]);
        let near = walk(&g, &t, &none, 0, &flow(0, 1), |_| unreachable!(), 16);
        assert_eq!(names(&g, &near.ports), ["host0", "leaf0:1"]);
    }

    #[test]
    fn a_walk_follows_the_flows_own_path() {
        let g = leaf_spine(2, 2, 2, 1);
        let t = build(&g, &[]);
        let pinned = Flow { paths: vec![vec![4, 7, 5]], ..flow(0, 3) };
        let explicit =
            ExplicitRoutes::build(&g, std::slice::from_ref(&pinned), &vec![false; g.links.len()]).unwrap();
        let way = walk(&g, &t, &explicit, 0, &pinned, |_| 0, 16);
        assert_eq!(names(&g, &way.ports), ["host0", "leaf0:3", "spine1:1", "leaf1:1"]);
    }

    #[test]
    fn loops_and_dead_ends_are_told_apart() {
        let g = leaf_spine(2, 1, 1, 1);
        let t = build(&g, &[("spine0", "host1", "leaf0")]);
        let none = ExplicitRoutes::default();
        let way = walk(&g, &t, &none, 0, &flow(0, 1), |_| 0, 7);
        assert_eq!((way.outcome, way.ports.len()), (WalkOutcome::Looped, 7));
        let mut down = vec![false; g.links.len()];
        down[1] = true;
        let t = RouteTable::build(&g, &RoutingConfig::default(), &down).unwrap();
        let way = walk(&g, &t, &none, 0, &flow(0, 1), |_| 0, 7);
        assert_eq!((way.outcome, way.ports.len()), (WalkOutcome::Unreachable, 1));
    }

    #[test]
    fn possible_edges_follow_every_member_once() {
        let g = leaf_spine(3, 2, 2, 1);
        let t = build(&g, &[]);
        let edges = possible_edges(&g, &t, &[0], 5);
        let shown: Vec<String> =
            edges.iter().map(|e| format!("{}>{}", g.port_name(e.ingress), g.port_name(e.egress))).collect();
        let expected = [
            "leaf0:0>leaf0:2",
            "leaf0:0>leaf0:3",
            "spine0:0>spine0:2",
            "spine1:0>spine1:2",
            "leaf2:2>leaf2:1",
            "leaf2:3>leaf2:1",
        ];
        assert_eq!(shown, expected);
        // A second sender on the same leaf adds only its own way in; one on another leaf adds the way through.
        assert_eq!(possible_edges(&g, &t, &[0, 1], 5).len(), 8);
        assert_eq!(possible_edges(&g, &t, &[0, 2], 5).len(), 6 + 4);
    }

    #[test]
    fn possible_edges_of_a_loop_end() {
        let g = leaf_spine(2, 1, 1, 1);
        let t = build(&g, &[("spine0", "host1", "leaf0")]);
        let edges = possible_edges(&g, &t, &[0], 1);
        let hairpin = edges.iter().any(|e| e.ingress == e.egress);
        assert!(hairpin, "in and out by the same port: {edges:?}");
        assert_eq!(edges.len(), 3);
    }
}
