//! Packets: small Copy values that live in rings and links.

use sim_core::Time;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a WRITE, SEND, READ response or datagram. `seq` is its PSN.
    Data,
    /// Cumulative acknowledgement. `seq` is the next PSN the receiver expects.
    Ack,
    /// Negative acknowledgement (PSN sequence error). `seq` is the next PSN expected, `stamp` the PSN missing.
    Nak,
    /// Congestion notification packet.
    Cnp,
    /// READ request, and a READ requester's repeat of it. `seq` is the first PSN wanted.
    ReadRequest,
}

/// Congestion experienced: the packet was ECN-marked.
pub const CE: u8 = 1 << 0;
/// Last packet of its message.
pub const LAST: u8 = 1 << 1;
/// An ACK that tells its sender of a marked packet.
pub const ECN_ECHO: u8 = 1 << 2;
/// The flow follows an explicit path.
pub const EXPLICIT: u8 = 1 << 3;
/// `stamp` is the slot of an in-band-telemetry record.
pub const TELEMETRY: u8 = 1 << 4;
/// The sender asks for an acknowledgement at once (the AckReq bit of the BTH): the packet fills its window.
pub const ACK_REQUEST: u8 = 1 << 5;
/// First packet of its message; set only where frames are recorded.
pub const FIRST: u8 = 1 << 6;

/// A packet.
///
/// DEVIATES: the PSN has 32 bits instead of 24, so that no wrap-around needs handling.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Packet {
    /// The flow (queue pair) it belongs to; also its entropy for ECMP, as a UDP source port of its own would be.
    pub flow: u32,
    /// Sequence number; see [`Kind`].
    pub seq: u32,
    /// Destination host.
    pub dst: u32,
    /// When the data packet left its sender, as [`stamp`], echoed in its ACK; or a telemetry slot.
    pub stamp: u32,
    /// Frame bytes, without preamble and gap.
    pub size: u16,
    /// Local index of the port it came in by, at the switch that holds it.
    pub in_port: u16,
    /// What it is.
    pub kind: Kind,
    /// DSCP.
    pub dscp: u8,
    /// Flag bits.
    pub flags: u8,
    /// Links between switches it may still cross.
    pub ttl: u8,
}

const _: () = assert!(size_of::<Packet>() == 24);

/// A time as 32 bits of 1.024 ns, for round-trip measurements below 4 s.
#[inline]
pub fn stamp(now: Time) -> u32 {
    (now.0 >> 10) as u32
}

/// Picoseconds since a [`stamp`].
#[inline]
pub fn since_stamp(now: Time, earlier: u32) -> u64 {
    u64::from(stamp(now).wrapping_sub(earlier)) << 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Duration;

    #[test]
    fn stamps_survive_wrap_around() {
        let before = Time((u64::from(u32::MAX) << 10) - 512);
        let after = before + Duration::from_us(40);
        let measured = since_stamp(after, stamp(before));
        assert!(measured.abs_diff(40_000_000) <= 1024, "{measured}");
    }
}
