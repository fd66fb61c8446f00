//! HPCC: window by the utilisation that in-band telemetry reports.
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1.

use super::{Allowance, Feedback, Path};
use crate::config::HpccConfig;
use crate::link::{TELEMETRY_HOPS, TelemetryHop};

/// Parameters, compiled.
#[derive(Clone, Copy, Debug)]
pub struct HpccParams {
    eta: f64,
    max_stage: u32,
    min_rate: u64,
}

impl HpccParams {
    /// Compiles a configuration.
    pub fn new(c: &HpccConfig) -> Self {
        Self { eta: c.eta, max_stage: c.max_stage, min_rate: c.min_rate.0 }
    }
}

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct Hpcc {
    path: Path,
    /// Additive increase, bytes.
    increase: f64,
    max_window: f64,
    /// W, bytes.
    window: f64,
    /// W_c, the window of the last round trip, bytes.
    reference: f64,
    /// U, moving average of the bottleneck's normalised bytes in flight.
    utilisation: f64,
    stage: u32,
    /// The PSN whose acknowledgement starts the next round trip.
    round_end: u32,
    hops: u8,
    last: [TelemetryHop; TELEMETRY_HOPS],
}

impl Hpcc {
    /// A window of one bandwidth–delay product.
    pub fn new(config: &HpccConfig, path: &Path) -> Self {
        let bdp = path.bdp() as f64;
        let given = config.additive_increase.0 as f64;
        let increase = if given > 0.0 { given } else { bdp * (1.0 - config.eta) / 100.0 };
        Self {
            path: *path,
            increase,
            max_window: bdp,
            window: bdp,
            reference: bdp,
            utilisation: 1.0,
            stage: 0,
            round_end: 0,
            hops: 0,
            last: [TelemetryHop::default(); TELEMETRY_HOPS],
        }
    }

    /// What the queue pair may do: the window, paced over a base round trip.
    pub fn allowance(&self) -> Allowance {
        let rate = self.window * 8e12 / self.path.base_rtt.max(1) as f64;
        Allowance { rate: (rate as u64).clamp(1, self.path.line_rate), window: self.window as u64 }
    }

    /// Function MeasureInflight.
    fn measure(&mut self, hops: &[TelemetryHop]) {
        let round_trip = self.path.base_rtt as f64;
        let (mut most, mut span) = (0.0f64, round_trip);
        for (hop, last) in hops.iter().zip(&self.last) {
            if hop.at <= last.at || hop.port != last.port {
                continue;
            }
            let elapsed = (hop.at - last.at) as f64;
            let capacity = f64::from(hop.mbps) * 1e6 / 8.0 / 1e12; // bytes a picosecond
            let tx_rate = (hop.tx_bytes - last.tx_bytes) as f64 / elapsed;
            let queue = f64::from(hop.queue.min(last.queue));
            let inflight = queue / (capacity * round_trip) + tx_rate / capacity;
            if inflight > most {
                most = inflight;
                span = elapsed;
            }
        }
        let span = span.min(round_trip);
        self.utilisation = (1.0 - span / round_trip) * self.utilisation + span / round_trip * most;
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, p: &HpccParams, feedback: &Feedback) -> Allowance {
        let Some(telemetry) = feedback.telemetry else { return self.allowance() };
        let hops = &telemetry.hops[..usize::from(telemetry.count)];
        let first = self.hops == 0;
        if !first {
            self.measure(hops);
            let new_round = feedback.acked > self.round_end;
            self.update(p, new_round);
            if new_round {
                self.round_end = feedback.next;
            }
        } else {
            self.round_end = feedback.next;
        }
        self.hops = telemetry.count;
        self.last[..hops.len()].copy_from_slice(hops);
        self.allowance()
    }

    /// Function ComputeWind.
    fn update(&mut self, p: &HpccParams, new_round: bool) {
        let load = self.utilisation / p.eta;
        if self.utilisation >= p.eta || self.stage >= p.max_stage {
            self.window = self.reference / load + self.increase;
            if new_round {
                self.stage = 0;
            }
        } else {
            self.window = self.reference + self.increase;
            if new_round {
                self.stage += 1;
            }
        }
        let floor = p.min_rate as f64 * self.path.base_rtt as f64 / 8e12;
        self.window = self.window.clamp(floor.min(self.max_window), self.max_window);
        if new_round {
            self.reference = self.window;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Telemetry;
    use sim_core::Time;

    #[test]
    fn a_full_link_with_a_queue_shrinks_the_window_to_what_fits() {
        let path = Path { line_rate: 100_000_000_000, base_rtt: 8_000_000, mtu: 1000 };
        let config = HpccConfig::default();
        let params = HpccParams::new(&config);
        let mut qp = Hpcc::new(&config, &path);
        assert_eq!(qp.allowance().window, 100_000);
        // A link at line rate with a standing queue of one BDP: utilisation 2, so W = BDP · η / 2 + W_AI.
        let mut allowance = qp.allowance();
        for i in 1..200u64 {
            let mut telemetry = Telemetry { count: 1, ..Telemetry::default() };
            telemetry.hops[0] = TelemetryHop {
                at: i * 8_000_000,
                tx_bytes: i * 100_000,
                queue: 100_000,
                port: 1,
                mbps: 100_000,
            };
            let feedback = Feedback {
                now: Time(i * 8_000_000),
                rtt: 8_000_000,
                acked: 1,
                next: 1_000_000,
                newly_acked: 1,
                telemetry: Some(&telemetry),
            };
            allowance = qp.on_ack(&params, &feedback);
        }
        let expected = 100_000.0 * 0.95 / 2.0 + 100_000.0 * 0.05 / 100.0;
        assert!((allowance.window as f64 - expected).abs() < 2.0, "{} {expected}", allowance.window);
    }
}
