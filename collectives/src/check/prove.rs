//! What every rank must have at the end of a loop.

use super::CheckError;
use super::execute::Cell;
use super::sum::Sum;
use crate::schedule::{CollectiveSchedule, Operation};

/// That every rank ends a loop of `channel` with what the operation says. `output`: blocks, `[rank][block]`.
pub(super) fn prove(schedule: &CollectiveSchedule, channel: u32, output: &[Cell]) -> Result<(), CheckError> {
    let part = &schedule.channels[channel as usize];
    let (ranks, root) = (schedule.ranks, schedule.root);
    let mut cells = output.iter().map(|cell| cell.as_ref().map(|(sum, _)| sum));
    for rank in 0..ranks {
        for block in 0..part.blocks {
            let block = part.data_block(block);
            let end = End { schedule, channel, rank, block, sum: cells.next().flatten() };
            let previous = (rank + ranks - 1) % ranks;
            match schedule.operation {
                Operation::AllReduce => end.is_all()?,
                Operation::ReduceScatter if block == rank => end.is_all()?,
                Operation::Reduce if rank == root => end.is_all()?,
                Operation::AllGather => end.is_one(block, block)?,
                Operation::Broadcast => end.is_one(root, block)?,
                Operation::SendRecv => end.is_one(previous, 0)?,
                Operation::AllToAll if end.sum.is_some() => end.is_one(block, rank)?,
                // Blocks that are somebody else's, or another channel's.
                Operation::ReduceScatter | Operation::Reduce | Operation::AllToAll => {}
            }
        }
    }
    Ok(())
}

/// What a rank has at the end in an output block.
struct End<'a> {
    schedule: &'a CollectiveSchedule,
    channel: u32,
    rank: u32,
    block: u32,
    sum: Option<&'a Sum>,
}

impl End<'_> {
    /// It must be the sum over all ranks of their block of that number.
    fn is_all(&self) -> Result<(), CheckError> {
        let ranks = self.schedule.ranks;
        if self.sum.is_some_and(|sum| sum.is_all(ranks, self.block)) {
            return Ok(());
        }
        if let Some(foreign) = self.sum.and_then(|sum| sum.iter().find(|(_, b)| *b != self.block)) {
            return Err(self.foreign(foreign));
        }
        let has = |r: &u32| self.sum.is_some_and(|sum| sum.iter().any(|(rank, _)| rank == *r));
        Err(self.missing((0..ranks).find(|r| !has(r)).unwrap_or(0)))
    }

    /// It must be one contribution.
    fn is_one(&self, contributor: u32, input: u32) -> Result<(), CheckError> {
        if self.sum.is_some_and(|sum| sum.is_one(contributor, input)) {
            return Ok(());
        }
        match self.sum.and_then(|sum| sum.iter().find(|c| *c != (contributor, input))) {
            Some(foreign) => Err(self.foreign(foreign)),
            None => Err(self.missing(contributor)),
        }
    }

    fn missing(&self, contributor: u32) -> CheckError {
        let Self { channel, rank, block, .. } = *self;
        CheckError::Missing { channel, rank, block, contributor }
    }

    fn foreign(&self, (contributor, input): (u32, u32)) -> CheckError {
        let Self { channel, rank, block, .. } = *self;
        let operation = self.schedule.operation;
        CheckError::Foreign { channel, rank, block, contributor, input, operation }
    }
}
