//! The graph a topology builds to: nodes, ports and links, with names.

mod dumbbell;
mod edges;
mod error;
mod fat_tree;
mod leaf_spine;
mod names;
mod plan;
mod rail;
mod single_switch;

use sim_core::{Duration, Rate};

use crate::config::TopologyConfig;

pub use error::TopologyError;
pub use names::{NameIndex, UnknownName, families, nearest};
pub use plan::{MAX_DELAY, MAX_HOSTS, MAX_LINKS};

/// Builds the graph of `config`. It is connected (but for planes, and rails without spines), and each host has exactly
/// one port, to a switch. The ports of a switch are its hosts in order, then its links to switches in order; those of an
/// edge list are in its order.
pub fn build(config: &TopologyConfig) -> Result<Graph, TopologyError> {
    match config {
        TopologyConfig::SingleSwitch(config) => single_switch::build(config),
        TopologyConfig::Dumbbell(config) => dumbbell::build(config),
        TopologyConfig::LeafSpine(config) => leaf_spine::build(config),
        TopologyConfig::FatTree(config) => fat_tree::build(config),
        TopologyConfig::Rail(config) => rail::build(config),
        TopologyConfig::Edges(config) => edges::build(config),
    }
}

/// Index of a node: hosts first (`0..hosts`), then switches.
pub type NodeIndex = u32;

/// Index of a port in the whole fabric. The ports of a node are consecutive, in the order its links were added.
pub type PortIndex = u32;

/// One direction-less link between two ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: NodeIndex,
    /// The other end.
    pub b: NodeIndex,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on it, each direction.
    pub error_rate: f64,
}

/// A port: one node's end of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortEnd {
    /// The node it belongs to.
    pub node: NodeIndex,
    /// The port at the other end of the link.
    pub peer: PortIndex,
    /// The node at the other end.
    pub peer_node: NodeIndex,
    /// Index of the link.
    pub link: u32,
}

/// A topology as a graph. Hosts are nodes `0..hosts`, each with exactly one port; switches follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Number of hosts.
    pub hosts: u32,
    /// Names of all nodes, unique.
    pub names: Vec<String>,
    /// The links.
    pub links: Vec<Link>,
    /// First port of each node, and one past the last: node n has ports `first_port[n]..first_port[n + 1]`.
    pub first_port: Vec<PortIndex>,
    /// The ports.
    pub ports: Vec<PortEnd>,
}

impl Graph {
    /// Lays out the ports of `links` between `names` (the first `hosts` of them hosts).
    pub fn new(hosts: u32, names: Vec<String>, links: Vec<Link>) -> Self {
        let mut first_port = vec![0; names.len() + 1];
        for link in &links {
            first_port[link.a as usize + 1] += 1;
            first_port[link.b as usize + 1] += 1;
        }
        for n in 0..names.len() {
            first_port[n + 1] += first_port[n];
        }
        let mut next = first_port.clone();
        let unset = PortEnd { node: 0, peer: 0, peer_node: 0, link: 0 };
        let mut ports = vec![unset; links.len() * 2];
        for (index, link) in links.iter().enumerate() {
            let (pa, pb) = (next[link.a as usize], next[link.b as usize] + u32::from(link.a == link.b));
            next[link.a as usize] += 1;
            next[link.b as usize] += 1;
            let link_index = index as u32;
            ports[pa as usize] = PortEnd { node: link.a, peer: pb, peer_node: link.b, link: link_index };
            ports[pb as usize] = PortEnd { node: link.b, peer: pa, peer_node: link.a, link: link_index };
        }
        Self { hosts, names, links, first_port, ports }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.names.len() as u32
    }

    /// Whether `node` is a host.
    pub fn is_host(&self, node: NodeIndex) -> bool {
        node < self.hosts
    }

    /// The ports of `node`.
    pub fn ports_of(&self, node: NodeIndex) -> std::ops::Range<PortIndex> {
        self.first_port[node as usize]..self.first_port[node as usize + 1]
    }

    /// Index of the node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.names.iter().position(|n| n == name).map(|n| n as NodeIndex)
    }

    /// The name of a port: its node and its number there, `leaf0:3`. A host's only port is the host's name.
    pub fn port_name(&self, port: PortIndex) -> String {
        let end = self.ports[port as usize];
        let name = &self.names[end.node as usize];
        if self.is_host(end.node) {
            name.clone()
        } else {
            format!("{name}:{}", port - self.first_port[end.node as usize])
        }
    }

    /// The link of a port.
    pub fn link_of(&self, port: PortIndex) -> &Link {
        &self.links[self.ports[port as usize].link as usize]
    }

    /// The switch of `host`.
    pub fn switch_of(&self, host: NodeIndex) -> NodeIndex {
        self.ports[self.first_port[host as usize] as usize].peer_node
    }

    /// The links between `a` and `b`, in order: more than one where they are parallel.
    pub fn links_between(&self, a: NodeIndex, b: NodeIndex) -> Vec<u32> {
        let (from, to) = if self.ports_of(a).len() <= self.ports_of(b).len() { (a, b) } else { (b, a) };
        let ends = self.ports_of(from).map(|p| self.ports[p as usize]);
        ends.filter(|end| end.peer_node == to).map(|end| end.link).collect()
    }

    /// What `node` is linked to, for people: `host0…host3, spine0`.
    pub fn neighbour_names(&self, node: NodeIndex) -> String {
        let mut nodes: Vec<NodeIndex> =
            self.ports_of(node).map(|p| self.ports[p as usize].peer_node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let names: Vec<String> = nodes.iter().map(|n| self.names[*n as usize].clone()).collect();
        if names.is_empty() { "nothing".to_string() } else { families(&names) }
    }

    /// The nodes that cannot be reached from node 0, ascending: none if the graph is connected.
    pub fn unreachable(&self) -> Vec<NodeIndex> {
        let mut seen = vec![false; self.names.len()];
        let mut open = Vec::new();
        if let Some(start) = seen.first_mut() {
            *start = true;
            open.push(0);
        }
        while let Some(node) = open.pop() {
            for port in self.ports_of(node) {
                let peer = self.ports[port as usize].peer_node;
                if !std::mem::replace(&mut seen[peer as usize], true) {
                    open.push(peer);
                }
            }
        }
        (0..self.nodes()).filter(|n| !seen[*n as usize]).collect()
    }
}

/// What a switch with hosts could send up against what its hosts could send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSubscription {
    /// The switch.
    pub switch: NodeIndex,
    /// Sum of the rates of its links to hosts.
    pub down: Rate,
    /// Sum of the rates of its links to other switches. 0 where it has none: nothing leaves it.
    pub up: Rate,
}

impl SwitchSubscription {
    /// `down` over `up`: above 1 is oversubscribed. `None` where the switch has no link to another.
    pub fn ratio(&self) -> Option<f64> {
        (self.up > Rate::ZERO).then(|| self.down.0 as f64 / self.up.0 as f64)
    }
}

/// The subscription of every switch that has hosts, in order.
pub fn oversubscription(graph: &Graph) -> Vec<SwitchSubscription> {
    (graph.hosts..graph.nodes())
        .filter_map(|switch| {
            let mut sum = SwitchSubscription { switch, down: Rate::ZERO, up: Rate::ZERO };
            for port in graph.ports_of(switch) {
                let to_host = graph.is_host(graph.ports[port as usize].peer_node);
                let side = if to_host { &mut sum.down } else { &mut sum.up };
                *side += graph.link_of(port).rate;
            }
            (sum.down > Rate::ZERO).then_some(sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dumbbell, FatTree, LeafSpine, LinkConfig, Rail, SingleSwitch};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn link(gbps: u64) -> LinkConfig {
        LinkConfig::new(Rate::gbps(gbps), Duration::from_us(1))
    }

    fn any_topology() -> impl Strategy<Value = TopologyConfig> {
        let overrides = Vec::new;
        prop_oneof![
            (1u32..40).prop_map(move |hosts| {
                TopologyConfig::SingleSwitch(SingleSwitch { hosts, link: link(100), overrides: overrides() })
            }),
            (1u32..20, 1u32..20).prop_map(move |(left, right)| {
                let (host_link, bottleneck) = (link(100), link(25));
                let overrides = overrides();
                TopologyConfig::Dumbbell(Dumbbell { left, right, host_link, bottleneck, overrides })
            }),
            (1u32..8, 1u32..8, 1u32..8, 1u32..4).prop_map(
                move |(leaves, spines, hosts_per_leaf, parallel)| {
                    let (host_link, fabric_link) = (link(100), link(400));
                    let overrides = overrides();
                    TopologyConfig::LeafSpine(LeafSpine {
                        leaves,
                        spines,
                        hosts_per_leaf,
                        host_link,
                        fabric_link,
                        parallel,
                        overrides,
                    })
                }
            ),
            (2u32..4, 1u32..6, 0usize..6, 1u32..4).prop_map(move |(tiers, half, pick, oversubscription)| {
                let k = 2 * half;
                let divisors: Vec<u32> = (1..=k).filter(|d| k.is_multiple_of(*d)).collect();
                let pods = Some(divisors[pick % divisors.len()]);
                let (link, fabric_link) = (link(100), None);
                let overrides = overrides();
                TopologyConfig::FatTree(FatTree {
                    tiers,
                    k,
                    pods,
                    link,
                    fabric_link,
                    oversubscription,
                    overrides,
                })
            }),
            (1u32..20, 1u32..5, 1u32..20, 1u32..4, 1u32..3).prop_map(
                move |(nodes, nics_per_node, nodes_per_leaf, spines, parallel)| {
                    TopologyConfig::Rail(Rail {
                        nodes,
                        nics_per_node,
                        rails: None,
                        nodes_per_leaf: Some(nodes_per_leaf),
                        spines,
                        planes: 1,
                        link: link(100),
                        fabric_link: Some(link(400)),
                        parallel,
                        overrides: overrides(),
                    })
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn every_graph_is_whole(config in any_topology()) {
            let graph = build(&config).unwrap();
            prop_assert_eq!(graph.unreachable(), Vec::<NodeIndex>::new());
            prop_assert_eq!(graph.ports.len(), graph.links.len() * 2);
            prop_assert_eq!(graph.names.iter().collect::<BTreeSet<_>>().len(), graph.names.len());
            for (port, end) in graph.ports.iter().enumerate() {
                let peer = graph.ports[end.peer as usize];
                prop_assert_eq!(peer.peer as usize, port);
                prop_assert_eq!((peer.node, peer.peer_node), (end.peer_node, end.node));
                prop_assert_eq!(peer.link, end.link);
                prop_assert!(graph.ports_of(end.node).contains(&(port as PortIndex)));
            }
            for host in 0..graph.hosts {
                prop_assert_eq!(graph.ports_of(host).len(), 1);
                prop_assert!(!graph.is_host(graph.switch_of(host)));
                prop_assert_eq!(&graph.names[host as usize], &format!("host{host}"));
            }
            for switch in graph.hosts..graph.nodes() {
                // Hosts ascending, then switches ascending.
                let peers: Vec<NodeIndex> =
                    graph.ports_of(switch).map(|p| graph.ports[p as usize].peer_node).collect();
                prop_assert!(peers.is_sorted(), "{}: {:?}", &graph.names[switch as usize], peers);
            }
            let down: u64 = oversubscription(&graph).iter().map(|s| s.down.0).sum();
            prop_assert_eq!(down, u64::from(graph.hosts) * 100_000_000_000);
        }
    }

    #[test]
    fn a_single_switch_has_no_way_up() {
        let config = SingleSwitch { hosts: 4, link: link(100), overrides: vec![] };
        let graph = build(&TopologyConfig::SingleSwitch(config)).unwrap();
        let sides = oversubscription(&graph);
        assert_eq!(sides, [SwitchSubscription { switch: 4, down: Rate::gbps(400), up: Rate::ZERO }]);
        assert_eq!(sides[0].ratio(), None);
    }

    #[test]
    fn links_between_are_the_parallel_ones() {
        let (host_link, fabric_link) = (link(100), link(100));
        let graph = build(&TopologyConfig::LeafSpine(LeafSpine {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 1,
            host_link,
            fabric_link,
            parallel: 3,
            overrides: vec![],
        }))
        .unwrap();
        let (leaf1, spine0) = (graph.node("leaf1").unwrap(), graph.node("spine0").unwrap());
        assert_eq!(graph.links_between(leaf1, spine0), [8, 9, 10]);
        assert_eq!(graph.links_between(spine0, leaf1), [8, 9, 10]);
        assert_eq!(graph.links_between(leaf1, 0), Vec::<u32>::new());
        assert_eq!(graph.neighbour_names(leaf1), "host1, spine0…spine1");
    }

    #[test]
    fn sixteen_thousand_hosts_build() {
        let config = FatTree {
            tiers: 3,
            k: 40,
            pods: None,
            link: link(400),
            fabric_link: None,
            oversubscription: 1,
            overrides: vec![],
        };
        let graph = build(&TopologyConfig::FatTree(config)).unwrap();
        assert_eq!((graph.hosts, graph.links.len()), (16_000, 48_000));
        assert_eq!(graph.unreachable(), Vec::<NodeIndex>::new());
    }
}
