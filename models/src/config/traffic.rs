//! Parameters of traffic: who sends what to whom, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration, Rate};

use super::Class;

/// A group of flows. Each flow is one queue pair with one or more messages, posted back to back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficConfig {
    /// Many senders to one receiver.
    Incast(Incast),
    /// Every host sends to one other host and receives from one (a random derangement, or a shift).
    Permutation(Permutation),
    /// Every host of a set sends to every other.
    AllToAll(AllToAll),
    /// Flows one by one.
    Flows(FlowList),
    /// Flows that arrive at random.
    Poisson(Poisson),
}

/// What all flows of a group have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowOptions {
    /// Traffic class at the NIC. Default: 3. Range: 0–7.
    pub class: Class,
    /// DSCP the packets carry. Default: 26 for class 3, else 8 · class. Range: 0–63.
    pub dscp: Option<u8>,
    /// The RDMA operation. Default: write.
    pub operation: Operation,
    /// Messages of the given size posted back to back. Default: 1. Range: ≥ 1.
    pub messages: u32,
    /// A cap on the rate of each flow, in bits on the wire. Default: none.
    pub rate: Option<Rate>,
    /// Links between switches a packet may cross before it is dropped (its IP TTL − 1). Default: 63. Range: 1–254.
    pub ttl: u8,
}

impl Default for FlowOptions {
    fn default() -> Self {
        Self { class: 3, dscp: None, operation: Operation::Write, messages: 1, rate: None, ttl: 63 }
    }
}

impl FlowOptions {
    /// The DSCP the packets carry.
    pub fn dscp(&self) -> u8 {
        self.dscp.unwrap_or(if self.class == 3 { 26 } else { 8 * self.class })
    }
}

/// The RDMA operation of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// RDMA WRITE: the sender pushes; a RETH on the first packet.
    #[default]
    Write,
    /// SEND: the sender pushes into a posted receive.
    Send,
    /// RDMA READ: the receiver asks, the sender responds; no ACKs, the requester's clock recovers losses.
    Read,
    /// Unreliable datagrams: no ACKs, no recovery. A flow is done when its last packet is sent.
    Datagram,
}

/// N:1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Number of flows to the receiver, spread evenly over all other hosts in order, so that they come from all
    /// leaves: of n senders and H hosts, sender j is the host 1 + ⌊j·(H−1)/n⌋ after the receiver, wrapping around.
    /// With n ≥ H, whole rounds over all other hosts come first and the rest is spread so. Range: ≥ 1.
    pub senders: u32,
    /// The receiving host. Default: host0.
    #[serde(default)]
    pub receiver: Option<String>,
    /// Bytes of each message.
    pub size: Bytes,
    /// When the flows start. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// Options of the flows.
    #[serde(default)]
    pub options: FlowOptions,
}

/// One to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Bytes of each message.
    pub size: Bytes,
    /// Host i sends to host i + shift (modulo) instead of a random derangement.
    #[serde(default)]
    pub shift: Option<u32>,
    /// When the flows start. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// Options of the flows.
    #[serde(default)]
    pub options: FlowOptions,
}

/// Every pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Bytes of each message.
    pub size: Bytes,
    /// Only the first so many hosts. Default: all.
    #[serde(default)]
    pub hosts: Option<u32>,
    /// When the flows start. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// Options of the flows.
    #[serde(default)]
    pub options: FlowOptions,
}

/// Flows one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowList {
    /// The flows.
    pub list: Vec<FlowConfig>,
    /// Options of the flows; a flow's own `class`, `rate` and the like replace them.
    #[serde(default)]
    pub options: FlowOptions,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Bytes of each message.
    pub size: Bytes,
    /// When the flow starts. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// Traffic class at the NIC.
    #[serde(default)]
    pub class: Option<Class>,
    /// DSCP the packets carry. Default: that of the options, or with a `class` here that of the class.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// The RDMA operation.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// Messages posted back to back.
    #[serde(default)]
    pub messages: Option<u32>,
    /// A cap on the rate, in bits on the wire.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Candidate paths, by preference: the switches from sender to receiver. The first whose links are all up is
    /// used, as with segment-routing policies. Default: routed by destination.
    #[serde(default)]
    pub paths: Vec<Vec<String>>,
}

/// Flows that arrive as a Poisson process, between uniformly random pairs of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean load of the host links, payload (all messages of the flows) over link rate. Range: (0, 1].
    pub load: f64,
    /// Flows arrive from `start` for this long.
    pub duration: Duration,
    /// When the first flow may arrive. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// Distribution of flow sizes.
    pub sizes: SizeDistribution,
    /// Options of the flows.
    #[serde(default)]
    pub options: FlowOptions,
}

/// Distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeDistribution {
    /// Every flow has this size.
    Fixed(Bytes),
    /// Exponential with this mean, at least 1 B each. Range: ≥ 10 B.
    Exponential(Bytes),
    /// Web search (DCTCP, SIGCOMM 2010), as HPCC's traffic generator holds it.
    WebSearch,
    /// Alibaba storage (HPCC, SIGCOMM 2019).
    Storage,
    /// A piecewise-linear distribution: points of (size, percent of flows at or below it), ascending to 100. Flows
    /// of the first point's percent have its size; two points of one size are a step.
    Cdf(Vec<CdfPoint>),
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdfPoint {
    /// The size.
    pub size: Bytes,
    /// Percent of flows at or below it. Range: 0–100.
    pub percent: f64,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultConfig {
    /// A link goes down.
    LinkDown(LinkDown),
    /// A NIC stops receiving and sends PAUSE without end.
    PauseStorm(PauseStorm),
    /// A switch (or link) drops chosen data packets deterministically.
    DropEvery(DropEvery),
}

/// A link goes down and may come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkDown {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// When it goes down. Default: 0, before the run.
    #[serde(default)]
    pub at: Duration,
    /// When it comes back. Default: never.
    #[serde(default)]
    pub until: Option<Duration>,
    /// Whether this fault happens at all: a switch for `params`. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// A NIC that sends PAUSE without end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseStorm {
    /// The host.
    pub host: String,
    /// The classes paused. Default: 3.
    #[serde(default = "class_three")]
    pub classes: Vec<Class>,
    /// When it starts.
    #[serde(default)]
    pub at: Duration,
    /// When it ends. Default: never.
    #[serde(default)]
    pub until: Option<Duration>,
    /// Whether this fault happens at all: a switch for `params`. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// Drops every n-th data packet of each flow (by packets seen, retransmissions included) at a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropEvery {
    /// The switch that drops.
    pub at: String,
    /// One packet in this many. Range: ≥ 2.
    pub every: u32,
    /// Whether this fault happens at all: a switch for `params`. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
}

const fn yes() -> bool {
    true
}
fn class_three() -> Vec<Class> {
    vec![3]
}
