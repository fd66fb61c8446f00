//! A first-in first-out ring buffer for small Copy values: the queues and links of the hot path.

use crate::prefetch::prefetch;

/// A FIFO whose capacity is a power of two and doubles when it is full. It never shrinks, so a steady state
/// allocates nothing.
#[derive(Debug, Clone)]
pub struct Ring<T: Copy> {
    slots: Vec<T>,
    head: u32,
    len: u32,
}

impl<T: Copy> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Values held.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `value` at the tail. Amortised O(1).
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len as usize == self.slots.len() {
            self.grow(value);
        }
        let mask = self.slots.len() as u32 - 1;
        let tail = (self.head.wrapping_add(self.len)) & mask;
        debug_assert!(self.slots.len().is_power_of_two());
        // SAFETY: the length is a power of two (grow makes it one), so a masked index is below it.
        unsafe { *self.slots.get_unchecked_mut(tail as usize) = value };
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, fill: T) {
        let old = self.slots.len();
        let mut slots = Vec::with_capacity((old * 2).max(4));
        slots.extend(self.iter().copied());
        slots.resize((old * 2).max(4), fill);
        self.slots = slots;
        self.head = 0;
    }

    /// Takes the value at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        debug_assert!((self.head as usize) < self.slots.len());
        // SAFETY: the head is always masked below the length, which is not zero while something is held.
        let value = unsafe { *self.slots.get_unchecked(self.head as usize) };
        self.head = (self.head + 1) & (self.slots.len() as u32 - 1);
        self.len -= 1;
        Some(value)
    }

    /// The value at the head, left in place.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        debug_assert!((self.head as usize) < self.slots.len());
        // SAFETY: as in `pop`.
        Some(unsafe { self.slots.get_unchecked(self.head as usize) })
    }

    /// Fetches the slot at the head and the one behind it into the cache.
    #[inline]
    pub fn prefetch_head(&self) {
        let mask = (self.slots.len() as u32).wrapping_sub(1);
        prefetch(&self.slots, self.head as usize);
        prefetch(&self.slots, ((self.head + 1) & mask) as usize);
    }

    /// Fetches the slot the next push will use into the cache.
    #[inline]
    pub fn prefetch_tail(&self) {
        let mask = (self.slots.len() as u32).wrapping_sub(1);
        prefetch(&self.slots, (self.head.wrapping_add(self.len) & mask) as usize);
    }

    /// The values from head to tail.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|i| &self.slots[(self.head.wrapping_add(i)) as usize & (self.slots.len() - 1)])
    }

    /// Drops everything held; keeps the memory.
    pub fn clear(&mut self) {
        self.head = 0;
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn behaves_as_a_deque() {
        let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
        let mut x = 12345u32;
        for i in 0..10_000u32 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if x >> 31 == 0 || i % 7 == 0 {
                ring.push(i);
                deque.push_back(i);
            } else {
                assert_eq!(ring.pop(), deque.pop_front());
            }
            assert_eq!(ring.front(), deque.front());
            assert_eq!(ring.len(), deque.len());
        }
        assert!(ring.iter().eq(deque.iter()));
    }
}
