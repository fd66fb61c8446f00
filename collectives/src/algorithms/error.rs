//! Why a plan has no schedule.

use thiserror::Error;

use super::{ALGORITHMS, operations};
use crate::schedule::{Algorithm, Layout, Operation};

/// Why a plan has no schedule: what does not fit, where, and what would.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AlgorithmError {
    /// There are no ranks, or more than 2³².
    #[error(
        "{nodes} nodes with {per_node} ranks each: give at least one of both and fewer than 2^32 ranks in all"
    )]
    Ranks {
        /// Nodes of the plan.
        nodes: u32,
        /// Ranks of each.
        per_node: u32,
    },
    /// The root is not a rank.
    #[error("root {root} is not a rank: ranks are 0 to {}", ranks - 1)]
    Root {
        /// The plan's root.
        root: u32,
        /// Its ranks.
        ranks: u32,
    },
    /// There is no channel.
    #[error("the plan has no channels: give at least one")]
    NoChannels,
    /// The algorithm does not do the operation.
    #[error("{algorithm:?} does not do {operation:?}: it does {possible}; {operation:?} is done by {others}")]
    Unsupported {
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation.
        operation: Operation,
        /// What the algorithm does.
        possible: String,
        /// What does the operation.
        others: String,
    },
    /// A channel's shape belongs to another algorithm.
    #[error("channel {channel}: {algorithm:?} needs {wanted}")]
    Shape {
        /// The channel.
        channel: usize,
        /// The algorithm.
        algorithm: Algorithm,
        /// The shape it needs.
        wanted: &'static str,
    },
    /// A channel's blocks do not suit the algorithm.
    #[error(
        "channel {channel} has {found} blocks, {found_layout:?}: the algorithm needs {}, {layout:?}",
        wanted.map_or("any number but 0".to_owned(), |n| n.to_string())
    )]
    Blocks {
        /// The channel.
        channel: usize,
        /// Its blocks.
        found: u32,
        /// How they lie.
        found_layout: Layout,
        /// Blocks needed; `None`: any number.
        wanted: Option<u32>,
        /// How they must lie.
        layout: Layout,
    },
    /// A list names something that does not exist.
    #[error("channel {channel}: {what} has {item}, of {count}: count from 0 to {}", count.saturating_sub(1))]
    Range {
        /// The channel.
        channel: usize,
        /// The list.
        what: &'static str,
        /// What it names.
        item: u32,
        /// How many there are.
        count: u32,
    },
    /// A list names something twice.
    #[error("channel {channel}: {what} has {item} twice: name each once")]
    Twice {
        /// The channel.
        channel: usize,
        /// The list.
        what: &'static str,
        /// What it names.
        item: u32,
    },
    /// A list is too short or too long.
    #[error("channel {channel}: {what} has {found} entries: give {wanted}")]
    Length {
        /// The channel.
        channel: usize,
        /// The list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        wanted: usize,
    },
    /// A connection's slots are too few: ranks that all send before they receive would wait for each other for ever.
    #[error(
        "channel {channel}: {slots} slots a connection, {needed} needed: give more slots or fewer slices"
    )]
    Slots {
        /// The channel.
        channel: usize,
        /// Its slots.
        slots: u32,
        /// The slots needed.
        needed: u32,
    },
    /// The algorithm needs other nodes.
    #[error(
        "{algorithm:?} with {operation:?} needs {wanted}: the plan has {nodes} × {per_node} ranks (nodes × ranks each)"
    )]
    Nodes {
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation.
        operation: Operation,
        /// Nodes of the plan.
        nodes: u32,
        /// Ranks of each.
        per_node: u32,
        /// What is needed.
        wanted: &'static str,
    },
}

impl AlgorithmError {
    /// The error of an operation that an algorithm does not do; says what is possible.
    pub(super) fn unsupported(algorithm: Algorithm, operation: Operation) -> Self {
        let list = |names: Vec<String>| names.join(", ");
        let possible = list(operations(algorithm).iter().map(|o| format!("{o:?}")).collect());
        let able = ALGORITHMS.iter().filter(|a| operations(**a).contains(&operation));
        let others = list(able.map(|a| format!("{a:?}")).collect());
        Self::Unsupported { algorithm, operation, possible, others }
    }
}
