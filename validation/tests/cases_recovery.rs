//! Problem reports about lost packets and long links.

use serde_json::{Value, json};
use validation::cases::{overlay, pair};
use validation::harness::{End, Simulation, findings, simulate, spread};
use validation::rows::Table;

/// 4 MB messages back to back at 100 Gb/s for 20 ms, MTU 1024; `delay` sets how much is in flight.
fn lossy_pair(recovery: &str, delay: &str, more: &Value) -> Simulation {
    let mut all = json!({
        "topology": {"single-switch": {"link": {"delay": delay}}},
        "switch": {"ecn": null},
        "nic": {"mtu": "1024B", "recovery": recovery, "retransmission_timeout": "100us"},
        "run": {"until": "20ms"},
    });
    overlay(&mut all, more);
    let (simulation, _) = simulate(&pair("4MB", 1000, &all), &[]);
    simulation.fabric.audit().unwrap();
    simulation
}

/// Share of the link's payload rate that was delivered.
fn goodput(simulation: &Simulation) -> f64 {
    let seconds = simulation.fabric.now().0 as f64 / 1e12;
    simulation.fabric.delivered(0) as f64 * 8.0 / seconds / (100e9 * 1024.0 / 1106.0)
}

/// Share of the sender's link that was busy with data.
fn utilisation(simulation: &Simulation) -> f64 {
    let seconds = simulation.fabric.now().0 as f64 / 1e12;
    simulation.fabric.counters().data_sent as f64 * 1106.0 * 8.0 / seconds / 100e9
}

/// The SIGCOMM'16 livelock: exactly one packet in 256 is lost. Go-back-0 never completes a 4 MB message although the link
/// is full; go-back-N gives 255/(256 + W) with W packets in flight when the NAK returns; selective repeat 255/256.
#[test]
fn case_06_go_back_0_lives_and_locks() {
    let mut table = Table::new("case 06: 1 packet in 256 lost");
    let every = json!({"faults": [{"drop-every": {"at": "switch0", "every": 256}}]});
    let s = lossy_pair("go-back-0", "350ns", &every);
    let messages = s.fabric.delivered(0) / 4_000_000;
    table.holds("go-back-0: messages done", messages, messages == 0, "SIGCOMM'16");
    table.within("go-back-0: sender's link busy", utilisation(&s), 0.99..=1.0, "SIGCOMM'16");
    for (delay, flight, expected, tolerance) in
        [("350ns", 20, 255.0 / 276.0, 0.01), ("5640ns", 257, 0.498, 0.02)]
    {
        let s = lossy_pair("go-back-n", delay, &every);
        let c = s.fabric.counters();
        let w = c.retransmissions as f64 / c.naks as f64;
        table.within(
            &format!("go-back-N, delay {delay}: packets sent again a loss"),
            w,
            f64::from(flight) - 2.0..=f64::from(flight) + 3.0,
            "round trip",
        );
        table.within(
            &format!("go-back-N, W = {flight}: goodput"),
            goodput(&s),
            expected - tolerance..=expected + tolerance,
            "255/(256 + W)",
        );
    }
    let s = lossy_pair("selective-repeat", "350ns", &every);
    table.within("selective repeat: goodput", goodput(&s), 0.995..=0.9965, "255/256");
    let random = json!({"topology": {"single-switch": {"overrides": [
        {"a": "host0", "b": "switch0", "error_rate": 1.0 / 256.0}
    ]}}});
    let s = lossy_pair("go-back-0", "350ns", &random);
    let messages = s.fabric.delivered(0) / 4_000_000;
    table.holds("go-back-0, random 1/256: messages done", messages, messages == 0, "(255/256)^3907 = 2e-7");
    table.finish();
}

/// astra-network-ns3#12, SimAI#119: any error rate above 0 hangs. It must finish, at about C(1 − p)/(1 + p(W − 1)).
#[test]
fn case_43_link_errors_cost_goodput_and_nothing_hangs() {
    let mut table = Table::new("case 43: link errors");
    for (p, tolerance) in [(1e-4, 0.01), (1e-2, 0.03)] {
        let errors = json!({
            "topology": {"single-switch": {"overrides": [{"a": "host0", "b": "switch0", "error_rate": p}]}},
            "run": {"until": "100ms"},
        });
        // 5.62 us a link: 256 packets between a loss and its NAK.
        let s = lossy_pair("go-back-n", "5620ns", &errors);
        let expected = (1.0 - p) / (1.0 + p * 255.0);
        let name = format!("p = {p}, W = 256: goodput");
        table.within(
            &name,
            goodput(&s),
            expected - tolerance..=expected + tolerance,
            "C(1 − p)/(1 + p(W − 1))",
        );
        assert!(s.fabric.counters().drops[models::counters::DropReason::LinkError as usize] > 0);
    }
    for recovery in ["go-back-n", "go-back-0", "selective-repeat"] {
        // Every kind of packet is lost sometimes: data, ACKs, NAKs, CNPs, PAUSE and RESUME.
        let scenario = validation::cases::incast(
            8,
            "200KB",
            &json!({
                "topology": {"single-switch": {"link": {"error_rate": 1e-3}}},
                "switch": {"buffer": "2MB"},
                "nic": {"recovery": recovery, "retransmission_timeout": "1ms"},
            }),
        );
        let (s, end) = simulate(&scenario, &[]);
        let c = s.fabric.counters();
        table.holds(&format!("8:1, p = 1e-3, {recovery}: end"), end, end == End::Completed, "it finishes");
        assert!(c.dropped() > 0 && c.pause_frames > 0, "{c:?}");
        s.fabric.audit().unwrap();
    }
    table.finish();
}

/// A pause without quanta whose RESUME is lost blocks for ever; the run ends and says so instead of hanging.
#[test]
fn case_43_a_true_hang_ends_the_run() {
    let scenario = pair(
        "1MB",
        1,
        &json!({
            "switch": {"pfc": {"quanta": 0}},
            "faults": [{"pause-storm": {"host": "host1", "at": "10us"}}],
            "run": {"stall_limit": "10ms"},
        }),
    );
    let (simulation, end) = simulate(&scenario, &[]);
    assert_eq!(end, End::Stalled);
    assert!(simulation.fabric.now().0 < 11_000_000_000);
}

/// SimAI#174: one 10 ms link among short ones.
#[test]
fn case_44_a_10_ms_link_cannot_be_lossless_and_hurts_only_its_own_flows() {
    let mut table = Table::new("case 44: one 10 ms link");
    let across: Vec<Value> = (0..16)
        .map(|h| json!({"from": format!("host{h}"), "to": format!("host{}", 16 + h), "size": "1MB"}))
        .collect();
    let local: Vec<Value> = (0..8)
        .map(|h| json!({"from": format!("host{}", 16 + 2 * h), "to": format!("host{}", 17 + 2 * h), "size": "1MB"}))
        .collect();
    let scenario = json!({
        "schema_version": 1,
        "name": "case-44",
        "topology": {"leaf-spine": {
            "leaves": 2, "spines": 2, "hosts_per_leaf": 16,
            "host_link": {"rate": "400Gbps", "delay": "5us"},
            "fabric_link": {"rate": "400Gbps", "delay": "5us"},
            "overrides": [{"a": "leaf0", "b": "spine0", "delay": "10ms"}],
        }},
        "traffic": [{"flows": {"list": across}}, {"flows": {"list": local}}],
    })
    .to_string();
    let found = findings(&scenario, &[]).unwrap();
    let text = found.iter().find(|f| f.code == "cannot-be-lossless").map(|f| f.text.clone());
    table.holds(
        "check",
        &text,
        text.as_ref().is_some_and(|t| t.contains("1.0 GB")),
        "400 Gb/s · 20 ms = 1.0 GB",
    );
    let (s, end) = simulate(&scenario, &[]);
    table.holds("end", end, end == End::Completed, "no crash");
    let fct = s.fct_us();
    let (long, short): (Vec<f64>, Vec<f64>) = fct[..16].iter().partition(|&&t| t > 5000.0);
    table.at_least("flows across the long link", long.len() as f64, 1.0, "ECMP");
    table.at_least("their least FCT, us", spread(&long).0, 10_000.0, "one way takes 10 ms");
    table.at_least("flows on the other spine", short.len() as f64, 1.0, "ECMP");
    table.within("local flows, most, us", spread(&fct[16..]).2, 0.0..=200.0, "no long path of theirs");
    table.holds(
        "timeouts",
        s.fabric.counters().timeouts,
        s.fabric.counters().timeouts == 0,
        "RTO above 20 ms",
    );
    s.fabric.audit().unwrap();
    table.finish();
}
