//! Counters of a run: monotone, plain integers.

use std::collections::BTreeMap;

use crate::config::CLASSES;
use crate::topology::PortIndex;

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// A lossless packet beyond XOFF found no headroom.
    Headroom,
    /// A lossy packet was beyond the ingress limit of its class, or the shared memory was full.
    Buffer,
    /// The egress queue was at its limit.
    Egress,
    /// The packet had crossed as many links as it may.
    Ttl,
    /// No route to the destination.
    NoRoute,
    /// The link was down.
    LinkDown,
    /// A bit error on the link.
    LinkError,
    /// An injected fault.
    Fault,
    /// The PFC watchdog emptied the queue.
    Watchdog,
    /// The receiving NIC had no room or had stopped.
    Nic,
}

/// All reasons, in the order of their counters.
pub const DROP_REASONS: [DropReason; 10] = [
    DropReason::Headroom,
    DropReason::Buffer,
    DropReason::Egress,
    DropReason::Ttl,
    DropReason::NoRoute,
    DropReason::LinkDown,
    DropReason::LinkError,
    DropReason::Fault,
    DropReason::Watchdog,
    DropReason::Nic,
];

impl DropReason {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Headroom => "headroom",
            Self::Buffer => "buffer",
            Self::Egress => "egress",
            Self::Ttl => "ttl",
            Self::NoRoute => "no_route",
            Self::LinkDown => "link_down",
            Self::LinkError => "link_error",
            Self::Fault => "fault",
            Self::Watchdog => "watchdog",
            Self::Nic => "nic",
        }
    }
}

/// Counters of the whole fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events handled.
    pub events: u64,
    /// Packets, data and control but not PFC frames, that crossed a link.
    pub packet_hops: u64,
    /// Packets that entered the fabric.
    pub created: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets lost, by reason.
    pub drops: [u64; DROP_REASONS.len()],
    /// Data packets that entered the fabric, retransmissions included.
    pub data_sent: u64,
    /// Data packets that reached their host.
    pub data_delivered: u64,
    /// Data packets that reached their host marked.
    pub data_delivered_marked: u64,
    /// Data packets sent that had been sent before.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// NAKs (or repeated READ requests) sent.
    pub naks: u64,
    /// CNPs sent (or marks echoed in ACKs).
    pub cnp_sent: u64,
    /// CNPs received (or echoed marks).
    pub cnp_received: u64,
    /// PFC frames sent that pause a class, refreshes included.
    pub pause_frames: u64,
    /// PFC frames sent that resume a class.
    pub resume_frames: u64,
    /// Packets marked by switches.
    pub marked: u64,
    /// Storms the PFC watchdog declared.
    pub watchdog_storms: u64,
    /// Ports it restored.
    pub watchdog_restores: u64,
}

impl Counters {
    /// Packets lost in all.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }
}

/// PFC state and counters of one port, both directions.
#[derive(Clone, Debug)]
pub struct PauseState {
    /// When the pause of each class ends by itself, in picoseconds; `u64::MAX` never.
    pub until: [u64; CLASSES],
    /// When each class was paused, while it is.
    pub since: [u64; CLASSES],
    /// Time each class was paused in all, in picoseconds, ended pauses only.
    pub total: [u64; CLASSES],
    /// PAUSE frames received.
    pub rx_pause: [u32; CLASSES],
    /// Pauses ended by the peer (ON2OFF transitions).
    pub rx_resume: [u32; CLASSES],
    /// PAUSE frames sent.
    pub tx_pause: [u32; CLASSES],
    /// Resumes sent.
    pub tx_resume: [u32; CLASSES],
    /// Propagation delay and reaction time of PFC frames from here to the peer, in picoseconds.
    pub frame_delay: u64,
    /// How long a PAUSE received here lasts, in picoseconds; `u64::MAX` for ever.
    pub lasts: u64,
    /// When standing pauses are next told again.
    pub refresh_at: u64,
    /// Times the port's packet counter wrapped.
    pub tx_packet_wraps: u64,
    /// Whether a refresh event is pending.
    pub refresh_pending: bool,
    /// Whether an expiry event is pending.
    pub expire_pending: bool,
    /// Classes this node wants the peer to pause, as bits.
    pub xoff: u8,
    /// Classes the peer was last told to pause, as bits.
    pub told: u8,
    /// Classes whose pause is ignored (watchdog), as bits.
    pub ignore: u8,
    /// Classes whose packets the watchdog drops, as bits.
    pub closed: u8,
}

impl Default for PauseState {
    fn default() -> Self {
        Self {
            until: [0; CLASSES],
            since: [0; CLASSES],
            total: [0; CLASSES],
            rx_pause: [0; CLASSES],
            rx_resume: [0; CLASSES],
            tx_pause: [0; CLASSES],
            tx_resume: [0; CLASSES],
            frame_delay: 0,
            lasts: u64::MAX,
            refresh_at: 0,
            tx_packet_wraps: 0,
            refresh_pending: false,
            expire_pending: false,
            xoff: 0,
            told: 0,
            ignore: 0,
            closed: 0,
        }
    }
}

/// Lossless packets lost at one (ingress port, class) for want of headroom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadroomLoss {
    /// Packets lost.
    pub packets: u64,
    /// Bytes lost in the current pause.
    pub episode: u64,
    /// Most bytes lost in one pause: the headroom that was missing.
    pub missing: u64,
}

/// Counters that only something going wrong touches, by port.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Packets lost at each port, by reason; ports without losses are absent.
    pub by_port: BTreeMap<(PortIndex, DropReason), u64>,
    /// Headroom losses by (ingress port, class).
    pub headroom: BTreeMap<(PortIndex, u8), HeadroomLoss>,
}
