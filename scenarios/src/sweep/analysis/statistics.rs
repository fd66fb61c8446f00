//! Means over seeds and how sure they are.

use sim_core::stats;

/// A mean and the half width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Size of the sample.
    pub count: u32,
    /// Arithmetic mean.
    pub mean: f64,
    /// `t(0.975, n - 1) · s / √n` with the sample's standard deviation `s`; `None` for a sample of one.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The estimate of a sample; `None` for an empty one.
    pub fn of(sample: &[f64]) -> Option<Self> {
        let mean = stats::mean(sample)?;
        let count = sample.len() as u32;
        let half_width = (count > 1).then(|| {
            let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
            let deviation = (squares / f64::from(count - 1)).sqrt();
            student_t_975(count - 1) * deviation / f64::from(count).sqrt()
        });
        Some(Self { count, mean, half_width })
    }
}

/// The 0.975 quantile of Student's t distribution, so that ± it holds 95 %: from the table up to 30 degrees of freedom,
/// then between its entries evenly in the reciprocal, which is right to three digits.
pub fn student_t_975(degrees: u32) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    const FURTHER: [(f64, f64); 5] =
        [(1.0 / 30.0, 2.042), (1.0 / 40.0, 2.021), (1.0 / 60.0, 2.000), (1.0 / 120.0, 1.980), (0.0, 1.960)];
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees as usize - 1],
        _ => {
            let x = 1.0 / f64::from(degrees);
            let at = FURTHER.iter().position(|&(end, _)| end <= x).unwrap_or(FURTHER.len() - 1).max(1);
            let ((x0, t0), (x1, t1)) = (FURTHER[at - 1], FURTHER[at]);
            t1 + (t0 - t1) * (x - x1) / (x0 - x1)
        }
    }
}

/// Spearman's rank correlation; `None` where one sample does not vary.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let (ma, mb) = (stats::mean(&a)?, stats::mean(&b)?);
    let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
    let both = sum(&|i| (a[i] - ma) * (b[i] - mb));
    let (va, vb) = (sum(&|i| (a[i] - ma) * (a[i] - ma)), sum(&|i| (b[i] - mb) * (b[i] - mb)));
    (va > 0.0 && vb > 0.0).then(|| both / (va * vb).sqrt())
}

/// The rank of each value, equal ones sharing the middle of theirs.
fn ranks(sample: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.sort_by(|&a, &b| sample[a].total_cmp(&sample[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; sample.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && sample[order[end]] == sample[order[start]] {
            end += 1;
        }
        let middle = (start + end - 1) as f64 / 2.0;
        order[start..end].iter().for_each(|&i| ranks[i] = middle);
        start = end;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // n = 4, mean 5, s = √(20/3) = 2.582: 3.182 · 2.582 / 2.
        let estimate = Estimate::of(&[2.0, 4.0, 6.0, 8.0]).unwrap();
        assert_eq!((estimate.count, estimate.mean), (4, 5.0));
        assert!((estimate.half_width.unwrap() - 4.108).abs() < 1e-3, "{estimate:?}");
        assert_eq!(Estimate::of(&[3.0]).unwrap().half_width, None);
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[3.0, 3.0]).unwrap().half_width, Some(0.0));
    }

    #[test]
    fn quantiles_between_entries_are_right_to_three_digits() {
        // Reference values of R's qt(0.975, df).
        for (degrees, want) in
            [(1, 12.706), (30, 2.042), (35, 2.0301), (50, 2.0086), (100, 1.9840), (1000, 1.9623)]
        {
            assert!((student_t_975(degrees) - want).abs() < 2e-3, "{degrees}: {}", student_t_975(degrees));
        }
    }

    #[test]
    fn rank_correlation_sees_order_alone() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[1.0, 8.0, 27.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[9.0, 4.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0], &[5.0, 5.0]), None);
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [1.5, 0.0, 1.5]);
    }
}
