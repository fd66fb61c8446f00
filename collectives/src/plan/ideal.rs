//! Plans for an algorithm by its name, without a choice made by anyone: GPU i of a node uses NIC i, channels start at one
//! GPU after the other, chunks, slices and slots are NCCL's usual ones.

use super::{ChannelPlan, Plan, Ranks, Shape, TreePattern};
use crate::schedule::{Algorithm, Channel, Layout, Operation, Protocol};

/// Parts of channels and chunks are multiples of it.
const GRAIN: u64 = 16;
/// Slice of a direct message over the network (NCCL_P2P_NET_CHUNKSIZE).
const DIRECT_SLICE: u64 = 128 * KIB;
/// Most data that a loop of recursive halving and doubling moves: its longest message is half of it.
const HALVING_LOOP: u64 = 8192 * KIB;
const KIB: u64 = 1024;

/// How a step is cut up.
#[derive(Clone, Copy)]
struct Cut {
    chunk: u64,
    slices: u32,
    min_slice: u64,
    slots: u32,
}

impl Plan {
    /// A plan of any algorithm. `channels` of them, or fewer where there are fewer bytes than 16 a channel.
    pub fn ideal(
        algorithm: Algorithm,
        operation: Operation,
        ranks: Ranks,
        bytes: u64,
        channels: u32,
        protocol: Protocol,
    ) -> Self {
        let empty = Self { operation, algorithm, protocol, ranks, bytes, root: 0, channels: vec![] };
        match algorithm {
            Algorithm::Ring => empty.with_rings(channels),
            Algorithm::Tree | Algorithm::DoubleTree => empty.with_trees(channels),
            Algorithm::Nvls | Algorithm::NvlsTree => empty.with_heads(channels),
            Algorithm::CollnetDirect | Algorithm::CollnetChain => empty.with_collnet(channels),
            Algorithm::Pat | Algorithm::HalvingDoubling | Algorithm::Pairwise => {
                empty.with_exchange(channels)
            }
        }
    }

    /// Rings. Channel c enters even nodes at GPU c, goes up through the node and leaves it at GPU c − 1; through odd nodes
    /// it goes the other way. So nodes are joined on one rail, but for the last and the first of an odd number.
    pub fn ring(operation: Operation, ranks: Ranks, bytes: u64, channels: u32, protocol: Protocol) -> Self {
        Self::ideal(Algorithm::Ring, operation, ranks, bytes, channels, protocol)
    }

    /// Trees: the first half of the channels on one tree over nodes, the second half on its complement; a single tree for
    /// one channel. Channel c's chains start at GPU c, which talks to the other nodes.
    pub fn tree(operation: Operation, ranks: Ranks, bytes: u64, channels: u32, protocol: Protocol) -> Self {
        let algorithm = if channels < 2 { Algorithm::Tree } else { Algorithm::DoubleTree };
        Self::ideal(algorithm, operation, ranks, bytes, channels, protocol)
    }

    /// Direct exchange, without PXN: pairwise for AllToAll and SendRecv, recursive halving and doubling for the others.
    pub fn direct(operation: Operation, ranks: Ranks, bytes: u64, channels: u32, protocol: Protocol) -> Self {
        let algorithm = match operation {
            Operation::AllToAll | Operation::SendRecv => Algorithm::Pairwise,
            _ => Algorithm::HalvingDoubling,
        };
        Self::ideal(algorithm, operation, ranks, bytes, channels, protocol)
    }

    /// The same with another root.
    pub fn rooted(self, root: u32) -> Self {
        Self { root, ..self }
    }

    /// The same with PXN in direct exchange: senders use the NIC that the receiver receives by, through the GPU of that
    /// number.
    pub fn with_pxn(mut self) -> Self {
        for channel in &mut self.channels {
            if let Shape::Direct { pxn, .. } = &mut channel.shape {
                *pxn = Some((0..self.ranks.per_node).collect());
            }
        }
        self
    }

    /// Bytes to share out over channels: the data, or a rank's block of it.
    fn extent(&self) -> u64 {
        match self.operation {
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => {
                self.bytes / u64::from(self.ranks.count().max(1))
            }
            Operation::AllReduce | Operation::Broadcast | Operation::Reduce | Operation::SendRecv => {
                self.bytes
            }
        }
    }

    /// NCCL's step with the protocol: chunk and slice of everything but rings and NVLS, eight slots.
    fn step(&self) -> Cut {
        let chunk = match self.protocol {
            Protocol::Ll => 32 * KIB,
            Protocol::Ll128 => 576_000,
            Protocol::Simple => 512 * KIB,
        };
        Cut { chunk, slices: 1, min_slice: 1, slots: 8 }
    }

    /// Parts of the data: offset and bytes of each channel.
    fn parts(&self, channels: u32) -> Vec<(u64, u64)> {
        let extent = self.extent();
        let each = extent.div_ceil(u64::from(channels.max(1))).div_ceil(GRAIN).max(1) * GRAIN;
        let count = extent.div_ceil(each).max(1);
        (0..count).map(|i| (i * each, each.min(extent - i * each))).collect()
    }

    /// Adds a channel for each part.
    fn add(mut self, parts: &[(u64, u64)], blocks: u32, cut: Cut, shape: impl Fn(u32) -> Shape) -> Self {
        let layout = match self.operation {
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => Layout::PerRank,
            Operation::AllReduce | Operation::Broadcast | Operation::Reduce | Operation::SendRecv => {
                Layout::Contiguous
            }
        };
        for (c, &(offset, bytes)) in parts.iter().enumerate() {
            let part = Channel::new(layout, offset, bytes, blocks, cut.chunk, GRAIN);
            let part = part.sliced(cut.slices, cut.min_slice);
            self.channels.push(ChannelPlan { part, shape: shape(c as u32), slots: cut.slots });
        }
        self
    }

    fn with_rings(self, channels: u32) -> Self {
        let (ranks, n) = (self.ranks, self.ranks.count());
        let (around, blocks) = match self.operation {
            Operation::Broadcast | Operation::Reduce => (false, 1),
            _ => (true, n),
        };
        let cut = match self.protocol {
            Protocol::Simple if around => Cut { chunk: 2048 * KIB, slices: 2, min_slice: 32 * KIB, slots: 4 },
            _ => self.step(),
        };
        let parts = self.parts(channels);
        self.add(&parts, blocks, cut, |c| {
            let gpus = ranks.per_node;
            let (low, high) = (c % gpus, (c + gpus - 1) % gpus);
            let mut order = vec![];
            for node in 0..ranks.nodes {
                let up = (0..gpus).map(|i| ranks.rank(node, (low + i) % gpus));
                if node % 2 == 0 { order.extend(up) } else { order.extend(up.rev()) }
            }
            let ends = |even, odd| (0..ranks.nodes).map(|k| if k % 2 == 0 { even } else { odd }).collect();
            let relay = vec![None; ranks.nodes as usize];
            Shape::Ring { order, leave: ends(high, low), enter: ends(low, high), relay }
        })
    }

    fn with_trees(self, channels: u32) -> Self {
        let (gpus, double) = (self.ranks.per_node, self.algorithm == Algorithm::DoubleTree);
        let (cut, parts) = (self.step(), self.parts(channels));
        let half = (parts.len() as u32).div_ceil(2);
        self.add(&parts, 1, cut, |c| {
            let tree = u32::from(double && c >= half);
            let first = if tree == 1 { c - half } else { c };
            let chain: Vec<u32> = (0..gpus).map(|i| (first + i) % gpus).collect();
            let nics = [chain[0], chain[1 % chain.len()]];
            Shape::Tree { chain, tree, nics, pattern: TreePattern::Single }
        })
    }

    fn with_heads(self, channels: u32) -> Self {
        let all: Vec<u32> = (0..self.ranks.per_node).collect();
        let blocks = match self.operation {
            Operation::AllGather | Operation::ReduceScatter => self.ranks.count(),
            _ => self.ranks.per_node,
        };
        let cut = Cut { chunk: 128 * KIB, ..self.step() };
        let parts = self.parts(channels);
        self.add(&parts, blocks, cut, |c| Shape::Nvls { heads: all.clone(), nics: all.clone(), tree: c % 2 })
    }

    fn with_collnet(self, channels: u32) -> Self {
        let (gpus, chain) = (self.ranks.per_node, self.algorithm == Algorithm::CollnetChain);
        let cut = Cut { chunk: if chain { 256 } else { 512 } * KIB, ..self.step() };
        let parts = self.parts(channels);
        self.add(&parts, if chain { 1 } else { gpus }, cut, |c| {
            let first = if chain { c } else { 0 };
            let members: Vec<u32> = (0..gpus).map(|i| (first + i) % gpus).collect();
            let nics = if chain { vec![members[0]] } else { members.clone() };
            Shape::Collnet { gpus: members, nics }
        })
    }

    fn with_exchange(self, channels: u32) -> Self {
        let n = self.ranks.count();
        let mut parts = self.parts(channels);
        let mut cut = self.step();
        let mut blocks = n;
        if self.algorithm == Algorithm::Pairwise {
            // Peers are spread over channels; where there are fewer peers than channels, messages are too.
            let each =
                if self.operation == Operation::AllToAll { channels.div_ceil(n).max(1) } else { channels };
            parts = self.parts(each);
            let repeats =
                if self.operation == Operation::AllToAll { channels / parts.len() as u32 } else { 1 };
            parts = parts.repeat(repeats.max(1) as usize);
            if self.operation == Operation::SendRecv {
                blocks = 1;
            }
            // A message to a peer is one step, so that threads are done with one peer before the next.
            let longest = parts[0].1.max(1);
            cut.chunk = longest.div_ceil(GRAIN) * GRAIN;
            cut.slices = longest.div_ceil(DIRECT_SLICE).min(u64::from(u32::MAX)) as u32;
            cut.min_slice = DIRECT_SLICE;
        } else if self.algorithm == Algorithm::HalvingDoubling {
            if self.operation == Operation::AllReduce {
                blocks = 1 << n.max(1).ilog2();
            }
            cut.chunk = (HALVING_LOOP / u64::from(blocks) / GRAIN * GRAIN).max(GRAIN);
            (cut.slices, cut.min_slice) = (8, 32 * KIB);
        }
        let nics: Vec<u32> = (0..self.ranks.per_node).collect();
        self.add(&parts, blocks, cut, |_| Shape::Direct {
            send_nic: nics.clone(),
            receive_nic: nics.clone(),
            pxn: None,
        })
    }
}
