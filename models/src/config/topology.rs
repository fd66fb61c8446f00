//! Parameters of topologies: which hosts and switches there are, and the links between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Duration, Length, Rate};

/// A bidirectional link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay. Give this or `length`. Default: 1 us.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// Cable length, at 5 ns per metre.
    #[serde(default)]
    pub length: Option<Length>,
    /// Probability that a packet (of any kind) is lost on this link. Default: 0. Range: [0, 1).
    #[serde(default)]
    pub error_rate: f64,
}

impl LinkConfig {
    /// A link of `rate` and one-way `delay` without errors.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self { rate, delay: Some(delay), length: None, error_rate: 0.0 }
    }

    /// One-way propagation delay: `delay`, else that of `length`, else 1 us.
    pub fn propagation(&self) -> Duration {
        self.delay.or(self.length.map(Length::propagation)).unwrap_or(Duration::from_us(1))
    }
}

/// A topology. Hosts are named `host0`, `host1`, …; switches as each kind says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TopologyConfig {
    /// One switch, `switch0`, with every host on it.
    SingleSwitch(SingleSwitch),
    /// Two switches, `left0` and `right0`, with a link between them.
    Dumbbell(Dumbbell),
    /// Leaves `leaf0`…, each with hosts and a link to every spine `spine0`….
    LeafSpine(LeafSpine),
    /// A k-ary fat tree: 2 tiers (`leaf`, `spine`) or 3 (`edge`, `agg`, `core`), full bisection unless said.
    FatTree(FatTree),
    /// Rail-optimised GPU nodes: NIC j of each node on the leaf of rail j, every leaf `leaf0`… on the spines `spine0`….
    Rail(Rail),
    /// Named nodes and links one by one.
    Edges(EdgeList),
}

/// One switch with hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleSwitch {
    /// Hosts on the switch. Range: 1–65536.
    pub hosts: u32,
    /// The link of each host.
    pub link: LinkConfig,
    /// Links that differ from the rest.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

/// Two switches with hosts on both sides of one bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on the left switch: `host0`….
    pub left: u32,
    /// Hosts on the right switch, numbered after the left ones.
    pub right: u32,
    /// The link of each host.
    pub host_link: LinkConfig,
    /// The link between the switches.
    pub bottleneck: LinkConfig,
    /// Links that differ from the rest.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

/// Leaves and spines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// The link of each host.
    pub host_link: LinkConfig,
    /// Each link between a leaf and a spine.
    pub fabric_link: LinkConfig,
    /// Parallel links between each leaf and each spine. Default: 1.
    #[serde(default = "one")]
    pub parallel: u32,
    /// Links that differ from the rest.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

/// A fat tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// 2 or 3. Default: 3.
    #[serde(default = "three")]
    pub tiers: u32,
    /// Switch radix k, even. 3 tiers: k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k³/4 hosts.
    /// 2 tiers: k leaves with k/2 hosts, k/2 spines.
    pub k: u32,
    /// Only this many pods (3 tiers) or leaves (2 tiers), with as many fewer cores or spines: bisection stays full,
    /// over parallel links. Must divide k; an odd number leaves half of the ports of cores or spines free.
    /// Default: `null`, k.
    #[serde(default)]
    pub pods: Option<u32>,
    /// Every link, or every host link where `fabric_link` is given.
    pub link: LinkConfig,
    /// Each link between switches. Default: as `link`.
    #[serde(default)]
    pub fabric_link: Option<LinkConfig>,
    /// Hosts per edge switch per uplink: 1 is full bisection, 2 gives every edge switch twice the hosts. Default: 1.
    #[serde(default = "one")]
    pub oversubscription: u32,
    /// Links that differ from the rest.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

/// GPU nodes on rails. A host is a port of a NIC: that of NIC j of node i in plane p is
/// `host((i · nics_per_node + j) · planes + p)`.
///
/// Nodes in groups of `nodes_per_leaf`; each group has a leaf a rail. Planes are fabrics of their own that share no
/// switch: a port reaches ports of its plane only. Leaves are numbered by plane, then group, then rail; spines by plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// GPU nodes.
    pub nodes: u32,
    /// NICs of a node.
    pub nics_per_node: u32,
    /// Rails. With fewer than NICs, neighbouring NICs share one; 1 puts all NICs of a node on one leaf. Must divide
    /// `nics_per_node`. Default: `null`, one for each NIC.
    #[serde(default)]
    pub rails: Option<u32>,
    /// Nodes of a group, which share leaves; the last group may have fewer. Default: `null`, all in one group.
    #[serde(default)]
    pub nodes_per_leaf: Option<u32>,
    /// Spines of a plane, each linked to every leaf of it. 0 leaves rails apart, with one group only: then hosts reach
    /// their own rail only.
    pub spines: u32,
    /// 1, or 2 where each NIC has two ports, one in each plane. Range: 1–2. Default: 1.
    #[serde(default = "one")]
    pub planes: u32,
    /// The link of each host.
    pub link: LinkConfig,
    /// Each link between a leaf and a spine. Default: as `link`.
    #[serde(default)]
    pub fabric_link: Option<LinkConfig>,
    /// Parallel links between each leaf and each spine. Default: 1.
    #[serde(default = "one")]
    pub parallel: u32,
    /// Links that differ from the rest.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

/// A topology written out link by link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeList {
    /// Names of hosts, in order.
    pub hosts: Vec<String>,
    /// Names of switches, in order.
    pub switches: Vec<String>,
    /// The links. Each host has exactly one, to a switch. A switch has its ports in the order of its links here.
    pub links: Vec<Edge>,
}

/// One link of an edge list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay. Give this or `length`. Default: 1 us.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// Cable length, at 5 ns per metre.
    #[serde(default)]
    pub length: Option<Length>,
    /// Probability that a packet is lost on this link. Default: 0.
    #[serde(default)]
    pub error_rate: f64,
}

/// A link that differs from its kind; what is left out stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOverride {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// Cable length, at 5 ns per metre.
    #[serde(default)]
    pub length: Option<Length>,
    /// Probability that a packet is lost on this link.
    #[serde(default)]
    pub error_rate: Option<f64>,
}

const fn one() -> u32 {
    1
}
const fn three() -> u32 {
    3
}
