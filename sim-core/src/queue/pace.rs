//! How wide a bucket of the time wheel should be: from what the buckets held, with hysteresis.

/// Entries a bucket should hold when the wheel reaches it.
const TARGET: u64 = 24;
/// Above this many entries of different times a bucket the buckets become narrower.
const CROWDED: u64 = 64;
/// Below this many entries a bucket the buckets become wider.
const SPARSE: u64 = 10;
/// The narrowest bucket is `1 << MIN_SHIFT` ps. The number of any bucket then fits an `i64` with room to spare.
const MIN_SHIFT: u32 = 2;
/// Fewest events between two changes.
const SHORTEST: u64 = 4096;
/// Limit of the doublings of the time between changes.
const MOST_PATIENCE: u32 = 8;

/// What the wheel met since the last decision.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Events gathered from buckets or pushed into the current one.
    pub(super) gathered: u64,
    /// Buckets the wheel stood at.
    buckets: u64,
    /// Like `gathered`, with events at one time in a crowded bucket counted once: a narrower bucket would not
    /// part them.
    distinct: u64,
    /// Events pushed into a current bucket too crowded to sort them in, and which a narrower one may part from
    /// the rest.
    diverted: u64,
    /// Events beyond the coarse ring.
    pub(super) beyond: u64,
}

impl Load {
    /// Counts a bucket with these sorted entries.
    #[inline]
    pub(super) fn count(&mut self, entries: &[u64]) {
        let held = entries.len() as u64;
        self.buckets += 1;
        self.gathered += held;
        self.distinct += if held <= CROWDED { held } else { distinct_times(entries) };
    }

    /// Counts an entry that goes to the heap because `earlier` and many others are before it.
    #[inline]
    pub(super) fn divert(&mut self, entry: u64, earlier: u64) {
        self.diverted += u64::from(entry >> 32 != earlier >> 32);
    }
}

#[cold]
fn distinct_times(entries: &[u64]) -> u64 {
    1 + entries.windows(2).filter(|pair| pair[0] >> 32 != pair[1] >> 32).count() as u64
}

/// Which way the width went last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Narrower,
    Wider,
}

/// Decides on the width of a bucket.
#[derive(Debug)]
pub(super) struct Pace {
    max_shift: u32,
    last: Option<Turn>,
    /// Each change of direction doubles the events to the next decision, each decision to stay halves it.
    patience: u32,
}

impl Pace {
    /// A pace that never widens a bucket beyond `1 << max_shift` ps.
    pub(super) fn new(max_shift: u32) -> Self {
        Self { max_shift, last: None, patience: 0 }
    }

    /// The permitted shift nearest to `shift`.
    pub(super) fn clamp(&self, shift: u32) -> u32 {
        shift.clamp(MIN_SHIFT, self.max_shift)
    }

    /// Whether enough was seen for a decision. A change costs time in proportion to the events pending.
    #[inline]
    pub(super) fn due(&self, load: &Load, pending: usize) -> bool {
        load.gathered + load.beyond >= SHORTEST.max(pending as u64) << self.patience
    }

    /// Whether the current bucket is so crowded that a decision should not wait for its end.
    #[inline]
    pub(super) fn overdue(&self, load: &Load, pending: usize) -> bool {
        load.diverted >= SHORTEST.max(pending as u64) << self.patience
    }

    /// The shift to go on with.
    pub(super) fn next_shift(&mut self, shift: u32, load: &Load) -> u32 {
        let buckets = load.buckets.max(1);
        let (held, distinct) = (load.gathered / buckets, load.distinct / buckets);
        let mut narrower = if distinct > CROWDED { (distinct / TARGET).ilog2() } else { 0 };
        if load.diverted * 4 > load.gathered {
            narrower = narrower.max(3);
        }
        let wanted = if load.beyond * 8 > load.gathered {
            shift + 2
        } else if narrower > 0 && load.beyond * 64 < load.gathered {
            shift.saturating_sub(narrower)
        } else if held < SPARSE {
            shift + (TARGET / held.max(1)).ilog2()
        } else {
            shift
        };
        let wanted = self.clamp(wanted);
        let turn = match wanted.cmp(&shift) {
            std::cmp::Ordering::Less => Turn::Narrower,
            std::cmp::Ordering::Greater => Turn::Wider,
            std::cmp::Ordering::Equal => {
                self.patience = self.patience.saturating_sub(1);
                return shift;
            }
        };
        if self.last.replace(turn).is_some_and(|last| last != turn) {
            self.patience = (self.patience + 1).min(MOST_PATIENCE);
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load of `buckets` buckets with `held` events each, all at different times.
    fn load(buckets: u64, held: u64) -> Load {
        Load { gathered: buckets * held, buckets, distinct: buckets * held, ..Load::default() }
    }

    #[test]
    fn crowded_buckets_become_narrower_and_sparse_ones_wider() {
        assert_eq!(Pace::new(20).next_shift(12, &load(100, 24)), 12);
        assert_eq!(Pace::new(20).next_shift(12, &load(100, 96)), 10);
        assert_eq!(Pace::new(20).next_shift(12, &load(100, 6)), 14);
        assert_eq!(Pace::new(20).next_shift(12, &load(100, 1)), 16);
    }

    #[test]
    fn the_shift_stays_in_its_range() {
        assert_eq!(Pace::new(20).next_shift(19, &load(100, 1)), 20);
        assert_eq!(Pace::new(20).next_shift(4, &load(1, 100_000)), MIN_SHIFT);
    }

    #[test]
    fn no_change_calls_for_the_opposite_one() {
        // A steady load halves or doubles the events of a bucket with the width.
        for held in 1..10_000 {
            let mut pace = Pace::new(60);
            let shift = pace.next_shift(30, &load(1000, held));
            let then = if shift < 30 { held >> (30 - shift) } else { held << (shift - 30) };
            assert_eq!(
                pace.next_shift(shift, &load(1000, then)),
                shift,
                "{held} events a bucket, then {then}"
            );
        }
    }

    #[test]
    fn ties_do_not_count_as_crowding() {
        let mut ties = Load::default();
        ties.count(&vec![7 << 32; 1000]);
        assert_eq!(Pace::new(20).next_shift(12, &ties), 12);
        let mut apart = Load::default();
        apart.count(&(0..1000u64).map(|time| time << 32).collect::<Vec<_>>());
        assert!(Pace::new(20).next_shift(12, &apart) < 12);
    }

    #[test]
    fn a_bucket_too_crowded_to_sort_into_becomes_narrower_before_its_end() {
        let mut pace = Pace::new(20);
        let mut load = Load::default();
        for time in 1..=SHORTEST {
            assert!(!pace.overdue(&load, 0));
            load.gathered += 1;
            load.divert(time << 32, time << 32 | 1);
            load.divert(time << 32, 0);
        }
        assert!(pace.overdue(&load, 0));
        assert!(!pace.overdue(&load, SHORTEST as usize + 1));
        assert_eq!(pace.next_shift(12, &load), 9);
    }

    #[test]
    fn many_events_beyond_the_rings_widen_and_some_forbid_to_narrow() {
        assert_eq!(Pace::new(20).next_shift(12, &Load { beyond: 500, ..load(10, 100) }), 14);
        assert_eq!(Pace::new(20).next_shift(12, &Load { beyond: 50, ..load(10, 100) }), 12);
        assert_eq!(Pace::new(20).next_shift(12, &Load { beyond: 5, ..load(10, 100) }), 10);
    }

    #[test]
    fn changes_of_direction_become_rarer() {
        let mut pace = Pace::new(20);
        let seen = load(SHORTEST, 1);
        assert!(pace.due(&seen, 0));
        assert!(!pace.due(&seen, SHORTEST as usize + 1));
        pace.next_shift(12, &load(100, 96));
        pace.next_shift(10, &load(100, 1));
        assert!(!pace.due(&seen, 0));
        pace.next_shift(14, &load(100, 24));
        assert!(pace.due(&seen, 0));
    }
}
