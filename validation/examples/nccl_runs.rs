//! Writes `docs/nccl-measured.md`: published nccl-tests runs beside their simulation.
//!
//!     cargo run --release -p validation --example nccl_runs > docs/nccl-measured.md

use validation::nccl_runs::{Row, Run, host_limited_by, median, runs, simulate};

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<(Run, Vec<Row>)> = runs()
        .into_iter()
        .map(|run| {
            let rows = simulate(&run, u64::MAX, threads);
            (run, rows)
        })
        .collect();
    print!("{}", page(&all));
}

fn page(all: &[(Run, Vec<Row>)]) -> String {
    let mut out = String::from(INTRODUCTION);
    for (title, host_limited) in
        [("Runs that are not limited by their hosts", false), ("All runs that count", true)]
    {
        out += &format!("## {title}\n\n");
        out += &table(all, |run, rows| run.counts && (host_limited || host_limited_by(rows).is_none()));
    }
    out += "## Runs\n\n| run | size (B) | measured (us) | simulated (us) | error | NCCL's model (us) | error | simulated as |\n|---|---|---|---|---|---|---|---|\n";
    for (run, rows) in all {
        for row in rows {
            out += &format!(
                "| {} | {} | {} | {:.1} | {:+.1} % | {:.1} | {:+.1} % | {}{} |\n",
                run.name,
                row.bytes,
                row.measured_us,
                row.simulated_us,
                row.error() * 100.0,
                row.model_us,
                row.model_error() * 100.0,
                row.how,
                if row.extrapolated { ", steady part extrapolated" } else { "" }
            );
        }
    }
    out += "\n## What ran\n\n| run | what | counts | note |\n|---|---|---|---|\n";
    for (run, rows) in all {
        let host =
            host_limited_by(rows).map(|us| format!("host-limited: {us:.0} us more at the smallest size"));
        let notes: Vec<&str> =
            [run.note].into_iter().chain(host.as_deref()).filter(|n| !n.is_empty()).collect();
        out += &format!(
            "| {} | {} | {} | {} |\n",
            run.name,
            run.source,
            if run.counts { "yes" } else { "no" },
            notes.join("; ")
        );
    }
    out
}

/// Errors by range of sizes.
fn table(all: &[(Run, Vec<Row>)], counts: impl Fn(&Run, &[Row]) -> bool) -> String {
    let mut out = String::from(
        "| sizes | rows | simulated: median | mean | worst | NCCL's model: median | mean | worst |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let ranges: [(&str, u64, u64); 4] = [
        ("below 64 KiB", 0, (64 << 10) - 1),
        ("64 KiB to 16 MiB", 64 << 10, 16 << 20),
        ("64 MiB and more", 64 << 20, u64::MAX),
        ("16 MiB to 256 MiB", 16 << 20, 256 << 20),
    ];
    for (name, least, most) in ranges {
        let rows: Vec<&Row> = all
            .iter()
            .filter(|(run, rows)| counts(run, rows))
            .flat_map(|(_, rows)| rows)
            .filter(|row| row.bytes >= least && row.bytes <= most)
            .collect();
        let figures = |errors: Vec<f64>| {
            let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64;
            let worst = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
            format!(
                "{:.1} % | {:.1} % | {:+.1} %",
                median(errors.iter().copied()) * 100.0,
                mean * 100.0,
                worst * 100.0
            )
        };
        out += &format!(
            "| {name} | {} | {} | {} |\n",
            rows.len(),
            figures(rows.iter().map(|r| r.error()).collect()),
            figures(rows.iter().map(|r| r.model_error()).collect())
        );
    }
    out.push('\n');
    out
}

const INTRODUCTION: &str = "# Measured collectives beside their simulation

Published nccl-tests runs, simulated from presets alone: node, number of nodes and NCCL's settings as published, nothing
fitted to these times. NCCL's model is its own cost model (tuning.cc of 2.30.7). Errors are simulated over measured − 1.
Written by `cargo run --release -p validation --example nccl_runs`; `scripts/regenerate-results.sh --check` compares it.

A run counts if its hardware is known and it ran as it should. It is limited by its hosts if its smallest size takes more than
1.3 times what NCCL's latencies allow: that time is in all its rows, and no network model should fit it (see the last table).

";
