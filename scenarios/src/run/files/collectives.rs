//! `collectives.csv`: when each rank took part in each execution of each collective.

use std::path::Path;

use super::super::facts::Facts;
use super::table::{text, us};
use super::{WriteError, write_file};

const HEADER: [&str; 10] =
    ["job", "operation", "algorithm", "protocol", "bytes", "execution", "rank", "gpu", "start_us", "end_us"];

/// Writes the file where there are collectives.
pub(super) fn write(folder: &Path, facts: &Facts) -> Result<(), WriteError> {
    if facts.executions.is_empty() {
        return Ok(());
    }
    let header = HEADER.map(String::from);
    let rows = facts.executions.iter().map(|e| {
        vec![
            e.job.to_string(),
            e.operation.to_string(),
            e.algorithm.to_string(),
            e.protocol.to_string(),
            e.bytes.to_string(),
            e.execution.to_string(),
            e.rank.to_string(),
            e.gpu.to_string(),
            e.times.started.map_or(String::new(), |at| us(at.0)),
            e.times.finished.map_or(String::new(), |at| us(at.0)),
        ]
    });
    write_file(folder, "collectives.csv", &text(&header, rows))
}
