//! GPU nodes and their jobs, as a scenario file writes them.

use collectives::nccl::NcclConfig;
use collectives::node::NodeConfig;
use collectives::schedule::Operation;
use models::config::Class;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration, Rate};

/// The GPU nodes of the fabric. Port p of NIC j of node i is host (i · NICs + j) · planes + p of the topology.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// What a node is: the name of a preset, or an object with `preset` and the fields that differ.
    pub node: NodeConfig,
    /// Nodes. Range: ≥ 1.
    pub nodes: u32,
    /// Ports of a NIC that are hosts of their own, each in its plane (as with the rail topology's `planes`). Messages are
    /// split over them, as NCCL does with the ports of one NIC. Range: 1–2. Default: 1.
    #[serde(default = "one")]
    pub planes: u32,
    /// What GPUs and hosts take besides the links. Default: nccl.
    #[serde(default)]
    pub costs: Costs,
    /// Time the host's progress thread of a GPU spends on each message it sends or receives. Default: half of the
    /// preset's posting time (NCCL_NET_OVERHEAD: 1 us Intel and Arm, 2 us AMD).
    #[serde(default)]
    pub host_step: Option<Duration>,
    /// Rate at which the host copies for each GPU where NICs cannot reach GPU memory. Default: 96 Gb/s (PCIe Gen3 x16).
    #[serde(default)]
    pub host_copy_rate: Option<Rate>,
}

/// What GPUs and hosts take besides the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Costs {
    /// Latencies, and limits of thread blocks and host threads, from NCCL's tuning tables and the node's preset.
    #[default]
    Nccl,
    /// Nothing: only NVLink and the network take time.
    None,
}

/// What some of the GPUs do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// What to call it. Default: by its kind and number.
    #[serde(default)]
    pub name: Option<String>,
    /// The nodes it runs on, in rank order. Default: all.
    #[serde(default)]
    pub nodes: Option<Vec<u32>>,
    /// Ranks on each node, the first GPUs. Default: all GPUs of a node.
    #[serde(default)]
    pub ranks_per_node: Option<u32>,
    /// Communicators the ranks of a node are cut into, each with as many of every node and with calls of its own: 8 of one
    /// rank a node are the data-parallel groups beside 8-fold tensor parallelism. Must divide the ranks of a node. Default:
    /// 1.
    #[serde(default = "one")]
    pub communicators: u32,
    /// NCCL's settings.
    #[serde(default)]
    pub nccl: NcclConfig,
    /// Traffic class of its packets at the NIC. Default: 3. Range: 0–7.
    #[serde(default = "class_three")]
    pub class: Class,
    /// DSCP of its packets. Default: 26 for class 3, else 8 · class. Range: 0–63.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// Cap on the rate of each of its queue pairs, in bits on the wire. Default: none.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// When it starts. Default: 0.
    #[serde(default)]
    pub start: Duration,
    /// What it does.
    pub work: JobWork,
}

const fn class_three() -> Class {
    3
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobWork {
    /// One collective, called a few times back to back.
    Collective(CollectiveWork),
    /// A sweep of sizes as nccl-tests runs it.
    NcclTests(NcclTestsWork),
    /// A step of training a model: computation, and the communication of data, tensor, pipeline and expert parallelism.
    TrainingStep(super::training::TrainingStep),
}

/// One collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveWork {
    /// What is computed.
    pub operation: Operation,
    /// Size as nccl-tests counts it: AllReduce, Broadcast, Reduce and SendRecv the buffer of a rank; AllGather,
    /// ReduceScatter and AllToAll that of all blocks together.
    pub size: Bytes,
    /// Calls, back to back. Default: 1. Range: ≥ 1.
    #[serde(default = "one")]
    pub iterations: u32,
    /// The root of Broadcast and Reduce. Default: rank 0.
    #[serde(default)]
    pub root: u32,
}

const fn one() -> u32 {
    1
}

/// A sweep of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclTestsWork {
    /// What is computed.
    pub operation: Operation,
    /// First size (`-b`).
    pub begin: Bytes,
    /// Last size (`-e`).
    pub end: Bytes,
    /// Each size is this many times the one before (`-f`). Default: 2. Range: ≥ 2.
    #[serde(default = "two")]
    pub factor: u32,
    /// Calls of each size that count, back to back (`-n`). nccl-tests' default is 20; a simulation repeats exactly, so
    /// that fewer say the same. Default: 1. Range: ≥ 1.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Calls of each size before those (`-w`). Default: 0.
    #[serde(default)]
    pub warmup: u32,
}

const fn two() -> u32 {
    2
}

impl NcclTestsWork {
    /// The sizes, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes = vec![self.begin.0];
        while let Some(next) = sizes.last().and_then(|last| last.checked_mul(u64::from(self.factor.max(2)))) {
            if next > self.end.0 || sizes.len() >= 64 || next == 0 {
                break;
            }
            sizes.push(next);
        }
        sizes
    }
}
