//! Fetching what a batch of events will touch into the cache, in passes: each pass follows one more pointer of all
//! events, so that their misses overlap instead of adding up. The egress ports found on the way are kept with the packets; nothing
//! else changes.

use sim_core::pool::NONE;
use sim_core::prefetch::prefetch;
use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::{CLASSES, RoutingMode};
use crate::packet::{EXPLICIT, Kind};
use crate::record::Recorder;
use crate::routing::ecmp_index;

/// Events fetched for at a time; more would push each other out of the nearest cache.
const BATCH: usize = 16;

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Fetches for the next events once those fetched for before have run.
    #[inline]
    pub(super) fn warm(&mut self) {
        if self.warmed > 0 {
            self.warmed -= 1;
            return;
        }
        let upcoming = self.queue.upcoming();
        let count = upcoming.len().min(BATCH);
        if count < 2 {
            return;
        }
        let mut targets = [0u32; BATCH];
        for (target, &entry) in targets.iter_mut().zip(upcoming.iter().rev()) {
            *target = entry as u32;
        }
        self.warmed = count as u32;
        self.warm_targets(&targets[..count]);
    }

    #[inline(never)]
    fn warm_targets(&mut self, targets: &[u32]) {
        let (ready, pfc) = (self.targets.ready, self.targets.pfc);
        for &target in targets {
            let port = if target < ready { target } else { target.wrapping_sub(ready) };
            prefetch(&self.ports, port as usize);
        }
        for &target in targets {
            if target < ready {
                let first = self.ports[target as usize].flying.first();
                self.packets.prefetch(first);
            } else if target < pfc {
                prefetch(&self.queues, self.waiting_queue(target - ready));
            }
        }
        let mut out = [(NONE, 0usize); BATCH];
        for (&target, out) in targets.iter().zip(&mut out) {
            if target < ready {
                *out = self.warm_arrival(target);
            } else if target < pfc {
                self.packets.prefetch(self.queues[self.waiting_queue(target - ready)].list.first());
            }
        }
        for &(port, queue) in &out[..targets.len()] {
            if port != NONE {
                prefetch(&self.ports, port as usize);
                prefetch(&self.queues, queue);
            }
        }
    }

    /// The queue that port `port` will likely serve next.
    #[inline]
    fn waiting_queue(&self, port: u32) -> usize {
        let p = &self.ports[port as usize];
        let waiting = p.backlog & !p.paused;
        port as usize * CLASSES + (waiting.trailing_zeros() as usize & (CLASSES - 1))
    }

    /// Fetches what the first packet in flight from port `from` will touch. Returns the port it will leave by and its
    /// queue there.
    #[inline]
    fn warm_arrival(&mut self, from: u32) -> (u32, usize) {
        let port = &self.ports[from as usize];
        let first = port.flying.first();
        if first == NONE {
            return (NONE, 0);
        }
        let packet = self.packets.get(first).packet;
        if !port.to_switch {
            match packet.kind {
                Kind::Data => prefetch(&self.receive, packet.flow as usize),
                Kind::Ack | Kind::Nak | Kind::Cnp | Kind::ReadRequest => {
                    prefetch(&self.send, packet.flow as usize);
                }
            }
            return (port.node, port.node as usize * CLASSES);
        }
        let class = usize::from(self.rules.class_of_dscp[usize::from(packet.dscp & 63)]);
        prefetch(&self.ingress, port.peer as usize * CLASSES + class);
        let out = match self.routes.candidates(self.routes.group(port.node, packet.dst)) {
            [only] if packet.flags & EXPLICIT == 0 => *only,
            many if many.len() > 1
                && self.routing_mode == RoutingMode::Ecmp
                && packet.flags & EXPLICIT == 0 =>
            {
                let seed = self.switches[port.node as usize].hash_seed;
                many[ecmp_index(packet.flow, seed, many.len() as u32) as usize]
            }
            _ => return (NONE, 0),
        };
        self.packets.get_mut(first).out = out;
        (out, out as usize * CLASSES + class)
    }
}
