//! What a user sets: NCCL's environment variables and communicator options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::{Algorithm, Protocol};

use super::error::PlanError;

/// The algorithm: NCCL's choice, or one forced (`NCCL_ALGO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmChoice {
    /// As NCCL's cost model says.
    #[default]
    Auto,
    /// A ring through all ranks.
    Ring,
    /// A single tree over nodes on all channels. NCCL has no such mode; its Tree is `double-tree`.
    Tree,
    /// Two complementary trees: NCCL's Tree.
    DoubleTree,
    /// NVLS.
    Nvls,
    /// NVLS in the node, a double tree over nodes.
    NvlsTree,
    /// SHARP, every GPU scatters to the heads of its node.
    CollnetDirect,
    /// SHARP with a chain in each node.
    CollnetChain,
    /// Parallel aggregated trees.
    Pat,
    /// Recursive halving and doubling. Not of NCCL.
    HalvingDoubling,
    /// Each rank with each other: AllToAll and SendRecv.
    Pairwise,
}

impl AlgorithmChoice {
    /// The forced algorithm, if one is.
    pub const fn forced(self) -> Option<Algorithm> {
        Some(match self {
            Self::Auto => return None,
            Self::Ring => Algorithm::Ring,
            Self::Tree => Algorithm::Tree,
            Self::DoubleTree => Algorithm::DoubleTree,
            Self::Nvls => Algorithm::Nvls,
            Self::NvlsTree => Algorithm::NvlsTree,
            Self::CollnetDirect => Algorithm::CollnetDirect,
            Self::CollnetChain => Algorithm::CollnetChain,
            Self::Pat => Algorithm::Pat,
            Self::HalvingDoubling => Algorithm::HalvingDoubling,
            Self::Pairwise => Algorithm::Pairwise,
        })
    }
}

/// The protocol: NCCL's choice, or one forced (`NCCL_PROTO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolChoice {
    /// As NCCL's cost model says.
    #[default]
    Auto,
    /// LL.
    Ll,
    /// LL128, also where NCCL would not enable it.
    Ll128,
    /// Simple.
    Simple,
}

impl ProtocolChoice {
    /// The forced protocol, if one is.
    pub const fn forced(self) -> Option<Protocol> {
        match self {
            Self::Auto => None,
            Self::Ll => Some(Protocol::Ll),
            Self::Ll128 => Some(Protocol::Ll128),
            Self::Simple => Some(Protocol::Simple),
        }
    }
}

/// NCCL's settings. Defaults are those of NCCL 2.30. A field marked *simulator* acts on how messages run, not on what
/// is planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NcclConfig {
    /// Algorithm. Default: `auto`. Source: `NCCL_ALGO`.
    pub algorithm: AlgorithmChoice,
    /// Protocol. Default: `auto`. Source: `NCCL_PROTO`.
    pub protocol: ProtocolChoice,
    /// Least number of channels (thread blocks); channels are repeated to reach it. Default: 1. Range: 1–64. Source:
    /// `NCCL_MIN_NCHANNELS`, `NCCL_MIN_CTAS`.
    pub min_channels: u32,
    /// Greatest number of channels. Default: 64. Range: 1–64. Source: `NCCL_MAX_NCHANNELS`, `NCCL_MAX_CTAS`.
    pub max_channels: u32,
    /// Whether a ring may leave a node by another NIC than it enters by: 0 no, 1 yes, 2 only in pairs of channels that
    /// keep to rails, where that gives bandwidth. Default: 2. Range: 0–2. Source: `NCCL_CROSS_NIC`.
    pub cross_nic: u32,
    /// Bytes of a connection's buffer with Simple; an eighth of it is a step. Default: 4194304. Range: 65536–1073741824.
    /// Source: `NCCL_BUFFSIZE`.
    pub buffer_bytes: u64,
    /// Bytes of a chunk of AllToAll and SendRecv over the network. Default: 131072. Source: `NCCL_P2P_NET_CHUNKSIZE`.
    pub p2p_net_chunk_bytes: u64,
    /// *simulator*: queue pairs of a connection. Default: 1. Range: 1–16. Source: `NCCL_IB_QPS_PER_CONNECTION`.
    pub qps_per_connection: u32,
    /// *simulator*: whether each message is split over all queue pairs; else messages alternate between them.
    /// Default: false. Source: `NCCL_IB_SPLIT_DATA_ON_QPS`.
    pub split_data_on_qps: bool,
    /// Whether GPUs send by NICs near other GPUs, over NVLink and those GPUs' host threads (PXN). Default: true. Source:
    /// `NCCL_PXN_DISABLE`, `NCCL_P2P_PXN_LEVEL`.
    pub pxn: bool,
    /// Whether NICs read and write GPU memory where the node can. Without, there is no PXN, and (*simulator*) data is
    /// staged in host memory. Default: true. Source: `NCCL_NET_GDR_LEVEL`.
    pub gdr: bool,
    /// Whether NVLS and NVLSTree may be used. Default: true. Source: `NCCL_NVLS_ENABLE`.
    pub nvls: bool,
    /// Whether the network reduces (SHARP): CollNet, and NVLS over several nodes. Default: false. Source:
    /// `NCCL_COLLNET_ENABLE`.
    pub collnet: bool,
    /// *simulator*: whether data above the threshold is followed by a write of its own for the notification. Default:
    /// true on InfiniBand, else false. Source: `NCCL_IB_ADAPTIVE_ROUTING`.
    pub adaptive_routing: Option<bool>,
    /// *simulator*: bytes above which `adaptive_routing` acts. Default: 8192. Source: `NCCL_IB_AR_THRESHOLD`.
    pub adaptive_routing_threshold: u64,
    /// Operations joined in one launch (ncclGroupStart); multiplies the latency of rings in the model. Default: 1.
    /// Range: 1–4096.
    pub aggregated_operations: u32,
    /// Microseconds that the model counts for posting a message. Default: 1 on Intel and Arm, 2 on AMD. Range: 0–1000.
    /// Source: `NCCL_NET_OVERHEAD` (there in nanoseconds).
    pub net_overhead_us: Option<f64>,
}

impl NcclConfig {
    /// What is out of range, if anything.
    pub fn validate(&self) -> Result<(), PlanError> {
        let numbers = [
            ("min_channels", u64::from(self.min_channels), 1..=64, "1–64"),
            ("max_channels", u64::from(self.max_channels), 1..=64, "1–64"),
            ("cross_nic", u64::from(self.cross_nic), 0..=2, "0–2"),
            ("buffer_bytes", self.buffer_bytes, 65536..=1 << 30, "65536–1073741824"),
            ("p2p_net_chunk_bytes", self.p2p_net_chunk_bytes, 4096..=1 << 30, "4096–1073741824"),
            ("qps_per_connection", u64::from(self.qps_per_connection), 1..=128, "1–128"),
            ("aggregated_operations", u64::from(self.aggregated_operations), 1..=4096, "1–4096"),
        ];
        for (field, value, allowed, range) in numbers {
            if !allowed.contains(&value) {
                return Err(PlanError::Setting { field, value: value.to_string(), range });
            }
        }
        match self.net_overhead_us {
            Some(us) if !(0.0..=1000.0).contains(&us) => {
                Err(PlanError::Setting { field: "net_overhead_us", value: us.to_string(), range: "0–1000" })
            }
            _ => Ok(()),
        }
    }
}

impl Default for NcclConfig {
    fn default() -> Self {
        Self {
            algorithm: AlgorithmChoice::Auto,
            protocol: ProtocolChoice::Auto,
            min_channels: 1,
            max_channels: 64,
            cross_nic: 2,
            buffer_bytes: 4 << 20,
            p2p_net_chunk_bytes: 128 << 10,
            qps_per_connection: 1,
            split_data_on_qps: false,
            pxn: true,
            gdr: true,
            nvls: true,
            collnet: false,
            adaptive_routing: None,
            adaptive_routing_threshold: 8192,
            aggregated_operations: 1,
            net_overhead_us: None,
        }
    }
}
