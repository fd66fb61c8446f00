//! Why a collective cannot be planned.

use crate::node::NodeError;
use crate::schedule::{Algorithm, Operation, Protocol};

/// Why a collective cannot be planned. Each says what, why, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The node is not valid.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A setting is out of its range.
    #[error("nccl: {field} is {value}, outside of {range}; set {field} within it")]
    Setting {
        /// The field of [`super::NcclConfig`].
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// More ranks on a node than it has GPUs, or none.
    #[error("{per_node} ranks on a node of {node}, which has {gpus} GPUs; use 1 to {gpus}")]
    RanksOfNode {
        /// The node.
        node: String,
        /// Ranks of a node.
        per_node: u32,
        /// GPUs of a node.
        gpus: u32,
    },
    /// Fewer than two ranks, or too many.
    #[error("{nodes} nodes with {per_node} ranks each are {ranks} ranks; use 2 to 1048576 ranks in all")]
    Ranks {
        /// Nodes.
        nodes: u32,
        /// Ranks of a node.
        per_node: u32,
        /// Ranks in all.
        ranks: u32,
    },
    /// The root is no rank.
    #[error("root {root} is no rank: there are {ranks}; use 0 to {}", ranks - 1)]
    Root {
        /// The root.
        root: u32,
        /// Ranks in all.
        ranks: u32,
    },
    /// A block of AllGather, ReduceScatter or AllToAll would be empty.
    #[error(
        "{operation:?} of {bytes} B over {ranks} ranks leaves no 16 B for each, which nccl-tests rounds to 0; \
         use at least {least} B"
    )]
    TooSmall {
        /// What is computed.
        operation: Operation,
        /// Size.
        bytes: u64,
        /// Ranks in all.
        ranks: u32,
        /// The least size.
        least: u64,
    },
    /// More data than a schedule counts.
    #[error("{bytes} B is more than this build plans; use at most 1 TiB (1099511627776 B)")]
    TooLarge {
        /// Size.
        bytes: u64,
    },
    /// The forced algorithm or protocol does not exist for this call.
    #[error("{algorithm:?} cannot do {operation:?} here: {why}; {advice}")]
    Unavailable {
        /// The forced algorithm.
        algorithm: Algorithm,
        /// What is computed.
        operation: Operation,
        /// Why not.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// No algorithm remains with the forced protocol.
    #[error(
        "no algorithm can do {operation:?} with {protocol:?} here; leave protocol at auto, or force another"
    )]
    NoAlgorithm {
        /// What is computed.
        operation: Operation,
        /// The forced protocol.
        protocol: Protocol,
    },
}
