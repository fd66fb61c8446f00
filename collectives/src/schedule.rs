//! The one type of a collective: ranks, channels, connections and what each thread does, step by step.
//!
//! # Data
//! Each rank has an input and an output buffer. A [`Channel`] carries a part of the data, in loops: each loop moves
//! [`Channel::blocks`] blocks of at most [`Channel::chunk`] bytes. What a block stands for is the operation's affair:
//!
//! | operation | input blocks of a rank | output blocks of a rank |
//! |---|---|---|
//! | AllReduce | all `blocks` | all `blocks`, each the sum over ranks |
//! | ReduceScatter | `ranks` blocks | block r at rank r, the sum over ranks |
//! | AllGather | block r at rank r | `ranks` blocks, block r from rank r |
//! | Broadcast | all `blocks` at the root | all `blocks` of the root |
//! | Reduce | all `blocks` | all `blocks` at the root, each the sum over ranks |
//! | AllToAll | block d: for rank d | block s: from rank s |
//! | SendRecv | block 0: for the next rank | block 0: from the previous rank |
//!
//! # Execution
//! A [`Thread`] runs its steps in order, all of them once a loop. A step waits for a message on each connection it
//! receives from, adds its own block where it has a `source`, keeps the result where it says `store`, and sends the
//! result on each connection it sends on. The k-th message sent on a connection is the k-th received on it; a sender
//! waits while [`Connection::slots`] messages of it are not yet consumed. Threads have no other dependencies.
//! A step's bytes are cut into slices ([`Channel::slice_bytes`]); each slice is a message, and slice s of a step needs
//! slice s of what it receives only. A slice starts when all its messages are there and all its sends have a free slot;
//! its messages are consumed when it is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the schedule's format that this build reads and writes.
pub const SCHEDULE_VERSION: u32 = 1;

/// What a collective computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Every rank ends with the sum over all ranks.
    AllReduce,
    /// Every rank ends with the blocks of all ranks.
    AllGather,
    /// Rank r ends with the sum over all ranks of block r.
    ReduceScatter,
    /// Every rank ends with the root's data.
    Broadcast,
    /// The root ends with the sum over all ranks.
    Reduce,
    /// Rank d ends with block d of every rank.
    AllToAll,
    /// Every rank sends to the next rank and receives from the previous (nccl-tests' sendrecv).
    SendRecv,
}

impl Operation {
    /// Its name as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::SendRecv => "send-recv",
        }
    }
}

/// How it is computed, by NCCL's names where NCCL has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// A ring through all ranks.
    Ring,
    /// A chain in each node, one binary tree over nodes.
    Tree,
    /// A chain in each node, two complementary binary trees over nodes, each with half of the channels (NCCL's Tree).
    DoubleTree,
    /// Reduction and multicast in the NVSwitch; over several nodes with in-network reduction (SHARP) between heads.
    Nvls,
    /// NVLS in the node, a double binary tree between the heads of the nodes.
    NvlsTree,
    /// In-network reduction (SHARP): every GPU scatters to the heads of its node, heads reduce in the network.
    CollnetDirect,
    /// In-network reduction (SHARP) with a chain in each node.
    CollnetChain,
    /// Parallel aggregated trees (binomial), one rank a node.
    Pat,
    /// Recursive halving, then doubling.
    HalvingDoubling,
    /// Each rank exchanges with each other directly.
    Pairwise,
}

impl Algorithm {
    /// Its name as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::DoubleTree => "double-tree",
            Self::Nvls => "nvls",
            Self::NvlsTree => "nvls-tree",
            Self::CollnetDirect => "collnet-direct",
            Self::CollnetChain => "collnet-chain",
            Self::Pat => "pat",
            Self::HalvingDoubling => "halving-doubling",
            Self::Pairwise => "pairwise",
        }
    }
}

/// How NCCL moves a message: what it costs on the wire and in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// 8 B of flags with each 8 B of data: lowest latency, half of the bandwidth.
    Ll,
    /// 8 B of flags with each 120 B of data.
    Ll128,
    /// Whole slices, then a flag behind a fence: full bandwidth, highest latency.
    Simple,
}

impl Protocol {
    /// Its name as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ll => "ll",
            Self::Ll128 => "ll128",
            Self::Simple => "simple",
        }
    }

    /// Bytes on the wire for `payload` bytes of data.
    pub const fn wire_bytes(self, payload: u64) -> u64 {
        match self {
            Self::Ll => payload.div_ceil(8) * 16,
            Self::Ll128 => payload.div_ceil(1920) * 2048,
            Self::Simple => payload,
        }
    }
}

/// How the blocks of a loop lie in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Blocks follow each other; a loop advances by all of them. `bytes` of the channel are cut up.
    Contiguous,
    /// Each block is a piece of a buffer of its own (one a rank), each with `bytes` for this channel; a loop advances
    /// by one chunk in each.
    PerRank,
}

/// A part of the data, moved by its own threads over its own connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// First byte of its part (of each rank's block with [`Layout::PerRank`]).
    pub offset: u64,
    /// Bytes of its part (of each rank's block with [`Layout::PerRank`]).
    pub bytes: u64,
    /// How blocks lie in the part.
    pub layout: Layout,
    /// Blocks of a loop.
    pub blocks: u32,
    /// Bytes of a block in all loops but the last.
    pub chunk: u64,
    /// Bytes of a block in the last loop; the last blocks may be shorter or empty.
    pub last_chunk: u64,
    /// Loops.
    pub loops: u32,
    /// Slices a step is cut into.
    pub slices: u32,
    /// Least bytes of a slice.
    pub min_slice: u64,
    /// With [`Layout::PerRank`], which block of the data a step's block number p stands for: `order[p]`; p where empty.
    /// So a ring through the ranks in any order counts its blocks along the ring.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
}

impl Channel {
    /// A channel for `bytes` at `offset`, in chunks of at most `chunk`. The last loop is shared out evenly, in multiples
    /// of `grain` bytes.
    pub fn new(layout: Layout, offset: u64, bytes: u64, blocks: u32, chunk: u64, grain: u64) -> Self {
        let each = match layout {
            Layout::Contiguous => u64::from(blocks) * chunk,
            Layout::PerRank => chunk,
        };
        let loops = bytes.div_ceil(each.max(1)).max(1);
        let rest = bytes - (loops - 1) * each;
        let last = match layout {
            Layout::Contiguous => rest.div_ceil(u64::from(blocks)),
            Layout::PerRank => rest,
        };
        let last_chunk = last.div_ceil(grain.max(1)).max(1) * grain.max(1);
        let (loops, slices, min_slice) = (loops as u32, 1, 1);
        Self {
            offset,
            bytes,
            layout,
            blocks,
            chunk,
            last_chunk: last_chunk.min(chunk),
            loops,
            slices,
            min_slice,
            order: vec![],
        }
    }

    /// The same channel with each step cut into `slices` of at least `min_slice` bytes.
    pub fn sliced(self, slices: u32, min_slice: u64) -> Self {
        Self { slices, min_slice, ..self }
    }

    /// First byte, in the channel's part, of `block` in loop `index`, and its bytes.
    pub fn block(&self, index: u32, block: u32) -> (u64, u64) {
        let chunk = if index + 1 == self.loops { self.last_chunk } else { self.chunk };
        let (index, block, blocks) = (u64::from(index), u64::from(block), u64::from(self.blocks));
        let start = match self.layout {
            Layout::Contiguous => index * blocks * self.chunk + block * chunk,
            Layout::PerRank => index * self.chunk,
        };
        (start, chunk.min(self.bytes.saturating_sub(start)))
    }

    /// The block of the data that a step's `block` stands for.
    pub fn data_block(&self, block: u32) -> u32 {
        self.order.get(block as usize).copied().unwrap_or(block)
    }

    /// Bytes of repetition `k` of a step in loop `index`.
    pub fn step_bytes(&self, index: u32, step: &Step, k: u32) -> u64 {
        step.blocks_at(k, self.blocks)
            .fold(0, |sum: u64, block| sum.saturating_add(self.block(index, block).1))
    }

    /// Slices (messages) of a step of `bytes`: at least one.
    pub fn slice_count(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.slice_bytes(bytes)).max(1)
    }

    /// Bytes of `span` blocks from `first` (modulo the blocks) in loop `index`.
    pub fn span_bytes(&self, index: u32, first: u32, span: u32) -> u64 {
        (0..span).map(|i| self.block(index, (first + i) % self.blocks).1).sum()
    }

    /// Bytes of slices of a step of `bytes`: all but the last. A step of 0 bytes has one slice of 0 bytes.
    pub fn slice_bytes(&self, bytes: u64) -> u64 {
        bytes
            .div_ceil(u64::from(self.slices.max(1)))
            .div_ceil(16)
            .saturating_mul(16)
            .max(self.min_slice)
            .max(1)
    }
}

/// Where a connection runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Between GPUs of a node: NVLink, or PCIe where the node has no NVLink.
    Local,
    /// From NIC to NIC, numbered within their nodes.
    Network {
        /// NIC of the sending node.
        from_nic: u32,
        /// NIC of the receiving node.
        to_nic: u32,
        /// PXN: the rank of the sending node that owns `from_nic` and sends in place of the sender.
        relay: Option<u32>,
    },
    /// Into the NVSwitch, which adds up the messages of all connections that a step receives from (multimem load-reduce).
    NvlsReduce,
    /// Out of the NVSwitch, which copies one message to all connections that a step sends on (multimem store).
    NvlsMulticast,
    /// To the network and back: the k-th messages of all connections of the group are added up in the switches, and each
    /// gets the sum. Such a connection starts and ends at the same rank.
    InNetwork {
        /// The group whose messages are added up.
        group: u32,
        /// NIC of the node.
        nic: u32,
    },
}

/// A one-way stream of messages between two ranks (or a rank and the reduction tree of the network).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Its channel.
    pub channel: u32,
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Where it runs.
    pub path: Path,
    /// Messages that may be sent and not yet consumed.
    pub slots: u32,
}

/// A buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// What the collective starts from.
    Input,
    /// What it ends with; meanwhile, partial results.
    Output,
}

/// What a thread does at one place of its program, `repeat` times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// How often; the k-th time (from 0) it is about the block `block + k · stride`, modulo the blocks of a loop.
    pub repeat: u32,
    /// The (first) block.
    pub block: u32,
    /// What `block` advances by from one repetition to the next.
    pub stride: i32,
    /// Blocks, `span_stride` apart, modulo the blocks of a loop.
    pub span: u32,
    /// Distance of the blocks of a span; 1 (they follow each other) but where trees are aggregated, and there all blocks
    /// are of one size ([`Layout::PerRank`]).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub span_stride: u32,
    /// Connections it receives a message from (all slices of the step); the messages are added up.
    pub receive: Vec<u32>,
    /// A buffer whose block is added to (or, without `receive`, is) the result.
    pub source: Option<Buffer>,
    /// Whether the result is kept in the output buffer.
    pub store: bool,
    /// Connections the result is sent on.
    pub send: Vec<u32>,
}

const fn one() -> u32 {
    1
}

const fn is_one(stride: &u32) -> bool {
    *stride == 1
}

impl Step {
    /// A step about one block, once.
    pub fn new(block: u32) -> Self {
        Self {
            repeat: 1,
            block,
            stride: 0,
            span: 1,
            span_stride: 1,
            receive: vec![],
            source: None,
            store: false,
            send: vec![],
        }
    }

    /// The same, `repeat` times, `stride` blocks on each time.
    pub fn repeated(self, repeat: u32, stride: i32) -> Self {
        Self { repeat, stride, ..self }
    }

    /// The same about `span` blocks.
    pub fn spanning(self, span: u32) -> Self {
        Self { span, ..self }
    }

    /// The same about `span` blocks, `span_stride` apart.
    pub fn spread(self, span: u32, span_stride: u32) -> Self {
        Self { span, span_stride, ..self }
    }

    /// The same, receiving from `connections` first.
    pub fn receiving(self, connections: impl IntoIterator<Item = u32>) -> Self {
        Self { receive: connections.into_iter().collect(), ..self }
    }

    /// The same, with the rank's own block from `buffer`.
    pub fn with(self, buffer: Buffer) -> Self {
        Self { source: Some(buffer), ..self }
    }

    /// The same, keeping the result.
    pub fn storing(self) -> Self {
        Self { store: true, ..self }
    }

    /// The same, sending the result on `connections`.
    pub fn sending(self, connections: impl IntoIterator<Item = u32>) -> Self {
        Self { send: connections.into_iter().collect(), ..self }
    }

    /// The first block of repetition `k`, of `blocks` in a loop.
    pub fn block_at(&self, k: u32, blocks: u32) -> u32 {
        let moved = i64::from(self.block) + i64::from(k) * i64::from(self.stride);
        moved.rem_euclid(i64::from(blocks.max(1))) as u32
    }

    /// The blocks of repetition `k`, of `blocks` in a loop.
    pub fn blocks_at(&self, k: u32, blocks: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, blocks) = (u64::from(self.block_at(k, blocks)), u64::from(blocks.max(1)));
        let stride = u64::from(self.span_stride);
        (0..u64::from(self.span)).map(move |i| ((first + i * stride) % blocks) as u32)
    }
}

/// What a thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// All of a rank's work on a channel.
    All,
    /// Towards the root of a tree.
    Up,
    /// Away from the root.
    Down,
    /// Feeds the heads of the node.
    Scatter,
    /// A head that reduces over its node.
    Reduce,
    /// A head that hands out to its node.
    Broadcast,
    /// Collects from the heads of the node.
    Gather,
    /// Sends of pairwise exchange.
    Send,
    /// Receives of pairwise exchange.
    Receive,
}

/// A serial executor: some warps of a thread block of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its rank.
    pub rank: u32,
    /// Its channel.
    pub channel: u32,
    /// What it is for.
    pub role: Role,
    /// Its program, run once a loop.
    pub steps: Vec<Step>,
}

/// A collective as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveSchedule {
    /// Version of the format. This build reads 1.
    pub version: u32,
    /// What is computed.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// How messages move.
    pub protocol: Protocol,
    /// Ranks.
    pub ranks: u32,
    /// Size as nccl-tests counts it, in bytes: AllReduce, Broadcast, Reduce, SendRecv a rank's buffer; AllGather,
    /// ReduceScatter and AllToAll `ranks` blocks.
    pub bytes: u64,
    /// The root of Broadcast and Reduce; else 0.
    pub root: u32,
    /// Parts of the data.
    pub channels: Vec<Channel>,
    /// Streams of messages; steps name them by index.
    pub connections: Vec<Connection>,
    /// Who does what.
    pub threads: Vec<Thread>,
}
