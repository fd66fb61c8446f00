//! The star scenarios of the HPCC ns-3 reference against an exact model of them and against its seeds.

use validation::harness::{End, Simulation, simulate, spread};
use validation::rows::Table;
use validation::star::{StarControl, star};

const MIB: u64 = 1 << 20;

/// Bytes waiting at the receiver's port at most.
fn queue_peak(simulation: &Simulation) -> f64 {
    let port = simulation.port("switch0", "host0");
    f64::from(simulation.fabric.egress_queue(port, 3).peak)
}

/// Figures of one deterministic star: FCT least, mean and most in us, queue peak in bytes, PAUSE frames.
struct Figures {
    fct: (f64, f64, f64),
    peak: f64,
    pauses: f64,
}

struct Exact {
    senders: u32,
    bytes: u64,
    buffer: u64,
    /// An independent exact-picosecond model of the same rules, events of equal time in the order they were posted.
    fifo: Figures,
    /// The same model, events of equal time in this engine's order: kind of event, then port.
    by_target: Figures,
}

/// Where packets never meet in time, both orders give the same.
const EXACT: [Exact; 4] = [
    Exact {
        senders: 1,
        bytes: 1_000_000,
        buffer: 32 * MIB,
        fifo: Figures { fct: (87.933, 87.933, 87.933), peak: 1048.0, pauses: 0.0 },
        by_target: Figures { fct: (87.933, 87.933, 87.933), peak: 1048.0, pauses: 0.0 },
    },
    Exact {
        senders: 2,
        bytes: 10_000_000,
        buffer: MIB,
        fifo: Figures { fct: (1680.810, 1680.852, 1680.893), peak: 219_032.0, pauses: 364.0 },
        by_target: Figures { fct: (1680.810, 1680.852, 1680.893), peak: 219_032.0, pauses: 364.0 },
    },
    Exact {
        senders: 8,
        bytes: 10_000_000,
        buffer: MIB,
        fifo: Figures { fct: (6688.824, 6701.044, 6711.293), peak: 552_296.0, pauses: 1233.0 },
        by_target: Figures { fct: (6663.421, 6689.579, 6711.293), peak: 552_296.0, pauses: 2188.0 },
    },
    Exact {
        senders: 32,
        bytes: 1_000_000,
        buffer: 2 * MIB,
        fifo: Figures { fct: (2567.837, 2648.370, 2686.973), peak: 1_516_456.0, pauses: 736.0 },
        by_target: Figures { fct: (2574.963, 2639.950, 2686.973), peak: 1_516_456.0, pauses: 743.0 },
    },
];

/// The order of equal times moves nothing but the number of pauses and with them a little of the mean: ordered by chance,
/// the exact model of the 8:1 star pauses 1459 to 2219 times. In this engine's own order it gives this engine's figures.
#[test]
fn the_deterministic_stars_meet_the_exact_oracle() {
    let mut table = Table::new("HPCC ns-3 stars, PFC only");
    for e in &EXACT {
        let (simulation, end) = simulate(&star(e.senders, e.bytes, e.buffer, StarControl::PfcOnly, 1), &[]);
        assert_eq!(end, End::Completed);
        let (least, mean, last) = spread(&simulation.fct_us());
        let (peak, pauses) = (queue_peak(&simulation), simulation.fabric.counters().pause_frames as f64);
        let star = format!("{}:1, {} MB, {} MiB", e.senders, e.bytes / 1_000_000, e.buffer / MIB);
        let name = |what: &str| format!("{star}: {what}");
        table.near(&name("FCT mean, us"), mean, e.fifo.fct.1, 0.01, "exact oracle");
        table.near(&name("FCT max, us"), last, e.fifo.fct.2, 0.001, "exact oracle");
        table.near(&name("queue peak, B"), peak, e.fifo.peak, 0.03, "exact oracle");
        if e.senders != 8 {
            table.within(&name("pauses"), pauses, e.fifo.pauses / 1.5..=e.fifo.pauses * 1.5, "exact oracle");
        }
        let exact = &e.by_target;
        let equal = |a: f64, b: f64| (a - b).abs() <= 0.000_6;
        let same = equal(least, exact.fct.0) && equal(mean, exact.fct.1) && equal(last, exact.fct.2);
        let same = same && equal(peak, exact.peak) && equal(pauses, exact.pauses);
        let seen = (least, mean, last, peak, pauses);
        table.holds(&name("to the nanosecond, byte and pause"), seen, same, "exact oracle, ties by target");
        assert_eq!(simulation.fabric.counters().dropped(), 0);
        simulation.fabric.audit().unwrap();
    }
    table.finish();
}

struct Band {
    senders: u32,
    buffer: u64,
    control: StarControl,
    /// Least and largest mean FCT of the reference's seeds, in us.
    reference: (f64, f64),
    /// Mean and standard deviation of the mean FCT over as many seeds of the exact model, in us; 0 where it was not run.
    exact: (f64, f64),
    seeds: u64,
}

const fn band(
    senders: u32,
    mib: u64,
    control: StarControl,
    reference: (f64, f64),
    exact: (f64, f64),
    seeds: u64,
) -> Band {
    Band { senders, buffer: mib * MIB, control, reference, exact, seeds }
}

const BANDS: [Band; 7] = [
    band(2, 32, StarControl::Mellanox, (1825.532, 2150.398), (2066.1, 98.4), 10),
    band(8, 32, StarControl::Mellanox, (7279.544, 7657.675), (7495.4, 67.5), 10),
    band(8, 1, StarControl::Mellanox, (6500.553, 6574.052), (6596.1, 48.0), 10),
    band(32, 32, StarControl::Mellanox, (26_577.642, 26_989.701), (26_862.0, 178.4), 6),
    band(2, 32, StarControl::Paper, (1697.936, 1792.460), (1779.4, 35.0), 10),
    band(8, 32, StarControl::Paper, (6314.814, 6645.738), (6571.3, 101.5), 10),
    band(32, 32, StarControl::Paper, (25_200.542, 25_597.546), (25_730.2, 240.3), 16),
];

/// The band is the range of four to ten seeds, so single runs may leave it: 4 of 50 runs of the exact model do. The mean
/// over the seeds must not, and must agree with the exact model's.
#[test]
fn the_dcqcn_stars_fall_inside_the_band_of_seeds() {
    let mut table = Table::new("HPCC ns-3 stars, DCQCN: mean FCT");
    let (mut runs, mut inside) = (0, 0);
    for b in &BANDS {
        let range = b.reference.0 * 0.99..=b.reference.1 * 1.01;
        let mut means = Vec::new();
        for seed in 1..=b.seeds {
            let (simulation, end) = simulate(&star(b.senders, 10_000_000, b.buffer, b.control, seed), &[]);
            assert_eq!((end, simulation.fabric.counters().dropped()), (End::Completed, 0));
            let (_, mean, _) = spread(&simulation.fct_us());
            if b.senders < 32 {
                runs += 1;
                inside += u32::from(range.contains(&mean));
            }
            means.push(mean);
        }
        let (least, mean, most) = spread(&means);
        let name = format!("{}:1, {} MiB, {:?}", b.senders, b.buffer / MIB, b.control);
        table.within(
            &format!("{name}, mean of {} seeds, us", b.seeds),
            mean,
            range,
            "seeds of the reference ± 1 %",
        );
        table.note(&format!("{name}, least and largest, us"), (least, most));
        if b.exact.0 > 0.0 {
            // Three standard errors of the difference of two means of as many runs.
            let error = 3.0 * b.exact.1 * (2.0 / b.seeds as f64).sqrt();
            let range = b.exact.0 - error..=b.exact.0 + error;
            table.within(
                &format!("{name}, against the exact model, us"),
                mean,
                range,
                "exact oracle ± 3 standard errors",
            );
        }
    }
    table.within(
        "runs inside the band",
        f64::from(inside),
        0.92 * f64::from(runs)..=f64::from(runs),
        "as the exact model",
    );
    table.finish();
}
