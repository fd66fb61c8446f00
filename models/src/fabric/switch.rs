//! A packet at a switch: routing, admission, queueing, departure.

use sim_core::queue::EventQueue;
use sim_core::random;

use super::{Fabric, Flowlet};
use crate::buffer::Refused;
use crate::config::{CLASSES, ClassKind, RoutingMode};
use crate::counters::DropReason;
use crate::link::{TelemetryHop, UNKNOWN};
use crate::packet::{CE, EXPLICIT, Kind, Packet, TELEMETRY};
use crate::port::pick_class;
use crate::record::Recorder;
use crate::routing::ecmp_index;
use crate::topology::PortIndex;

/// Entries of a switch's flowlet table.
pub(super) const FLOWLET_TABLE: usize = 4096;

#[inline]
fn queue_of(port: PortIndex, class: u8) -> usize {
    port as usize * CLASSES + usize::from(class)
}

/// The port that a loss is charged to: the egress whose limit, link or watchdog is the reason, else the ingress.
#[cold]
fn place_of(reason: DropReason, ingress: PortIndex, out: PortIndex) -> PortIndex {
    match reason {
        DropReason::Egress | DropReason::LinkDown | DropReason::Watchdog => out,
        DropReason::Headroom
        | DropReason::Buffer
        | DropReason::Ttl
        | DropReason::NoRoute
        | DropReason::LinkError
        | DropReason::Fault
        | DropReason::Nic => ingress,
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// The packet in `slot` arrived at switch `index` by port `ingress` (its `local`-th).
    #[inline]
    pub(super) fn switch_receive(&mut self, index: u32, ingress: PortIndex, local: u16, slot: u32) {
        let held = self.packets.get_mut(slot);
        held.packet.in_port = local;
        let (mut packet, mut out) = (held.packet, held.out);
        held.out = UNKNOWN;
        if out == UNKNOWN {
            let Some(found) = self.route(index, &packet) else {
                return self.lose_slot(slot, ingress, DropReason::NoRoute);
            };
            out = found;
        } else {
            debug_assert_eq!(self.route(index, &packet), Some(out), "looked up ahead and found elsewhere");
        }
        let class = self.rules.class_of_dscp[usize::from(packet.dscp & 63)];
        let bit = 1u8 << class;
        let charge = self.rules.charge(packet.size);
        let port = &self.ports[out as usize];
        if port.to_switch {
            if packet.ttl == 0 {
                return self.lose_slot(slot, ingress, DropReason::Ttl);
            }
            packet.ttl -= 1;
            self.packets.get_mut(slot).packet.ttl = packet.ttl;
        }
        if (port.closed & bit != 0 || self.rules.drops)
            && let Some(reason) = self.refuses(index, out, class, &packet)
        {
            return self.lose_slot(slot, place_of(reason, ingress, out), reason);
        }
        let port = &self.ports[out as usize];
        let idle =
            port.busy_until <= self.now.0 && !port.ready_pending && (port.paused & bit) | port.tell == 0;
        if idle && self.passes(index, ingress, class, charge) {
            return self.pass(index, out, class, charge, slot, &packet);
        }
        if let Err(reason) = self.admit(index, ingress, out, class, charge) {
            return self.lose_slot(slot, place_of(reason, ingress, out), reason);
        }
        let queue = &mut self.queues[queue_of(out, class)];
        if self.rules.ecn_at_enqueue
            && self.rules.ecn_classes & bit != 0
            && packet.kind == Kind::Data
            && self.red[out as usize].marks(u64::from(queue.bytes), &mut self.switches[index as usize].random)
        {
            self.packets.get_mut(slot).packet.flags |= CE;
            queue.marked += 1;
            self.counters.marked += 1;
        }
        queue.bytes += charge;
        if queue.bytes > queue.peak {
            queue.peak = queue.bytes;
        }
        let port = &mut self.ports[out as usize];
        if port.busy_until <= self.now.0 && !port.ready_pending && (port.paused & bit) | port.tell == 0 {
            debug_assert!(queue.list.is_empty());
            return self.depart(out, class, slot);
        }
        self.packets.append(&mut queue.list, slot, 0);
        port.backlog |= bit;
        if !port.ready_pending && port.paused & bit == 0 {
            self.kick(out);
        }
    }

    /// Whether a packet for an idle port would come and go without a trace in the buffer: nothing else of its ingress
    /// is held, and it does not cross XOFF.
    #[inline]
    fn passes(&self, index: u32, ingress: PortIndex, class: u8, charge: u32) -> bool {
        match self.rules.kind[usize::from(class)] {
            ClassKind::Lossless => {
                self.rules.lossless_egress.is_none()
                    && self.switches[index as usize]
                        .buffer
                        .passes(&self.ingress[queue_of(ingress, class)], charge)
            }
            ClassKind::Lossy => false,
            ClassKind::Control => true,
        }
    }

    /// Sends a packet straight through an idle port: what admission and departure would do at the same instant, but
    /// for their changes that cancel out. Its queue is empty, so nothing is marked.
    #[inline]
    fn pass(&mut self, index: u32, out: PortIndex, class: u8, charge: u32, slot: u32, packet: &Packet) {
        let queue = &mut self.queues[queue_of(out, class)];
        debug_assert!(queue.list.is_empty() && queue.bytes == 0);
        queue.peak = queue.peak.max(charge);
        if self.rules.kind[usize::from(class)] == ClassKind::Lossless {
            self.switches[index as usize].buffer.touch(charge);
        }
        if packet.flags & TELEMETRY != 0 {
            self.add_telemetry(out, 0, packet.stamp);
        }
        self.start_tx(out, slot, packet.size);
    }

    #[cold]
    #[inline(never)]
    fn add_telemetry(&mut self, out: PortIndex, queue: u32, slot: u32) {
        let port = &self.ports[out as usize];
        let hop = TelemetryHop {
            at: self.now.0,
            tx_bytes: port.tx_bytes,
            queue,
            port: out,
            mbps: (self.rates[out as usize] / 1_000_000) as u32,
        };
        self.telemetry.add(slot, hop);
    }

    /// What stops a packet before it is charged to the buffer: a dead link, the watchdog, an injected fault.
    #[cold]
    fn refuses(&mut self, index: u32, out: PortIndex, class: u8, packet: &Packet) -> Option<DropReason> {
        let port = &self.ports[out as usize];
        if !port.up {
            return Some(DropReason::LinkDown);
        }
        if port.closed & (1 << class) != 0 {
            return Some(DropReason::Watchdog);
        }
        let every = self.switches[index as usize].drop_every;
        if every != 0 && packet.kind == Kind::Data {
            let seen = &mut self.seen[packet.flow as usize];
            *seen += 1;
            if seen.is_multiple_of(every) {
                return Some(DropReason::Fault);
            }
        }
        None
    }

    /// Charges a packet of `charge` bytes to the buffer, asks for a pause where that crosses XOFF. An error: it is lost.
    #[inline]
    fn admit(
        &mut self,
        index: u32,
        ingress: PortIndex,
        out: PortIndex,
        class: u8,
        charge: u32,
    ) -> Result<(), DropReason> {
        let buffer = &mut self.switches[index as usize].buffer;
        let queued = u64::from(self.queues[queue_of(out, class)].bytes) + u64::from(charge);
        let memory = &mut self.ingress[queue_of(ingress, class)];
        match self.rules.kind[usize::from(class)] {
            ClassKind::Lossless => {
                if self.rules.lossless_egress.is_some_and(|limit| queued > limit.at(buffer.free())) {
                    return Err(DropReason::Egress);
                }
                match buffer.admit_lossless(memory, charge) {
                    Ok(beyond_xoff) => {
                        if beyond_xoff {
                            self.beyond_xoff(ingress, class);
                        }
                        Ok(())
                    }
                    Err(_) => {
                        self.count_headroom_loss(ingress, class, charge);
                        Err(DropReason::Headroom)
                    }
                }
            }
            ClassKind::Lossy => {
                if queued > self.rules.lossy_egress.at(buffer.free()) {
                    return Err(DropReason::Egress);
                }
                match buffer.admit_lossy(memory, charge) {
                    Ok(()) => Ok(()),
                    Err(Refused::Buffer | Refused::Headroom) => Err(DropReason::Buffer),
                }
            }
            ClassKind::Control => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn beyond_xoff(&mut self, ingress: PortIndex, class: u8) {
        let memory = &mut self.ingress[queue_of(ingress, class)];
        let peak = &mut self.headroom_peaks[queue_of(ingress, class)];
        *peak = (*peak).max(memory.headroom);
        if self.rules.pfc_enabled && !memory.xoff {
            memory.xoff = true;
            self.want_pause(ingress, 1 << class);
        }
    }

    #[cold]
    #[inline(never)]
    fn below_xon(&mut self, ingress: PortIndex, class: u8) {
        self.ingress[queue_of(ingress, class)].xoff = false;
        if let Some(loss) = self.losses.headroom.get_mut(&(ingress, class)) {
            loss.episode = 0;
        }
        self.want_resume(ingress, 1 << class);
    }

    #[cold]
    #[inline(never)]
    fn count_headroom_loss(&mut self, ingress: PortIndex, class: u8, charge: u32) {
        let loss = self.losses.headroom.entry((ingress, class)).or_default();
        loss.packets += 1;
        loss.episode += u64::from(charge);
        loss.missing = loss.missing.max(loss.episode);
    }

    /// Releases the packet in `slot` from its memory, marks it and sends it. The port must be idle.
    #[inline]
    fn depart(&mut self, out: PortIndex, class: u8, slot: u32) {
        let packet = self.packets.get(slot).packet;
        let charge = self.rules.charge(packet.size);
        let queue = &mut self.queues[queue_of(out, class)];
        queue.bytes -= charge;
        let index = self.ports[out as usize].owner;
        let switch = &mut self.switches[index as usize];
        if packet.kind == Kind::Data {
            if !self.rules.ecn_at_enqueue
                && self.rules.ecn_classes & (1 << class) != 0
                && self.red[out as usize].marks(u64::from(queue.bytes), &mut switch.random)
            {
                self.packets.get_mut(slot).packet.flags |= CE;
                queue.marked += 1;
                self.counters.marked += 1;
            }
            if packet.flags & TELEMETRY != 0 {
                let behind = queue.bytes;
                self.add_telemetry(out, behind, packet.stamp);
            }
        }
        let ingress = self.switches[index as usize].first_port + PortIndex::from(packet.in_port);
        let resume = self.release(index, ingress, class, charge);
        self.start_tx(out, slot, packet.size);
        if resume {
            self.below_xon(ingress, class);
        }
    }

    /// Gives `charge` bytes of an ingress back. Returns whether its sender may now resume.
    #[inline]
    fn release(&mut self, index: u32, ingress: PortIndex, class: u8, charge: u32) -> bool {
        let buffer = &mut self.switches[index as usize].buffer;
        let memory = &mut self.ingress[queue_of(ingress, class)];
        match self.rules.kind[usize::from(class)] {
            ClassKind::Lossless => buffer.release_lossless(memory, charge) && memory.xoff,
            ClassKind::Lossy => {
                buffer.release_lossy(memory, charge);
                false
            }
            ClassKind::Control => false,
        }
    }

    /// Sends what is next in turn: PFC frames, then the eligible class the scheduler picks.
    #[inline]
    pub(super) fn switch_send_next(&mut self, out: PortIndex) {
        let port = &mut self.ports[out as usize];
        if !port.up {
            return;
        }
        if port.tell != 0 {
            self.send_pfc(out);
        } else {
            let eligible = port.backlog & !port.paused;
            if eligible == 0 {
                return;
            }
            let base = out as usize * CLASSES;
            let (queues, packets) = (&self.queues, &self.packets);
            let head = |class: u8| {
                let first = queues[base + usize::from(class)].list.first();
                i32::from(packets.get(first).packet.size)
            };
            let class = pick_class(
                eligible,
                self.rules.strict,
                &mut self.dwrr[out as usize],
                &self.rules.weights,
                head,
            );
            let queue = &mut self.queues[base + usize::from(class)];
            let (slot, _) = self.packets.detach(&mut queue.list);
            if queue.list.is_empty() {
                port.backlog &= !(1 << class);
            }
            self.depart(out, class, slot);
        }
        let port = &mut self.ports[out as usize];
        if (port.backlog & !port.paused) | port.tell != 0 && !port.ready_pending {
            port.ready_pending = true;
            self.queue.push(sim_core::Time(port.busy_until), self.targets.ready + out);
        }
    }

    /// Empties the queues of `classes` at a switch's port, because of `reason`.
    pub(super) fn flush(&mut self, out: PortIndex, classes: u8, reason: DropReason) {
        let index = self.ports[out as usize].owner;
        for class in (0..CLASSES as u8).filter(|class| classes & (1 << class) != 0) {
            while !self.queues[queue_of(out, class)].list.is_empty() {
                let (slot, _) = self.packets.detach(&mut self.queues[queue_of(out, class)].list);
                let packet = self.packets.get(slot).packet;
                let charge = self.rules.charge(packet.size);
                self.queues[queue_of(out, class)].bytes -= charge;
                let ingress = self.switches[index as usize].first_port + PortIndex::from(packet.in_port);
                if self.release(index, ingress, class, charge) {
                    self.below_xon(ingress, class);
                }
                self.lose_slot(slot, out, reason);
            }
            self.ports[out as usize].backlog &= !(1 << class);
        }
    }

    /// The egress port for a packet, or `None` when its destination cannot be reached.
    #[inline]
    fn route(&mut self, index: u32, packet: &Packet) -> Option<PortIndex> {
        if packet.flags & EXPLICIT != 0
            && let Some(port) = self.explicit.lookup(index, packet.flow)
        {
            return Some(port);
        }
        match self.routes.candidates(self.routes.group(index, packet.dst)) {
            [] => None,
            [only] => Some(*only),
            many => {
                let count = many.len() as u32;
                let choice = match self.routing_mode {
                    RoutingMode::Ecmp => {
                        ecmp_index(packet.flow, self.switches[index as usize].hash_seed, count)
                    }
                    RoutingMode::Spray => {
                        random::below(&mut self.switches[index as usize].random, u64::from(count)) as u32
                    }
                    RoutingMode::Flowlet { gap } => {
                        let now = self.now.0;
                        let switch = &mut self.switches[index as usize];
                        let entry = &mut switch.flowlets
                            [ecmp_index(packet.flow, switch.hash_seed, FLOWLET_TABLE as u32) as usize];
                        if !entry.known || now - entry.last > gap.0 || entry.choice >= count {
                            let choice = random::below(&mut switch.random, u64::from(count)) as u32;
                            *entry = Flowlet { last: now, choice, known: true };
                        }
                        entry.last = now;
                        entry.choice
                    }
                    RoutingMode::Adaptive => {
                        let switch = &mut self.switches[index as usize];
                        switch.rotation = switch.rotation.wrapping_add(1);
                        let class = self.rules.class_of_dscp[usize::from(packet.dscp & 63)];
                        let start = switch.rotation % count;
                        (0..count)
                            .map(|i| (start + i) % count)
                            .min_by_key(|&i| {
                                let port = many[i as usize];
                                (
                                    self.queues[queue_of(port, class)].bytes,
                                    self.ports[port as usize].busy_until,
                                )
                            })
                            .unwrap_or(0)
                    }
                };
                Some(many[choice as usize])
            }
        }
    }
}
