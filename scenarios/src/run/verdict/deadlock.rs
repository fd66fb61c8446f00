//! Deadlocks: the cycle by name.

use super::super::facts::Facts;
use super::hop;
use crate::check::text;
use crate::finding::{Finding, Severity};
use sim_core::{Bytes, Time};

/// Hops of a cycle that are written out.
const SHOWN: usize = 8;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(deadlock) = &facts.watch.deadlock else { return };
    let mut hops: Vec<String> = deadlock
        .cycle
        .iter()
        .take(SHOWN)
        .map(|wait| {
            format!("{} class {}, {}", hop(facts.graph, wait.port), wait.class, text::size(Bytes(wait.bytes)))
        })
        .collect();
    if deadlock.cycle.len() > SHOWN {
        hops.push(format!("and {} more", deadlock.cycle.len() - SHOWN));
    }
    let beyond = deadlock.stuck.len().saturating_sub(deadlock.cycle.len());
    let beyond = match beyond {
        0 => String::new(),
        n => format!(" {n} more paused queues wait for them."),
    };
    let text = format!(
        "deadlock since {}: {}. Each is paused until the next one drains, so none of them ever moves.{beyond} Break \
         the cycle: route up and down the tree only, put the detour into another lossless class, or set \
         switch.watchdog. `fabsim check` finds such cycles before a run.",
        text::span(deadlock.closed_at.since(Time::ZERO)),
        hops.join("; "),
    );
    let place = deadlock.cycle.iter().map(|wait| facts.graph.port_name(wait.port));
    let place = text::list(place.collect::<Vec<_>>().into_iter());
    findings.push(Finding::new(Severity::Error, "deadlock", place, text));
}

#[cfg(test)]
mod tests {
    use super::super::super::drive::End;
    use super::super::super::test_runs::{found, only, routing_loop, run};

    #[test]
    fn the_cycle_of_a_routing_loop_is_named() {
        let outcome = run(routing_loop("7Gbps"));
        assert_eq!(outcome.end, End::Deadlock);
        let finding = only(&outcome, "deadlock");
        assert!(finding.text.contains("s0:1 → s1:1 class 3") && finding.text.contains("s1:1 → s0:1 class 3"));
        let summary = &outcome.summary.deadlock;
        assert!(summary.detected && !outcome.summary.verdict.healthy);
        assert_eq!(summary.cycle.len(), 2);
        assert!(summary.cycle.iter().all(|hop| hop.bytes > 0 && hop.class == 3));
        assert!(summary.at_ns.unwrap() > 0.0 && summary.at_ns.unwrap() <= outcome.summary.sim_time_ns);
        assert!(found(&outcome, "pause-tree").is_empty());
    }

    #[test]
    fn a_loop_that_keeps_up_is_none() {
        let outcome = run(routing_loop("3Gbps"));
        assert!(!outcome.summary.deadlock.detected);
        assert_eq!(found(&outcome, "ttl-drops").len(), 1);
    }
}
