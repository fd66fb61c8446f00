//! What `fabsim compare --out` writes.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use validation::measured::chart;

use super::{Outcome, Table};
use crate::output::Failure;

/// Writes `compare.json`; `rows.csv`; and for each table `busbw.svg` and `time.svg`, with its number where there are
/// several.
pub fn write(folder: &Path, outcome: &Outcome, json: &str) -> Result<(), Failure> {
    write_json(folder, json)?;
    put(folder, "rows.csv", &rows(outcome))?;
    for (i, table) in outcome.tables.iter().enumerate() {
        let number = if outcome.tables.len() == 1 { String::new() } else { format!("-{}", i + 1) };
        let collective = table.log.collective().map_or("collective", |collective| collective.name());
        let ranks = table.log.ranks().map_or(String::new(), |ranks| format!(", {ranks} ranks"));
        let title = format!("{collective}{ranks}");
        for (name, time) in [("busbw", false), ("time", true)] {
            if let Some(svg) = chart::of_comparison(&title, &table.comparison, time).svg() {
                put(folder, &format!("{name}{number}.svg"), &svg)?;
            }
        }
    }
    Ok(())
}

/// Writes `compare.json` and makes the folder.
pub fn write_json(folder: &Path, json: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure(format!("the folder {} of --out cannot be made: {error}", folder.display()))
    })?;
    put(folder, "compare.json", json)
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| Failure(format!("{} cannot be written: {error}", path.display())))
}

fn rows(outcome: &Outcome) -> String {
    let mut out = String::from(
        "source,table,bytes,measured_us,measured_other_us,measured_busbw_gbytes_per_s,simulated_us,\
         simulated_busbw_gbytes_per_s,bound_busbw_gbytes_per_s,error_pct,algorithm,protocol,extrapolated\n",
    );
    for Table { log, comparison, .. } in &outcome.tables {
        for row in &comparison.rows {
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let simulated = row.simulated.as_ref();
            let word = |value: Option<&String>| value.map_or(String::new(), |value| quoted(value));
            let busbw = simulated.and_then(|s| log.busbw_gbytes_per_s(row.bytes, s.time_us));
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{}",
                quoted(&log.source),
                log.table,
                row.bytes,
                row.measured_us,
                number(row.measured_other_us),
                number(row.measured_busbw_gbytes_per_s),
                number(simulated.map(|s| s.time_us)),
                number(busbw),
                number(simulated.and_then(|s| s.bound_busbw_gbytes_per_s)),
                number(row.error_pct),
                word(simulated.and_then(|s| s.algorithm.as_ref())),
                word(simulated.and_then(|s| s.protocol.as_ref())),
                simulated.map_or(String::new(), |s| s.extrapolated.to_string())
            );
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
