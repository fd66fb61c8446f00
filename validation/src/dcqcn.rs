//! Long-lived DCQCN flows on one bottleneck: the queue over time, its mean, and each flow's share.

use serde_json::json;
use sim_core::{Duration, Time};

use crate::harness::Simulation;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Long-lived flows, all to one receiver.
    pub flows: u32,
    /// Time from a mark at the switch until the sender's new rate is seen there.
    pub loop_delay: Duration,
    /// Time left out at the start.
    pub warm_up: Duration,
    /// Time measured.
    pub measured: Duration,
    /// Seed.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// (time in us since the start of the run, bottleneck queue in bytes), warm-up included.
    pub queue: Vec<(f64, u64)>,
    /// Mean queue in bytes after the warm-up.
    pub mean: f64,
    /// Standard deviation of the queue in bytes.
    pub deviation: f64,
    /// Payload delivered over what the link can carry.
    pub utilisation: f64,
    /// Rate of each flow over its fair share.
    pub shares: Vec<f64>,
    /// Drops and pauses; both must be none for the figures to mean anything.
    pub disturbed: u64,
}

/// Bytes of every packet on the wire.
pub const PACKET: u64 = 1000;
const PAYLOAD: u64 = PACKET - 62;
const RATE_BITS: u64 = 40_000_000_000;

/// The 40 Gb/s scenario of "ECN or Delay" (CoNEXT'16): 1000 B packets, Kmin 5 KB, Kmax 200 KB, Pmax 1 %. A loop is four
/// crossings of a link: switch to receiver, receiver to switch to sender, sender to switch.
pub fn scenario(setup: &Setup) -> String {
    json!({
        "schema_version": 1,
        "name": "dcqcn-fixed-point",
        "seed": setup.seed,
        "topology": {"single-switch": {
            "hosts": setup.flows + 1,
            "link": {"rate": "40Gbps", "delay": format!("{}ps", setup.loop_delay.0 / 4)}
        }},
        "switch": {
            "buffer": "400MB",
            "xoff": {"static": "100MB"},
            "ecn": {"kmin": "5KB", "kmax": "200KB", "pmax": 0.01, "reference_rate": null},
        },
        "nic": {"mtu": format!("{PAYLOAD}B"), "gap": "0B", "reth": "0B", "ack_every": 64,
                "cnp": {"interval": "50us"}},
        "congestion": {"dcqcn": {"preset": "sigcomm15"}},
        "traffic": [{"incast": {"senders": setup.flows, "size": "100GB"}}],
    })
    .to_string()
}

/// Runs the scenario and samples the bottleneck queue each `interval`.
pub fn steady(setup: &Setup, interval: Duration) -> Steady {
    steady_with(setup, &[], interval)
}

/// The same with overrides (`path=value`) of what is no part of the setup, as thresholds.
pub fn steady_with(setup: &Setup, sets: &[&str], interval: Duration) -> Steady {
    let mut simulation = Simulation::new(&scenario(setup), sets).unwrap_or_else(|e| panic!("{e}"));
    let bottleneck = simulation.port("switch0", "host0");
    let (begin, end) = (setup.warm_up, setup.warm_up + setup.measured);
    let mut queue = Vec::new();
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut before = Vec::new();
    let fabric = &mut simulation.fabric;
    let delivered = |f: &models::fabric::Fabric<_>| -> Vec<u64> {
        (0..setup.flows).map(|flow| f.delivered(flow)).collect()
    };
    let mut now = Duration::ZERO;
    while now < end {
        now += interval;
        fabric.run_until(Time::ZERO + now);
        let bytes = u64::from(fabric.egress_queue(bottleneck, 3).bytes);
        queue.push((now.as_us(), bytes));
        if now > begin {
            if before.is_empty() {
                before = delivered(fabric);
            }
            sum += bytes as f64;
            squares += (bytes * bytes) as f64;
            count += 1.0;
        }
    }
    let seconds = setup.measured.as_us() / 1e6;
    let bits: Vec<f64> = delivered(fabric)
        .iter()
        .zip(&before)
        .map(|(after, before)| (after - before) as f64 / PAYLOAD as f64 * PACKET as f64 * 8.0)
        .collect();
    let capacity = RATE_BITS as f64 * seconds;
    let fair = capacity / f64::from(setup.flows);
    let mean = sum / count;
    fabric.audit().unwrap_or_else(|e| panic!("{e}"));
    Steady {
        queue,
        mean,
        deviation: (squares / count - mean * mean).max(0.0).sqrt(),
        utilisation: bits.iter().sum::<f64>() / capacity,
        shares: bits.iter().map(|b| b / fair).collect(),
        disturbed: fabric.counters().dropped() + fabric.counters().pause_frames,
    }
}

/// The runs that the documentation draws: a name and the series (time in us, queue in bytes).
pub fn drawn_series() -> Vec<(&'static str, Vec<(f64, u64)>)> {
    let run = |flows, loop_us| {
        let setup = Setup {
            flows,
            loop_delay: Duration::from_us(loop_us),
            warm_up: Duration::ZERO,
            measured: Duration::from_ms(100),
            seed: 1,
        };
        steady(&setup, Duration::from_us(20)).queue
    };
    vec![
        ("N = 2, 4 us", run(2, 4)),
        ("N = 8, 4 us", run(8, 4)),
        ("N = 2, 85 us", run(2, 85)),
        ("N = 10, 85 us", run(10, 85)),
    ]
}
