//! A sweep's results for people.

use std::fmt::Write;

use serde_json::Value;
use sim_core::{Bytes, Duration};

use super::pareto::{nearest_first, range};
use super::{Analysis, Change, Goal, Recommendation, Sensitivity};
use crate::check::text::{count, size, span};
use crate::run::paragraph;
use crate::sweep::plan::Plan;
use crate::sweep::spec::Sampling;
use crate::sweep::values::plain;

/// Rows of the Pareto front on the page.
const ROWS: usize = 12;

/// A figure's name for people.
pub fn label(figure: &str) -> String {
    match figure {
        "flows.fct_us.p50" => "p50 FCT".to_string(),
        "flows.fct_us.p99" => "p99 FCT".to_string(),
        "flows.fct_us.mean" => "mean FCT".to_string(),
        "flows.fct_us.max" => "max FCT".to_string(),
        "flows.goodput_gbps.mean" => "mean goodput".to_string(),
        "flows.goodput_gbps.min" => "least goodput".to_string(),
        "flows.goodput_gbps.max" => "largest goodput".to_string(),
        "pfc.pause_frames" => "pauses".to_string(),
        "pfc.paused_us_total" => "time paused".to_string(),
        "queues.peak_bytes" => "queue peak".to_string(),
        "headroom.peak_bytes" => "headroom peak".to_string(),
        "drops.total" => "drops".to_string(),
        "cnp.sent" => "CNPs".to_string(),
        other => match other.split('.').collect::<Vec<&str>>()[..] {
            ["collectives", number, "busbw_gbytes_per_s"] => format!("busbw of collective {number}"),
            ["collectives", number, "algbw_gbytes_per_s"] => format!("algbw of collective {number}"),
            _ => other.to_string(),
        },
    }
}

/// A figure with its unit, which its name tells.
pub fn shown(figure: &str, value: f64) -> String {
    if figure.contains("_gbytes_per_s") {
        format!("{} GB/s", short(value))
    } else if figure.contains("_gbps") {
        format!("{} Gb/s", short(value))
    } else if figure.contains("_us") {
        span(Duration((value.max(0.0) * 1e6) as u64))
    } else if figure.contains("_ns") {
        span(Duration((value.max(0.0) * 1e3) as u64))
    } else if figure.contains("_bytes") {
        size(Bytes(value.max(0.0).round() as u64))
    } else {
        short(value)
    }
}

/// A number with four digits at most before it is whole.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        v if v.fract() == 0.0 || v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Why a setting is recommended.
pub fn reason(analysis: &Analysis, recommended: Recommendation) -> String {
    let at = &analysis.settings[recommended.setting];
    let figures: Vec<String> = analysis
        .objectives
        .iter()
        .enumerate()
        .map(|(o, objective)| {
            let (mean, (best, _)) = (at.mean(o), range(&analysis.settings, o, objective.goal));
            let name = label(&objective.figure);
            let value = shown(&objective.figure, mean);
            if mean == best {
                format!("{name} {value}, the best of all")
            } else {
                format!("{name} {value} (best {})", shown(&objective.figure, best))
            }
        })
        .collect();
    let front = analysis.front.len();
    let which = match front {
        1 => "it is the best in every objective".to_string(),
        _ => format!(
            "of the {front} settings that none beats it is the nearest to the best of every objective"
        ),
    };
    format!("{which}: {}", figures.join(", "))
}

/// Names of a sweep's parameters.
pub(super) struct Words<'a> {
    plan: &'a Plan,
    analysis: &'a Analysis,
}

impl<'a> Words<'a> {
    pub fn new(plan: &'a Plan, analysis: &'a Analysis) -> Self {
        Self { plan, analysis }
    }

    pub fn path(&self, parameter: usize) -> &'a str {
        &self.plan.parameters()[parameter].0
    }

    fn value(&self, setting: usize, parameter: usize) -> String {
        plain(&self.analysis.settings[setting].values[parameter])
    }

    /// `switch.ecn.kmin=160KB switch.ecn.kmax=640KB`.
    fn setting(&self, setting: usize) -> String {
        let values: Vec<String> = (0..self.plan.parameters().len())
            .map(|p| format!("{}={}", self.path(p), self.value(setting, p)))
            .collect();
        values.join(" ")
    }

    /// What happens around the recommended setting.
    pub fn sensitivity(&self, s: &Sensitivity) -> String {
        if s.line.is_empty() {
            return self.ranks(s);
        }
        let value = |setting| self.value(setting, s.parameter);
        let (low, high) = s.flat;
        let mut parts = vec![match (s.line.len(), low == high) {
            (1, _) => format!("{} is the only value with the other parameters as recommended", value(low)),
            (_, false) => format!("{} to {} is flat", value(low), value(high)),
            (_, true) => format!("only {} does as well", value(low)),
        }];
        let mut settings: Vec<usize> = s.changes.iter().map(|change| change.setting).collect();
        settings.dedup();
        for setting in settings {
            // What gets worse; where nothing does, what gets better.
            let here: Vec<&Change> = s.changes.iter().filter(|change| change.setting == setting).collect();
            let any = here.iter().any(|change| change.worse);
            let here: Vec<String> = here.iter().filter(|c| c.worse == any).map(|c| self.change(c)).collect();
            parts.push(format!("at {} {}", value(setting), here.join(", ")));
        }
        if s.changes.is_empty() && s.line.len() > 1 {
            parts.push("no objective depends on it".to_string());
        }
        parts.join("; ")
    }

    fn change(&self, change: &Change) -> String {
        let objective = &self.analysis.objectives[change.objective];
        let (from, to) = change.means;
        let name = label(&objective.figure);
        let plural = if name.ends_with('s') { "" } else { "s" };
        let verb = format!("{}{plural}", if to > from { "rise" } else { "fall" });
        let better = if change.worse { "" } else { " (better)" };
        let part = (to - from).abs() / from.abs() * 100.0;
        if from == 0.0 || part > 300.0 {
            let (from, to) = (shown(&objective.figure, from), shown(&objective.figure, to));
            return format!("{name} {verb} from {from} to {to}{better}");
        }
        format!("{name} {verb} {part:.0} %{better}")
    }

    fn ranks(&self, s: &Sensitivity) -> String {
        if s.ranks.is_empty() {
            return "it has no order, or no objective varies: look at settings.csv".to_string();
        }
        let ranks: Vec<String> = s
            .ranks
            .iter()
            .map(|rank| {
                let figure = &self.analysis.objectives[rank.objective].figure;
                format!("{} {:+.2}", label(figure), rank.coefficient)
            })
            .collect();
        format!("rank correlation {}", ranks.join(", "))
    }
}

/// The results on a page; wall-clock figures are not in it.
pub fn page(plan: &Plan, analysis: &Analysis) -> String {
    let words = Words::new(plan, analysis);
    let mut out = heading(plan);
    out.push('\n');
    let goals: Vec<String> = analysis
        .objectives
        .iter()
        .map(|objective| {
            let goal = match objective.goal {
                Goal::Min => "least",
                Goal::Max => "most",
            };
            format!("{goal} {} ({})", label(&objective.figure), objective.figure)
        })
        .collect();
    out += &paragraph("goals", &goals.join(", "));
    if analysis.failed > 0 {
        let text = format!(
            "{} of {} points failed: column error of points.csv says why",
            analysis.failed,
            plan.len()
        );
        out += &paragraph("failed", &text);
    }
    let unfinished = analysis.settings.iter().filter(|setting| setting.unfinished > 0).count();
    if unfinished > 0 {
        let text =
            format!("{} left flows undone or deadlocked, and cannot be chosen", count(unfinished, "setting"));
        out += &paragraph("undone", &text);
    }
    let Some(recommended) = analysis.recommended else {
        out += &paragraph(
            "recommend",
            "nothing: no setting finished all its flows and has a figure for every goal",
        );
        return out;
    };
    let text =
        format!("{} of {} settings are beaten by none:", analysis.front.len(), analysis.settings.len());
    out += &paragraph("Pareto", &text);
    out += &front_table(&words, recommended);
    if plan.repeat() == 1 {
        out += &paragraph(
            "",
            "One seed each: a few per cent may be chance. --repeat 5 gives confidence intervals.",
        );
    }
    out += &paragraph("recommend", &words.setting(recommended.setting));
    out += &paragraph("reason", &reason(analysis, recommended));
    for (index, s) in analysis.sensitivity.iter().enumerate() {
        let label = if index == 0 { "around it" } else { "" };
        out += &paragraph(label, &format!("{}: {}", words.path(s.parameter), words.sensitivity(s)));
    }
    out
}

fn heading(plan: &Plan) -> String {
    let shape: Vec<String> = plan
        .parameters()
        .iter()
        .map(|(path, values)| match values.count() {
            Some(count) if plan.spec.sampling == Sampling::Grid => format!("{count} {path}"),
            Some(_) | None => path.clone(),
        })
        .collect();
    let (kind, join) = match plan.spec.sampling {
        Sampling::Grid => ("grid", " × "),
        Sampling::Random(_) => ("random sample", ", "),
        Sampling::LatinHypercube(_) => ("Latin hypercube", ", "),
    };
    let mut text = format!("{} · {}\n", plan.name, count(plan.len() as usize, "point"));
    let _ = write!(text, "  {kind} of {}", shape.join(join));
    if !plan.spec.constraints.is_empty() {
        let _ = write!(text, "\n  where {}", plan.spec.constraints.join(" and "));
    }
    if plan.repeat() > 1 {
        let _ = write!(text, "\n  {} seeds each; means with their 95 % confidence intervals", plan.repeat());
    }
    text.push('\n');
    text
}

/// The settings of the front that are nearest to the best of every objective, in the order of the plan.
fn front_table(words: &Words, recommended: Recommendation) -> String {
    let (plan, analysis) = (words.plan, words.analysis);
    let mut head: Vec<String> =
        plan.paths().map(|path| path.rsplit('.').next().unwrap_or(path).to_string()).collect();
    head.extend(analysis.objectives.iter().map(|objective| label(&objective.figure)));
    let mut front = nearest_first(&analysis.settings, &analysis.objectives, &analysis.front);
    front.truncate(ROWS);
    let mut front: Vec<usize> = front.into_iter().map(|near| near.setting).collect();
    front.sort_unstable();
    let mut rows = vec![head];
    for index in &front {
        let setting = &analysis.settings[*index];
        let mut row: Vec<String> = setting.values.iter().map(cut).collect();
        for (objective, estimate) in analysis.objectives.iter().zip(&setting.estimates) {
            let text = estimate.map_or(String::new(), |e| {
                let half = e
                    .half_width
                    .map_or(String::new(), |half| format!(" ± {}", shown(&objective.figure, half)));
                format!("{}{half}", shown(&objective.figure, e.mean))
            });
            row.push(text);
        }
        rows.push(row);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mark = if number > 0 && front[number - 1] == recommended.setting { "→" } else { " " };
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "        {mark} {}", cells.join("  "));
    }
    if analysis.front.len() > ROWS {
        let _ = writeln!(
            out,
            "          and {} more: column pareto of settings.csv",
            analysis.front.len() - ROWS
        );
    }
    out
}

/// A value for a table: an object is cut.
fn cut(value: &Value) -> String {
    let text = plain(value);
    if text.chars().count() <= 24 { text } else { text.chars().take(23).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_unit_of_their_name() {
        assert_eq!(shown("flows.fct_us.p99", 6530.0), "6.53 ms");
        assert_eq!(shown("flows.goodput_gbps.mean", 12.3456), "12.35 Gb/s");
        assert_eq!(shown("queues.peak_bytes", 1_200_000.0), "1.2 MB");
        assert_eq!(shown("pfc.pause_frames", 3824.0), "3824");
        assert_eq!(shown("collectives.0.busbw_gbytes_per_s", 45.678), "45.68 GB/s");
        assert_eq!(label("flows.fct_us.p99"), "p99 FCT");
        assert_eq!(label("collectives.1.busbw_gbytes_per_s"), "busbw of collective 1");
        assert_eq!(label("sim_time_ns"), "sim_time_ns");
    }
}
