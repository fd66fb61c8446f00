//! Measured beside simulated: the error of each size, and of ranges of sizes.

use super::figures;
use super::log::{MeasuredLog, Mode};
use super::simulated::SimulatedRow;

/// Sizes below this are the latency range, in bytes.
pub const LATENCY_BELOW: u64 = 64 << 10;
/// The transition range is from `LATENCY_BELOW` to this size, both included, in bytes.
pub const TRANSITION_TO: u64 = 16 << 20;
/// The bandwidth range is this size and more, in bytes. Sizes between the two belong to no range.
pub const BANDWIDTH_FROM: u64 = 64 << 20;

/// One size: measured, and simulated where it was.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// Its line in the log.
    pub line: usize,
    /// Size, in bytes.
    pub bytes: u64,
    /// Measured time of a call, in us.
    pub measured_us: f64,
    /// Measured time in the other mode, in us.
    pub measured_other_us: Option<f64>,
    /// Measured algorithm bandwidth from size and time, in GB/s.
    pub measured_algbw_gbytes_per_s: f64,
    /// Measured bus bandwidth from size, time, collective and ranks, in GB/s.
    pub measured_busbw_gbytes_per_s: Option<f64>,
    /// The simulation of this size.
    pub simulated: Option<SimulatedRow>,
    /// simulated / measured − 1, in %.
    pub error_pct: Option<f64>,
}

/// Errors over a range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeErrors {
    /// Mean of the absolute errors, in %. `None` without sizes.
    pub mape_pct: Option<f64>,
    /// Median of the absolute errors, in %.
    pub median_pct: Option<f64>,
    /// Sizes in it.
    pub sizes: usize,
}

/// A log beside its simulation, or alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Which half of the table is compared.
    pub mode: Mode,
    /// Sizes, growing.
    pub rows: Vec<ComparedRow>,
    /// Below 64 KiB.
    pub latency: RangeErrors,
    /// 64 KiB to 16 MiB.
    pub transition: RangeErrors,
    /// 64 MiB and more.
    pub bandwidth: RangeErrors,
}

/// Compares a log with what was simulated of it; `simulated` is empty where nothing was. The errors of a failed run are
/// shown by size but enter no range: it is no measurement.
pub fn compare(log: &MeasuredLog, mode: Mode, simulated: &[SimulatedRow]) -> Comparison {
    let mut rows = Vec::new();
    for (bytes, (row, timing)) in log.sizes(mode) {
        let measured_us = timing.time_us;
        let other = if row.timing(mode).is_some() { row.timing(mode.other()) } else { None };
        let simulated = simulated.iter().find(|simulated| simulated.bytes == bytes).cloned();
        let error = simulated.as_ref().map(|s| (s.time_us / measured_us - 1.0) * 100.0);
        rows.push(ComparedRow {
            line: row.line,
            bytes,
            measured_us,
            measured_other_us: other.map(|timing| timing.time_us),
            measured_algbw_gbytes_per_s: bytes as f64 / measured_us / 1e3,
            measured_busbw_gbytes_per_s: log.busbw_gbytes_per_s(bytes, measured_us),
            simulated,
            error_pct: error.filter(|error| error.is_finite()),
        });
    }
    let fit = log.fit_for_calibration();
    let range = |inside: &dyn Fn(u64) -> bool| {
        let errors: Vec<f64> = rows
            .iter()
            .filter(|row| fit && inside(row.bytes))
            .filter_map(|row| row.error_pct.map(f64::abs))
            .collect();
        RangeErrors {
            mape_pct: (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64),
            median_pct: (!errors.is_empty()).then(|| figures::median(&errors)),
            sizes: errors.len(),
        }
    };
    let latency = range(&|bytes| bytes < LATENCY_BELOW);
    let transition = range(&|bytes| (LATENCY_BELOW..=TRANSITION_TO).contains(&bytes));
    let bandwidth = range(&|bytes| bytes >= BANDWIDTH_FROM);
    Comparison { mode, latency, transition, bandwidth, rows }
}
