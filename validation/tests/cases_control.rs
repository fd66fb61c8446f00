//! Problem reports about thresholds, windows and congestion control.

use serde_json::{Value, json};
use validation::cases::{incast, pair};
use validation::harness::{End, Simulation, simulate, spread};
use validation::rows::Table;

/// 100 Gb/s into 25 Gb/s on a chip with cells of 256 B and an ECN profile of 400 / 1625 cells / 20 %.
fn step_down(cnp_delay_us: u32, xoff: &str, seed: u64) -> String {
    pair(
        "50MB",
        100,
        &json!({
            "seed": seed,
            "topology": {"single-switch": {"overrides": [{"a": "host1", "b": "switch0", "rate": "25Gbps"}]}},
            "switch": {
                "ecn": {"kmin": "102400B", "kmax": "416000B", "pmax": 0.2, "reference_rate": null},
                "xoff": {"static": xoff},
            },
            "nic": {"mtu": "1024B", "cnp": {"delay": format!("{cnp_delay_us}us")}},
            "congestion": {"dcqcn": {"preset": "sigcomm15"}},
            "run": {"until": "400us"},
        }),
    )
}

/// aliyun/ns-3-alibabacloud#12: a real NIC needs about 55 us from a marked packet to its CNP. Without that delay the queue
/// peaks near 0.35 MB and no PFC is seen; with it near 0.8 MB, and PFC is.
#[test]
fn case_01_the_delay_of_cnps_decides_whether_pfc_is_seen() {
    let mut table = Table::new("case 01: 100 Gb/s into 25 Gb/s");
    let peak = |delay: u32| {
        let peaks: Vec<f64> = (1..=5)
            .map(|seed| {
                let (simulation, end) = simulate(&step_down(delay, "10MB", seed), &[]);
                assert_eq!(end, End::Until);
                let port = simulation.port("switch0", "host1");
                f64::from(simulation.fabric.egress_queue(port, 3).peak) / 1e6
            })
            .collect();
        spread(&peaks).1
    };
    let peaks = [0, 20, 40, 55].map(peak);
    table.near("peak without delay, MB", peaks[0], 0.35, 0.25, "hand estimate ± 25 %");
    table.near("peak with 55 us, MB", peaks[3], 0.8, 0.25, "hand estimate ± 25 %");
    table.holds(
        "peaks at 0, 20, 40, 55 us, MB",
        peaks,
        peaks.is_sorted(),
        "the later the CNP the longer the queue",
    );
    let pauses = [0, 55].map(|delay| {
        let (simulation, _) = simulate(&step_down(delay, "600KB", 1), &[]);
        assert_eq!(simulation.fabric.counters().dropped(), 0);
        simulation.fabric.counters().pause_frames
    });
    table.holds(
        "pauses at XOFF 600 KB without and with",
        pauses,
        pauses[0] == 0 && pauses[1] > 0,
        "the flip",
    );
    table.finish();
}

fn sum_of_25g(senders: u32, more: &Value) -> (Simulation, f64, Vec<f64>) {
    let mut scenario = json!({
        "topology": {"single-switch": {"link": {"rate": "25Gbps"}}},
        "nic": {"mtu": "1024B", "retransmission_timeout": "1ms"},
        "run": {"until": "40ms"},
    });
    validation::cases::overlay(&mut scenario, more);
    let (simulation, _) = simulate(&incast(senders, "1GB", &scenario), &[]);
    simulation.fabric.audit().unwrap();
    let rates: Vec<f64> =
        (0..senders).map(|f| simulation.fabric.delivered(f) as f64 * 8.0 / 40e-3 / 1e9).collect();
    (simulation, rates.iter().sum(), rates)
}

/// perftest#219: one sender 23 Gb/s, two senders 5 Gb/s in all. Lossless fabrics with sane DCQCN give at least 22; what
/// collapses shows drops and retransmissions, or a storm of CNPs without drops.
#[test]
fn case_16_two_to_one_keeps_the_sum_unless_something_is_wrong() {
    let mut table = Table::new("case 16: 2:1 at 25 Gb/s");
    let (_, alone, _) = sum_of_25g(1, &json!({}));
    table.within("alone, Gb/s", alone, 23.10..=23.20, "25 · 1024/1106");
    for (name, congestion) in [
        ("connectx", json!({"dcqcn": {"preset": "connectx"}})),
        ("sigcomm15", json!({"dcqcn": {"preset": "sigcomm15"}})),
        ("none", json!("none")),
    ] {
        let (simulation, sum, rates) = sum_of_25g(2, &json!({"congestion": congestion}));
        table.at_least(&format!("lossless, {name}: sum, Gb/s"), sum, 22.0, "the receiver's link");
        let (least, _, most) = spread(&rates);
        table.within(&format!("lossless, {name}: least, Gb/s"), least, 10.8..=12.0, "fair halves");
        table.within(&format!("lossless, {name}: most, Gb/s"), most, 10.8..=12.0, "fair halves");
        assert_eq!(simulation.fabric.counters().dropped(), 0);
    }
    // Two senders of different rates, so that neither locks the other out of a full queue.
    let lossy = json!({
        "switch": {"classes": [{"class": 3, "kind": "lossy"}], "buffer": "100KB", "ecn": null},
        "congestion": "none",
        "traffic": [{"flows": {"list": [
            {"from": "host1", "to": "host0", "size": "1GB", "rate": "23Gbps"},
            {"from": "host2", "to": "host0", "size": "1GB", "rate": "21Gbps"},
        ]}}],
    });
    let (simulation, sum, _) = sum_of_25g(2, &lossy);
    let c = simulation.fabric.counters();
    let (drops, again) = (c.dropped(), c.retransmissions);
    table.holds(
        "lossy, go-back-N: drops, retransmissions",
        (drops, again),
        drops > 0 && again > 0,
        "cause named",
    );
    table.within("lossy, go-back-N: sum, Gb/s", sum, 0.0..=18.0, "collapse");
    // Every standing queue is marked, alpha stays near 1 so that every cut halves, and increases are small.
    let timid = json!({
        "switch": {"ecn": {"kmin": "0B", "kmax": "0B", "pmax": 1.0, "reference_rate": null}},
        "nic": {"cnp": {"interval": "4us"}},
        "congestion": {"dcqcn": {"preset": "connectx", "alpha_interval": "10ms", "byte_counter": "100KB"}},
    });
    let (simulation, sum, _) = sum_of_25g(2, &timid);
    let c = simulation.fabric.counters();
    table.within("over-aggressive DCQCN: sum, Gb/s", sum, 0.0..=18.0, "collapse");
    let seen = (c.dropped(), c.cnp_received);
    table.holds("over-aggressive DCQCN: drops, CNPs", seen, seen.0 == 0 && seen.1 > 200, "cause named");
    table.finish();
}

/// HPCC#14: with a window of one BDP no PAUSE is ever sent, whatever the incast; without it PFC fires.
#[test]
fn case_47_a_window_of_one_bdp_leaves_pfc_nothing_to_do() {
    let mut table = Table::new("case 47: N:1 with and without a window");
    for senders in [3, 50, 255] {
        let run = |window: Value| {
            let more = json!({
                "nic": {"mtu": "1000B", "window": window},
                "congestion": {"dcqcn": {"preset": "hpcc-ns3"}},
                "run": {"until": "1ms"},
            });
            let (simulation, _) = simulate(&incast(senders, "2MB", &more), &[]);
            assert_eq!(simulation.fabric.counters().dropped(), 0);
            let port = simulation.port("switch0", "host0");
            let peak = f64::from(simulation.fabric.egress_queue(port, 3).peak);
            (simulation.fabric.counters().pause_frames, peak, simulation.fabric.paths()[0].bdp())
        };
        let (pauses, peak, bdp) = run(json!("bdp"));
        table.holds(&format!("{senders}:1 with a window: pauses"), pauses, pauses == 0, "N · W < threshold");
        // A window counts payload; the queue counts frames.
        let most = f64::from(senders) * bdp as f64 * 1.08;
        table.within(&format!("{senders}:1 with a window: peak, B"), peak, 0.0..=most, "N · W");
        let (pauses, ..) = run(json!(null));
        let seen = if senders == 3 { pauses == 0 } else { pauses > 0 };
        table.holds(&format!("{senders}:1 without: pauses"), pauses, seen, "line rate until the first CNP");
    }
    table.finish();
}
