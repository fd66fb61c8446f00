//! Event queues: a set of (time, target) with at most one pending event per target.
//!
//! Events pop in order of time, and at equal times in order of target id. That order is total, does not depend
//! on when an event was posted, and so does not depend on threads.

mod buckets;
mod contract;
mod heap;
mod pace;
mod reference;
mod wheel;

pub use heap::BinaryHeapQueue;
pub use reference::PriorityQueueReference;
pub use wheel::TimeWheel;

use crate::Time;

/// A pending event set in which each target has at most one pending event.
///
/// The caller promises two things, checked by debug assertions: a target is pushed only while it has no
/// pending event, and no event is pushed earlier than the last one popped.
pub trait EventQueue {
    /// An empty queue for targets `0..targets`.
    fn with_targets(targets: usize) -> Self;

    /// Posts an event for `target` at time `at`.
    fn push(&mut self, at: Time, target: u32);

    /// Takes the earliest event if it is earlier than or at `limit`.
    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)>;

    /// When the earliest pending event is due. Not for every event: it may cost much more than a pop.
    fn next_time(&self) -> Option<Time>;

    /// Events that will pop next, the earliest last; each entry's low 32 bits are its target. A chance to fetch what
    /// they need into the cache, and only a hint: an empty list is always right, and earlier events may yet be pushed.
    #[inline]
    fn upcoming(&self) -> &[u64] {
        &[]
    }

    /// Events pending.
    fn len(&self) -> usize;

    /// Whether nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
