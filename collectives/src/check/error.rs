//! What is wrong with a schedule.

use std::fmt;

use thiserror::Error;

use crate::schedule::{Operation, Role, SCHEDULE_VERSION};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A message on a connection.
    Message(u32),
    /// A free slot of a connection.
    Slot(u32),
}

/// A thread that waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: u32,
    /// Its rank.
    pub rank: u32,
    /// What it is for.
    pub role: Role,
    /// The step it is at.
    pub step: u32,
    /// The repetition of the step.
    pub repetition: u32,
    /// What it waits for.
    pub wait: Wait,
    /// The other rank of the connection.
    pub peer: u32,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, rank, role, step, repetition, wait, peer } = self;
        write!(
            f,
            "thread {thread} (rank {rank}, {role:?}) at step {step}, repetition {repetition}, waits for "
        )?;
        match wait {
            Wait::Message(connection) => write!(f, "a message from rank {peer} on connection {connection}"),
            Wait::Slot(connection) => write!(f, "a free slot to rank {peer} on connection {connection}"),
        }
    }
}

/// What is wrong with a schedule, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// The format is of another version.
    #[error("schedule format {found}: this build reads {SCHEDULE_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// Something of the whole schedule is not possible.
    #[error("{reason}")]
    Schedule {
        /// What, and what would be.
        reason: String,
    },
    /// A channel is not possible.
    #[error("channel {channel}: {reason}")]
    Channel {
        /// The channel.
        channel: u32,
        /// What, and what would be.
        reason: String,
    },
    /// A connection is not possible.
    #[error("connection {connection}: {reason}")]
    Connection {
        /// The connection.
        connection: u32,
        /// What, and what would be.
        reason: String,
    },
    /// A step is not possible.
    #[error("thread {thread}, step {step}: {reason}")]
    Step {
        /// The thread.
        thread: u32,
        /// The step.
        step: u32,
        /// What, and what would be.
        reason: String,
    },
    /// Threads wait for each other for ever.
    #[error("channel {channel} deadlocks: {threads} threads wait for ever; {}", list(blocked))]
    Deadlock {
        /// The channel.
        channel: u32,
        /// Threads that wait.
        threads: u32,
        /// The first of them.
        blocked: Vec<Blocked>,
    },
    /// Messages are left that nobody receives.
    #[error(
        "connection {connection} from rank {from} to rank {to}: {messages} messages a loop are sent that no step receives"
    )]
    Unmatched {
        /// The connection.
        connection: u32,
        /// Its sender.
        from: u32,
        /// Its receiver.
        to: u32,
        /// Messages left.
        messages: u64,
    },
    /// What is sent is not what is expected.
    #[error(
        "thread {thread}, step {step} expects slice {slice} of {span} blocks, {bytes} B, on connection {connection}: \
         slice {sent_slice} of {sent_span} blocks, {sent_bytes} B, was sent"
    )]
    Size {
        /// The receiving thread.
        thread: u32,
        /// Its step.
        step: u32,
        /// The connection.
        connection: u32,
        /// Slice expected.
        slice: u64,
        /// Blocks expected.
        span: u32,
        /// Bytes expected.
        bytes: u64,
        /// Slice sent.
        sent_slice: u64,
        /// Blocks sent.
        sent_span: u32,
        /// Bytes sent.
        sent_bytes: u64,
    },
    /// Members of a reduction in the network differ in what they send.
    #[error("group {group}: connections {connection} and {other} send different sizes to the same reduction")]
    Group {
        /// The group.
        group: u32,
        /// A connection.
        connection: u32,
        /// One that differs from it.
        other: u32,
    },
    /// A contribution is added twice.
    #[error("thread {thread}, step {step} adds rank {rank}'s contribution to block {block} a second time")]
    Duplicate {
        /// The thread.
        thread: u32,
        /// Its step.
        step: u32,
        /// Whose contribution.
        rank: u32,
        /// To which block of the data.
        block: u32,
    },
    /// A contribution is missing at the end.
    #[error("channel {channel}: rank {rank} ends without rank {contributor}'s contribution to block {block}")]
    Missing {
        /// The channel.
        channel: u32,
        /// The rank that lacks it.
        rank: u32,
        /// The output block.
        block: u32,
        /// Whose contribution.
        contributor: u32,
    },
    /// A contribution does not belong where it ends.
    #[error(
        "channel {channel}: rank {rank} ends with rank {contributor}'s input block {input} in output block {block}, where \
         {operation:?} has no place for it"
    )]
    Foreign {
        /// The channel.
        channel: u32,
        /// The rank that has it.
        rank: u32,
        /// The output block.
        block: u32,
        /// Whose contribution.
        contributor: u32,
        /// The contributor's block.
        input: u32,
        /// The operation.
        operation: Operation,
    },
    /// Part of the data is moved by no channel, or by two.
    #[error("{what}: {} {at}", if *twice { "two channels move byte" } else { "no channel moves byte" })]
    Tiling {
        /// The data.
        what: String,
        /// The first byte that is wrong.
        at: u64,
        /// Whether two channels move it.
        twice: bool,
    },
}

fn list(blocked: &[Blocked]) -> String {
    blocked.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
