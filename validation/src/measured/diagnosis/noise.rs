//! Sizes that say more about the moment of the measurement than about the network.

use super::Diagnosis;
use super::switch::falls;
use crate::measured::comparison::{ComparedRow, Comparison};
use crate::measured::figures::{list, short, size};

/// How far apart the two halves of a row may be.
const APART: f64 = 1.25;
/// How far above the geometric mean of its neighbours a size may be. A change of algorithm reaches √2.
const OUTLIER: f64 = 1.6;

pub(super) fn diagnose(comparison: &Comparison) -> Option<Diagnosis> {
    let rows = &comparison.rows;
    let apart = |row: &ComparedRow| {
        let other = row.measured_other_us.filter(|other| *other > 0.0)?;
        let ratio = (row.measured_us / other).max(other / row.measured_us);
        (ratio >= APART).then_some(ratio)
    };
    // The first row is the warm-up's.
    let halves: Vec<String> = rows
        .iter()
        .skip(1)
        .filter_map(|row| Some(format!("{} {}-fold", size(row.bytes), short(apart(row)?))))
        .collect();
    let outliers: Vec<String> = rows
        .windows(3)
        .filter_map(|three| {
            let between = (three[0].measured_us * three[2].measured_us).sqrt();
            let ratio = three[1].measured_us / between;
            // The last size before an algorithm switch is slow in both halves.
            let switch = apart(&three[1]).is_none() && falls(&three[1], &three[2]);
            (ratio >= OUTLIER && !switch).then(|| format!("{} {}-fold", size(three[1].bytes), short(ratio)))
        })
        .collect();
    let mut parts = Vec::new();
    if !halves.is_empty() {
        let (this, other) = (comparison.mode.name(), comparison.mode.other().name());
        parts.push(format!("{this} and {other} differ at {}", list(&halves, 5)));
    }
    if !outliers.is_empty() {
        parts.push(format!("slower than the sizes around them: {}", list(&outliers, 5)));
    }
    if parts.is_empty() {
        return None;
    }
    let text = format!("{}. Repeat these sizes with more iterations before judging them.", parts.join("; "));
    Some(Diagnosis::new("noise", text))
}
