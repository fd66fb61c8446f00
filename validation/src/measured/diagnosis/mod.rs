//! What a log says, alone or beside its simulation. Codes are explained in `docs/compare.md`.

mod cause;
mod cliff;
mod impossible;
mod noise;
mod switch;

pub use cliff::{Cliff, find_cliff};
pub use impossible::above_line_rate;

use super::bound::Bounds;
use super::comparison::Comparison;
use super::log::MeasuredLog;

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// A stable name, `host-limited`.
    pub code: &'static str,
    /// What is the case, in figures, and what to do about it.
    pub text: String,
}

impl Diagnosis {
    fn new(code: &'static str, text: String) -> Self {
        Self { code, text }
    }
}

/// What can be said of a log and its comparison. `bounds` are those of the NICs, where their rate is known.
pub fn diagnose(log: &MeasuredLog, comparison: &Comparison, bounds: Option<&Bounds>) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    if let Some(reason) = &log.failed {
        let text = format!("the run failed ({reason}): its times are shown but calibrate and judge nothing");
        found.push(Diagnosis::new("failed", text));
    }
    found.extend(impossible::diagnose(log, comparison, bounds));
    let cliff = find_cliff(comparison);
    found.extend(cliff.as_ref().map(|cliff| cliff.diagnosis(comparison)));
    found.extend(switch::diagnose(comparison, cliff.as_ref()));
    if log.fit_for_calibration() {
        found.extend(cause::diagnose(log, comparison, cliff.as_ref(), bounds));
    }
    found.extend(noise::diagnose(comparison));
    found
}
