//! The report of a run.

use serde_json::Value;

use super::document::{Block, Report, Section, findings, paragraph, tiles};
use super::network::Network;
use super::read::{Folder, Table};
use super::scale::{bytes, figure, grouped, time};
use super::{collectives, deadlock, distribution, pauses, series, topology};
use crate::language;
use crate::run::subject;
use crate::spec::Scenario;

/// Rows of `flows.csv` that are listed.
const FLOWS: usize = 2000;

/// Everything a run's folder holds.
struct Read {
    summary: Value,
    scenario: Option<Scenario>,
    flows: Option<Table>,
    ports: Option<Table>,
    queues: Option<Table>,
    rates: Option<Table>,
    pfc: Option<Table>,
    collectives: Option<Table>,
}

/// Makes the report.
pub fn report(folder: &mut Folder) -> Report {
    let read = read(folder);
    let summary = &read.summary;
    let end = summary["sim_time_ns"].as_f64().map_or_else(|| last_time(&read), |ns| ns / 1e3);
    let name = summary["scenario"].as_str().map(str::to_string);
    let name = name.or_else(|| read.scenario.as_ref().map(|s| s.name.clone()));
    let title = name.unwrap_or_else(|| "run".to_string());
    let mut sections = vec![overview(&read, end)];
    let found = summary["verdict"]["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !found.is_empty() {
        sections.push(Section { id: "findings", title: "Findings", blocks: vec![findings(found)] });
    }
    let paused = read.pfc.as_ref().map(|pfc| pauses::read(pfc, end)).unwrap_or_default();
    let stuck = deadlock::ports(&summary["deadlock"]);
    let mut add = |id: &'static str, title: &'static str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section { id, title, blocks });
        }
    };
    add("deadlock", "Deadlock", deadlock::blocks(&summary["deadlock"], &paused));
    add("collective", "Collectives", of_collectives(&read));
    add("flows", "Flows", of_flows(&read));
    let network = read.ports.as_ref().and_then(Network::new);
    add("topology", "Topology", network.map_or(Vec::new(), |n| figures(topology::figures(&n, &stuck))));
    add(
        "queues",
        "Queues",
        read.queues.as_ref().map_or(Vec::new(), |q| of_queues(q, read.scenario.as_ref())),
    );
    add("rates", "Rates", read.rates.as_ref().map_or(Vec::new(), |rates| figures(series::rates(rates))));
    let of_pauses = match pauses::timeline(&paused, end) {
        Some(timeline) => figures(vec![timeline]),
        None if read.pfc.is_some() => vec![paragraph("No port was paused.")],
        None => Vec::new(),
    };
    add("pauses", "Pauses", of_pauses);
    Report { title, subtitle: subtitle(&read), badge: badge(summary), sections, notes: Vec::new() }
}

fn read(folder: &mut Folder) -> Read {
    let summary = folder.json("summary.json").unwrap_or(Value::Null);
    let scenario =
        folder.text("scenario.json").and_then(|text| match language::load(&text, "scenario.json", &[]) {
            Ok(loaded) => Some(loaded.scenario),
            Err(error) => {
                folder.note("scenario.json", &format!("cannot be used: {error}"));
                None
            }
        });
    let sampled = scenario.as_ref().is_none_or(|s| s.output.sample_interval.0 > 0);
    let mut table = |name: &str, due: bool| if due || folder.has(name) { folder.table(name) } else { None };
    let works = scenario.as_ref().is_some_and(|s| !s.jobs.is_empty());
    let read = Read {
        flows: table("flows.csv", true),
        ports: table("ports.csv", true),
        queues: table("queues.csv", sampled),
        rates: table("rates.csv", sampled),
        pfc: table("pfc.csv", true),
        collectives: table("collectives.csv", works),
        summary,
        scenario,
    };
    if !sampled && read.queues.is_none() {
        folder.note(
            "queues.csv and rates.csv",
            "were not asked for: give output.sample_interval to see queues and rates over time",
        );
    }
    read
}

/// The time of the last event in the files, for runs without a summary.
fn last_time(read: &Read) -> f64 {
    let times = [&read.queues, &read.rates, &read.pfc].into_iter().flatten();
    times
        .filter_map(|table| table.columns(["time_us"])?.last().map(|[time]| super::read::number(time)))
        .filter(|time| time.is_finite())
        .fold(0.0, f64::max)
}

fn badge(summary: &Value) -> (&'static str, String) {
    let found = summary["verdict"]["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |severity: &str| found.iter().filter(|f| f["severity"] == severity).count();
    let tell = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (errors, warnings, notes) = (count("error"), count("warning"), count("note"));
    let parts = [(errors, "error"), (warnings, "warning"), (notes, "note")];
    let said: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| tell(n, what)).collect();
    let with = if said.is_empty() { String::new() } else { format!(" · {}", said.join(", ")) };
    match summary["verdict"]["healthy"].as_bool() {
        Some(true) => ("good", format!("Healthy{with}")),
        Some(false) if errors > 0 => ("error", format!("Unhealthy{with}")),
        Some(false) => ("warning", format!("Unhealthy{with}")),
        None => ("note", "No verdict".to_string()),
    }
}

fn subtitle(read: &Read) -> String {
    let Some(scenario) = &read.scenario else { return String::new() };
    let Ok(graph) = models::topology::build(&scenario.topology) else { return scenario.description.clone() };
    let flows = read.flows.as_ref().map_or(0, |flows| flows.rows.len());
    let [_, rest @ ..] = subject(scenario, &graph, flows);
    rest.join(" · ")
}

fn overview(read: &Read, end: f64) -> Section {
    let mut blocks = Vec::new();
    if let Some(scenario) = read.scenario.as_ref().filter(|scenario| !scenario.description.is_empty()) {
        blocks.push(paragraph(&scenario.description));
    }
    if !read.summary.is_null() {
        blocks.push(key_figures(&read.summary, end));
    }
    if let Some(params) = read.summary["params"].as_object().filter(|params| !params.is_empty()) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let of = |(name, value): (&String, &Value)| {
            format!("<dt>{}</dt><dd>{}</dd>", super::svg::escape(name), super::svg::escape(&text(value)))
        };
        let rows: String = params.iter().map(of).collect();
        blocks.push(Block::Html(format!(
            "<div class=\"card\"><h3>Parameters</h3><dl class=\"facts\">{rows}</dl></div>\n"
        )));
    }
    Section { id: "overview", title: "What was simulated", blocks }
}

fn key_figures(summary: &Value, end: f64) -> Block {
    let number = |path: &str| summary.pointer(path).and_then(Value::as_f64);
    let count = |path: &str| grouped(summary.pointer(path).and_then(Value::as_u64).unwrap_or(0));
    let mut all = vec![("Simulated time", time(end), format!("{} packet-hops", count("/packet_hops")))];
    if summary["flows"]["count"].as_u64().unwrap_or(0) > 0 {
        let done = format!("{} of {}", count("/flows/completed"), count("/flows/count"));
        all.push(("Flows done", done, format!("{} packets sent again", count("/retransmissions"))));
    }
    if let Some(p99) = number("/flows/fct_us/p99") {
        let p50 = number("/flows/fct_us/p50").map_or(String::new(), |t| format!("median {}", time(t)));
        all.push(("Completion time, p99", time(p99), p50));
    }
    if let (Some(mean), Some(min), Some(max)) = (
        number("/flows/goodput_gbps/mean"),
        number("/flows/goodput_gbps/min"),
        number("/flows/goodput_gbps/max"),
    ) {
        let range = format!("{} to {}", figure(min), figure(max));
        all.push(("Goodput of a flow, mean", format!("{} Gb/s", figure(mean)), range));
    }
    if let Some(busbw) = number("/collectives/0/busbw_gbytes_per_s") {
        let bound = number("/collectives/0/bound_busbw_gbytes_per_s");
        let below = bound.map_or(String::new(), |bound| format!("bound of the links {}", figure(bound)));
        all.push(("Bus bandwidth", format!("{} GB/s", figure(busbw)), below));
    }
    if let Some(step) = number("/collectives/0/step_time_us/mean") {
        all.push(("Time of an operation", time(step), "mean over executions".to_string()));
    }
    let paused = number("/pfc/paused_us_total").unwrap_or(0.0);
    all.push(("PAUSE frames", count("/pfc/pause_frames"), format!("ports paused {} in all", time(paused))));
    let marked = number("/ecn/marked_fraction").unwrap_or(0.0) * 100.0;
    all.push(("ECN-marked", format!("{} %", figure(marked)), format!("{} CNPs", count("/cnp/sent"))));
    all.push(("Packets lost", count("/drops/total"), reasons(&summary["drops"]["by_reason"])));
    let place = summary["queues"]["peak_port"].as_str().unwrap_or_default();
    all.push(("Longest queue", bytes(number("/queues/peak_bytes").unwrap_or(0.0)), place.to_string()));
    tiles(&all)
}

fn reasons(by_reason: &Value) -> String {
    let all = by_reason.as_object().into_iter().flatten();
    let some = all.filter(|(_, count)| count.as_u64().unwrap_or(0) > 0);
    let text: Vec<String> =
        some.map(|(reason, count)| format!("{} {count}", reason.replace('_', " "))).collect();
    if text.is_empty() { "none".to_string() } else { text.join(", ") }
}

fn figures(all: Vec<super::document::Figure>) -> Vec<Block> {
    all.into_iter().map(|figure| Block::Figure(Box::new(figure))).collect()
}

fn of_flows(read: &Read) -> Vec<Block> {
    let Some(flows) = read.flows.as_ref().filter(|flows| !flows.rows.is_empty()) else { return Vec::new() };
    let mut blocks = figures(distribution::figures(flows));
    let mut shown = flows.clone();
    let title = if flows.rows.len() > FLOWS {
        // The slowest first, so that what is left out is what went well.
        let place = flows.column("slowdown").unwrap_or(0);
        let of = |row: &Vec<String>| row[place].parse::<f64>().unwrap_or(f64::INFINITY);
        shown.rows.sort_by(|a, b| of(b).total_cmp(&of(a)));
        shown.rows.truncate(FLOWS);
        format!("The {FLOWS} slowest of {} flows", flows.rows.len())
    } else {
        format!("All {} flows", flows.rows.len())
    };
    blocks.push(Block::Table("flows".into(), title, shown));
    blocks
}

fn of_queues(queues: &Table, scenario: Option<&Scenario>) -> Vec<Block> {
    let mut levels = Vec::new();
    let mut buffer = None;
    if let Some(scenario) = scenario {
        buffer = Some(scenario.switch.buffer.0 as f64);
        let graph = models::topology::build(&scenario.topology).ok();
        let rate = graph.and_then(|graph| graph.links.iter().map(|link| link.rate).min());
        let ecn = scenario.switch.ecn.as_ref().zip(rate).and_then(|(ecn, rate)| ecn.thresholds(rate));
        if let Some(at) = ecn {
            levels.extend([("Kmin".to_string(), at.kmin.0 as f64), ("Kmax".to_string(), at.kmax.0 as f64)]);
        }
    }
    let figures = figures(series::queues(queues, &levels, buffer));
    if figures.is_empty() { vec![paragraph("Every sampled queue was empty.")] } else { figures }
}

fn of_collectives(read: &Read) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(table) = collectives::summary(&read.summary["collectives"]) {
        blocks.push(Block::Table("operations".into(), "Operations".into(), table));
    }
    blocks.extend(read.collectives.as_ref().map(collectives::figures).map(figures).unwrap_or_default());
    blocks
}
