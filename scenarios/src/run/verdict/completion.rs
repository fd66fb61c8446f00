//! Flows that are not done, and runs that were cut short.

use models::fabric::FlowState;

use super::super::drive::End;
use super::super::facts::Facts;
use super::flow_name;
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Waiting flows that are listed.
const LISTED: usize = 8;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    let all = facts.flows.len() as u64;
    let at = text::span(facts.sim_time.since(sim_core::Time::ZERO));
    let done = format!("{} of {all} flows were done", facts.completed);
    let add = |findings: &mut Vec<Finding>, severity, code, text: String| {
        findings.push(Finding::new(severity, code, "run", text));
    };
    match facts.end {
        // A deadlock has its own finding.
        End::Completed | End::Deadlock => {}
        End::Until if facts.completed == all => {}
        End::Until => {
            let started = facts.states.iter().filter(|s| s.started.is_some()).count() as u64;
            let waiting = started - facts.completed;
            let later = match all - started {
                0 => String::new(),
                n => format!(", {n} not yet started"),
            };
            let text = format!(
                "the run ended at run.until, {at}: {done}, {waiting} under way{later}, {} of {} delivered. Completion \
                 times and goodput count only flows that are done; flows.csv has what the others delivered.",
                text::size(sim_core::Bytes(facts.delivered.iter().sum())),
                text::size(sim_core::Bytes(facts.flows.iter().map(|f| f.bytes().0).sum())),
            );
            add(findings, Severity::Note, "unfinished-flows", text);
        }
        End::Stalled => {
            let text = format!(
                "nothing was delivered for {} (run.stall_limit) although flows wait: {}. Packets inside the fabric: \
                 {}; retransmission timeouts: {}.",
                text::span(facts.scenario.run.stall_limit),
                waiting(facts),
                facts.counters.created - facts.counters.delivered - facts.counters.dropped(),
                facts.counters.timeouts,
            );
            add(findings, Severity::Error, "stalled", text);
        }
        End::Interrupted => {
            let text =
                format!("incomplete: the run was stopped at {at}, when {done}. All figures are up to there.");
            add(findings, Severity::Warning, "interrupted", text);
        }
        End::WriteFailed => {
            let text = format!(
                "incomplete: a result file could not be written at {at}, when {done}. All figures are up to there."
            );
            add(findings, Severity::Error, "write-failed", text);
        }
    }
}

/// The flows that wait, with what they delivered.
fn waiting(facts: &Facts) -> String {
    let waiting = facts.waiting();
    let names: Vec<String> = waiting
        .iter()
        .take(LISTED)
        .map(|&flow| {
            let (got, of) = (facts.delivered[flow], facts.flows[flow].bytes());
            format!("{}: {} of {}", flow_name(facts, flow), text::size(sim_core::Bytes(got)), text::size(of))
        })
        .collect();
    let more = waiting.len().saturating_sub(LISTED);
    let rest = if more == 0 { String::new() } else { format!(", and {more} more") };
    debug_assert!(facts.states.iter().any(|s: &FlowState| s.finished.is_none()));
    format!("{}{rest}", names.join(", "))
}
