//! GPU nodes: what a machine (or an NVLink domain of machines) is made of, as far as collectives see it.
//!
//! Bandwidths are those that NCCL 2.30 gives its topology search (`graph/topo.cc`): they are what a link yields, not
//! what it signals.

mod config;
mod host;
mod nearest;
mod presets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use config::{NodeConfig, NodeError, NodeOverrides, UnknownPreset};
pub use host::HostCosts;
pub use presets::PRESETS;

/// Generation of a node's GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GpuGeneration {
    /// V100, compute capability 7.0.
    Volta,
    /// A100, compute capability 8.0.
    Ampere,
    /// H100 and H200, compute capability 9.0.
    Hopper,
    /// B200, GB200, compute capability 10.0.
    Blackwell,
}

impl GpuGeneration {
    /// Compute capability times ten, as NCCL writes it (80 for 8.0).
    pub const fn compute_capability(self) -> u32 {
        match self {
            Self::Volta => 70,
            Self::Ampere => 80,
            Self::Hopper => 90,
            Self::Blackwell => 100,
        }
    }

    /// Usable GB/s of one NVLink link in one direction. Source: NCCL 2.30 `graph/topo.h`.
    pub const fn nvlink_link(self) -> f64 {
        match self {
            Self::Volta | Self::Ampere => 20.0,
            Self::Hopper => 20.6,
            Self::Blackwell => 40.1,
        }
    }
}

/// Maker of a node's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cpu {
    /// Intel Xeon.
    Intel,
    /// AMD EPYC.
    Amd,
    /// Arm (Grace).
    Arm,
}

/// How near a GPU and a NIC are: what their traffic crosses, best first (NCCL's path classes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathClass {
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches.
    Pxb,
    /// The chip-to-chip link to the CPU and its PCIe (Grace).
    P2c,
    /// NVLink to a GPU near the NIC, then PCIe.
    Pxn,
    /// The host bridge of the CPU.
    Phb,
    /// The interconnect between CPUs.
    Sys,
}

/// The network that a node's NICs speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// InfiniBand: adaptive routing is assumed by NCCL.
    Infiniband,
    /// RoCE version 2.
    Roce,
    /// AWS Elastic Fabric Adapter.
    Efa,
    /// A transport of a NIC or host that resembles TCP (GPUDirect-TCPXO).
    TcpLike,
}

/// A node: one machine, or an NVLink domain of several. Every node of a run is alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Name of the preset it comes from; for reports.
    pub name: String,
    /// GPUs. Range: 1–1024.
    pub gpus: u32,
    /// Generation of the GPUs: sets compute capability, NCCL's tables and speed lists.
    pub generation: GpuGeneration,
    /// Usable NVLink GB/s (1e9 B/s) of a GPU in each direction; 0: no NVLink, GPUs talk over PCIe.
    /// Source: links × GB/s a link in NCCL 2.30 (V100 6 × 20, A100 12 × 20, H100 18 × 20.6, B200 18 × 40.1 rounded
    /// down to 721.8).
    pub nvlink_gbytes_per_s: f64,
    /// Whether NVSwitches join the GPUs (any pair at full rate). Without: a cube mesh, one or two links a pair.
    pub nvswitch: bool,
    /// PCIe generation of GPUs, NICs and their switches, all with 16 lanes: 12, 24, 48, 96 GB/s usable for 3, 4, 5, 6.
    /// Range: 3–6.
    pub pcie_generation: u32,
    /// NICs as NCCL sees them: the ports of a NIC count as one where NCCL merges them. Range: 1–1024.
    pub nics: u32,
    /// Rate of a NIC in Gb/s, of all its ports together.
    pub nic_rate_gbps: u32,
    /// For each NIC, the GPUs nearest to it.
    pub affinity: Vec<Vec<u32>>,
    /// Path between a NIC and the GPUs nearest to it.
    pub nic_path: PathClass,
    /// Maker of the CPU: sets NCCL's LL limit over the network and the cost of posting.
    pub cpu: Cpu,
    /// Whether NICs read and write GPU memory (GPUDirect RDMA). Without, data is staged in host memory, and there is
    /// no PXN.
    pub gpudirect: bool,
    /// Kind of the network.
    pub network: NetworkKind,
    /// Costs of thread blocks and host threads.
    pub host: HostCosts,
}

impl NodeSpec {
    /// The preset of that name ([`PRESETS`]).
    pub fn preset(name: &str) -> Result<Self, UnknownPreset> {
        presets::preset(name).ok_or_else(|| UnknownPreset::new(name))
    }

    /// Usable GB/s of 16 lanes of PCIe in one direction. Source: NCCL 2.30 `graph/topo.cc` (lanes × code / 80).
    pub fn pcie_bandwidth(&self) -> f64 {
        match self.pcie_generation {
            ..=3 => 12.0,
            4 => 24.0,
            5 => 48.0,
            _ => 96.0,
        }
    }

    /// Usable GB/s between a NIC and the GPUs near it: 16 lanes of PCIe, five sixths of that through an Intel host
    /// bridge. Source: NCCL 2.30 `graph/topo.cc`.
    pub fn nic_path_bandwidth(&self, path: PathClass) -> f64 {
        let host = matches!(path, PathClass::Phb | PathClass::Sys);
        self.pcie_bandwidth() / if host && self.cpu == Cpu::Intel { 1.2 } else { 1.0 }
    }

    /// GB/s of a NIC.
    pub fn nic_bandwidth(&self) -> f64 {
        f64::from(self.nic_rate_gbps) / 8.0
    }

    /// The NIC that a local GPU uses for itself on a channel: of those nearest to it, as NCCL 2.30 spreads the GPUs that
    /// share them (`ncclTopoGetLocalNet`, `NCCL_NETDEVS_POLICY=AUTO`).
    pub fn nic_of(&self, gpu: u32, channel: u32) -> u32 {
        let near = |nic: &u32| self.affinity[*nic as usize].contains(&gpu);
        let mut nics: Vec<u32> = (0..self.nics).filter(near).collect();
        if nics.is_empty() {
            nics = (0..self.nics).collect();
        }
        let sharing: Vec<u32> =
            (0..self.gpus).filter(|g| nics.iter().any(|&n| self.affinity[n as usize].contains(g))).collect();
        let count = nics.len() as u32;
        let sharers = (sharing.len() as u32).max(1);
        let position = sharing.iter().position(|&g| g == gpu).map_or(gpu % sharers, |p| p as u32);
        let start = if count.is_power_of_two() && count > 1 {
            position.reverse_bits() >> (32 - count.trailing_zeros())
        } else {
            position
        };
        nics[((start + channel % count.div_ceil(sharers)) % count) as usize]
    }

    /// What is wrong with it, if anything.
    pub fn validate(&self) -> Result<(), NodeError> {
        config::validate(self)
    }
}

#[cfg(test)]
mod tests;
