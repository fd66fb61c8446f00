//! Exponential random numbers, the same on every machine.

use rand_distr::{Distribution, Exp1};
use sim_core::random::Stream;

/// No draw is larger. The ziggurat's tail begins at 7.7 and adds the logarithm of at most 2⁵³, which is below 37, but
/// for the one draw in 2⁶⁴ that would be infinite.
pub(super) const LARGEST: f64 = 45.0;

/// An exponential random number of mean 1.
///
/// The ziggurat of `rand_distr` takes a logarithm in its tail (one draw in 2000) and an exponential to compare with.
/// Both come from the portable `libm` crate unless some other crate of the build switches `num-traits` to the
/// platform's. So that a last bit that differs does not show even then, the number is rounded to single precision.
pub(super) fn exponential(random: &mut Stream) -> f64 {
    let single: f32 = Exp1.sample(random);
    f64::from(single).min(LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::random::{Purpose, stream};

    #[test]
    fn mean_variance_and_tail_are_exponential() {
        const N: u32 = 400_000;
        let mut random = stream(1, Purpose::Test, 0);
        let (mut sum, mut squares, mut above) = (0.0, 0.0, [0u32; 3]);
        for _ in 0..N {
            let x = exponential(&mut random);
            assert!(x > 0.0);
            sum += x;
            squares += x * x;
            // e^-1, e^-3 and e^-8 (beyond the ziggurat's R = 7.697).
            for (count, limit) in above.iter_mut().zip([1.0, 3.0, 8.0]) {
                *count += u32::from(x > limit);
            }
        }
        let n = f64::from(N);
        assert!((sum / n - 1.0).abs() < 0.006, "{}", sum / n);
        assert!((squares / n - 2.0).abs() < 0.04, "{}", squares / n);
        assert!((f64::from(above[0]) / n - 0.367_879).abs() < 0.003);
        assert!((f64::from(above[1]) / n - 0.049_787).abs() < 0.001_5);
        assert!((90..180).contains(&above[2]), "{} of 134", above[2]);
    }
}
