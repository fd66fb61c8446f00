//! Collectives: GPUs that execute schedules over NVLink and over streams of the fabric.
//!
//! A thread (some warps of a thread block) runs its program slice by slice: it waits for the messages it receives and for room on
//! the connections it sends on, works for as long as its rate, its step cost and the NVLink ports it uses allow, and
//! hands on. Events:
//!
//! | target | fires when |
//! |---|---|
//! | thread t | its work is done, or what it waits for becomes visible |
//! | post c | the next message of network connection c may be posted |
//! | compute g | GPU g's computation is done |
//!
//! On the network, the receiver's proxy grants each slot with a small write (clear to send); the sender's proxy posts a
//! message when the data is there and a slot is granted.

mod compile;
mod proxy;
mod steady;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;

pub use compile::WorkloadError;
pub(super) use compile::compile;
pub use steady::Skipped;

use collectives::schedule::{Channel, Protocol};
use sim_core::table::Table;

use crate::workload::{Machine, TaskTimes, Timing};

/// No thread, no GPU.
pub(super) const NONE: u32 = u32::MAX;
/// Most messages of a connection that are sent and not consumed.
pub(super) const SLOTS: usize = 16;
/// Bytes of a clear-to-send write.
pub(super) const CLEAR_TO_SEND: u64 = 64;

/// What a connection runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Local,
    Reduce,
    Multicast,
    Network,
    InNetwork,
}

/// A connection: counters of messages, all of them growing.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub line: Line,
    pub from: u32,
    pub to: u32,
    /// The GPU whose proxy sends.
    pub proxy: u32,
    /// First queue pair of its data, and of the clear-to-send writes.
    pub qp: u32,
    pub cts_qp: u32,
    pub qps: u8,
    pub split: bool,
    /// Messages that may be sent and not consumed.
    pub slots: u32,
    /// Where its slots are, and how many less one, a power of two.
    pub first_slot: u32,
    pub slot_mask: u32,
    /// In-network reduction: its group.
    pub group: u32,
    /// Messages handed over by the sending thread.
    pub sent: u32,
    /// Messages posted to the NIC.
    pub posted: u32,
    /// Messages acknowledged.
    pub acked: u32,
    /// Bytes a second its messages are copied at by the host at either end; 0 without a copy.
    pub host_copy_rate: u64,
    /// Bytes above which a message is announced by a write of its own.
    pub announce_above: u64,
    /// Messages the receiver has room for.
    pub granted: u32,
    /// Messages that arrived.
    pub arrived: u32,
    /// Messages the receiving thread is done with.
    pub consumed: u32,
    pub waiting_sender: u32,
    pub waiting_receiver: u32,
    /// Index of its post target, network lines only.
    pub post: u32,
    pub post_pending: bool,
}

/// What one slot of a connection holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// When the message may be posted.
    pub post_at: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// When it arrived.
    pub arrived_at: u64,
    /// Parts that arrived.
    pub parts: u8,
}

/// A step, compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub repeat: u32,
    pub block: u32,
    pub stride: i32,
    pub span: u32,
    /// Connections in `lists`.
    pub receive: (u32, u16),
    pub send: (u32, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not called.
    Idle,
    /// Waits for a message or for room.
    Waiting,
    /// Moves a slice.
    Working,
}

/// A thread and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub call: u32,
    pub rank: u32,
    pub channel: u32,
    pub first_step: u32,
    pub last_step: u32,
    /// Bytes a second.
    pub rate: u64,
    pub state: State,
    pub pending: bool,
    pub looped: u32,
    pub step: u32,
    pub repetition: u32,
    /// Bytes of the step not yet moved, and of a slice.
    pub left: u64,
    pub slice: u64,
}

/// A call, compiled.
#[derive(Clone, Debug)]
pub(super) struct CallState {
    pub protocol: Protocol,
    pub timing: Timing,
    /// Latency before and behind the wire.
    pub network_side: u64,
    /// The connection of each of the schedule's.
    pub connections: Vec<u32>,
    /// Threads of each rank: first in `threads`, count.
    pub ranks: Vec<(u32, u32)>,
    /// Threads of each rank not done, and its running task.
    pub running: Vec<(u32, u32)>,
    pub steady: steady::Steady,
}

/// In-network reduction of one group of connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub members: Vec<u32>,
    /// Members whose message arrived, by message.
    pub arrived: [u32; SLOTS],
}

/// What a stream carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub connection: u32,
    /// Which of the connection's queue pairs.
    pub part: u8,
    pub clear_to_send: bool,
    /// The message that arrives next, and writes of it that arrived.
    pub message: u32,
    pub writes: u8,
    /// The message that is acknowledged next, and its writes that were.
    pub acked: u32,
    pub acked_writes: u8,
}

/// A GPU's ports and helpers.
#[derive(Clone, Debug, Default)]
pub(super) struct Gpu {
    /// When its NVLink egress and ingress, and its proxy, are free.
    pub egress: u64,
    pub ingress: u64,
    pub proxy: u64,
    /// The compute task under way, and those that wait.
    pub computing: Option<u32>,
    pub queue: std::collections::VecDeque<u32>,
    /// Payload bytes sent over NVLink.
    pub local_bytes: u64,
}

/// A task, compiled.
#[derive(Clone, Debug)]
pub(super) struct TaskState {
    pub gpu: u32,
    pub work: crate::workload::Work,
    pub waits: u32,
    /// Tasks that wait for it, in `dependents`.
    pub dependents: (u32, u32),
    pub times: TaskTimes,
}

/// All GPUs of a fabric.
#[derive(Debug)]
pub(super) struct Collectives {
    pub machine: Option<Machine>,
    pub gpus: Table<Gpu>,
    pub calls: Vec<CallState>,
    pub channels: Vec<Channel>,
    pub threads: Table<Thread>,
    pub steps: Table<Step>,
    pub lists: Table<u32>,
    pub connections: Table<Connection>,
    pub slots: Table<Slot>,
    /// Connection of each post target.
    pub posts: Vec<u32>,
    pub owners: Table<Owner>,
    pub groups: Vec<Group>,
    pub tasks: Vec<TaskState>,
    pub dependents: Vec<u32>,
    pub done: u64,
}

impl Default for Collectives {
    fn default() -> Self {
        Self {
            machine: None,
            gpus: Table::default(),
            calls: Vec::new(),
            channels: Vec::new(),
            threads: Vec::new().into(),
            steps: Vec::new().into(),
            lists: Table::default(),
            connections: Vec::new().into(),
            slots: Table::default(),
            posts: Vec::new(),
            owners: Vec::new().into(),
            groups: Vec::new(),
            tasks: Vec::new(),
            dependents: Vec::new(),
            done: 0,
        }
    }
}

impl Collectives {
    /// Event targets it needs.
    pub fn targets(&self) -> u64 {
        (self.threads.len() + self.posts.len() + self.gpus.len()) as u64
    }

    #[inline]
    fn slot(&mut self, connection: u32, message: u32) -> &mut Slot {
        let c = &self.connections[connection as usize];
        &mut self.slots[(c.first_slot + (message & c.slot_mask)) as usize]
    }
}

/// What a run of the GPUs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Payload bytes GPUs sent to GPUs of their node.
    pub local_bytes: u64,
    /// Bytes of messages posted to NICs, clear-to-send writes included.
    pub network_bytes: u64,
}

/// Time of `bytes` at `rate` bytes a second, in picoseconds, rounded up; none at a rate of 0.
#[inline]
pub(super) fn span(bytes: u64, rate: u64) -> u64 {
    if rate == 0 {
        return 0;
    }
    (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(rate)) as u64
}

/// Takes a server that is free at `free` from `at` on for `time`; when it starts.
#[inline]
pub(super) fn reserve(free: &mut u64, at: u64, time: u64) -> u64 {
    let start = at.max(*free);
    *free = start + time;
    start
}
