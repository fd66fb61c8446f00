//! What jobs came to: times of collectives and of training steps.

use models::fabric::{Fabric, Skipped};
use models::record::Recorder;
use models::workload::TaskTimes;
use serde::Serialize;
use sim_core::Time;
use sim_core::queue::EventQueue;

use super::loads;
use super::plan::{PlannedCall, PlannedJobs, bus_factor};
use super::training::PlannedSteps;
use crate::run::TimeSummary;

/// A collective of a run: all executions of one call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectiveSummary {
    /// The job's name.
    pub name: String,
    /// The operation.
    pub kind: &'static str,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The protocol.
    pub protocol: &'static str,
    /// Channels (thread blocks) that carry data.
    pub channels: u32,
    /// Ranks.
    pub ranks: u32,
    /// Nodes.
    pub nodes: u32,
    /// Size as nccl-tests counts it.
    pub bytes: u64,
    /// Executions that are done, warm-up not counted.
    pub executions: u64,
    /// Time of an execution: from the end of the one before (the first: from its first rank's start) to its last rank's end.
    pub step_time_us: Option<TimeSummary>,
    /// Bytes over the mean time, in GB/s (1e9 B/s).
    pub algbw_gbytes_per_s: Option<f64>,
    /// The same times nccl-tests' factor for the operation.
    pub busbw_gbytes_per_s: Option<f64>,
    /// The busbw at which the most loaded port of a node would be busy all the time, headers not counted.
    pub bound_busbw_gbytes_per_s: Option<f64>,
    /// That port.
    pub bound_by: Option<String>,
    /// What NCCL's own cost model says.
    pub nccl_model_us: f64,
    /// Why this algorithm and protocol.
    pub why: String,
    /// Loops left out because the ones before them all took the same time, which was added; 0 when all was simulated.
    pub extrapolated_loops: u32,
}

/// A step of training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingSummary {
    /// The job's name.
    pub name: String,
    /// Steps that are done.
    pub steps: u64,
    /// Time of a step: until its last GPU is done.
    pub step_time_us: Option<TimeSummary>,
    /// Time a GPU computes in a step, mean over GPUs and steps.
    pub compute_us: f64,
    /// Time a GPU does not compute while the step runs, mean over GPUs and steps: communication that computation does
    /// not hide, and waiting for other GPUs.
    pub exposed_communication_us: f64,
    /// The same as a part of the step.
    pub gpu_idle_share: f64,
    /// Time a GPU has a collective under way in a step, hidden or not, mean over GPUs and steps.
    pub communication_us: f64,
}

/// A rank's part in an execution of a collective.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The call, as planned.
    pub call: &'a PlannedCall,
    /// The call, as executed.
    pub compiled: &'a models::workload::Call,
    /// Number of the execution, warm-up included.
    pub execution: u32,
    /// The rank.
    pub rank: u32,
    /// When it started and ended.
    pub times: TaskTimes,
}

impl Execution<'_> {
    /// The GPU of the rank.
    pub fn gpu(&self) -> u32 {
        self.compiled.members[self.rank as usize]
    }
}

/// Each rank's part in each execution.
pub fn executions<'a>(
    jobs: &'a PlannedJobs,
    times: &'a [TaskTimes],
) -> impl Iterator<Item = Execution<'a>> + use<'a> {
    jobs.calls.iter().zip(&jobs.workload.calls).flat_map(move |(call, compiled)| {
        call.executions.iter().zip(0..).flat_map(move |(execution, number)| {
            execution.iter().zip(0..).map(move |(&task, rank)| Execution {
                call,
                compiled,
                execution: number,
                rank,
                times: times[task as usize],
            })
        })
    })
}

/// A collective that was faster than the hardware allows: a fault of the simulator.
pub fn impossible(collectives: &[CollectiveSummary]) -> Option<String> {
    let above = |c: &&CollectiveSummary| match (c.busbw_gbytes_per_s, c.bound_busbw_gbytes_per_s) {
        // Bounds count whole loops, so that a few bytes of small sizes are off.
        (Some(busbw), Some(bound)) => c.bytes >= 1 << 16 && busbw > bound * 1.001,
        _ => false,
    };
    collectives.iter().find(above).map(|c| {
        format!(
            "{} of {} B over {} ranks came to {:.3} GB/s of busbw, above the {:.3} GB/s that {} allows",
            c.kind,
            c.bytes,
            c.ranks,
            c.busbw_gbytes_per_s.unwrap_or(0.0),
            c.bound_busbw_gbytes_per_s.unwrap_or(0.0),
            c.bound_by.as_deref().unwrap_or("its busiest port"),
        )
    })
}

/// Results of the collectives that ran.
pub fn collectives<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
    times: &[TaskTimes],
) -> Vec<CollectiveSummary> {
    let mut out = Vec::new();
    for (index, call) in jobs.calls.iter().enumerate() {
        if call.executions.is_empty() {
            continue;
        }
        let skipped = fabric.skipped(index as u32);
        out.push(collective(call, &jobs.workload.calls[index], times, skipped, bound(fabric, jobs, index)));
    }
    out
}

/// The shortest time the ports of nodes and fabric allow call `index`, in microseconds, and the port that sets it.
pub fn bound<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
    index: usize,
) -> Option<(f64, String)> {
    let of_node = jobs.calls[index].bound.slowest.map(|(port, us)| (us, port.to_string()));
    let streams = loads::streams(fabric, jobs, index);
    let of_fabric = loads::by_port(fabric, &streams).and_then(|ports| {
        let port = ports.into_iter().next()?;
        let graph = fabric.graph();
        let peer = graph.port_name(graph.ports[port.port as usize].peer);
        Some((port.us, format!("{} → {peer}", graph.port_name(port.port))))
    });
    match (of_node, of_fabric) {
        (Some(node), Some(fabric)) if fabric.0 > node.0 * 1.000_001 => Some(fabric),
        (Some(node), _) => Some(node),
        (None, fabric) => fabric,
    }
}

fn collective(
    call: &PlannedCall,
    compiled: &models::workload::Call,
    times: &[TaskTimes],
    skipped: Skipped,
    bound: Option<(f64, String)>,
) -> CollectiveSummary {
    let mut spans: Vec<f64> = Vec::new();
    let mut before: Option<Time> = None;
    for (index, execution) in call.executions.iter().enumerate() {
        let ends: Option<Time> = execution
            .iter()
            .map(|&task| times[task as usize].finished)
            .collect::<Option<Vec<_>>>()
            .and_then(|ends| ends.into_iter().max());
        let start = execution.iter().filter_map(|&task| times[task as usize].started).min();
        let (Some(end), Some(start)) = (ends, start) else { break };
        // Calls that follow each other at once share no time; a pause between them is not theirs.
        let from = before.map_or(start, |before| before.max(start));
        if index >= call.warmup {
            spans.push(end.since(from.min(end)).as_us() + skipped.time.as_us());
        }
        before = Some(end);
    }
    spans.sort_unstable_by(f64::total_cmp);
    let summary = TimeSummary::of(&spans);
    let algbw = summary.map(|s| call.bytes as f64 / s.mean / 1e3);
    let factor = bus_factor(call.operation, call.ranks);
    let schedule = &compiled.schedule;
    CollectiveSummary {
        name: call.job.clone(),
        kind: call.operation.name(),
        algorithm: schedule.algorithm.name(),
        protocol: schedule.protocol.name(),
        channels: schedule.channels.iter().filter(|channel| channel.bytes > 0).count() as u32,
        ranks: call.ranks,
        nodes: call.nodes,
        bytes: call.bytes,
        executions: spans.len() as u64,
        step_time_us: summary,
        algbw_gbytes_per_s: algbw,
        busbw_gbytes_per_s: algbw.map(|a| a * factor),
        bound_busbw_gbytes_per_s: bound.as_ref().map(|(us, _)| call.bytes as f64 / us / 1e3 * factor),
        bound_by: bound.map(|(_, port)| port),
        nccl_model_us: call.choice.predicted_us,
        why: call.choice.why.clone(),
        extrapolated_loops: skipped.loops,
    }
}

/// Results of the training jobs.
pub fn training(jobs: &PlannedJobs, times: &[TaskTimes]) -> Vec<TrainingSummary> {
    jobs.steps.iter().map(|steps| training_job(steps, times)).collect()
}

fn training_job(planned: &PlannedSteps, times: &[TaskTimes]) -> TrainingSummary {
    let span = |task: &u32| {
        let times = times[*task as usize];
        Some((times.started?, times.finished?))
    };
    let mut spans = Vec::new();
    let (mut compute, mut exposed, mut share, mut communication, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let mut before = Time::ZERO;
    for step in &planned.steps {
        let all: Option<Vec<Vec<(Time, Time)>>> =
            step.iter().map(|gpu| gpu.compute.iter().chain(&gpu.communication).map(span).collect()).collect();
        let Some(all) = all else { break };
        let end = all.iter().flatten().map(|(_, end)| *end).max().unwrap_or(before);
        if spans.is_empty() {
            before = all.iter().flatten().map(|(start, _)| *start).min().unwrap_or(before);
        }
        let time = end.since(before).as_us();
        for (gpu, tasks) in step.iter().zip(&all) {
            let computing: f64 =
                tasks[..gpu.compute.len()].iter().map(|(start, end)| end.since(*start).as_us()).sum();
            compute += computing;
            exposed += time - computing;
            share += (time - computing) / time.max(1e-9);
            communication += covered(&tasks[gpu.compute.len()..]);
            count += 1.0;
        }
        spans.push(time);
        before = end;
    }
    spans.sort_unstable_by(f64::total_cmp);
    let mean = |sum: f64| if count > 0.0 { sum / count } else { 0.0 };
    TrainingSummary {
        name: planned.job.clone(),
        steps: spans.len() as u64,
        step_time_us: TimeSummary::of(&spans),
        compute_us: mean(compute),
        exposed_communication_us: mean(exposed),
        gpu_idle_share: mean(share),
        communication_us: mean(communication),
    }
}

/// Time covered by at least one of the spans, in microseconds.
fn covered(spans: &[(Time, Time)]) -> f64 {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let (mut sum, mut until) = (0.0, Time::ZERO);
    for (start, end) in sorted {
        let from = start.max(until);
        if end > from {
            sum += end.since(from).as_us();
            until = end;
        }
    }
    sum
}
