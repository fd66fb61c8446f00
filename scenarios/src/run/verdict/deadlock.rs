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
