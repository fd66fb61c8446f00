//! The proof of a schedule: it is executed symbolically, with messages, slots and slices, and every rank must end with
//! every contribution exactly once.
//!
//! One loop of each size is executed, from empty connections to empty connections. That proves all loops: a thread's
//! program does not depend on what it receives, each connection has one sending and one receiving thread, and so neither
//! results nor deadlocks depend on who runs first; loop after loop is one of the possible orders.

mod error;
mod execute;
mod prove;
mod sum;
mod tiling;
mod totals;
mod validate;

pub use error::{Blocked, CheckError, Wait};
pub use totals::{Sent, Totals};
pub use validate::validate;

use crate::schedule::{CollectiveSchedule, Operation};

/// That a schedule does what its operation says, and what it moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What is done and sent, over all loops.
    pub totals: Totals,
}

/// Proves a schedule.
///
/// # Errors
/// A schedule that is not well formed ([`validate`]), deadlocks, sends what nobody receives or in other sizes, leaves a
/// contribution out or adds it twice, or whose channels leave out or repeat a part of the data.
pub fn check(schedule: &CollectiveSchedule) -> Result<Proof, CheckError> {
    validate(schedule)?;
    let delivered = execute::execute(schedule)?;
    if schedule.operation == Operation::AllToAll {
        tiling::of_pairs(schedule, &delivered)?;
    } else {
        tiling::of_all(schedule)?;
    }
    Ok(Proof { totals: Totals::of(schedule) })
}

/// Bytes that the parts of a schedule's channels cover: the data, or a rank's block of it. Of sizes that are not
/// multiples of the ranks the rest is left out, as nccl-tests does.
pub(crate) fn extent(schedule: &CollectiveSchedule) -> u64 {
    match schedule.operation {
        Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => {
            schedule.bytes / u64::from(schedule.ranks.max(1))
        }
        Operation::AllReduce | Operation::Broadcast | Operation::Reduce | Operation::SendRecv => {
            schedule.bytes
        }
    }
}
