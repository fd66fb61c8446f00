//! Steps in the times where the library changes its algorithm or protocol.

use super::Diagnosis;
use super::cliff::Cliff;
use crate::measured::comparison::{ComparedRow, Comparison};
use crate::measured::figures::{list, short, size};

/// A larger size must take less than this part of a smaller one's time to count as a step down, in both halves.
const FALLS: f64 = 0.9;
/// How far the growth of the time may be from that of the sizes around, where the simulation changes.
const STEP: f64 = 1.25;

pub(super) fn diagnose(comparison: &Comparison, cliff: Option<&Cliff>) -> Option<Diagnosis> {
    let rows = &comparison.rows;
    let mut steps = Vec::new();
    for i in 0..rows.len().saturating_sub(1) {
        let (row, next) = (&rows[i], &rows[i + 1]);
        if cliff.is_some_and(|cliff| cliff.after_bytes == next.bytes) {
            continue;
        }
        let growth = next.measured_us / row.measured_us;
        let changed = change(row, next);
        if falls(row, next) {
            let as_simulated =
                changed.map(|change| format!(", where the simulation goes {change}")).unwrap_or_default();
            steps.push(format!(
                "{} takes {} of the time of {}{as_simulated}",
                size(next.bytes),
                short(growth),
                size(row.bytes)
            ));
        } else if let Some(change) = changed
            && let Some(around) = growth_around(rows, i)
            && (growth / around >= STEP || around / growth >= STEP)
        {
            steps.push(format!(
                "the time grows {}-fold from {} to {} ({}-fold around them), where the simulation goes {change}",
                short(growth),
                size(row.bytes),
                size(next.bytes),
                short(around)
            ));
        }
    }
    if steps.is_empty() {
        return None;
    }
    let text = format!(
        "{}. The library changes algorithm, protocol or channels there; NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING \
         says to what.",
        list(&steps, 4)
    );
    Some(Diagnosis::new("algorithm-switch", text))
}

/// Whether the larger size takes less time in every half that is there.
pub(super) fn falls(row: &ComparedRow, next: &ComparedRow) -> bool {
    let other = match (row.measured_other_us, next.measured_other_us) {
        (Some(row), Some(next)) => next < FALLS * row,
        _ => true,
    };
    next.measured_us < FALLS * row.measured_us && other
}

/// How the simulated algorithm or protocol changes.
fn change(row: &ComparedRow, next: &ComparedRow) -> Option<String> {
    let name = |row: &ComparedRow| {
        let simulated = row.simulated.as_ref()?;
        let parts = [&simulated.algorithm, &simulated.protocol];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    };
    let (from, to) = (name(row)?, name(next)?);
    (from != to).then(|| format!("from {from} to {to}"))
}

/// The growth from one size to the next on both sides of a step.
fn growth_around(rows: &[ComparedRow], at: usize) -> Option<f64> {
    let before = rows[at].measured_us / rows[at.checked_sub(1)?].measured_us;
    let after = rows.get(at + 2)?.measured_us / rows[at + 1].measured_us;
    Some((before * after).sqrt())
}
