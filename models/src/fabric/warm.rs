//! Fetching what a batch of events will touch into the cache, in passes: each pass follows one more pointer of all
//! events, so that their misses overlap instead of adding up. It changes no state.

use sim_core::prefetch::prefetch;
use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::{CLASSES, RoutingMode};
use crate::packet::{EXPLICIT, Kind};
use crate::record::Recorder;
use crate::routing::ecmp_index;

/// Events fetched for at a time; more would push each other out of the nearest cache.
const BATCH: usize = 32;

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
    fn warm_targets(&self, targets: &[u32]) {
        let (ready, pfc) = (self.targets.ready, self.targets.pfc);
        for &target in targets {
            if target < ready {
                prefetch(&self.links, target as usize);
            } else if target < pfc {
                prefetch(&self.ports, (target - ready) as usize);
                prefetch(&self.links, (target - ready) as usize);
            }
        }
        for &target in targets {
            if target < ready {
                let link = &self.links[target as usize];
                link.ring.prefetch_head();
            } else if target < pfc {
                let port = (target - ready) as usize;
                let waiting = self.ports[port].backlog & !self.ports[port].paused;
                prefetch(&self.queues, port * CLASSES + waiting.trailing_zeros() as usize % CLASSES);
                self.links[port].ring.prefetch_tail();
            }
        }
        let mut out = [u32::MAX; BATCH];
        for (&target, out) in targets.iter().zip(&mut out) {
            if target < ready {
                *out = self.warm_arrival(target);
            } else if target < pfc {
                let port = (target - ready) as usize;
                let waiting = self.ports[port].backlog & !self.ports[port].paused;
                self.queues[port * CLASSES + waiting.trailing_zeros() as usize % CLASSES].ring.prefetch_head();
            }
        }
        for &port in &out[..targets.len()] {
            if let Some(link) = self.links.get(port as usize) {
                link.ring.prefetch_tail();
            }
        }
    }

    /// Fetches what the first packet in flight from port `from` will touch. Returns the port it will leave by.
    #[inline]
    fn warm_arrival(&self, from: u32) -> u32 {
        let link = &self.links[from as usize];
        let Some(flying) = link.ring.front() else { return u32::MAX };
        let packet = &flying.packet;
        if !link.to_switch {
            match packet.kind {
                Kind::Data => prefetch(&self.receive, packet.flow as usize),
                Kind::Ack | Kind::Nak | Kind::Cnp | Kind::ReadRequest => {
                    prefetch(&self.send, packet.flow as usize);
                }
            }
            prefetch(&self.ports, link.node as usize);
            prefetch(&self.links, link.node as usize);
            return link.node;
        }
        let class = usize::from(self.rules.class_of_dscp[usize::from(packet.dscp & 63)]);
        prefetch(&self.ingress, link.peer as usize * CLASSES + class);
        prefetch(&self.switches, link.node as usize);
        let candidates = self.routes.candidates(self.routes.group(link.node, packet.dst));
        let out = match candidates {
            [only] => *only,
            many if !many.is_empty()
                && self.routing_mode == RoutingMode::Ecmp
                && packet.flags & EXPLICIT == 0 =>
            {
                let seed = self.switches[link.node as usize].hash_seed;
                many[ecmp_index(packet.flow, seed, many.len() as u32) as usize]
            }
            _ => return u32::MAX,
        };
        prefetch(&self.ports, out as usize);
        prefetch(&self.links, out as usize);
        prefetch(&self.queues, out as usize * CLASSES + class);
        out
    }
}
