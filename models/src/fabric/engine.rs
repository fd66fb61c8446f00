//! The event loop: takes the earliest event and gives it to its target.

use sim_core::queue::EventQueue;
use sim_core::{Time, random};

use super::Fabric;
use crate::counters::DropReason;
use crate::link::Held;
use crate::packet::{Packet, TELEMETRY};
use crate::record::{Frame, FrameRecord, Recorder};
use crate::topology::PortIndex;

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Handles all events up to and including `limit`.
    pub(super) fn run_events(&mut self, limit: Time) {
        while let Some((at, target)) = self.queue.pop_until(limit) {
            debug_assert!(at >= self.now, "time went backwards");
            self.warm();
            self.now = at;
            self.counters.events += 1;
            let t = &self.targets;
            if target < t.ready {
                self.arrive(target);
            } else if target < t.pfc {
                let port = target - t.ready;
                self.ports[port as usize].ready_pending = false;
                self.send_next(port);
            } else if target >= t.pace && target < t.timeout {
                self.on_pace(target - t.pace);
            } else if target >= t.thread && target < t.compute {
                if target < t.post {
                    self.on_thread(target - t.thread);
                } else {
                    self.on_post(target - t.post);
                }
            } else {
                self.rare_event(target);
            }
        }
        self.now = self.now.max(limit);
    }

    #[inline(never)]
    fn rare_event(&mut self, target: u32) {
        let t = self.targets;
        if target < t.expire {
            self.pfc_arrive(target - t.pfc);
        } else if target < t.refresh {
            self.pfc_expire(target - t.expire);
        } else if target < t.pace {
            self.pfc_refresh(target - t.refresh);
        } else if target < t.cnp {
            self.on_timeout(target - t.timeout);
        } else if target < t.drain {
            self.on_delayed_cnp(target - t.cnp);
        } else if target < t.thread {
            self.on_drained(target - t.drain);
        } else {
            debug_assert!(target < t.end);
            self.on_computed(target - t.compute);
        }
    }

    /// The first packet in flight from port `from` arrives.
    #[inline]
    fn arrive(&mut self, from: PortIndex) {
        let port = &mut self.ports[from as usize];
        let (slot, next) = self.packets.detach(&mut port.flying);
        let (node, peer, local) = (port.node, port.peer, port.local);
        let (to_switch, lossy_link) = (port.to_switch, port.lossy_link);
        if let Some(at) = next {
            self.queue.push(Time(at), from);
        }
        self.counters.packet_hops += 1;
        if lossy_link && let Some(reason) = self.lost_on_link(from) {
            return self.lose_slot(slot, peer, reason);
        }
        if R::FRAMES {
            self.record_frame(peer, false, slot);
        }
        if to_switch {
            self.switch_receive(node, peer, local, slot);
        } else {
            let packet = self.packets.get(slot).packet;
            self.packets.release(slot);
            self.host_receive(node, packet);
        }
    }

    /// Whether the packet that arrives over the link from port `from` was lost on it.
    #[cold]
    fn lost_on_link(&mut self, from: PortIndex) -> Option<DropReason> {
        let fault = &mut self.link_faults[from as usize];
        if fault.lost > 0 {
            fault.lost -= 1;
            return Some(DropReason::LinkDown);
        }
        if fault.error_threshold == 0 {
            return None;
        }
        let draw = random::below(&mut self.link_random[from as usize], u64::MAX);
        (draw < fault.error_threshold).then_some(DropReason::LinkError)
    }

    /// Sends what is next in turn from an idle port.
    #[inline]
    pub(super) fn send_next(&mut self, port: PortIndex) {
        if port < self.hosts_count {
            self.host_send_next(port);
        } else {
            self.switch_send_next(port);
        }
    }

    /// Something may be sent at `port` that could not before: sends it now or as soon as the port is free.
    #[inline]
    pub(super) fn kick(&mut self, port: PortIndex) {
        let p = &mut self.ports[port as usize];
        if p.ready_pending {
            return;
        }
        if p.busy_until <= self.now.0 {
            self.send_next(port);
        } else {
            p.ready_pending = true;
            self.queue.push(Time(p.busy_until), self.targets.ready + port);
        }
    }

    /// Puts a new packet onto the wire at an idle port.
    #[inline]
    pub(super) fn start_new(&mut self, port: PortIndex, packet: Packet) {
        let slot = self.packets.take(Held::new(packet));
        self.start_tx(port, slot, packet.size);
    }

    /// Puts the packet in `slot`, of `size` frame bytes, onto the wire at an idle port.
    #[inline]
    pub(super) fn start_tx(&mut self, port: PortIndex, slot: u32, size: u16) {
        if R::FRAMES {
            self.record_frame(port, true, slot);
        }
        let gap = u64::from(self.gap);
        let rates = &self.rates;
        let p = &mut self.ports[port as usize];
        debug_assert!(p.busy_until <= self.now.0 && p.up);
        let tx = p.wire_time(u64::from(size) + gap, || rates[port as usize]);
        p.busy_until = self.now.0 + tx;
        p.tx_bytes += u64::from(size);
        p.tx_packets = p.tx_packets.wrapping_add(1);
        if p.tx_packets == 0 {
            self.pauses[port as usize].tx_packet_wraps += 1;
        }
        let at = if size > p.cut_through {
            self.now.0 + p.delay + p.wire_time(u64::from(p.cut_through), || rates[port as usize])
        } else {
            p.busy_until + p.delay
        };
        if self.packets.append(&mut p.flying, slot, at) {
            self.queue.push(Time(at), port);
        }
    }

    /// The packet in `slot` is sent at `port` or has arrived there.
    fn record_frame(&mut self, port: PortIndex, sent: bool, slot: u32) {
        let frame = Frame::Packet(self.packets.get(slot).packet);
        self.recorder.frame(FrameRecord { at: self.now, port, sent, frame });
    }

    /// The packet in `slot`, which is on no list, is lost at `port`.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_slot(&mut self, slot: u32, port: PortIndex, reason: DropReason) {
        let packet = self.packets.get(slot).packet;
        self.packets.release(slot);
        self.lose(&packet, port, reason);
    }

    /// A packet is lost at `port`.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, packet: &Packet, port: PortIndex, reason: DropReason) {
        self.counters.drops[reason as usize] += 1;
        *self.losses.by_port.entry((port, reason)).or_default() += 1;
        if packet.flags & TELEMETRY != 0 {
            self.telemetry.release(packet.stamp);
        }
    }
}
