//! What has been decided about a collective before its schedule is written: the hand-over from a chooser (NCCL's rules
//! in [`crate::nccl`], or a scenario that forces them) to [`crate::algorithms`].

mod ideal;

use crate::schedule::{Algorithm, Channel, Operation, Protocol};

/// Ranks on nodes: rank r is GPU r mod `per_node` of node r / `per_node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Nodes (with NVLink over several machines: NVLink domains).
    pub nodes: u32,
    /// Ranks of each node.
    pub per_node: u32,
}

impl Ranks {
    /// Ranks in all.
    pub const fn count(self) -> u32 {
        self.nodes * self.per_node
    }

    /// The node of a rank.
    pub const fn node(self, rank: u32) -> u32 {
        rank / self.per_node
    }

    /// The number of a rank in its node.
    pub const fn local(self, rank: u32) -> u32 {
        rank % self.per_node
    }

    /// The rank of GPU `local` of `node`.
    pub const fn rank(self, node: u32, local: u32) -> u32 {
        node * self.per_node + local
    }
}

/// Which GPU of a node's chain talks to other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreePattern {
    /// The first for the parent and the second child, the second for the first child.
    Balanced,
    /// The first for the parent, the second for both children.
    Split,
    /// The first for all.
    Single,
}

/// How a channel runs through the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All ranks in ring order. Consecutive ranks of different nodes are joined by the network.
    Ring {
        /// The ranks, each once; rank `order[i]` sends to `order[i+1]`, the last to the first.
        order: Vec<u32>,
        /// NIC by which the ring leaves each node.
        leave: Vec<u32>,
        /// NIC by which it enters each node.
        enter: Vec<u32>,
        /// For each node, the rank that owns the leaving NIC where PXN relays through it, else `None`.
        relay: Vec<Option<u32>>,
    },
    /// A chain in each node and a tree over the nodes.
    Tree {
        /// GPUs of a node in chain order; the first is towards the root.
        chain: Vec<u32>,
        /// Which of the two complementary trees: 0 or 1.
        tree: u32,
        /// NIC of the chain's first GPU and of its second (the same where the first does all).
        nics: [u32; 2],
        /// Who talks to other nodes.
        pattern: TreePattern,
    },
    /// NVLS: the node's GPUs feed `heads`; heads join nodes by a tree or by in-network reduction, as the algorithm says.
    Nvls {
        /// GPUs that are heads. Head h owns block h of a loop.
        heads: Vec<u32>,
        /// The NIC of each head.
        nics: Vec<u32>,
        /// Which of the two complementary trees: 0 or 1.
        tree: u32,
    },
    /// CollNet: heads reduce in the network; direct or with a chain (`chain` in order, its first GPU is the head).
    Collnet {
        /// Heads (direct), or the chain's GPUs in order.
        gpus: Vec<u32>,
        /// NIC of each head, or of the chain's head alone.
        nics: Vec<u32>,
    },
    /// Ranks exchange with each other directly (pairwise, recursive halving–doubling, PAT, send/receive). In AllToAll,
    /// channels of the same part share out the peers: with P different parts, channel c carries part c mod P.
    Direct {
        /// The NIC each local GPU sends by.
        send_nic: Vec<u32>,
        /// The NIC each local GPU receives by.
        receive_nic: Vec<u32>,
        /// PXN: a sender uses the NIC that the receiver receives by, through the local GPU given here for each NIC.
        pxn: Option<Vec<u32>>,
    },
}

/// A channel of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPlan {
    /// Its part of the data, its loops and slices.
    pub part: Channel,
    /// How it runs through the ranks.
    pub shape: Shape,
    /// Messages (slices) a connection holds that are not yet consumed.
    pub slots: u32,
}

/// All that an algorithm needs to write a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is computed.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// How messages move.
    pub protocol: Protocol,
    /// Who takes part.
    pub ranks: Ranks,
    /// Size as nccl-tests counts it.
    pub bytes: u64,
    /// The root of Broadcast and Reduce; else 0.
    pub root: u32,
    /// Its channels.
    pub channels: Vec<ChannelPlan>,
}
