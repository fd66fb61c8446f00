//! A sweep of ECN thresholds against the fixed point of DCQCN's fluid model, and what takes a queue away from it.

use scenarios::language::Override;
use scenarios::sweep::{Plan, Source, SweepSpec, plain};
use serde_json::{Value, json};
use sim_core::{Bytes, Duration};
use validation::dcqcn::{Setup, Steady, scenario, steady_with};
use validation::fluid::Fluid;
use validation::rows::Table;

const SOURCE: &str = "CoNEXT'16 fluid fixed point";
const FLOWS: u32 = 8;

fn setup() -> Setup {
    Setup {
        flows: FLOWS,
        loop_delay: Duration::from_us(4),
        warm_up: Duration::from_ms(100),
        measured: Duration::from_ms(200),
        seed: 1,
    }
}

fn run(sets: &[String]) -> Steady {
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    steady_with(&setup(), &sets, Duration::from_us(5))
}

/// The fluid model with the thresholds of a point.
fn fluid(values: &[Value]) -> Fluid {
    let bytes = |value: &Value| value.as_str().unwrap().parse::<Bytes>().unwrap().0 as f64;
    Fluid {
        kmin: bytes(&values[0]),
        kmax: bytes(&values[1]),
        pmax: values[2].as_f64().unwrap(),
        ..Fluid::paper_40g()
    }
}

#[test]
fn a_sweep_of_thresholds_follows_the_fixed_point() {
    let spec: SweepSpec = serde_json::from_value(json!({
        "parameters": [
            { "path": "switch.ecn.kmin", "values": ["5KB", "100KB"] },
            { "path": "switch.ecn.kmax", "range": { "from": "200KB", "to": "400KB", "factor": 2 } },
            { "path": "switch.ecn.pmax", "values": [0.01, 0.05] }
        ]
    }))
    .unwrap();
    let source = Source { text: scenario(&setup()), file: "scenario.json".to_string(), sets: Vec::new() };
    let plan = Plan::new(source, spec).unwrap();
    assert_eq!(plan.len(), 8);
    let mut table = Table::new("ECN sweep, 8 flows at 40 Gb/s, 4 us loop");
    for index in 0..plan.len() {
        let point = plan.point(index);
        let values: Vec<String> = point.values.iter().map(plain).collect();
        let sets: Vec<String> = plan.overrides(&point.values).iter().map(Override::to_string).collect();
        let (fluid, steady) = (fluid(&point.values), run(&sets));
        let queue = fluid.queue(FLOWS);
        let name = format!("Kmin, Kmax, Pmax {}", values.join(", "));
        table.holds(
            &format!("{name}: q* between Kmin and Kmax"),
            queue,
            queue > fluid.kmin && queue < fluid.kmax,
            SOURCE,
        );
        let kilobytes = queue / 1000.0;
        table.within(
            &format!("{name}: mean queue, KB"),
            steady.mean / 1000.0,
            kilobytes..=1.5 * kilobytes,
            SOURCE,
        );
        table.holds(&format!("{name}: drops and pauses"), steady.disturbed, steady.disturbed == 0, "no PFC");
        table.note("  over the fixed point", steady.mean / queue);
    }
    table.finish();
}

/// The condition of the fixed point is one of marks alone: other limits of a queue set it aside.
#[test]
fn the_fixed_point_does_not_hold_where_something_else_limits_the_queue() {
    let fluid = Fluid::paper_40g();
    let queue = fluid.queue(FLOWS);
    let mut table = Table::new("Away from the fixed point, 8 flows, Kmin, Kmax, Pmax 5KB, 200KB, 0.01");
    let of = |set: &str| run(&[set.to_string()]);

    let window = of(r#"nic.window={"bytes":"8KB"}"#);
    table.within("windows of 8 KB: mean queue over q*", window.mean / queue, 0.0..=0.75, "8 · 8 KB < q*");

    // Each of 8 ports pauses at 8 KB and takes more until the pause acts.
    let high = Fluid { kmin: 100e3, kmax: 400e3, ..fluid };
    let sets = ["switch.ecn.kmin=100KB", "switch.ecn.kmax=400KB", r#"switch.xoff={"static":"8KB"}"#];
    let pfc = run(&sets.map(str::to_string));
    table.at_least("XOFF 8 KB, Kmin 100 KB, Kmax 400 KB: pauses", pfc.disturbed as f64, 1000.0, "ports < q*");
    let part = pfc.mean / high.queue(FLOWS);
    table.within("XOFF 8 KB, Kmin 100 KB, Kmax 400 KB: mean queue over q*", part, 0.0..=0.75, "ports < q*");

    // The model has the interval, but as many CNPs as marks say: at most one in 200 us leaves each flow several
    // increases (55 us) between two cuts.
    let slow = Fluid { cnp_interval: 200e-6, ..fluid };
    let steady = of("nic.cnp.interval=200us");
    let part = steady.mean / slow.queue(FLOWS);
    table.at_least("CNPs each 200 us: mean queue over q*", part, 1.5, "discrete CNPs");
    let slower = of("nic.cnp.interval=1ms");
    table.at_least("CNPs each 1 ms: mean queue over Kmax", slower.mean / fluid.kmax, 100.0, "no equilibrium");
    table.finish();
}
