//! Whether a schedule is well formed: what it names exists, and what it counts is in bounds.

use std::collections::HashMap;

use super::CheckError;
use crate::schedule::{Channel, CollectiveSchedule, Layout, Operation, Path, SCHEDULE_VERSION, Step, Thread};

/// Most ranks × blocks of a channel that are checked.
const MAX_CELLS: u64 = 1 << 26;
/// Most steps (with their blocks and slices) of a loop that are checked.
const MAX_WORK: u64 = 1 << 32;
/// Most bytes of a part, with what rounding adds.
const MAX_BYTES: u128 = 1 << 62;

/// Whether a schedule, for example one read from a file, is well formed. [`super::check`] does this first; an executor
/// needs it before anything else.
///
/// # Errors
/// The first thing that names what does not exist, or is out of bounds.
pub fn validate(schedule: &CollectiveSchedule) -> Result<(), CheckError> {
    if schedule.version != SCHEDULE_VERSION {
        return Err(CheckError::Version { found: schedule.version });
    }
    let whole = |reason: String| Err(CheckError::Schedule { reason });
    if schedule.ranks == 0 {
        return whole("the schedule has no ranks: give at least one".into());
    }
    if schedule.root >= schedule.ranks {
        return whole(format!("root {} is not a rank: there are {}", schedule.root, schedule.ranks));
    }
    if schedule.channels.is_empty() {
        return whole("the schedule has no channels: give at least one".into());
    }
    if schedule.connections.len().max(schedule.threads.len()) > u32::MAX as usize {
        return whole("more than 2^32 connections or threads".into());
    }
    for (i, channel) in schedule.channels.iter().enumerate() {
        validate_channel(schedule, channel)
            .map_err(|reason| CheckError::Channel { channel: i as u32, reason })?;
    }
    let mut groups = HashMap::new();
    for (i, _) in schedule.connections.iter().enumerate() {
        validate_connection(schedule, i, &mut groups)
            .map_err(|reason| CheckError::Connection { connection: i as u32, reason })?;
    }
    validate_threads(schedule)
}

fn validate_channel(schedule: &CollectiveSchedule, channel: &Channel) -> Result<(), String> {
    let Channel { blocks, chunk, last_chunk, loops, slices, .. } = *channel;
    for (what, value) in [
        ("blocks", u64::from(blocks)),
        ("chunk", chunk),
        ("last_chunk", last_chunk),
        ("loops", loops.into()),
        ("slices", slices.into()),
    ] {
        if value == 0 {
            return Err(format!("{what} is 0: give at least 1"));
        }
    }
    if last_chunk > chunk {
        return Err(format!("last_chunk ({last_chunk} B) is more than chunk ({chunk} B)"));
    }
    let together = match channel.layout {
        Layout::Contiguous => u128::from(blocks),
        Layout::PerRank => 1,
    };
    let before = u128::from(loops - 1) * together * u128::from(chunk);
    let last = together * u128::from(last_chunk);
    let bytes = u128::from(channel.bytes);
    if u128::from(channel.offset) + before + last.max(bytes) + u128::from(channel.min_slice) > MAX_BYTES {
        return Err("its bytes are beyond 2^62".into());
    }
    if bytes < before || bytes > before + last {
        return Err(format!(
            "{loops} loops hold {before} B in all but the last and up to {last} B in the last: its part has {bytes} B"
        ));
    }
    let ranks = schedule.ranks;
    let (wanted, layout) = match schedule.operation {
        Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => (ranks, Layout::PerRank),
        Operation::SendRecv => (1, Layout::Contiguous),
        Operation::AllReduce | Operation::Broadcast | Operation::Reduce => (blocks, Layout::Contiguous),
    };
    if blocks != wanted || (channel.layout != layout && blocks > 1) {
        let operation = schedule.operation;
        return Err(format!(
            "{blocks} blocks, {:?}: {operation:?} needs {wanted}, {layout:?}",
            channel.layout
        ));
    }
    if u64::from(ranks) * u64::from(blocks) > MAX_CELLS {
        return Err(format!("{ranks} ranks with {blocks} blocks each are more than 2^26 to check"));
    }
    validate_order(channel)
}

fn validate_order(channel: &Channel) -> Result<(), String> {
    if channel.order.is_empty() {
        return Ok(());
    }
    if channel.layout != Layout::PerRank {
        return Err("order is given: only blocks laid out per rank may be renumbered".into());
    }
    let mut seen = vec![false; channel.blocks as usize];
    let first =
        |block: &u32| seen.get_mut(*block as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    if channel.order.len() == channel.blocks as usize && channel.order.iter().all(first) {
        return Ok(());
    }
    Err(format!("order does not name each of {} blocks once", channel.blocks))
}

fn validate_connection(
    schedule: &CollectiveSchedule,
    index: usize,
    groups: &mut HashMap<u32, u32>,
) -> Result<(), String> {
    let connection = &schedule.connections[index];
    if connection.channel as usize >= schedule.channels.len() {
        return Err(format!("channel {}: there are {}", connection.channel, schedule.channels.len()));
    }
    let rank = |what: &str, rank: u32| {
        if rank < schedule.ranks {
            Ok(())
        } else {
            Err(format!("{what} rank {rank}: there are {}", schedule.ranks))
        }
    };
    rank("from", connection.from)?;
    rank("to", connection.to)?;
    if connection.slots == 0 {
        return Err("slots is 0: give at least 1".into());
    }
    let to_itself = connection.from == connection.to;
    match connection.path {
        Path::Local if to_itself => Err(format!("joins rank {} to itself", connection.from)),
        Path::Network { .. } if to_itself => Err(format!("joins rank {} to itself", connection.from)),
        Path::Network { relay: Some(relay), .. } => rank("relay", relay),
        Path::InNetwork { .. } if !to_itself => {
            Err("a reduction in the network starts and ends at the same rank".into())
        }
        Path::InNetwork { group, .. } => match groups.insert(group, connection.channel) {
            Some(other) if other != connection.channel => {
                Err(format!("group {group} is of channel {other} and of {}", connection.channel))
            }
            _ => Ok(()),
        },
        Path::Local | Path::Network { .. } | Path::NvlsReduce | Path::NvlsMulticast => Ok(()),
    }
}

/// Ends of a connection: the thread that receives from it and the thread that sends on it.
#[derive(Clone, Default)]
struct Ends {
    receiver: Option<u32>,
    sender: Option<u32>,
}

fn validate_threads(schedule: &CollectiveSchedule) -> Result<(), CheckError> {
    let mut ends = vec![Ends::default(); schedule.connections.len()];
    let mut work = 0u64;
    for (t, thread) in schedule.threads.iter().enumerate() {
        let at =
            |step: usize, reason: String| CheckError::Step { thread: t as u32, step: step as u32, reason };
        let Some(part) = schedule.channels.get(thread.channel as usize) else {
            let reason = format!("channel {}: there are {}", thread.channel, schedule.channels.len());
            return Err(at(0, reason));
        };
        if thread.rank >= schedule.ranks {
            return Err(at(0, format!("rank {}: there are {}", thread.rank, schedule.ranks)));
        }
        for (s, step) in thread.steps.iter().enumerate() {
            validate_step(part, step).map_err(|reason| at(s, reason))?;
            validate_ends(schedule, thread, t as u32, step, &mut ends).map_err(|reason| at(s, reason))?;
            let slices = part.slice_count(u64::from(step.span).saturating_mul(part.chunk));
            let each = u64::from(step.span).saturating_add(slices);
            work = work.saturating_add(u64::from(step.repeat).saturating_mul(each));
        }
    }
    if work > MAX_WORK {
        return Err(CheckError::Schedule {
            reason: format!("{work} steps a loop are more than 2^32 to check"),
        });
    }
    Ok(())
}

fn validate_step(part: &Channel, step: &Step) -> Result<(), String> {
    let blocks = part.blocks;
    if step.repeat == 0 {
        return Err("repeat is 0: give at least 1".into());
    }
    if step.block >= blocks {
        return Err(format!("block {}: a loop has {blocks}", step.block));
    }
    if step.span == 0 || step.span_stride == 0 {
        return Err("span or span_stride is 0: give at least 1".into());
    }
    if step.span > blocks / common_divisor(step.span_stride, blocks) {
        return Err(format!("a span of {} blocks {} apart meets a block twice", step.span, step.span_stride));
    }
    if step.span_stride != 1 && part.layout != Layout::PerRank {
        return Err("span_stride is given: only blocks laid out per rank may lie apart in a message".into());
    }
    if step.receive.is_empty() && step.source.is_none() {
        return Err("neither receives nor has a source: there is nothing to keep or send".into());
    }
    Ok(())
}

const fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn validate_ends(
    schedule: &CollectiveSchedule,
    thread: &Thread,
    index: u32,
    step: &Step,
    ends: &mut [Ends],
) -> Result<(), String> {
    for (list, sends) in [(&step.receive, false), (&step.send, true)] {
        for (i, &c) in list.iter().enumerate() {
            let verb = if sends { "sends on" } else { "receives from" };
            let Some(connection) = schedule.connections.get(c as usize) else {
                let count = schedule.connections.len();
                return Err(format!("{verb} connection {c}: there are {count}"));
            };
            if list[..i].contains(&c) {
                return Err(format!("{verb} connection {c} twice"));
            }
            let rank = if sends { connection.from } else { connection.to };
            if connection.channel != thread.channel || rank != thread.rank {
                let (channel, other) = (connection.channel, thread.rank);
                return Err(format!(
                    "rank {other} {verb} connection {c}, which is rank {rank}'s on channel {channel}"
                ));
            }
            let end = &mut ends[c as usize];
            let end = if sends { &mut end.sender } else { &mut end.receiver };
            if let Some(other) = end.replace(index).filter(|other| *other != index) {
                return Err(format!("{verb} connection {c}, and so does thread {other}: only one may"));
            }
        }
    }
    Ok(())
}
