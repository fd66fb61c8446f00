//! What a thread block and the host's threads cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cpu, GpuGeneration};

/// Costs that the simulator needs besides links.
///
/// NCCL's source holds no rate of a thread block as such; these are derived from the limits in its tuning tables, as
/// each field says. They are assumptions, not measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCosts {
    /// Payload GB/s that one thread block moves with Simple.
    /// Basis: NCCL 2.30's limit of a channel of Tree in one node (`perChMaxTreeBws`): 26.5 Volta, 24 Ampere, 38.7
    /// Hopper, 70 Blackwell; assumed to be the thread block's. Lower bound measured on H100: 22.9 (a ring with 16
    /// channels at 366 GB/s bus bandwidth).
    pub copy_simple_gbytes_per_s: f64,
    /// Payload GB/s that one thread block moves with LL128.
    /// Basis: NCCL 2.30's limit of a ring channel (`perChMaxRingLL128Bws`): 20 Volta and Ampere, 36.7 Hopper, 40
    /// Blackwell; assumed to be the thread block's.
    pub copy_ll128_gbytes_per_s: f64,
    /// Payload GB/s that one thread block moves with LL.
    /// Basis: NCCL 2.30's limit of all channels in one node (`llMaxBws`) over their number: 39 / 12 Volta, 87.7 / 24
    /// Ampere, 141 / 24 Hopper, 282 / 32 Blackwell.
    pub copy_ll_gbytes_per_s: f64,
    /// Time in microseconds that a host (proxy) thread takes to post a message: 1 Intel and Arm, 2 AMD.
    /// Basis: NCCL 2.30's `NCCL_NET_OVERHEAD`; assumed there, too.
    pub post_us: f64,
}

impl HostCosts {
    /// The costs of a generation of GPUs under a CPU.
    pub const fn of(generation: GpuGeneration, cpu: Cpu) -> Self {
        let (simple, ll128, ll) = match generation {
            GpuGeneration::Volta => (26.5, 20.0, 39.0 / 12.0),
            GpuGeneration::Ampere => (24.0, 20.0, 87.7 / 24.0),
            GpuGeneration::Hopper => (38.7, 36.7, 141.0 / 24.0),
            GpuGeneration::Blackwell => (70.0, 40.0, 282.0 / 32.0),
        };
        let post_us = match cpu {
            Cpu::Intel | Cpu::Arm => 1.0,
            Cpu::Amd => 2.0,
        };
        Self {
            copy_simple_gbytes_per_s: simple,
            copy_ll128_gbytes_per_s: ll128,
            copy_ll_gbytes_per_s: ll,
            post_us,
        }
    }
}
