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

/// The NAK of selective repeat carries the missing PSN where an ACK carries the time of sending: it measures no round trip.
#[test]
fn delay_controls_do_not_read_a_round_trip_from_a_selective_nak() {
    for congestion in [json!({"swift": {}}), json!({"timely": {}})] {
        let more = json!({
            "congestion": congestion,
            "nic": {"mtu": "1024B", "recovery": "selective-repeat"},
            "faults": [{"drop-every": {"at": "switch0", "every": 50}}],
        });
        let (s, end) = simulate(&pair("10MB", 1, &more), &[]);
        assert_eq!(end, End::Completed);
        // Read as a time of sending, the PSNs gave round trips of the whole run, and 80.3 Gb/s with Swift.
        let least = if congestion.get("swift").is_some() { 83.0 } else { 85.0 };
        assert!(s.goodput_gbps()[0] > least, "{congestion}: {} Gb/s", s.goodput_gbps()[0]);
    }
}

/// A PAUSE on its way when its link fails is lost with it: applied after the link is back, nothing would ever resume it.
#[test]
fn pfc_frames_in_flight_are_lost_with_their_link() {
    for down_ns in (5_000..40_000).step_by(500) {
        let more = json!({
            "topology": {"single-switch": {"link": {"delay": "5us"}}},
            "switch": {"pfc": {"quanta": 0}, "xoff": {"static": "20KB"}, "xon_offset": "10KB"},
            "nic": {"retransmission_timeout": "200us"},
            "congestion": "none",
            "faults": [{"link-down": {
                "a": "host1", "b": "switch0", "at": format!("{down_ns}ns"), "until": format!("{}ns", down_ns + 4000)
            }}],
            "run": {"stall_limit": "20ms"},
        });
        let (s, end) = simulate(&validation::cases::incast(3, "200KB", &more), &[]);
        assert_eq!(end, End::Completed, "down at {down_ns} ns");
        s.fabric.audit().unwrap();
    }
}
