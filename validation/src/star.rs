//! The single-switch scenarios of the HPCC ns-3 reference: N hosts send to one over one switch, 100 Gb/s and 1 us a
//! link, with that simulator's frame and switch rules.

use serde_json::{Value, json};

/// Which congestion control a star runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StarControl {
    /// Senders stay at line rate.
    PfcOnly,
    /// `run.py --cc dcqcn`: alpha each 1 us, cuts on a 4 us grid, 300 us timer.
    Mellanox,
    /// `run.py --cc dcqcn_paper`: alpha and cuts each 50 us, 55 us timer.
    Paper,
}

/// A star of `senders`, each with `bytes` to send, on a switch of `buffer` bytes.
pub fn star(senders: u32, bytes: u64, buffer: u64, control: StarControl, seed: u64) -> String {
    let ecn = match control {
        StarControl::PfcOnly => Value::Null,
        StarControl::Mellanox | StarControl::Paper => {
            json!({"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2, "reference_rate": "100Gbps", "at": "dequeue"})
        }
    };
    let congestion = match control {
        StarControl::PfcOnly => json!("none"),
        StarControl::Mellanox => json!({"dcqcn": {"preset": "hpcc-ns3"}}),
        StarControl::Paper => json!({"dcqcn": {
            "preset": "hpcc-ns3", "alpha_interval": "50us", "decrease_interval": "50us", "increase_timer": "55us"
        }}),
    };
    json!({
        "schema_version": 1,
        "name": "star",
        "seed": seed,
        "topology": {"single-switch": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {
            "buffer": format!("{buffer}B"),
            "classes": [
                {"class": 0, "kind": "control", "scheduler": "strict"},
                {"class": 3, "kind": "lossless"},
            ],
            "reserved": "4096B",
            "xoff": {"dynamic": {"alpha": 0.125}},
            "xon_offset": "3072B",
            "headroom": {"bdp-factor": 3.0},
            "pfc": {"quanta": 0, "frame": "43B"},
            "ecn": ecn,
        },
        "nic": {
            "mtu": "1000B", "header": "48B", "gap": "0B", "reth": "0B", "ack_frame": "60B", "ack_class": 0,
            "jitter": false, "cnp": {"echo_in_ack": true},
        },
        "congestion": congestion,
        "traffic": [{"incast": {"senders": senders, "size": format!("{bytes}B"), "options": {"class": 3}}}],
    })
    .to_string()
}
