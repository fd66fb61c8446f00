//! The channels of a plan: which part of the data each moves, in which chunks.

use crate::plan::ChannelPlan;
use crate::schedule::{Algorithm, Channel, Layout, Operation, Protocol};

use super::channels::{self, Call};
use super::chunks::{self, ChunkRule};
use super::communicator::Communicator;
use super::shapes::shape;
use super::tuning;

/// A call: what is computed, how, and over how many bytes.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub operation: Operation,
    pub algorithm: Algorithm,
    pub protocol: Protocol,
    /// Size as nccl-tests counts it, in whole blocks.
    pub bytes: u64,
}

/// The channels of a call.
pub(super) fn channels(of: &Communicator, work: Work) -> Vec<ChannelPlan> {
    match work.algorithm {
        Algorithm::Pairwise => sends(of, work),
        _ => collective(of, work),
    }
}

/// How blocks lie, and how many a loop has.
fn layout(of: &Communicator, work: Work) -> (Layout, u32) {
    let n = of.ranks();
    match (work.operation, work.algorithm) {
        (Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll, _) => (Layout::PerRank, n),
        (Operation::AllReduce, Algorithm::Ring) => (Layout::Contiguous, n),
        // The largest power of two of the ranks halves; the others join one of them.
        (Operation::AllReduce, Algorithm::HalvingDoubling) => (Layout::Contiguous, 1 << n.ilog2()),
        (Operation::AllReduce, Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::CollnetDirect) => {
            (Layout::Contiguous, of.heads(work.algorithm))
        }
        _ => (Layout::Contiguous, 1),
    }
}

fn collective(of: &Communicator, work: Work) -> Vec<ChannelPlan> {
    let Work { operation, algorithm, protocol, bytes } = work;
    let n = of.ranks();
    let ring = &of.graphs.ring;
    let used = channels::used(
        of.counts,
        Call {
            algorithm,
            protocol,
            bytes,
            ranks: n,
            nodes: of.nodes,
            heads: of.heads(algorithm),
            slow_ring: f64::from(ring.count()) * ring.bw_intra <= 12.0,
        },
    );
    let (layout, blocks) = layout(of, work);
    let data = if layout == Layout::PerRank { bytes / u64::from(n) } else { bytes };
    let even = matches!(algorithm, Algorithm::CollnetDirect | Algorithm::CollnetChain)
        || algorithm == Algorithm::Nvls && of.nodes > 1;
    let parts =
        if even { chunks::even_parts(data, used) } else { chunks::parts(operation, protocol, n, data, used) };
    let rule = ChunkRule {
        algorithm,
        protocol,
        operation,
        nodes: of.nodes,
        per_node: of.per_node,
        heads: of.heads(algorithm),
        buffer_bytes: of.config.buffer_bytes,
        generation: of.node.generation,
        nic_bandwidth: of.node.nic_bandwidth(),
        model_bandwidth: tuning::cost(of, operation, algorithm, protocol).bandwidth,
    };
    let channel = |(index, (offset, bytes)): (usize, (u64, u64))| ChannelPlan {
        part: Channel::new(layout, offset, bytes, blocks, rule.chunk(bytes), 16)
            .sliced(rule.slices(), rule.least_slice()),
        shape: shape(of, algorithm, operation, index as u32),
        slots: rule.slots(),
    };
    parts.into_iter().enumerate().map(channel).collect()
}

/// AllToAll and SendRecv: each message is cut over some channels; all ranks of all channels work at once, as NCCL's
/// eight peers on each of its channels of sends do.
fn sends(of: &Communicator, work: Work) -> Vec<ChannelPlan> {
    let n = u64::from(of.ranks());
    let (layout, blocks) = layout(of, work);
    let message = if layout == Layout::PerRank { work.bytes / n } else { work.bytes };
    let peers = if layout == Layout::PerRank { of.ranks() } else { 2 };
    let spread = of.counts.p2p / peers;
    let mut count = if spread > 1 { 1 << spread.ilog2() } else { 1 };
    count = count.min(of.counts.p2p_each);
    while count < of.counts.p2p_each && message / u64::from(count) > 128 << 10 {
        count *= 2;
    }
    let part = message.div_ceil(u64::from(count)).div_ceil(4096).max(1) * 4096;
    // Messages that share a channel of sends share its 16 buffers.
    let sharing = (u64::from(peers) * u64::from(count)).div_ceil(u64::from(of.counts.p2p)).clamp(1, 8) as u32;
    let chunk = match work.protocol {
        Protocol::Ll | Protocol::Ll128 => chunks::step_bytes(work.protocol, of.config.buffer_bytes),
        Protocol::Simple if of.nodes > 1 => {
            let most = if part < 128 << 10 {
                32 << 10
            } else if part < 1 << 20 {
                64 << 10
            } else {
                u64::MAX
            };
            of.config.p2p_net_chunk_bytes.min(most)
        }
        Protocol::Simple if of.node.nvlink_gbytes_per_s > 0.0 => of.config.buffer_bytes / 8,
        Protocol::Simple => 128 << 10,
    };
    let channel = |index: u64| {
        let offset = index * part;
        let bytes = part.min(message - offset);
        ChannelPlan {
            part: Channel::new(layout, offset, bytes, blocks, chunk, 16),
            shape: shape(of, work.algorithm, work.operation, index as u32),
            slots: (16 / sharing).min(chunks::STEPS),
        }
    };
    (0..message.div_ceil(part).max(1)).map(channel).collect()
}
