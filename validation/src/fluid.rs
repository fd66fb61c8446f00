//! The fixed point of DCQCN's fluid model: Zhu, Ghobadi, Misra, Padhye, "ECN or Delay: Lessons Learnt from Analysis of
//! DCQCN and TIMELY", CoNEXT 2016, section 3 (equations 11–13 of the authors' text).

/// Parameters of the fluid model. Rates in packets a second, times in seconds, sizes in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fluid {
    /// Bottleneck rate C.
    pub capacity: f64,
    /// Additive increase R_AI.
    pub additive_increase: f64,
    /// CNP interval τ.
    pub cnp_interval: f64,
    /// Alpha interval τ'.
    pub alpha_interval: f64,
    /// Increase timer T.
    pub timer: f64,
    /// Byte counter B.
    pub byte_counter: f64,
    /// Fast-recovery steps F.
    pub fast_recovery: f64,
    /// Marking threshold Kmin in bytes.
    pub kmin: f64,
    /// Marking threshold Kmax in bytes.
    pub kmax: f64,
    /// Marking probability at Kmax.
    pub pmax: f64,
}

impl Fluid {
    /// The 40 Gb/s parameters of the paper with packets of 1000 B.
    pub fn paper_40g() -> Self {
        Self {
            capacity: 5e6,
            additive_increase: 5000.0,
            cnp_interval: 50e-6,
            alpha_interval: 55e-6,
            timer: 55e-6,
            byte_counter: 10_000.0,
            fast_recovery: 5.0,
            kmin: 5_000.0,
            kmax: 200_000.0,
            pmax: 0.01,
        }
    }

    /// Left side less right side of the fixed point's condition at marking probability `p`, for flows of rate `rate`.
    fn imbalance(&self, p: f64, rate: f64) -> f64 {
        let unmarked = |packets: f64| (packets * (-p).ln_1p()).exp();
        let marked = |packets: f64| -(packets * (-p).ln_1p()).exp_m1();
        let a = marked(self.cnp_interval * rate);
        let alpha = marked(self.alpha_interval * rate);
        // x / ((1 − p)^(−x) − 1) written with positive powers.
        let events = |packets: f64| p * unmarked(packets) / marked(packets);
        let b = events(self.byte_counter);
        let c = b * unmarked(self.fast_recovery * self.byte_counter);
        let d = events(self.timer * rate);
        let e = d * unmarked(self.fast_recovery * self.timer * rate);
        a * a * alpha / ((b + d) * (c + e))
            - self.cnp_interval * self.cnp_interval * self.additive_increase * rate
    }

    /// The marking probability at which `flows` flows of equal rate stand still, or `None` where it exceeds `pmax`: the
    /// queue then stands at Kmax.
    pub fn marking(&self, flows: u32) -> Option<f64> {
        let rate = self.capacity / f64::from(flows);
        let (mut low, mut high) = (1e-9, self.pmax);
        if self.imbalance(high, rate) < 0.0 {
            return None;
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if self.imbalance(middle, rate) < 0.0 { low = middle } else { high = middle }
        }
        Some(high)
    }

    /// The queue of the fixed point in bytes.
    pub fn queue(&self, flows: u32) -> f64 {
        self.marking(flows).map_or(self.kmax, |p| p / self.pmax * (self.kmax - self.kmin) + self.kmin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_point_of_the_paper() {
        let fluid = Fluid::paper_40g();
        for (flows, kilobytes) in [(2, 20.2), (4, 41.8), (8, 93.8), (10, 122.6)] {
            let queue = fluid.queue(flows) / 1000.0;
            assert!((queue - kilobytes).abs() < 0.06, "{flows} flows: {queue} KB, not {kilobytes}");
        }
        assert_eq!((fluid.marking(16), fluid.queue(20)), (None, 200_000.0));
    }
}
