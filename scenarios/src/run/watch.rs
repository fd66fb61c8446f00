//! What can only be seen while a run goes on: queues above Kmax, and deadlocks.

use std::collections::BTreeMap;

use models::config::{CLASSES, EcnConfig};
use models::fabric::Fabric;
use models::record::Recorder;
use models::topology::{Graph, PortIndex};
use sim_core::queue::EventQueue;

use crate::spec::Scenario;

/// What was seen on the grid of a run.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Instants looked at while flows were under way.
    pub looks: u64,
    /// Instants at which each egress (port, class) queue stood at or above its Kmax.
    pub above_kmax: BTreeMap<(PortIndex, u8), u64>,
    /// Kmax of each port; `u64::MAX` where nothing is marked.
    kmax: Vec<u64>,
    /// Classes marked, as bits.
    marked: u8,
    /// Packet hops at the last look.
    hops: u64,
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
        if self.marked == 0 || (hops == self.hops && self.above_kmax.is_empty()) {
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
}

fn marked_classes(ecn: &EcnConfig, scenario: &Scenario) -> u8 {
    let classes = ecn.classes.clone().unwrap_or_else(|| scenario.switch.lossless_classes());
    classes.iter().fold(0, |bits, class| bits | 1 << (class & 7))
}
