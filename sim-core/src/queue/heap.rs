//! The standard library's binary heap as an event queue: the plain baseline of the benchmarks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::EventQueue;
use super::contract::Contract;
use crate::Time;

/// A `std::collections::BinaryHeap` of (time, target). O(log n) push and pop.
#[derive(Debug)]
pub struct BinaryHeapQueue {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    contract: Contract,
}

impl EventQueue for BinaryHeapQueue {
    fn with_targets(targets: usize) -> Self {
        Self { heap: BinaryHeap::new(), contract: Contract::new(targets) }
    }

    fn push(&mut self, at: Time, target: u32) {
        self.contract.pushed(at, target);
        self.heap.push(Reverse((at, target)));
    }

    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        let &Reverse((at, _)) = self.heap.peek()?;
        if at > limit {
            return None;
        }
        let Reverse((at, target)) = self.heap.pop().expect("peeked");
        self.contract.popped(at, target);
        Some((at, target))
    }

    fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|&Reverse((at, _))| at)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
