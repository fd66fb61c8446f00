//! The time wheel: the event queue of the engine, O(1) per event whatever the number pending.
//!
//! Time is cut into buckets of `1 << shift` picoseconds. An event waits in one of four places:
//!
//! - `current`: the bucket the wheel stands at, sorted, the earliest event last;
//! - `near`: the unsorted buckets of the turn ahead;
//! - `coarse`: unsorted buckets, each half a turn of `near` wide, for what lies beyond that turn;
//! - `heap`: a binary heap for everything else. An event may always go there, so unusual cases (beyond the
//!   coarse ring, crowded buckets) do not complicate the common path.
//!
//! When `current` runs out, the next bucket is gathered and sorted; a coarse bucket is dealt out to the near
//! ones when it may hold the next event. The width of a bucket follows the traffic (see [`super::pace`]); no
//! width changes the order of events.
//!
//! No bounds check is waived: doing so was measured and gains nothing.
//!
//! An entry is 64 bits, the low half of its time and its target, so that entries of one bucket, near or
//! coarse, sort as numbers: no bucket is wider than 2³² ps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::EventQueue;
use super::buckets::{Pool, Ring};
use super::contract::Contract;
use super::pace::{Load, Pace};
use crate::Time;

/// Number of near buckets (and of coarse ones).
const BUCKETS: usize = 8192;
/// Bucket width to start with: 2¹² ps, about 4 ns.
const SHIFT: u32 = 12;
/// A push into `current` moves at most this many entries; beyond, the heap is cheaper.
const LONGEST_MOVE: usize = 64;
/// Bits of an entry below its time.
const TARGET_BITS: u32 = 32;
/// No bucket.
const NO_BUCKET: i64 = i64::MAX;

/// An event queue of buckets in time. O(1) push and pop, amortised, and no order but (time, target).
#[derive(Debug)]
pub struct TimeWheel {
    /// Entries of the bucket `cursor`, the latest first.
    current: Vec<u64>,
    /// The bucket the wheel stands at: no entry of the rings is in it or before it. −1 at the start.
    cursor: i64,
    /// High half of the times in `current`.
    high: u64,
    /// Time of the first event in `heap`, `u64::MAX` when it is empty.
    heap_next: u64,
    /// Width of a near bucket: `1 << shift` ps.
    shift: u32,
    /// A coarse bucket is `1 << coarse_bits` near ones.
    coarse_bits: u32,
    len: usize,
    pool: Pool,
    near: Ring,
    /// First near bucket of the first coarse bucket that is occupied, or `NO_BUCKET`.
    coarse_next: i64,
    coarse: Ring,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    load: Load,
    pace: Pace,
    contract: Contract,
}

impl TimeWheel {
    /// An empty wheel for targets `0..targets` that starts with buckets of `1 << shift` ps and has `buckets`
    /// near and coarse ones, a power of two from 64 to 2²⁰. A shift outside the range that `buckets` allows is
    /// brought into it.
    pub fn with_shape(targets: usize, shift: u32, buckets: usize) -> Self {
        assert!(buckets <= 1 << 20, "{buckets} buckets: more than 2^20");
        let near = Ring::new(buckets);
        let coarse_bits = buckets.trailing_zeros() - 1;
        let pace = Pace::new(u64::BITS - TARGET_BITS - coarse_bits);
        Self {
            current: Vec::new(),
            cursor: -1,
            high: 0,
            heap_next: u64::MAX,
            shift: pace.clamp(shift),
            coarse_bits,
            len: 0,
            pool: Pool::new(),
            near,
            coarse_next: NO_BUCKET,
            coarse: Ring::new(buckets),
            heap: BinaryHeap::new(),
            load: Load::default(),
            pace,
            contract: Contract::new(targets),
        }
    }

    /// The present width of a bucket is `1 << shift` ps.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    #[inline]
    fn entry(at: u64, target: u32) -> u64 {
        at << TARGET_BITS | u64::from(target)
    }

    /// Time and target of an entry in a bucket whose times have the high half `high`.
    #[inline]
    fn event(high: u64, entry: u64) -> (u64, u32) {
        (high | entry >> TARGET_BITS, entry as u32)
    }

    #[inline]
    fn bucket(&self, at: u64) -> i64 {
        (at >> self.shift) as i64
    }

    /// High half of the times in near bucket `bucket`.
    #[inline]
    fn high_of(&self, bucket: i64) -> u64 {
        ((bucket as u64) << self.shift) >> TARGET_BITS << TARGET_BITS
    }

    #[inline]
    fn insert(&mut self, at: u64, target: u32) {
        let bucket = self.bucket(at);
        let ahead = bucket.wrapping_sub(self.cursor) as u64;
        if ahead.wrapping_sub(1) < self.near.buckets() as u64 - 1 {
            self.near.put(bucket, Self::entry(at, target), &mut self.pool);
        } else if ahead == 0 {
            self.insert_current(at, target);
        } else {
            self.insert_far(at, target);
        }
    }

    /// Sorts an event of bucket `cursor` into `current`.
    #[inline]
    fn insert_current(&mut self, at: u64, target: u32) {
        self.load.gathered += 1;
        let entry = Self::entry(at, target);
        let mut slot = self.current.len();
        if slot > LONGEST_MOVE && self.current[slot - LONGEST_MOVE] < entry {
            self.load.divert(entry, self.current[slot - LONGEST_MOVE]);
            return self.insert_heap(at, target);
        }
        self.current.push(entry);
        while slot > 0 && self.current[slot - 1] < entry {
            self.current[slot] = self.current[slot - 1];
            slot -= 1;
        }
        self.current[slot] = entry;
    }

    #[inline(never)]
    fn insert_far(&mut self, at: u64, target: u32) {
        let coarse = self.bucket(at) >> self.coarse_bits;
        let ahead = coarse.wrapping_sub(self.cursor >> self.coarse_bits) as u64;
        if ahead.wrapping_sub(1) < self.coarse.buckets() as u64 - 1 {
            self.coarse.put(coarse, Self::entry(at, target), &mut self.pool);
            self.coarse_next = self.coarse_next.min(coarse << self.coarse_bits);
        } else {
            self.load.beyond += 1;
            self.insert_heap(at, target);
        }
    }

    #[cold]
    fn insert_heap(&mut self, at: u64, target: u32) {
        self.heap.push(Reverse((at, target)));
        self.heap_next = self.heap_next.min(at);
    }

    #[inline]
    fn popped(&mut self, at: u64, target: u32) -> Option<(Time, u32)> {
        self.len -= 1;
        self.contract.popped(Time(at), target);
        Some((Time(at), target))
    }

    /// `pop_until` where `current` is empty or an event of the heap may be due first.
    #[inline(never)]
    fn pop_slow(&mut self, limit: u64) -> Option<(Time, u32)> {
        loop {
            if let Some(&entry) = self.current.last() {
                let (at, target) = Self::event(self.high, entry);
                if self.heap.peek().is_some_and(|&Reverse(first)| first < (at, target)) {
                    if self.pace.overdue(&self.load, self.len) && self.adapt() {
                        continue;
                    }
                    return self.pop_heap(limit);
                }
                if at > limit {
                    return None;
                }
                self.current.pop();
                return self.popped(at, target);
            }
            let near = self.near.next_after(self.cursor).unwrap_or(NO_BUCKET);
            let first = near.min(self.coarse_next);
            if self.heap_next <= limit && (first == NO_BUCKET || self.bucket(self.heap_next) < first) {
                let bucket = self.bucket(self.heap_next);
                let event = self.pop_heap(limit);
                // Forwards only: the entries of the rings lie within one turn from here.
                if event.is_some() && bucket > self.cursor {
                    self.stand_at(bucket);
                }
                return event;
            }
            // A bucket that begins after the limit is left alone: an earlier event may yet be pushed.
            if first == NO_BUCKET || (first as u64) << self.shift > limit {
                return None;
            }
            if self.pace.due(&self.load, self.len) && self.adapt() {
                continue;
            }
            if self.coarse_next <= near {
                self.deal_out_coarse();
            } else {
                self.gather(near);
            }
        }
    }

    fn pop_heap(&mut self, limit: u64) -> Option<(Time, u32)> {
        if self.heap_next > limit {
            return None;
        }
        let Reverse((at, target)) = self.heap.pop()?;
        self.heap_next = self.heap.peek().map_or(u64::MAX, |&Reverse((next, _))| next);
        self.popped(at, target)
    }

    #[inline]
    fn stand_at(&mut self, bucket: i64) {
        self.cursor = bucket;
        self.high = self.high_of(bucket);
    }

    /// Makes the near bucket `bucket` the current one. `current` is empty.
    #[inline]
    fn gather(&mut self, bucket: i64) {
        self.stand_at(bucket);
        self.near.take(bucket, &mut self.pool, &mut self.current);
        sort_latest_first(&mut self.current);
        self.load.count(&self.current);
    }

    /// Distributes the first coarse bucket over the near ones. `current` is empty and no near bucket before
    /// the coarse one is occupied.
    #[inline(never)]
    fn deal_out_coarse(&mut self) {
        let first = self.coarse_next;
        let high = self.high_of(first);
        if first - self.cursor > self.near.buckets() as i64 - (1 << self.coarse_bits) {
            self.stand_at(first - 1);
        }
        let coarse = first >> self.coarse_bits;
        let mut head = self.coarse.detach(coarse);
        while let Some((chunk, used)) = self.pool.release(&mut head) {
            for &entry in &chunk[..used] {
                let (at, _) = Self::event(high, entry);
                self.near.put(self.bucket(at), entry, &mut self.pool);
            }
        }
        self.coarse_next = self.coarse.next_after(coarse).map_or(NO_BUCKET, |next| next << self.coarse_bits);
    }

    /// Changes the width of the buckets if the load asks for it. `current` is empty afterwards.
    #[cold]
    fn adapt(&mut self) -> bool {
        let shift = self.pace.next_shift(self.shift, &std::mem::take(&mut self.load));
        if shift == self.shift {
            return false;
        }
        let mut events: Vec<(u64, u32)> = self.heap.drain().map(|Reverse(event)| event).collect();
        self.heap_next = u64::MAX;
        let mut entries = std::mem::take(&mut self.current);
        events.extend(entries.drain(..).map(|entry| Self::event(self.high, entry)));
        let mut from = self.cursor;
        while let Some(bucket) = self.near.next_after(from) {
            self.near.take(bucket, &mut self.pool, &mut entries);
            let high = self.high_of(bucket);
            events.extend(entries.drain(..).map(|entry| Self::event(high, entry)));
            from = bucket;
        }
        let mut from = self.cursor >> self.coarse_bits;
        while let Some(bucket) = self.coarse.next_after(from) {
            self.coarse.take(bucket, &mut self.pool, &mut entries);
            let high = self.high_of(bucket << self.coarse_bits);
            events.extend(entries.drain(..).map(|entry| Self::event(high, entry)));
            from = bucket;
        }
        self.coarse_next = NO_BUCKET;
        // Standing one bucket back keeps the present time within the turn and `current` empty.
        let now = if self.cursor < 0 { 0 } else { (self.cursor as u64) << self.shift };
        self.shift = shift;
        self.stand_at(self.bucket(now) - 1);
        self.current = entries;
        for (at, target) in events {
            self.insert(at, target);
        }
        self.load = Load::default();
        true
    }
}

#[inline]
fn sort_latest_first(entries: &mut [u64]) {
    entries.sort_unstable_by(|a, b| b.cmp(a));
}

impl EventQueue for TimeWheel {
    fn with_targets(targets: usize) -> Self {
        Self::with_shape(targets, SHIFT, BUCKETS)
    }

    #[inline]
    fn push(&mut self, at: Time, target: u32) {
        self.contract.pushed(at, target);
        self.len += 1;
        self.insert(at.0, target);
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<(Time, u32)> {
        if let Some(&entry) = self.current.last() {
            let (at, target) = Self::event(self.high, entry);
            if at <= limit.0 && at < self.heap_next {
                self.current.pop();
                return self.popped(at, target);
            }
        }
        self.pop_slow(limit.0)
    }

    fn next_time(&self) -> Option<Time> {
        let heap = self.heap.peek().map(|&Reverse((at, _))| at);
        let near = || {
            let bucket = self.near.next_after(self.cursor)?;
            Some((bucket, self.high_of(bucket) | self.near.first(bucket, &self.pool)? >> TARGET_BITS))
        };
        let coarse = |near: Option<(i64, u64)>| {
            if near.is_some_and(|(bucket, _)| bucket < self.coarse_next) {
                return None;
            }
            let first = self.coarse.first(self.coarse_next >> self.coarse_bits, &self.pool)?;
            Some(self.high_of(self.coarse_next) | first >> TARGET_BITS)
        };
        let rings = match self.current.last() {
            Some(&entry) => Some(Self::event(self.high, entry).0),
            None => {
                let near = near();
                near.map(|(_, at)| at).into_iter().chain(coarse(near)).min()
            }
        };
        heap.into_iter().chain(rings).min().map(Time)
    }

    #[inline]
    fn upcoming(&self) -> &[u64] {
        &self.current
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}
