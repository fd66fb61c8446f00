//! Links: each direction is a FIFO of packets in flight, of which only the first has a pending event.

use crate::packet::Packet;
use crate::topology::PortIndex;

/// A packet on a link or in a queue: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Held {
    /// The packet.
    pub packet: Packet,
    /// The egress port it will take at the switch it flies to, once that was looked up ahead; else [`UNKNOWN`].
    pub out: PortIndex,
}

const _: () = assert!(size_of::<Held>() == 32);

/// An egress port that was not looked up ahead.
pub const UNKNOWN: PortIndex = PortIndex::MAX;

impl Held {
    /// A packet whose way was not looked up.
    pub fn new(packet: Packet) -> Self {
        Self { packet, out: UNKNOWN }
    }
}

/// What can go wrong on one direction of a link, known by the port that sends into it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkFault {
    /// Packets at the head of the link that were in flight when it failed.
    pub lost: u32,
    /// A packet is lost when a draw of 64 random bits is below this: error rate · 2⁶⁴.
    pub error_threshold: u64,
}

/// A PFC frame on its way. PFC frames have their own FIFO, since the MAC acts on them without the pipeline
/// latency that packets see.
#[derive(Clone, Copy, Debug)]
pub struct PfcFrame {
    /// When it takes effect at the other end, in picoseconds.
    pub at: u64,
    /// Class-enable vector: the classes it speaks of.
    pub classes: u8,
    /// The classes of `classes` it pauses; the others are resumed.
    pub pause: u8,
}

/// The telemetry one hop adds to a packet (HPCC's INT).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TelemetryHop {
    /// Time of departure, in picoseconds.
    pub at: u64,
    /// Bytes the egress port has sent in all.
    pub tx_bytes: u64,
    /// Egress queue behind the packet, in bytes.
    pub queue: u32,
    /// The egress port, to know a path change.
    pub port: u32,
    /// Egress rate, in Mb/s.
    pub mbps: u32,
}

/// Hops a telemetry record can hold: a 3-tier fat tree has 5 switches, a detour two more.
pub const TELEMETRY_HOPS: usize = 8;

/// The telemetry of one packet, which travels with it and returns in its ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telemetry {
    /// Hops recorded.
    pub count: u8,
    /// When the packet left its sender, as a stamp.
    pub stamp: u32,
    /// The hops, in order.
    pub hops: [TelemetryHop; TELEMETRY_HOPS],
}

/// Slots of telemetry records in use. A record belongs to the packet that names it.
#[derive(Debug, Default)]
pub struct TelemetryPool {
    slots: Vec<Telemetry>,
    free: Vec<u32>,
}

impl TelemetryPool {
    /// Takes an empty record.
    pub fn take(&mut self, stamp: u32) -> u32 {
        let fresh = Telemetry { stamp, ..Telemetry::default() };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = fresh;
            slot
        } else {
            self.slots.push(fresh);
            self.slots.len() as u32 - 1
        }
    }

    /// Gives a record back.
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The record of a slot.
    pub fn get(&self, slot: u32) -> &Telemetry {
        &self.slots[slot as usize]
    }

    /// Adds a hop; what exceeds the record's room is not recorded.
    pub fn add(&mut self, slot: u32, hop: TelemetryHop) {
        let record = &mut self.slots[slot as usize];
        if usize::from(record.count) < TELEMETRY_HOPS {
            record.hops[usize::from(record.count)] = hop;
            record.count += 1;
        }
    }

    /// Records not given back.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
