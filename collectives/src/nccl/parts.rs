//! The channels of a plan: which part of the data each moves, in which chunks.

use crate::plan::ChannelPlan;
use crate::schedule::{Algorithm, Channel, Layout, Operation, Protocol};

use super::channels::{self, Call};
use super::chunks::{self, ChunkRule};
use super::communicator::Communicator;
use super::shapes::shape;
use super::tuning;

/// Bytes of a loop of recursive halving and doubling at most.
const HALVING_LOOP: u64 = 8 << 20;

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
    let chunk = |bytes: u64| match algorithm {
        // Not of NCCL: what is exchanged first is half of a loop, in eight messages.
        Algorithm::HalvingDoubling => (HALVING_LOOP / u64::from(blocks) / 16).max(1) * 16,
        _ => rule.chunk(bytes),
    };
    let (slices, least) = match algorithm {
        Algorithm::HalvingDoubling => (8, 32 << 10),
        _ => (rule.slices(), rule.least_slice()),
    };
    let channel = |(index, (offset, bytes)): (usize, (u64, u64))| ChannelPlan {
        part: Channel::new(layout, offset, bytes, blocks, chunk(bytes), 16).sliced(slices, least),
        shape: shape(of, algorithm, operation, index as u32),
        slots: rule.slots(),
    };
    parts.into_iter().enumerate().map(channel).collect()
}

/// AllToAll and SendRecv. A message is cut over some channels. AllToAll uses all channels of sends: those of the same part
/// share out the peers. A part is one step, in messages of NCCL's chunk of sends, so that a peer is done before the next.
fn sends(of: &Communicator, work: Work) -> Vec<ChannelPlan> {
    let n = u64::from(of.ranks());
    let (layout, blocks) = layout(of, work);
    let (message, peers) = match layout {
        Layout::PerRank => (work.bytes / n, of.ranks()),
        Layout::Contiguous => (work.bytes, 2),
    };
    let spread = (of.counts.p2p / peers).max(1);
    let mut count = (1 << spread.ilog2()).min(of.counts.p2p_each);
    while count < of.counts.p2p_each && message / u64::from(count) > 128 << 10 {
        count *= 2;
    }
    let part = message.div_ceil(u64::from(count)).div_ceil(4096).max(1) * 4096;
    let parts = message.div_ceil(part);
    let repeats = if layout == Layout::PerRank { (u64::from(of.counts.p2p) / parts).max(1) } else { 1 };
    // Peers of a channel share its 16 buffers.
    let sharing = (u64::from(peers) * parts).div_ceil(u64::from(of.counts.p2p)).clamp(1, 8) as u32;
    let slice = send_slice(of, work.protocol, part);
    let channel = |index: u64| {
        let offset = index % parts * part;
        let bytes = part.min(message - offset);
        let chunk = bytes.div_ceil(16) * 16;
        ChannelPlan {
            part: Channel::new(layout, offset, bytes, blocks, chunk, 16)
                .sliced(bytes.div_ceil(slice) as u32, slice),
            shape: shape(of, work.algorithm, work.operation, index as u32),
            slots: (16 / sharing).min(chunks::STEPS),
        }
    };
    (0..parts * repeats).map(channel).collect()
}

/// Bytes of a message of a send of `part` bytes.
fn send_slice(of: &Communicator, protocol: Protocol, part: u64) -> u64 {
    match protocol {
        Protocol::Ll | Protocol::Ll128 => chunks::step_bytes(protocol, of.config.buffer_bytes),
        Protocol::Simple if of.nodes > 1 => {
            let most = match part {
                0..0x2_0000 => 32 << 10,
                0x2_0000..0x10_0000 => 64 << 10,
                _ => u64::MAX,
            };
            of.config.p2p_net_chunk_bytes.min(most)
        }
        Protocol::Simple if of.node.nvlink_gbytes_per_s > 0.0 => of.config.buffer_bytes / 8,
        Protocol::Simple => 128 << 10,
    }
}
