//! Swift: window by delay against a target.
//!
//! Source: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020, algorithm 1 and section 3.5 (flow-based target scaling).
//!
//! DEVIATES: one target for the fabric; the end-host delay has no model of its own here. The hop-based part of the
//! target is the base round-trip time of the queue pair's path.

use sim_core::Time;

use super::{Allowance, Feedback, Path};
use crate::config::SwiftConfig;

/// Parameters, compiled.
#[derive(Clone, Copy, Debug)]
pub struct SwiftParams {
    base_target: f64,
    additive_increase: f64,
    beta: f64,
    max_decrease: f64,
    scaling_alpha: f64,
    scaling_beta: f64,
    scaling_range: f64,
    min_window: f64,
}

impl SwiftParams {
    /// Compiles a configuration.
    pub fn new(c: &SwiftConfig) -> Self {
        let range = c.flow_scaling.0 as f64;
        let (low, high) = (1.0 / c.min_window.sqrt(), 1.0 / c.max_scaling_window.sqrt());
        let alpha = if low > high { range / (low - high) } else { 0.0 };
        Self {
            base_target: c.base_target.0 as f64,
            additive_increase: c.additive_increase,
            beta: c.beta,
            max_decrease: c.max_decrease,
            scaling_alpha: alpha,
            scaling_beta: -alpha * high,
            scaling_range: range,
            min_window: c.min_window,
        }
    }

    /// Target delay above the base round trip for a window of `packets`.
    fn target(&self, packets: f64) -> f64 {
        let scaling = self.scaling_alpha / packets.sqrt() + self.scaling_beta;
        self.base_target + scaling.max(0.0).min(self.scaling_range)
    }
}

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct Swift {
    path: Path,
    /// Window in packets; below 1 the queue pair is paced.
    window: f64,
    max_window: f64,
    last_decrease: Time,
    last_rtt: u64,
}

impl Swift {
    /// A window of one bandwidth–delay product.
    pub fn new(config: &SwiftConfig, path: &Path) -> Self {
        let bdp = path.bdp() as f64 / f64::from(path.mtu);
        let max_window = (bdp * 8.0).max(config.min_window);
        Self { path: *path, window: bdp, max_window, last_decrease: Time::ZERO, last_rtt: path.base_rtt }
    }

    /// What the queue pair may do.
    pub fn allowance(&self) -> Allowance {
        if self.window >= 1.0 {
            let window = (self.window * f64::from(self.path.mtu)) as u64;
            return Allowance { rate: self.path.line_rate, window };
        }
        let bits = self.window * f64::from(self.path.mtu) * 8.0;
        let rate = bits * 1e12 / self.last_rtt.max(1) as f64;
        Allowance { rate: (rate as u64).clamp(1, self.path.line_rate), window: u64::from(self.path.mtu) }
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, p: &SwiftParams, feedback: &Feedback) -> Allowance {
        self.last_rtt = feedback.rtt;
        let delay = feedback.rtt as f64;
        let target = self.path.base_rtt as f64 + p.target(self.window);
        let acked = f64::from(feedback.newly_acked);
        if delay < target {
            let share = if self.window >= 1.0 { acked / self.window } else { acked };
            self.window += p.additive_increase * share;
        } else if feedback.now.since(self.last_decrease).0 >= feedback.rtt {
            let factor = (1.0 - p.beta * (delay - target) / delay).max(1.0 - p.max_decrease);
            self.window *= factor;
            self.last_decrease = feedback.now;
        }
        self.window = self.window.clamp(p.min_window, self.max_window);
        self.allowance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Duration;

    const PATH: Path = Path { line_rate: 100_000_000_000, base_rtt: 8_000_000, mtu: 1000 };

    #[test]
    fn decreases_once_a_round_trip_and_increases_by_one_packet() {
        let config = SwiftConfig::default();
        let params = SwiftParams::new(&config);
        let mut qp = Swift::new(&config, &PATH);
        assert_eq!(qp.allowance().window, 100_000, "one BDP");
        let ack = |us: u64, rtt_us: u64| Feedback {
            now: Time::ZERO + Duration::from_us(us),
            rtt: rtt_us * 1_000_000,
            acked: 0,
            next: 0,
            newly_acked: 1,
            telemetry: None,
        };
        let cut = qp.on_ack(&params, &ack(100, 36)).window;
        assert!((59_000..61_000).contains(&cut), "1 - 0.8 (36 - 18)/36 = 0.6: {cut}");
        assert_eq!(qp.on_ack(&params, &ack(110, 36)).window, cut, "not twice a round trip");
        let mut grown = cut;
        for _ in 0..60 {
            grown = qp.on_ack(&params, &ack(150, 10)).window;
        }
        assert!((900..1100).contains(&(grown - cut)), "one packet a window: {}", grown - cut);
    }

    #[test]
    fn a_window_below_one_packet_is_paced() {
        let config = SwiftConfig::default();
        let params = SwiftParams::new(&config);
        let mut qp = Swift::new(&config, &PATH);
        for i in 1..40 {
            let feedback = Feedback {
                now: Time::ZERO + Duration::from_ms(i),
                rtt: 900_000_000,
                acked: 0,
                next: 0,
                newly_acked: 1,
                telemetry: None,
            };
            qp.on_ack(&params, &feedback);
        }
        let allowance = qp.allowance();
        assert_eq!(allowance.window, 1000);
        assert_eq!(allowance.rate, 888_888, "0.1 packets of 8000 bits in 900 us");
    }
}
