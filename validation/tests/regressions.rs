//! Faults that random scenarios found, each as the smallest scenario that showed it.

use serde_json::json;
use validation::cases::pair;
use validation::harness::{End, simulate};

/// Windows open with acknowledgements, which datagrams and READ responses never get.
#[test]
fn window_controls_do_not_stop_what_is_not_acknowledged() {
    for congestion in [json!({"swift": {}}), json!({"hpcc": {}})] {
        for operation in ["datagram", "read"] {
            let more = json!({"congestion": congestion, "run": {"stall_limit": "1ms"}});
            let scenario =
                pair("1MB", 1, &more).replace("\"from\"", &format!("\"operation\":\"{operation}\",\"from\""));
            let (s, end) = simulate(&scenario, &[]);
            assert_eq!((end, s.fabric.delivered(0)), (End::Completed, 1_000_000), "{congestion} {operation}");
        }
    }
}

/// A window below `ack_every` packets: the packet that fills it asks for its ACK, else each window waits for a timeout.
#[test]
fn a_full_window_is_acknowledged_whatever_ack_every_says() {
    for window in [json!("bdp"), json!({"bytes": "3KB"})] {
        let more = json!({
            "topology": {"single-switch": {"link": {"delay": "1ns"}}},
            "nic": {"mtu": "1024B", "ack_every": 64, "window": window},
        });
        let (s, end) = simulate(&pair("100KB", 1, &more), &[]);
        assert_eq!((end, s.fabric.counters().timeouts), (End::Completed, 0));
        assert!(s.fct_us()[0] < 40.0, "{}", s.fct_us()[0]);
    }
}

/// A queue pair in line may have lost its work when its turn comes: its window shrank, or an ACK came first. The next in
/// line then sends at once; its event was posted in the past.
#[test]
fn a_turn_without_work_passes_on() {
    let scenario = json!({
        "schema_version": 1,
        "name": "turns",
        "seed": 116,
        "topology": {"dumbbell": {
            "left": 3, "right": 3,
            "host_link": {"rate": "100Gbps", "delay": "1us", "error_rate": 0.001},
            "bottleneck": {"rate": "40Gbps", "delay": "0ns", "error_rate": 0.001},
        }},
        "switch": {"xoff": {"static": "20KB"}},
        "nic": {"retransmission_timeout": "200us", "jitter": false, "ack_class": 0},
        "congestion": {"hpcc": {}},
        "traffic": [{"all-to-all": {"size": "500KB", "options": {"operation": "send"}}}],
    });
    let (s, end) = simulate(&scenario.to_string(), &[]);
    assert_eq!(end, End::Completed);
    s.fabric.audit().unwrap();
}

/// Automatic headroom was cut to half of the memory although all of it fitted, and a lossless class lost packets.
#[test]
fn automatic_headroom_is_whole_where_it_fits() {
    let scenario = json!({
        "schema_version": 1,
        "name": "headroom",
        "topology": {"leaf-spine": {
            "leaves": 3, "spines": 2, "hosts_per_leaf": 3,
            "host_link": {"rate": "100Gbps", "delay": "1us"},
            "fabric_link": {"rate": "400Gbps", "delay": "5us"},
        }},
        "switch": {
            "buffer": "4MB",
            "classes": [{"class": 1, "kind": "lossless"}, {"class": 3, "kind": "lossless"}],
        },
        "nic": {"mtu": "9000B", "jitter": false},
        "congestion": "none",
        "traffic": [{"incast": {"senders": 18, "size": "500KB", "options": {"operation": "datagram"}}}],
    });
    let (s, end) = simulate(&scenario.to_string(), &[]);
    let c = s.fabric.counters();
    assert_eq!((end, c.dropped()), (End::Completed, 0));
    assert!(c.pause_frames > 0, "the headroom was needed");
}
