//! Order statistics and fairness of small samples.

/// The `q`-quantile (0 ≤ q ≤ 1) of an ascending sample by the nearest-rank method: the smallest value with at
/// least `q` of the sample at or below it. `None` for an empty sample.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (q * sorted.len() as f64).ceil() as usize;
    Some(sorted[rank.saturating_sub(1).min(last)])
}

/// Arithmetic mean; `None` for an empty sample.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// Jain's fairness index of a sample: 1 when all are equal, 1/n when one has everything.
/// Source: Jain, Chiu, Hawe, DEC-TR-301 (1984).
pub fn jain(sample: &[f64]) -> Option<f64> {
    let squares: f64 = sample.iter().map(|x| x * x).sum();
    let sum: f64 = sample.iter().sum();
    (squares > 0.0).then(|| sum * sum / (sample.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let sample: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&sample, 0.5), Some(50.0));
        assert_eq!(quantile(&sample, 0.99), Some(99.0));
        assert_eq!(quantile(&sample, 1.0), Some(100.0));
        assert_eq!(quantile(&sample, 0.0), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.99), Some(3.0));
    }

    #[test]
    fn jain_of_equal_and_of_one() {
        assert_eq!(jain(&[2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
    }
}
