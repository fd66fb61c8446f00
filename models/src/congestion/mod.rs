//! Congestion control: one file an algorithm, behind one narrow interface.
//!
//! An algorithm never schedules. It is told what happened to one queue pair and answers what the queue pair may
//! do: a rate, a window, and when its rate will next change by itself.

mod dcqcn;
mod hpcc;
mod swift;
mod timely;

pub use dcqcn::{Dcqcn, DcqcnParams};
pub use hpcc::{Hpcc, HpccParams};
pub use swift::{Swift, SwiftParams};
pub use timely::{Timely, TimelyParams};

use sim_core::Time;

use crate::config::CongestionConfig;
use crate::link::Telemetry;

/// What a queue pair's path is like when nothing else uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The highest rate the queue pair may use, in bit/s.
    pub line_rate: u64,
    /// Round-trip time of a full packet and its ACK on the idle path, in picoseconds.
    pub base_rtt: u64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
}

impl Path {
    /// Bandwidth–delay product in bytes, at least one packet.
    pub fn bdp(&self) -> u64 {
        let bits = u128::from(self.line_rate) * u128::from(self.base_rtt) / 1_000_000_000_000;
        ((bits / 8) as u64).max(u64::from(self.mtu))
    }
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Now.
    pub now: Time,
    /// Round-trip time of the acknowledged packet, in picoseconds.
    pub rtt: u64,
    /// The next PSN the receiver expects.
    pub acked: u32,
    /// The next PSN the sender will send.
    pub next: u32,
    /// Packets newly acknowledged.
    pub newly_acked: u32,
    /// Telemetry of the acknowledged packet.
    pub telemetry: Option<&'a Telemetry>,
}

/// What a queue pair may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Rate in bit/s on the wire.
    pub rate: u64,
    /// Payload bytes in flight; `u64::MAX` is no limit.
    pub window: u64,
}

/// The congestion control of all queue pairs of a run, one state each.
#[derive(Debug)]
pub enum Congestion {
    /// Line rate always.
    None,
    /// DCQCN.
    Dcqcn(DcqcnParams, Vec<Dcqcn>),
    /// TIMELY.
    Timely(TimelyParams, Vec<Timely>),
    /// Swift.
    Swift(SwiftParams, Vec<Swift>),
    /// HPCC.
    Hpcc(HpccParams, Vec<Hpcc>),
}

impl Congestion {
    /// States for queue pairs with these paths.
    pub fn new(config: &CongestionConfig, paths: &[Path]) -> Self {
        match config {
            CongestionConfig::None => Self::None,
            CongestionConfig::Dcqcn(c) => {
                Self::Dcqcn(DcqcnParams::resolve(c), paths.iter().map(Dcqcn::new).collect())
            }
            CongestionConfig::Timely(c) => {
                Self::Timely(TimelyParams::new(c), paths.iter().map(|p| Timely::new(c, p)).collect())
            }
            CongestionConfig::Swift(c) => {
                Self::Swift(SwiftParams::new(c), paths.iter().map(|p| Swift::new(c, p)).collect())
            }
            CongestionConfig::Hpcc(c) => {
                Self::Hpcc(HpccParams::new(c), paths.iter().map(|p| Hpcc::new(c, p)).collect())
            }
        }
    }

    /// Whether packets must collect telemetry.
    pub fn wants_telemetry(&self) -> bool {
        matches!(self, Self::Hpcc(..))
    }

    /// Whether acknowledgements matter to it.
    #[inline]
    pub fn listens_to_acks(&self) -> bool {
        matches!(self, Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..))
    }

    /// An acknowledgement of queue pair `qp` arrived.
    pub fn on_ack(&mut self, qp: u32, feedback: &Feedback) -> Option<Allowance> {
        let qp = qp as usize;
        match self {
            Self::None | Self::Dcqcn(..) => None,
            Self::Timely(params, states) => Some(states[qp].on_ack(params, feedback)),
            Self::Swift(params, states) => Some(states[qp].on_ack(params, feedback)),
            Self::Hpcc(params, states) => Some(states[qp].on_ack(params, feedback)),
        }
    }

    /// A CNP for queue pair `qp` arrived.
    pub fn on_cnp(&mut self, qp: u32, now: Time) -> Option<Allowance> {
        match self {
            Self::Dcqcn(params, states) => Some(states[qp as usize].on_cnp(params, now)),
            Self::None | Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..) => None,
        }
    }

    /// A packet of `bytes` on the wire was sent.
    #[inline]
    pub fn on_sent(&mut self, qp: u32, now: Time, bytes: u32) -> Option<Allowance> {
        match self {
            Self::Dcqcn(params, states) => states[qp as usize].on_sent(params, now, bytes),
            Self::None | Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..) => None,
        }
    }

    /// What queue pair `qp` may do at the start.
    pub fn initial(&self, qp: u32, path: &Path) -> Allowance {
        let unlimited = Allowance { rate: path.line_rate, window: u64::MAX };
        match self {
            Self::None | Self::Dcqcn(..) | Self::Timely(..) => unlimited,
            Self::Swift(_, states) => states[qp as usize].allowance(),
            Self::Hpcc(_, states) => states[qp as usize].allowance(),
        }
    }

    /// Brings queue pair `qp` up to `now` and says what it may do, if its rate changes by itself.
    #[inline]
    pub fn advance(&mut self, qp: u32, now: Time) -> Option<Allowance> {
        match self {
            Self::Dcqcn(params, states) => states[qp as usize].advance(params, now),
            Self::None | Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..) => None,
        }
    }

    /// When the rate of queue pair `qp` will next change by itself.
    pub fn next_change(&self, qp: u32) -> Time {
        match self {
            Self::Dcqcn(_, states) => states[qp as usize].next_change(),
            Self::None | Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..) => Time::NEVER,
        }
    }

    /// Rate cuts of all queue pairs.
    pub fn cuts(&self) -> u64 {
        match self {
            Self::Dcqcn(_, states) => states.iter().map(|s| u64::from(s.cuts())).sum(),
            Self::None | Self::Timely(..) | Self::Swift(..) | Self::Hpcc(..) => 0,
        }
    }
}
