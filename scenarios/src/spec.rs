//! The scenario file as types. Field comments are the reference: the JSON Schema is generated from them.

use indexmap::IndexMap;
use models::config::{
    CongestionConfig, FaultConfig, NicConfig, RoutingConfig, SwitchConfig, TopologyConfig, TrafficConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Duration;

use crate::jobs::{ClusterConfig, JobConfig};
use crate::sweep::SweepSpec;

/// The version of the scenario language this build reads and writes.
pub const SCHEMA_VERSION: u32 = 1;

/// A scenario: a fabric, its traffic, what goes wrong and how long to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the scenario language. This build reads 1.
    pub schema_version: u32,
    /// A short name; result folders are called after it.
    pub name: String,
    /// What the scenario shows, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// Named knobs. A string `"$name"` anywhere else in the file stands for the value of the knob.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub params: IndexMap<String, Param>,
    /// Seed of every random stream. Default: 1.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Hosts, switches and links.
    pub topology: TopologyConfig,
    /// All switches. Default: see its fields.
    #[serde(default)]
    pub switch: SwitchConfig,
    /// All NICs.
    #[serde(default)]
    pub nic: NicConfig,
    /// Congestion control of all senders. Default: DCQCN, preset connectx.
    #[serde(default)]
    pub congestion: CongestionConfig,
    /// Routing.
    #[serde(default)]
    pub routing: RoutingConfig,
    /// Groups of flows.
    #[serde(default)]
    pub traffic: Vec<TrafficConfig>,
    /// The GPU nodes behind the hosts; with `jobs` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterConfig>,
    /// What the GPUs do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobConfig>,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<FaultConfig>,
    /// When to stop and how often to look.
    #[serde(default)]
    pub run: RunConfig,
    /// What is written besides the summary.
    #[serde(default)]
    pub output: OutputConfig,
    /// What `fabsim sweep` varies. `fabsim run` runs the scenario as it stands. Default: `null`, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
}

const fn default_seed() -> u64 {
    1
}

/// A named knob of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its value unless `--set params.NAME=VALUE` gives another: text with a unit, a number, true or false.
    pub default: serde_json::Value,
    /// Its unit, for people: "Gbps", "hosts", "true/false".
    pub unit: String,
    /// What it does, in a sentence.
    pub about: String,
}

/// When to stop and how often to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The run ends at this simulated time even if flows are not done. Default: `null`, when all flows are done.
    pub until: Option<Duration>,
    /// The run ends when nothing was delivered for this long while flows are waiting, and names them. Default: 1 s.
    pub stall_limit: Duration,
    /// Grid on which deadlocks are looked for. Default: 20 us.
    pub deadlock_interval: Duration,
    /// Whether the run ends when a deadlock is found. Default: true.
    pub stop_on_deadlock: bool,
    /// Whether every packet of a collective is simulated, even where its loops have become steady. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            until: None,
            stall_limit: Duration::from_ms(1000),
            deadlock_interval: Duration::from_us(20),
            stop_on_deadlock: true,
            exact: false,
        }
    }
}

/// What is written besides the summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputConfig {
    /// Interval of `queues.csv` and `rates.csv`. 0 writes neither. Default: 10 us.
    pub sample_interval: Duration,
    /// Most flows in `rates.csv`, the first of the scenario. Default: 64.
    pub rate_flows: u32,
    /// Most rows of `queues.csv` at one sample: the longest egress queues that are not empty. Default: 64.
    pub queue_rows: u32,
    /// Most rows of `pfc.csv`; what comes after is counted but not written, and said. Default: 1000000.
    pub pfc_rows: u64,
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self { sample_interval: Duration::from_us(10), rate_flows: 64, queue_rows: 64, pfc_rows: 1_000_000 }
    }
}
