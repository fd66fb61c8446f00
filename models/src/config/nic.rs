//! Parameters of a NIC: framing, RC transport, CNPs and host limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration, Rate};

use super::Class;

/// A RoCEv2 NIC with reliable-connection (RC) queue pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NicConfig {
    /// Payload bytes of a full packet (path MTU). Default: 4096 B. Range: 64 B–9000 B.
    pub mtu: Bytes,
    /// Frame bytes around a payload that occupy buffers: 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC, 4 FCS.
    /// Default: 62 B.
    pub header: Bytes,
    /// Bytes a frame costs on the wire beyond its own: 8 preamble, 12 inter-frame gap. Default: 20 B.
    pub gap: Bytes,
    /// Frame bytes of an ACK, NAK or CNP. Default: 66 B (headers and 4 AETH).
    pub ack_frame: Bytes,
    /// Extra frame bytes of the first packet of a WRITE and of a READ request (RETH). Default: 16 B.
    pub reth: Bytes,
    /// Packets acknowledged by one ACK; the last packet of a message and one that fills
    /// the sender's window are always acknowledged. Default: 1.
    /// Range: 1–1024.
    pub ack_every: u32,
    /// Class of ACKs and NAKs. Default: `null`, the class of the data they acknowledge, as RC does.
    pub ack_class: Option<Class>,
    /// How lost packets are recovered. Default: go-back-n.
    pub recovery: Recovery,
    /// Packets that may arrive ahead of a missing one before it is declared lost: tolerance of a multi-path fabric,
    /// for `selective-repeat`. Default: 0.
    pub reorder_window: u32,
    /// Time without an acknowledgement before everything unacknowledged is sent again. Default: 67.108864 ms
    /// (4.096 us · 2^14, the local ACK timeout perftest sets). Range: > 0.
    pub retransmission_timeout: Duration,
    /// Shortest time between two NAKs for the same missing packet. Default: 0: one NAK per gap.
    pub nak_interval: Duration,
    /// Most payload bytes of a queue pair in flight. `null` sets no limit: RC as NICs ship it. Default: `null`.
    pub window: Option<Window>,
    /// Congestion notification at the receiver.
    pub cnp: CnpConfig,
    /// Rate at which the host takes received data off the NIC (PCIe or a slow receiver). When it is below the line
    /// rate the NIC's receive buffer fills and the NIC sends PAUSE. Default: `null`, no limit.
    pub drain_rate: Option<Rate>,
    /// Rate at which the host can feed the NIC (PCIe). Default: `null`, no limit.
    pub inject_rate: Option<Rate>,
    /// Receive buffer of the NIC, used with `drain_rate`. Default: 2 MB.
    pub receive_buffer: Bytes,
    /// Fill of the receive buffer at which the NIC pauses its switch. Default: 1 MB.
    pub receive_xoff: Bytes,
    /// Start jitter of flows that start at the same time: a seeded delay below one packet time, so that ties are
    /// not always decided for the same sender. Default: true.
    pub jitter: bool,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self {
            mtu: Bytes(4096),
            header: Bytes(62),
            gap: Bytes(20),
            ack_frame: Bytes(66),
            reth: Bytes(16),
            ack_every: 1,
            ack_class: None,
            recovery: Recovery::GoBackN,
            reorder_window: 0,
            retransmission_timeout: Duration(67_108_864_000),
            nak_interval: Duration::ZERO,
            window: None,
            cnp: CnpConfig::default(),
            drain_rate: None,
            inject_rate: None,
            receive_buffer: Bytes(2_000_000),
            receive_xoff: Bytes(1_000_000),
            jitter: true,
        }
    }
}

/// How a queue pair recovers a lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// A NAK sends everything from the missing packet again.
    GoBackN,
    /// A NAK sends the whole message again: the firmware of the SIGCOMM'16 livelock.
    #[serde(rename = "go-back-0")]
    #[schemars(rename = "go-back-0")]
    GoBack0,
    /// The receiver keeps what arrives out of order; only missing packets are sent again.
    SelectiveRepeat,
}

/// A limit on the payload in flight of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// This many bytes.
    Bytes(Bytes),
    /// Line rate × base round-trip time of the queue pair's own path.
    Bdp,
}

/// Congestion notification packets (DCQCN's notification point).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CnpConfig {
    /// Shortest time between two CNPs of a queue pair. Default: 50 us (`min_time_between_cnps`; SIGCOMM'15).
    pub interval: Duration,
    /// Time from a marked packet to its CNP. Default: 0. A real NIC needs about 55 us
    /// (aliyun/ns-3-alibabacloud#12); without that delay simulated PFC vanishes.
    pub delay: Duration,
    /// Class of CNPs. Default: 6 (`cnp_802p_prio`). Range: 0–7.
    pub class: Class,
    /// Echo every mark in the ACK instead of sending CNPs, as HPCC's ns-3 does. Default: false.
    pub echo_in_ack: bool,
}

impl Default for CnpConfig {
    fn default() -> Self {
        Self { interval: Duration::from_us(50), delay: Duration::ZERO, class: 6, echo_in_ack: false }
    }
}
