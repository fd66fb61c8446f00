//! Frames as bytes: RoCEv2 packets and PFC frames as a NIC would send them, headers whole and payload zeros.
//!
//! Ethernet II, IPv4, UDP port 4791, then the InfiniBand transport (IBTA volume 1, release 1.7): base transport header
//! (9.2), RETH (9.3.3), AETH (9.3.5), DETH (9.3.2), invariant CRC (annex A17.3.3). PFC is 802.1Qbb MAC control.
//!
//! DEVIATES: virtual addresses, keys and, of collectives, the length of a WRITE are 0; a CNP has the size of an ACK, where a
//! real one has 16 reserved bytes.

use models::config::Operation;
use models::packet::{ACK_REQUEST, CE, FIRST, Kind, LAST, Packet};
use models::record::{Frame, FrameRecord};
use models::topology::Graph;
use models::traffic::Flow;

/// UDP destination port of RoCEv2.
const ROCE: u16 = 4791;
/// Bytes of a frame check sequence, which captures leave out.
const FCS: usize = 4;
/// Ethernet, IPv4, UDP and base transport header.
const HEADERS: usize = 14 + 20 + 8 + 12;
const ICRC: usize = 4;
/// First queue pair number: 0 and 1 are reserved.
const FIRST_QP: u32 = 2;

/// What frames are made of besides their records.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The topology.
    pub graph: &'a Graph,
    /// The finite flows.
    pub flows: &'a [Flow],
    /// The streams that follow them.
    pub streams: &'a [Flow],
    /// Quanta of a pause.
    pub quanta: u16,
    /// Bytes of a PFC frame, frame check sequence included.
    pub pfc_frame: usize,
    /// Payload bytes of a full packet.
    pub mtu: u64,
}

impl Context<'_> {
    fn flow(&self, index: u32) -> (&Flow, bool) {
        let index = index as usize;
        match self.flows.get(index) {
            Some(flow) => (flow, false),
            None => (&self.streams[index - self.flows.len()], true),
        }
    }

    /// Puts the first `most` bytes of a frame into `out`; its whole length, without frame check sequence.
    pub fn write(&self, record: &FrameRecord, most: usize, out: &mut Vec<u8>) -> usize {
        out.clear();
        let end = self.graph.ports[record.port as usize];
        let (from, to) = if record.sent { (end.node, end.peer_node) } else { (end.peer_node, end.node) };
        match record.frame {
            Frame::Pfc { classes, pause } => self.pfc(from, classes, pause, out),
            Frame::Packet(packet) => self.packet(&packet, (from, to), most, out),
        }
        let length = match record.frame {
            Frame::Pfc { .. } => self.pfc_frame.saturating_sub(FCS).max(60),
            Frame::Packet(packet) => (usize::from(packet.size) - FCS).max(out.len()),
        };
        out.resize(length.min(most), 0);
        length
    }

    fn pfc(&self, from: u32, classes: u8, pause: u8, out: &mut Vec<u8>) {
        out.extend([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
        out.extend(mac(from));
        out.extend([0x88, 0x08, 0x01, 0x01, 0x00, classes]);
        for class in 0..8 {
            let quanta = if pause & (1 << class) != 0 { self.quanta } else { 0 };
            out.extend(quanta.to_be_bytes());
        }
    }

    fn packet(&self, packet: &Packet, (from, to): (u32, u32), most: usize, out: &mut Vec<u8>) {
        let (flow, stream) = self.flow(packet.flow);
        let (opcode, psn, extension) = self.transport(packet, flow, stream);
        let whole = (usize::from(packet.size).saturating_sub(FCS)).max(HEADERS + extension.len() + ICRC);
        // What flows with the data, and against it.
        let with = packet.kind == Kind::Data;
        let (source, destination) = if with { (flow.src, flow.dst) } else { (flow.dst, flow.src) };
        out.extend(mac(to));
        out.extend(mac(from));
        out.extend([0x08, 0x00]);
        let ecn = match (packet.kind, packet.flags & CE != 0) {
            (Kind::Data, true) => 0b11,
            (Kind::Data, false) => 0b10,
            (Kind::Ack | Kind::Nak | Kind::Cnp | Kind::ReadRequest, _) => 0,
        };
        let ip = out.len();
        out.extend([0x45, packet.dscp << 2 | ecn]);
        out.extend(((whole - 14) as u16).to_be_bytes());
        out.extend([0, 0, 0x40, 0, packet.ttl.saturating_add(1), 17, 0, 0]);
        out.extend(address(source));
        out.extend(address(destination));
        let sum = checksum(&out[ip..]);
        out[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        // The flow is the entropy of ECMP, as a source port of its own would be.
        out.extend((0xc000 | (packet.flow & 0x3fff) as u16).to_be_bytes());
        out.extend(ROCE.to_be_bytes());
        out.extend(((whole - 34) as u16).to_be_bytes());
        out.extend([0, 0]);
        let pair = (FIRST_QP + 2 * packet.flow + u32::from(!with)) & 0xff_ffff;
        let notifies = if packet.kind == Kind::Cnp { 0x40 } else { 0 };
        let asks = with && packet.flags & (LAST | ACK_REQUEST) != 0 && flow.operation != Operation::Datagram;
        out.extend([opcode, 0x40, 0xff, 0xff]);
        out.extend((u32::from_be_bytes([notifies, 0, 0, 0]) | pair).to_be_bytes());
        out.extend((u32::from(asks) << 31 | psn & 0xff_ffff).to_be_bytes());
        out.extend(extension);
        if whole <= most {
            out.resize(whole - ICRC, 0);
            let crc = invariant_crc(&out[ip..]);
            out.extend(crc.to_le_bytes());
        }
    }

    /// Opcode, PSN and extended headers.
    fn transport(&self, packet: &Packet, flow: &Flow, stream: bool) -> (u8, u32, Vec<u8>) {
        // Of one expected next, the one before it is acknowledged.
        let acknowledged = packet.seq.wrapping_sub(1);
        let messages = |psn: u32| {
            let each = flow.packets_per_message(self.mtu.max(1)).max(1);
            if stream { 0 } else { (u64::from(psn) / each) as u32 }
        };
        match packet.kind {
            Kind::Ack => (0x11, acknowledged, aeth(0x1f, messages(packet.seq))),
            Kind::Nak => (0x11, packet.seq, aeth(0x60, messages(packet.seq))),
            Kind::Cnp => (0x81, 0, Vec::new()),
            Kind::ReadRequest => (0x0c, packet.seq, reth(flow.size.0)),
            Kind::Data => {
                let (first, last) = (packet.flags & FIRST != 0, packet.flags & LAST != 0);
                // First, middle, last, only.
                let place = match (first, last) {
                    (true, false) => 0,
                    (false, false) => 1,
                    (false, true) => 2,
                    (true, true) => 3,
                };
                let (opcode, extension) = match flow.operation {
                    Operation::Send => ([0x00, 0x01, 0x02, 0x04][place], Vec::new()),
                    Operation::Write if first => {
                        let length = if stream { 0 } else { flow.size.0 };
                        ([0x06, 0x07, 0x08, 0x0a][place], reth(length))
                    }
                    Operation::Write => ([0x06, 0x07, 0x08, 0x0a][place], Vec::new()),
                    Operation::Read if place == 1 => (0x0e, Vec::new()),
                    Operation::Read => ([0x0d, 0x0e, 0x0f, 0x10][place], aeth(0x1f, messages(packet.seq))),
                    Operation::Datagram => (0x64, deth(packet.flow)),
                };
                (opcode, packet.seq, extension)
            }
        }
    }
}

/// A locally administered address for each node.
fn mac(node: u32) -> [u8; 6] {
    let [a, b, c, d] = (node + 1).to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// 10.0.0.1 for host 0.
fn address(host: u32) -> [u8; 4] {
    let [_, b, c, d] = (host + 1).to_be_bytes();
    [10, b, c, d]
}

fn aeth(syndrome: u8, messages: u32) -> Vec<u8> {
    (u32::from(syndrome) << 24 | messages & 0xff_ffff).to_be_bytes().to_vec()
}

fn reth(length: u64) -> Vec<u8> {
    let mut out = vec![0; 12];
    out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    out
}

fn deth(flow: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(((FIRST_QP + 2 * flow + 1) & 0xff_ffff).to_be_bytes());
    out
}

/// The checksum of an IPv4 header.
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The invariant CRC of what follows the Ethernet header: fields that switches change count as ones.
fn invariant_crc(packet: &[u8]) -> u32 {
    let masked = |index: usize, byte: u8| match index {
        // Type of service, time to live and checksum of IPv4; checksum of UDP; the byte before the queue pair.
        1 | 8 | 10 | 11 | 26 | 27 | 32 => 0xff,
        _ => byte,
    };
    let all = std::iter::repeat_n(0xff, 8).chain(packet.iter().enumerate().map(|(i, &b)| masked(i, b)));
    !all.fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    use models::topology::Link;
    use sim_core::{Bytes, Duration, Rate, Time};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn frame(kind: Kind, flags: u8, seq: u32, size: u16, operation: Operation) -> (Vec<u8>, usize) {
        let link = |a| Link { a, b: 2, rate: Rate::gbps(100), delay: Duration::from_us(1), error_rate: 0.0 };
        let graph =
            Graph::new(2, vec!["host0".into(), "host1".into(), "leaf0".into()], vec![link(0), link(1)]);
        let flow = Flow {
            src: 0,
            dst: 1,
            size: Bytes(10_000),
            messages: 1,
            start: Time::ZERO,
            class: 3,
            dscp: 24,
            operation,
            rate: None,
            ttl: 63,
            paths: Vec::new(),
        };
        let context =
            Context { graph: &graph, flows: &[flow], streams: &[], quanta: 65535, pfc_frame: 64, mtu: 4096 };
        let packet =
            Packet { flow: 0, seq, dst: 1, stamp: 0, size, in_port: 0, kind, dscp: 24, flags, ttl: 63 };
        let record = FrameRecord { at: Time::ZERO, port: 0, sent: true, frame: Frame::Packet(packet) };
        let mut out = Vec::new();
        let length = context.write(&record, 128, &mut out);
        (out, length)
    }

    #[test]
    fn the_first_packet_of_a_write() {
        let (bytes, length) = frame(Kind::Data, FIRST | CE, 0, 4096 + 62 + 16, Operation::Write);
        assert_eq!((bytes.len(), length), (128, 4170));
        assert_eq!(hex(&bytes[..14]), "0200000000030200000000010800");
        // Version, CE, length; do not fragment; time to live, UDP.
        assert_eq!(hex(&bytes[14..24]), "4563103c000040004011");
        assert_eq!(hex(&bytes[26..42]), "0a0000010a000002c00012b710280000");
        // WRITE first, queue pair 2, PSN 0; RETH with the length.
        assert_eq!(hex(&bytes[42..54]), "0640ffff0000000200000000");
        assert_eq!(hex(&bytes[54..70]), "00000000000000000000000000002710");
        // The sum over a header with its checksum is all ones.
        assert_eq!(checksum(&bytes[14..34]), 0);
    }

    #[test]
    fn an_ack_a_nak_and_a_cnp() {
        let (ack, length) = frame(Kind::Ack, 0, 3, 66, Operation::Write);
        assert_eq!((ack.len(), length), (62, 62));
        assert_eq!(hex(&ack[42..58]), "1140ffff00000003000000021f000001");
        let (nak, _) = frame(Kind::Nak, 0, 2, 66, Operation::Write);
        assert_eq!(hex(&nak[42..58]), "1140ffff000000030000000260000000");
        let (cnp, _) = frame(Kind::Cnp, 0, 0, 66, Operation::Write);
        assert_eq!(hex(&cnp[42..54]), "8140ffff4000000300000000");
        // From the receiver to the sender.
        assert_eq!(hex(&ack[26..34]), "0a0000020a000001");
    }

    #[test]
    fn opcodes_tell_the_place_in_a_message() {
        let opcode = |flags, operation| frame(Kind::Data, flags, 1, 1000, operation).0[42];
        assert_eq!(
            [0, LAST, FIRST, FIRST | LAST].map(|flags| opcode(flags, Operation::Write)),
            [7, 8, 6, 10]
        );
        assert_eq!([0, LAST, FIRST, FIRST | LAST].map(|flags| opcode(flags, Operation::Send)), [1, 2, 0, 4]);
        assert_eq!(
            [0, LAST, FIRST, FIRST | LAST].map(|flags| opcode(flags, Operation::Read)),
            [14, 15, 13, 16]
        );
        assert_eq!(opcode(FIRST | LAST, Operation::Datagram), 0x64);
    }

    /// The known answer of the CRC, and that switches do not change it.
    #[test]
    fn the_invariant_crc_ignores_what_switches_change() {
        let (mut bytes, _) = frame(Kind::Ack, 0, 3, 66, Operation::Write);
        let before = invariant_crc(&bytes[14..58]);
        assert_eq!(bytes[58..62], before.to_le_bytes());
        bytes[22] -= 1;
        bytes[15] |= 3;
        assert_eq!(invariant_crc(&bytes[14..58]), before);
        bytes[57] ^= 1;
        assert_ne!(invariant_crc(&bytes[14..58]), before);
    }

    #[test]
    fn a_pfc_frame_names_classes_and_quanta() {
        let link = Link { a: 0, b: 1, rate: Rate::gbps(100), delay: Duration::from_us(1), error_rate: 0.0 };
        let graph = Graph::new(1, vec!["host0".into(), "leaf0".into()], vec![link]);
        let context =
            Context { graph: &graph, flows: &[], streams: &[], quanta: 65535, pfc_frame: 64, mtu: 4096 };
        let frame = Frame::Pfc { classes: 0b1_1000, pause: 0b1000 };
        let mut out = Vec::new();
        let length =
            context.write(&FrameRecord { at: Time::ZERO, port: 1, sent: true, frame }, 128, &mut out);
        assert_eq!((out.len(), length), (60, 60));
        assert_eq!(hex(&out[..34]), "0180c2000001020000000002880801010018000000000000ffff0000000000000000");
    }
}
