//! What can only be seen while a run goes on: queues above Kmax, deadlocks and pause trees.

use std::collections::BTreeMap;

use models::config::{CLASSES, EcnConfig};
use models::deadlock::detect::{Deadlock, Detector};
use models::deadlock::storm::{PauseCause, PauseTree, pause_trees};
use models::fabric::Fabric;
use models::record::Recorder;
use models::topology::{Graph, PortIndex};
use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use crate::spec::Scenario;

/// Roots of pause trees that are kept, the first seen.
const MOST_TREES: usize = 4096;
/// Scans with pauses at each of which trees are looked for; after them, only at every `SPARSE`-th.
const DENSE: u64 = 6;
const SPARSE: u64 = 16;

/// What was seen on the grid of a run.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Instants at which queues were looked at.
    pub looks: u64,
    /// Instants at which each egress (port, class) queue stood at or above its Kmax.
    pub above_kmax: BTreeMap<(PortIndex, u8), u64>,
    /// The first deadlock.
    pub deadlock: Option<Deadlock>,
    /// Instants at which pauses were looked at since the first one was sent.
    pub scans: u64,
    /// The pause trees seen, by root.
    pub trees: BTreeMap<(PortIndex, u8), TreeWatch>,
    detector: Detector,
    /// Kmax of each port; `u64::MAX` where nothing is marked.
    kmax: Vec<u64>,
    /// Classes marked, as bits.
    marked: u8,
    /// Packet hops at the last look.
    hops: u64,
}

/// What was seen of the pause trees of one root.
#[derive(Clone, Debug)]
pub struct TreeWatch {
    /// Why the root did not drain, as of the largest tree.
    pub cause: PauseCause,
    /// When the root was paused first, or the first tree was seen.
    pub first: Time,
    /// Scans at which it stood, those between two looks taken as the later look.
    pub scans: u64,
    /// Longest time a host's pause of the root stood.
    pub standing: Duration,
    /// All ports it ever reached: when each was paused first, and how far it is from the root.
    pub reached: BTreeMap<PortIndex, (Time, u32)>,
    /// Most ports it reached at once.
    pub most: usize,
}

impl Watch {
    /// Ready to look at a fabric of `scenario`.
    pub(super) fn new(scenario: &Scenario, graph: &Graph) -> Self {
        let ecn = scenario.switch.ecn.as_ref();
        let kmax = |port: PortIndex| match ecn {
            Some(ecn) if !graph.is_host(graph.ports[port as usize].node) => {
                ecn.thresholds(graph.link_of(port).rate).map_or(u64::MAX, |t| t.kmax.0)
            }
            Some(_) | None => u64::MAX,
        };
        Self {
            kmax: (0..graph.ports.len() as PortIndex).map(kmax).collect(),
            marked: ecn.map_or(0, |ecn| marked_classes(ecn, scenario)),
            ..Self::default()
        }
    }

    /// Looks at the queues.
    pub(super) fn look<Q: EventQueue, R: Recorder>(&mut self, fabric: &Fabric<Q, R>) {
        self.looks += 1;
        let hops = fabric.counters().packet_hops;
        if self.marked == 0 || hops == self.hops {
            return;
        }
        self.hops = hops;
        for port in 0..self.kmax.len() as PortIndex {
            let classes = fabric.port(port).backlog & self.marked;
            let kmax = self.kmax[port as usize];
            if classes == 0 || kmax == u64::MAX {
                continue;
            }
            for class in (0..CLASSES as u8).filter(|class| classes & (1 << class) != 0) {
                if u64::from(fabric.egress_queue(port, class).bytes) >= kmax {
                    *self.above_kmax.entry((port, class)).or_default() += 1;
                }
            }
        }
    }

    /// Looks at the pauses. Returns whether a deadlock was found, for the first time.
    pub(super) fn scan<Q: EventQueue, R: Recorder>(&mut self, fabric: &Fabric<Q, R>) -> bool {
        if fabric.counters().pause_frames == 0 {
            return false;
        }
        self.scans += 1;
        if self.scans <= DENSE {
            self.look_at_trees(fabric, 1);
        } else if self.scans.is_multiple_of(SPARSE) {
            self.look_at_trees(fabric, SPARSE);
        }
        if self.deadlock.is_some() {
            return false;
        }
        self.deadlock = self.detector.scan(fabric);
        self.deadlock.is_some()
    }

    /// Looks for pause trees; what is seen stands for `scans` scans. Also called at the end of a run.
    pub(super) fn look_at_trees<Q: EventQueue, R: Recorder>(&mut self, fabric: &Fabric<Q, R>, scans: u64) {
        if fabric.counters().pause_frames > 0 {
            for tree in &pause_trees(fabric) {
                self.note(tree, fabric.now(), scans);
            }
        }
    }

    fn note(&mut self, tree: &PauseTree, now: Time, scans: u64) {
        let key = (tree.root, tree.class);
        if self.trees.len() >= MOST_TREES && !self.trees.contains_key(&key) {
            return;
        }
        let seen = self.trees.entry(key).or_insert_with(|| TreeWatch {
            cause: tree.cause,
            first: tree.since,
            scans: 0,
            standing: Duration::ZERO,
            reached: BTreeMap::new(),
            most: 0,
        });
        seen.scans += scans;
        // A host that pauses outweighs the congestion before and after it.
        if tree.cause == PauseCause::Host {
            seen.cause = tree.cause;
            seen.standing = seen.standing.max(now.since(tree.since));
        }
        seen.most = seen.most.max(tree.branches.len());
        for branch in &tree.branches {
            seen.reached.entry(branch.port).or_insert((branch.since, branch.depth));
        }
    }
}

fn marked_classes(ecn: &EcnConfig, scenario: &Scenario) -> u8 {
    let classes = ecn.classes.clone().unwrap_or_else(|| scenario.switch.lossless_classes());
    classes.iter().fold(0, |bits, class| bits | 1 << (class & 7))
}
