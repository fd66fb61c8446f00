//! Drives a fabric on grids of simulated time until the run is over.

use std::path::Path;

use models::fabric::Fabric;
use models::record::{NoRecord, Recorder};
use sim_core::queue::TimeWheel;
use sim_core::{Duration, Time};

use super::facts::Facts;
use super::ideal::wire_bytes;
use super::observer::{Observer, Poll, Progress};
use super::prepare::{Prepared, RunError};
use super::summary::Summary;
use super::watch::Watch;

/// Bounds of the grid on which completion, stalls and queues are looked at.
const FINEST: Duration = Duration::from_us(1);
const COARSEST: Duration = Duration::from_us(20);
/// The grid has about this many points while the busiest host sends or receives its flows.
const POINTS: u64 = 200;
/// Longest time a fabric is given to deliver what is under way after the last completion.
const DRAIN: Duration = Duration::from_ms(10);

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All flows are done.
    Completed,
    /// At `run.until`.
    Until,
    /// A deadlock was found.
    Deadlock,
    /// Nothing was delivered for `run.stall_limit`.
    Stalled,
    /// The observer stopped it.
    Interrupted,
    /// A file could not be written.
    WriteFailed,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Deterministic results.
    pub summary: Summary,
    /// How it ended.
    pub end: End,
}

/// Runs a scenario to its end, writing files to `out` where it is given.
pub fn execute(
    prepared: Prepared,
    out: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let _ = out;
    let mut run = Run::new(prepared, NoRecord)?;
    run.go(observer);
    Ok(run.finish())
}

/// A run under way.
struct Run<R: Recorder> {
    fabric: Fabric<TimeWheel, R>,
    prepared: Prepared,
    watch: Watch,
    grid: Duration,
    payload: u64,
    end: End,
}

impl<R: Recorder> Run<R> {
    fn new(mut prepared: Prepared, recorder: R) -> Result<Self, RunError> {
        let graph = std::mem::take(&mut prepared.graph);
        let flows = std::mem::take(&mut prepared.flows);
        let grid = control_grid(&prepared, &graph, &flows);
        let watch = Watch::new(&prepared.scenario, &graph);
        let payload = flows.iter().map(|flow| flow.bytes().0).sum();
        let fabric = Fabric::build(graph, flows, &prepared.config, recorder)?;
        Ok(Self { fabric, prepared, watch, grid, payload, end: End::Completed })
    }

    /// Runs to the end.
    fn go(&mut self, observer: &mut dyn Observer) {
        let run = &self.prepared.scenario.run;
        let until = run.until.map_or(Time::NEVER, |span| Time::ZERO + span);
        let stall_limit = run.stall_limit;
        let mut next = Time::ZERO;
        self.end = loop {
            next = next + self.grid;
            let stop = next.min(until);
            self.fabric.run_until(stop);
            self.watch.look(&self.fabric);
            if self.done() {
                self.drain(observer);
                break End::Completed;
            }
            if stop == until {
                break End::Until;
            }
            if self.stalled(stall_limit) {
                break End::Stalled;
            }
            match observer.poll() {
                Poll::Go => {}
                Poll::Report => observer.progress(&self.progress()),
                Poll::Stop => break End::Interrupted,
            }
        };
    }

    fn done(&self) -> bool {
        self.fabric.completed() == self.fabric.flows().len() as u64
    }

    /// Whether flows wait and nothing was delivered for `limit`.
    fn stalled(&self, limit: Duration) -> bool {
        let quiet = self.fabric.now().since(self.fabric.last_delivery());
        quiet >= limit
            && self.fabric.flow_states().iter().any(|flow| flow.started.is_some() && flow.finished.is_none())
    }

    /// Lets arrive what is under way after the last completion.
    fn drain(&mut self, observer: &mut dyn Observer) {
        let last = self.fabric.now() + DRAIN;
        loop {
            let counters = self.fabric.counters();
            let inside = counters.created - counters.delivered - counters.dropped();
            if (inside == 0 && !self.fabric.pauses_outstanding()) || self.fabric.now() >= last {
                return;
            }
            let next = self.fabric.now() + self.grid;
            self.fabric.run_until(next);
            if observer.poll() == Poll::Stop {
                return;
            }
        }
    }

    fn progress(&self) -> Progress {
        let fabric = &self.fabric;
        let flows = fabric.flows().len() as u32;
        let delivered: u64 = (0..flows).map(|flow| fabric.delivered(flow)).sum();
        let of_payload = delivered as f64 / self.payload.max(1) as f64;
        let of_time = self
            .prepared
            .scenario
            .run
            .until
            .map_or(0.0, |until| fabric.now().0 as f64 / until.0.max(1) as f64);
        Progress {
            now: fabric.now(),
            packet_hops: fabric.counters().packet_hops,
            completed: fabric.completed(),
            flows: u64::from(flows),
            fraction: of_payload.max(of_time).min(1.0),
        }
    }

    fn finish(self) -> Outcome {
        let last = self.fabric.flow_states().iter().filter_map(|flow| flow.finished).max();
        let sim_time = match self.end {
            End::Completed => last.unwrap_or(self.fabric.now()),
            End::Until | End::Deadlock | End::Stalled | End::Interrupted | End::WriteFailed => {
                self.fabric.now()
            }
        };
        let Prepared { scenario, params, findings, .. } = &self.prepared;
        let facts =
            Facts::gather(&self.fabric, scenario, params, findings, (&self.end, sim_time), &self.watch);
        let summary = Summary::new(&facts, Vec::new());
        Outcome { summary, end: self.end }
    }
}

/// The grid of a scenario: fine enough to see its queues, coarse enough to cost nothing.
fn control_grid(
    prepared: &Prepared,
    graph: &models::topology::Graph,
    flows: &[models::traffic::Flow],
) -> Duration {
    let mut sent = vec![0u64; graph.hosts as usize];
    let mut received = sent.clone();
    for flow in flows {
        let wire = wire_bytes(flow, &prepared.scenario.nic);
        sent[flow.src as usize] += wire;
        received[flow.dst as usize] += wire;
    }
    let busiest = (0..graph.hosts)
        .map(|host| {
            let load = sent[host as usize].max(received[host as usize]);
            graph.link_of(graph.first_port[host as usize]).rate.tx_time(load).0
        })
        .max()
        .unwrap_or(0);
    // Whole microseconds.
    let grid = busiest / POINTS / FINEST.0 * FINEST.0;
    Duration(grid.clamp(FINEST.0, COARSEST.0))
}
