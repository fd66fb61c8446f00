//! The summary of a run for people: aligned lines with units.

use sim_core::{Bytes, Duration, Time, stats};

use super::facts::Facts;
use super::files::Written;
use super::subject::subject;
use super::summary::Summary;
use super::verdict;
use crate::check::text::{count, size, span};
use crate::finding::Severity;
use crate::jobs::results::{CollectiveSummary, TrainingSummary};

/// Width of a page in characters.
const WIDTH: usize = 110;
/// Width of its title, which a terminal of 80 columns shows whole.
const TITLE_WIDTH: usize = 80;
/// Column at which the figures of a line begin.
const INDENT: usize = 10;

/// What a page says, but for wall-clock figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What was simulated: name, traffic, topology, protocol, seed.
    pub title: String,
    /// The simulated time.
    pub simulated: String,
    /// One line a subject, findings wrapped.
    pub body: String,
}

impl Page {
    /// The page of a run.
    pub(super) fn new(facts: &Facts, summary: &Summary, written: Option<&Written>) -> Self {
        let mut body = String::new();
        let mut line = |label: &str, text: String| wrap(&mut body, label, &text);
        if !facts.flows.is_empty() {
            line("flows", flows(facts, summary));
        }
        if let Some(table) = collectives(&summary.collectives) {
            body.push_str(&table);
        }
        let mut line = |label: &str, text: String| wrap(&mut body, label, &text);
        for step in &summary.training {
            line("training", training(step));
        }
        if let Some(text) = goodput(facts, summary) {
            line("goodput", text);
        }
        line("ECN", ecn(facts, summary));
        line("PFC", pfc(summary, written));
        line("buffer", buffer(facts, summary));
        if summary.drops.total > 0 {
            line("drops", drops(summary));
        }
        if summary.retransmissions > 0 {
            let share = summary.retransmissions as f64 / facts.counters.data_sent.max(1) as f64 * 100.0;
            line(
                "resent",
                format!("{} data packets, {share:.2} % of all sent", grouped(summary.retransmissions)),
            );
        }
        line("verdict", verdict_line(summary));
        for finding in &summary.verdict.findings {
            let label = match finding.severity {
                Severity::Note => "  note",
                Severity::Warning => "  warning",
                Severity::Error => "  error",
            };
            line(label, format!("{}: {} [{}]", finding.place, finding.text, finding.code));
        }
        if let Some(written) = written {
            line("files", format!("{}/", written.folder.display()));
            for limit in &written.limits {
                line("", limit.clone());
            }
        }
        Self { title: title(facts), simulated: span(facts.sim_time.since(Time::ZERO)), body }
    }
}

/// A labelled line of a page, wrapped at words; what follows the first line stands under its text.
pub fn paragraph(label: &str, text: &str) -> String {
    let mut out = String::new();
    wrap(&mut out, label, text);
    out
}

/// Adds a line with a label, wrapped at words; what follows the first line stands under its figures.
fn wrap(body: &mut String, label: &str, text: &str) {
    let mut line = format!("{label:INDENT$}");
    let mut used = line.chars().count();
    let mut fresh = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !fresh && used + 1 + length > WIDTH {
            body.push_str(line.trim_end());
            body.push('\n');
            line = " ".repeat(INDENT);
            used = INDENT;
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        fresh = false;
    }
    body.push_str(line.trim_end());
    body.push('\n');
}

fn title(facts: &Facts) -> String {
    titled(subject(facts.scenario, facts.graph, facts.flows.len()))
}

/// The parts of a title on as many lines as they need.
fn titled(parts: [String; 4]) -> String {
    let mut title = String::new();
    let mut used = 0;
    for part in parts {
        let length = part.chars().count();
        if used > 0 && used + 3 + length > TITLE_WIDTH {
            title.push_str("\n  ");
            used = 2;
        } else if used > 0 {
            title.push_str(" · ");
            used += 3;
        }
        title.push_str(&part);
        used += length;
    }
    title
}

/// Collectives as a table, one size a row.
fn collectives(all: &[CollectiveSummary]) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let mut out = format!(
        "{:INDENT$}{:>10}  {:>11}  {:>8}  {:>8}  {:>8}  {}\n",
        "collect.",
        "size",
        "time",
        "algbw",
        "busbw",
        "bound",
        "operation, ranks, algorithm/protocol, channels (GB/s)"
    );
    let mut rows: Vec<(String, usize)> = Vec::new();
    for c in all {
        let row = collective(c);
        match rows.last_mut() {
            // Groups of a training step that do the same.
            Some((last, times)) if *last == row => *times += 1,
            Some(_) | None => rows.push((row, 1)),
        }
    }
    for (row, times) in rows {
        out += &row;
        out += &if times > 1 { format!(" × {times}\n") } else { "\n".to_string() };
    }
    Some(out)
}

fn collective(c: &CollectiveSummary) -> String {
    let figure = |value: Option<f64>| value.map_or("-".to_string(), |v| trimmed(v, 2));
    format!(
        "{:INDENT$}{:>10}  {:>11}  {:>8}  {:>8}  {:>8}  {} {}, {}/{}, {}{}",
        "",
        binary(c.bytes),
        c.step_time_us.map_or("not done".to_string(), |t| time(t.mean)),
        figure(c.algbw_gbytes_per_s),
        figure(c.busbw_gbytes_per_s),
        figure(c.bound_busbw_gbytes_per_s),
        c.kind,
        c.ranks,
        c.algorithm,
        c.protocol,
        c.channels,
        if c.extrapolated_loops > 0 { ", steady part extrapolated" } else { "" },
    )
}

/// Sizes of collectives are powers of two as a rule: whole KiB, MiB or GiB are written so.
fn binary(bytes: u64) -> String {
    let whole = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit) && bytes / unit < 1024);
    whole.map_or_else(|| size(Bytes(bytes)), |(unit, name)| format!("{} {name}", bytes / unit))
}

fn training(step: &TrainingSummary) -> String {
    match step.step_time_us {
        None => format!("{}: no step was finished", step.name),
        Some(t) => format!(
            "{}: step {} · compute {} · exposed communication {} · GPUs idle {:.1} % · {} done",
            step.name,
            time(t.mean),
            time(step.compute_us),
            time(step.exposed_communication_us),
            step.gpu_idle_share * 100.0,
            count(step.steps as usize, "step"),
        ),
    }
}

fn flows(facts: &Facts, summary: &Summary) -> String {
    let mut text = format!("{} of {} done", summary.flows.completed, summary.flows.count);
    if let Some(fct) = summary.flows.fct_us {
        text += &match summary.flows.completed {
            1 => format!(" · FCT {}", time(fct.max)),
            _ => format!(" · FCT p50 {}, p99 {}, max {}", time(fct.p50), time(fct.p99), time(fct.max)),
        };
        let together = facts.flows.iter().all(|flow| flow.start == facts.flows[0].start);
        if together && facts.completed == summary.flows.count {
            text += &format!(" (line-rate floor {})", span(Duration(facts.ideal.floor)));
        }
    }
    text
}

fn goodput(facts: &Facts, summary: &Summary) -> Option<String> {
    let goodput = summary.flows.goodput_gbps?;
    let mut text = match summary.flows.completed {
        1 => format!("{} Gb/s", trimmed(goodput.mean, 2)),
        _ => format!("mean {} Gb/s", trimmed(goodput.mean, 2)),
    };
    if summary.flows.completed > 1 {
        text += &format!(", {} to {}", trimmed(goodput.min, 2), trimmed(goodput.max, 2));
    }
    let alike = verdict::alike(facts);
    if !alike.is_empty() {
        text += &format!(" (even share of the hosts' links {})", trimmed(facts.ideal.share[0] / 1e9, 2));
        let rates: Vec<f64> = alike.iter().filter_map(|&flow| facts.goodput(flow)).collect();
        if let Some(jain) = stats::jain(&rates).filter(|_| rates.len() > 1) {
            text += &format!(" · Jain {jain:.2}");
        }
    }
    Some(text)
}

fn ecn(facts: &Facts, summary: &Summary) -> String {
    if facts.scenario.switch.ecn.is_none() {
        return "off".to_string();
    }
    let cnps = if facts.scenario.nic.cnp.echo_in_ack { "echoed marks" } else { "CNPs" };
    format!(
        "{} % of the data arrived marked, {} {cnps}, {} rate cuts",
        trimmed(summary.ecn.marked_fraction * 100.0, 2),
        grouped(summary.cnp.received),
        grouped(facts.rate_cuts)
    )
}

fn pfc(summary: &Summary, written: Option<&Written>) -> String {
    let pfc = summary.pfc;
    if pfc.pause_frames == 0 {
        return "0 events".to_string();
    }
    let mut text = format!(
        "{} pauses, {} resumes, {} paused in all",
        grouped(pfc.pause_frames),
        grouped(pfc.resume_frames),
        time(pfc.paused_us_total)
    );
    if let Some((at, hop)) = written.and_then(|written| written.first_pause.as_ref()) {
        text += &format!(", first at {}: {hop}", span(at.since(Time::ZERO)));
    }
    if pfc.watchdog_storms > 0 {
        text += &format!(
            " · watchdog: {}, {}",
            count(pfc.watchdog_storms as usize, "storm"),
            count(pfc.watchdog_restores as usize, "restore")
        );
    }
    text
}

fn buffer(facts: &Facts, summary: &Summary) -> String {
    let peak = facts.buffer_peaks.iter().copied().max().unwrap_or(0);
    let mut text = format!("peak {} of {}", size(Bytes(peak)), size(facts.scenario.switch.buffer));
    if let Some(port) = &summary.queues.peak_port {
        text += &format!(" · longest queue {} at {port}", size(Bytes(summary.queues.peak_bytes)));
    }
    let ports = 0..facts.ports.len() as u32;
    if let Some((port, class, held)) = facts.largest(ports, |class| u64::from(class.headroom_peak)) {
        let limit = facts.ports[port as usize].classes[usize::from(class)].headroom_limit;
        text += &format!(" · headroom peak {} of {}", size(Bytes(held)), size(Bytes(u64::from(limit))));
    }
    text
}

fn drops(summary: &Summary) -> String {
    let reasons = summary.drops.by_reason.iter().filter(|(_, packets)| **packets > 0);
    let reasons: Vec<String> =
        reasons.map(|(name, packets)| format!("{name} {}", grouped(*packets))).collect();
    format!("{} packets: {}", grouped(summary.drops.total), reasons.join(", "))
}

fn verdict_line(summary: &Summary) -> String {
    let of = |severity| summary.verdict.findings.iter().filter(|f| f.severity == severity).count();
    let counts: Vec<String> =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
            .into_iter()
            .map(|(severity, name)| (of(severity), name))
            .filter(|(n, _)| *n > 0)
            .map(|(n, name)| count(n, name))
            .collect();
    let word = if summary.verdict.healthy { "healthy" } else { "not healthy" };
    if counts.is_empty() { word.to_string() } else { format!("{word}, {}", counts.join(", ")) }
}

/// A time in microseconds in its best unit.
fn time(us: f64) -> String {
    match us {
        t if t < 1.0 => format!("{:.0} ns", t * 1e3),
        t if t < 1e3 => format!("{t:.2} us"),
        t if t < 1e6 => format!("{:.2} ms", t / 1e3),
        t => format!("{:.3} s", t / 1e6),
    }
}

/// A figure with at most `decimals` decimals, without trailing zeros.
pub(super) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A count with a thin gap every three digits: 1 204 330.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(grouped(1_204_330), "1 204 330");
        assert_eq!(grouped(17), "17");
        assert_eq!(trimmed(12.0, 2), "12");
        assert_eq!(trimmed(392.071, 2), "392.07");
        assert_eq!(time(2410.0), "2.41 ms");
        assert_eq!(time(0.5), "500 ns");
    }

    #[test]
    fn a_title_fits_80_columns_and_its_seed_never_stands_alone() {
        let parts =
            ["incast", "32 senders", "leaf–spine 4 × 4, 64 hosts, 400 Gb/s", "RoCEv2, DCQCN, PFC · seed 1"];
        assert_eq!(
            titled(parts.map(String::from)),
            "incast · 32 senders · leaf–spine 4 × 4, 64 hosts, 400 Gb/s\n  RoCEv2, DCQCN, PFC · seed 1"
        );
    }

    #[test]
    fn lines_wrap_under_their_figures() {
        let mut body = String::new();
        wrap(&mut body, "  note", &"word ".repeat(40));
        let lines: Vec<&str> = body.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  note    word"));
        assert!(lines[1].starts_with("          word"));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
    }
}
