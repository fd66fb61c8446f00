//! What a run came to, as plain data: what the summary, the verdict and the files at the end are made of.

use indexmap::IndexMap;
use models::config::CLASSES;
use models::congestion::Path;
use models::counters::{Counters, Losses};
use models::fabric::{Fabric, FlowState};
use models::record::Recorder;
use models::topology::{Graph, PortIndex};
use models::traffic::Flow;
use models::workload::TaskTimes;
use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use super::drive::End;
use super::ideal::{Ideal, wire_factor};
use super::prepare::Prepared;
use super::watch::Watch;
use crate::finding::Finding;
use crate::jobs::PlannedJobs;
use crate::jobs::explain::{self, Collision};
use crate::jobs::results::{self, CollectiveSummary, TrainingSummary};
use crate::spec::Scenario;

/// One class at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassFacts {
    /// PAUSE frames received.
    pub rx_pause: u32,
    /// Resumes received.
    pub rx_resume: u32,
    /// PAUSE frames sent.
    pub tx_pause: u32,
    /// Resumes sent.
    pub tx_resume: u32,
    /// Time the class was paused here, in picoseconds.
    pub paused: u64,
    /// Whether it is paused at the end.
    pub paused_now: bool,
    /// Most bytes its egress queue held.
    pub queue_peak: u64,
    /// Bytes its egress queue holds at the end.
    pub queued: u64,
    /// Packets its egress queue marked.
    pub marked: u64,
    /// Most headroom bytes its ingress held.
    pub headroom_peak: u32,
    /// Headroom bytes its ingress may hold.
    pub headroom_limit: u32,
}

/// One port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// Frame bytes sent.
    pub tx_bytes: u64,
    /// Frames sent, PFC frames excepted.
    pub tx_packets: u64,
    /// Whether its link is up at the end.
    pub up: bool,
    /// Its classes.
    pub classes: [ClassFacts; CLASSES],
}

/// What a run came to.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The resolved scenario.
    pub scenario: &'a Scenario,
    /// Values of its parameters.
    pub params: &'a IndexMap<String, serde_json::Value>,
    /// What the checks found before the run.
    pub checked: &'a [Finding],
    /// The topology.
    pub graph: &'a Graph,
    /// The flows.
    pub flows: &'a [Flow],
    /// When they started and finished.
    pub states: &'a [FlowState],
    /// Idle-path properties of each flow.
    pub paths: &'a [Path],
    /// Payload bytes of each flow that arrived.
    pub delivered: Vec<u64>,
    /// Packets each flow sent again.
    pub retransmissions: Vec<u32>,
    /// Flows done.
    pub completed: u64,
    /// Counters of the whole fabric.
    pub counters: &'a Counters,
    /// Losses by place.
    pub losses: &'a Losses,
    /// All ports.
    pub ports: Vec<PortFacts>,
    /// Most bytes each switch held.
    pub buffer_peaks: Vec<u64>,
    /// Rate cuts of all queue pairs.
    pub rate_cuts: u64,
    /// (Port, class)es in a storm that the watchdog declared, at the end.
    pub stormed: Vec<(PortIndex, u8)>,
    /// How the run ended.
    pub end: &'a End,
    /// The time of the last completion, or of the stop.
    pub sim_time: Time,
    /// The time up to which the fabric ran: what was under way at the last completion has arrived.
    pub drained: Time,
    /// What was seen on the way.
    pub watch: &'a Watch,
    /// Bounds of what was possible.
    pub ideal: Ideal,
    /// The ports each flow crosses; `None` where packets of a flow part ways.
    pub ways: Vec<Option<Vec<PortIndex>>>,
    /// What the flows across each port want at their even shares of the hosts' links, in bit/s on the wire.
    pub wanted: Vec<f64>,
    /// Collectives.
    pub collectives: Vec<CollectiveSummary>,
    /// The jobs as planned, and when each of their tasks ran.
    pub jobs: Option<&'a PlannedJobs>,
    /// See `jobs`.
    pub times: Vec<TaskTimes>,
    /// Links on which streams of a job collide, by job.
    pub collisions: Vec<(String, Vec<Collision>)>,
    /// Training steps.
    pub training: Vec<TrainingSummary>,
    /// Tasks of jobs, done and in all.
    pub tasks: (u64, u64),
    /// What the flows across each port may send when only the links of senders are shared, in bit/s on the wire.
    pub offered: Vec<f64>,
}

impl<'a> Facts<'a> {
    /// Reads everything off a fabric.
    pub(super) fn gather<Q: EventQueue, R: Recorder>(
        fabric: &'a Fabric<Q, R>,
        prepared: &'a Prepared,
        (end, sim_time): (&'a End, Time),
        watch: &'a Watch,
    ) -> Self {
        let graph = fabric.graph();
        let flows = fabric.flows();
        let count = flows.len() as u32;
        let switches = graph.nodes() - graph.hosts;
        let Prepared { scenario, params, findings: checked, .. } = prepared;
        let ideal = Ideal::new(scenario, graph, flows, fabric.paths());
        let ways: Vec<Option<Vec<PortIndex>>> =
            (0..count).map(|flow| fabric.way(flow).map(|way| way.ports)).collect();
        let mut wanted = vec![0.0; graph.ports.len()];
        let mut offered = wanted.clone();
        let times: Vec<_> = fabric.task_times().collect();
        for (flow, way) in ways.iter().enumerate() {
            let share = ideal.share[flow] * wire_factor(&flows[flow], &scenario.nic);
            for &port in way.iter().flatten() {
                wanted[port as usize] += share;
                offered[port as usize] += ideal.sends[flow];
            }
        }
        Self {
            scenario,
            params,
            checked,
            graph,
            flows,
            states: fabric.flow_states(),
            paths: fabric.paths(),
            delivered: (0..count).map(|flow| fabric.delivered(flow)).collect(),
            retransmissions: (0..count).map(|flow| fabric.retransmissions(flow)).collect(),
            completed: fabric.completed(),
            counters: fabric.counters(),
            losses: fabric.losses(),
            ports: (0..graph.ports.len() as PortIndex).map(|port| port_facts(fabric, port)).collect(),
            buffer_peaks: (0..switches).map(|switch| fabric.buffer_peak(switch)).collect(),
            rate_cuts: fabric.rate_cuts(),
            stormed: fabric.stormed(),
            end,
            sim_time,
            drained: fabric.now(),
            watch,
            ideal,
            ways,
            wanted,
            offered,
            collectives: prepared
                .jobs
                .as_ref()
                .map_or_else(Vec::new, |jobs| results::collectives(fabric, jobs, &times)),
            jobs: prepared.jobs.as_ref(),
            collisions: prepared
                .jobs
                .as_ref()
                .map_or_else(Vec::new, |jobs| explain::collisions_of_jobs(fabric, jobs)),
            training: prepared.jobs.as_ref().map_or_else(Vec::new, |jobs| results::training(jobs, &times)),
            tasks: (fabric.tasks_done(), times.len() as u64),
            times,
        }
    }

    /// Completion times of the flows that are done, ascending.
    pub fn fcts(&self) -> Vec<Duration> {
        let mut fcts: Vec<Duration> = self.states.iter().filter_map(FlowState::fct).collect();
        fcts.sort_unstable();
        fcts
    }

    /// Goodput of a flow that is done, in bit/s: payload over completion time.
    pub fn goodput(&self, flow: usize) -> Option<f64> {
        let fct = self.states[flow].fct()?;
        Some(rate(self.flows[flow].bytes().0, fct.0))
    }

    /// Flows that have started and are not done.
    pub fn waiting(&self) -> Vec<usize> {
        let state = |flow: &usize| self.states[*flow];
        (0..self.flows.len()).filter(|f| state(f).started.is_some() && state(f).finished.is_none()).collect()
    }

    /// The ports of all switches.
    pub fn switch_ports(&self) -> std::ops::Range<PortIndex> {
        self.graph.first_port[self.graph.hosts as usize]..self.graph.ports.len() as PortIndex
    }

    /// The (port, class) for which `of` is largest, and how large; the first of equals. `None` where it is 0.
    pub fn largest(
        &self,
        ports: std::ops::Range<PortIndex>,
        of: impl Fn(&ClassFacts) -> u64,
    ) -> Option<(PortIndex, u8, u64)> {
        let mut best = None;
        for port in ports {
            for (class, facts) in self.ports[port as usize].classes.iter().enumerate() {
                let value = of(facts);
                if value > best.map_or(0, |(_, _, most)| most) {
                    best = Some((port, class as u8, value));
                }
            }
        }
        best
    }
}

/// `bytes` over `ps`, in bit/s; 0 for no time.
pub(super) fn rate(bytes: u64, ps: u64) -> f64 {
    if ps == 0 { 0.0 } else { bytes as f64 * 8e12 / ps as f64 }
}

fn port_facts<Q: EventQueue, R: Recorder>(fabric: &Fabric<Q, R>, port: PortIndex) -> PortFacts {
    let (p, pause) = (fabric.port(port), fabric.pause_state(port));
    let class_facts = |class: usize| {
        let (queue, ingress) = (fabric.egress_queue(port, class as u8), fabric.ingress(port, class as u8));
        ClassFacts {
            rx_pause: pause.rx_pause[class],
            rx_resume: pause.rx_resume[class],
            tx_pause: pause.tx_pause[class],
            tx_resume: pause.tx_resume[class],
            paused: fabric.paused_for(port, class as u8),
            paused_now: p.paused & (1 << class) != 0,
            queue_peak: u64::from(queue.peak),
            queued: u64::from(queue.bytes),
            marked: queue.marked,
            headroom_peak: fabric.headroom_peak(port, class as u8),
            headroom_limit: ingress.headroom_limit,
        }
    };
    PortFacts {
        tx_bytes: p.tx_bytes,
        tx_packets: fabric.tx_packets(port),
        up: p.up,
        classes: std::array::from_fn(class_facts),
    }
}
