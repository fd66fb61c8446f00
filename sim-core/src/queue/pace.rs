//! How wide a bucket of the time wheel should be: from what the buckets held, with hysteresis.

/// Entries a bucket should hold when the wheel reaches it.
const TARGET: u64 = 8;
/// Above this many entries of different times a bucket the buckets become narrower.
const CROWDED: u64 = 24;
/// Below this many entries a bucket the buckets become wider.
const SPARSE: u64 = 3;
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

    #[inline]
    pub(super) fn max_shift(&self) -> u32 {
        self.max_shift
    }

    /// Whether enough was seen for a decision. A change costs time in proportion to the events pending.
    #[inline]
    pub(super) fn due(&self, load: &Load, pending: usize) -> bool {
        load.gathered + load.beyond >= SHORTEST.max(pending as u64) << self.patience
    }

    /// The shift to go on with.
    pub(super) fn next_shift(&mut self, shift: u32, load: &Load) -> u32 {
        let buckets = load.buckets.max(1);
        let (held, distinct) = (load.gathered / buckets, load.distinct / buckets);
        let wanted = if load.beyond * 8 > load.gathered {
            shift + 2
        } else if distinct > CROWDED && load.beyond * 64 < load.gathered {
            shift.saturating_sub((distinct / TARGET).ilog2())
        } else if held < SPARSE {
            shift + (TARGET / held.max(1)).ilog2()
        } else {
            shift
        };
        let wanted = wanted.min(self.max_shift);
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
