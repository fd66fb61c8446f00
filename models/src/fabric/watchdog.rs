//! PFC watchdog: finds a (port, class) that its peer has paused for too long, and breaks the pause.
//!
//! Source: SONiC's PFC watchdog. At each poll a sample agrees with a storm when PAUSE frames were received since the
//! last poll, none of the pauses ended by the peer, and the queue is paused now and was at the last poll. Agreeing
//! samples charge a timer, any other sample resets it; at least two in a row declare the storm. It ends when no PAUSE
//! frame was received for the restoration time.

use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use super::Fabric;
use crate::config::{CLASSES, SwitchConfig, WatchdogAction, WatchdogConfig, WatchdogPorts};
use crate::counters::DropReason;
use crate::record::{PfcAction, PfcRecord, Recorder};
use crate::topology::{Graph, PortIndex};

/// What the watchdog knows of one (port, class).
#[derive(Clone, Copy, Debug)]
struct Watched {
    port: PortIndex,
    class: u8,
    rx_pause: u32,
    rx_resume: u32,
    was_paused: bool,
    agreeing: u32,
    charged: Duration,
    quiet: Duration,
    stormed: bool,
}

/// The watchdogs of all switches; they poll at the same instants.
#[derive(Clone, Debug)]
pub(super) struct Watchdog {
    config: WatchdogConfig,
    next: Time,
    watched: Vec<Watched>,
}

impl Watchdog {
    pub fn new(config: &WatchdogConfig, graph: &Graph, switch: &SwitchConfig) -> Self {
        let watched = (0..graph.ports.len() as PortIndex)
            .filter(|&port| {
                let end = graph.ports[port as usize];
                let to_host = graph.is_host(end.peer_node);
                !graph.is_host(end.node)
                    && match config.ports {
                        WatchdogPorts::All => true,
                        WatchdogPorts::HostFacing => to_host,
                        WatchdogPorts::SwitchFacing => !to_host,
                    }
            })
            .flat_map(|port| switch.lossless_classes().into_iter().map(move |class| (port, class)))
            .map(|(port, class)| Watched {
                port,
                class,
                rx_pause: 0,
                rx_resume: 0,
                was_paused: false,
                agreeing: 0,
                charged: Duration::ZERO,
                quiet: Duration::ZERO,
                stormed: false,
            })
            .collect();
        Self { config: config.clone(), next: Time::ZERO + config.poll, watched }
    }

    pub fn next_poll(&self) -> Time {
        self.next
    }
}

/// What a poll found of one (port, class).
enum Verdict {
    Nothing,
    Storm,
    Restored,
}

impl Watched {
    fn sample(&mut self, config: &WatchdogConfig, rx_pause: u32, rx_resume: u32, paused: bool) -> Verdict {
        // The bug: the mitigation switches PFC off on the port, and the counter stands still.
        let frozen = self.stormed && config.frozen_counter_bug && config.action != WatchdogAction::Alert;
        let advanced = rx_pause != self.rx_pause && !frozen;
        let resumed = rx_resume != self.rx_resume;
        let agrees = advanced && !resumed && paused && self.was_paused;
        self.rx_pause = rx_pause;
        self.rx_resume = rx_resume;
        self.was_paused = paused;
        if self.stormed {
            self.quiet = if advanced { Duration::ZERO } else { self.quiet + config.poll };
            if self.quiet >= config.restoration {
                self.stormed = false;
                self.agreeing = 0;
                self.charged = Duration::ZERO;
                self.was_paused = false;
                return Verdict::Restored;
            }
            return Verdict::Nothing;
        }
        if !agrees {
            self.agreeing = 0;
            self.charged = Duration::ZERO;
            return Verdict::Nothing;
        }
        self.agreeing += 1;
        self.charged += config.poll;
        if self.agreeing >= 2 && self.charged >= config.detection {
            self.stormed = true;
            self.quiet = Duration::ZERO;
            return Verdict::Storm;
        }
        Verdict::Nothing
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Reads the counters of all watched ports and acts on what they say.
    pub(super) fn poll_watchdog(&mut self) {
        let Some(mut watchdog) = self.watchdog.take() else { return };
        watchdog.next = watchdog.next + watchdog.config.poll;
        for watched in &mut watchdog.watched {
            let (port, class) = (watched.port, watched.class);
            let state = &self.pauses[port as usize];
            let slot = usize::from(class);
            let paused = self.ports[port as usize].paused & (1 << class) != 0;
            match watched.sample(&watchdog.config, state.rx_pause[slot], state.rx_resume[slot], paused) {
                Verdict::Nothing => {}
                Verdict::Storm => self.declare_storm(port, class, watchdog.config.action),
                Verdict::Restored => self.restore(port, class),
            }
        }
        self.watchdog = Some(watchdog);
    }

    fn declare_storm(&mut self, port: PortIndex, class: u8, action: WatchdogAction) {
        let bit = 1u8 << class;
        self.counters.watchdog_storms += 1;
        self.recorder.pfc(PfcRecord { at: self.now, port, class, action: PfcAction::Storm });
        match action {
            WatchdogAction::Alert => {}
            WatchdogAction::Drop => {
                self.pauses[port as usize].ignore |= bit;
                self.pauses[port as usize].closed |= bit;
                self.ports[port as usize].closed |= bit;
                self.end_pauses(port, bit);
                self.flush(port, bit, DropReason::Watchdog);
            }
            WatchdogAction::Forward => {
                self.pauses[port as usize].ignore |= bit;
                self.end_pauses(port, bit);
                self.kick(port);
            }
        }
    }

    fn restore(&mut self, port: PortIndex, class: u8) {
        let bit = 1u8 << class;
        self.counters.watchdog_restores += 1;
        self.recorder.pfc(PfcRecord { at: self.now, port, class, action: PfcAction::Restore });
        self.pauses[port as usize].ignore &= !bit;
        self.pauses[port as usize].closed &= !bit;
        if self.ports[port as usize].up {
            self.ports[port as usize].closed &= !bit;
        }
    }

    /// (Port, class)es that are in a storm the watchdog declared.
    pub fn stormed(&self) -> Vec<(PortIndex, u8)> {
        let watched = self.watchdog.iter().flat_map(|w| &w.watched);
        watched.filter(|w| w.stormed).map(|w| (w.port, w.class)).collect()
    }
}

const _: () = assert!(CLASSES == 8);
