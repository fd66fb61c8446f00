//! Distributions of flow sizes.

use sim_core::Bytes;
use sim_core::random::{Stream, unit};

use super::exponential::{LARGEST, exponential};
use crate::config::{CdfPoint, SizeDistribution};

/// Least mean of an exponential distribution: below it, the floor of 1 B would raise the mean by more than 0.5 %.
const MIN_EXPONENTIAL: Bytes = Bytes(10);

/// (bytes, percent of flows at or below). Web search: DCTCP (Alizadeh et al., SIGCOMM 2010, figure 4) in the points
/// of the traffic generator of HPCC (`WebSearch_distribution.txt`).
const WEB_SEARCH: [(u64, f64); 12] = [
    (0, 0.0),
    (10_000, 15.0),
    (20_000, 20.0),
    (30_000, 30.0),
    (50_000, 40.0),
    (80_000, 53.0),
    (200_000, 60.0),
    (1_000_000, 70.0),
    (2_000_000, 80.0),
    (5_000_000, 90.0),
    (10_000_000, 97.0),
    (30_000_000, 100.0),
];

/// (bytes, percent of flows at or below). Storage of Alibaba: HPCC (Li et al., SIGCOMM 2019), the points of its
/// traffic generator (`AliStorage2019.txt`).
const STORAGE: [(u64, f64); 9] = [
    (0, 0.0),
    (4_000, 22.93),
    (8_000, 69.21),
    (16_000, 80.61),
    (32_000, 90.47),
    (64_000, 93.53),
    (128_000, 96.77),
    (256_000, 97.53),
    (2_000_000, 100.0),
];

/// A distribution of sizes, checked and ready to draw from.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Always this.
    Fixed(Bytes),
    /// Exponential with this mean, rounded to bytes, at least 1 B.
    Exponential(Bytes),
    /// Linear between points of (bytes, percent at or below), ascending to 100. What the first point has is of its
    /// size. At least 1 B.
    Piecewise(Vec<(u64, f64)>),
}

impl Sizes {
    /// The distribution of `config`. An error is the field it is in (empty for the whole), what stands there, and
    /// what to write.
    pub fn new(config: &SizeDistribution) -> Result<Self, (String, String, String)> {
        match config {
            SizeDistribution::Fixed(Bytes(0)) => {
                let advice = "a message has at least 1 byte, so write a size such as \"1MB\"";
                Err((".fixed".to_string(), "0".to_string(), advice.to_string()))
            }
            SizeDistribution::Fixed(size) => Ok(Self::Fixed(*size)),
            SizeDistribution::Exponential(mean) if *mean < MIN_EXPONENTIAL => {
                let advice = format!("write a mean of at least {MIN_EXPONENTIAL}");
                Err((".exponential".to_string(), mean.to_string(), advice))
            }
            SizeDistribution::Exponential(mean) => Ok(Self::Exponential(*mean)),
            SizeDistribution::WebSearch => Ok(Self::Piecewise(WEB_SEARCH.to_vec())),
            SizeDistribution::Storage => Ok(Self::Piecewise(STORAGE.to_vec())),
            SizeDistribution::Cdf(points) => check_points(points),
        }
    }

    /// The mean, in bytes: exact but for rounding to bytes and the floor of 1 B.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) | Self::Exponential(size) => size.0 as f64,
            Self::Piecewise(points) => {
                let (size, percent) = points[0];
                let segments = points.windows(2).map(|pair| {
                    let ((from, below), (to, upto)) = (pair[0], pair[1]);
                    (upto - below) * (from as f64 + to as f64) / 2.0
                });
                segments.fold(size as f64 * percent, |sum, part| sum + part) / 100.0
            }
        }
    }

    /// The largest size there can be.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            Self::Exponential(mean) => Bytes(mean.0.saturating_mul(LARGEST as u64)),
            Self::Piecewise(points) => points.last().map_or(Bytes(1), |(size, _)| Bytes(*size)),
        }
    }

    /// A random size.
    pub fn sample(&self, random: &mut Stream) -> Bytes {
        let size = match self {
            Self::Fixed(size) => return *size,
            Self::Exponential(mean) => exponential(random) * mean.0 as f64,
            Self::Piecewise(points) => {
                let percent = unit(random) * 100.0;
                // The last point has 100, so there is one above; its lower neighbour is at or below `percent`.
                let above = points.partition_point(|(_, upto)| *upto <= percent);
                let (to, upto) = points[above];
                match above.checked_sub(1).map(|below| points[below]) {
                    None => to as f64,
                    Some((from, below)) => {
                        let share = (percent - below) / (upto - below);
                        from as f64 + share * (to - from) as f64
                    }
                }
            }
        };
        Bytes(((size + 0.5) as u64).max(1))
    }
}

/// Points ascend in both, from a size of at least 1 B where it has a share, to 100 percent.
fn check_points(points: &[CdfPoint]) -> Result<Sizes, (String, String, String)> {
    let bad =
        |field: String, value: String, advice: &str| Err((format!(".cdf{field}"), value, advice.to_string()));
    let mut before = CdfPoint { size: Bytes::ZERO, percent: 0.0 };
    for (i, point) in points.iter().enumerate() {
        let CdfPoint { size, percent } = *point;
        if !(0.0..=100.0).contains(&percent) {
            return bad(format!("[{i}].percent"), percent.to_string(), "write a number from 0 to 100");
        }
        if percent < before.percent {
            let advice = format!("the point before has {}: percents ascend", before.percent);
            return bad(format!("[{i}].percent"), percent.to_string(), &advice);
        }
        if size < before.size {
            let advice = format!("the point before has {}: sizes ascend", before.size);
            return bad(format!("[{i}].size"), size.to_string(), &advice);
        }
        if size == Bytes::ZERO && percent > 0.0 {
            return bad(
                format!("[{i}].size"),
                "0".to_string(),
                "flows of no bytes: write at least 1B, or 0 percent",
            );
        }
        before = *point;
    }
    if points.is_empty() {
        return bad(String::new(), "empty".to_string(), "write points of size and percent, ascending to 100");
    }
    if before.percent < 100.0 {
        let field = format!("[{}].percent", points.len() - 1);
        return bad(field, before.percent.to_string(), "the last point must have 100");
    }
    Ok(Sizes::Piecewise(points.iter().map(|p| (p.size.0, p.percent)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim_core::random::{Purpose, stream};

    fn points(pairs: &[(u64, f64)]) -> SizeDistribution {
        let point = |(size, percent): &(u64, f64)| CdfPoint { size: Bytes(*size), percent: *percent };
        SizeDistribution::Cdf(pairs.iter().map(point).collect())
    }

    fn sizes(config: &SizeDistribution) -> Sizes {
        Sizes::new(config).unwrap()
    }

    #[test]
    fn means_are_those_of_the_tables() {
        assert_eq!(sizes(&SizeDistribution::WebSearch).mean(), 1_711_250.0);
        assert!((sizes(&SizeDistribution::Storage).mean() - 40_869.8).abs() < 1e-6);
        assert_eq!(sizes(&SizeDistribution::Fixed(Bytes(7))).mean(), 7.0);
        assert_eq!(sizes(&points(&[(100, 50.0), (300, 100.0)])).mean(), 150.0);
        assert_eq!(sizes(&points(&[(100, 100.0)])).mean(), 100.0);
    }

    #[test]
    fn sampled_means_agree_within_a_percent() {
        let cdf = points(&[(64, 30.0), (64, 40.0), (5_000, 40.0), (9_000, 100.0)]);
        let exponential = SizeDistribution::Exponential(Bytes(50_000));
        let all = [SizeDistribution::WebSearch, SizeDistribution::Storage, cdf, exponential];
        for (i, config) in all.iter().enumerate() {
            let sizes = sizes(config);
            let mut random = stream(1, Purpose::Test, i as u64);
            let n = 400_000;
            let sum: u64 = (0..n).map(|_| sizes.sample(&mut random).0).sum();
            let ratio = sum as f64 / n as f64 / sizes.mean();
            assert!((ratio - 1.0).abs() < 0.01, "{config:?}: {ratio}");
        }
    }

    #[test]
    fn shares_at_the_points_are_those_of_the_table() {
        let sizes = sizes(&SizeDistribution::WebSearch);
        let mut random = stream(2, Purpose::Test, 0);
        let draws: Vec<u64> = (0..200_000).map(|_| sizes.sample(&mut random).0).collect();
        for (size, percent) in WEB_SEARCH {
            let share = draws.iter().filter(|d| **d <= size).count() as f64 / 2_000.0;
            assert!((share - percent).abs() < 0.5, "{size}: {share} of {percent}");
        }
    }

    #[test]
    fn the_first_point_and_a_step_have_their_own_mass() {
        let sizes = sizes(&points(&[(100, 25.0), (200, 50.0), (200, 100.0)]));
        let mut random = stream(3, Purpose::Test, 0);
        let draws: Vec<u64> = (0..40_000).map(|_| sizes.sample(&mut random).0).collect();
        let share = |size| draws.iter().filter(|d| **d == size).count() as f64 / 40_000.0;
        assert!((share(100) - 0.25).abs() < 0.01);
        assert!((share(200) - 0.50).abs() < 0.01);
        assert_eq!(sizes.largest(), Bytes(200));
    }

    #[test]
    fn each_mistake_is_named() {
        let error = |config: SizeDistribution| {
            let (field, value, advice) = Sizes::new(&config).unwrap_err();
            format!("{field} is {value}: {advice}")
        };
        assert_eq!(error(points(&[])), ".cdf is empty: write points of size and percent, ascending to 100");
        assert_eq!(error(points(&[(9, 99.0)])), ".cdf[0].percent is 99: the last point must have 100");
        assert_eq!(error(points(&[(9, 101.0)])), ".cdf[0].percent is 101: write a number from 0 to 100");
        assert_eq!(
            error(points(&[(9, 50.0), (10, 40.0)])),
            ".cdf[1].percent is 40: the point before has 50: percents ascend"
        );
        assert_eq!(
            error(points(&[(9, 50.0), (8, 100.0)])),
            ".cdf[1].size is 8B: the point before has 9B: sizes ascend"
        );
        assert_eq!(
            error(points(&[(0, 5.0), (8, 100.0)])),
            ".cdf[0].size is 0: flows of no bytes: write at least 1B, or 0 percent"
        );
        assert!(Sizes::new(&points(&[(9, f64::NAN)])).is_err());
        assert_eq!(
            error(SizeDistribution::Exponential(Bytes(9))),
            ".exponential is 9B: write a mean of at least 10B"
        );
        assert!(error(SizeDistribution::Fixed(Bytes(0))).starts_with(".fixed is 0: "));
    }

    proptest! {
        #[test]
        fn draws_stay_within_the_points(
            seed: u64,
            steps in prop::collection::vec((0u64..1_000_000, 0u32..50), 1..12),
        ) {
            let total: u32 = steps.iter().map(|(_, share)| share).sum::<u32>() + 1;
            let (mut size, mut sum) = (1, 0);
            let mut table: Vec<(u64, f64)> = steps
                .iter()
                .map(|(step, share)| {
                    size += step;
                    sum += share;
                    (size, f64::from(sum) * 100.0 / f64::from(total))
                })
                .collect();
            table.push((size + 10, 100.0));
            let sizes = sizes(&points(&table));
            let mut random = stream(seed, Purpose::Test, 0);
            for _ in 0..100 {
                let drawn = sizes.sample(&mut random);
                prop_assert!((table[0].0..=size + 10).contains(&drawn.0));
                prop_assert!(drawn <= sizes.largest());
            }
        }
    }
}
