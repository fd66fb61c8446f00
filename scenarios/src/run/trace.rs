//! A trace of a run for Perfetto or chrome://tracing: JSON trace events, written while the run goes on. Flows are slices
//! of their hosts, queues are counters, pauses are slices of the paused ports, collective steps slices of their GPUs.
//!
//! The file is an array of events, whose end viewers do not need: what a kill leaves can be opened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use models::config::CLASSES;
use models::fabric::Fabric;
use models::record::{PfcAction, PfcRecord, Recorder};
use models::topology::{Graph, PortIndex};
use serde_json::{Value, json};
use sim_core::Time;
use sim_core::queue::TimeWheel;

use super::facts::Facts;
use super::files::WriteError;
use crate::check::text::size;
use crate::jobs::results;

/// Processes of the viewer: those of hosts follow the last.
const PAUSES: u64 = 1;
const QUEUES: u64 = 2;
const GPUS: u64 = 3;
const HOSTS: u64 = 10;

/// Where a trace goes and how long it may be.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The file, JSON.
    pub file: PathBuf,
    /// Most events that are written.
    pub most: u64,
}

/// How far a flow is written.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Told {
    #[default]
    Nothing,
    Start,
    End,
}

/// A trace under way.
pub(super) struct Trace {
    path: PathBuf,
    out: BufWriter<File>,
    most: u64,
    written: u64,
    skipped: u64,
    /// Tracks that have their names.
    named: BTreeSet<(u64, Option<u64>)>,
    /// Queues that were not empty at the last sample.
    queued: BTreeSet<(PortIndex, u8)>,
    /// Pauses that have begun and not ended.
    paused: BTreeSet<(PortIndex, u8)>,
    flows: Vec<Told>,
    /// All flows before this one are written.
    settled: usize,
}

impl Trace {
    /// Opens the file.
    pub fn create(options: &TraceOptions, flows: usize) -> Result<Self, WriteError> {
        let path = options.file.clone();
        let open = || -> io::Result<BufWriter<File>> {
            let mut out = BufWriter::with_capacity(1 << 16, File::create(&path)?);
            out.write_all(b"[\n")?;
            Ok(out)
        };
        let out = open().map_err(|source| WriteError { path: path.clone(), source })?;
        Ok(Self {
            path,
            out,
            most: options.most,
            written: 0,
            skipped: 0,
            named: BTreeSet::new(),
            queued: BTreeSet::new(),
            paused: BTreeSet::new(),
            flows: vec![Told::Nothing; flows],
            settled: 0,
        })
    }

    /// Writes an event at a time on a track; false if the limit is reached.
    fn event(&mut self, at: Time, (process, track): (u64, u64), event: Value) -> Result<bool, WriteError> {
        if self.written == self.most {
            self.skipped += 1;
            return Ok(false);
        }
        let mut line = event;
        line["pid"] = json!(process);
        line["tid"] = json!(track);
        let text = line.to_string();
        let comma = if self.written == 0 && self.named.is_empty() { "" } else { ",\n" };
        self.written += 1;
        // Microseconds, exact to the picosecond.
        let head = text.strip_suffix('}').unwrap_or(&text);
        self.put(&format!("{comma}{head},\"ts\":{}.{:06}}}", at.0 / 1_000_000, at.0 % 1_000_000))?;
        Ok(true)
    }

    fn put(&mut self, text: &str) -> Result<(), WriteError> {
        self.out.write_all(text.as_bytes()).map_err(|source| WriteError { path: self.path.clone(), source })
    }

    /// Names a process, or a track of one, once. Names do not count as events.
    fn name(&mut self, process: u64, track: Option<u64>, name: &str) -> Result<(), WriteError> {
        if self.written == self.most || self.named.contains(&(process, track)) {
            return Ok(());
        }
        let comma = if self.written == 0 && self.named.is_empty() { "" } else { ",\n" };
        self.named.insert((process, track));
        let kind = if track.is_some() { "thread_name" } else { "process_name" };
        let event = json!({ "ph": "M", "name": kind, "pid": process, "tid": track.unwrap_or(0), "args": { "name": name } });
        self.put(&format!("{comma}{event}"))
    }

    /// Writes the queues of switches and what flows began and ended.
    pub fn sample<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        let graph = fabric.graph();
        let now = fabric.now();
        let mut queued = BTreeSet::new();
        for port in graph.first_port[graph.hosts as usize]..graph.ports.len() as PortIndex {
            let backlog = fabric.port(port).backlog;
            for class in (0..CLASSES as u8).filter(|class| backlog & (1 << class) != 0) {
                queued.insert((port, class));
                self.queue(graph, now, (port, class), u64::from(fabric.egress_queue(port, class).bytes))?;
            }
        }
        for empty in self.queued.difference(&queued).copied().collect::<Vec<_>>() {
            self.queue(graph, now, empty, 0)?;
        }
        self.queued = queued;
        self.progress(fabric)
    }

    fn queue(
        &mut self,
        graph: &Graph,
        at: Time,
        (port, class): (PortIndex, u8),
        bytes: u64,
    ) -> Result<(), WriteError> {
        self.name(QUEUES, None, "egress queues (bytes)")?;
        let name = format!("{} class {class}", graph.port_name(port));
        self.event(at, (QUEUES, 0), json!({ "ph": "C", "name": name, "args": { "bytes": bytes } }))?;
        Ok(())
    }

    /// Writes what flows began and ended since the last call.
    fn progress<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        let states = fabric.flow_states();
        for (index, (state, flow)) in states.iter().zip(fabric.flows()).enumerate().skip(self.settled) {
            if let (Told::Nothing, Some(at)) = (self.flows[index], state.started) {
                let (graph, host) = (fabric.graph(), u64::from(flow.src));
                let name = |node: u32| graph.names[node as usize].clone();
                self.name(HOSTS + host, None, &name(flow.src))?;
                let event = json!({
                    "ph": "b", "cat": "flow", "id": index, "name": format!("→ {}", name(flow.dst)),
                    "args": { "flow": index, "class": flow.class.to_string(), "size": size(flow.bytes()) }
                });
                self.event(at, (HOSTS + host, 0), event)?;
                self.flows[index] = Told::Start;
            }
            if let (Told::Start, Some(at)) = (self.flows[index], state.finished) {
                let name = format!("→ {}", fabric.graph().names[flow.dst as usize]);
                let event = json!({ "ph": "e", "cat": "flow", "id": index, "name": name });
                self.event(at, (HOSTS + u64::from(flow.src), 0), event)?;
                self.flows[index] = Told::End;
            }
        }
        while self.flows.get(self.settled) == Some(&Told::End) {
            self.settled += 1;
        }
        Ok(())
    }

    /// Writes pauses and resumes.
    pub fn pfc(&mut self, graph: &Graph, records: &[PfcRecord]) -> Result<(), WriteError> {
        for record in records {
            let told = matches!(record.action, PfcAction::Pause | PfcAction::Refresh | PfcAction::Resume);
            let peer = graph.ports[record.port as usize].peer;
            let (paused, by) = if told { (peer, record.port) } else { (record.port, peer) };
            let key = (paused, record.class);
            let track = u64::from(paused) * CLASSES as u64 + u64::from(record.class);
            match record.action {
                PfcAction::Pause | PfcAction::Refresh => {
                    if !self.paused.contains(&key) {
                        self.name(PAUSES, None, "pauses")?;
                        let port = format!("{} class {}", graph.port_name(paused), record.class);
                        self.name(PAUSES, Some(track), &port)?;
                        let name = format!("paused by {}", graph.port_name(by));
                        let event = json!({ "ph": "B", "cat": "pfc", "name": name });
                        if self.event(record.at, (PAUSES, track), event)? {
                            self.paused.insert(key);
                        }
                    }
                }
                PfcAction::Resume | PfcAction::Expired => {
                    if self.paused.remove(&key) {
                        self.event(record.at, (PAUSES, track), json!({ "ph": "E" }))?;
                    }
                }
                PfcAction::Storm | PfcAction::Restore => {
                    let name = if record.action == PfcAction::Storm { "storm" } else { "restore" };
                    let event = json!({ "ph": "i", "s": "t", "cat": "watchdog", "name": name });
                    self.event(record.at, (PAUSES, track), event)?;
                }
            }
        }
        Ok(())
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush().map_err(|source| WriteError { path: self.path.clone(), source })
    }

    /// Writes what ended since the last sample, ends what is still paused, adds the steps of collectives and closes the
    /// file.
    pub fn finish<R: Recorder>(
        &mut self,
        fabric: &Fabric<TimeWheel, R>,
        facts: &Facts,
    ) -> Result<(), WriteError> {
        self.progress(fabric)?;
        for (port, class) in std::mem::take(&mut self.paused) {
            let track = u64::from(port) * CLASSES as u64 + u64::from(class);
            self.event(fabric.now(), (PAUSES, track), json!({ "ph": "E" }))?;
        }
        let mut tracks: BTreeMap<(u32, &str), u64> = BTreeMap::new();
        for step in facts.jobs.into_iter().flat_map(|jobs| results::executions(jobs, &facts.times)) {
            let (Some(from), Some(to)) = (step.times.started, step.times.finished) else { continue };
            let next = tracks.len() as u64;
            let (gpu, schedule) = (step.gpu(), &step.compiled.schedule);
            let track = *tracks.entry((gpu, &step.call.job)).or_insert(next);
            self.name(GPUS, None, "collectives")?;
            self.name(GPUS, Some(track), &format!("GPU {gpu} {}", step.call.job))?;
            let us = to.since(from).0 as f64 / 1e6;
            let event = json!({
                "ph": "X", "cat": "collective", "name": format!("{} {}", schedule.operation.name(), step.execution), "dur": us,
                "args": { "rank": step.rank, "algorithm": schedule.algorithm.name(), "protocol": schedule.protocol.name(), "bytes": step.call.bytes }
            });
            self.event(from, (GPUS, track), event)?;
        }
        self.put("\n]\n")?;
        self.flush()
    }

    /// What was left out because of the limit.
    pub fn told(&self) -> Option<String> {
        (self.skipped > 0).then(|| {
            format!(
                "{} holds the first {} events, {} more are not in it: raise --trace-limit",
                self.path.display(),
                self.written,
                self.skipped
            )
        })
    }
}
