//! A schedule as text: what it computes, how its channels run through the nodes, what a rank does, and what is sent.

mod draw;
mod steps;
mod table;

use std::fmt::Write;

use crate::check::{Sent, Totals};
use crate::schedule::{CollectiveSchedule, Layout, Operation, Path};

/// Describes a schedule that is well formed ([`crate::check::validate`]): a header, each channel's rings or trees, the
/// steps of the first rank, totals. At most `limit` channels, and as many lines of each drawing and table, are shown.
pub fn describe(schedule: &CollectiveSchedule, limit: usize) -> String {
    let limit = limit.max(1);
    let mut text = header(schedule);
    let nodes = Nodes::of(schedule);
    let shown = schedule.channels.len().min(limit);
    let mut drawn: Vec<Vec<String>> = vec![];
    for channel in 0..shown {
        let _ = write!(text, "\n{}", channel_line(schedule, channel));
        let lines = draw::draw(schedule, &nodes, channel as u32);
        if let Some(same) = drawn.iter().position(|other| *other == lines && !lines.is_empty()) {
            let _ = writeln!(text, "  as channel {same}");
        } else {
            lines.iter().take(limit).for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
            if lines.len() > limit {
                let _ = writeln!(text, "  … and {} more lines", lines.len() - limit);
            }
        }
        drawn.push(lines);
    }
    if shown < schedule.channels.len() {
        let _ = writeln!(text, "\n… and {} more channels", schedule.channels.len() - shown);
    }
    text.push_str(&steps::steps(schedule, limit));
    text.push_str(&totals(schedule));
    text
}

fn header(schedule: &CollectiveSchedule) -> String {
    let CollectiveSchedule { operation, algorithm, protocol, ranks, bytes, .. } = schedule;
    let rooted = match operation {
        Operation::Broadcast | Operation::Reduce => {
            format!(", root {}", schedule.root)
        }
        _ => String::new(),
    };
    let channels = counted(schedule.channels.len() as u64, "channel");
    let (size, ranks) = (size(*bytes), counted(u64::from(*ranks), "rank"));
    format!("{operation:?} by {algorithm:?}, {protocol:?}: {size}, {ranks}{rooted}, {channels}\n")
}

fn channel_line(schedule: &CollectiveSchedule, channel: usize) -> String {
    let part = &schedule.channels[channel];
    let each = match part.layout {
        Layout::Contiguous => "",
        Layout::PerRank => " of each rank's block",
    };
    let slots = schedule.connections.iter().find(|c| c.channel as usize == channel).map(|c| c.slots);
    let loops = counted(part.loops.into(), "loop");
    let blocks = counted(part.blocks.into(), "block");
    let chunk = if part.loops > 1 && part.last_chunk != part.chunk {
        format!("{} (last loop {})", size(part.chunk), size(part.last_chunk))
    } else {
        size(part.last_chunk)
    };
    let slices = if part.slices > 1 { format!(" in up to {} slices", part.slices) } else { String::new() };
    let slots = slots.map_or(String::new(), |slots| format!(", {}", counted(slots.into(), "slot")));
    let (bytes, offset) = (size(part.bytes), part.offset);
    format!(
        "channel {channel}: {bytes}{each} from byte {offset}, {loops} of {blocks} of {chunk}{slices}{slots}\n"
    )
}

fn totals(schedule: &CollectiveSchedule) -> String {
    let totals = Totals::of(schedule);
    let sum = totals.sum();
    let (steps, messages) = (grouped(totals.steps), grouped(totals.messages));
    let mut text =
        format!("\ntotals: {steps} steps, {messages} messages; data sent, without protocol overhead:\n");
    let mut rows =
        vec![["path", "all ranks", "least of a rank", "most of a rank"].map(str::to_owned).to_vec()];
    type Field = fn(&Sent) -> u64;
    let fields: [(&str, Field); 4] = [
        ("in the node", |s| s.local),
        ("NVSwitch", |s| s.nvls),
        ("network", |s| s.network),
        ("in-network reduction", |s| s.in_network),
    ];
    for (name, field) in fields {
        let of_ranks = || totals.sent.iter().map(field);
        if let (Some(least), Some(most), true) = (of_ranks().min(), of_ranks().max(), field(&sum) > 0) {
            rows.push(vec![name.to_owned(), size(field(&sum)), size(least), size(most)]);
        }
    }
    if rows.len() == 1 {
        return format!("\ntotals: {steps} steps, {messages} messages; nothing is sent\n");
    }
    text.push_str(&table::table(&rows));
    text
}

/// Which ranks share a node, by the connections in nodes.
struct Nodes {
    /// The node of each rank, numbered by their first ranks.
    node: Vec<u32>,
}

impl Nodes {
    fn of(schedule: &CollectiveSchedule) -> Self {
        let mut first: Vec<u32> = (0..schedule.ranks).collect();
        let top = |first: &[u32], mut rank: u32| {
            while first[rank as usize] != rank {
                rank = first[rank as usize];
            }
            rank
        };
        for c in &schedule.connections {
            if matches!(c.path, Path::Local | Path::NvlsReduce | Path::NvlsMulticast) {
                let (a, b) = (top(&first, c.from), top(&first, c.to));
                first[a.max(b) as usize] = a.min(b);
                first[c.from as usize] = a.min(b);
                first[c.to as usize] = a.min(b);
            }
        }
        let mut node = vec![0; schedule.ranks as usize];
        let mut count = 0;
        for rank in 0..schedule.ranks {
            let head = top(&first, rank);
            node[rank as usize] = if head == rank {
                count += 1;
                count - 1
            } else {
                node[head as usize]
            };
        }
        Self { node }
    }

    fn of_rank(&self, rank: u32) -> u32 {
        self.node[rank as usize]
    }
}

/// A number of things.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the largest binary unit of which there is at least one.
fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, shift)) = units.into_iter().find(|(_, shift)| bytes >> shift > 0) else {
        return format!("{bytes} B");
    };
    if bytes & ((1 << shift) - 1) == 0 {
        return format!("{} {unit}", bytes >> shift);
    }
    format!("{:.2} {unit}", bytes as f64 / (1u64 << shift) as f64)
}
