//! How many channels (thread blocks) a communicator has and a call uses. Source: NCCL 2.30 `graph/connect.cc`,
//! `graph/paths.cc`, `transport/nvls.cc`, `enqueue.cc`.

use crate::node::{GpuGeneration, NodeSpec};
use crate::schedule::{Algorithm, Protocol};

use super::environment::NcclConfig;
use super::graphs::Graphs;

/// Channels that NCCL has at most.
pub const MOST_CHANNELS: u32 = 64;

/// Channels of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Of rings, trees and CollNet.
    pub collective: u32,
    /// Of NVLS and NVLSTree.
    pub nvls: u32,
    /// Of sends and receives: a power of two.
    pub p2p: u32,
    /// Of one message between two ranks at most: a power of two.
    pub p2p_each: u32,
}

impl ChannelCounts {
    /// The channels of a communicator of `nodes` nodes with `per_node` ranks each.
    pub(super) fn new(
        spec: &NodeSpec,
        config: &NcclConfig,
        graphs: &Graphs,
        nodes: u32,
        per_node: u32,
    ) -> Self {
        let clamp = |channels: u32| {
            channels.min(config.max_channels).max(config.min_channels).clamp(1, MOST_CHANNELS)
        };
        let mut collective = (2 * graphs.ring.count()).min(MOST_CHANNELS);
        // CollNet's chain is a tree; half as many more where its node is faster than the network.
        if config.collnet && nodes > 1 && graphs.tree.bw_intra > graphs.tree.bw_inter {
            collective = (collective + collective / 2).min(MOST_CHANNELS);
        }
        let hopper = spec.generation >= GpuGeneration::Hopper;
        if hopper && nodes > 1 && graphs.ring.bw_intra > 45.0 && collective < 16 {
            collective *= 2;
        }
        let collective = clamp(collective);
        let nvls = clamp(nvls_channels(spec, nodes, per_node));
        let p2p = collective.next_power_of_two().min(MOST_CHANNELS);
        let p2p_each = p2p_each(spec, nodes, nodes * per_node, p2p);
        Self { collective, nvls, p2p, p2p_each }
    }
}

fn nvls_channels(spec: &NodeSpec, nodes: u32, per_node: u32) -> u32 {
    if spec.generation < GpuGeneration::Blackwell {
        return 16;
    }
    let nic = spec.nic_bandwidth();
    match nodes {
        1 => 24,
        2 => 32,
        _ if nic < 48.0 => 32,
        _ if nic <= 96.0 || per_node <= 8 => 24,
        _ => 32,
    }
}

/// Channels of a message at most: enough for its slowest kind of peer, halved while a node's eight peers times it
/// exceed the channels.
fn p2p_each(spec: &NodeSpec, nodes: u32, ranks: u32, p2p: u32) -> u32 {
    let links = (spec.nvlink_gbytes_per_s / spec.generation.nvlink_link() + 0.5) as u32;
    let local = if links > 0 { 2 * links } else { 2 };
    let per_gpu = spec.nics.div_ceil(spec.gpus);
    let network = per_gpu.max((spec.nic_bandwidth() / 14.0).ceil() as u32);
    let least = if nodes > 1 { local.min(network) } else { local };
    let mut each = least.next_power_of_two().min(p2p);
    while nodes > 1 && each > 1 && each * ranks.div_ceil(8) > p2p {
        each /= 2;
    }
    each
}

/// What decides the channels of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub algorithm: Algorithm,
    pub protocol: Protocol,
    /// Size as the model counts it.
    pub bytes: u64,
    pub ranks: u32,
    pub nodes: u32,
    /// Heads of CollnetDirect.
    pub heads: u32,
    /// Whether a ring's channels have 12 GB/s or less together.
    pub slow_ring: bool,
}

/// The channels that a call uses: all of them, fewer where a thread would have too few bytes.
pub(super) fn used(counts: ChannelCounts, call: Call) -> u32 {
    let Call { algorithm, protocol, bytes, ranks, nodes, heads, slow_ring } = call;
    let all = match algorithm {
        Algorithm::Nvls if nodes > 1 => return counts.nvls.min(counts.collective),
        Algorithm::Nvls | Algorithm::NvlsTree => return counts.nvls,
        Algorithm::CollnetDirect => return collnet_direct(counts.collective, bytes, heads),
        _ => counts.collective,
    };
    let threads: u64 = match protocol {
        Protocol::Ll => 512,
        Protocol::Ll128 => 640,
        Protocol::Simple if algorithm == Algorithm::Ring && slow_ring => 256,
        Protocol::Simple => 512,
    };
    let each: u64 = match (protocol, algorithm) {
        (Protocol::Ll, Algorithm::Ring) => 8 * u64::from(ranks),
        (Protocol::Ll | Protocol::Ll128, _) => 8,
        (Protocol::Simple, Algorithm::CollnetChain) => 512,
        (Protocol::Simple, _) => 64,
    };
    let enough = (bytes / (threads * each)).clamp(1, u64::from(all));
    enough as u32
}

/// CollnetDirect's own rule: the bytes a channel must have halve at 16, 8, 4 … channels.
fn collnet_direct(all: u32, bytes: u64, heads: u32) -> u32 {
    const THREADS: u64 = 640;
    let (mut channels, mut threshold, mut floor) = (all, 512_u64, 16_u32);
    loop {
        let short = |channels: u32, threshold: u64| {
            bytes < u64::from(channels) * THREADS * u64::from(heads) * threshold
        };
        while short(channels, threshold) && channels > floor {
            if channels == floor + floor / 2 {
                threshold /= 2;
            }
            channels -= 1;
        }
        floor /= 2;
        if floor == 0 || !short(channels, threshold) {
            return channels.max(1);
        }
    }
}
