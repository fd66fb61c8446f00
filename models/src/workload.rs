//! What GPUs do: compute, and take part in collectives. Input of [`crate::fabric::Fabric::build_with`].

use collectives::CollectiveSchedule;
use sim_core::{Duration, Rate};

use crate::config::Class;

/// GPUs in their nodes, and what moving data costs there.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// GPUs in all; GPU g is in node g / `gpus_per_node`.
    pub gpus: u32,
    /// GPUs of a node.
    pub gpus_per_node: u32,
    /// NICs of a node; port p of NIC j of node i is host (i · `nics_per_node` + j) · `planes` + p of the topology.
    pub nics_per_node: u32,
    /// Ports of a NIC, each in a plane of its own. Messages are split over them.
    pub planes: u32,
    /// Bytes a second a GPU can send (and as many it can receive) over NVLink, or PCIe without NVLink.
    pub local_rate: u64,
    /// The same for reductions and multicast in the NVSwitch.
    pub nvls_rate: u64,
    /// Time the host's progress thread of a GPU spends on a message it sends.
    pub proxy_send: Duration,
    /// Time it spends on a message it receives.
    pub proxy_receive: Duration,
}

/// Latencies and rates of a protocol on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// From the call until its threads run.
    pub base: Duration,
    /// From the end of a local send until its receiver sees it.
    pub local: Duration,
    /// From the end of a thread's work until the receiver sees the message, over an idle network and with idle proxies.
    /// The time on the wire and in the proxies is part of it; what is left lies half before and half behind the wire.
    pub network: Duration,
}

/// How the messages of a call travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Queue pairs of a connection on each port of its NIC. Range: 1–16 over all ports.
    pub qps: u8,
    /// Whether each message is cut into pieces over all queue pairs; else messages take turns.
    pub split: bool,
    /// Messages above so many bytes are announced by a write of their own (NCCL's way with adaptive routing).
    pub announce_above: Option<u64>,
    /// Bytes a second the host copies between GPU and NIC memory where NICs do not reach GPU memory (no GPUDirect).
    pub host_copy_rate: Option<u64>,
    /// Traffic class of data and clear-to-send writes.
    pub class: Class,
    /// DSCP of the packets.
    pub dscp: u8,
    /// Cap on the rate of each queue pair.
    pub rate: Option<Rate>,
}

/// A kind of collective call. It may be called often, once at a time by each rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What to call it.
    pub name: String,
    /// What is done.
    pub schedule: CollectiveSchedule,
    /// The GPU of each rank.
    pub members: Vec<u32>,
    /// Calls of one communicator share connections.
    pub communicator: u32,
    /// Latencies.
    pub timing: Timing,
    /// Bytes a second each thread moves, in the order of the schedule's threads.
    pub thread_rates: Vec<u64>,
    /// How messages travel.
    pub transport: Transport,
    /// Whether loops in a steady state may be left out and added to the time.
    pub may_skip: bool,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The GPU computes for this long. A GPU computes one task at a time.
    Compute(Duration),
    /// The GPU takes part in a call as this rank.
    Call {
        /// The call.
        call: u32,
        /// Its rank.
        rank: u32,
    },
}

/// A piece of work of one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The GPU.
    pub gpu: u32,
    /// What it does.
    pub work: Work,
    /// Tasks of the same GPU that must be done before.
    pub after: Vec<u32>,
}

/// All GPUs and their work.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The machines.
    pub machine: Machine,
    /// Kinds of calls.
    pub calls: Vec<Call>,
    /// The work. Tasks come after those they wait for.
    pub tasks: Vec<Task>,
}

/// When a task ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// When it started.
    pub started: Option<sim_core::Time>,
    /// When it was done.
    pub finished: Option<sim_core::Time>,
}
