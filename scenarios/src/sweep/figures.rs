//! The figures of a point: the scalars of its summary by path, in a fixed order, so that tables of any two sweeps have
//! the same columns.

use models::counters::DROP_REASONS;
use serde_json::{Map, Value, json};

use super::error::SweepError;
use super::spec::Objective;
use crate::finding::Severity;
use crate::language::nearest;
use crate::run::Summary;

/// Figures before `drops.by_reason`.
const FIRST: [&str; 25] = [
    "sim_time_ns",
    "events",
    "packet_hops",
    "flows.count",
    "flows.completed",
    "flows.fct_us.min",
    "flows.fct_us.mean",
    "flows.fct_us.p50",
    "flows.fct_us.p99",
    "flows.fct_us.max",
    "flows.goodput_gbps.min",
    "flows.goodput_gbps.mean",
    "flows.goodput_gbps.max",
    "pfc.pause_frames",
    "pfc.resume_frames",
    "pfc.paused_us_total",
    "pfc.watchdog_storms",
    "pfc.watchdog_restores",
    "ecn.marked",
    "ecn.marked_fraction",
    "cnp.sent",
    "cnp.received",
    "drops.total",
    "queues.peak_bytes",
    "queues.peak_port",
];

/// Figures after it.
const LAST: [&str; 9] = [
    "headroom.peak_bytes",
    "headroom.overruns",
    "retransmissions",
    "deadlock.detected",
    "deadlock.at_ns",
    "verdict.healthy",
    "verdict.errors",
    "verdict.warnings",
    "verdict.codes",
];

/// Paths of the figures every point has, in the order of the columns. Points may have more, those of collective
/// operations and training steps: `collectives.0.busbw_gbytes_per_s`.
pub fn names() -> Vec<String> {
    let drops = DROP_REASONS.iter().map(|reason| format!("drops.by_reason.{}", reason.name()));
    FIRST.iter().map(|name| name.to_string()).chain(drops).chain(LAST.iter().map(|n| n.to_string())).collect()
}

/// The figures of a run. Where there is none (no flow is done) the figure is left out.
pub fn of(summary: &Summary) -> Map<String, Value> {
    let mut figures = Map::new();
    let Value::Object(all) = json!(summary) else { return figures };
    for (key, value) in &all {
        match key.as_str() {
            // Said once for the whole sweep, or by other columns.
            "scenario" | "seed" | "params" | "verdict" => {}
            _ => flatten(key, value, &mut figures),
        }
    }
    let findings = &summary.verdict.findings;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    figures.insert("verdict.healthy".to_string(), json!(summary.verdict.healthy));
    figures.insert("verdict.errors".to_string(), json!(count(Severity::Error)));
    figures.insert("verdict.warnings".to_string(), json!(count(Severity::Warning)));
    figures.insert("verdict.codes".to_string(), json!(codes.join(" ")));
    figures
}

fn flatten(path: &str, value: &Value, figures: &mut Map<String, Value>) {
    match value {
        Value::Null => {}
        // Prose: why NCCL chooses an algorithm.
        Value::String(_) if path.ends_with(".why") => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            figures.insert(path.to_string(), value.clone());
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, figures))
        }
        // The hops of a deadlock's cycle are no figures.
        Value::Array(_) if path == "deadlock.cycle" => {}
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, value)| flatten(&format!("{path}.{index}"), value, figures)),
    }
}

/// Checks that objectives name figures that are numbers, each once.
pub(super) fn check_objectives(objectives: &[Objective]) -> Result<(), SweepError> {
    let words = ["queues.peak_port", "verdict.codes", "deadlock.detected", "verdict.healthy"];
    let names: Vec<String> = names().into_iter().filter(|name| !words.contains(&name.as_str())).collect();
    for (index, Objective { figure, .. }) in objectives.iter().enumerate() {
        let known =
            names.contains(figure) || figure.starts_with("collectives.") || figure.starts_with("training.");
        if !known {
            let advice = match nearest(figure, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => "docs/results.md lists the figures of a summary".to_string(),
            };
            return Err(SweepError::Spec(format!(
                "objective \"{figure}\": there is no such figure; {advice}"
            )));
        }
        if objectives[..index].iter().any(|earlier| &earlier.figure == figure) {
            return Err(SweepError::Spec(format!("objective \"{figure}\" stands in the sweep twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Silent, execute, prepare};
    use crate::sweep::spec::Goal;

    #[test]
    fn every_scalar_of_a_summary_is_a_column() {
        let scenario = json!({
            "schema_version": 1, "name": "test",
            "topology": { "single-switch": { "hosts": 3, "link": { "rate": "100Gbps", "delay": "1us" } } },
            "traffic": [{ "incast": { "senders": 2, "size": "100KB" } }]
        });
        let loaded = crate::language::load(&scenario.to_string(), "test.json", &[]).unwrap();
        let outcome = execute(prepare(&loaded.scenario).unwrap(), None, &mut Silent).unwrap();
        let figures = of(&outcome.summary);
        let names = names();
        for name in figures.keys() {
            assert!(names.contains(name), "{name} has no column: add it to FIRST or LAST");
        }
        let missing: Vec<&String> = names.iter().filter(|name| !figures.contains_key(*name)).collect();
        assert_eq!(missing, ["deadlock.at_ns"], "columns without a figure");
        assert_eq!(figures["flows.completed"], 2);
    }

    #[test]
    fn objectives_are_numbers_of_the_summary() {
        let objective = |figure: &str| Objective { figure: figure.to_string(), goal: Goal::Min };
        assert!(check_objectives(&[objective("flows.fct_us.p99"), objective("collectives.0.x")]).is_ok());
        let error = check_objectives(&[objective("flows.fct_us.p98")]).unwrap_err().to_string();
        assert!(error.contains("did you mean \"flows.fct_us.p9"), "{error}");
        let twice = [objective("retransmissions"), objective("retransmissions")];
        assert!(check_objectives(&twice).unwrap_err().to_string().contains("twice"));
        assert!(check_objectives(&[objective("queues.peak_port")]).is_err());
    }
}
