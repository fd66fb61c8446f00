//! `flows.csv`: each flow.

use std::path::Path;

use models::config::Operation;

use super::super::facts::Facts;
use super::table::{gbps, text, us};
use super::{WriteError, write_file};

const HEADER: [&str; 16] = [
    "id",
    "from",
    "to",
    "class",
    "operation",
    "bytes",
    "messages",
    "start_us",
    "finish_us",
    "fct_us",
    "ideal_fct_us",
    "slowdown",
    "delivered_bytes",
    "goodput_gbps",
    "retransmissions",
    "status",
];

pub(super) fn write(folder: &Path, facts: &Facts) -> Result<(), WriteError> {
    let header = HEADER.map(String::from);
    write_file(folder, "flows.csv", &text(&header, (0..facts.flows.len()).map(|flow| row(facts, flow))))
}

fn row(facts: &Facts, index: usize) -> Vec<String> {
    let (flow, state) = (&facts.flows[index], &facts.states[index]);
    let name = |node: u32| facts.graph.names[node as usize].clone();
    let ideal = facts.ideal.fct[index];
    let fct = state.fct().map(|fct| fct.0);
    let status = match (state.started, state.finished) {
        (_, Some(_)) => "done",
        (Some(_), None) => "waiting",
        (None, None) => "not-started",
    };
    let started = state.started.unwrap_or(flow.start);
    vec![
        index.to_string(),
        name(flow.src),
        name(flow.dst),
        flow.class.to_string(),
        operation(flow.operation).to_string(),
        flow.size.0.to_string(),
        flow.messages.to_string(),
        us(started.0),
        state.finished.map_or(String::new(), |at| us(at.0)),
        fct.map_or(String::new(), us),
        us(ideal),
        fct.map_or(String::new(), |fct| format!("{:.4}", fct as f64 / ideal.max(1) as f64)),
        facts.delivered[index].to_string(),
        facts.goodput(index).map_or(String::new(), gbps),
        facts.retransmissions[index].to_string(),
        status.to_string(),
    ]
}

fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Write => "write",
        Operation::Send => "send",
        Operation::Read => "read",
        Operation::Datagram => "datagram",
    }
}
