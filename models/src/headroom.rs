//! Headroom: the memory an ingress port needs for what still arrives after it asked its sender to stop.
//!
//! [`required`] is the bound of this simulator's own model and what `headroom: auto` gives: with it a lossless class
//! never drops. [`minimum`] is the textbook figure, below which a busy link is certain to lose packets. [`sonic`] is
//! the formula switches run.
//!
//! # The bound
//! At time 0 a packet is charged to the ingress and takes it over XOFF. A PAUSE is queued for the other direction of
//! the link:
//! 1. it waits for the largest frame, whose transmission may just have begun, and behind one PFC frame of every
//!    other lossless class;
//! 2. it takes its own time on the wire, and propagates;
//! 3. the sender reacts, and until then begins one frame after another; the last may begin just then;
//! 4. what was sent propagates, and may pass a pipeline before it is charged.
//!
//! Meanwhile the link delivers at full rate. Frames are charged whole: the one that crossed XOFF may itself be charged
//! to headroom, and the last one sent counts in full. Where memory is allocated in cells, bytes on the wire grow by
//! the worst ratio of cells to wire bytes that any frame size has.

use std::fmt;

use sim_core::{Bytes, Duration, Length, Rate};

use crate::config::{self, NicConfig, SwitchConfig};
use crate::topology::Link;

/// What the bound depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Rate of the link.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The largest frame, as it occupies buffers.
    pub max_frame: Bytes,
    /// The smallest frame.
    pub min_frame: Bytes,
    /// Bytes a frame costs on the wire beyond its own.
    pub gap: Bytes,
    /// A PFC frame, without `gap`.
    pub pfc_frame: Bytes,
    /// Time from the arrival of a PAUSE to its effect.
    pub reaction: Duration,
    /// Time between the arrival of a packet and its charge to the buffer.
    pub latency: Duration,
    /// Allocation unit of the memory.
    pub cell: Bytes,
    /// Lossless classes, each of which may send PFC frames.
    pub lossless_classes: u32,
}

impl Inputs {
    /// The figures of a link into a switch.
    pub fn new(link: &Link, switch: &SwitchConfig, nic: &NicConfig) -> Self {
        let full = nic.mtu + nic.header + nic.reth;
        Self {
            rate: link.rate,
            delay: link.delay,
            max_frame: full.max(nic.ack_frame),
            min_frame: nic.ack_frame.min(nic.header + Bytes(1)),
            gap: nic.gap,
            pfc_frame: switch.pfc.frame,
            reaction: switch.pfc.reaction,
            latency: switch.latency,
            cell: switch.cell.max(Bytes(1)),
            lossless_classes: switch.lossless_classes().len() as u32,
        }
    }

    /// Memory a frame of `bytes` occupies: whole cells.
    fn cells(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cell.0) * self.cell.0
    }

    /// The most memory per wire byte any frame size takes, as (memory, wire).
    fn worst_expansion(&self) -> (u64, u64) {
        let ratio = |frame: u64| (self.cells(frame), frame + self.gap.0);
        // Memory is constant within a cell, so the worst frame only just begins one, or is the smallest or largest;
        // and the ratio is monotone from one such frame to the next.
        let mut worst = ratio(self.max_frame.0);
        let second_cell = self.min_frame.0.div_ceil(self.cell.0) * self.cell.0 + 1;
        let last_cell = (self.max_frame.0.max(1) - 1) / self.cell.0 * self.cell.0 + 1;
        let possible = self.min_frame.0..=self.max_frame.0;
        for frame in [self.min_frame.0, second_cell, last_cell].into_iter().filter(|f| possible.contains(f)) {
            let r = ratio(frame);
            if u128::from(r.0) * u128::from(worst.1) > u128::from(worst.0) * u128::from(r.1) {
                worst = r;
            }
        }
        worst
    }

    /// Memory that a span of continuous arrival may fill.
    fn fill(&self, span: Duration, (memory, wire): (u64, u64)) -> Bytes {
        // rate · span / 8e12 bytes on the wire, times memory / wire, rounded up once.
        let scale = 8 * u128::from(sim_core::units::PS_PER_S);
        let bits = u128::from(self.rate.0) * u128::from(span.0);
        let wire_bytes = bits.div_ceil(scale);
        let filled = wire_bytes.saturating_mul(u128::from(memory)).div_ceil(u128::from(wire));
        Bytes(u64::try_from(filled).unwrap_or(u64::MAX / 4))
    }
}

/// The headroom of a link and what it is made of. Displays as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Arrives while the PAUSE waits for the frame being sent in the other direction.
    pub wait_bytes: Bytes,
    /// Arrives while the PAUSE (and those of other classes before it) is sent.
    pub pfc_bytes: Bytes,
    /// In flight, both ways.
    pub cable_bytes: Bytes,
    /// Sent while the sender reacts.
    pub reaction_bytes: Bytes,
    /// In the switch's pipeline, not yet charged.
    pub pipeline_bytes: Bytes,
    /// The frame that crosses XOFF.
    pub first_frame_bytes: Bytes,
    /// The frame the sender begins just before it stops.
    pub last_frame_bytes: Bytes,
    /// The sum, in whole cells.
    pub total: Bytes,
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} B = {} B while the PAUSE waits behind a frame + {} B while it is sent + {} B in flight both ways + \
             {} B reaction + {} B pipeline + {} B for the frame that crosses XOFF + {} B for the last frame sent",
            self.total.0,
            self.wait_bytes.0,
            self.pfc_bytes.0,
            self.cable_bytes.0,
            self.reaction_bytes.0,
            self.pipeline_bytes.0,
            self.first_frame_bytes.0,
            self.last_frame_bytes.0
        )
    }
}

/// The headroom with which an ingress (port, class) never drops, whatever is sent.
pub fn required(inputs: &Inputs) -> Headroom {
    let worst = inputs.worst_expansion();
    let frame = Bytes(inputs.cells(inputs.max_frame.0));
    let wait = inputs.rate.tx_time(inputs.max_frame.0 + inputs.gap.0);
    let pfc =
        inputs.rate.tx_time(inputs.pfc_frame.0 + inputs.gap.0) * u64::from(inputs.lossless_classes.max(1));
    let mut headroom = Headroom {
        wait_bytes: inputs.fill(wait, worst),
        pfc_bytes: inputs.fill(pfc, worst),
        cable_bytes: inputs.fill(inputs.delay * 2, worst),
        reaction_bytes: inputs.fill(inputs.reaction, worst),
        pipeline_bytes: inputs.fill(inputs.latency, worst),
        first_frame_bytes: frame,
        last_frame_bytes: frame,
        total: Bytes::ZERO,
    };
    let parts = [
        headroom.wait_bytes,
        headroom.pfc_bytes,
        headroom.cable_bytes,
        headroom.reaction_bytes,
        headroom.pipeline_bytes,
        headroom.first_frame_bytes,
        headroom.last_frame_bytes,
    ];
    let sum = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.0));
    headroom.total = Bytes(inputs.cells(sum));
    headroom
}

/// The headroom a link gets under `switch.headroom`, per (port, lossless class).
pub fn given(link: &Link, switch: &SwitchConfig, nic: &NicConfig) -> Bytes {
    match switch.headroom {
        config::Headroom::Auto => required(&Inputs::new(link, switch, nic)).total,
        config::Headroom::Bytes(bytes) => bytes,
        config::Headroom::BdpFactor(factor) => {
            Bytes((link.rate.bytes_in(link.delay).0 as f64 * factor) as u64)
        }
    }
}

/// The textbook minimum: what is in flight both ways, a frame of `mtu` being sent and one arriving. A link that is
/// busy with full frames loses packets below it.
pub fn minimum(rate: Rate, delay: Duration, mtu: Bytes) -> Bytes {
    let scale = 8 * u128::from(sim_core::units::PS_PER_S);
    let flight = (2 * u128::from(delay.0) * u128::from(rate.0)).div_ceil(scale);
    Bytes(u64::try_from(flight).unwrap_or(u64::MAX / 4).saturating_add(2 * mtu.0))
}

/// Parameters of SONiC's dynamic buffer model (`buffer_headroom_mellanox.lua`), beside rate and length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sonic {
    /// Cell of the switch. Spectrum-1 96 B, -2/-3 144 B, -4/-5 192 B.
    pub cell: Bytes,
    /// Share of small packets in the traffic, in percent. Default: 100.
    pub small_packets: u32,
    /// Largest frame of the port. Default: 9100 B.
    pub port_mtu: Bytes,
    /// Largest frame of the lossless class. Default: 1024 B.
    pub lossless_mtu: Bytes,
    /// Bytes in MAC and PHY. Default: 800 B.
    pub mac_phy: Bytes,
    /// Bytes the peer sends while it reacts. Default: 3800 B, with which the shipped tables of SN2700 and SN4700 come
    /// out.
    pub peer_response: Bytes,
}

impl Default for Sonic {
    fn default() -> Self {
        Self {
            cell: Bytes(144),
            small_packets: 100,
            port_mtu: Bytes(9100),
            lossless_mtu: Bytes(1024),
            mac_phy: Bytes(800),
            peer_response: Bytes(3800),
        }
    }
}

/// XOFF size (headroom) of SONiC's dynamic buffer model, in whole KiB. It takes light as 198 000 km/s and a smallest
/// packet of 64 B.
pub fn sonic(rate: Rate, length: Length, with: &Sonic) -> Bytes {
    const METRES_PER_SECOND: f64 = 198_000_000.0;
    const SMALLEST: f64 = 64.0;
    let cell = with.cell.0 as f64;
    let worst = if cell > 2.0 * SMALLEST { cell / SMALLEST } else { 2.0 * cell / (1.0 + cell) };
    let small = f64::from(with.small_packets);
    let occupancy = (100.0 - small + small * worst) / 100.0;
    let cable = 2.0 * (length.0 as f64 / 1000.0) * (rate.0 as f64 / 8.0) / METRES_PER_SECOND;
    let propagation = (with.port_mtu + with.mac_phy + with.peer_response).0 as f64 + cable;
    let xoff = with.lossless_mtu.0 as f64 + propagation * occupancy;
    Bytes((xoff as u64 + u64::from(xoff > (xoff as u64) as f64)).div_ceil(1024) * 1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inputs(rate: Rate, delay: Duration) -> Inputs {
        Inputs {
            rate,
            delay,
            max_frame: Bytes(4174),
            min_frame: Bytes(63),
            gap: Bytes(20),
            pfc_frame: Bytes(64),
            reaction: Duration::ZERO,
            latency: Duration::ZERO,
            cell: Bytes(1),
            lossless_classes: 1,
        }
    }

    /// A sender that does its worst: back-to-back frames of one size, the PAUSE as late as it can be. Returns the
    /// memory charged from the crossing frame on.
    fn worst_arrivals(i: &Inputs, frame: u64) -> u64 {
        let tx = |bytes: u64| i.rate.tx_time(bytes + i.gap.0).0;
        let effect =
            tx(i.max_frame.0) + tx(i.pfc_frame.0) * u64::from(i.lossless_classes) + i.delay.0 + i.reaction.0;
        // The crossing frame's last bit was charged at 0 and left the sender at −delay − latency; the next frame
        // follows it directly, and one may begin at any time up to the effect.
        let mut start = -(i128::from(i.delay.0) + i128::from(i.latency.0));
        let mut memory = i.cells(frame);
        while start <= i128::from(effect) {
            memory += i.cells(frame);
            start += i128::from(tx(frame));
        }
        memory
    }

    #[test]
    fn parts_are_exact_for_a_100g_link() {
        let h = required(&Inputs {
            reaction: Duration::from_ns(100),
            ..inputs(Rate::gbps(100), Duration::from_us(1))
        });
        // 80 ps a byte; the gaps between full frames hold no memory: 4174 of 4194 wire bytes do.
        let fill = |wire: u64| (wire * 4174).div_ceil(4194);
        assert_eq!(h.wait_bytes, Bytes(fill(4194)));
        assert_eq!(h.pfc_bytes, Bytes(fill(84)));
        assert_eq!(h.cable_bytes, Bytes(fill(25_000)));
        assert_eq!(h.reaction_bytes, Bytes(fill(1250)));
        assert_eq!((h.first_frame_bytes, h.last_frame_bytes), (Bytes(4174), Bytes(4174)));
        assert_eq!(h.total.0, fill(4194) + fill(84) + fill(25_000) + fill(1250) + 2 * 4174);
        assert!(h.to_string().starts_with("38732 B = 4174 B while the PAUSE waits"), "{h}");
    }

    #[test]
    fn cells_and_pipeline_count() {
        let plain = inputs(Rate::gbps(400), Duration::from_us(1));
        let base = required(&plain).total;
        let celled = required(&Inputs { cell: Bytes(208), ..plain });
        assert_eq!(celled.total.0 % 208, 0);
        // 63 B frames: 208 B of memory for 83 B on the wire.
        assert_eq!(celled.cable_bytes.0, (100_000u64 * 208).div_ceil(83));
        let latency = required(&Inputs { latency: Duration::from_ns(500), ..plain });
        assert_eq!(latency.total.0 - base.0, (25_000u64 * 4174).div_ceil(4194));
        let two = required(&Inputs { lossless_classes: 2, ..plain });
        assert!(two.total > base);
    }

    /// Case: the 40 m profile (38912 B) on 300 m of 100 Gb/s with 9216 B frames.
    #[test]
    fn minimum_of_300_m() {
        let delay = Length(300_000).propagation();
        assert_eq!(delay, Duration::from_ns(1500));
        assert_eq!(minimum(Rate::gbps(100), delay, Bytes(9216)), Bytes(55_932));
        assert_eq!(minimum(Rate::gbps(100), delay, Bytes(1086)), Bytes(39_672));
        assert_eq!(minimum(Rate::gbps(100), Length(40_000).propagation(), Bytes(9216)), Bytes(23_432));
        // 10 ms at 400 Gb/s: 1.0 GB.
        assert_eq!(minimum(Rate::gbps(400), Duration::from_ms(10), Bytes(0)), Bytes(1_000_000_000));
    }

    #[test]
    fn given_follows_the_configuration() {
        let link = Link { a: 0, b: 1, rate: Rate::gbps(100), delay: Duration::from_us(2), error_rate: 0.0 };
        let nic = NicConfig::default();
        let mut switch = SwitchConfig::default();
        assert_eq!(given(&link, &switch, &nic), required(&Inputs::new(&link, &switch, &nic)).total);
        switch.headroom = config::Headroom::Bytes(Bytes(38_912));
        assert_eq!(given(&link, &switch, &nic), Bytes(38_912));
        switch.headroom = config::Headroom::BdpFactor(3.0);
        assert_eq!(given(&link, &switch, &nic), Bytes(75_000));
    }

    /// Shipped `pg_profile_lookup.ini` of SN4700 (sonic-buildimage): exact but for 400G over 5 m, which is 1 KiB above.
    #[test]
    fn sonic_reproduces_shipped_profiles() {
        let at = |gbps: u64, metres: u64| sonic(Rate::gbps(gbps), Length(metres * 1000), &Sonic::default()).0;
        assert_eq!([at(100, 5), at(100, 40), at(100, 300)], [33_792, 44_032, 117_760]);
        assert_eq!([at(400, 40), at(400, 300)], [77_824, 373_760]);
        assert_eq!(at(400, 5), 38_912 - 1024);
        // SN2700 (Spectrum-1) ships 30720, 38912 and 104448 for 100G: the first and last are 1 KiB above.
        let spectrum1 = Sonic { cell: Bytes(96), ..Sonic::default() };
        let sn2700 = [5, 40, 300].map(|metres| sonic(Rate::gbps(100), Length(metres * 1000), &spectrum1).0);
        assert_eq!(sn2700, [30_720 - 1024, 38_912, 104_448 - 1024]);
    }

    proptest! {
        /// No sender, whatever its frame size, sends more than the bound; and full frames come within the parts that
        /// exclude each other: two frames and what rounding costs.
        #[test]
        fn no_sender_exceeds_the_bound(
            gbps in prop::sample::select(vec![10u64, 25, 100, 400, 800]), delay_ns in 0u64..20_000,
            reaction_ns in 0u64..3000, latency_ns in 0u64..1000, max_payload in 64u64..9000, frame in any::<u64>(),
            cell in prop::sample::select(vec![1u64, 96, 144, 208, 256]), classes in 1u32..4,
        ) {
            let i = Inputs {
                max_frame: Bytes(max_payload + 78),
                reaction: Duration::from_ns(reaction_ns),
                latency: Duration::from_ns(latency_ns),
                cell: Bytes(cell),
                lossless_classes: classes,
                ..inputs(Rate::gbps(gbps), Duration::from_ns(delay_ns))
            };
            let h = required(&i);
            for f in [63, 63 + frame % (i.max_frame.0 - 62), (cell + 1).clamp(63, i.max_frame.0), i.max_frame.0] {
                let arrived = worst_arrivals(&i, f);
                prop_assert!(arrived <= h.total.0, "{f} B frames fill {arrived} of {h}");
            }
            if cell == 1 {
                let full = worst_arrivals(&i, i.max_frame.0);
                prop_assert!(h.total.0 - full <= i.max_frame.0 + 8, "{full} of {h}");
            }
        }
    }
}
