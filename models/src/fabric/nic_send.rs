//! The sending side of a NIC: queue pairs, pacing, arbitration, loss recovery and rate control.

use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use super::Fabric;
use crate::config::{CLASSES, Operation, Recovery};
use crate::congestion::{Allowance, Feedback};
use crate::packet::{
    ACK_REQUEST, ECN_ECHO, EXPLICIT, FIRST, Kind, LAST, Packet, TELEMETRY, since_stamp, stamp,
};
use crate::record::Recorder;

/// Where a queue pair stands with its host's arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing it may send: done, not started, or its window is full.
    Idle,
    /// In its host's round-robin ring.
    Ready,
    /// Waiting for its rate to let it send; a pace event is pending.
    Pacing,
}

/// The sending end of a queue pair. PSNs run from 0 over all messages.
#[derive(Clone, Debug)]
pub(super) struct SendQp {
    /// PSN to be sent next.
    pub next: u32,
    /// First PSN not acknowledged.
    pub acked: u32,
    /// One past the last PSN posted.
    pub end: u32,
    /// One past the highest PSN ever sent.
    pub sent: u32,
    /// Packets of a message.
    pub message_packets: u32,
    /// Payload bytes of a message's last packet.
    pub last_payload: u16,
    pub src: u32,
    pub dst: u32,
    /// Most packets in flight.
    pub window: u32,
    /// Rate in bit/s on the wire.
    pub rate: u64,
    /// The highest rate it may have.
    pub max_rate: u64,
    /// When its rate lets it send again.
    pub pace_at: u64,
    /// When everything unacknowledged is sent again.
    pub timeout_at: u64,
    pub class: u8,
    pub dscp: u8,
    pub ttl: u8,
    /// Flags of every packet.
    pub flags: u8,
    pub operation: Operation,
    pub turn: Turn,
    pub timeout_pending: bool,
    pub started: bool,
    /// Packets sent again.
    pub retransmissions: u32,
    /// Most packets in flight whatever congestion control allows.
    pub window_limit: u32,
    /// Its rate may change by itself: congestion control must be asked.
    pub adapting: bool,
    /// It paces: its rate is below the line rate.
    pub paced: bool,
    /// Its messages are posted while the fabric runs.
    pub stream: bool,
}

impl SendQp {
    /// Whether its window lets it send something it has.
    #[inline]
    fn has_work(&self) -> bool {
        self.next < self.end && self.next - self.acked < self.window
    }

    /// First PSN of the message that `psn` belongs to.
    pub fn message_start(&self, psn: u32) -> u32 {
        psn - psn % self.message_packets
    }
}

/// Progress and outcome of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowState {
    /// When it started, jitter included.
    pub started: Option<Time>,
    /// When its last acknowledgement arrived at the sender (READ: its last data at the requester; datagrams: when
    /// the last packet was sent).
    pub finished: Option<Time>,
}

impl FlowState {
    /// Flow completion time.
    pub fn fct(&self) -> Option<Duration> {
        Some(self.finished?.since(self.started?))
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Queue pair `qp` starts, or its rate lets it send again.
    pub(super) fn on_pace(&mut self, qp: u32) {
        let now = self.now;
        let s = &mut self.send[qp as usize];
        s.turn = Turn::Idle;
        if !s.started {
            s.started = true;
            self.start_flow(qp);
            return;
        }
        if s.adapting && s.pace_at > now.0 {
            // Woken early: the rate changed by itself, and the wait is measured again from the last packet.
            let before = s.rate;
            if let Some(allowance) = self.congestion.advance(qp, now) {
                self.allow(qp, allowance);
            }
            let s = &mut self.send[qp as usize];
            let left = u128::from(s.pace_at - now.0) * u128::from(before) / u128::from(s.rate.max(1));
            s.pace_at = now.0 + left as u64;
        }
        self.offer(qp);
    }

    fn start_flow(&mut self, qp: u32) {
        self.results[qp as usize].started = Some(self.now);
        self.last_delivery = self.now;
        match self.send[qp as usize].operation {
            Operation::Write | Operation::Send | Operation::Datagram => self.offer(qp),
            Operation::Read => self.request_read(qp, 0),
        }
    }

    /// Gives queue pair `qp` its turn if it has something to send.
    #[inline]
    pub(super) fn offer(&mut self, qp: u32) {
        let s = &mut self.send[qp as usize];
        if s.turn != Turn::Idle || !(s.has_work() || self.has_resend(qp)) {
            return;
        }
        let s = &mut self.send[qp as usize];
        if s.pace_at > self.now.0 {
            s.turn = Turn::Pacing;
            let mut at = s.pace_at;
            if s.adapting {
                let change = self.congestion.next_change(qp).0;
                at = at.min(change.max(self.now.0 + 1));
            }
            self.queue.push(Time(at), self.targets.pace + qp);
            return;
        }
        s.turn = Turn::Ready;
        let (src, class) = (s.src, s.class);
        let host = &mut self.hosts[src as usize];
        host.ready[usize::from(class)].push(qp);
        host.ready_classes |= 1 << class;
        if self.ports[src as usize].paused & (1 << class) == 0 {
            self.kick(src);
        }
    }

    #[inline]
    fn has_resend(&self, qp: u32) -> bool {
        !self.resend.is_empty() && !self.resend[qp as usize].is_empty()
    }

    /// Sends what is next in turn: PFC frames, then control packets, then the queue pairs round robin.
    pub(super) fn host_send_next(&mut self, h: u32) {
        let port = &mut self.ports[h as usize];
        if !port.up {
            return;
        }
        if port.tell != 0 {
            self.send_pfc(h);
        } else if port.backlog & !port.paused != 0 {
            let eligible = port.backlog & !port.paused;
            let class = 7 - eligible.leading_zeros() as u8;
            let queue = &mut self.queues[h as usize * CLASSES + usize::from(class)];
            let (slot, _) = self.packets.detach(&mut queue.list);
            let size = self.packets.get(slot).packet.size;
            queue.bytes -= u32::from(size);
            if queue.list.is_empty() {
                port.backlog &= !(1 << class);
            }
            self.start_tx(h, slot, size);
        } else {
            let host = &mut self.hosts[h as usize];
            let eligible = host.ready_classes & !port.paused;
            if eligible == 0 {
                return;
            }
            let class = if eligible.is_power_of_two() {
                eligible.trailing_zeros() as u8
            } else {
                (1..=8).map(|i| (host.turn + i) % 8).find(|c| eligible & (1 << c) != 0).unwrap_or(0)
            };
            host.turn = class;
            let ring = &mut host.ready[usize::from(class)];
            let Some(qp) = ring.pop() else { unreachable!("a ready class without queue pairs") };
            if ring.is_empty() {
                host.ready_classes &= !(1 << class);
            }
            self.send_data(h, qp);
        }
        let port = &mut self.ports[h as usize];
        let waiting = (port.backlog | self.hosts[h as usize].ready_classes) & !port.paused;
        if (waiting | port.tell) != 0 && !port.ready_pending {
            // Now, if the queue pair whose turn it was had nothing to send any more.
            port.ready_pending = true;
            self.queue.push(Time(port.busy_until.max(self.now.0)), self.targets.ready + h);
        }
    }

    /// Takes the PSN to send next: one the receiver misses, else the next in order.
    fn take_psn(&mut self, qp: u32) -> Option<u32> {
        let s = &mut self.send[qp as usize];
        if !self.resend.is_empty() {
            while let Some(psn) = self.resend[qp as usize].pop() {
                if psn >= s.acked {
                    return Some(psn);
                }
            }
        }
        if !s.has_work() {
            return None;
        }
        s.next += 1;
        Some(s.next - 1)
    }

    fn send_data(&mut self, h: u32, qp: u32) {
        self.send[qp as usize].turn = Turn::Idle;
        let Some(psn) = self.take_psn(qp) else { return };
        let s = &mut self.send[qp as usize];
        let (short, first) = if s.stream {
            self.streams[(qp - self.finite) as usize].packet(psn)
        } else {
            let index = if s.message_packets == s.end { psn } else { psn % s.message_packets };
            ((index + 1 == s.message_packets).then_some(s.last_payload), index == 0)
        };
        let last = short.is_some();
        let mut size = short.unwrap_or(self.nic.mtu as u16) + self.nic.header;
        if first && s.operation == Operation::Write {
            size += self.nic.reth;
        }
        let mut flags = s.flags;
        if last {
            flags |= LAST;
        }
        if s.next - s.acked >= s.window {
            flags |= ACK_REQUEST;
        }
        if R::FRAMES && first {
            flags |= FIRST;
        }
        if psn < s.sent {
            self.counters.retransmissions += 1;
            s.retransmissions += 1;
        } else {
            s.sent = psn + 1;
        }
        let mut sent_at = stamp(self.now);
        if flags & TELEMETRY != 0 {
            sent_at = self.telemetry.take(sent_at);
        }
        let packet = Packet {
            flow: qp,
            seq: psn,
            dst: s.dst,
            stamp: sent_at,
            size,
            in_port: 0,
            kind: Kind::Data,
            dscp: s.dscp,
            flags,
            ttl: s.ttl,
        };
        let reliable = matches!(s.operation, Operation::Write | Operation::Send);
        if reliable && (psn == s.acked || !s.timeout_pending) {
            // The clock runs from the oldest packet in flight.
            s.timeout_at = self.now.0 + self.nic.timeout;
            if !s.timeout_pending {
                s.timeout_pending = true;
                self.queue.push(Time(s.timeout_at), self.targets.timeout + qp);
            }
        }
        self.counters.created += 1;
        self.counters.data_sent += 1;
        self.start_new(h, packet);
        self.pace(h, qp, size);
        if self.send[qp as usize].operation == Operation::Datagram && psn + 1 == self.send[qp as usize].end {
            self.complete(qp);
        }
        self.offer_after_send(qp);
    }

    /// What the rate and the host's own limit allow after a packet of `size` frame bytes.
    #[inline]
    fn pace(&mut self, h: u32, qp: u32, size: u16) {
        let port = &mut self.ports[h as usize];
        let wire = u32::from(size) + u32::from(self.gap);
        if let Some(rate) = self.nic.inject_rate {
            let busy = (u64::from(wire) * 8_000_000_000_000).div_ceil(rate);
            port.busy_until = port.busy_until.max(self.now.0 + busy);
        }
        if self.send[qp as usize].adapting
            && let Some(allowance) = self.congestion.on_sent(qp, self.now, wire)
        {
            self.allow(qp, allowance);
        }
        let s = &mut self.send[qp as usize];
        if s.paced {
            s.pace_at = self.now.0 + (u64::from(wire) * 8_000_000_000_000).div_ceil(s.rate);
        }
    }

    /// Puts the queue pair back in line after its packet. The port is busy, so nothing is kicked.
    #[inline]
    fn offer_after_send(&mut self, qp: u32) {
        let s = &mut self.send[qp as usize];
        if s.paced {
            return self.offer(qp);
        }
        if s.has_work() || self.has_resend(qp) {
            let s = &mut self.send[qp as usize];
            s.turn = Turn::Ready;
            let host = &mut self.hosts[s.src as usize];
            host.ready[usize::from(s.class)].push(qp);
            host.ready_classes |= 1 << s.class;
        }
    }

    /// Applies what congestion control allows.
    pub(super) fn allow(&mut self, qp: u32, allowance: Allowance) {
        let line = self.paths[qp as usize].line_rate;
        let mtu = u64::from(self.nic.mtu);
        let s = &mut self.send[qp as usize];
        s.rate = allowance.rate.min(s.max_rate).max(1);
        s.paced = s.rate < line;
        if allowance.window != u64::MAX {
            s.window = u32::try_from((allowance.window / mtu).max(1)).unwrap_or(u32::MAX).min(s.window_limit);
        }
        s.adapting = self.congestion.next_change(qp) != Time::NEVER;
        if !s.paced {
            s.pace_at = s.pace_at.min(self.now.0);
        }
    }

    /// An ACK or NAK arrived at its sender.
    #[inline]
    pub(super) fn on_ack(&mut self, packet: &Packet) {
        let qp = packet.flow;
        let s = &mut self.send[qp as usize];
        let newly_acked = packet.seq.saturating_sub(s.acked);
        if newly_acked > 0 {
            s.acked = packet.seq;
            s.next = s.next.max(packet.seq);
            s.timeout_at = self.now.0 + self.nic.timeout;
        }
        let (acked, next) = (s.acked, s.next);
        if packet.flags & ECN_ECHO != 0 {
            self.on_cnp(qp);
        }
        // A selective NAK carries the missing PSN where others carry the time of sending: it measures nothing.
        let timed = packet.kind != Kind::Nak || self.nic.recovery != Recovery::SelectiveRepeat;
        if packet.flags & TELEMETRY != 0 || (timed && self.congestion.listens_to_acks()) {
            self.tell_congestion(packet, acked, next, newly_acked);
        }
        if packet.kind == Kind::Nak {
            self.on_nak(packet);
        }
        let s = &self.send[qp as usize];
        if s.stream {
            if s.turn == Turn::Idle {
                self.offer(qp);
            }
            if newly_acked > 0 {
                self.settle(qp, acked);
            }
        } else if s.acked >= s.end {
            if self.results[qp as usize].finished.is_none() {
                self.complete(qp);
            }
        } else if s.turn == Turn::Idle {
            self.offer(qp);
        }
    }

    fn tell_congestion(&mut self, packet: &Packet, acked: u32, next: u32, newly_acked: u32) {
        let slot = (packet.flags & TELEMETRY != 0).then_some(packet.stamp);
        let telemetry = slot.map(|slot| *self.telemetry.get(slot));
        let sent_at = telemetry.map_or(packet.stamp, |t| t.stamp);
        let feedback = Feedback {
            now: self.now,
            rtt: since_stamp(self.now, sent_at),
            acked,
            next,
            newly_acked,
            telemetry: telemetry.as_ref(),
        };
        if let Some(slot) = slot {
            self.telemetry.release(slot);
        }
        if let Some(allowance) = self.congestion.on_ack(packet.flow, &feedback) {
            self.allow(packet.flow, allowance);
        }
    }

    fn on_nak(&mut self, packet: &Packet) {
        let s = &mut self.send[packet.flow as usize];
        match self.nic.recovery {
            Recovery::GoBackN => s.next = s.next.min(packet.seq.max(s.acked)),
            Recovery::GoBack0 => {
                s.next = packet.seq;
                s.acked = s.acked.min(packet.seq);
            }
            Recovery::SelectiveRepeat => {
                if packet.stamp >= s.acked {
                    self.resend[packet.flow as usize].push(packet.stamp);
                }
            }
        }
    }

    /// A CNP (or an echoed mark) arrived.
    pub(super) fn on_cnp(&mut self, qp: u32) {
        self.counters.cnp_received += 1;
        let s = &self.send[qp as usize];
        if s.acked >= s.end {
            return;
        }
        if let Some(allowance) = self.congestion.on_cnp(qp, self.now) {
            self.allow(qp, allowance);
        }
    }

    /// The retransmission timer of `qp` may have run out.
    pub(super) fn on_timeout(&mut self, qp: u32) {
        if self.send[qp as usize].operation == Operation::Read {
            return self.on_read_timeout(qp);
        }
        let s = &mut self.send[qp as usize];
        s.timeout_pending = false;
        if s.acked >= s.end || s.acked == s.sent {
            return;
        }
        if self.now.0 < s.timeout_at {
            s.timeout_pending = true;
            self.queue.push(Time(s.timeout_at), self.targets.timeout + qp);
            return;
        }
        self.counters.timeouts += 1;
        s.next = match self.nic.recovery {
            Recovery::GoBackN | Recovery::SelectiveRepeat => s.acked,
            Recovery::GoBack0 => {
                s.acked = s.message_start(s.acked);
                s.acked
            }
        };
        s.timeout_pending = true;
        s.timeout_at = self.now.0 + self.nic.timeout;
        self.queue.push(Time(s.timeout_at), self.targets.timeout + qp);
        if let Some(resend) = self.resend.get_mut(qp as usize) {
            resend.clear();
        }
        self.offer(qp);
    }

    /// The sender of a READ was asked for everything from `psn` on.
    pub(super) fn on_read_request(&mut self, qp: u32, psn: u32) {
        let s = &mut self.send[qp as usize];
        s.next = psn;
        s.acked = psn;
        self.offer(qp);
    }

    /// The flow is done.
    pub(super) fn complete(&mut self, qp: u32) {
        self.results[qp as usize].finished = Some(self.now);
        self.completed += 1;
    }

    /// Marks a queue pair's packets as following an explicit path, or not.
    pub(super) fn set_explicit(&mut self, qp: u32, explicit: bool) {
        let flags = &mut self.send[qp as usize].flags;
        *flags = if explicit { *flags | EXPLICIT } else { *flags & !EXPLICIT };
    }
}
