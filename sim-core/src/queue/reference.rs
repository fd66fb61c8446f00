//! The `priority-queue` crate as an event queue: the reference that others are compared with.

use std::cmp::Reverse;

use priority_queue::PriorityQueue;

use super::EventQueue;
use super::contract::Contract;
use crate::Time;

/// A `priority_queue::PriorityQueue` from target to (time, target). O(log n) push and pop.
#[derive(Debug)]
pub struct PriorityQueueReference {
    queue: PriorityQueue<u32, Reverse<(Time, u32)>>,
    contract: Contract,
}

impl EventQueue for PriorityQueueReference {
    fn with_targets(targets: usize) -> Self {
        Self { queue: PriorityQueue::new(), contract: Contract::new(targets) }
    }

    fn push(&mut self, at: Time, target: u32) {
        self.contract.pushed(at, target);
        self.queue.push(target, Reverse((at, target)));
    }

    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        let (_, &Reverse((at, _))) = self.queue.peek()?;
        if at > limit {
            return None;
        }
        let (target, _) = self.queue.pop().expect("peeked");
        self.contract.popped(at, target);
        Some((at, target))
    }

    fn next_time(&self) -> Option<Time> {
        self.queue.peek().map(|(_, &Reverse((at, _)))| at)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
