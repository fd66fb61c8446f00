//! `sweep.json` and `settings.csv`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::pareto::range;
use super::text::{Words, reason};
use super::{Analysis, Setting};
use crate::run::WriteError;
use crate::sweep::plan::Plan;
use crate::sweep::store::write_table;
use crate::sweep::values::{Values, plain};

/// Name of the table of settings.
pub const SETTINGS: &str = "settings.csv";

/// What a sweep came to as one object: what was varied, the Pareto front, the recommendation and its sensitivity.
pub fn sweep_json(plan: &Plan, analysis: &Analysis) -> Value {
    let words = Words::new(plan, analysis);
    let parameters: Vec<Value> = plan
        .parameters()
        .iter()
        .map(|(path, values)| match values {
            Values::List(values) => json!({ "path": path, "values": values }),
            Values::Between { .. } => json!({ "path": path }),
        })
        .collect();
    let objectives: Vec<Value> = analysis
        .objectives
        .iter()
        .enumerate()
        .map(|(o, objective)| {
            let (best, worst) = range(&analysis.settings, o, objective.goal);
            json!({ "figure": objective.figure, "goal": objective.goal, "best": finite(best), "worst": finite(worst) })
        })
        .collect();
    let of = |index: usize| setting(plan, analysis, &analysis.settings[index]);
    let recommended = analysis.recommended.map(|recommended| {
        let mut object = of(recommended.setting);
        object["distance"] = json!(recommended.distance);
        object["reason"] = json!(reason(analysis, recommended));
        object
    });
    let sensitivity: Vec<Value> = analysis
        .sensitivity
        .iter()
        .map(|s| {
            let value = |setting: usize| &analysis.settings[setting].values[s.parameter];
            let changes: Vec<Value> = s
                .changes
                .iter()
                .map(|change| {
                    json!({
                        "value": value(change.setting), "figure": analysis.objectives[change.objective].figure,
                        "from": change.means.0, "to": change.means.1, "worse": change.worse
                    })
                })
                .collect();
            let ranks: Vec<Value> = s
                .ranks
                .iter()
                .map(|rank| {
                    json!({ "figure": analysis.objectives[rank.objective].figure, "spearman": rank.coefficient })
                })
                .collect();
            let flat = (!s.line.is_empty()).then(|| json!({ "from": value(s.flat.0), "to": value(s.flat.1) }));
            json!({
                "path": words.path(s.parameter), "flat": flat, "changes": changes, "rank_correlation": ranks,
                "text": words.sensitivity(s)
            })
        })
        .collect();
    json!({
        "scenario": plan.name,
        "plan": plan.fingerprint,
        "points": plan.len(),
        "settings": plan.settings(),
        "repeat": plan.repeat(),
        "failed": analysis.failed,
        "sampling": plan.spec.sampling,
        "constraints": plan.spec.constraints,
        "parameters": parameters,
        "objectives": objectives,
        "pareto": analysis.front.iter().map(|&index| of(index)).collect::<Vec<_>>(),
        "recommended": recommended,
        "sensitivity": sensitivity,
    })
}

/// A number, or `null` where nothing could be compared.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn setting(plan: &Plan, analysis: &Analysis, setting: &Setting) -> Value {
    let values: Map<String, Value> =
        plan.paths().map(str::to_string).zip(setting.values.iter().cloned()).collect();
    let figures: Map<String, Value> = analysis
        .objectives
        .iter()
        .zip(&setting.estimates)
        .map(|(objective, estimate)| {
            let estimate = estimate.map(|e| json!({ "n": e.count, "mean": e.mean, "ci95": e.half_width }));
            (objective.figure.clone(), json!(estimate))
        })
        .collect();
    json!({ "values": values, "figures": figures })
}

/// Writes one row a setting: its values, the mean of each objective with the half width of its 95 % confidence interval,
/// failed and unfinished points, whether it is on the Pareto front and whether it is recommended.
pub fn settings_csv(folder: &Path, plan: &Plan, analysis: &Analysis) -> Result<(), WriteError> {
    write_table(folder, SETTINGS, |table| {
        let mut head: Vec<String> = plan.paths().map(str::to_string).collect();
        for objective in &analysis.objectives {
            head.extend([objective.figure.clone(), format!("{}.ci95", objective.figure)]);
        }
        head.extend(["failed", "unfinished", "pareto", "recommended"].map(String::from));
        table.write_record(&head)?;
        let mut front = analysis.front.iter().peekable();
        for (index, setting) in analysis.settings.iter().enumerate() {
            let mut row: Vec<String> = setting.values.iter().map(plain).collect();
            for estimate in &setting.estimates {
                let number =
                    |value: Option<f64>| value.map_or(String::new(), |value| json!(value).to_string());
                row.push(number(estimate.map(|e| e.mean)));
                row.push(number(estimate.and_then(|e| e.half_width)));
            }
            row.extend([setting.failed.to_string(), setting.unfinished.to_string()]);
            row.push(front.next_if_eq(&&index).is_some().to_string());
            row.push(analysis.recommended.is_some_and(|r| r.setting == index).to_string());
            table.write_record(&row)?;
        }
        Ok(())
    })
}
