//! The runner: from a scenario to a finished run, its summary and its files. It never prints and reads no clock;
//! whoever starts a run passes an [`Observer`].
//!
//! [`prepare`] builds and checks, [`execute`] runs. Completion, deadlocks, stalls and samples are looked at on fixed
//! grids of simulated time, so that a result depends neither on the machine nor on what is written.

mod drive;
mod facts;
mod files;
mod ideal;
mod observer;
mod page;
mod prepare;
mod subject;
mod summary;
#[cfg(test)]
mod test_runs;
mod verdict;
mod watch;

pub use drive::{End, Outcome, execute};
pub use facts::{ClassFacts, Facts, PortFacts};
pub use files::{FILES, WriteError, Written, write_file, write_json};
pub use ideal::Ideal;
pub use observer::{Observer, Poll, Progress, Silent};
pub use page::{Page, paragraph};
pub use prepare::{Prepared, RunError, prepare};
pub use subject::subject;
pub use summary::{
    BlockedHop, CnpSummary, DeadlockSummary, DropSummary, EcnSummary, FlowSummary, HeadroomSummary,
    Performance, PfcSummary, QueueSummary, RangeSummary, Summary, TimeSummary, Verdict,
};
pub use watch::{TreeWatch, Watch};
