//! Whether the channels' parts lie in the data without gap or overlap. Within a part, blocks and loops follow from the
//! channel's numbers, and [`super::validate`] has seen that they fill it.

use std::collections::HashSet;

use super::{CheckError, extent};
use crate::schedule::CollectiveSchedule;

/// All channels together carry all data.
pub(super) fn of_all(schedule: &CollectiveSchedule) -> Result<(), CheckError> {
    let channels: Vec<u32> = (0..schedule.channels.len() as u32).collect();
    tile(schedule, &channels, || "the data".to_owned())
}

/// The channels that bring a rank another's block together carry all of the block. `delivered`: `[receiver][sender]`.
pub(super) fn of_pairs(schedule: &CollectiveSchedule, delivered: &[Vec<u32>]) -> Result<(), CheckError> {
    let mut proved = HashSet::new();
    for (i, channels) in delivered.iter().enumerate() {
        if !proved.contains(channels) {
            let (to, from) = (i / schedule.ranks as usize, i % schedule.ranks as usize);
            tile(schedule, channels, || format!("what rank {from} sends to rank {to}"))?;
            proved.insert(channels);
        }
    }
    Ok(())
}

fn tile(
    schedule: &CollectiveSchedule,
    channels: &[u32],
    what: impl Fn() -> String,
) -> Result<(), CheckError> {
    let parts = channels.iter().map(|c| &schedule.channels[*c as usize]);
    let mut parts: Vec<(u64, u64)> = parts.map(|c| (c.offset, c.bytes)).filter(|part| part.1 > 0).collect();
    parts.sort_unstable();
    let mut at = 0;
    for (offset, bytes) in parts {
        if offset != at {
            return Err(CheckError::Tiling { what: what(), at: at.min(offset), twice: offset < at });
        }
        at += bytes;
    }
    let end = extent(schedule);
    if at < end {
        return Err(CheckError::Tiling { what: what(), at, twice: false });
    }
    if at > end {
        let reason = format!("{} is {end} B: channels move {at} B", what());
        return Err(CheckError::Schedule { reason });
    }
    Ok(())
}
