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
    let (tasks, all_tasks) = facts.tasks;
    let done = match (all, all_tasks) {
        (_, 0) => format!("{} of {all} flows were done", facts.completed),
        (0, _) => format!("{tasks} of {all_tasks} tasks of GPUs were done"),
        (_, _) => {
            format!("{} of {all} flows and {tasks} of {all_tasks} tasks of GPUs were done", facts.completed)
        }
    };
    let add = |findings: &mut Vec<Finding>, severity, code, text: String| {
        findings.push(Finding::new(severity, code, "run", text));
    };
    match facts.end {
        // A deadlock has its own finding.
        End::Completed | End::Deadlock => {}
        End::Until if facts.completed == all && tasks == all_tasks => {}
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::drive::End;
    use super::super::super::test_runs::{flows, found, leaf_spine, only, run, scenario, star};
    use super::super::super::{Observer, Poll, Progress, execute, prepare};

    #[test]
    fn a_stall_lists_the_waiting_flows() {
        let outcome = run(json!({
            "topology": leaf_spine(2, 1, 2),
            "routing": { "on_failure": "none" },
            "traffic": flows(&[("host0", "host2", "1MB"), ("host0", "host1", "1MB")]),
            "faults": [{ "link-down": { "a": "leaf0", "b": "spine0", "at": "20us" } }],
            "run": { "stall_limit": "5ms" }
        }));
        assert_eq!(outcome.end, End::Stalled);
        let finding = only(&outcome, "stalled");
        assert!(finding.text.contains("flow 0 (host0 to host2): "), "{}", finding.text);
        assert!(!finding.text.contains("flow 1"), "{}", finding.text);
        assert!(!outcome.summary.verdict.healthy);
        assert!((5.0e6..6.0e6).contains(&outcome.summary.sim_time_ns), "{}", outcome.summary.sim_time_ns);
    }

    #[test]
    fn an_end_before_completion_is_a_note() {
        let outcome = run(json!({
            "topology": star(2, 100, 10),
            "traffic": [{ "flows": { "list": [
                { "from": "host0", "to": "host1", "size": "10MB" },
                { "from": "host0", "to": "host1", "size": "1MB", "start": "1s" }
            ] } }],
            "run": { "until": "100us" }
        }));
        assert_eq!((outcome.end.clone(), outcome.summary.sim_time_ns), (End::Until, 100_000.0));
        let finding = only(&outcome, "unfinished-flows");
        assert!(
            finding.text.contains("0 of 2 flows were done, 1 under way, 1 not yet started"),
            "{}",
            finding.text
        );
        assert_eq!((outcome.summary.flows.fct_us, outcome.summary.flows.goodput_gbps), (None, None));
        assert!(outcome.summary.verdict.healthy);
    }

    struct StopAfter(u32, Vec<Progress>);

    impl Observer for StopAfter {
        fn poll(&mut self) -> Poll {
            self.0 -= 1;
            if self.0 == 0 { Poll::Stop } else { Poll::Report }
        }

        fn progress(&mut self, progress: &Progress) {
            self.1.push(*progress);
        }
    }

    #[test]
    fn an_observer_sees_progress_and_can_stop() {
        let object = json!({ "topology": star(2, 100, 10), "traffic": flows(&[("host0", "host1", "10MB")]) });
        let mut observer = StopAfter(10, Vec::new());
        let outcome = execute(prepare(&scenario(object)).unwrap(), None, &mut observer).unwrap();
        assert_eq!(outcome.end, End::Interrupted);
        assert!(only(&outcome, "interrupted").text.starts_with("incomplete: "));
        assert!(!outcome.summary.verdict.healthy && outcome.summary.packet_hops > 0);
        let seen = &observer.1;
        assert_eq!(seen.len(), 9);
        assert!(seen.windows(2).all(|w| w[0].now < w[1].now && w[0].fraction < w[1].fraction));
        assert!(seen[8].fraction < 1.0 && seen[8].packet_hops > 0 && seen[8].flows == 1);
        assert!(found(&outcome, "unfinished-flows").is_empty());
    }
}
