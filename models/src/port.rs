//! Egress ports: what is being sent, what waits, and what the peer has paused.

use sim_core::pool::List;

use crate::config::{CLASSES, Scheduler};
use crate::topology::PortIndex;

/// The hot state of an egress port and of the link it sends into: one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the frame being sent ends, in picoseconds.
    pub busy_until: u64,
    /// Propagation delay of the link, plus the pipeline latency of the switch at its other end.
    pub delay: u64,
    /// Frame bytes sent in all.
    pub tx_bytes: u64,
    /// Packets in flight on the link, in order of arrival.
    pub flying: List,
    /// Packets sent, PFC frames excepted, modulo 2³²; wraps are counted elsewhere.
    pub tx_packets: u32,
    /// Picoseconds a byte takes, or 0 when that is not a whole number.
    pub ps_per_byte: u32,
    /// The port at the other end.
    pub peer: PortIndex,
    /// Index of the host or switch at the other end among its kind.
    pub node: u32,
    /// Index of the host or switch this port belongs to among its kind.
    pub owner: u32,
    /// Local index of the port at the other end, at its node.
    pub local: u16,
    /// Frame bytes after which a cut-through switch at the other end may forward; `u16::MAX`: all.
    pub cut_through: u16,
    /// Classes with packets queued, as bits.
    pub backlog: u8,
    /// Classes the peer has paused, as bits.
    pub paused: u8,
    /// Classes whose pause state must be told to the peer in a PFC frame, as bits.
    pub tell: u8,
    /// Classes whose packets are lost instead of queued, as bits: the watchdog's, or all when the link is down.
    pub closed: u8,
    /// Whether a "ready to send" event is pending.
    pub ready_pending: bool,
    /// Whether the link is up.
    pub up: bool,
    /// Whether a switch is at the other end.
    pub to_switch: bool,
    /// Whether packets may be lost on the link: it has errors, or failed with packets in flight.
    pub lossy_link: bool,
}

const _: () = assert!(size_of::<Port>() == 64);

impl Port {
    /// Time of `wire` bytes (preamble and gap included) at the port's rate, in picoseconds, rounded up. `rate` is
    /// the port's rate in bit/s.
    #[inline]
    pub fn wire_time(&self, wire: u64, rate: impl FnOnce() -> u64) -> u64 {
        if self.ps_per_byte != 0 {
            wire * u64::from(self.ps_per_byte)
        } else {
            (wire * 8_000_000_000_000).div_ceil(rate())
        }
    }
}

/// The queue of one (egress port, class).
#[derive(Clone, Debug, Default)]
pub struct EgressQueue {
    /// What waits.
    pub list: List,
    /// Bytes that wait, as charged.
    pub bytes: u32,
    /// The most bytes that ever waited, the arriving packet included.
    pub peak: u32,
    /// Packets marked on leaving or joining.
    pub marked: u64,
}

/// Strict priority and deficit weighted round robin over the eligible classes of a port.
/// Source: Shreedhar & Varghese, SIGCOMM 1995.
#[derive(Clone, Debug)]
pub struct Dwrr {
    deficit: [i32; CLASSES],
    turn: u8,
}

/// Bytes a weight of 1 earns in one round: at least a full packet, so that every visit sends something.
const QUANTUM: i32 = 9300;

impl Default for Dwrr {
    fn default() -> Self {
        Self { deficit: [0; CLASSES], turn: 0 }
    }
}

impl Dwrr {
    /// Picks one of `eligible` (at least two bits, none strict). `head` gives the size of a class's first packet.
    pub fn pick(&mut self, eligible: u8, weights: &[u8; CLASSES], head: impl Fn(u8) -> i32) -> u8 {
        // A class that has nothing to send keeps no credit.
        for class in 0..CLASSES as u8 {
            if eligible & (1 << class) == 0 {
                self.deficit[usize::from(class)] = 0;
            }
        }
        loop {
            let class = self.turn;
            let slot = usize::from(class);
            if eligible & (1 << class) != 0 {
                let size = head(class);
                if self.deficit[slot] >= size {
                    self.deficit[slot] -= size;
                    return class;
                }
            }
            self.turn = (class + 1) % CLASSES as u8;
            let next = usize::from(self.turn);
            if eligible & (1 << self.turn) != 0 {
                self.deficit[next] += QUANTUM * i32::from(weights[next]);
            }
        }
    }
}

/// The class to send from among `eligible` bits, which must not be empty.
#[inline]
pub fn pick_class(
    eligible: u8,
    strict: u8,
    dwrr: &mut Dwrr,
    weights: &[u8; CLASSES],
    head: impl Fn(u8) -> i32,
) -> u8 {
    debug_assert!(eligible != 0);
    let first = eligible & strict;
    if first != 0 {
        return 7 - first.leading_zeros() as u8;
    }
    if eligible.is_power_of_two() {
        return eligible.trailing_zeros() as u8;
    }
    dwrr.pick(eligible, weights, head)
}

/// Strict classes as bits, and DWRR weights, of a switch's scheduler configuration.
pub fn compile_schedulers(of: impl Fn(u8) -> Scheduler) -> (u8, [u8; CLASSES]) {
    let (mut strict, mut weights) = (0, [1; CLASSES]);
    for class in 0..CLASSES as u8 {
        match of(class) {
            Scheduler::Strict => strict |= 1 << class,
            Scheduler::Dwrr(weight) => weights[usize::from(class)] = weight.max(1),
        }
    }
    (strict, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dwrr_shares_by_weight_in_bytes() {
        let weights = [1, 1, 1, 3, 1, 1, 1, 1];
        let mut dwrr = Dwrr::default();
        let mut sent = [0i64; CLASSES];
        let size = |class: u8| if class == 3 { 4158 } else { 1086 };
        for _ in 0..40_000 {
            let class = pick_class(0b0000_1001, 0, &mut dwrr, &weights, size);
            sent[usize::from(class)] += i64::from(size(class));
        }
        let ratio = sent[3] as f64 / sent[0] as f64;
        assert!((ratio - 3.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn strict_goes_first_and_the_higher_class_before_the_lower() {
        let mut dwrr = Dwrr::default();
        let pick =
            |eligible, dwrr: &mut Dwrr| pick_class(eligible, 0b1100_0000, dwrr, &[1; CLASSES], |_| 1000);
        assert_eq!(pick(0b1100_1000, &mut dwrr), 7);
        assert_eq!(pick(0b0100_1000, &mut dwrr), 6);
        assert_eq!(pick(0b0000_1000, &mut dwrr), 3);
    }
}
