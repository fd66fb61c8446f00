//! `ports.csv`: the counters of each port, under the names that NICs and switches give them.

use std::path::Path;

use models::config::CLASSES;
use models::counters::DROP_REASONS;
use models::topology::PortIndex;

use super::super::facts::{ClassFacts, Facts};
use super::table::{text, us};
use super::{WriteError, write_file};

pub(super) fn write(folder: &Path, facts: &Facts) -> Result<(), WriteError> {
    let classes = occurring(facts);
    let rows = (0..facts.ports.len() as PortIndex).map(|port| row(facts, port, &classes));
    write_file(folder, "ports.csv", &text(&header(&classes), rows))
}

/// Classes that any port has something to say about.
fn occurring(facts: &Facts) -> Vec<usize> {
    let quiet = ClassFacts::default();
    let says = |class: &ClassFacts| ClassFacts { headroom_limit: 0, ..*class } != quiet;
    let lossless = facts.scenario.switch.lossless_classes();
    (0..CLASSES)
        .filter(|&class| {
            lossless.contains(&(class as u8)) || facts.ports.iter().any(|port| says(&port.classes[class]))
        })
        .collect()
}

fn header(classes: &[usize]) -> Vec<String> {
    let mut header: Vec<String> =
        ["port", "node", "peer", "rate_gbps", "up", "tx_bytes", "tx_packets", "utilisation"]
            .map(String::from)
            .into();
    for class in classes {
        for name in [
            "rx_prio{}_pause",
            "rx_prio{}_pause_duration_us",
            "rx_prio{}_pause_transition",
            "tx_prio{}_pause",
            "tx_prio{}_resume",
            "prio{}_ecn_marked",
            "prio{}_queue_peak_bytes",
            "prio{}_headroom_peak_bytes",
            "prio{}_headroom_limit_bytes",
        ] {
            header.push(name.replace("{}", &class.to_string()));
        }
    }
    header.extend(DROP_REASONS.iter().map(|reason| format!("drops_{}", reason.name())));
    header
}

fn row(facts: &Facts, port: PortIndex, classes: &[usize]) -> Vec<String> {
    let (graph, state) = (facts.graph, &facts.ports[port as usize]);
    let end = graph.ports[port as usize];
    let rate = graph.link_of(port).rate;
    let wire = state.tx_bytes + facts.scenario.nic.gap.0 * state.tx_packets;
    let possible = rate.bytes_in(facts.drained.since(sim_core::Time::ZERO)).0;
    let mut row = vec![
        graph.port_name(port),
        graph.names[end.node as usize].clone(),
        graph.port_name(end.peer),
        format!("{:.3}", rate.as_gbps()),
        u8::from(state.up).to_string(),
        state.tx_bytes.to_string(),
        state.tx_packets.to_string(),
        format!("{:.6}", wire as f64 / possible.max(1) as f64),
    ];
    for &class in classes {
        let class = &state.classes[class];
        row.extend([
            class.rx_pause.to_string(),
            us(class.paused),
            class.rx_resume.to_string(),
            class.tx_pause.to_string(),
            class.tx_resume.to_string(),
            class.marked.to_string(),
            class.queue_peak.to_string(),
            class.headroom_peak.to_string(),
            class.headroom_limit.to_string(),
        ]);
    }
    let lost = |reason| facts.losses.by_port.get(&(port, reason)).copied().unwrap_or(0);
    row.extend(DROP_REASONS.iter().map(|&reason| lost(reason).to_string()));
    row
}
