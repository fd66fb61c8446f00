//! Records of what happens in a run, for traces. Recording compiles away when it is off.

use sim_core::Time;

use crate::packet::Packet;
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

/// What a [`FrameRecord`] holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frame {
    /// A packet.
    Packet(Packet),
    /// A PFC frame.
    Pfc {
        /// Class-enable vector: the classes it speaks of.
        classes: u8,
        /// The classes of `classes` it pauses; the others are resumed.
        pause: u8,
    },
}

/// A frame at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRecord {
    /// When it starts onto the wire; of one that comes in, when it has arrived.
    pub at: Time,
    /// The port.
    pub port: PortIndex,
    /// Whether the port sends it.
    pub sent: bool,
    /// The frame.
    pub frame: Frame,
}

/// Takes records. Every method has an empty default.
pub trait Recorder {
    /// Whether frames are recorded. What only that needs is compiled away where they are not.
    const FRAMES: bool = false;

    /// A frame was sent or has arrived; called only with [`Recorder::FRAMES`].
    #[inline]
    fn frame(&mut self, record: FrameRecord) {
        let _ = record;
    }

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

/// Keeps PFC records, and the frames of some ports up to a limit, until they are taken.
#[derive(Clone, Debug, Default)]
pub struct FrameTrace {
    /// PFC records of all ports, in order of time.
    pub pfc: Vec<PfcRecord>,
    /// Frames, in order of time.
    pub frames: Vec<FrameRecord>,
    /// Frames that exceeded the limit.
    pub skipped: u64,
    /// Whether a port's frames are recorded, by its index.
    chosen: Vec<bool>,
    /// Frames that may still be recorded.
    left: u64,
}

impl FrameTrace {
    /// Records the frames of `ports`, which are fewer than `all`, up to `most` of them.
    pub fn new(ports: &[PortIndex], all: usize, most: u64) -> Self {
        let mut chosen = vec![false; all];
        ports.iter().for_each(|&port| chosen[port as usize] = true);
        Self { chosen, left: most, ..Self::default() }
    }
}

impl Recorder for FrameTrace {
    const FRAMES: bool = true;

    fn pfc(&mut self, record: PfcRecord) {
        self.pfc.push(record);
    }

    fn frame(&mut self, record: FrameRecord) {
        if !self.chosen[record.port as usize] {
            return;
        }
        if self.left == 0 {
            self.skipped += 1;
            return;
        }
        self.left -= 1;
        self.frames.push(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_chosen_ports_up_to_a_limit() {
        let mut trace = FrameTrace::new(&[1], 3, 2);
        let frame = Frame::Pfc { classes: 8, pause: 8 };
        for port in [0, 1, 2, 1, 1] {
            trace.frame(FrameRecord { at: Time::ZERO, port, sent: true, frame });
        }
        assert_eq!((trace.frames.len(), trace.skipped), (2, 1));
    }
}
