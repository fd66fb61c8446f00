//! The scenario language of fabsim, the checks before a run, the runner and the result writers.

pub mod check;
pub mod finding;
pub mod import;
pub mod jobs;
pub mod language;
pub mod report;
pub mod run;
pub mod spec;
pub mod sweep;
