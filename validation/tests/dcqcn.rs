//! DCQCN in the steady state against its fluid model.

use sim_core::Duration;
use validation::dcqcn::{Setup, Steady, steady};
use validation::fluid::Fluid;
use validation::harness::spread;
use validation::rows::Table;

const SOURCE: &str = "CoNEXT'16 fluid fixed point";

fn run(flows: u32, loop_us: u64, warm_up_ms: u64, measured_ms: u64) -> Steady {
    let setup = Setup {
        flows,
        loop_delay: Duration::from_us(loop_us),
        warm_up: Duration::from_ms(warm_up_ms),
        measured: Duration::from_ms(measured_ms),
        seed: 1,
    };
    let steady = steady(&setup, Duration::from_us(5));
    assert_eq!(steady.disturbed, 0, "no drops, no pauses");
    steady
}

#[test]
fn the_queue_stands_at_the_fixed_point() {
    let mut table = Table::new("DCQCN, 40 Gb/s, 4 us loop");
    for flows in [2, 4, 8, 20] {
        let s = run(flows, 4, 100, 300);
        let fluid = Fluid::paper_40g().queue(flows) / 1000.0;
        let range = if flows == 20 { 0.9 * 200.0..=200.0 } else { fluid..=1.5 * fluid };
        table.within(&format!("N = {flows}: mean queue, KB"), s.mean / 1000.0, range, SOURCE);
        let (least, _, most) = spread(&s.shares);
        table.within(&format!("N = {flows}: least share of C/N"), least, 0.92..=1.08, "fairness");
        table.within(&format!("N = {flows}: largest share of C/N"), most, 0.92..=1.08, "fairness");
        table.note("  utilisation, deviation KB", (s.utilisation, s.deviation / 1000.0));
    }
    table.finish();
}

#[test]
fn a_long_loop_oscillates_with_ten_flows_and_not_with_two() {
    let mut table = Table::new("DCQCN, 40 Gb/s, 85 us loop");
    let ten = run(10, 85, 100, 300);
    table.at_least("N = 10: deviation over mean", ten.deviation / ten.mean, 1.0, "phase margin");
    table.within("N = 10: utilisation", ten.utilisation, 0.0..=0.97, "phase margin");
    let two = run(2, 85, 100, 300);
    table.within("N = 2: utilisation", two.utilisation, 0.99..=1.0, "phase margin");
    table.note("  N = 2: deviation over mean", two.deviation / two.mean);
    table.finish();
}
