//! Goodput of one flow, and completion times known in advance.

use serde_json::json;
use validation::harness::{End, simulate, spread};
use validation::rows::Table;

fn one_flow(rate: &str, mtu: u32) -> String {
    json!({
        "schema_version": 1,
        "name": "single-flow",
        "topology": {"single-switch": {"hosts": 2, "link": {"rate": rate, "delay": "500ns"}}},
        "nic": {"mtu": format!("{mtu}B")},
        "traffic": [{"flows": {"list": [{"from": "host0", "to": "host1", "size": "8MiB", "messages": 100}]}}],
    })
    .to_string()
}

/// 82 B around each payload: 25 Gb/s · 1024/1106 = 23.15, 400 Gb/s · 4096/4178 = 392.1.
#[test]
fn one_flow_reaches_the_goodput_of_real_nics() {
    let mut table = Table::new("goodput of one flow");
    for (rate, mtu, range, source) in
        [("25Gbps", 1024, 23.10..=23.20, "perftest#219"), ("400Gbps", 4096, 391.8..=392.4, "nccl#2409")]
    {
        let (simulation, end) = simulate(&one_flow(rate, mtu), &[]);
        assert_eq!(end, End::Completed);
        table.within(&format!("{rate}, MTU {mtu}, Gb/s"), simulation.goodput_gbps()[0], range, source);
        assert_eq!(simulation.fabric.counters().dropped(), 0);
        simulation.fabric.audit().unwrap();
    }
    table.finish();
}

fn incast(senders: u32) -> String {
    json!({
        "schema_version": 1,
        "name": "known-answers",
        "topology": {"single-switch": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {"ecn": null},
        "congestion": "none",
        "traffic": [{"incast": {"senders": senders, "size": "2MB"}}],
    })
    .to_string()
}

#[test]
fn incast_without_congestion_control_takes_the_time_of_the_receivers_link() {
    let mut table = Table::new("2 MB at 100 Gb/s, PFC, no congestion control");
    for (senders, range) in [(1, 160.0..=180.0), (15, 2400.0..=2544.0), (127, 20_320.0..=21_540.0)] {
        let (simulation, end) = simulate(&incast(senders), &[]);
        assert_eq!(end, End::Completed);
        let (_, _, last) = spread(&simulation.fct_us());
        table.within(&format!("{senders}:1, last FCT, us"), last, range, "receiver's line rate");
        assert_eq!(simulation.fabric.counters().dropped(), 0);
        assert!(senders == 1 || simulation.fabric.counters().pause_frames > 0);
        simulation.fabric.audit().unwrap();
    }
    table.finish();
}
