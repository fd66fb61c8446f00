//! Reports: the folder of a run or a sweep as one HTML page that needs nothing else, or its drawings alone. The same
//! files give the same bytes.

mod collectives;
mod deadlock;
mod distribution;
mod document;
mod heat;
mod network;
mod pauses;
mod plot;
mod read;
mod run;
mod scale;
mod series;
mod svg;
mod sweep;
mod topology;
mod tradeoff;

use std::fmt;
use std::path::{Path, PathBuf};

pub use document::{Block, Figure, Report, Section};
pub use read::{Folder, Table};
pub use svg::Svg;

/// Why there is no report.
#[derive(Debug)]
pub struct ReportError {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong with it and what to do.
    pub why: String,
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for ReportError {}

/// Files of which one makes a folder that of a run, and that of a sweep.
const OF_RUN: [&str; 3] = ["summary.json", "scenario.json", "flows.csv"];
const OF_SWEEP: [&str; 3] = ["sweep.json", "points.csv", "plan.json"];

/// The report of a folder. What is missing or cut in it is said in [`Report::notes`].
///
/// # Errors
/// The folder is not there, or it is neither that of a run nor that of a sweep.
pub fn of_folder(path: &Path) -> Result<Report, ReportError> {
    let refuse = |why: &str| ReportError { path: path.to_path_buf(), why: why.to_string() };
    if path.is_file() {
        return Err(refuse("it is a file, but a folder is due: name the folder of a run or a sweep"));
    }
    if !path.is_dir() {
        return Err(refuse("there is no such folder: `fabsim run FILE --out DIR` makes one"));
    }
    let mut folder = Folder::new(path);
    let has = |names: &[&str]| names.iter().any(|name| folder.has(name));
    let (of_sweep, of_run) = (has(&OF_SWEEP), has(&OF_RUN));
    let mut report = match (of_sweep, of_run) {
        (true, _) => sweep::report(&mut folder),
        (false, true) => run::report(&mut folder),
        (false, false) => {
            return Err(refuse(
                "it is neither the folder of a run (summary.json, scenario.json, flows.csv) nor that of a sweep (sweep.json, \
                 points.csv, plan.json): name one that `fabsim run` or `fabsim sweep` wrote",
            ));
        }
    };
    report.notes.extend(folder.notes.iter().map(|(name, what)| format!("{name} {what}")));
    Ok(report)
}
