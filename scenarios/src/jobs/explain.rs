//! What bounds a collective: bytes by NIC, NVLink and link, rings and trees over rails, and streams that collide.

use std::collections::BTreeMap;
use std::fmt::Write;

use collectives::schedule::{Connection, Path};
use models::fabric::Fabric;
use models::record::{NoRecord, Recorder};
use models::topology::Graph;
use serde::Serialize;
use sim_core::Bytes;
use sim_core::queue::{EventQueue, TimeWheel};

use super::bound::PortOf;
use super::loads::{self, StreamLoad};
use super::plan::{PlannedCall, PlannedJobs, bus_factor};
use crate::check::text::size;
use crate::run::{Prepared, RunError, paragraph};

/// Ports and collisions that are listed.
const LISTED: usize = 6;

/// What a call does to the hardware.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The job's name.
    pub name: String,
    /// Number of the call.
    pub call: usize,
    /// The operation.
    pub kind: &'static str,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The protocol.
    pub protocol: &'static str,
    /// Why this one.
    pub why: String,
    /// Ranks.
    pub ranks: u32,
    /// Size as nccl-tests counts it.
    pub bytes: u64,
    /// The port that is busy longest, of nodes and fabric.
    pub bound_by: Option<String>,
    /// How long it is busy, in microseconds: no execution can be faster.
    pub bound_us: Option<f64>,
    /// The busbw that would be.
    pub bound_busbw_gbytes_per_s: Option<f64>,
    /// Bytes each rail (NIC number in its node) sends, over all nodes.
    pub rail_bytes: Vec<u64>,
    /// Most bytes a GPU sends, and receives, over NVLink.
    pub nvlink_bytes: (u64, u64),
    /// The busiest links of the fabric: port → peer, bytes, streams, microseconds at full rate.
    pub links: Vec<LinkLoad>,
    /// Links between switches that carry more than their even share because several streams chose them.
    pub collisions: Vec<Collision>,
    /// Parts of streams over rails: from NIC j to NIC j.
    pub same_rail: f64,
    /// The rings or trees, drawn.
    pub drawing: String,
}

/// A link and what a call puts on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// The egress port and the port it leads to.
    pub link: String,
    /// Bytes of one execution.
    pub bytes: u64,
    /// Data streams.
    pub streams: u32,
    /// Time at the link's full rate.
    pub us: f64,
}

/// Streams that share a link to their loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Collision {
    /// The egress port and the port it leads to.
    pub link: String,
    /// The streams, as rank → rank with their NICs.
    pub streams: Vec<String>,
    /// How many times as long the link is busy as the busiest NIC.
    pub slowdown: f64,
}

/// Explains the calls of a scenario: `only` that one, or the largest of each algorithm and protocol of each job.
pub fn explain(mut prepared: Prepared, only: Option<usize>) -> Result<Vec<Explanation>, RunError> {
    let Some(jobs) = prepared.jobs.take() else { return Ok(Vec::new()) };
    if let Some(call) = only.filter(|call| *call >= jobs.calls.len()) {
        return Err(RunError::NoCall { call, calls: jobs.calls.len() });
    }
    let graph = std::mem::take(&mut prepared.graph);
    let flows = std::mem::take(&mut prepared.flows);
    let workload = Some(jobs.workload.clone());
    let fabric: Fabric<TimeWheel> = Fabric::build_with(graph, flows, workload, &prepared.config, NoRecord)?;
    let mut chosen: BTreeMap<(String, &str, &str), usize> = BTreeMap::new();
    for (index, call) in jobs.calls.iter().enumerate() {
        let schedule = &jobs.workload.calls[index].schedule;
        let key = (job_of(call).to_string(), schedule.algorithm.name(), schedule.protocol.name());
        let best = chosen.entry(key).or_insert(index);
        if jobs.calls[*best].bytes < call.bytes {
            *best = index;
        }
    }
    let mut calls: Vec<usize> = only.map_or_else(|| chosen.into_values().collect(), |call| vec![call]);
    calls.sort_unstable();
    Ok(calls.into_iter().map(|call| one(&fabric, &jobs, call)).collect())
}

/// The job of a call, without the number of its communicator.
fn job_of(call: &PlannedCall) -> &str {
    call.job.split('/').next().unwrap_or(&call.job)
}

/// The streams of a call and of those that run beside it: of the job's other communicators.
fn beside<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
    index: usize,
) -> Vec<StreamLoad> {
    let call = &jobs.calls[index];
    let same = |other: &PlannedCall| {
        job_of(other) == job_of(call) && (other.operation, other.bytes) == (call.operation, call.bytes)
    };
    (0..jobs.calls.len())
        .filter(|&other| same(&jobs.calls[other]))
        .flat_map(|other| loads::streams(fabric, jobs, other))
        .collect()
}

/// The links between switches that are busy longer than any NIC of call `index` and of the communicators beside it, because
/// several streams chose them; the worst first.
pub fn collisions<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
    index: usize,
) -> Vec<Collision> {
    let streams = beside(fabric, jobs, index);
    let Some(ports) = loads::by_port(fabric, &streams) else { return Vec::new() };
    let graph = fabric.graph();
    let of_nics = |load: &&loads::PortLoad| {
        let end = graph.ports[load.port as usize];
        graph.is_host(end.node) || graph.is_host(end.peer_node)
    };
    let nic_us = ports.iter().filter(of_nics).map(|load| load.us).fold(0.0, f64::max);
    ports
        .iter()
        .filter(|load| between_switches(graph, load.port) && load.us > 1.05 * nic_us && load.streams > 1)
        .map(|load| Collision {
            link: hop(graph, load.port),
            streams: streams
                .iter()
                .filter(|stream| stream.way.as_ref().is_some_and(|way| way.contains(&load.port)))
                .map(|stream| stream_name(stream, fabric))
                .collect(),
            slowdown: load.us / nic_us.max(1e-9),
        })
        .collect()
}

/// The collisions of the largest call of each job.
pub fn collisions_of_jobs<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
) -> Vec<(String, Vec<Collision>)> {
    let mut largest: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, call) in jobs.calls.iter().enumerate() {
        let best = largest.entry(job_of(call)).or_insert(index);
        if jobs.calls[*best].bytes < call.bytes {
            *best = index;
        }
    }
    largest.into_iter().map(|(job, index)| (job.to_string(), collisions(fabric, jobs, index))).collect()
}

fn one(fabric: &Fabric<TimeWheel>, jobs: &PlannedJobs, index: usize) -> Explanation {
    let PlannedCall { job, operation, bytes, ranks, choice, bound, .. } = &jobs.calls[index];
    let schedule = &jobs.workload.calls[index].schedule;
    let streams = beside(fabric, jobs, index);
    let ports = loads::by_port(fabric, &streams);
    let limit = super::results::bound(fabric, jobs, index);
    let mut rail_bytes = vec![0; jobs.node.nics as usize];
    let (mut out, mut into) = (0, 0);
    for (port, &bytes) in &bound.loads {
        match port {
            PortOf::Nic { nic, sends: true, .. } => rail_bytes[*nic as usize] += bytes,
            PortOf::Gpu { sends: true, .. } => out = out.max(bytes),
            PortOf::Gpu { sends: false, .. } => into = into.max(bytes),
            PortOf::Nic { sends: false, .. } => {}
        }
    }
    let graph = fabric.graph();
    let links = ports.iter().flatten().take(LISTED).map(|load| LinkLoad {
        link: hop(graph, load.port),
        bytes: load.bytes,
        streams: load.streams,
        us: load.us,
    });
    let rails: u64 = streams.iter().map(|stream| stream.bytes).sum();
    let same: u64 = streams.iter().filter(|s| same_rail(&s.connection)).map(|stream| stream.bytes).sum();
    Explanation {
        name: job.clone(),
        call: index,
        kind: operation.name(),
        algorithm: schedule.algorithm.name(),
        protocol: schedule.protocol.name(),
        why: choice.why.clone(),
        ranks: *ranks,
        bytes: *bytes,
        bound_us: limit.as_ref().map(|(us, _)| *us),
        bound_busbw_gbytes_per_s: limit
            .as_ref()
            .map(|(us, _)| *bytes as f64 / us / 1e3 * bus_factor(*operation, *ranks)),
        bound_by: limit.map(|(_, port)| port),
        rail_bytes,
        nvlink_bytes: (out, into),
        links: links.collect(),
        collisions: collisions(fabric, jobs, index).into_iter().take(LISTED).collect(),
        same_rail: if rails == 0 { 1.0 } else { same as f64 / rails as f64 },
        drawing: collectives::describe(schedule, 0),
    }
}

fn hop(graph: &Graph, port: u32) -> String {
    format!("{} → {}", graph.port_name(port), graph.port_name(graph.ports[port as usize].peer))
}

fn between_switches(graph: &Graph, port: u32) -> bool {
    let end = graph.ports[port as usize];
    !graph.is_host(end.node) && !graph.is_host(end.peer_node)
}

fn same_rail(connection: &Connection) -> bool {
    match connection.path {
        Path::Network { from_nic, to_nic, .. } => from_nic == to_nic,
        _ => true,
    }
}

fn stream_name<Q: EventQueue, R: Recorder>(stream: &StreamLoad, fabric: &Fabric<Q, R>) -> String {
    let Connection { from, to, channel, .. } = stream.connection;
    let graph = fabric.graph();
    let flow = &fabric.streams()[stream.flow as usize - fabric.flows().len()];
    let (src, dst) = (&graph.names[flow.src as usize], &graph.names[flow.dst as usize]);
    match stream.connection.path {
        Path::Network { from_nic, to_nic, .. } => {
            format!("rank {from} NIC {from_nic} ({src}) → rank {to} NIC {to_nic} ({dst}), channel {channel}")
        }
        _ => format!("rank {from} ({src} → {dst}), channel {channel}"),
    }
}

impl Explanation {
    /// For people.
    pub fn page(&self) -> String {
        let mut out = format!(
            "{} · call {} · {} of {} over {} ranks · {}/{}\n",
            self.name,
            self.call,
            self.kind,
            size(Bytes(self.bytes)),
            self.ranks,
            self.algorithm,
            self.protocol
        );
        let mut line = |label: &str, text: String| out.push_str(&paragraph(label, &text));
        line("why", self.why.clone());
        if let (Some(by), Some(us), Some(busbw)) =
            (&self.bound_by, self.bound_us, self.bound_busbw_gbytes_per_s)
        {
            line("bound", format!("{by}: busy for {us:.1} us, so busbw ≤ {busbw:.1} GB/s"));
        }
        let rails: Vec<String> =
            self.rail_bytes.iter().enumerate().map(|(i, b)| format!("{i}: {}", size(Bytes(*b)))).collect();
        line(
            "rails",
            format!(
                "sent by NIC over all nodes {} · {:.0} % stay on their rail",
                rails.join(", "),
                self.same_rail * 100.0
            ),
        );
        let (sent, received) = self.nvlink_bytes;
        if sent + received > 0 {
            let (sent, received) = (size(Bytes(sent)), size(Bytes(received)));
            line("NVLink", format!("a GPU sends up to {sent} and receives up to {received}"));
        }
        for (i, link) in self.links.iter().enumerate() {
            let label = if i == 0 { "links" } else { "" };
            line(
                label,
                format!(
                    "{}: {}, {} streams, {:.1} us",
                    link.link,
                    size(Bytes(link.bytes)),
                    link.streams,
                    link.us
                ),
            );
        }
        for collision in &self.collisions {
            line(
                "collision",
                format!(
                    "{} is busy {:.2} times as long as any NIC: {}",
                    collision.link,
                    collision.slowdown,
                    collision.streams.join("; ")
                ),
            );
        }
        if self.links.is_empty() && !self.rail_bytes.iter().all(|b| *b == 0) {
            line("links", "packets of a stream part ways, so that no link can be named".to_string());
        }
        let _ = writeln!(out, "\n{}", self.drawing);
        out
    }
}
