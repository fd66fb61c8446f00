//! TIMELY: rate by the gradient of the round-trip time.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1.
//! One update each `segment` of acknowledged data, as the paper's NIC gives one completion a segment.

use super::{Allowance, Feedback, Path};
use crate::config::TimelyConfig;

/// Parameters, compiled.
#[derive(Clone, Copy, Debug)]
pub struct TimelyParams {
    ewma_gain: f64,
    beta: f64,
    step: u64,
    t_low: u64,
    t_high: u64,
    hai_after: u32,
    min_rate: u64,
    segment: u64,
}

impl TimelyParams {
    /// Compiles a configuration.
    pub fn new(c: &TimelyConfig) -> Self {
        Self {
            ewma_gain: c.ewma_gain,
            beta: c.beta,
            step: c.additive_increase.0,
            t_low: c.t_low.0,
            t_high: c.t_high.0,
            hai_after: c.hai_after,
            min_rate: c.min_rate.0,
            segment: c.segment.0,
        }
    }
}

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct Timely {
    line: u64,
    mtu: u64,
    min_rtt: f64,
    rate: u64,
    previous_rtt: Option<u64>,
    rtt_difference: f64,
    falling: u32,
    acked_bytes: u64,
}

impl Timely {
    /// At line rate.
    pub fn new(c: &TimelyConfig, path: &Path) -> Self {
        Self {
            line: path.line_rate,
            mtu: u64::from(path.mtu),
            min_rtt: c.min_rtt.map_or(path.base_rtt, |d| d.0).max(1) as f64,
            rate: path.line_rate,
            previous_rtt: None,
            rtt_difference: 0.0,
            falling: 0,
            acked_bytes: 0,
        }
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, p: &TimelyParams, feedback: &Feedback) -> Allowance {
        self.acked_bytes += u64::from(feedback.newly_acked) * self.mtu;
        if self.acked_bytes >= p.segment {
            self.acked_bytes = 0;
            self.update(p, feedback.rtt);
        }
        Allowance { rate: self.rate, window: u64::MAX }
    }

    fn update(&mut self, p: &TimelyParams, rtt: u64) {
        let Some(previous) = self.previous_rtt.replace(rtt) else { return };
        let difference = rtt as f64 - previous as f64;
        self.rtt_difference = (1.0 - p.ewma_gain) * self.rtt_difference + p.ewma_gain * difference;
        let gradient = self.rtt_difference / self.min_rtt;
        let rate = self.rate as f64;
        let new = if rtt < p.t_low {
            rate + p.step as f64
        } else if rtt > p.t_high {
            rate * (1.0 - p.beta * (1.0 - p.t_high as f64 / rtt as f64))
        } else if gradient <= 0.0 {
            self.falling += 1;
            let steps = if self.falling >= p.hai_after { 5.0 } else { 1.0 };
            rate + steps * p.step as f64
        } else {
            rate * (1.0 - p.beta * gradient).max(0.5)
        };
        if gradient > 0.0 || rtt > p.t_high {
            self.falling = 0;
        }
        self.rate = (new as u64).clamp(p.min_rate.min(self.line), self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Time;

    const PATH: Path = Path { line_rate: 10_000_000_000, base_rtt: 10_000_000, mtu: 1000 };

    fn rates(rtts_us: &[u64]) -> Vec<u64> {
        let config = TimelyConfig::default();
        let params = TimelyParams::new(&config);
        let mut qp = Timely::new(&config, &PATH);
        let ack =
            |rtt: u64| Feedback { now: Time::ZERO, rtt, acked: 0, next: 0, newly_acked: 64, telemetry: None };
        rtts_us.iter().map(|us| qp.on_ack(&params, &ack(us * 1_000_000)).rate / 1_000_000).collect()
    }

    #[test]
    fn a_rising_rtt_cuts_and_a_falling_one_adds() {
        let r = rates(&[100, 104, 104, 100, 96, 92, 88, 84, 80]);
        assert!(r[1] < 8000, "gradient 0.35 at beta 0.8 cuts by more than a quarter: {r:?}");
        assert!(r[4] > r[3] && r[5] > r[4], "{r:?}");
        assert_eq!(r[8] - r[7], 200, "hyper-active increase adds five steps: {r:?}");
    }

    #[test]
    fn thresholds_override_the_gradient() {
        let r = rates(&[600, 1000, 1000]);
        assert_eq!(r[1], 6000, "above T_high: 1 - 0.8 (1 - 0.5)");
        let r = rates(&[600, 1000, 20, 30]);
        assert_eq!(r[3] - r[2], 40, "below T_low always adds: {r:?}");
    }
}
