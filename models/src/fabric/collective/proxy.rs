//! Proxies: the host threads that post messages to NICs and see them arrive.

use sim_core::Time;
use sim_core::queue::EventQueue;

use super::{Connection, Line, NONE, SLOTS, span};
use crate::fabric::Fabric;
use crate::record::Recorder;

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// A thread has handed `message` of `bytes` on the wire over: the proxy posts it `latency` after its turn.
    pub(super) fn hand_to_proxy(&mut self, id: u32, message: u32, bytes: u64, latency: u64) {
        let now = self.now.0;
        let c = &mut self.collectives;
        let Some(machine) = &c.machine else { return };
        let copy = span(bytes, c.connections[id as usize].host_copy_rate);
        let cost = machine.proxy_send.0 + copy;
        let proxy = c.connections[id as usize].proxy as usize;
        let gpu = &mut c.gpus[proxy];
        gpu.proxy = gpu.proxy.max(now) + cost;
        let at = gpu.proxy + latency;
        let slot = c.slot(id, message);
        slot.post_at = at;
        slot.bytes = bytes;
        let connection = &mut c.connections[id as usize];
        if !connection.post_pending && connection.posted == message {
            connection.post_pending = true;
            let target = self.targets.post + connection.post;
            self.queue.push(Time(at), target);
        }
    }

    /// The event of post target `index`.
    pub(in crate::fabric) fn on_post(&mut self, index: u32) {
        let id = self.collectives.posts[index as usize];
        self.collectives.connections[id as usize].post_pending = false;
        self.post_ready(id);
    }

    /// Posts what is due and granted on connection `id`.
    fn post_ready(&mut self, id: u32) {
        loop {
            let c = &mut self.collectives;
            let connection = &c.connections[id as usize];
            let message = connection.posted;
            if message == connection.sent || connection.post_pending {
                return;
            }
            if connection.line == Line::Network && connection.granted <= message {
                return;
            }
            let slot = *c.slot(id, message);
            let connection = &mut c.connections[id as usize];
            if slot.post_at > self.now.0 {
                connection.post_pending = true;
                self.queue.push(Time(slot.post_at), self.targets.post + connection.post);
                return;
            }
            connection.posted += 1;
            let (qp, qps, split) = (connection.qp, u32::from(connection.qps), connection.split);
            let announce = connection.writes(slot.bytes) > 1;
            if split && qps > 1 {
                // Pieces are multiples of 128 B; a short message leaves the last ones empty.
                let piece = slot.bytes.div_ceil(u64::from(qps)).div_ceil(128) * 128;
                for part in 0..u64::from(qps) {
                    let bytes = piece.min(slot.bytes.saturating_sub(part * piece));
                    self.post_write(qp + part as u32, bytes, announce);
                }
            } else {
                self.post_write(qp + message % qps, slot.bytes, announce);
            }
        }
    }

    fn post_write(&mut self, qp: u32, bytes: u64, announce: bool) {
        self.post(qp, bytes);
        if announce {
            self.post(qp, 0);
        }
    }

    /// A message (or a piece, or a clear-to-send write) arrived over stream `qp`.
    pub(in crate::fabric) fn on_message_arrived(&mut self, qp: u32) {
        let now = self.now.0;
        let index = self.stream_of(qp);
        let c = &mut self.collectives;
        let owner = &mut c.owners[index];
        let (id, message) = (owner.connection, owner.message);
        let connection = &mut c.connections[id as usize];
        if owner.clear_to_send {
            connection.granted += 1;
            if !connection.post_pending {
                self.post_ready(id);
            }
            return;
        }
        owner.writes += 1;
        let slot = (connection.first_slot + (message & connection.slot_mask)) as usize;
        if owner.writes < connection.writes(c.slots[slot].bytes) {
            return;
        }
        owner.writes = 0;
        owner.message += connection.turn();
        let parts = if connection.split { connection.qps } else { 1 };
        let (line, to, arrived) = (connection.line, connection.to as usize, connection.arrived);
        let slot = c.slot(id, message);
        slot.parts += 1;
        if slot.parts < parts {
            return;
        }
        if line == Line::InNetwork {
            slot.parts = 0;
            return self.reduced_in_network(id, message);
        }
        let bytes = slot.bytes;
        let Some(machine) = &c.machine else { return };
        let copy = span(bytes, c.connections[id as usize].host_copy_rate);
        let cost = machine.proxy_receive.0 + copy;
        let gpu = &mut c.gpus[to];
        gpu.proxy = gpu.proxy.max(now) + cost;
        let at = gpu.proxy;
        c.slot(id, message).arrived_at = at;
        // In the order of messages, whatever the order of queue pairs.
        let mut next = arrived;
        while next.wrapping_sub(arrived) < SLOTS as u32 && c.slot(id, next).parts == parts {
            c.slot(id, next).parts = 0;
            next += 1;
        }
        let connection = &mut c.connections[id as usize];
        connection.arrived = next;
        if next != arrived {
            let waiting = std::mem::replace(&mut connection.waiting_receiver, NONE);
            self.poke(waiting);
        }
    }

    /// A member's message reached the reduction tree; the last one of its group sends the sum to all.
    fn reduced_in_network(&mut self, id: u32, message: u32) {
        let now = self.now.0;
        let c = &mut self.collectives;
        let Some(machine) = &c.machine else { return };
        let cost = machine.proxy_receive.0;
        let index = c.connections[id as usize].group as usize;
        let group = &mut c.groups[index];
        let count = &mut group.arrived[message as usize % SLOTS];
        *count += 1;
        if (*count as usize) < group.members.len() {
            return;
        }
        *count = 0;
        for member in 0..self.collectives.groups[index].members.len() {
            let c = &mut self.collectives;
            let id = c.groups[index].members[member];
            let to = c.connections[id as usize].to as usize;
            let gpu = &mut c.gpus[to];
            gpu.proxy = gpu.proxy.max(now) + cost;
            let at = gpu.proxy;
            c.slot(id, message).arrived_at = at;
            let connection = &mut c.connections[id as usize];
            connection.arrived += 1;
            let waiting = std::mem::replace(&mut connection.waiting_receiver, NONE);
            self.poke(waiting);
        }
    }

    /// A message (or a piece) on stream `qp` is acknowledged: its slot at the sender is free.
    pub(in crate::fabric) fn on_message_acked(&mut self, qp: u32) {
        let index = self.stream_of(qp);
        let c = &mut self.collectives;
        let owner = &mut c.owners[index];
        if owner.clear_to_send {
            return;
        }
        let id = owner.connection as usize;
        let connection = &mut c.connections[id];
        owner.acked_writes += 1;
        let slot = (connection.first_slot + (owner.acked & connection.slot_mask)) as usize;
        if owner.acked_writes < connection.writes(c.slots[slot].bytes) {
            return;
        }
        owner.acked_writes = 0;
        owner.acked += connection.turn();
        if !connection.split || owner.part + 1 == connection.qps {
            connection.acked += 1;
        }
        let waiting = std::mem::replace(&mut connection.waiting_sender, NONE);
        self.poke(waiting);
    }
}

impl Connection {
    /// Writes of a message of `bytes` on a queue pair: the data, and what announces it.
    #[inline]
    fn writes(&self, bytes: u64) -> u8 {
        if bytes > self.announce_above { 2 } else { 1 }
    }

    /// Messages from one to the next on the same queue pair.
    #[inline]
    fn turn(&self) -> u32 {
        if self.split { 1 } else { u32::from(self.qps) }
    }
}
