//! PFC at a port: telling the peer to pause and resume, and obeying it.
//!
//! A node holds, per port, the classes it wants paused (`xoff`) and what it last told the peer (`told`). A frame is
//! due while the two differ; it goes before everything else but does not interrupt the frame being sent. A state
//! that flips back before its frame could leave needs no frame.

use sim_core::Time;
use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::CLASSES;
use crate::link::PfcFrame;
use crate::record::{Frame, FrameRecord, PfcAction, PfcRecord, Recorder};
use crate::topology::PortIndex;

fn each_class(bits: u8) -> impl Iterator<Item = u8> {
    (0..CLASSES as u8).filter(move |class| bits & (1 << class) != 0)
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// The node wants the peer of `port` to pause `classes` (bits).
    pub(super) fn want_pause(&mut self, port: PortIndex, classes: u8) {
        self.pauses[port as usize].xoff |= classes;
        self.tell(port);
    }

    /// The node no longer wants the peer of `port` to pause `classes` (bits).
    pub(super) fn want_resume(&mut self, port: PortIndex, classes: u8) {
        self.pauses[port as usize].xoff &= !classes;
        self.tell(port);
    }

    /// Tells the peer of `port` what it does not know yet.
    pub(super) fn tell(&mut self, port: PortIndex) {
        let state = &self.pauses[port as usize];
        let p = &mut self.ports[port as usize];
        p.tell = state.xoff ^ state.told;
        if p.tell != 0 && p.up {
            self.kick(port);
        }
    }

    /// Sends the PFC frame that is due. The port must be idle.
    pub(super) fn send_pfc(&mut self, port: PortIndex) {
        let p = &mut self.ports[port as usize];
        debug_assert!(p.up && p.busy_until <= self.now.0);
        let rates = &self.rates;
        let state = &mut self.pauses[port as usize];
        let classes = p.tell;
        let pause = state.xoff & classes;
        let news = state.xoff ^ state.told;
        p.tell = 0;
        state.told = state.xoff;
        let wire = u64::from(self.rules.pfc_frame) + u64::from(self.gap);
        p.busy_until = self.now.0 + p.wire_time(wire, || rates[port as usize]);
        let at = p.busy_until + state.frame_delay;
        if pause != 0 {
            self.counters.pause_frames += 1;
        }
        if classes & !pause != 0 {
            self.counters.resume_frames += 1;
        }
        for class in each_class(classes) {
            let bit = 1 << class;
            let action = if pause & bit == 0 {
                state.tx_resume[usize::from(class)] += 1;
                PfcAction::Resume
            } else {
                state.tx_pause[usize::from(class)] += 1;
                if news & bit != 0 { PfcAction::Pause } else { PfcAction::Refresh }
            };
            self.recorder.pfc(PfcRecord { at: self.now, port, class, action });
        }
        if R::FRAMES {
            let frame = Frame::Pfc { classes, pause };
            self.recorder.frame(FrameRecord { at: self.now, port, sent: true, frame });
        }
        let ring = &mut self.pfc_links[port as usize];
        let first = ring.is_empty();
        ring.push(PfcFrame { at, classes, pause });
        if first {
            self.queue.push(Time(at), self.targets.pfc + port);
        }
        if pause != 0 && self.rules.refresh > 0.0 && state.lasts != u64::MAX {
            state.refresh_at = self.now.0 + (state.lasts as f64 * self.rules.refresh) as u64;
            if !state.refresh_pending {
                state.refresh_pending = true;
                self.queue.push(Time(state.refresh_at), self.targets.refresh + port);
            }
        }
    }

    /// A standing pause of `port` may have to be told again.
    pub(super) fn pfc_refresh(&mut self, port: PortIndex) {
        let state = &mut self.pauses[port as usize];
        let p = &mut self.ports[port as usize];
        state.refresh_pending = false;
        let standing = state.told & state.xoff;
        if standing == 0 || !p.up {
            return;
        }
        if self.now.0 < state.refresh_at {
            state.refresh_pending = true;
            self.queue.push(Time(state.refresh_at), self.targets.refresh + port);
        } else {
            p.tell |= standing;
            self.kick(port);
        }
    }

    /// The first PFC frame in flight from port `from` takes effect at its peer.
    pub(super) fn pfc_arrive(&mut self, from: PortIndex) {
        let ring = &mut self.pfc_links[from as usize];
        let Some(frame) = ring.pop() else { unreachable!("a PFC arrival without a frame in flight") };
        if let Some(next) = ring.front() {
            self.queue.push(Time(next.at), self.targets.pfc + from);
        }
        let port = self.ports[from as usize].peer;
        if !self.ports[port as usize].up {
            return;
        }
        let threshold = self.link_faults[from as usize].error_threshold;
        if threshold > 0
            && sim_core::random::below(&mut self.link_random[from as usize], u64::MAX) < threshold
        {
            return;
        }
        if R::FRAMES {
            let frame = Frame::Pfc { classes: frame.classes, pause: frame.pause };
            self.recorder.frame(FrameRecord { at: self.now, port, sent: false, frame });
        }
        self.obey(port, frame);
    }

    fn obey(&mut self, port: PortIndex, frame: PfcFrame) {
        let p = &mut self.ports[port as usize];
        let state = &mut self.pauses[port as usize];
        let now = self.now.0;
        for class in each_class(frame.classes) {
            let (bit, slot) = (1u8 << class, usize::from(class));
            if frame.pause & bit != 0 {
                state.rx_pause[slot] += 1;
                if state.ignore & bit != 0 {
                    continue;
                }
                state.until[slot] = now.saturating_add(state.lasts);
                if p.paused & bit == 0 {
                    p.paused |= bit;
                    state.since[slot] = now;
                }
            } else {
                state.rx_resume[slot] += 1;
                if p.paused & bit != 0 {
                    p.paused &= !bit;
                    state.total[slot] += now - state.since[slot];
                }
            }
        }
        if state.lasts != u64::MAX && p.paused != 0 && !state.expire_pending {
            state.expire_pending = true;
            let at = each_class(p.paused).map(|c| state.until[usize::from(c)]).min().unwrap_or(u64::MAX);
            self.queue.push(Time(at), self.targets.expire + port);
        }
        if frame.classes & !frame.pause != 0 {
            self.kick(port);
        }
    }

    /// A pause of `port` may have run out of quanta.
    pub(super) fn pfc_expire(&mut self, port: PortIndex) {
        let p = &mut self.ports[port as usize];
        let state = &mut self.pauses[port as usize];
        state.expire_pending = false;
        let mut next = u64::MAX;
        let mut ended = false;
        for class in each_class(p.paused) {
            let slot = usize::from(class);
            if state.until[slot] <= self.now.0 {
                p.paused &= !(1 << class);
                state.total[slot] += self.now.0 - state.since[slot];
                ended = true;
                self.recorder.pfc(PfcRecord { at: self.now, port, class, action: PfcAction::Expired });
            } else {
                next = next.min(state.until[slot]);
            }
        }
        if next != u64::MAX {
            state.expire_pending = true;
            self.queue.push(Time(next), self.targets.expire + port);
        }
        if ended {
            self.kick(port);
        }
    }

    /// Ends the pauses of `classes` (bits) at `port` without a frame: the watchdog, or a link that went down.
    pub(super) fn end_pauses(&mut self, port: PortIndex, classes: u8) {
        let p = &mut self.ports[port as usize];
        let state = &mut self.pauses[port as usize];
        for class in each_class(p.paused & classes) {
            p.paused &= !(1 << class);
            state.total[usize::from(class)] += self.now.0 - state.since[usize::from(class)];
        }
    }
}
