//! Who watches a run from outside.

use sim_core::Time;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Flows done.
    pub completed: u64,
    /// Flows in all.
    pub flows: u64,
    /// Part of the run that is done, 0 to 1: of the payload, or of `run.until` where that is more.
    pub fraction: f64,
}

/// What a run is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Go on.
    Go,
    /// Tell [`Observer::progress`] how far it is, and go on.
    Report,
    /// Stop, and keep what there is.
    Stop,
}

/// Watches a run.
pub trait Observer {
    /// Asked at each step of the grid: must be cheap.
    fn poll(&mut self) -> Poll;
    /// How far the run is, after [`Poll::Report`].
    fn progress(&mut self, progress: &Progress);
}

/// Does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn poll(&mut self) -> Poll {
        Poll::Go
    }

    fn progress(&mut self, _: &Progress) {}
}
