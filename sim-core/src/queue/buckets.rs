//! A ring of unsorted buckets over a shared pool of cache-line chunks: the storage of the time wheel.

/// Entries a chunk holds.
const CAPACITY: usize = 7;
/// Bits of a head that count the free slots of its chunk (0..CAPACITY).
const ROOM_BITS: u32 = 3;
const ROOM_MASK: u32 = (1 << ROOM_BITS) - 1;

/// One cache line of entries, chained to the next older chunk of its bucket.
#[derive(Debug)]
#[repr(C, align(64))]
struct Chunk {
    entries: [u64; CAPACITY],
    next: Head,
}

const _: () = assert!(size_of::<Chunk>() == 64);

/// Chunk index and free slots of the newest chunk of a bucket; 0 is an empty bucket. "No room" and "empty"
/// both have zero free slots, so one test decides whether a push takes a new chunk.
pub(super) type Head = u32;

/// All chunks, in use and free. Chunk 0 is never handed out.
#[derive(Debug)]
pub(super) struct Pool {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { chunks: vec![Chunk { entries: [0; CAPACITY], next: 0 }], free: Vec::new() }
    }

    /// Puts `entry` into a fresh chunk in front of the chain `next` and returns the new head.
    #[inline]
    fn start_chunk(&mut self, entry: u64, next: Head) -> Head {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        let chunk = &mut self.chunks[index as usize];
        chunk.entries[0] = entry;
        chunk.next = next;
        index << ROOM_BITS | (CAPACITY as u32 - 1)
    }

    /// Frees the first chunk of the chain `head`, which moves on to the rest, and returns its entries and how
    /// many of them are in use.
    #[inline]
    pub(super) fn release(&mut self, head: &mut Head) -> Option<([u64; CAPACITY], usize)> {
        if *head == 0 {
            return None;
        }
        let index = *head >> ROOM_BITS;
        let used = CAPACITY - (*head & ROOM_MASK) as usize;
        let chunk = &self.chunks[index as usize];
        let entries = chunk.entries;
        *head = chunk.next;
        self.free.push(index);
        Some((entries, used))
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let index = self.chunks.len();
        assert!(index < 1 << (32 - ROOM_BITS), "too many pending events for one queue");
        self.chunks.push(Chunk { entries: [0; CAPACITY], next: 0 });
        index as u32
    }
}

/// A power of two of buckets, addressed modulo their number by absolute bucket numbers. The owner keeps all
/// occupied numbers within one turn, so that a slot never mixes two of them.
#[derive(Debug)]
pub(super) struct Ring {
    heads: Box<[Head]>,
    /// One bit a bucket: it has entries.
    occupied: Box<[u64]>,
    /// One bit a word of `occupied`: it is not zero.
    summary: Box<[u64]>,
}

impl Ring {
    /// A ring of `buckets` empty buckets, a power of two and at least 64.
    pub(super) fn new(buckets: usize) -> Self {
        assert!(buckets.is_power_of_two() && buckets >= 64, "{buckets} buckets: not a power of two from 64");
        Self {
            heads: vec![0; buckets].into(),
            occupied: vec![0; buckets / 64].into(),
            summary: vec![0; (buckets / 64).div_ceil(64)].into(),
        }
    }

    #[inline]
    pub(super) fn buckets(&self) -> usize {
        self.heads.len()
    }

    #[inline]
    fn slot(&self, bucket: i64) -> usize {
        bucket as usize & (self.heads.len() - 1)
    }

    /// Adds `entry` to `bucket`. O(1).
    #[inline]
    pub(super) fn put(&mut self, bucket: i64, entry: u64, pool: &mut Pool) {
        let slot = self.slot(bucket);
        let head = self.heads[slot];
        let room = head & ROOM_MASK;
        if room == 0 {
            self.heads[slot] = pool.start_chunk(entry, head);
            if head == 0 {
                self.occupied[slot / 64] |= 1 << (slot % 64);
                self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
            }
        } else {
            pool.chunks[(head >> ROOM_BITS) as usize].entries[CAPACITY - room as usize] = entry;
            self.heads[slot] = head - 1;
        }
    }

    /// Empties `bucket` and returns its chain, to be passed to [`Pool::release`].
    #[inline]
    pub(super) fn detach(&mut self, bucket: i64) -> Head {
        let slot = self.slot(bucket);
        let word = &mut self.occupied[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.summary[slot / 4096] &= !(1 << (slot / 64 % 64));
        }
        std::mem::take(&mut self.heads[slot])
    }

    /// Moves all entries of `bucket` to the end of `out`.
    #[inline]
    pub(super) fn take(&mut self, bucket: i64, pool: &mut Pool, out: &mut Vec<u64>) {
        let mut head = self.detach(bucket);
        while let Some((entries, used)) = pool.release(&mut head) {
            // A copy of fixed length and a cut are cheaper than a copy of the length in use.
            out.extend_from_slice(&entries);
            out.truncate(out.len() - (CAPACITY - used));
        }
    }

    /// The least entry of `bucket`. O(entries of the bucket).
    pub(super) fn first(&self, bucket: i64, pool: &Pool) -> Option<u64> {
        let mut head = self.heads[self.slot(bucket)];
        let mut first = None;
        while head != 0 {
            let chunk = &pool.chunks[(head >> ROOM_BITS) as usize];
            let used = CAPACITY - (head & ROOM_MASK) as usize;
            first = chunk.entries[..used].iter().copied().chain(first).min();
            head = chunk.next;
        }
        first
    }

    /// The first occupied bucket after `bucket`, within one turn.
    #[inline]
    pub(super) fn next_after(&self, bucket: i64) -> Option<i64> {
        let first = bucket.wrapping_add(1);
        if self.heads[self.slot(first)] != 0 {
            return Some(first);
        }
        let start = self.slot(first);
        let found = self.first_occupied_from(start)?;
        Some(first + (found.wrapping_sub(start) & (self.heads.len() - 1)) as i64)
    }

    /// The first occupied slot from `start` on, around the ring.
    fn first_occupied_from(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let rest = self.occupied[word] & (!0 << (start % 64));
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        let word = self.first_word_from(word + 1).or_else(|| self.first_word_from(0))?;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// The first word of `occupied` that is not zero, from `start` to the end.
    fn first_word_from(&self, start: usize) -> Option<usize> {
        let mut mask = !0 << (start % 64);
        for index in start / 64..self.summary.len() {
            let words = self.summary[index] & mask;
            if words != 0 {
                return Some(index * 64 + words.trailing_zeros() as usize);
            }
            mask = !0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &mut Ring, bucket: i64, pool: &mut Pool) -> Vec<u64> {
        let mut out = Vec::new();
        ring.take(bucket, pool, &mut out);
        out.sort_unstable();
        out
    }

    #[test]
    fn a_bucket_returns_what_was_put_and_frees_its_chunks() {
        let (mut ring, mut pool) = (Ring::new(64), Pool::new());
        for count in [1, 6, 7, 8, 14, 15, 100] {
            for entry in 0..count {
                ring.put(70, entry, &mut pool);
            }
            ring.put(71, 9, &mut pool);
            assert_eq!(taken(&mut ring, 70, &mut pool), (0..count).collect::<Vec<_>>());
            assert_eq!(taken(&mut ring, 71, &mut pool), [9]);
            assert_eq!(ring.next_after(69), None);
            assert_eq!(pool.free.len() + 1, pool.chunks.len());
        }
    }

    #[test]
    fn next_after_finds_the_nearest_bucket_around_the_ring() {
        for buckets in [64, 128, 8192] {
            let turn = buckets as i64;
            for at in [1, 2, 63, 64, 65, turn - 1, turn, turn + 1, turn * 1000 + 17] {
                for gap in [1, 2, 62, 63, turn / 2, turn - 1] {
                    let (mut ring, mut pool) = (Ring::new(buckets), Pool::new());
                    assert_eq!(ring.next_after(at), None);
                    ring.put(at + gap, 1, &mut pool);
                    assert_eq!(ring.next_after(at), Some(at + gap), "{buckets} buckets, from {at} by {gap}");
                    ring.put(at + turn - 1, 1, &mut pool);
                    assert_eq!(ring.next_after(at), Some(at + gap), "{buckets} buckets, from {at} by {gap}");
                }
            }
        }
    }
}
