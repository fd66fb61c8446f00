//! `fabsim compare --json`. The keys are described in `docs/compare.md`.

use serde_json::{Map, Value, json};
use validation::measured::comparison::ComparedRow;
use validation::measured::diagnosis::Diagnosis;
use validation::measured::paired::Paired;
use validation::measured::pairs::{Elimination, PairMeasurement};
use validation::measured::{MeasuredLog, MeasuredRow, RangeErrors, Timing};

use super::{Outcome, Table};

/// Everything as one object: the first table's keys at the top, the other tables in `others`.
pub fn outcome(outcome: &Outcome) -> Value {
    let mut tables = outcome.tables.iter().map(|table| self::table(table, outcome.parse_only));
    let mut object = tables.next().unwrap_or_default();
    let others: Vec<Value> = tables.map(Value::Object).collect();
    object.insert("others".to_string(), Value::Array(others));
    if !outcome.parse_only {
        let paired: Vec<Value> = outcome.paired.iter().map(paired).collect();
        object.insert("paired".to_string(), Value::Array(paired));
    }
    Value::Object(object)
}

fn table(table: &Table, parse_only: bool) -> Map<String, Value> {
    let rows: Vec<Value> = if parse_only {
        table.log.rows.iter().map(|row| parsed_row(table, row)).collect()
    } else {
        table.comparison.rows.iter().map(|row| compared_row(table, row)).collect()
    };
    let mut object = Map::new();
    object.insert("rows".to_string(), Value::Array(rows));
    if !parse_only {
        let comparison = &table.comparison;
        let error = json!({
            "latency": range(&comparison.latency),
            "transition": range(&comparison.transition),
            "bandwidth": range(&comparison.bandwidth),
        });
        object.insert("error".to_string(), error);
    }
    object.insert("log".to_string(), log(&table.log, table.comparison.mode.name()));
    if !parse_only {
        object.insert("diagnosis".to_string(), diagnosis(&table.diagnosis));
    }
    object
}

fn parsed_row(table: &Table, row: &MeasuredRow) -> Value {
    let mode = table.comparison.mode;
    json!({
        "bytes": row.bytes,
        "count": row.count,
        "line": row.line,
        "measured_us": row.either(mode).map(|timing| timing.time_us),
        "out_of_place": row.out_of_place.as_ref().map(timing),
        "in_place": row.in_place.as_ref().map(timing),
    })
}

fn timing(timing: &Timing) -> Value {
    json!({
        "time_us": timing.time_us,
        "algbw_gbytes_per_s": timing.algbw_gbytes_per_s,
        "busbw_gbytes_per_s": timing.busbw_gbytes_per_s,
        "wrong": timing.wrong,
        "max_error": timing.max_error,
    })
}

fn compared_row(table: &Table, row: &ComparedRow) -> Value {
    let simulated = row.simulated.as_ref();
    let mut object = json!({
        "bytes": row.bytes,
        "measured_us": row.measured_us,
        "simulated_us": simulated.map(|s| s.time_us),
        "error_pct": row.error_pct,
        "line": row.line,
        "measured_other_us": row.measured_other_us,
        "measured_algbw_gbytes_per_s": row.measured_algbw_gbytes_per_s,
        "measured_busbw_gbytes_per_s": row.measured_busbw_gbytes_per_s,
    });
    if let (Some(s), Some(object)) = (simulated, object.as_object_mut()) {
        let extra = json!({
            "simulated_busbw_gbytes_per_s": table.log.busbw_gbytes_per_s(row.bytes, s.time_us),
            "bound_busbw_gbytes_per_s": s.bound_busbw_gbytes_per_s,
            "bound_by": s.bound_by,
            "algorithm": s.algorithm,
            "protocol": s.protocol,
            "extrapolated": s.extrapolated,
            "network": {
                "marked_packets": s.network.marked_packets,
                "cnps": s.network.cnps,
                "pause_frames": s.network.pause_frames,
                "dropped_packets": s.network.dropped_packets,
                "retransmissions": s.network.retransmissions,
                "hottest_link": s.network.hottest_link.as_ref().map(|(link, _)| link),
                "hottest_link_utilisation": s.network.hottest_link.as_ref().map(|(_, utilisation)| utilisation),
                "collision": s.network.collision,
            },
        });
        if let Value::Object(extra) = extra {
            object.extend(extra);
        }
    }
    object
}

fn range(errors: &RangeErrors) -> Value {
    json!({ "mape_pct": errors.mape_pct, "median_pct": errors.median_pct, "sizes": errors.sizes })
}

fn log(log: &MeasuredLog, mode: &str) -> Value {
    let problems: Vec<Value> = log
        .problems
        .iter()
        .map(|problem| json!({ "line": problem.line, "code": problem.code, "text": problem.text }))
        .collect();
    json!({
        "source": log.source,
        "table": log.table,
        "mode": mode,
        "ranks": log.ranks(),
        "ranks_from": log.ranks.map(|(_, origin)| origin.name()),
        "collective": log.collective().map(|collective| collective.name()),
        "collective_from": log.collective.map(|(_, origin)| origin.name()),
        "nodes": log.nodes,
        "gpus_per_node": log.gpus_per_node,
        "gpu": log.gpu,
        "version": log.library_version,
        "tests_version": log.tests_version,
        "datatype": log.datatype,
        "op": log.op,
        "threads": log.threads,
        "gpus_per_thread": log.gpus_per_thread,
        "warmup_iterations": log.warmup_iterations,
        "iterations": log.iterations,
        "average_busbw_gbytes_per_s": log.average_busbw_gbytes_per_s,
        "failed": log.failed,
        "environment": log.environment,
        "problems": problems,
    })
}

fn diagnosis(found: &[Diagnosis]) -> Value {
    found.iter().map(|one| json!({ "code": one.code, "text": one.text })).collect()
}

fn paired(paired: &Paired) -> Value {
    let rows: Vec<Value> = paired
        .rows
        .iter()
        .map(|row| {
            json!({
                "bytes": row.bytes,
                "base_us": row.base_us,
                "other_us": row.other_us,
                "ratio": row.ratio,
                "outlier": row.outlier,
            })
        })
        .collect();
    json!({
        "base": paired.base,
        "other": paired.other,
        "rows": rows,
        "median_ratio": paired.median_ratio,
        "small_ratio": paired.small_ratio,
        "large_ratio": paired.large_ratio,
        "average_busbw_ratio": paired.average_busbw_ratio,
        "diagnosis": diagnosis(&paired.diagnosis),
    })
}

/// What elimination found.
pub fn elimination(measured: &[PairMeasurement], result: &Elimination) -> Value {
    let names = |pairs: &[(String, String)]| -> Value { pairs.iter().map(|(a, b)| json!([a, b])).collect() };
    let rows: Vec<Value> = measured
        .iter()
        .map(|pair| {
            json!({
                "a": pair.a,
                "b": pair.b,
                "busbw_gbytes_per_s": pair.busbw_gbytes_per_s,
                "fast": result.fast_from_gbytes_per_s.is_none_or(|from| pair.busbw_gbytes_per_s >= from),
            })
        })
        .collect();
    json!({
        "pairs": rows,
        "fast_from_gbytes_per_s": result.fast_from_gbytes_per_s,
        "slow_over_fast": result.slow_over_fast,
        "good": result.good,
        "bad": result.bad,
        "at_least_one_of": names(&result.at_least_one_of),
        "slow_paths": names(&result.slow_paths),
        "diagnosis": diagnosis(&result.diagnosis()),
    })
}
