//! Tables of next hops by destination.

use std::collections::HashMap;

use super::error::RoutingError;
use super::names::nearest;
use crate::config::{OnFailure, RouteOverride, RoutingConfig};
use crate::topology::{Graph, NodeIndex, PortIndex};

/// The group of a destination that cannot be reached: it has no candidates.
pub const UNREACHABLE: u32 = u32::MAX;

/// A set of equal next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u32,
    count: u32,
}

/// Entry of a switch that delivers to the host itself.
const DELIVER: u16 = u16::MAX;
/// Entry of a switch without a route.
const NO_ROUTE: u16 = u16::MAX - 1;

/// Next hops of every switch to every host, small enough for the cache: hosts that all switches treat alike, but for
/// the one that delivers to them, share a column (in a tree, the hosts of one leaf), and an entry is 16 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteTable {
    /// Column of each host.
    column: Vec<u32>,
    columns: u32,
    /// `switch_index * columns + column` → group among the switch's own, [`DELIVER`] or [`NO_ROUTE`].
    next: Vec<u16>,
    /// First group of each switch.
    first_group: Vec<u32>,
    /// Group d (d < hosts) is the port that delivers to host d; the switches' own groups follow.
    groups: Vec<Group>,
    /// Egress ports (indices in the whole fabric) of all groups.
    members: Vec<PortIndex>,
}

impl RouteTable {
    /// The table the switches hold once they have noticed that the links marked in `down` (one entry a link) are
    /// dead: shortest paths with all equal-cost next hops, parallel links included, then the explicit routes.
    /// O(attach switches · ports + switches · hosts).
    pub fn build(graph: &Graph, config: &RoutingConfig, down: &[bool]) -> Result<Self, RoutingError> {
        assert_eq!(down.len(), graph.links.len(), "one entry of `down` for each link");
        let routes = resolve(graph, &config.routes)?;
        let intact = vec![false; down.len()];
        let views = Views::new(graph, config.on_failure, &intact, down);
        let mut builder = Builder::new(graph);
        builder.shortest_paths(&views);
        for route in &routes {
            builder.apply(route, &views);
        }
        Ok(builder.finish())
    }

    /// The group by which switch `switch_index` (its node index minus the number of hosts) reaches host `dst`.
    #[inline]
    pub fn group(&self, switch_index: u32, dst: u32) -> u32 {
        match self.next[self.entry(switch_index, dst)] {
            DELIVER => dst,
            NO_ROUTE => UNREACHABLE,
            own => self.first_group[switch_index as usize] + u32::from(own),
        }
    }

    #[inline]
    fn entry(&self, switch_index: u32, dst: u32) -> usize {
        (switch_index * self.columns + self.column[dst as usize]) as usize
    }

    /// The egress ports of a group, ascending; none for [`UNREACHABLE`].
    #[inline]
    pub fn candidates(&self, group: u32) -> &[PortIndex] {
        match self.groups.get(group as usize) {
            Some(g) => &self.members[g.first as usize..(g.first + g.count) as usize],
            None => &[],
        }
    }

    /// Number of distinct groups: group ids are below it.
    #[cfg(test)]
    fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Bytes of memory the table holds.
    #[cfg(test)]
    fn memory(&self) -> usize {
        self.column.len() * 4
            + self.next.len() * 2
            + self.first_group.len() * 4
            + self.groups.len() * size_of::<Group>()
            + self.members.len() * 4
    }
}

/// Which links each switch believes to be dead.
struct Views<'a> {
    /// What all switches believe, unless `local` says otherwise.
    common: &'a [bool],
    /// What the switches marked in `is_local` believe.
    local: &'a [bool],
    is_local: Vec<bool>,
    /// Whether explicit routes lose next hops behind dead links.
    reacts: bool,
}

impl<'a> Views<'a> {
    fn new(graph: &Graph, on_failure: OnFailure, intact: &'a [bool], down: &'a [bool]) -> Self {
        let switches = (graph.nodes() - graph.hosts) as usize;
        let mut views = Self { common: intact, local: down, is_local: vec![false; switches], reacts: true };
        match on_failure {
            OnFailure::None => views.reacts = false,
            OnFailure::Global => views.common = down,
            OnFailure::Local => {
                for (link, _) in graph.links.iter().zip(down).filter(|&(_, &dead)| dead) {
                    for end in [link.a, link.b] {
                        if !graph.is_host(end) {
                            views.is_local[(end - graph.hosts) as usize] = true;
                        }
                    }
                }
            }
        }
        views
    }

    fn any_local(&self) -> bool {
        self.is_local.contains(&true)
    }

    fn of(&self, switch: usize) -> &'a [bool] {
        if self.is_local[switch] { self.local } else { self.common }
    }
}

/// Hops from each switch to one of them.
struct Distances {
    hops: Vec<u32>,
    queue: Vec<u32>,
}

impl Distances {
    fn new(switches: usize) -> Self {
        Self { hops: vec![u32::MAX; switches], queue: Vec::with_capacity(switches) }
    }

    fn measure(&mut self, graph: &Graph, to: usize, down: &[bool]) {
        self.hops.fill(u32::MAX);
        self.hops[to] = 0;
        self.queue.clear();
        self.queue.push(to as u32);
        let mut head = 0;
        while let Some(&switch) = self.queue.get(head) {
            head += 1;
            for port in graph.ports_of(graph.hosts + switch) {
                let end = graph.ports[port as usize];
                if graph.is_host(end.peer_node) || down[end.link as usize] {
                    continue;
                }
                let peer = end.peer_node - graph.hosts;
                if self.hops[peer as usize] == u32::MAX {
                    self.hops[peer as usize] = self.hops[switch as usize] + 1;
                    self.queue.push(peer);
                }
            }
        }
    }
}

struct Builder<'a> {
    graph: &'a Graph,
    next: Vec<u32>,
    groups: Vec<Group>,
    members: Vec<PortIndex>,
    /// Finds a group by its members. Never iterated.
    known: HashMap<Box<[PortIndex]>, u32>,
    scratch: Vec<PortIndex>,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph) -> Self {
        let switches = (graph.nodes() - graph.hosts) as usize;
        Self {
            graph,
            next: vec![UNREACHABLE; switches * graph.hosts as usize],
            groups: Vec::new(),
            members: Vec::new(),
            known: HashMap::new(),
            scratch: Vec::new(),
        }
    }

    fn switches(&self) -> usize {
        (self.graph.nodes() - self.graph.hosts) as usize
    }

    /// The group that holds exactly the ports in `scratch`.
    fn intern(&mut self) -> u32 {
        if self.scratch.is_empty() {
            return UNREACHABLE;
        }
        if let Some(&group) = self.known.get(self.scratch.as_slice()) {
            return group;
        }
        let group = self.groups.len() as u32;
        self.groups.push(Group { first: self.members.len() as u32, count: self.scratch.len() as u32 });
        self.members.extend_from_slice(&self.scratch);
        self.known.insert(self.scratch.as_slice().into(), group);
        group
    }

    fn set(&mut self, switch: usize, dst: NodeIndex, group: u32) {
        self.next[switch * self.graph.hosts as usize + dst as usize] = group;
    }

    /// Packs the table: columns that are equal are kept once, groups are numbered switch by switch.
    fn finish(self) -> RouteTable {
        let (graph, hosts, switches) = (self.graph, self.graph.hosts as usize, self.switches());
        let own_port = |host: usize| graph.ports[graph.first_port[host] as usize].peer;
        let mut groups = Vec::new();
        let mut members = Vec::new();
        for host in 0..hosts {
            groups.push(Group { first: host as u32, count: 1 });
            members.push(own_port(host));
        }
        let delivers = |host: usize, group: u32| {
            let g = self.groups[group as usize];
            g.count == 1 && self.members[g.first as usize] == own_port(host)
        };
        let mut used = vec![false; self.groups.len()];
        for (entry, &group) in self.next.iter().enumerate() {
            if group != UNREACHABLE && !delivers(entry % hosts, group) {
                used[group as usize] = true;
            }
        }
        // Number, within its switch, of each group of the builder. A group belongs to one switch: its ports do.
        let mut local = vec![NO_ROUTE; self.groups.len()];
        let mut of_switch: Vec<Vec<u32>> = vec![Vec::new(); switches];
        for (group, g) in self.groups.iter().enumerate().filter(|&(group, _)| used[group]) {
            let switch = (graph.ports[self.members[g.first as usize] as usize].node - graph.hosts) as usize;
            local[group] = of_switch[switch].len() as u16;
            of_switch[switch].push(group as u32);
            assert!(
                of_switch[switch].len() < usize::from(NO_ROUTE),
                "a switch has at most 65534 sets of next hops"
            );
        }
        let mut first_group = Vec::with_capacity(switches);
        for own in &of_switch {
            first_group.push(groups.len() as u32);
            for &group in own {
                let g = self.groups[group as usize];
                groups.push(Group { first: members.len() as u32, count: g.count });
                members.extend_from_slice(&self.members[g.first as usize..(g.first + g.count) as usize]);
            }
        }
        let mut known: HashMap<Vec<u16>, u32> = HashMap::new();
        let mut kept: Vec<Vec<u16>> = Vec::new();
        let column = (0..hosts)
            .map(|host| {
                let entries: Vec<u16> = (0..switches)
                    .map(|switch| match self.next[switch * hosts + host] {
                        UNREACHABLE => NO_ROUTE,
                        group if delivers(host, group) => DELIVER,
                        group => local[group as usize],
                    })
                    .collect();
                *known.entry(entries).or_insert_with_key(|entries| {
                    kept.push(entries.clone());
                    kept.len() as u32 - 1
                })
            })
            .collect();
        let columns = kept.len() as u32;
        let next = (0..switches).flat_map(|switch| kept.iter().map(move |entries| entries[switch])).collect();
        RouteTable { column, columns, next, first_group, groups, members }
    }

    fn shortest_paths(&mut self, views: &Views) {
        let switches = self.switches();
        let (mut common, mut local) = (Distances::new(switches), Distances::new(switches));
        for attach in 0..switches {
            let hosts = attached(self.graph, self.graph.hosts + attach as u32);
            if hosts.is_empty() {
                continue;
            }
            common.measure(self.graph, attach, views.common);
            if views.any_local() {
                local.measure(self.graph, attach, views.local);
            }
            for switch in 0..switches {
                let down = views.of(switch);
                if switch == attach {
                    self.deliver(switch, &hosts, down);
                    continue;
                }
                let hops = if views.is_local[switch] { &local.hops } else { &common.hops };
                self.closer_ports(switch, hops, down);
                let group = self.intern();
                for &(host, port) in &hosts {
                    let dead = down[self.graph.ports[port as usize].link as usize];
                    self.set(switch, host, if dead { UNREACHABLE } else { group });
                }
            }
        }
    }

    /// Entries of the switch the hosts are attached to.
    fn deliver(&mut self, switch: usize, hosts: &[(NodeIndex, PortIndex)], down: &[bool]) {
        for &(host, port) in hosts {
            self.scratch.clear();
            if !down[self.graph.ports[port as usize].link as usize] {
                self.scratch.push(port);
            }
            let group = self.intern();
            self.set(switch, host, group);
        }
    }

    /// Collects the ports of `switch` that lead one hop closer.
    fn closer_ports(&mut self, switch: usize, hops: &[u32], down: &[bool]) {
        self.scratch.clear();
        let own = hops[switch];
        if own == u32::MAX {
            return;
        }
        for port in self.graph.ports_of(self.graph.hosts + switch as u32) {
            let end = self.graph.ports[port as usize];
            if self.graph.is_host(end.peer_node) || down[end.link as usize] {
                continue;
            }
            if hops[(end.peer_node - self.graph.hosts) as usize].checked_add(1) == Some(own) {
                self.scratch.push(port);
            }
        }
    }

    /// Puts an explicit route in the place of shortest paths, unless all of its links are known to be dead.
    fn apply(&mut self, route: &Route, views: &Views) {
        let down = views.of(route.switch);
        self.scratch.clear();
        for port in self.graph.ports_of(self.graph.hosts + route.switch as u32) {
            let end = self.graph.ports[port as usize];
            if route.via.contains(&end.peer_node) && !(views.reacts && down[end.link as usize]) {
                self.scratch.push(port);
            }
        }
        if self.scratch.is_empty() {
            return;
        }
        let group = self.intern();
        for &dst in &route.destinations {
            self.set(route.switch, dst, group);
        }
    }
}

/// The hosts attached to a switch, each with the switch's port to it.
fn attached(graph: &Graph, switch: NodeIndex) -> Vec<(NodeIndex, PortIndex)> {
    graph
        .ports_of(switch)
        .map(|port| (graph.ports[port as usize].peer_node, port))
        .filter(|&(node, _)| graph.is_host(node))
        .collect()
}

/// An explicit route with its names resolved.
struct Route {
    switch: usize,
    destinations: Vec<NodeIndex>,
    via: Vec<NodeIndex>,
}

/// Resolves explicit routes; those to single hosts come last, so that they stand above those to whole switches.
fn resolve(graph: &Graph, routes: &[RouteOverride]) -> Result<Vec<Route>, RoutingError> {
    let mut resolved = Vec::with_capacity(routes.len());
    let mut seen: HashMap<(NodeIndex, NodeIndex), usize> = HashMap::new();
    for (index, route) in routes.iter().enumerate() {
        let place = |field: &str| format!("routing.routes[{index}].{field}");
        let at = find(graph, &route.at, || place("at"))?;
        if graph.is_host(at) {
            return Err(RoutingError::NotASwitch {
                place: place("at"),
                name: route.at.clone(),
                nearest: neighbours(graph, at).first().map(|&n| graph.names[n as usize].clone()),
            });
        }
        let to = find(graph, &route.to, || place("to"))?;
        if let Some(&first) = seen.get(&(at, to)) {
            let (at, to) = (route.at.clone(), route.to.clone());
            return Err(RoutingError::Duplicate { place: format!("routing.routes[{index}]"), at, to, first });
        }
        seen.insert((at, to), index);
        let destinations: Vec<NodeIndex> = if graph.is_host(to) {
            vec![to]
        } else {
            attached(graph, to).into_iter().map(|(host, _)| host).collect()
        };
        if destinations.is_empty() {
            return Err(RoutingError::NoHosts { place: place("to"), name: route.to.clone() });
        }
        let via = resolve_via(graph, route, (at, to), &place)?;
        resolved.push((graph.is_host(to), Route { switch: (at - graph.hosts) as usize, destinations, via }));
    }
    resolved.sort_by_key(|&(single, _)| single);
    Ok(resolved.into_iter().map(|(_, route)| route).collect())
}

fn resolve_via(
    graph: &Graph,
    route: &RouteOverride,
    (at, to): (NodeIndex, NodeIndex),
    place: &dyn Fn(&str) -> String,
) -> Result<Vec<NodeIndex>, RoutingError> {
    if route.via.is_empty() {
        return Err(RoutingError::NoNextHop { place: place("via"), at: route.at.clone() });
    }
    let around = neighbours(graph, at);
    let mut via = Vec::with_capacity(route.via.len());
    for (i, name) in route.via.iter().enumerate() {
        let place = || place(&format!("via[{i}]"));
        let node = find(graph, name, place)?;
        if !around.contains(&node) {
            return Err(RoutingError::NotNeighbour {
                place: place(),
                at: route.at.clone(),
                name: name.clone(),
                neighbours: list_neighbours(graph, &around, name),
            });
        }
        if graph.is_host(node) && node != to {
            let switches = around.iter().filter(|&&n| !graph.is_host(n));
            let nearest =
                nearest(name, switches.map(|&n| graph.names[n as usize].as_str())).map(String::from);
            return Err(RoutingError::NotASwitch { place: place(), name: name.clone(), nearest });
        }
        via.push(node);
    }
    Ok(via)
}

fn find(graph: &Graph, name: &str, place: impl Fn() -> String) -> Result<NodeIndex, RoutingError> {
    graph.node(name).ok_or_else(|| RoutingError::UnknownName {
        place: place(),
        name: name.to_string(),
        nearest: nearest(name, graph.names.iter().map(String::as_str)).map(String::from),
    })
}

/// Neighbours of a node in the order of its ports, each once.
fn neighbours(graph: &Graph, node: NodeIndex) -> Vec<NodeIndex> {
    let mut found = Vec::new();
    for port in graph.ports_of(node) {
        let peer = graph.ports[port as usize].peer_node;
        if !found.contains(&peer) {
            found.push(peer);
        }
    }
    found
}

/// Up to six neighbours as text: the one whose name is closest to `name`, then other switches before hosts.
pub(super) fn list_neighbours(graph: &Graph, around: &[NodeIndex], name: &str) -> String {
    const MOST: usize = 6;
    let mut sorted = around.to_vec();
    sorted.sort_by_key(|&n| (graph.is_host(n), n));
    let label = |n: NodeIndex| graph.names[n as usize].as_str();
    if let Some(close) = nearest(name, sorted.iter().map(|&n| label(n))) {
        sorted.sort_by_key(|&n| label(n) != close);
    }
    let shown: Vec<&str> = sorted.iter().take(MOST).map(|&n| label(n)).collect();
    match sorted.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_graphs::{leaf_spine, link, ring, three_tiers};
    use super::*;

    fn build(graph: &Graph, config: &RoutingConfig, down: &[u32]) -> RouteTable {
        RouteTable::build(graph, config, &mask(graph, down)).unwrap()
    }

    fn mask(graph: &Graph, down: &[u32]) -> Vec<bool> {
        (0..graph.links.len() as u32).map(|l| down.contains(&l)).collect()
    }

    fn route(at: &str, to: &str, via: &[&str]) -> RouteOverride {
        RouteOverride { at: at.into(), to: to.into(), via: via.iter().map(|v| v.to_string()).collect() }
    }

    fn with(on_failure: OnFailure, routes: Vec<RouteOverride>) -> RoutingConfig {
        RoutingConfig { on_failure, routes, ..RoutingConfig::default() }
    }

    /// Next hops of `at` to host `dst`, by name, one entry a port.
    fn via<'g>(graph: &'g Graph, table: &RouteTable, at: &str, dst: u32) -> Vec<&'g str> {
        let switch = graph.node(at).unwrap() - graph.hosts;
        let ports = table.candidates(table.group(switch, dst));
        ports.iter().map(|&p| graph.names[graph.ports[p as usize].peer_node as usize].as_str()).collect()
    }

    #[test]
    fn every_equal_cost_port_is_a_candidate_parallel_links_included() {
        let g = leaf_spine(3, 2, 2, 2);
        let t = build(&g, &RoutingConfig::default(), &[]);
        assert_eq!(via(&g, &t, "leaf0", 4), ["spine0", "spine0", "spine1", "spine1"]);
        assert_eq!(via(&g, &t, "leaf0", 1), ["host1"]);
        assert_eq!(via(&g, &t, "spine1", 4), ["leaf2", "leaf2"]);
        // Per leaf: 2 hosts and the way up; per spine: 3 leaves.
        assert_eq!(t.groups(), 3 * 3 + 2 * 3);
        assert!(t.candidates(UNREACHABLE).is_empty());
    }

    #[test]
    fn three_tiers_go_up_only_as_far_as_needed() {
        let g = three_tiers(3, 2, 2, 2, 1);
        let t = build(&g, &RoutingConfig::default(), &[]);
        assert_eq!(via(&g, &t, "edge0", 11), ["agg0", "agg1"]);
        assert_eq!(via(&g, &t, "agg0", 11), ["core0", "core1"]);
        assert_eq!(via(&g, &t, "core1", 11), ["agg4"]);
        assert_eq!(via(&g, &t, "agg1", 3), ["edge1"]);
    }

    #[test]
    fn a_failed_link_is_ignored_or_avoided_as_configured() {
        let g = leaf_spine(3, 2, 1, 1);
        let dead = 3; // leaf0 - spine0
        assert_eq!((g.links[3].a, g.links[3].b), (3, 6));
        let none = build(&g, &with(OnFailure::None, vec![]), &[dead]);
        assert_eq!(none, build(&g, &RoutingConfig::default(), &[]));

        let local = build(&g, &with(OnFailure::Local, vec![]), &[dead]);
        assert_eq!(via(&g, &local, "leaf0", 1), ["spine1"]);
        assert_eq!(
            via(&g, &local, "spine0", 0),
            ["leaf1", "leaf2"],
            "the spine detours through other leaves"
        );
        assert_eq!(via(&g, &local, "leaf1", 0), ["spine0", "spine1"], "other leaves do not know");

        let global = build(&g, &with(OnFailure::Global, vec![]), &[dead]);
        assert_eq!(via(&g, &global, "leaf1", 0), ["spine1"]);
        assert_eq!(via(&g, &global, "spine0", 0), ["leaf1", "leaf2"]);
    }

    #[test]
    fn a_host_behind_a_dead_link_is_unreachable_where_that_is_known() {
        let g = leaf_spine(2, 1, 2, 1);
        for (mode, at_leaf, elsewhere) in [
            (OnFailure::None, vec!["host0"], vec!["spine0"]),
            (OnFailure::Local, vec![], vec!["spine0"]),
            (OnFailure::Global, vec![], vec![]),
        ] {
            let t = build(&g, &with(mode, vec![]), &[0]);
            assert_eq!(via(&g, &t, "leaf0", 0), at_leaf, "{mode:?}");
            assert_eq!(via(&g, &t, "leaf1", 0), elsewhere, "{mode:?}");
            assert_eq!(via(&g, &t, "leaf1", 1), ["spine0"], "{mode:?}: its neighbour is still there");
        }
    }

    #[test]
    fn explicit_routes_replace_shortest_paths_and_hosts_stand_above_switches() {
        let g = leaf_spine(2, 3, 2, 2);
        let routes = vec![
            route("leaf0", "host3", &["spine2"]),
            route("leaf0", "leaf1", &["spine0", "spine1"]),
            route("spine0", "host3", &["leaf0"]),
        ];
        let t = build(&g, &with(OnFailure::Global, routes), &[]);
        assert_eq!(via(&g, &t, "leaf0", 2), ["spine0", "spine0", "spine1", "spine1"]);
        assert_eq!(via(&g, &t, "leaf0", 3), ["spine2", "spine2"]);
        assert_eq!(via(&g, &t, "spine0", 3), ["leaf0", "leaf0"]);
        assert_eq!(via(&g, &t, "spine0", 2), ["leaf1", "leaf1"]);
    }

    #[test]
    fn an_explicit_route_loses_dead_members_and_falls_back_when_none_is_left() {
        let g = leaf_spine(2, 3, 1, 1);
        let (to_spine0, to_spine1) = (2, 3);
        let routes = vec![route("leaf0", "host1", &["spine0", "spine1"])];
        for mode in [OnFailure::Local, OnFailure::Global] {
            let t = build(&g, &with(mode, routes.clone()), &[to_spine0]);
            assert_eq!(via(&g, &t, "leaf0", 1), ["spine1"], "{mode:?}");
            let t = build(&g, &with(mode, routes.clone()), &[to_spine0, to_spine1]);
            assert_eq!(via(&g, &t, "leaf0", 1), ["spine2"], "{mode:?}");
        }
        let t = build(&g, &with(OnFailure::None, routes), &[to_spine0, to_spine1]);
        assert_eq!(via(&g, &t, "leaf0", 1), ["spine0", "spine1"]);
    }

    #[test]
    fn a_ring_has_two_ways_to_the_far_side() {
        let g = ring(4);
        let t = build(&g, &RoutingConfig::default(), &[]);
        assert_eq!(via(&g, &t, "switch0", 2).len(), 2);
        assert_eq!(via(&g, &t, "switch0", 1), ["switch1"]);
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_name() {
        let g = leaf_spine(2, 2, 1, 1);
        let error = |routes: Vec<RouteOverride>| {
            RouteTable::build(&g, &with(OnFailure::Global, routes), &mask(&g, &[])).unwrap_err().to_string()
        };
        assert_eq!(
            error(vec![route("laef0", "host1", &["spine0"])]),
            "routing.routes[0].at: there is no node called \"laef0\"; did you mean \"leaf0\"?"
        );
        assert_eq!(
            error(vec![route("leaf0", "host1", &["spine0"]), route("leaf0", "host0", &["leaf1"])]),
            "routing.routes[1].via[0]: leaf0 has no link to leaf1; its neighbours are spine0, spine1, host0"
        );
        assert_eq!(
            error(vec![route("host0", "host1", &["leaf0"])]),
            "routing.routes[0].at: \"host0\" is a host, and hosts do not forward; name a switch; did you mean \
             \"leaf0\"?"
        );
        assert_eq!(
            error(vec![route("leaf0", "host1", &["host0"])]),
            "routing.routes[0].via[0]: \"host0\" is a host, and hosts do not forward; name a switch"
        );
        assert_eq!(
            error(vec![route("leaf0", "spine1", &["spine0"])]),
            "routing.routes[0].to: no host is attached to spine1, so the route would never be used; name a host or \
             a leaf"
        );
        assert_eq!(
            error(vec![route("leaf0", "host1", &[])]),
            "routing.routes[0].via: it is empty; name at least one neighbour of leaf0"
        );
        assert_eq!(
            error(vec![route("leaf0", "host1", &["spine0"]), route("leaf0", "host1", &["spine1"])]),
            "routing.routes[1]: leaf0 already has a route to host1 in routing.routes[0]; put all next hops into \
             one `via`"
        );
    }

    #[test]
    fn isolated_parts_are_unreachable() {
        let names = ["host0", "host1", "a", "b"].map(String::from).to_vec();
        let g = Graph::new(2, names, vec![link(0, 2), link(1, 3)]);
        let t = build(&g, &RoutingConfig::default(), &[]);
        assert_eq!(t.group(0, 1), UNREACHABLE);
        assert_eq!(via(&g, &t, "a", 0), ["host0"]);
    }

    /// 16384 hosts, 1280 switches, 65536 links: within the memory budget, and groups stay few.
    #[test]
    fn a_large_tree_fits_in_memory() {
        let g = three_tiers(32, 16, 32, 16, 2);
        assert_eq!((g.hosts, g.nodes() - g.hosts), (16_384, 1_280));
        let t = build(&g, &RoutingConfig::default(), &[]);
        assert!(t.memory() < 100_000_000, "{} bytes", t.memory());
        assert!(t.groups() < 60_000, "{} groups", t.groups());
        assert_eq!(via(&g, &t, "edge0", 16_383).len(), 32);
    }
}
