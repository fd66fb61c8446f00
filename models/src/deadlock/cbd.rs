//! Cyclic buffer dependencies: whether lossless traffic on given routes can deadlock at all, found without a run.
//!
//! A vertex is an (egress port, class) that lossless packets use towards a switch, which may pause it. There is an
//! edge from p to q when packets that enter the next switch through p may leave it through q: while q is paused,
//! they hold the buffer whose filling pauses p. A cycle of such edges is necessary for a deadlock (Dally & Seitz
//! 1987; Hu et al., HotNets 2016); up–down routing of a tree has none. Ports of hosts are never part of a cycle, as
//! hosts do not forward.
//!
//! Limitations: sizes, rates and TTLs of flows do not count, so a cycle found here need not deadlock; all members of
//! an equal-cost group are taken to be used.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex as Vertex};

use crate::config::{CLASSES, Class, ClassKind, Operation, SwitchConfig};
use crate::routing::{ExplicitRoutes, PortPair, RouteTable, possible_edges};
use crate::topology::{Graph, NodeIndex, PortIndex};
use crate::traffic::Flow;

/// Flows named for each edge of a cycle.
const FLOWS_PER_EDGE: usize = 2;

/// Edges looked at in one search for a shortest cycle before the best one so far is taken.
const SEARCH_BUDGET: usize = 50_000_000;

/// Ports that may come to wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The class.
    pub class: Class,
    /// Egress ports: each waits for the next, the last for the first. Starts with the lowest.
    pub hops: Vec<PortIndex>,
    /// Some of the flows that make the dependencies, ascending: up to two for each edge.
    pub flows: Vec<u32>,
}

/// What the search looks at.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The fabric.
    pub graph: &'a Graph,
    /// Routes by destination.
    pub table: &'a RouteTable,
    /// Paths of single flows.
    pub explicit: &'a ExplicitRoutes,
    /// The flows; those of lossy classes are ignored.
    pub flows: &'a [Flow],
    /// Classes and DSCP map of the switches.
    pub switch: &'a SwitchConfig,
    /// Class of ACKs, which return by destination; `None`: that of their data.
    pub ack_class: Option<Class>,
}

/// One shortest cycle of each set of mutually dependent ports, by class and lowest port; none means that these routes
/// cannot deadlock. O(destinations · ports + distinct ways through switches).
pub fn find_cycles(input: &Input) -> Vec<Cycle> {
    let streams = Streams::collect(input);
    let mut cycles = Vec::new();
    for class in 0..CLASSES as Class {
        let edges = streams.edges(input, class);
        for hops in shortest_cycles(&edges) {
            let flows = streams.contributors(input, class, &hops);
            cycles.push(Cycle { class, hops, flows });
        }
    }
    cycles.sort_by(|a, b| (a.class, &a.hops).cmp(&(b.class, &b.hops)));
    cycles
}

/// The first few of some flows.
#[derive(Clone, Copy, Debug, Default)]
struct Few {
    flows: [u32; FLOWS_PER_EDGE],
    count: usize,
}

impl Few {
    fn add(&mut self, flow: u32) {
        if self.count < FLOWS_PER_EDGE && !self.flows[..self.count].contains(&flow) {
            self.flows[self.count] = flow;
            self.count += 1;
        }
    }

    fn get(&self) -> &[u32] {
        &self.flows[..self.count]
    }
}

/// Lossless traffic with equal dependencies taken together.
#[derive(Default)]
struct Streams {
    /// (class, destination that stands for those routed alike) → source switch → (a source host, flows).
    routed: BTreeMap<(Class, NodeIndex), BTreeMap<NodeIndex, (NodeIndex, Few)>>,
    /// (class, path) → flows.
    pinned: BTreeMap<(Class, Vec<PortIndex>), Few>,
}

impl Streams {
    fn collect(input: &Input) -> Self {
        let graph = input.graph;
        let alike = routed_alike(graph, input.table);
        let class_of = input.switch.dscp_to_class();
        let lossless: [bool; CLASSES] =
            std::array::from_fn(|c| input.switch.kind(c as Class) == ClassKind::Lossless);
        let home = |host: NodeIndex| graph.ports_of(host).next().map(|p| graph.ports[p as usize].peer_node);
        let mut streams = Self::default();
        for (index, flow) in input.flows.iter().enumerate() {
            let index = index as u32;
            let class = class_of[usize::from(flow.dscp & 63)];
            let mut route = |class: Class, src: NodeIndex, dst: NodeIndex| {
                let Some(at) = home(src).filter(|&at| !graph.is_host(at) && lossless[usize::from(class)])
                else {
                    return;
                };
                let by_source = streams.routed.entry((class, alike[dst as usize])).or_default();
                by_source.entry(at).or_insert((src, Few::default())).1.add(index);
            };
            let back = input.ack_class.unwrap_or(class) & 7;
            match flow.operation {
                Operation::Write | Operation::Send | Operation::Read => route(back, flow.dst, flow.src),
                Operation::Datagram => {}
            }
            let path = input.explicit.hops(index);
            if path.is_empty() {
                route(class, flow.src, flow.dst);
            } else if lossless[usize::from(class)] {
                let ports = path.iter().map(|&(_, port)| port).collect();
                streams.pinned.entry((class, ports)).or_default().add(index);
            }
        }
        streams
    }

    /// All dependencies of a class, ascending.
    fn edges(&self, input: &Input, class: Class) -> Vec<(PortIndex, PortIndex)> {
        let mut spread = Spread::new(input.graph);
        for ((_, dst), sources) in self.routed.range((class, 0)..=(class, NodeIndex::MAX)) {
            let sources = sources.values().map(|&(host, _)| host);
            spread.add(input.graph, input.table, sources, *dst);
        }
        let mut edges = spread.edges;
        for (of, path) in self.pinned.keys() {
            if *of == class {
                edges.extend(path.windows(2).filter_map(|w| dependency(input.graph, w[0], w[1])));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Flows that make the edges of a cycle, up to two an edge.
    fn contributors(&self, input: &Input, class: Class, hops: &[PortIndex]) -> Vec<u32> {
        let edges: Vec<(PortIndex, PortIndex)> =
            (0..hops.len()).map(|i| (hops[i], hops[(i + 1) % hops.len()])).collect();
        let mut found = vec![Few::default(); edges.len()];
        for ((of, path), few) in &self.pinned {
            for w in path.windows(2).filter(|_| *of == class) {
                if let Some(i) = edges.iter().position(|&e| e == (w[0], w[1])) {
                    few.get().iter().for_each(|&f| found[i].add(f));
                }
            }
        }
        for ((_, dst), sources) in self.routed.range((class, 0)..=(class, NodeIndex::MAX)) {
            let takes = |&(p, q): &(PortIndex, PortIndex)| {
                let switch = input.graph.ports[p as usize].peer_node - input.graph.hosts;
                input.table.candidates(input.table.group(switch, *dst)).contains(&q)
            };
            if !edges.iter().any(takes) {
                continue;
            }
            for (source, few) in sources.values() {
                for PortPair { ingress, egress } in possible_edges(input.graph, input.table, &[*source], *dst)
                {
                    let edge = (input.graph.ports[ingress as usize].peer, egress);
                    if let Some(i) = edges.iter().position(|&e| e == edge) {
                        few.get().iter().for_each(|&f| found[i].add(f));
                    }
                }
            }
            if found.iter().all(|few| few.count == FLOWS_PER_EDGE) {
                break;
            }
        }
        let flows: BTreeSet<u32> = found.iter().flat_map(|few| few.get().iter().copied()).collect();
        flows.into_iter().collect()
    }
}

/// For each host, the first host on its switch to which every other switch has the same routes.
fn routed_alike(graph: &Graph, table: &RouteTable) -> Vec<NodeIndex> {
    let switches = graph.nodes() - graph.hosts;
    // Pairs of hosts that follow each other on a switch, and whether some switch treats them differently.
    let mut pairs: Vec<(NodeIndex, NodeIndex, bool)> = Vec::new();
    for switch in 0..switches {
        let on_it: Vec<NodeIndex> = graph
            .ports_of(graph.hosts + switch)
            .map(|p| graph.ports[p as usize].peer_node)
            .filter(|&n| graph.is_host(n))
            .collect();
        pairs.extend(on_it.windows(2).map(|w| (w[0], w[1], false)));
    }
    for switch in 0..switches {
        let delivers = |host: NodeIndex, group: u32| matches!(table.candidates(group), [port] if graph.ports[*port as usize].peer_node == host);
        for (a, b, differ) in &mut pairs {
            let (to_a, to_b) = (table.group(switch, *a), table.group(switch, *b));
            *differ |= to_a != to_b && !(delivers(*a, to_a) && delivers(*b, to_b));
        }
    }
    let mut alike: Vec<NodeIndex> = (0..graph.hosts).collect();
    for (a, b, differ) in pairs {
        if !differ {
            alike[b as usize] = alike[a as usize];
        }
    }
    alike
}

/// The dependency of egress port `p` on `q` at the next switch, if both are between switches.
fn dependency(graph: &Graph, p: PortIndex, q: PortIndex) -> Option<(PortIndex, PortIndex)> {
    let (up, down) = (graph.ports[p as usize], graph.ports[q as usize]);
    (!graph.is_host(up.node) && !graph.is_host(down.peer_node)).then_some((p, q))
}

/// Collects the dependencies of traffic routed by destination, each (ingress, group) once.
struct Spread {
    reached: Vec<u32>,
    round: u32,
    /// The group last recorded for each ingress port: most destinations share it.
    recorded: Vec<u32>,
    seen: HashSet<(PortIndex, u32)>,
    expanded: Vec<u32>,
    queue: Vec<PortIndex>,
    edges: Vec<(PortIndex, PortIndex)>,
}

impl Spread {
    fn new(graph: &Graph) -> Self {
        Self {
            reached: vec![0; graph.ports.len()],
            round: 0,
            recorded: vec![u32::MAX; graph.ports.len()],
            seen: HashSet::new(),
            expanded: vec![0; graph.nodes() as usize],
            queue: Vec::new(),
            edges: Vec::new(),
        }
    }

    fn enter(&mut self, graph: &Graph, egress: PortIndex) {
        let end = graph.ports[egress as usize];
        if !graph.is_host(end.peer_node) && self.reached[end.peer as usize] != self.round {
            self.reached[end.peer as usize] = self.round;
            self.queue.push(end.peer);
        }
    }

    fn add(
        &mut self,
        graph: &Graph,
        table: &RouteTable,
        sources: impl Iterator<Item = NodeIndex>,
        dst: NodeIndex,
    ) {
        self.round += 1;
        self.queue.clear();
        sources.for_each(|source| graph.ports_of(source).for_each(|port| self.enter(graph, port)));
        let mut head = 0;
        while let Some(&ingress) = self.queue.get(head) {
            head += 1;
            let end = graph.ports[ingress as usize];
            let group = table.group(end.node - graph.hosts, dst);
            let candidates = table.candidates(group);
            if self.recorded[ingress as usize] != group {
                self.recorded[ingress as usize] = group;
                if self.seen.insert((ingress, group)) {
                    self.edges.extend(candidates.iter().filter_map(|&q| dependency(graph, end.peer, q)));
                }
            }
            if self.expanded[end.node as usize] != self.round {
                self.expanded[end.node as usize] = self.round;
                candidates.iter().for_each(|&egress| self.enter(graph, egress));
            }
        }
    }
}

/// One shortest cycle of each strongly connected component of `edges` (ascending), lowest port first.
fn shortest_cycles(edges: &[(PortIndex, PortIndex)]) -> Vec<Vec<PortIndex>> {
    let mut ports: Vec<PortIndex> = edges.iter().flat_map(|&(p, q)| [p, q]).collect();
    ports.sort_unstable();
    ports.dedup();
    let at =
        |port: PortIndex| Vertex::new(ports.binary_search(&port).expect("every end of an edge is listed"));
    let mut graph = DiGraph::<PortIndex, ()>::with_capacity(ports.len(), edges.len());
    for &port in &ports {
        graph.add_node(port);
    }
    for &(p, q) in edges {
        graph.add_edge(at(p), at(q), ());
    }
    // Kosaraju's algorithm, because petgraph's Tarjan is recursive and chains may be long.
    let components = kosaraju_scc(&graph);
    let mut member = vec![usize::MAX; ports.len()];
    let mut cycles = Vec::new();
    for (index, component) in components.iter().enumerate().filter(|(_, c)| c.len() > 1) {
        let mut vertices = component.clone();
        vertices.sort_unstable();
        vertices.iter().for_each(|v| member[v.index()] = index);
        if let Some(cycle) = shortest_cycle(&graph, &vertices, |v| member[v.index()] == index) {
            let mut hops: Vec<PortIndex> = cycle.iter().map(|&v| graph[v]).collect();
            let lowest = (0..hops.len()).min_by_key(|&i| hops[i]).unwrap_or(0);
            hops.rotate_left(lowest);
            cycles.push(hops);
        }
    }
    cycles.sort();
    cycles
}

/// A shortest cycle among `vertices`, which are strongly connected, by a breadth-first search from each.
fn shortest_cycle(
    graph: &DiGraph<PortIndex, ()>,
    vertices: &[Vertex],
    inside: impl Fn(Vertex) -> bool,
) -> Option<Vec<Vertex>> {
    let mut best: Option<Vec<Vertex>> = None;
    let mut from = vec![Vertex::end(); graph.node_count()];
    let mut budget = SEARCH_BUDGET;
    for &start in vertices {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if limit <= 2 || (budget == 0 && best.is_some()) {
            break;
        }
        vertices.iter().for_each(|v| from[v.index()] = Vertex::end());
        let mut layer = vec![start];
        let mut length = 1;
        let mut last = None;
        while last.is_none() && !layer.is_empty() && length < limit {
            let mut next = Vec::new();
            for &v in &layer {
                for w in graph.neighbors(v).filter(|&w| inside(w)) {
                    budget = budget.saturating_sub(1);
                    if w == start {
                        last = last.or(Some(v));
                    } else if from[w.index()] == Vertex::end() {
                        from[w.index()] = v;
                        next.push(w);
                    }
                }
            }
            layer = next;
            length += 1;
        }
        if let Some(mut v) = last {
            let mut cycle = vec![v];
            while v != start {
                v = from[v.index()];
                cycle.push(v);
            }
            cycle.reverse();
            best = Some(cycle);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{ClassConfig, OnFailure, RouteOverride, RoutingConfig, Scheduler};
    use crate::routing::test_graphs::{flow, leaf_spine, ring, three_tiers};

    /// Cycles of `flows` under `config` with the links in `dead` down.
    fn cycles(graph: &Graph, config: &RoutingConfig, flows: &[Flow], dead: &[usize]) -> Vec<Cycle> {
        let down: Vec<bool> = (0..graph.links.len()).map(|l| dead.contains(&l)).collect();
        let table = RouteTable::build(graph, config, &down).unwrap();
        let explicit = ExplicitRoutes::build(graph, flows, &down).unwrap();
        let switch = SwitchConfig::default();
        find_cycles(&Input {
            graph,
            table: &table,
            explicit: &explicit,
            flows,
            switch: &switch,
            ack_class: None,
        })
    }

    fn names(graph: &Graph, cycle: &Cycle) -> Vec<String> {
        cycle.hops.iter().map(|&p| graph.port_name(p)).collect()
    }

    fn route(at: &str, to: &str, via: &str) -> RouteOverride {
        RouteOverride { at: at.into(), to: to.into(), via: vec![via.into()] }
    }

    fn all_pairs(hosts: u32) -> Vec<Flow> {
        let pairs = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        pairs.filter(|(a, b)| a != b).map(|(a, b)| flow(a, b)).collect()
    }

    #[test]
    fn a_routing_loop_of_two_switches_is_a_cycle() {
        let g = leaf_spine(2, 1, 2, 1);
        let config = RoutingConfig { routes: vec![route("spine0", "host3", "leaf0")], ..Default::default() };
        let found = cycles(&g, &config, &[flow(1, 2), flow(0, 3), flow(1, 3)], &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(names(&g, &found[0]), ["leaf0:2", "spine0:0"]);
        assert_eq!((found[0].class, found[0].flows.as_slice()), (3, &[1, 2][..]), "flow 0 has a clean way");
        assert!(cycles(&g, &config, &[flow(1, 2)], &[]).is_empty(), "nobody sends to host3");
    }

    #[test]
    fn acks_count_as_traffic_unless_their_class_is_lossy() {
        let g = leaf_spine(2, 1, 2, 1);
        let config = RoutingConfig { routes: vec![route("spine0", "host3", "leaf0")], ..Default::default() };
        let flows = [flow(3, 0)];
        assert_eq!(cycles(&g, &config, &flows, &[]).len(), 1, "ACKs to host3 loop");
        let down = vec![false; g.links.len()];
        let table = RouteTable::build(&g, &config, &down).unwrap();
        let explicit = ExplicitRoutes::default();
        let switch = SwitchConfig::default();
        let mut input = Input {
            graph: &g,
            table: &table,
            explicit: &explicit,
            flows: &flows,
            switch: &switch,
            ack_class: Some(6),
        };
        assert!(find_cycles(&input).is_empty());
        let datagrams = [Flow { operation: Operation::Datagram, ..flow(3, 0) }];
        input.ack_class = None;
        input.flows = &datagrams;
        assert!(find_cycles(&input).is_empty());
    }

    #[test]
    fn lossy_flows_make_no_dependency_and_classes_are_apart() {
        let g = ring(4);
        let around = |i: u32, class: Class| Flow {
            paths: vec![vec![4 + i, 4 + (i + 1) % 4, 4 + (i + 2) % 4]],
            class,
            dscp: 8 * class,
            operation: Operation::Datagram,
            ..flow(i, (i + 2) % 4)
        };
        let config = RoutingConfig::default();
        let lossy: Vec<Flow> = (0..4).map(|i| around(i, 0)).collect();
        assert!(cycles(&g, &config, &lossy, &[]).is_empty());
        let lossless: Vec<Flow> = (0..4).map(|i| around(i, 3)).collect();
        let found = cycles(&g, &config, &lossless, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].hops.len(), found[0].flows.as_slice()), (4, &[0, 1, 2, 3][..]));

        // Half of the ring in each of two lossless classes: neither has a cycle.
        let split: Vec<Flow> = (0..4).map(|i| around(i, if i < 2 { 3 } else { 4 })).collect();
        let mut switch = SwitchConfig::default();
        switch.classes.push(ClassConfig {
            class: 4,
            kind: ClassKind::Lossless,
            scheduler: Scheduler::Dwrr(1),
        });
        let down = vec![false; g.links.len()];
        let table = RouteTable::build(&g, &config, &down).unwrap();
        let explicit = ExplicitRoutes::build(&g, &split, &down).unwrap();
        let input = Input {
            graph: &g,
            table: &table,
            explicit: &explicit,
            flows: &split,
            switch: &switch,
            ack_class: None,
        };
        assert!(find_cycles(&input).is_empty());
    }

    #[test]
    fn a_failed_link_with_local_detours_makes_a_cycle() {
        let g = leaf_spine(3, 2, 1, 1);
        let flows = all_pairs(3);
        let with = |on_failure| RoutingConfig { on_failure, ..Default::default() };
        assert!(cycles(&g, &with(OnFailure::Local), &flows, &[]).is_empty());
        assert!(cycles(&g, &with(OnFailure::Global), &flows, &[3]).is_empty());
        let found = cycles(&g, &with(OnFailure::Local), &flows, &[3]);
        assert!(!found.is_empty());
        assert_eq!(
            found[0].hops.len(),
            2,
            "spine0 sends what is for leaf0 down to leaves that send it up again"
        );
    }

    /// Two opposite pinned detours through a leaf: the classic four-hop cycle of two spines and two leaves.
    #[test]
    fn opposite_detours_are_found_with_their_flows() {
        let g = leaf_spine(4, 2, 1, 1);
        let (leaf, spine) = (|i: u32| 4 + i, |i: u32| 8 + i);
        let pinned = |src: u32, dst: u32, path: Vec<u32>| Flow { paths: vec![path], ..flow(src, dst) };
        let flows = [
            flow(0, 1),
            pinned(0, 2, vec![leaf(0), spine(0), leaf(1), spine(1), leaf(2)]),
            pinned(2, 0, vec![leaf(2), spine(1), leaf(3), spine(0), leaf(0)]),
            pinned(1, 3, vec![leaf(1), spine(1), leaf(3)]),
            pinned(3, 1, vec![leaf(3), spine(0), leaf(1)]),
        ];
        let found = cycles(&g, &RoutingConfig::default(), &flows, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(names(&g, &found[0]), ["leaf1:2", "spine1:3", "leaf3:1", "spine0:1"]);
        assert_eq!(found[0].flows, [1, 2, 3, 4]);
        assert!(cycles(&g, &RoutingConfig::default(), &flows[..2], &[]).is_empty());
    }

    #[test]
    fn a_large_tree_with_all_pairs_of_leaves_is_clear() {
        let g = three_tiers(8, 8, 4, 8, 1);
        let flows: Vec<Flow> = (0..64)
            .flat_map(|a| (0..64).map(move |b| (a, b)))
            .filter(|(a, b)| a != b)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|(a, b)| flow(a * 4, b * 4 + 1))
            .collect();
        assert!(cycles(&g, &RoutingConfig::default(), &flows, &[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Up–down routing of trees never has a cycle, whatever fails, as long as every switch knows.
        #[test]
        fn up_down_routing_of_trees_is_free_of_cycles(
            tall in any::<bool>(), a in 2u32..4, b in 1u32..4, c in 1u32..3, parallel in 1u32..3,
            pairs in prop::collection::vec((0u32..64, 0u32..64), 1..40),
        ) {
            let g = if tall { three_tiers(a, b, c, 2, parallel) } else { leaf_spine(a, b, c, parallel) };
            let flows: Vec<Flow> = pairs.iter().map(|&(s, d)| (s % g.hosts, d % g.hosts)).filter(|(s, d)| s != d)
                .map(|(s, d)| flow(s, d)).collect();
            prop_assert_eq!(cycles(&g, &RoutingConfig::default(), &flows, &[]), vec![]);
        }

        /// Every pair of flows once around a ring closes it; leaving out one start opens it.
        #[test]
        fn flows_around_a_ring_close_it(n in 3u32..9, missing in any::<bool>()) {
            let g = ring(n);
            let flows: Vec<Flow> = (0..n - u32::from(missing)).map(|i| Flow {
                paths: vec![vec![n + i, n + (i + 1) % n, n + (i + 2) % n]],
                operation: Operation::Datagram,
                ..flow(i, (i + 2) % n)
            }).collect();
            let found = cycles(&g, &RoutingConfig::default(), &flows, &[]);
            if missing {
                prop_assert!(found.is_empty());
            } else {
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!(found[0].hops.len(), n as usize);
                // Each port waits for a port of the switch it leads to.
                for (i, &p) in found[0].hops.iter().enumerate() {
                    let q = found[0].hops[(i + 1) % n as usize];
                    prop_assert_eq!(g.ports[p as usize].peer_node, g.ports[q as usize].node);
                }
            }
        }
    }
}
