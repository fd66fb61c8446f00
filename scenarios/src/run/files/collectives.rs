//! `collectives.csv`: when each rank took part in each execution of each collective.

use std::path::Path;

use super::super::facts::Facts;
use super::table::{text, us};
use super::{WriteError, write_file};
use crate::jobs::results::{self, Execution};

const HEADER: [&str; 10] =
    ["job", "operation", "algorithm", "protocol", "bytes", "execution", "rank", "gpu", "start_us", "end_us"];

/// Writes the file where there are jobs.
pub(super) fn write(folder: &Path, facts: &Facts) -> Result<(), WriteError> {
    let Some(jobs) = facts.jobs else { return Ok(()) };
    let rows = results::executions(jobs, &facts.times).map(|execution| row(&execution));
    write_file(folder, "collectives.csv", &text(&HEADER.map(String::from), rows))
}

fn row(e: &Execution) -> Vec<String> {
    let schedule = &e.compiled.schedule;
    vec![
        e.call.job.clone(),
        e.call.operation.name().to_string(),
        schedule.algorithm.name().to_string(),
        schedule.protocol.name().to_string(),
        e.call.bytes.to_string(),
        e.execution.to_string(),
        e.rank.to_string(),
        e.gpu().to_string(),
        e.times.started.map_or(String::new(), |at| us(at.0)),
        e.times.finished.map_or(String::new(), |at| us(at.0)),
    ]
}
