//! From the bytes of a file to its tables.

use thiserror::Error;

use super::collective::Collective;
use super::consistency;
use super::derive;
use super::json;
use super::log::{Format, MeasuredLog, MeasuredRow, Origin, Problem};
use super::text::{Draft, Surroundings, TextReader};

/// Why a file is no log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// A text without a row.
    #[error(
        "{source_name} holds no row of an nccl-tests table: none of its {lines} lines has a size, a count, a data type \
         and times{header}.{found} Give the whole output of a run, or the file of -J"
    )]
    NoRows {
        /// The file.
        source_name: String,
        /// Lines in it.
        lines: usize,
        /// Whether a header was there.
        header: &'static str,
        /// What was found instead, quoted, or nothing.
        found: String,
    },
    /// A JSON report that cannot be used.
    #[error("{source_name} is no JSON report of nccl-tests: {why}")]
    Json {
        /// The file.
        source_name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads all tables of a file that the user calls `source`, in their order: one `MeasuredLog` for each table, data type
/// and reduction. Bytes that are no UTF-8 are no obstacle. An error where the file holds no row.
pub fn read(source: &str, bytes: &[u8]) -> Result<Vec<MeasuredLog>, LogError> {
    let text = String::from_utf8_lossy(bytes);
    let mut json_error = None;
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        match json::read(&text) {
            Ok(tables) => {
                let logs = assemble(source, Format::Json, tables);
                if !logs.is_empty() {
                    return Ok(logs);
                }
                json_error = Some("it has no row in \"results\"".to_string());
            }
            Err(why) => json_error = Some(why),
        }
    }
    let reader = TextReader::read(&text);
    let (complaint, headers, lines) = (reader.complaint, reader.headers, reader.lines);
    let cut = reader.tables.iter().map(|(draft, _)| draft.problems.len()).sum::<usize>();
    let logs = assemble(source, Format::Text, reader.tables);
    if !logs.is_empty() {
        return Ok(logs);
    }
    let source_name = source.to_string();
    if let Some(why) = json_error {
        return Err(LogError::Json { source_name, why });
    }
    let found = match (complaint, cut) {
        (Some((line, text)), _) => format!(" Line {line} says: \"{text}\"."),
        (None, 0) => String::new(),
        (None, cut) => format!(" {cut} rows are cut before their times."),
    };
    let header = if headers > 0 { ", though a header is there" } else { "" };
    Err(LogError::NoRows { source_name, lines, header, found })
}

fn assemble(source: &str, format: Format, tables: Vec<(Draft, Surroundings)>) -> Vec<MeasuredLog> {
    let mut logs: Vec<MeasuredLog> = Vec::new();
    for (draft, around) in tables {
        let mut kinds: Vec<(String, Option<String>, Option<u32>)> = Vec::new();
        for row in &draft.rows {
            let kind = (row.datatype.clone(), row.op.clone(), row.root);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            let of_kind =
                |row: &&MeasuredRow| (&row.datatype, &row.op, row.root) == (&kind.0, &kind.1, kind.2);
            let rows: Vec<MeasuredRow> = draft.rows.iter().filter(of_kind).cloned().collect();
            let log = one(source, format, logs.len() + 1, &draft, &around, rows);
            logs.push(log);
        }
    }
    logs
}

/// One table of one type and reduction.
fn one(
    source: &str,
    format: Format,
    table: usize,
    draft: &Draft,
    around: &Surroundings,
    rows: Vec<MeasuredRow>,
) -> MeasuredLog {
    let mut problems: Vec<Problem> = draft.problems.clone();
    let layout = derive::layout(&draft.devices);
    let mut ranks = layout.map(|layout| (layout.ranks, Origin::Printed));
    ranks = ranks.or(around.ranks.map(|ranks| (ranks, Origin::Surroundings)));
    let gpus = draft.parameters.gpus_per_thread.or(around.gpus_per_thread).unwrap_or(1);
    let per_process = draft.parameters.threads.unwrap_or(1).checked_mul(gpus);
    let launched =
        around.processes.zip(per_process).and_then(|(processes, gpus)| processes.checked_mul(gpus));
    ranks = ranks.or(launched.map(|ranks| (ranks, Origin::Surroundings)));
    ranks = ranks.filter(|(ranks, _)| *ranks > 0);
    let started = draft.started.map(|collective| (collective, Origin::Printed));
    let named: Option<(Collective, Origin)> = started.or(around.program.map(|c| (c, Origin::Surroundings)));
    let collective = derive::collective(named, ranks.map(|(n, _)| n), &rows, source, &mut problems);
    if ranks.is_none()
        && let Some((collective, _)) = collective
    {
        ranks = derive::ranks(collective, &rows, &mut problems);
    }
    let count = ranks.map(|(ranks, _)| ranks);
    let nodes = layout.and_then(|layout| layout.nodes).or(around.nodes).filter(|nodes| *nodes > 0);
    let per_node =
        count.zip(nodes).filter(|(ranks, nodes)| ranks % nodes == 0).map(|(ranks, nodes)| ranks / nodes);
    let kind = rows.first().map(|row| (row.datatype.clone(), row.op.clone())).unwrap_or_default();
    let model = draft.devices.iter().map(|device| device.model.clone()).find(|model| !model.is_empty());
    consistency::table(draft, &mut problems);
    consistency::ranks(layout, draft, around.processes, around.ranks, &mut problems);
    let parameters = draft.parameters;
    let mut log = MeasuredLog {
        source: source.to_string(),
        table,
        format,
        collective,
        ranks,
        nodes,
        gpus_per_node: per_node,
        gpu: model,
        library_version: around.library_version.clone(),
        tests_version: around.tests_version.clone(),
        datatype: kind.0,
        op: kind.1,
        threads: parameters.threads,
        gpus_per_thread: parameters.gpus_per_thread,
        warmup_iterations: parameters.warmup_iterations,
        iterations: parameters.iterations,
        size_limits: parameters.min_bytes.zip(parameters.max_bytes),
        average_busbw_gbytes_per_s: draft.average.map(|(_, average)| average),
        failed: failure(draft, around, &rows),
        environment: around.environment.clone(),
        devices: draft.devices.clone(),
        rows,
        problems: Vec::new(),
    };
    consistency::rows(&log, &mut problems);
    log.problems = consistency::fold(problems);
    log
}

/// Why a run is no measurement.
fn failure(draft: &Draft, around: &Surroundings, rows: &[MeasuredRow]) -> Option<String> {
    let mut reasons = Vec::new();
    match draft.out_of_bounds {
        Some((_, count, true)) => reasons.push(format!("Out of bounds values : {count} FAILED")),
        Some((_, _, false)) | None => {
            let wrong =
                rows.iter().filter(|row| row.timings().any(|(_, t)| t.wrong.is_some_and(|n| n > 0))).count();
            if wrong > 0 {
                reasons.push(format!("{wrong} rows with wrong results"));
            }
        }
    }
    if let Some((line, text)) = &around.failure {
        reasons.push(format!("line {line}: {text}"));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
