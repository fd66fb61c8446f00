//! What happens at set times: link failures, storms, watchdog polls. They act between events, on a timetable, so
//! that they need no place in the event queue.

use sim_core::Time;
use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::RoutingConfig;
use crate::counters::DropReason;
use crate::link::{PfcFrame, UNKNOWN};
use crate::record::Recorder;
use crate::routing::{ExplicitRoutes, RouteTable};

/// Something that happens at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A link fails: what is in flight on it is lost.
    LinkDown(u32),
    /// A link comes back.
    LinkUp(u32),
    /// Routes are computed again.
    Reroute,
    /// A NIC stops receiving and pauses the classes (bits).
    StormStart(u32, u8),
    /// It recovers.
    StormEnd(u32),
}

/// The timetable of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Actions in the order they happen; the next one is last.
    timetable: Vec<(Time, Action)>,
    pub routing: RoutingConfig,
}

impl Control {
    /// Adds an action after all others of the same time.
    pub fn schedule(&mut self, at: Time, action: Action) {
        let place = self.timetable.partition_point(|(t, _)| *t > at);
        // Equal times run in the order they were added: the newest of them goes first in this reversed list.
        let place =
            self.timetable[..].iter().position(|(t, _)| *t <= at).unwrap_or(self.timetable.len()).min(place);
        self.timetable.insert(place, (at, action));
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Runs until `limit`, inclusive. What happens at a set time happens before the events of that time.
    pub fn run_until(&mut self, limit: Time) {
        loop {
            let action = self.control.timetable.last().map(|(at, _)| *at);
            let poll = self.watchdog.as_ref().map(super::watchdog::Watchdog::next_poll);
            let next = [action, poll].into_iter().flatten().min().filter(|at| *at <= limit);
            let Some(at) = next else { break };
            if at.0 > 0 {
                self.run_events(Time(at.0 - 1));
            }
            self.now = at;
            if action == Some(at) {
                if let Some((_, action)) = self.control.timetable.pop() {
                    self.act(action);
                }
            } else {
                self.poll_watchdog();
            }
        }
        self.run_events(limit);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::LinkDown(link) => self.set_link(link, false),
            Action::LinkUp(link) => self.set_link(link, true),
            Action::Reroute => self.reroute(),
            Action::StormStart(host, classes) => {
                self.hosts[host as usize].storm = classes;
                self.want_pause(host, classes);
            }
            Action::StormEnd(host) => {
                let classes = std::mem::take(&mut self.hosts[host as usize].storm);
                self.want_resume(host, classes);
            }
        }
    }

    fn set_link(&mut self, link: u32, up: bool) {
        let ends: Vec<u32> = (0..self.graph.ports.len() as u32)
            .filter(|&port| self.graph.ports[port as usize].link == link)
            .collect();
        for &port in &ends {
            let p = &mut self.ports[port as usize];
            p.up = up;
            p.closed = if up { self.pauses[port as usize].closed } else { u8::MAX };
            self.pauses[port as usize].told = 0;
        }
        for port in ends {
            if up {
                self.tell(port);
                self.kick(port);
                continue;
            }
            self.ports[port as usize].tell = 0;
            let flying = self.packets.iter(&self.ports[port as usize].flying).count() as u32;
            self.link_faults[port as usize].lost = flying;
            self.ports[port as usize].lossy_link = true;
            self.lose_pfc_frames(port);
            self.end_pauses(port, u8::MAX);
            if port >= self.hosts_count {
                self.flush(port, u8::MAX, DropReason::LinkDown);
            }
        }
    }

    /// Frames in flight from `port` arrive without effect: applied after the link is back, they would speak of a state
    /// that both ends have forgotten.
    fn lose_pfc_frames(&mut self, port: u32) {
        let ring = &mut self.pfc_links[port as usize];
        for _ in 0..ring.len() {
            if let Some(frame) = ring.pop() {
                ring.push(PfcFrame { classes: 0, pause: 0, ..frame });
            }
        }
    }

    fn reroute(&mut self) {
        let down: Vec<bool> = (0..self.graph.links.len() as u32).map(|link| !self.link_is_up(link)).collect();
        // Names and next hops were checked when the fabric was built; only link states differ.
        if let Ok(routes) = RouteTable::build(&self.graph, &self.control.routing, &down) {
            self.routes = routes;
        }
        if let Ok(explicit) = ExplicitRoutes::build(&self.graph, &self.flows, &down) {
            self.explicit = explicit;
        }
        self.packets.for_each(|held| held.out = UNKNOWN);
        for qp in 0..self.flows.len() as u32 {
            if !self.flows[qp as usize].paths.is_empty() {
                self.set_explicit(qp, self.explicit.is_explicit(qp));
            }
        }
    }

    fn link_is_up(&self, link: u32) -> bool {
        let link = &self.graph.links[link as usize];
        let ports = self.graph.ports_of(link.a);
        let wanted = std::ptr::from_ref(link);
        ports
            .into_iter()
            .find(|&port| std::ptr::eq(self.graph.link_of(port), wanted))
            .is_none_or(|port| self.ports[port as usize].up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut control = Control::default();
        control.schedule(Time(5), Action::LinkDown(0));
        control.schedule(Time(5), Action::Reroute);
        control.schedule(Time(3), Action::LinkDown(1));
        control.schedule(Time(5), Action::LinkUp(0));
        let mut order = Vec::new();
        while let Some((_, action)) = control.timetable.pop() {
            order.push(action);
        }
        assert_eq!(order, [Action::LinkDown(1), Action::LinkDown(0), Action::Reroute, Action::LinkUp(0)]);
    }
}
