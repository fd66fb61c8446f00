//! Sweeps: a scenario at many settings of its parameters, on several threads or machines, and what to make of it.
//!
//! [`Plan`] says which points there are, [`run`] computes what is missing and appends it to a journal, [`conclude`] makes
//! the tables from journals that are complete. Nothing here prints or reads a clock but to synchronise files.

mod analysis;
#[cfg(feature = "parquet")]
mod columnar;
mod constraint;
mod error;
mod execute;
mod figures;
mod hash;
mod journal;
mod plan;
mod shard;
mod spec;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod values;

use std::path::Path;

use crate::run::write_json;

pub use analysis::{
    Analysis, Change, Estimate, Rank, Recommendation, SETTINGS, Sensitivity, Setting, label, page, shown,
    student_t_975, sweep_json,
};
#[cfg(feature = "parquet")]
pub use columnar::write_parquet;
pub use error::SweepError;
pub use execute::{Done, Options, Unwatched, Watch, run, simulate};
pub use figures::{names as figure_names, of as figures_of};
pub use journal::{Index, Row};
pub use plan::{Plan, Point, Source};
pub use shard::Shard;
pub use spec::{Goal, Objective, SampleSize, Sampling, Scale, SweepParameter, SweepRange, SweepSpec, Work};
pub use store::{MANIFEST, Missing, PLAN_FILE, index_of, missing, plan_of, settle, write_manifest};
pub use table::{POINTS, POINTS_PARQUET};
pub use values::plain;

/// Name of the file with what to make of a sweep.
pub const SWEEP_FILE: &str = "sweep.json";

/// Writes `points.csv`, `settings.csv` and `sweep.json` of a sweep all of whose points have rows in `index`.
pub fn conclude(folder: &Path, plan: &Plan, index: &Index) -> Result<Analysis, SweepError> {
    table::write_points(folder, plan, index)?;
    let analysis = Analysis::of(plan, index)?;
    analysis::settings_csv(folder, plan, &analysis)?;
    write_json(folder, SWEEP_FILE, &sweep_json(plan, &analysis))?;
    Ok(analysis)
}
