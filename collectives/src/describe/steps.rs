//! What the first rank's threads do on the first channel, step by step.

use super::table::table;
use crate::schedule::{Buffer, CollectiveSchedule, Path, Role, Step};

/// The table of the threads of rank 0 on channel 0, with at most `limit` steps.
pub(super) fn steps(schedule: &CollectiveSchedule, limit: usize) -> String {
    let threads = schedule.threads.iter().filter(|t| t.rank == 0 && t.channel == 0);
    let all: Vec<(Role, usize, &Step)> =
        threads.flat_map(|t| t.steps.iter().enumerate().map(|(i, step)| (t.role, i, step))).collect();
    let head = ["thread", "step", "times", "blocks", "receive from", "own", "keep", "send to"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (role, index, step) in all.iter().take(limit) {
        // A thread is named where it starts.
        let name = if *index == 0 { format!("{role:?}") } else { String::new() };
        let mut row = row(schedule, *index, step);
        row.insert(0, name);
        rows.push(row);
    }
    let mut text = format!("\nrank 0 on channel 0, once a loop:\n{}", table(&rows));
    if all.len() > limit {
        text.push_str(&format!("  … and {} more steps\n", all.len() - limit));
    }
    text
}

fn row(schedule: &CollectiveSchedule, index: usize, step: &Step) -> Vec<String> {
    let part = &schedule.channels[0];
    let of = |k: u32| {
        let block = |block: u32| part.data_block(block).to_string();
        let first = step.block_at(k, part.blocks);
        match step.blocks_at(k, part.blocks).last() {
            Some(last) if step.span > 2 && step.span_stride == 1 => {
                format!("{}..{}", block(first), block(last))
            }
            Some(last) if step.span > 1 => {
                let dots = if step.span > 2 { " … " } else { " " };
                format!("{}{dots}{}", block(first), block(last))
            }
            _ => block(first),
        }
    };
    let blocks = match step.repeat {
        1 => of(0),
        2 => format!("{}, {}", of(0), of(1)),
        3 => format!("{}, {}, {}", of(0), of(1), of(2)),
        _ => format!("{}, {}, … {}", of(0), of(1), of(step.repeat - 1)),
    };
    let peers = |list: &[u32], sends: bool| {
        if list.is_empty() { "–".to_owned() } else { peers(schedule, list, sends) }
    };
    let own = match step.source {
        None => "–",
        Some(Buffer::Input) if step.receive.is_empty() => "input",
        Some(Buffer::Input) => "+ input",
        Some(Buffer::Output) if step.receive.is_empty() => "output",
        Some(Buffer::Output) => "+ output",
    };
    vec![
        index.to_string(),
        step.repeat.to_string(),
        blocks,
        peers(&step.receive, false),
        own.to_owned(),
        if step.store { "yes" } else { "–" }.to_owned(),
        peers(&step.send, true),
    ]
}

/// The other ends of connections; NVSwitch and network by their names.
fn peers(schedule: &CollectiveSchedule, list: &[u32], sends: bool) -> String {
    let mut names: Vec<String> = vec![];
    for index in list {
        let connection = &schedule.connections[*index as usize];
        let peer = if sends { connection.to } else { connection.from };
        let name = match connection.path {
            Path::Local => peer.to_string(),
            Path::Network { from_nic, to_nic, relay } => {
                let via = relay.map_or(String::new(), |relay| format!(" via {relay}"));
                format!("{peer} (nic {from_nic}→{to_nic}{via})")
            }
            Path::NvlsReduce if sends => format!("NVSwitch sum for {peer}"),
            Path::NvlsMulticast if !sends => format!("NVSwitch copy of {peer}"),
            Path::NvlsReduce => "NVSwitch sum".to_owned(),
            Path::NvlsMulticast => "NVSwitch copy".to_owned(),
            Path::InNetwork { group, nic } => format!("reduction {group} (nic {nic})"),
        };
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
