//! What to make of a run: each kind of finding has its own file, and tells its cause by counters.
//!
//! Errors and warnings make a run unhealthy; notes only explain it.

mod collectives;
mod completion;
mod deadlock;
mod drops;
mod goodput;
mod pauses;
mod queues;
mod quiet;
mod recovery;
mod storm;

use models::topology::{Graph, PortIndex};

pub(super) use self::goodput::alike;
use super::facts::Facts;
use crate::check::text;
use crate::finding::Finding;

/// Everything found in a run, in the order of the kinds.
pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    completion::find(facts, &mut findings);
    deadlock::find(facts, &mut findings);
    storm::find(facts, &mut findings);
    drops::find(facts, &mut findings);
    recovery::find(facts, &mut findings);
    pauses::find(facts, &mut findings);
    goodput::find(facts, &mut findings);
    collectives::find(facts, &mut findings);
    queues::find(facts, &mut findings);
    quiet::find(facts, &mut findings);
    findings
}

/// A flow as "flow 3 (host0 to host5)".
fn flow_name(facts: &Facts, flow: usize) -> String {
    let f = &facts.flows[flow];
    text::flow(facts.graph, flow, f.src, f.dst)
}

/// The first flows of a list by name.
fn flow_names(facts: &Facts, flows: &[usize]) -> String {
    text::list(flows.iter().map(|&flow| flow_name(facts, flow)).collect::<Vec<_>>().into_iter())
}

/// A port and the one it leads to: "leaf0:3 → spine1:0".
fn hop(graph: &Graph, port: PortIndex) -> String {
    format!("{} → {}", graph.port_name(port), graph.port_name(graph.ports[port as usize].peer))
}

/// A part as a percentage with the digits it deserves.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        p if p == 0.0 || p >= 10.0 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        p => format!("{p:.3} %"),
    }
}

/// How many times as long as alone on its path a flow took, or has taken so far for what it delivered.
fn slowdown(facts: &Facts, flow: usize) -> Option<f64> {
    let state = facts.states[flow];
    let started = state.started?;
    let ideal = facts.ideal.fct[flow].max(1) as f64;
    match state.fct() {
        Some(fct) => Some(fct.0 as f64 / ideal),
        None => {
            let done = facts.delivered[flow] as f64 / facts.flows[flow].bytes().0 as f64;
            let taken = facts.sim_time.0.saturating_sub(started.0) as f64;
            (taken > ideal * 0.1).then(|| if done > 0.0 { taken / (ideal * done) } else { f64::INFINITY })
        }
    }
}
