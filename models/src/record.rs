//! Records of what happens in a run, for traces. Recording compiles away when it is off.

use sim_core::Time;

use crate::topology::PortIndex;

/// What a PFC record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcAction {
    /// A class was paused.
    Pause,
    /// A class was resumed.
    Resume,
    /// A standing pause was told again before it expired.
    Refresh,
    /// The pause of a class ran out of quanta at the paused port.
    Expired,
    /// The watchdog declared a storm on the paused port.
    Storm,
    /// The watchdog restored the port.
    Restore,
}

/// One change of one class at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcRecord {
    /// When the frame starts onto the wire; for what happens at the paused port, when it happens.
    pub at: Time,
    /// The port that sends the frame; for `Expired`, `Storm` and `Restore` the paused port.
    pub port: PortIndex,
    /// The class.
    pub class: u8,
    /// What happened.
    pub action: PfcAction,
}

/// Takes records. Every method has an empty default.
pub trait Recorder {
    /// A PFC state changed.
    #[inline]
    fn pfc(&mut self, record: PfcRecord) {
        let _ = record;
    }
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;

impl Recorder for NoRecord {}

/// Keeps records until they are taken.
#[derive(Clone, Debug, Default)]
pub struct PfcTrace {
    /// The records, in order of time.
    pub records: Vec<PfcRecord>,
}

impl Recorder for PfcTrace {
    fn pfc(&mut self, record: PfcRecord) {
        self.records.push(record);
    }
}
