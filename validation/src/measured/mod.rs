//! Measured collectives: logs of nccl-tests and rccl-tests, what contradicts itself in them, and what they say
//! beside a simulation.
//!
//! ```text
//!     bytes of a file ── read::read ──► MeasuredLog (one a table, with problems)
//!                                          │ comparison::compare, with SimulatedRow
//!                                          ▼
//!                                       Comparison: rows, errors by range ── diagnosis::diagnose ──► Diagnosis
//! ```
//!
//! Columns, ranges and codes are in `docs/compare.md`.

pub mod bound;
pub mod chart;
pub mod collective;
pub mod comparison;
pub mod diagnosis;
pub mod log;
pub mod paired;
pub mod pairs;
pub mod read;
pub mod simulated;

mod consistency;
mod derive;
mod figures;
mod json;
mod lines;
mod scan;
mod table;
mod text;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use bound::{Bounds, NetworkRate};
pub use collective::Collective;
pub use comparison::{Comparison, RangeErrors, compare};
pub use diagnosis::{Diagnosis, diagnose};
pub use log::{MeasuredLog, MeasuredRow, Mode, Problem, Timing};
pub use read::{LogError, read};
pub use simulated::{NetworkEvidence, SimulatedRow};
