//! The receiving side of a NIC: order, acknowledgements, CNPs and a slow host.

use std::collections::VecDeque;

use sim_core::queue::EventQueue;
use sim_core::{Rate, Time};

use super::Fabric;
use crate::config::{CLASSES, Operation, Recovery};
use crate::counters::DropReason;
use crate::link::Held;
use crate::packet::{ACK_REQUEST, CE, ECN_ECHO, Kind, LAST, Packet, TELEMETRY};
use crate::record::Recorder;

/// The receiving end of a queue pair.
#[derive(Clone, Debug)]
pub(super) struct ReceiveQp {
    /// Next PSN expected.
    pub expected: u32,
    /// Packets since the last ACK.
    pub unacked: u32,
    /// One past the last PSN of the flow.
    pub end: u32,
    /// Packets of a message.
    pub message_packets: u32,
    /// The sending host.
    pub src: u32,
    /// Datagrams: last packets of messages that arrived.
    pub ends_seen: u32,
    /// The RDMA operation.
    pub operation: Operation,
    /// A NAK for `expected` was sent.
    pub nak_sent: bool,
    /// A mark that no ACK has echoed yet.
    pub echo_due: bool,
    /// DSCP of its ACKs.
    pub ack_dscp: u8,
    /// Class of its ACKs at the NIC.
    pub ack_class: u8,
    /// When it may send the next CNP.
    pub cnp_at: u64,
    /// When it may repeat a NAK.
    pub nak_at: u64,
    /// READ: when the requester asks again.
    pub timeout_at: u64,
    /// READ: whether the requester's clock runs.
    pub timeout_pending: bool,
    /// Its messages are posted while the fabric runs.
    pub stream: bool,
}

impl ReceiveQp {
    /// First PSN of the message that `psn` belongs to.
    fn message_start(&self, psn: u32) -> u32 {
        psn - psn % self.message_packets
    }

    /// Payload bytes that arrived: in order, or for datagrams in any order.
    pub fn delivered(&self, size: u64, mtu: u64) -> u64 {
        let packets = u64::from(self.message_packets);
        let short = packets * mtu - size;
        let ends = if self.operation == Operation::Datagram {
            u64::from(self.ends_seen)
        } else {
            u64::from(self.expected) / packets
        };
        u64::from(self.expected) * mtu - ends * short
    }
}

/// Whether a packet arrived ahead of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Arrival {
    #[default]
    Missing,
    Inside,
    /// The last packet of its message.
    Last,
}

/// What a selective-repeat receiver holds beyond `expected`.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// Whether PSN `expected + i` arrived, and whether as the last of its message.
    arrived: VecDeque<Arrival>,
    /// All PSNs missing below this have been asked for.
    asked: u32,
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// A packet arrived at host `h`.
    #[inline]
    pub(super) fn host_receive(&mut self, h: u32, packet: Packet) {
        if self.hosts[h as usize].storm != 0 {
            return self.lose(&packet, h, DropReason::Nic);
        }
        match packet.kind {
            Kind::Data => {
                if self.nic.drain_rate.is_some() && !self.take_into_buffer(h, &packet) {
                    return self.lose(&packet, h, DropReason::Nic);
                }
                self.counters.delivered += 1;
                self.counters.data_delivered += 1;
                self.receive_data(h, packet);
            }
            Kind::Ack | Kind::Nak => {
                self.counters.delivered += 1;
                self.on_ack(&packet);
            }
            Kind::Cnp => {
                self.counters.delivered += 1;
                self.on_cnp(packet.flow);
            }
            Kind::ReadRequest => {
                self.counters.delivered += 1;
                self.on_read_request(packet.flow, packet.seq);
            }
        }
    }

    #[inline]
    fn receive_data(&mut self, h: u32, packet: Packet) {
        let flow = packet.flow;
        if packet.flags & CE != 0 {
            self.counters.data_delivered_marked += 1;
            if self.nic.notifies {
                self.on_mark(h, flow);
            }
        }
        let r = &mut self.receive[flow as usize];
        let operation = r.operation;
        if operation == Operation::Datagram {
            r.expected += 1;
            r.ends_seen += u32::from(packet.flags & LAST != 0);
            self.last_delivery = self.now;
            return self.drop_telemetry(&packet);
        }
        if packet.seq == r.expected {
            r.expected += 1;
            r.nak_sent = false;
            self.last_delivery = self.now;
            let mut advanced = 1;
            let mut messages = u32::from(packet.flags & LAST != 0);
            if self.nic.recovery == Recovery::SelectiveRepeat {
                let (following, ends) = self.out_of_order[flow as usize].advance();
                advanced += following;
                messages += ends;
                self.receive[flow as usize].expected += advanced - 1;
            }
            if operation == Operation::Read {
                self.drop_telemetry(&packet);
                return self.on_read_progress(flow);
            }
            let r = &mut self.receive[flow as usize];
            r.unacked += advanced;
            let stream = r.stream;
            if r.unacked >= self.nic.ack_every || packet.flags & (LAST | ACK_REQUEST) != 0 {
                self.acknowledge(h, Kind::Ack, &packet, 0);
            } else {
                self.drop_telemetry(&packet);
            }
            if stream {
                for _ in 0..messages {
                    self.on_message_arrived(flow);
                }
            }
        } else if packet.seq > r.expected {
            self.receive_ahead(h, packet);
        } else if operation == Operation::Read {
            self.drop_telemetry(&packet);
        } else {
            self.receive_again(h, packet);
        }
    }

    /// A packet from beyond a gap.
    fn receive_ahead(&mut self, h: u32, packet: Packet) {
        let flow = packet.flow;
        if self.nic.recovery == Recovery::SelectiveRepeat {
            return self.keep_ahead(h, packet);
        }
        let (now, interval) = (self.now.0, self.nic.nak_interval);
        let r = &mut self.receive[flow as usize];
        if r.nak_sent && (interval == 0 || now < r.nak_at) {
            return self.drop_telemetry(&packet);
        }
        r.nak_sent = true;
        r.nak_at = now + interval;
        if self.nic.recovery == Recovery::GoBack0 {
            r.expected = r.message_start(r.expected);
        }
        self.counters.naks += 1;
        let (operation, missing) = (r.operation, r.expected);
        if operation == Operation::Read {
            self.drop_telemetry(&packet);
            self.request_read(flow, missing);
        } else {
            self.acknowledge(h, Kind::Nak, &packet, missing);
        }
    }

    /// Selective repeat: keeps the packet and asks for what is surely missing.
    fn keep_ahead(&mut self, h: u32, packet: Packet) {
        let flow = packet.flow;
        let expected = self.receive[flow as usize].expected;
        let limit = packet.seq.saturating_sub(self.nic.reorder_window);
        let held = &mut self.out_of_order[flow as usize];
        let offset = (packet.seq - expected) as usize;
        if held.arrived.len() <= offset {
            held.arrived.resize(offset + 1, Arrival::Missing);
        }
        held.arrived[offset] = if packet.flags & LAST == 0 { Arrival::Inside } else { Arrival::Last };
        let first = held.asked.max(expected);
        held.asked = held.asked.max(limit);
        let read = self.receive[flow as usize].operation == Operation::Read;
        for psn in first..limit {
            if self.out_of_order[flow as usize].arrived[(psn - expected) as usize] == Arrival::Missing {
                self.counters.naks += 1;
                if read {
                    self.request_read(flow, expected);
                    break;
                }
                // Only the first NAK of a packet may carry its telemetry on.
                self.acknowledge(h, Kind::Nak, &Packet { flags: packet.flags & !TELEMETRY, ..packet }, psn);
            }
        }
        if read {
            self.drop_telemetry(&packet);
        } else {
            self.acknowledge(h, Kind::Ack, &packet, 0);
        }
    }

    /// A packet that had arrived before.
    fn receive_again(&mut self, h: u32, packet: Packet) {
        let r = &mut self.receive[packet.flow as usize];
        if self.nic.recovery == Recovery::GoBack0 && packet.seq == r.message_start(r.expected) {
            r.expected = packet.seq + 1;
            r.nak_sent = false;
        }
        self.acknowledge(h, Kind::Ack, &packet, 0);
    }

    #[inline]
    fn drop_telemetry(&mut self, packet: &Packet) {
        if packet.flags & TELEMETRY != 0 {
            self.telemetry.release(packet.stamp);
        }
    }

    /// Sends an ACK or NAK for `packet`.
    #[inline]
    fn acknowledge(&mut self, h: u32, kind: Kind, packet: &Packet, missing: u32) {
        let r = &mut self.receive[packet.flow as usize];
        r.unacked = 0;
        let mut flags = packet.flags & TELEMETRY;
        if r.echo_due {
            r.echo_due = false;
            flags |= ECN_ECHO;
            self.counters.cnp_sent += 1;
        }
        let selective = kind == Kind::Nak && self.nic.recovery == Recovery::SelectiveRepeat;
        let reply = Packet {
            flow: packet.flow,
            seq: r.expected,
            dst: r.src,
            stamp: if selective { missing } else { packet.stamp },
            size: self.nic.ack_frame,
            in_port: 0,
            kind,
            dscp: r.ack_dscp,
            flags,
            ttl: 63,
        };
        let class = r.ack_class;
        self.send_control(h, class, reply);
    }

    /// Sends a control packet from host `h`, at once if its port is free.
    #[inline]
    fn send_control(&mut self, h: u32, class: u8, packet: Packet) {
        self.counters.created += 1;
        let bit = 1u8 << class;
        let port = &mut self.ports[h as usize];
        let free = port.busy_until <= self.now.0 && !port.ready_pending && port.tell == 0 && port.up;
        if free && port.paused & bit == 0 && port.backlog & !port.paused == 0 {
            self.start_new(h, packet);
            let port = &mut self.ports[h as usize];
            if self.hosts[h as usize].ready_classes & !port.paused != 0 && !port.ready_pending {
                port.ready_pending = true;
                self.queue.push(Time(port.busy_until), self.targets.ready + h);
            }
            return;
        }
        let queue = &mut self.queues[h as usize * CLASSES + usize::from(class)];
        let slot = self.packets.take(Held::new(packet));
        self.packets.append(&mut queue.list, slot, 0);
        queue.bytes += u32::from(packet.size);
        queue.peak = queue.peak.max(queue.bytes);
        port.backlog |= bit;
        if port.paused & bit == 0 {
            self.kick(h);
        }
    }

    /// A marked packet of `flow` arrived: the notification point.
    fn on_mark(&mut self, h: u32, flow: u32) {
        let r = &mut self.receive[flow as usize];
        if self.nic.echo_in_ack {
            r.echo_due = true;
            return;
        }
        if self.now.0 < r.cnp_at {
            return;
        }
        r.cnp_at = self.now.0 + self.nic.cnp_interval;
        if self.nic.cnp_delay == 0 {
            return self.send_cnp(h, flow);
        }
        let due = self.now.0 + self.nic.cnp_delay;
        let waiting = &mut self.hosts[h as usize].cnps;
        let first = waiting.is_empty();
        waiting.push((due, flow));
        if first {
            self.queue.push(Time(due), self.targets.cnp + h);
        }
    }

    /// The first delayed CNP of host `h` is due.
    pub(super) fn on_delayed_cnp(&mut self, h: u32) {
        let waiting = &mut self.hosts[h as usize].cnps;
        let Some((_, flow)) = waiting.pop() else { unreachable!("a CNP event without a CNP") };
        if let Some(&(due, _)) = waiting.front() {
            self.queue.push(Time(due), self.targets.cnp + h);
        }
        self.send_cnp(h, flow);
    }

    fn send_cnp(&mut self, h: u32, flow: u32) {
        self.counters.cnp_sent += 1;
        let packet = self.control_packet(flow, Kind::Cnp, 0);
        let class = self.nic.cnp_class;
        self.send_control(h, class, Packet { dscp: 8 * class, ..packet });
    }

    fn control_packet(&self, flow: u32, kind: Kind, seq: u32) -> Packet {
        let r = &self.receive[flow as usize];
        Packet {
            flow,
            seq,
            dst: r.src,
            stamp: 0,
            size: self.nic.ack_frame,
            in_port: 0,
            kind,
            dscp: r.ack_dscp,
            flags: 0,
            ttl: 63,
        }
    }

    /// The requester of a READ asks for everything from `psn` on and starts its clock.
    pub(super) fn request_read(&mut self, flow: u32, psn: u32) {
        let mut packet = self.control_packet(flow, Kind::ReadRequest, psn);
        let h = self.flows[flow as usize].dst;
        packet.size = packet.size - 4 + self.nic.reth;
        let class = self.receive[flow as usize].ack_class;
        self.send_control(h, class, packet);
        let r = &mut self.receive[flow as usize];
        r.timeout_at = self.now.0 + self.nic.timeout;
        if !r.timeout_pending {
            r.timeout_pending = true;
            self.queue.push(Time(r.timeout_at), self.targets.timeout + flow);
        }
    }

    fn on_read_progress(&mut self, flow: u32) {
        let r = &mut self.receive[flow as usize];
        r.timeout_at = self.now.0 + self.nic.timeout;
        if r.expected >= r.end && self.results[flow as usize].finished.is_none() {
            self.complete(flow);
        }
    }

    /// The requester's clock of a READ may have run out.
    pub(super) fn on_read_timeout(&mut self, flow: u32) {
        let r = &mut self.receive[flow as usize];
        r.timeout_pending = false;
        if self.results[flow as usize].finished.is_some() {
            return;
        }
        if self.now.0 < r.timeout_at {
            r.timeout_pending = true;
            self.queue.push(Time(r.timeout_at), self.targets.timeout + flow);
            return;
        }
        self.counters.timeouts += 1;
        let expected = r.expected;
        self.request_read(flow, expected);
    }

    /// A slow host: takes the packet into the receive buffer, pauses beyond XOFF. False: there is no room.
    fn take_into_buffer(&mut self, h: u32, packet: &Packet) -> bool {
        let Some(rate) = self.nic.drain_rate else { return true };
        let level = self.drain(h, rate);
        if level + u64::from(packet.size) > self.nic.receive_buffer {
            return false;
        }
        let host = &mut self.hosts[h as usize];
        host.received = level + u64::from(packet.size);
        let classes = 1u8 << self.rules.class_of_dscp[usize::from(packet.dscp & 63)];
        if host.received > self.nic.receive_xoff && self.pauses[h as usize].xoff & classes == 0 {
            self.want_pause(h, classes);
            self.await_drain(h, rate);
        }
        true
    }

    /// Bytes in the receive buffer now.
    fn drain(&mut self, h: u32, rate: u64) -> u64 {
        let host = &mut self.hosts[h as usize];
        let drained = Rate(rate).bytes_in(self.now.since(Time(host.drained_at))).0;
        if drained > 0 {
            host.received = host.received.saturating_sub(drained);
            host.drained_at = self.now.0;
        }
        host.received
    }

    fn await_drain(&mut self, h: u32, rate: u64) {
        let xon = self.nic.receive_xoff / 2;
        let host = &mut self.hosts[h as usize];
        if !host.drain_pending {
            host.drain_pending = true;
            let wait = Rate(rate).tx_time(host.received.saturating_sub(xon) + 1);
            self.queue.push(self.now + wait, self.targets.drain + h);
        }
    }

    /// A slow host's buffer may have fallen to XON.
    pub(super) fn on_drained(&mut self, h: u32) {
        let Some(rate) = self.nic.drain_rate else { return };
        self.hosts[h as usize].drain_pending = false;
        if self.drain(h, rate) > self.nic.receive_xoff / 2 {
            return self.await_drain(h, rate);
        }
        let paused = self.pauses[h as usize].xoff & !self.hosts[h as usize].storm;
        self.want_resume(h, paused);
    }
}

impl OutOfOrder {
    /// The expected packet arrived: how many that follow it are here already, and how many of them end a message.
    fn advance(&mut self) -> (u32, u32) {
        self.arrived.pop_front();
        let (mut following, mut ends) = (0, 0);
        while let Some(&arrival) = self.arrived.front() {
            if arrival == Arrival::Missing {
                break;
            }
            self.arrived.pop_front();
            following += 1;
            ends += u32::from(arrival == Arrival::Last);
        }
        (following, ends)
    }
}
