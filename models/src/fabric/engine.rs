//! The event loop: takes the earliest event and gives it to its target.

use sim_core::Time;
use sim_core::queue::EventQueue;
use sim_core::random;

use super::Fabric;
use crate::counters::DropReason;
use crate::link::InFlight;
use crate::packet::{Packet, TELEMETRY};
use crate::record::Recorder;
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
        } else {
            debug_assert!(target < t.end);
            self.on_drained(target - t.drain);
        }
    }

    /// The first packet in flight from port `from` arrives.
    #[inline]
    fn arrive(&mut self, from: PortIndex) {
        let link = &mut self.links[from as usize];
        let Some(InFlight { packet, .. }) = link.ring.pop() else {
            unreachable!("an arrival without a packet in flight")
        };
        if let Some(next) = link.ring.front() {
            self.queue.push(Time(next.at), from);
        }
        self.counters.packet_hops += 1;
        let (node, peer, local) = (link.node, link.peer, link.local);
        if link.lost > 0 || link.error_threshold > 0 {
            if link.lost > 0 {
                link.lost -= 1;
                return self.lose(&packet, peer, DropReason::LinkDown);
            }
            let draw = random::below(&mut self.link_random[from as usize], u64::MAX);
            if draw < link.error_threshold {
                return self.lose(&packet, peer, DropReason::LinkError);
            }
        }
        if link.to_switch {
            self.switch_receive(node, peer, local, packet);
        } else {
            self.host_receive(node, packet);
        }
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

    /// Puts `packet` onto the wire at an idle port.
    #[inline]
    pub(super) fn start_tx(&mut self, port: PortIndex, packet: Packet) {
        let p = &mut self.ports[port as usize];
        debug_assert!(p.busy_until <= self.now.0 && p.up);
        let tx = p.tx_time(packet.size);
        p.busy_until = self.now.0 + tx;
        p.tx_bytes += u64::from(packet.size);
        p.tx_packets += 1;
        let at = if packet.size > p.cut_through {
            self.now.0 + p.delay + p.wire_time(u64::from(p.cut_through))
        } else {
            p.busy_until + p.delay
        };
        let link = &mut self.links[port as usize];
        let first = link.ring.is_empty();
        link.ring.push(InFlight { at, packet });
        if first {
            self.queue.push(Time(at), port);
        }
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
