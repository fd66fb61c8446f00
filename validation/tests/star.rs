//! The star scenarios of the HPCC ns-3 reference against an exact model of them and against its seeds.

use validation::harness::{End, Simulation, simulate, spread};
use validation::rows::Table;
use validation::star::{StarControl, star};

const MIB: u64 = 1 << 20;

/// Bytes waiting at the receiver's port at most.
fn queue_peak(simulation: &Simulation) -> f64 {
    let port = simulation.port("switch0", "host0");
    simulation.fabric.egress_queue(port, 3).peak as f64
}

struct Exact {
    senders: u32,
    bytes: u64,
    buffer: u64,
    fct: (f64, f64, f64),
    peak: f64,
    pauses: f64,
}

/// Exact-picosecond figures of an independent model of the same rules.
const EXACT: [Exact; 4] = [
    Exact { senders: 1, bytes: 1_000_000, buffer: 32 * MIB, fct: (87.93344, 87.93344, 87.93344), peak: 1048.0, pauses: 0.0 },
    Exact { senders: 2, bytes: 10_000_000, buffer: MIB, fct: (1680.810, 1680.852, 1680.893), peak: 219_032.0, pauses: 364.0 },
    Exact { senders: 8, bytes: 10_000_000, buffer: MIB, fct: (6688.824, 6701.044, 6711.293), peak: 552_296.0, pauses: 1233.0 },
    Exact { senders: 32, bytes: 1_000_000, buffer: 2 * MIB, fct: (2567.837, 2648.370, 2686.973), peak: 1_516_456.0, pauses: 736.0 },
];

#[test]
fn the_deterministic_stars_meet_the_exact_oracle() {
    let mut table = Table::new("HPCC ns-3 stars, PFC only");
    for e in &EXACT {
        let (simulation, end) = simulate(&star(e.senders, e.bytes, e.buffer, StarControl::PfcOnly, 1), &[]);
        assert_eq!(end, End::Completed);
        let (least, mean, last) = spread(&simulation.fct_us());
        let name = |what: &str| format!("{}:1, {} MB, {} MiB: {what}", e.senders, e.bytes / 1_000_000, e.buffer / MIB);
        table.note(&name("FCT min, us"), (least, e.fct.0));
        table.near(&name("FCT mean, us"), mean, e.fct.1, 0.01, "exact oracle");
        table.near(&name("FCT max, us"), last, e.fct.2, 0.001, "exact oracle");
        table.near(&name("queue peak, B"), queue_peak(&simulation), e.peak, 0.03, "exact oracle");
        let pauses = simulation.fabric.counters().pause_frames as f64;
        table.within(&name("pauses"), pauses, e.pauses / 1.5..=e.pauses * 1.5, "exact oracle");
        assert_eq!(simulation.fabric.counters().dropped(), 0);
        simulation.fabric.audit().unwrap();
    }
    table.finish();
}

/// (senders, bytes, buffer, variant, least and largest mean FCT of the reference's seeds in us).
const BANDS: [(u32, u64, u64, StarControl, f64, f64); 5] = [
    (2, 10_000_000, 32 * MIB, StarControl::Mellanox, 1825.532, 2150.398),
    (8, 10_000_000, 32 * MIB, StarControl::Mellanox, 7279.544, 7657.675),
    (8, 10_000_000, MIB, StarControl::Mellanox, 6500.553, 6574.052),
    (2, 10_000_000, 32 * MIB, StarControl::Paper, 1697.936, 1792.460),
    (8, 10_000_000, 32 * MIB, StarControl::Paper, 6314.814, 6645.738),
];

#[test]
fn the_dcqcn_stars_fall_inside_the_band_of_seeds() {
    let mut table = Table::new("HPCC ns-3 stars, DCQCN: mean FCT");
    for (senders, bytes, buffer, control, least, most) in BANDS {
        for seed in 1..=10 {
            let (simulation, end) = simulate(&star(senders, bytes, buffer, control, seed), &[]);
            assert_eq!(end, End::Completed);
            let (_, mean, _) = spread(&simulation.fct_us());
            let name = format!("{senders}:1, {} MiB, {control:?}, seed {seed}, us", buffer / MIB);
            table.within(&name, mean, least * 0.99..=most * 1.01, "seeds of the reference ± 1 %");
            let c = simulation.fabric.counters();
            table.note("  marks, cuts, pauses", (c.marked, simulation.fabric.rate_cuts(), c.pause_frames));
            assert_eq!(c.dropped(), 0);
        }
    }
    table.finish();
}
