//! ECN marking: RED on the length of an egress queue.

use sim_core::random::{Stream, unit};

use crate::config::EcnAtRate;

/// Thresholds of one egress port, compiled.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    /// Bytes up to which nothing is marked; `u32::MAX` never marks.
    kmin: u32,
    /// Bytes above which everything is marked.
    kmax: u32,
    /// Marking probability per byte above Kmin.
    slope: f32,
}

impl Red {
    /// Never marks.
    pub const OFF: Self = Self { kmin: u32::MAX, kmax: u32::MAX, slope: 0.0 };

    /// Marks by these thresholds.
    pub fn new(thresholds: &EcnAtRate) -> Self {
        let clamp = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX - 1);
        let (kmin, kmax) = (clamp(thresholds.kmin.0), clamp(thresholds.kmax.0));
        let span = kmax.saturating_sub(kmin);
        let slope = if span == 0 { 0.0 } else { (thresholds.pmax / f64::from(span)) as f32 };
        Self { kmin, kmax, slope }
    }

    /// Whether a packet that sees `queue` bytes is marked. Nothing is drawn where the outcome is certain.
    #[inline]
    pub fn marks(&self, queue: u64, random: &mut Stream) -> bool {
        if queue <= u64::from(self.kmin) {
            return false;
        }
        if queue > u64::from(self.kmax) {
            return true;
        }
        let above = (queue - u64::from(self.kmin)) as f64;
        unit(random) < above * f64::from(self.slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::random::{Purpose, stream};
    use sim_core::{Bytes, Rate};

    /// Kmin 500 KB, Kmax 2000 KB, Pmax 5 %: the marking accuracy test switches are held to.
    #[test]
    fn mark_ratio_follows_the_line() {
        let red = Red::new(&EcnAtRate {
            rate: Rate::gbps(100),
            kmin: Bytes(500_000),
            kmax: Bytes(2_000_000),
            pmax: 0.05,
        });
        let mut random = stream(3, Purpose::Test, 0);
        let before = random.clone();
        assert!(!red.marks(500_000, &mut random));
        assert!(red.marks(2_000_001, &mut random));
        assert_eq!(before, random, "no draw where the outcome is certain");
        for queue in [800_000u64, 1_250_000, 1_900_000] {
            let marked = (0..200_000).filter(|_| red.marks(queue, &mut random)).count();
            let expected = (queue - 500_000) as f64 / 1_500_000.0 * 0.05;
            let measured = marked as f64 / 200_000.0;
            assert!((measured / expected - 1.0).abs() < 0.05, "{queue}: {measured} against {expected}");
        }
    }
}
