//! The time wheel and the binary heap give, for any interleaving of pushes and pops, the sequence of the
//! reference queue.

use proptest::prelude::*;
use proptest::sample::select;
use sim_core::Time;
use sim_core::queue::{BinaryHeapQueue, EventQueue, PriorityQueueReference, TimeWheel};
use sim_core::random::{Purpose, below, stream};

/// All queues, driven alike; each answer is compared.
struct Trio {
    wheel: TimeWheel,
    heap: BinaryHeapQueue,
    reference: PriorityQueueReference,
    /// Targets without a pending event.
    idle: Vec<u32>,
    /// Time of the last popped event.
    now: u64,
}

impl Trio {
    fn new(targets: usize, wheel: TimeWheel) -> Self {
        Self {
            wheel,
            heap: BinaryHeapQueue::with_targets(targets),
            reference: PriorityQueueReference::with_targets(targets),
            idle: (0..targets as u32).collect(),
            now: 0,
        }
    }

    /// Pushes an idle target, chosen by `pick`, at `delay` after the last popped event.
    fn push(&mut self, pick: usize, delay: u64) {
        if self.idle.is_empty() {
            return;
        }
        let target = self.idle.swap_remove(pick % self.idle.len());
        let at = Time(self.now.saturating_add(delay));
        self.wheel.push(at, target);
        self.heap.push(at, target);
        self.reference.push(at, target);
    }

    fn pop(&mut self, limit: u64) -> Option<(Time, u32)> {
        let limit = Time(limit);
        assert_eq!(self.wheel.next_time(), self.reference.next_time());
        assert_eq!(self.heap.next_time(), self.reference.next_time());
        let due = self.reference.pop_until(limit);
        assert_eq!(self.wheel.pop_until(limit), due, "wheel, limit {limit:?}, last event at {}", self.now);
        assert_eq!(self.heap.pop_until(limit), due, "heap, limit {limit:?}, last event at {}", self.now);
        assert_eq!(self.wheel.len(), self.reference.len());
        assert_eq!(self.wheel.is_empty(), self.reference.is_empty());
        if let Some((at, target)) = due {
            self.now = at.0;
            self.idle.push(target);
        }
        due
    }

    fn drain(&mut self) {
        while self.pop(u64::MAX).is_some() {}
    }
}

/// One step of a random interleaving.
#[derive(Clone, Debug)]
enum Step {
    Push {
        pick: usize,
        delay: u64,
    },
    /// Many targets at one time.
    Burst {
        count: usize,
        delay: u64,
    },
    /// Many targets over a span.
    Spread {
        count: usize,
        step: u64,
    },
    Pop {
        count: usize,
    },
    /// Pops all until a limit this long after the last popped event.
    PopUntil {
        ahead: u64,
    },
    /// Pops and pushes the same target again, as a simulation does.
    Hold {
        count: usize,
        delays: Vec<u64>,
    },
}

/// From one tick to centuries, small and round numbers among them.
fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0u64..4,
        3 => 0u64..2_000,
        4 => 20_000u64..200_000,
        4 => 500_000u64..2_000_000,
        2 => 10_000_000u64..300_000_000,
        1 => 1_000_000_000u64..10_000_000_000_000,
        1 => select(vec![1 << 12, 1 << 20, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 44, 1 << 56]),
        1 => 0u64..(u64::MAX / 64),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<usize>(), delay()).prop_map(|(pick, delay)| Step::Push { pick, delay }),
        1 => (1usize..150, delay()).prop_map(|(count, delay)| Step::Burst { count, delay }),
        1 => (1usize..100, 0u64..300_000).prop_map(|(count, step)| Step::Spread { count, step }),
        3 => (1usize..20).prop_map(|count| Step::Pop { count }),
        1 => Just(Step::Pop { count: 300 }),
        3 => delay().prop_map(|ahead| Step::PopUntil { ahead }),
        3 => (1usize..200, prop::collection::vec(delay(), 1..6))
            .prop_map(|(count, delays)| Step::Hold { count, delays }),
    ]
}

fn run(queues: &mut Trio, step: &Step) {
    match step {
        Step::Push { pick, delay } => queues.push(*pick, *delay),
        Step::Burst { count, delay } => (0..*count).for_each(|index| queues.push(index * 7, *delay)),
        Step::Spread { count, step } => (0..*count).for_each(|index| queues.push(index, index as u64 * step)),
        Step::Pop { count } => {
            for _ in 0..*count {
                queues.pop(u64::MAX);
            }
        }
        Step::PopUntil { ahead } => {
            let limit = queues.now.saturating_add(*ahead);
            while queues.pop(limit).is_some() {}
        }
        Step::Hold { count, delays } => {
            for index in 0..*count {
                if queues.pop(u64::MAX).is_some() {
                    queues.push(queues.idle.len() - 1, delays[index % delays.len()]);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn queues_agree(
        steps in prop::collection::vec(step(), 1..80),
        shift in 0u32..28,
        buckets in select(vec![64, 128, 4096, 8192]),
    ) {
        let mut queues = Trio::new(200, TimeWheel::with_shape(200, shift, buckets));
        for step in &steps {
            run(&mut queues, step);
        }
        queues.drain();
    }
}

/// Starts all idle targets within `spread`, runs the hold model with increments below it and returns the shift
/// that the wheel came to.
fn hold(queues: &mut Trio, steps: usize, seed: u64, spread: u64) -> u32 {
    let mut random = stream(seed, Purpose::Test, 0);
    while !queues.idle.is_empty() {
        queues.push(0, below(&mut random, spread));
    }
    for _ in 0..steps {
        // Now and then a limit short of the next event, as at the end of a window.
        if below(&mut random, 16) == 0 {
            queues.pop(queues.now + below(&mut random, spread / 64));
        }
        if queues.pop(u64::MAX).is_some() {
            queues.push(queues.idle.len() - 1, below(&mut random, spread));
        }
        while queues.idle.len() > 3 {
            queues.push(0, below(&mut random, spread));
        }
    }
    queues.wheel.shift()
}

#[test]
fn buckets_follow_the_traffic_and_keep_the_order() {
    for buckets in [64, 1024, 8192] {
        let targets = 2000;
        let mut queues = Trio::new(targets, TimeWheel::with_shape(targets, 12, buckets));
        // 2000 events within 1 us, then within 100 us, 50 ns, 4 us.
        let dense = hold(&mut queues, 30_000, 1, 1_000_000);
        queues.drain();
        let thin = hold(&mut queues, 60_000, 2, 100_000_000);
        queues.drain();
        let denser = hold(&mut queues, 60_000, 3, 50_000);
        queues.drain();
        let last = hold(&mut queues, 60_000, 4, 4_000_000);
        assert!(thin >= dense + 5, "{buckets} buckets: shift {dense} for 1 us and {thin} for 100 us");
        assert!(denser + 9 <= thin, "{buckets} buckets: shift {thin} for 100 us and {denser} for 50 ns");
        assert!(last >= denser + 4, "{buckets} buckets: shift {denser} for 50 ns and {last} for 4 us");
        queues.drain();
    }
}

#[test]
fn a_steady_load_does_not_change_the_buckets() {
    let targets = 1000;
    let mut queues = Trio::new(targets, TimeWheel::with_targets(targets));
    let settled = hold(&mut queues, 50_000, 1, 10_000_000);
    for seed in 2..12 {
        assert_eq!(hold(&mut queues, 10_000, seed, 10_000_000), settled);
    }
}

#[test]
fn ties_do_not_make_the_buckets_narrower() {
    let targets = 1000;
    let mut queues = Trio::new(targets, TimeWheel::with_shape(targets, 12, 1024));
    for round in 0..40 {
        (0..targets).for_each(|pick| queues.push(pick * 31, 1_000_000));
        for popped in 0..targets {
            assert!(queues.pop(u64::MAX).is_some(), "round {round}, event {popped}");
        }
    }
    assert!(queues.wheel.shift() >= 12, "shift {}", queues.wheel.shift());
}

#[test]
fn a_pop_that_finds_nothing_due_leaves_room_for_earlier_events() {
    for (first, limit, second) in
        [(5_000_000, 3_000_000, 3_000_000), (1 << 40, 1 << 39, (1 << 39) + 1), (1 << 50, 10, 11)]
    {
        let mut queues = Trio::new(3, TimeWheel::with_shape(3, 12, 64));
        queues.push(0, first);
        assert_eq!(queues.pop(limit), None);
        queues.push(0, second);
        // Earlier than the limit that found nothing: not asked for, but right.
        queues.push(0, 1);
        let order: Vec<u64> = (0..3).map(|_| queues.pop(u64::MAX).expect("three events").0.0).collect();
        assert_eq!(order, [1, second, first]);
    }
}

#[test]
fn an_event_before_the_place_of_the_wheel_does_not_turn_it_back() {
    let bucket = 1 << 12;
    let mut queues = Trio::new(4, TimeWheel::with_shape(4, 12, 64));
    queues.push(0, 372 * bucket);
    // Deals out the coarse bucket that begins at bucket 352.
    assert_eq!(queues.pop(352 * bucket), None);
    queues.push(0, 5);
    // A turn has 64 buckets: counted from bucket 0, number 414 would come before 372.
    queues.push(0, 414 * bucket);
    let order: Vec<u64> = (0..3).map(|_| queues.pop(u64::MAX).expect("three events").0.0).collect();
    assert_eq!(order, [5, 372 * bucket, 414 * bucket]);
}

#[test]
fn zero_delay_pushes_into_a_crowded_instant_keep_the_order() {
    let targets = 3000;
    let mut queues = Trio::new(targets, TimeWheel::with_targets(targets));
    (0..targets / 2).for_each(|_| queues.push(0, 700));
    let mut random = stream(5, Purpose::Test, 0);
    for _ in 0..2 * targets {
        if queues.pop(u64::MAX).is_some() {
            let pick = below(&mut random, 1 << 20) as usize;
            queues.push(pick, below(&mut random, 2));
        }
    }
    queues.drain();
}

#[test]
fn half_of_the_range_of_time_is_usable() {
    let mut queues = Trio::new(100, TimeWheel::with_targets(100));
    queues.push(0, u64::MAX / 2 - 50);
    queues.drain();
    (0..100).for_each(|pick| queues.push(pick, pick as u64 % 50));
    queues.drain();
    assert_eq!(queues.now, u64::MAX / 2 - 1);
}
