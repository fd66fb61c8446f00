//! How a call is cut: over channels, into chunks and slices. Source: NCCL 2.30 `enqueue.cc`, `init.cc`, `device/*.h`.

use crate::node::GpuGeneration;
use crate::schedule::{Algorithm, Operation, Protocol};

/// Least traffic of a channel, in bytes.
const LEAST_TRAFFIC: u64 = 32 << 10;
/// Steps of a connection's buffer.
pub(super) const STEPS: u32 = 8;
/// Least bytes of a slice with Simple in a ring: a 32nd of a slice of 1 MiB.
const LEAST_SLICE_SHARE: u64 = 32;

/// Payload bytes of a step of a connection's buffer.
pub const fn step_bytes(protocol: Protocol, buffer_bytes: u64) -> u64 {
    match protocol {
        Protocol::Ll => 32 << 10,
        Protocol::Ll128 => 576_000,
        Protocol::Simple => buffer_bytes / STEPS as u64,
    }
}

/// Bytes that chunks are multiples of.
pub const fn grain(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Ll => 16,
        Protocol::Ll128 => 1920,
        Protocol::Simple => 512,
    }
}

/// The parts (offset, bytes) of `bytes` (of each rank's block for AllGather and ReduceScatter) on at most `channels`
/// channels: cells of at least 32 KiB traffic, shared out evenly, the remainder last.
pub fn parts(
    operation: Operation,
    protocol: Protocol,
    ranks: u32,
    bytes: u64,
    channels: u32,
) -> Vec<(u64, u64)> {
    let factor = match operation {
        Operation::AllReduce => 2,
        Operation::AllGather | Operation::ReduceScatter => u64::from(ranks),
        Operation::Broadcast | Operation::Reduce | Operation::AllToAll | Operation::SendRecv => 1,
    };
    let factor = if protocol == Protocol::Ll { 4 * factor } else { factor };
    let cell = LEAST_TRAFFIC.div_ceil(factor).div_ceil(16) * 16;
    let cells = bytes.div_ceil(cell).max(1);
    let channels = u64::from(channels.max(1));
    let traffic = (bytes * factor).max(LEAST_TRAFFIC);
    let share = traffic.div_ceil(channels).div_ceil(16).saturating_mul(16).max(LEAST_TRAFFIC);
    let mut each = share.div_ceil(cell * factor).clamp(1, cells);
    if cells.div_ceil(each) > channels {
        each = cells / channels;
    }
    let used = cells.div_ceil(each).min(channels);
    let part = |c: u64| {
        let start = c * each * cell;
        let end = if c + 1 == used { bytes } else { (c + 1) * each * cell };
        (start, end - start)
    };
    (0..used).map(part).collect()
}

/// Even parts (offset, bytes) over `channels`, as CollNet and NVLS with SHARP are cut.
pub fn even_parts(bytes: u64, channels: u32) -> Vec<(u64, u64)> {
    let each = bytes.div_ceil(u64::from(channels.max(1))).div_ceil(16).max(1) * 16;
    let used = bytes.div_ceil(each).max(1);
    (0..used).map(|c| (c * each, each.min(bytes - c * each))).collect()
}

/// What the size of a chunk depends on.
#[derive(Clone, Copy, Debug)]
pub struct ChunkRule {
    /// How.
    pub algorithm: Algorithm,
    /// How messages move.
    pub protocol: Protocol,
    /// What is computed.
    pub operation: Operation,
    /// Nodes.
    pub nodes: u32,
    /// Ranks of a node.
    pub per_node: u32,
    /// Heads of NVLS or CollnetDirect.
    pub heads: u32,
    /// Bytes of a connection's buffer with Simple.
    pub buffer_bytes: u64,
    /// Generation of the GPUs.
    pub generation: GpuGeneration,
    /// GB/s of a NIC.
    pub nic_bandwidth: f64,
    /// GB/s the cost model gives the algorithm.
    pub model_bandwidth: f64,
}

impl ChunkRule {
    /// Bytes of a chunk on a channel with `bytes`.
    pub fn chunk(&self, bytes: u64) -> u64 {
        let step = step_bytes(self.protocol, self.buffer_bytes);
        let chunk = match self.algorithm {
            Algorithm::Ring if self.protocol == Protocol::Simple && self.slices() == 2 => 4 * step,
            Algorithm::Ring => step,
            Algorithm::Tree | Algorithm::DoubleTree if self.protocol == Protocol::Ll128 => {
                self.tree_ll128(step, bytes)
            }
            Algorithm::Tree | Algorithm::DoubleTree => step,
            Algorithm::NvlsTree => {
                let start = step.min(128 << 10).min(self.nvls_tree_most());
                self.shrunk(start, bytes, &[(32, 256 << 10), (16, 128 << 10), (4, 64 << 10), (1, 32 << 10)])
            }
            Algorithm::Nvls => {
                let weak = self.nodes > 1 && self.model_bandwidth < 150.0;
                let start = step.min(if weak { 32 << 10 } else { 128 << 10 });
                self.shrunk(start, bytes, &[(64, 64 << 10), (8, 32 << 10), (2, 16 << 10)])
            }
            Algorithm::CollnetDirect => {
                self.shrunk(step.min(512 << 10), bytes, &[(128, 128 << 10), (16, 64 << 10), (16, 32 << 10)])
            }
            // The depth of a CollNet chain is the node's.
            Algorithm::CollnetChain => {
                let rule = Self { heads: self.per_node, ..*self };
                rule.shrunk(step.min(256 << 10), bytes, &[(64, 128 << 10), (8, 64 << 10), (1, 32 << 10)])
            }
            Algorithm::Pat => self.pat(step, bytes),
            // Not of NCCL: a step, as trees.
            Algorithm::HalvingDoubling => step,
            Algorithm::Pairwise => step,
        };
        (chunk / grain(self.protocol)).max(1) * grain(self.protocol)
    }

    /// Slices of a chunk: 2 for Simple in rings of AllReduce, AllGather and ReduceScatter, else 1.
    pub fn slices(&self) -> u32 {
        let moved =
            matches!(self.operation, Operation::AllReduce | Operation::AllGather | Operation::ReduceScatter);
        if self.algorithm == Algorithm::Ring && self.protocol == Protocol::Simple && moved { 2 } else { 1 }
    }

    /// Least bytes of a slice.
    pub fn least_slice(&self) -> u64 {
        if self.slices() == 2 {
            2 * step_bytes(self.protocol, self.buffer_bytes) / LEAST_SLICE_SHARE
        } else {
            1
        }
    }

    /// Messages that a connection holds: 8 steps, of which a ring's slice with Simple takes two.
    pub fn slots(&self) -> u32 {
        if self.slices() == 2 { STEPS / 2 } else { STEPS }
    }

    fn nvls_tree_most(&self) -> u64 {
        match self.generation {
            GpuGeneration::Blackwell if self.nic_bandwidth < 48.0 => 64 << 10,
            GpuGeneration::Blackwell if self.nic_bandwidth < 96.0 => 128 << 10,
            GpuGeneration::Blackwell => 256 << 10,
            _ if self.nodes >= 4 => 64 << 10,
            _ => 128 << 10,
        }
    }

    /// The chunk lowered to each limit in turn while the channel has fewer than so many rounds of it over all heads.
    fn shrunk(&self, mut chunk: u64, bytes: u64, limits: &[(u64, u64)]) -> u64 {
        for &(rounds, limit) in limits {
            if chunk > limit && bytes < rounds * u64::from(self.heads.max(1)) * chunk {
                chunk = limit;
            }
        }
        chunk
    }

    fn tree_ll128(&self, mut chunk: u64, bytes: u64) -> u64 {
        let per_node = f64::from(self.per_node);
        let depth = 1.0 + f64::from(self.nodes.max(1).ilog2()) + 0.1 * per_node;
        for (rounds, least) in [(64.0, 131_072), (16.0, 32_768)] {
            while ((bytes / chunk) as f64) < depth * rounds / per_node && chunk > least {
                chunk /= 2;
            }
        }
        chunk
    }

    fn pat(&self, mut chunk: u64, bytes: u64) -> u64 {
        let rounds = if self.operation == Operation::AllGather { 32 } else { 16 };
        while rounds * chunk > bytes && chunk > 64 << 10 {
            chunk /= 2;
        }
        chunk
    }
}
