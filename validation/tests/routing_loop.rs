//! Routing loops against the deadlock condition of HotNets'16.

use sim_core::{Duration, Rate};
use validation::routing_loop::Loop;
use validation::rows::Table;

const SOURCE: &str = "HotNets'16: n · B / TTL";

fn mbps(rate: Rate) -> f64 {
    rate.0 as f64 / 1e6
}

#[test]
fn a_loop_of_two_switches_deadlocks_above_5_gbps() {
    let mut table = Table::new("routing loop, 2 switches, 40 Gb/s, TTL 16");
    let two = Loop { switches: 2, link: Rate::gbps(40), ttl: 16 };
    let limit = Duration::from_ms(60);
    for (rate, deadlocks) in [(4500, false), (4950, false), (5050, true), (5100, true), (5500, true)] {
        let (simulation, deadlock) = two.probe(Rate::mbps(rate), limit);
        let formed = deadlock.as_ref().map(|d| d.closed_at.0 as f64 / 1e9);
        table.holds(&format!("{rate} Mb/s: deadlock, ms"), formed, deadlock.is_some() == deadlocks, SOURCE);
        simulation.fabric.audit().unwrap();
        let Some(deadlock) = deadlock else { continue };
        let graph = simulation.fabric.graph();
        let mut names: Vec<String> = deadlock.cycle.iter().map(|w| graph.port_name(w.port)).collect();
        names.sort();
        table.holds("  its cycle", &names, names == ["s0:0", "s1:0"], "the loop's two ports");
        assert!(deadlock.cycle.iter().all(|w| w.class == 3 && w.bytes > 50_000), "{deadlock:?}");
    }
    let measured = two.measured_threshold(limit);
    table.near("threshold, Mb/s", mbps(measured), 5000.0, 0.02, SOURCE);
    table.finish();
}

#[test]
fn other_loops_deadlock_at_their_thresholds() {
    let mut table = Table::new("routing loops: threshold, Mb/s");
    for (switches, gbps, ttl, expected, limit_ms) in [(2, 100, 16, 12_500.0, 30), (3, 40, 15, 8000.0, 60)] {
        let it = Loop { switches, link: Rate::gbps(gbps), ttl };
        let measured = it.measured_threshold(Duration::from_ms(limit_ms));
        let name = format!("{switches} switches, {gbps} Gb/s, TTL {ttl}");
        table.near(&name, mbps(measured), expected, 0.02, SOURCE);
    }
    table.finish();
}
