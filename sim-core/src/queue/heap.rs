//! The standard library's binary heap as an event queue: the plain baseline of the benchmarks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::EventQueue;
use crate::Time;

/// A `std::collections::BinaryHeap` of (time, target). O(log n) push and pop.
#[derive(Debug, Default)]
pub struct BinaryHeapQueue {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl EventQueue for BinaryHeapQueue {
    fn with_targets(_targets: usize) -> Self {
        Self::default()
    }

    fn push(&mut self, at: Time, target: u32) {
        self.heap.push(Reverse((at, target)));
    }

    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        let &Reverse((at, _)) = self.heap.peek()?;
        (at <= limit).then(|| self.heap.pop().expect("peeked").0)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
