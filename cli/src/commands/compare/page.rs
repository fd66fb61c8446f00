//! `fabsim compare` for people.

use std::fmt::Write;

use scenarios::run::paragraph;
use validation::measured::comparison::ComparedRow;
use validation::measured::diagnosis::Diagnosis;
use validation::measured::paired::Paired;
use validation::measured::pairs::{Elimination, PairMeasurement};
use validation::measured::{MeasuredLog, MeasuredRow, Mode, RangeErrors};

use super::{Outcome, Table};

/// All tables, one below the other, then the pairs.
pub fn outcome(outcome: &Outcome) -> String {
    let mut out = String::new();
    for table in &outcome.tables {
        if !out.is_empty() {
            out.push('\n');
        }
        if outcome.parse_only {
            parsed(&mut out, &table.log, table.comparison.mode);
        } else {
            compared(&mut out, table);
        }
    }
    for paired in &outcome.paired {
        out.push('\n');
        side_by_side(&mut out, paired);
    }
    out
}

fn heading(out: &mut String, log: &MeasuredLog) {
    let unknown = || "unknown".to_string();
    let collective =
        log.collective().map_or_else(|| "unknown collective".to_string(), |c| c.name().to_string());
    let ranks = log.ranks().map_or_else(unknown, |ranks| ranks.to_string());
    let mut parts = vec![collective, format!("{ranks} ranks")];
    match (log.nodes, log.gpus_per_node) {
        (Some(1), _) => parts.push("1 node".to_string()),
        (Some(nodes), Some(gpus)) => parts.push(format!("{nodes} nodes × {gpus}")),
        (Some(nodes), None) => parts.push(format!("{nodes} nodes")),
        (None, _) => {}
    }
    parts.extend(log.gpu.clone());
    parts.extend(log.library_version.as_ref().map(|version| format!("NCCL {version}")));
    parts.push(log.op.as_ref().map_or(log.datatype.clone(), |op| format!("{} {op}", log.datatype)));
    let _ = writeln!(out, "{log}\n{}", parts.join(" · "));
    if !log.environment.is_empty() {
        let variables: Vec<String> =
            log.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        out.push_str(&variables.join(" "));
        out.push('\n');
    }
    out.push('\n');
}

fn parsed(out: &mut String, log: &MeasuredLog, mode: Mode) {
    heading(out, log);
    let (first, second) = (mode.name(), mode.other().name());
    let _ = writeln!(
        out,
        "{:>14} {:>24} {:>24}\n{:>14} {:>12} {:>11} {:>12} {:>11}",
        "", first, second, "size (B)", "time (us)", "busbw", "time (us)", "busbw"
    );
    for row in &log.rows {
        let _ = writeln!(out, "{:>14} {} {}", row.bytes, half(row, mode), half(row, mode.other()));
    }
    problems(out, log);
}

fn half(row: &MeasuredRow, mode: Mode) -> String {
    match row.timing(mode) {
        None => format!("{:>12} {:>11}", "–", "–"),
        Some(timing) => {
            let busbw = timing.busbw_gbytes_per_s.map_or("–".to_string(), |busbw| format!("{busbw:.2}"));
            format!("{:>12} {busbw:>11}", figure(timing.time_us))
        }
    }
}

fn compared(out: &mut String, table: &Table) {
    heading(out, &table.log);
    let rows = &table.comparison.rows;
    let simulated = rows.iter().any(|row| row.simulated.is_some());
    let busbw =
        if rows.iter().all(|row| row.measured_busbw_gbytes_per_s.is_some()) { "busbw" } else { "algbw" };
    let (mode, other) = (table.comparison.mode.name(), table.comparison.mode.other().name());
    let _ = write!(out, "{:>14} {:>14} {:>12} {:>14}", "size (B)", mode, busbw, other);
    if simulated {
        let _ = write!(out, " {:>14} {:>10} {:>9}  algorithm", "simulated (us)", busbw, "error");
    }
    out.push('\n');
    for row in rows {
        out.push_str(line(&table.log, row).trim_end());
        out.push('\n');
    }
    if simulated {
        out.push('\n');
        let ranges = [
            ("below 64 KiB", &table.comparison.latency),
            ("64 KiB to 16 MiB", &table.comparison.transition),
            ("64 MiB and more", &table.comparison.bandwidth),
        ];
        for (name, errors) in ranges {
            let _ = writeln!(out, "{name:>18}  {}", range(errors));
        }
    }
    problems(out, &table.log);
    findings(out, &table.diagnosis);
}

fn line(log: &MeasuredLog, row: &ComparedRow) -> String {
    let bandwidth = row.measured_busbw_gbytes_per_s.unwrap_or(row.measured_algbw_gbytes_per_s);
    let other = row.measured_other_us.map_or("–".to_string(), figure);
    let mut line = format!("{:>14} {:>14} {bandwidth:>12.2} {other:>14}", row.bytes, figure(row.measured_us));
    if let Some(simulated) = &row.simulated {
        let busbw = log.busbw_gbytes_per_s(row.bytes, simulated.time_us).unwrap_or_default();
        let error = row.error_pct.map_or("–".to_string(), |error| format!("{error:+.1} %"));
        let names: Vec<&str> =
            [&simulated.algorithm, &simulated.protocol].into_iter().flatten().map(String::as_str).collect();
        let mark = if simulated.extrapolated { ", extrapolated" } else { "" };
        let _ = write!(
            line,
            " {:>14} {busbw:>10.2} {error:>9}  {}{mark}",
            figure(simulated.time_us),
            names.join("/")
        );
    }
    line
}

fn range(errors: &RangeErrors) -> String {
    match (errors.mape_pct, errors.median_pct) {
        (Some(mean), Some(median)) => {
            format!("mean error {mean:.1} %, median {median:.1} %, {} sizes", errors.sizes)
        }
        _ => "no size".to_string(),
    }
}

fn problems(out: &mut String, log: &MeasuredLog) {
    if !log.problems.is_empty() {
        out.push('\n');
    }
    for problem in &log.problems {
        let text = format!("{}: {} [{}]", log.place(problem.line), problem.text, problem.code);
        out.push_str(&paragraph("log", &text));
    }
}

fn findings(out: &mut String, found: &[Diagnosis]) {
    if !found.is_empty() {
        out.push('\n');
    }
    for one in found {
        out.push_str(&paragraph("finding", &format!("{} [{}]", one.text, one.code)));
    }
}

fn side_by_side(out: &mut String, paired: &Paired) {
    let _ = writeln!(out, "{} beside {}\n", paired.other, paired.base);
    let _ = writeln!(out, "{:>14} {:>14} {:>14} {:>9}", "size (B)", "first (us)", "other (us)", "ratio");
    for row in &paired.rows {
        let mark = if row.outlier { "  stands out" } else { "" };
        let _ = writeln!(
            out,
            "{:>14} {:>14} {:>14} {:>9.3}{mark}",
            row.bytes,
            figure(row.base_us),
            figure(row.other_us),
            row.ratio
        );
    }
    findings(out, &paired.diagnosis);
}

/// What elimination found, for people.
pub fn elimination(name: &str, measured: &[PairMeasurement], result: &Elimination) -> String {
    let mut out = format!("{name}: {} pairs\n\n", measured.len());
    for pair in measured {
        let fast = result.fast_from_gbytes_per_s.is_none_or(|from| pair.busbw_gbytes_per_s >= from);
        let speed = if fast { "fast" } else { "slow" };
        let names = format!("{} – {}", pair.a, pair.b);
        out.push_str(
            format!("{names:>32} {:>10.2} GB/s  {speed}  {}", pair.busbw_gbytes_per_s, pair.label).trim_end(),
        );
        out.push('\n');
    }
    findings(&mut out, &result.diagnosis());
    out
}

/// A time with as many decimals as nccl-tests prints.
fn figure(time_us: f64) -> String {
    match time_us.abs() {
        size if size < 1000.0 => format!("{time_us:.2}"),
        size if size < 100_000.0 => format!("{time_us:.1}"),
        _ => format!("{time_us:.0}"),
    }
}
