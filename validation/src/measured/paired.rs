//! Two logs of the same collective, size by size: what changed from one run to the other, and where.

use super::comparison::{BANDWIDTH_FROM, LATENCY_BELOW};
use super::diagnosis::Diagnosis;
use super::figures::{list, median, short, size};
use super::log::{MeasuredLog, Mode};

/// How far from the median ratio a size may be.
const OUTLIER: f64 = 1.25;

/// One size of both logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRow {
    /// Size, in bytes.
    pub bytes: u64,
    /// Time in the first log, in us.
    pub base_us: f64,
    /// Time in the other log, in us.
    pub other_us: f64,
    /// Other over first.
    pub ratio: f64,
    /// Whether the ratio is far from the median of all sizes.
    pub outlier: bool,
}

/// Two logs side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// The first log.
    pub base: String,
    /// The other log.
    pub other: String,
    /// Sizes that both have, growing.
    pub rows: Vec<PairedRow>,
    /// Median of the ratios of all sizes.
    pub median_ratio: f64,
    /// Median of the ratios below 64 KiB.
    pub small_ratio: Option<f64>,
    /// Median of the ratios of 64 MiB and more.
    pub large_ratio: Option<f64>,
    /// Ratio of the lines "Avg bus bandwidth", other over first.
    pub average_busbw_ratio: Option<f64>,
    /// What that says.
    pub diagnosis: Vec<Diagnosis>,
}

/// Puts two logs side by side; an error where they have no size in common or measure different things.
pub fn pair(base: &MeasuredLog, other: &MeasuredLog, mode: Mode) -> Result<Paired, String> {
    let name = |log: &MeasuredLog| {
        let collective = log.collective().map_or("unknown collective", |collective| collective.name());
        let ranks = log.ranks().map_or("an unknown number of".to_string(), |ranks| ranks.to_string());
        format!("{collective} on {ranks} ranks")
    };
    if base.collective() != other.collective() {
        return Err(format!("{base} is {}, {other} is {}: they are not compared", name(base), name(other)));
    }
    let others = other.sizes(mode);
    let mut rows: Vec<PairedRow> = Vec::new();
    for (bytes, (_, timing)) in base.sizes(mode) {
        let Some((_, again)) = others.get(&bytes) else { continue };
        let (base_us, other_us) = (timing.time_us, again.time_us);
        rows.push(PairedRow { bytes, base_us, other_us, ratio: other_us / base_us, outlier: false });
    }
    if rows.is_empty() {
        return Err(format!("{base} and {other} have no size in common: they are not compared"));
    }
    let ratios = |inside: &dyn Fn(u64) -> bool| {
        let ratios: Vec<f64> = rows.iter().filter(|row| inside(row.bytes)).map(|row| row.ratio).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    };
    let median_ratio = ratios(&|_| true).unwrap_or(1.0);
    let small_ratio = ratios(&|bytes| bytes < LATENCY_BELOW);
    let large_ratio = ratios(&|bytes| bytes >= BANDWIDTH_FROM);
    // A size is judged beside its own range: small ones may change otherwise than large ones.
    for row in &mut rows {
        let usual = match row.bytes {
            bytes if bytes < LATENCY_BELOW => small_ratio,
            bytes if bytes >= BANDWIDTH_FROM => large_ratio,
            _ => Some(median_ratio),
        };
        let apart = row.ratio / usual.unwrap_or(median_ratio);
        row.outlier = !(1.0 / OUTLIER..=OUTLIER).contains(&apart);
    }
    let average = base.average_busbw_gbytes_per_s.filter(|average| *average > 0.0);
    let average_busbw_ratio = average.and_then(|base| Some(other.average_busbw_gbytes_per_s? / base));
    let mut paired = Paired {
        base: base.to_string(),
        other: other.to_string(),
        rows,
        median_ratio,
        small_ratio,
        large_ratio,
        average_busbw_ratio,
        diagnosis: Vec::new(),
    };
    paired.diagnosis = paired.diagnose(base, other);
    Ok(paired)
}

impl Paired {
    fn diagnose(&self, base: &MeasuredLog, other: &MeasuredLog) -> Vec<Diagnosis> {
        let mut found = Vec::new();
        for log in [base, other] {
            if let Some(reason) = &log.failed {
                let text = format!("{log} failed ({reason}): nothing follows from its times");
                found.push(Diagnosis { code: "failed", text });
            }
        }
        if base.ranks() != other.ranks() {
            let ranks =
                |log: &MeasuredLog| log.ranks().map_or("unknown".to_string(), |ranks| ranks.to_string());
            let text = format!("the logs have different ranks: {} and {}", ranks(base), ranks(other));
            found.push(Diagnosis { code: "ranks", text });
        }
        let mut text = format!(
            "{} takes {} times the time of {} (median over {} sizes",
            self.other,
            short(self.median_ratio),
            self.base,
            self.rows.len()
        );
        for (ratio, range) in [(self.small_ratio, "below 64 KiB"), (self.large_ratio, "from 64 MiB")] {
            if let Some(ratio) = ratio {
                text.push_str(&format!("; {} {range}", short(ratio)));
            }
        }
        text.push(')');
        found.push(Diagnosis { code: "paired", text });
        let iterations = other.iterations.or(base.iterations);
        let outliers: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.outlier)
            .map(|row| {
                let mut text =
                    format!("{} {} → {} us", size(row.bytes), short(row.base_us), short(row.other_us));
                if let Some(iterations) = iterations {
                    let extra = (row.other_us - row.base_us) * f64::from(iterations) / 1e3;
                    text.push_str(&format!(" ({extra:+.1} ms over {iterations} calls)"));
                }
                text
            })
            .collect();
        if !outliers.is_empty() {
            let mut text = format!(
                "{} of {} sizes stand out: {}. Single sizes that take many times longer point to timeouts or to noise, \
                 not to bandwidth; repeat them",
                outliers.len(),
                self.rows.len(),
                list(&outliers, 8)
            );
            if let Some(average) = self.average_busbw_ratio {
                text.push_str(&format!(
                    "; do not conclude from \"Avg bus bandwidth\" ({}), which mixes them with the rest",
                    short(average)
                ));
            }
            text.push('.');
            found.push(Diagnosis { code: "outliers", text });
        }
        found
    }
}
