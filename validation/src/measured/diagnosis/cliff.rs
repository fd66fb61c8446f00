//! A size from which on everything is slower: the regime changes, and no average describes both sides.

use super::Diagnosis;
use crate::measured::comparison::{ComparedRow, Comparison};
use crate::measured::figures::{median, short, size};

/// By how much the time per byte must grow from one size to the next. It falls or stays on a sound network.
const GROWTH: f64 = 1.5;
/// What must remain of it at all larger sizes.
const REMAINS: f64 = 1.3;

/// A change of regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// The last size before it, in bytes.
    pub before_bytes: u64,
    /// The first size beyond it, in bytes.
    pub after_bytes: u64,
    /// Time per byte at the last size before it, in ns.
    pub before_ns_per_byte: f64,
    /// Time per byte at the first size beyond it, in ns.
    pub after_ns_per_byte: f64,
    /// Median time per byte beyond it, in ns.
    pub beyond_ns_per_byte: f64,
    /// Time of each further byte beyond it, in ns: from its first size to the largest. `None` with one size beyond.
    pub marginal_ns_per_byte: Option<f64>,
    /// Largest over smallest time per byte beyond it.
    pub beyond_spread: f64,
}

fn ns_per_byte(row: &ComparedRow) -> f64 {
    row.measured_us * 1e3 / row.bytes as f64
}

/// The largest change of regime, if there is one.
pub fn find_cliff(comparison: &Comparison) -> Option<Cliff> {
    let rows = &comparison.rows;
    let costs: Vec<f64> = rows.iter().map(ns_per_byte).collect();
    let growth = |i: usize| costs[i + 1] / costs[i];
    let lasts = |i: usize| costs[i + 1..].iter().all(|cost| *cost >= REMAINS * costs[i]);
    let at = (0..costs.len().saturating_sub(1))
        .filter(|&i| growth(i) >= GROWTH && lasts(i))
        .max_by(|&a, &b| growth(a).total_cmp(&growth(b)))?;
    let beyond = &costs[at + 1..];
    let (first, last) = (&rows[at + 1], rows.last()?);
    let marginal = (last.bytes > first.bytes)
        .then(|| (last.measured_us - first.measured_us) * 1e3 / (last.bytes - first.bytes) as f64);
    let least = beyond.iter().copied().fold(f64::INFINITY, f64::min);
    let most = beyond.iter().copied().fold(0.0, f64::max);
    Some(Cliff {
        before_bytes: rows[at].bytes,
        after_bytes: first.bytes,
        before_ns_per_byte: costs[at],
        after_ns_per_byte: costs[at + 1],
        beyond_ns_per_byte: median(beyond),
        marginal_ns_per_byte: marginal,
        beyond_spread: most / least,
    })
}

impl Cliff {
    pub(super) fn diagnosis(&self, comparison: &Comparison) -> Diagnosis {
        let mut text = format!(
            "between {} and {} the time per byte grows {}-fold, from {} to {} ns",
            size(self.before_bytes),
            size(self.after_bytes),
            short(self.after_ns_per_byte / self.before_ns_per_byte),
            short(self.before_ns_per_byte),
            short(self.after_ns_per_byte)
        );
        let factor = comparison
            .rows
            .last()
            .and_then(|row| Some(row.measured_busbw_gbytes_per_s? / row.measured_algbw_gbytes_per_s));
        let (rate, what) = (
            factor.unwrap_or(1.0) / self.beyond_ns_per_byte,
            if factor.is_some() { "busbw" } else { "algbw" },
        );
        if self.marginal_ns_per_byte.is_none() {
            text.push_str("; there is one size beyond, so it may be an outlier");
        } else if self.beyond_spread < 1.3 {
            text.push_str(&format!(
                "; beyond, it stays near {} ns ({} GB/s of {what}), and each further byte costs {} ns: a steady rate \
                 limit, as of loss recovery or a slow path, not a delay per step",
                short(self.beyond_ns_per_byte),
                short(rate),
                short(self.marginal_ns_per_byte.unwrap_or(self.beyond_ns_per_byte))
            ));
        } else {
            text.push_str(&format!(
                "; beyond, it varies {}-fold around {} ns ({} GB/s of {what})",
                short(self.beyond_spread),
                short(self.beyond_ns_per_byte),
                short(rate)
            ));
        }
        text.push_str(". An average over both sides describes neither.");
        Diagnosis::new("cliff", text)
    }
}
