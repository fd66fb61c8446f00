//! A pool of slots that lists link into queues: values stay where they are while they move from queue to queue.

/// No slot.
pub const NONE: u32 = u32::MAX;

/// A first-in first-out list of slots of a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl List {
    /// Whether the list holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The first slot, or [`NONE`].
    #[inline]
    pub fn first(&self) -> u32 {
        self.head
    }
}

/// What follows a slot on its list.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// When the slot behind is due, on lists in order of time.
    at: u64,
    /// The slot behind, or [`NONE`].
    slot: u32,
}

/// Slots for values of one kind. A slot is on at most one list; its owner knows which. A freed slot is the next one
/// handed out, so that the slots in use stay few and in the cache.
///
/// A list may be a timetable: each slot is appended with the time it is due, which is kept with the slot before it, so
/// that taking the first slot off tells when the next is due without touching that one.
#[derive(Clone, Debug)]
pub struct Pool<T: Copy> {
    slots: Vec<T>,
    next: Vec<Next>,
    free: Vec<u32>,
}

impl<T: Copy> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), next: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Pool<T> {
    /// Takes a slot for `value`. Amortised O(1).
    #[inline]
    pub fn take(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            *self.get_mut(slot) = value;
            return slot;
        }
        self.grow(value)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, value: T) -> u32 {
        let slot = self.slots.len() as u32;
        assert!(slot < NONE, "a pool holds at most 2^32 - 1 values");
        self.slots.push(value);
        self.next.push(Next { at: 0, slot: NONE });
        slot
    }

    /// Gives a slot back. It must not be on a list.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The value in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &T {
        debug_assert!((slot as usize) < self.slots.len());
        // SAFETY: slots are handed out by `grow` only, below the length, and the length never falls.
        unsafe { self.slots.get_unchecked(slot as usize) }
    }

    /// The value in a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        debug_assert!((slot as usize) < self.slots.len());
        // SAFETY: as in `get`.
        unsafe { self.slots.get_unchecked_mut(slot as usize) }
    }

    /// Fetches a slot and what follows it into the cache; [`NONE`] fetches nothing of use.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        crate::prefetch::prefetch(&self.slots, slot as usize);
        crate::prefetch::prefetch(&self.next, slot as usize);
    }

    #[inline]
    fn next(&self, slot: u32) -> Next {
        debug_assert!((slot as usize) < self.next.len());
        // SAFETY: `next` is as long as `slots`.
        unsafe { *self.next.get_unchecked(slot as usize) }
    }

    #[inline]
    fn set_next(&mut self, slot: u32, next: Next) {
        debug_assert!((slot as usize) < self.next.len());
        // SAFETY: as in `next`.
        unsafe { *self.next.get_unchecked_mut(slot as usize) = next };
    }

    /// Puts `slot`, due `at`, at the end of `list`. Returns whether the list was empty: then the caller keeps `at`.
    #[inline]
    pub fn append(&mut self, list: &mut List, slot: u32, at: u64) -> bool {
        self.set_next(slot, Next { at: 0, slot: NONE });
        let first = list.head == NONE;
        if first {
            list.head = slot;
        } else {
            self.set_next(list.tail, Next { at, slot });
        }
        list.tail = slot;
        first
    }

    /// Takes the first slot off `list`, which must not be empty. Returns it, and when the next is due if there is one.
    #[inline]
    pub fn detach(&self, list: &mut List) -> (u32, Option<u64>) {
        debug_assert!(list.head != NONE, "nothing to take off an empty list");
        let slot = list.head;
        let next = self.next(slot);
        list.head = next.slot;
        (slot, (next.slot != NONE).then_some(next.at))
    }

    /// The values of `list`, in order.
    pub fn iter<'a>(&'a self, list: &List) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let first = (list.head != NONE).then_some(list.head);
        std::iter::successors(first, |&slot| Some(self.next(slot).slot).filter(|&next| next != NONE))
            .map(|slot| self.get(slot))
    }

    /// Changes the values of all slots, those not handed out too.
    pub fn for_each(&mut self, change: impl FnMut(&mut T)) {
        self.slots.iter_mut().for_each(change);
    }

    /// Slots handed out and not given back.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_move_between_lists_in_order() {
        let mut pool = Pool::default();
        let (mut a, mut b) = (List::default(), List::default());
        for value in 0..100u32 {
            let slot = pool.take(value);
            assert_eq!(pool.append(&mut a, slot, 1000 + u64::from(value)), value == 0);
        }
        for value in 0..50u32 {
            let (slot, next) = pool.detach(&mut a);
            assert_eq!(*pool.get(slot), value);
            assert_eq!(next, Some(1001 + u64::from(value)));
            pool.append(&mut b, slot, 0);
        }
        assert!(pool.iter(&a).copied().eq(50..100));
        assert!(pool.iter(&b).copied().eq(0..50));
        while !b.is_empty() {
            let (slot, _) = pool.detach(&mut b);
            pool.release(slot);
        }
        assert_eq!(b.first(), NONE);
        assert_eq!(pool.in_use(), 50);
        assert_eq!(pool.take(7), 49, "the slot freed last is used first");
        let slot = pool.take(8);
        assert!(pool.append(&mut b, slot, 0), "a list that ran empty starts anew");
        assert_eq!(pool.detach(&mut b), (slot, None));
    }

    #[test]
    fn values_can_be_changed_in_all_slots() {
        let mut pool = Pool::default();
        let slots: Vec<u32> = (0..3u32).map(|value| pool.take(value)).collect();
        pool.for_each(|value| *value += 10);
        assert!(slots.iter().all(|&slot| *pool.get(slot) == slot + 10));
    }
}
