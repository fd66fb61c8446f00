//! `points.csv`: every point of a plan in its order, so that its bytes depend neither on the order in which points were
//! done nor on jobs, interruptions or shards.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::SweepError;
use super::figures;
use super::journal::{Index, Row};
use super::plan::{Plan, Point};
use super::store::write_table;
use super::values::plain;
use crate::run::WriteError;

/// Name of the table.
pub const POINTS: &str = "points.csv";
/// Name of the same table as a Parquet file.
pub const POINTS_PARQUET: &str = "points.parquet";

/// Calls `look` with each point of the plan and its row, in order. Every point has one.
pub fn each_row(
    plan: &Plan,
    index: &Index,
    mut look: impl FnMut(&Point, &Row) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    for number in 0..plan.len() {
        let point = plan.point(number);
        let row = index.row(&point)?.ok_or_else(|| {
            SweepError::Spec(format!("point {number} ({}) has no row: run the sweep again", point.id()))
        })?;
        look(&point, &row)?;
    }
    Ok(())
}

/// Names of the figures of a sweep: those of every point, then those that only some points have, in the order they are
/// met.
pub(super) fn figure_columns(plan: &Plan, index: &Index) -> Result<Vec<String>, SweepError> {
    let mut columns = figures::names();
    let mut known: std::collections::HashSet<String> = columns.iter().cloned().collect();
    each_row(plan, index, |_, row| {
        for name in row.figures.keys() {
            if known.insert(name.clone()) {
                columns.push(name.clone());
            }
        }
        Ok(())
    })?;
    Ok(columns)
}

/// Names of all columns; `figures` are those of figures.
pub(super) fn head(plan: &Plan, figures: &[String]) -> Vec<String> {
    let mut head = vec!["point".to_string()];
    head.extend(plan.paths().map(str::to_string));
    head.extend(["repeat".to_string(), "seed".to_string()]);
    head.extend(figures.iter().cloned());
    head.push("error".to_string());
    head
}

/// Writes the table.
pub fn write_points(folder: &Path, plan: &Plan, index: &Index) -> Result<(), SweepError> {
    let columns = figure_columns(plan, index)?;
    let mut failure = None;
    let written = write_table(folder, POINTS, |table| {
        table.write_record(head(plan, &columns))?;
        let rows = each_row(plan, index, |point, row| {
            table.write_record(record(point, row, &columns)).map_err(|error| {
                let source = std::io::Error::other(error.to_string());
                WriteError { path: folder.join(POINTS), source }.into()
            })
        });
        if let Err(error) = rows {
            let text = error.to_string();
            failure = Some(error);
            return Err(std::io::Error::other(text).into());
        }
        Ok(())
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

fn record(point: &Point, row: &Row, columns: &[String]) -> Vec<String> {
    let mut record = vec![point.id()];
    record.extend(point.values.iter().map(plain));
    record.extend([point.repeat.to_string(), point.seed.to_string()]);
    record.extend(columns.iter().map(|column| cell(&row.figures, column)));
    record.push(error_line(row).unwrap_or_default());
    record
}

/// The error of a point: one line a row, whatever it says.
pub(super) fn error_line(row: &Row) -> Option<String> {
    row.error.as_ref().map(|error| error.replace(['\n', '\r'], " "))
}

fn cell(figures: &Map<String, Value>, column: &str) -> String {
    figures.get(column).map_or(String::new(), plain)
}
