//! The summary of a run: what `--json` prints and `summary.json` holds. Keys are stable and carry their units.
//! `docs/results.md` documents each of them.

use indexmap::IndexMap;
use models::counters::{DROP_REASONS, DropReason};
use models::deadlock::detect::Wait;
use serde::Serialize;
use sim_core::stats;

use super::facts::Facts;
use crate::finding::{Finding, Severity};
use crate::jobs::results::{CollectiveSummary, TrainingSummary};

/// Deterministic results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Time of the last completion, or of the stop where flows are not done.
    pub sim_time_ns: f64,
    /// Events handled.
    pub events: u64,
    /// Packets, data and control but not PFC frames, that crossed a link.
    pub packet_hops: u64,
    /// Values of the scenario's parameters.
    pub params: IndexMap<String, serde_json::Value>,
    /// Flows.
    pub flows: FlowSummary,
    /// Priority flow control.
    pub pfc: PfcSummary,
    /// ECN marks.
    pub ecn: EcnSummary,
    /// Congestion notification packets.
    pub cnp: CnpSummary,
    /// Packets lost.
    pub drops: DropSummary,
    /// Egress queues of switches.
    pub queues: QueueSummary,
    /// Headroom of ingress ports.
    pub headroom: HeadroomSummary,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Whether packets block each other for ever.
    pub deadlock: DeadlockSummary,
    /// Collective operations.
    pub collectives: Vec<CollectiveSummary>,
    /// Steps of training.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub training: Vec<TrainingSummary>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// Flows, their completion times and goodputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Flows in all.
    pub count: u64,
    /// Flows done.
    pub completed: u64,
    /// Completion times of flows that are done; `null` where none is.
    pub fct_us: Option<TimeSummary>,
    /// Payload over completion time of flows that are done; `null` where none is.
    pub goodput_gbps: Option<RangeSummary>,
}

/// A sample of times. Quantiles are nearest-rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeSummary {
    /// Smallest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// A sample of rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RangeSummary {
    /// Smallest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// Priority flow control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PfcSummary {
    /// PFC frames that pause a class, refreshes included.
    pub pause_frames: u64,
    /// PFC frames that resume a class.
    pub resume_frames: u64,
    /// Time all (port, class)es were paused, added up.
    pub paused_us_total: f64,
    /// Storms the watchdog declared.
    pub watchdog_storms: u64,
    /// Ports it restored.
    pub watchdog_restores: u64,
}

/// ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EcnSummary {
    /// Packets marked by switches.
    pub marked: u64,
    /// Part of the data packets that reached their host marked.
    pub marked_fraction: f64,
}

/// Congestion notification packets, or marks echoed in ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CnpSummary {
    /// Sent by receivers.
    pub sent: u64,
    /// Received by senders.
    pub received: u64,
}

/// Packets lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DropSummary {
    /// In all.
    pub total: u64,
    /// By reason.
    pub by_reason: IndexMap<&'static str, u64>,
}

/// Egress queues of switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Most bytes of one (port, class).
    pub peak_bytes: u64,
    /// Its port; `null` where nothing queued.
    pub peak_port: Option<String>,
}

/// Headroom of ingress ports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeadroomSummary {
    /// Most bytes one (port, class) held.
    pub peak_bytes: u64,
    /// Lossless packets lost for want of headroom.
    pub overruns: u64,
}

/// A deadlock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeadlockSummary {
    /// Whether there was one.
    pub detected: bool,
    /// When the cycle closed.
    pub at_ns: Option<f64>,
    /// The paused ports that wait for each other, each for the next one.
    pub cycle: Vec<BlockedHop>,
}

/// One edge of a deadlock's cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockedHop {
    /// The paused egress port.
    pub from: String,
    /// The port it leads to.
    pub to: String,
    /// The class.
    pub class: u8,
    /// Bytes stuck in its queue.
    pub bytes: u64,
}

/// What to make of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether nothing worse than a note happened in the run.
    pub healthy: bool,
    /// What was found, the worst first; then what the checks before the run found.
    pub findings: Vec<Finding>,
}

/// Figures of a run that differ between machines and builds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Performance {
    /// Wall-clock time of the simulation, the writing of samples included.
    pub wall_s: f64,
    /// Wall-clock time before it: reading, building and checking.
    pub setup_s: f64,
    /// Packet hops over `wall_s`.
    pub packet_hops_per_s: f64,
    /// Most memory the process ever held; `null` where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Threads that simulated.
    pub threads: u32,
    /// Version of fabsim.
    pub version: String,
    /// Commit it was built from.
    pub commit: String,
}

impl Summary {
    /// The summary of a run, with what was found in it.
    pub fn new(facts: &Facts, found: Vec<Finding>) -> Self {
        let counters = facts.counters;
        let ports = 0..facts.ports.len() as u32;
        let paused: u64 = facts.ports.iter().flat_map(|p| &p.classes).map(|class| class.paused).sum();
        let peak = facts.largest(facts.switch_ports(), |class| class.queue_peak);
        let headroom = facts.largest(ports, |class| u64::from(class.headroom_peak));
        let fraction = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        Self {
            scenario: facts.scenario.name.clone(),
            seed: facts.scenario.seed,
            sim_time_ns: facts.sim_time.0 as f64 / 1e3,
            events: counters.events,
            packet_hops: counters.packet_hops,
            params: facts.params.clone(),
            flows: flow_summary(facts),
            pfc: PfcSummary {
                pause_frames: counters.pause_frames,
                resume_frames: counters.resume_frames,
                paused_us_total: paused as f64 / 1e6,
                watchdog_storms: counters.watchdog_storms,
                watchdog_restores: counters.watchdog_restores,
            },
            ecn: EcnSummary {
                marked: counters.marked,
                marked_fraction: fraction(counters.data_delivered_marked, counters.data_delivered),
            },
            cnp: CnpSummary { sent: counters.cnp_sent, received: counters.cnp_received },
            drops: DropSummary {
                total: counters.dropped(),
                by_reason: DROP_REASONS.iter().map(|r| (r.name(), counters.drops[*r as usize])).collect(),
            },
            queues: QueueSummary {
                peak_bytes: peak.map_or(0, |(_, _, bytes)| bytes),
                peak_port: peak.map(|(port, _, _)| facts.graph.port_name(port)),
            },
            headroom: HeadroomSummary {
                peak_bytes: headroom.map_or(0, |(_, _, bytes)| bytes),
                overruns: counters.drops[DropReason::Headroom as usize],
            },
            retransmissions: counters.retransmissions,
            deadlock: DeadlockSummary::new(facts),
            collectives: facts.collectives.clone(),
            training: facts.training.clone(),
            verdict: Verdict::new(found, facts.checked),
        }
    }
}

impl DeadlockSummary {
    fn new(facts: &Facts) -> Self {
        let Some(deadlock) = &facts.watch.deadlock else { return Self::default() };
        let hop = |wait: &Wait| BlockedHop {
            from: facts.graph.port_name(wait.port),
            to: facts.graph.port_name(facts.graph.ports[wait.port as usize].peer),
            class: wait.class,
            bytes: wait.bytes,
        };
        Self {
            detected: true,
            at_ns: Some(deadlock.closed_at.0 as f64 / 1e3),
            cycle: deadlock.cycle.iter().map(hop).collect(),
        }
    }
}

impl Verdict {
    /// Sorts what a run found, the worst first, and adds what the checks found.
    fn new(mut found: Vec<Finding>, checked: &[Finding]) -> Self {
        let healthy = found.iter().all(|finding| finding.severity == Severity::Note);
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        found.extend_from_slice(checked);
        Self { healthy, findings: found }
    }
}

fn flow_summary(facts: &Facts) -> FlowSummary {
    let fcts: Vec<f64> = facts.fcts().iter().map(|fct| fct.as_us()).collect();
    let mut goodputs: Vec<f64> = (0..facts.flows.len()).filter_map(|flow| facts.goodput(flow)).collect();
    goodputs.iter_mut().for_each(|rate| *rate /= 1e9);
    FlowSummary {
        count: facts.flows.len() as u64,
        completed: facts.completed,
        fct_us: TimeSummary::of(&fcts),
        goodput_gbps: stats::mean(&goodputs).map(|mean| RangeSummary {
            min: goodputs.iter().copied().fold(f64::INFINITY, f64::min),
            mean,
            max: goodputs.iter().copied().fold(0.0, f64::max),
        }),
    }
}

impl TimeSummary {
    /// Statistics of an ascending sample; `None` for an empty one.
    pub fn of(sorted: &[f64]) -> Option<Self> {
        Some(Self {
            min: *sorted.first()?,
            mean: stats::mean(sorted)?,
            p50: stats::quantile(sorted, 0.5)?,
            p99: stats::quantile(sorted, 0.99)?,
            max: *sorted.last()?,
        })
    }
}
