//! The hold model: with a constant number of pending events, pop the earliest and push its target again a
//! random increment later. One iteration is one pop and one push.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::Rng as _;
use sim_core::Time;
use sim_core::queue::{BinaryHeapQueue, EventQueue, PriorityQueueReference, TimeWheel};
use sim_core::random::{Purpose, Stream, below, stream};

/// Increments are drawn beforehand, so that their making is not measured.
const INCREMENTS: usize = 1 << 16;

/// Half within 80 ns ± 20 % (a packet's transmission), 40 % about 1 us (a cable, an acknowledgement), 10 %
/// 10–300 us (timers).
fn mixed(random: &mut Stream) -> u64 {
    match below(random, 10) {
        0..5 => 64_000 + below(random, 32_000),
        5..9 => 800_000 + below(random, 400_000),
        _ => 10_000_000 + below(random, 290_000_000),
    }
}

/// A queue in the steady state of the hold model.
struct Hold<Q> {
    queue: Q,
    increments: Vec<u64>,
    turn: usize,
}

impl<Q: EventQueue> Hold<Q> {
    fn new(pending: usize) -> Self {
        let mut random = stream(1, Purpose::Test, 0);
        let increments: Vec<u64> = (0..INCREMENTS).map(|_| mixed(&mut random)).collect();
        let mut queue = Q::with_targets(pending);
        for target in 0..pending as u32 {
            let increment = increments[random.next_u32() as usize % INCREMENTS];
            queue.push(Time(below(&mut random, increment)), target);
        }
        let mut hold = Self { queue, increments, turn: 0 };
        hold.run(8 * pending as u64 + 100_000);
        hold
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            let (at, target) = self.queue.pop_until(Time::NEVER).expect("constant number of events");
            self.turn = (self.turn + 1) % INCREMENTS;
            self.queue.push(Time(at.0 + self.increments[self.turn]), black_box(target));
        }
    }
}

fn hold<Q: EventQueue>(criterion: &mut Criterion, name: &str) {
    let mut group = criterion.benchmark_group("hold");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for pending in [1_000, 10_000, 100_000, 1_000_000] {
        let mut hold = None;
        group.bench_function(BenchmarkId::new(name, pending), |bencher| {
            let hold: &mut Hold<Q> = hold.get_or_insert_with(|| Hold::new(pending));
            bencher.iter_custom(|steps| {
                let start = Instant::now();
                hold.run(steps);
                start.elapsed()
            });
        });
    }
    group.finish();
}

fn queues(criterion: &mut Criterion) {
    hold::<TimeWheel>(criterion, "TimeWheel");
    hold::<BinaryHeapQueue>(criterion, "BinaryHeap");
    hold::<PriorityQueueReference>(criterion, "priority-queue");
}

criterion_group!(benches, queues);
criterion_main!(benches);
