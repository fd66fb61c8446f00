//! Drives a fabric on grids of simulated time until the run is over.

use std::path::Path as FilePath;

use collectives::schedule::Path;
use models::fabric::Fabric;
use models::record::{FrameTrace, NoRecord, PfcTrace};
use sim_core::queue::TimeWheel;
use sim_core::{Duration, Time};

use super::facts::Facts;
use super::files::{Files, Records, WriteError, Written};
use super::ideal::wire_bytes;
use super::observer::{Observer, Poll, Progress};
use super::page::Page;
use super::prepare::{Prepared, RunError};
use super::summary::Summary;
use super::traces::{Outputs, Traces};
use super::verdict;
use super::watch::Watch;
use crate::jobs::{PlannedJobs, results};

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
#[derive(Debug)]
pub struct Outcome {
    /// Deterministic results.
    pub summary: Summary,
    /// How it ended.
    pub end: End,
    /// The files it wrote, if any.
    pub written: Option<Written>,
    /// Why writing ended early, if it did.
    pub write_error: Option<WriteError>,
    /// What is not in the trace or the capture because of their limits.
    pub left_out: Vec<String>,
    /// The summary for people.
    pub page: Page,
}

/// Runs a scenario to its end, writing files to the folder `out` where it is given. Without files nothing is sampled
/// or traced.
pub fn execute(
    prepared: Prepared,
    out: Option<&FilePath>,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    execute_traced(prepared, &Outputs { folder: out, ..Outputs::default() }, observer)
}

/// Runs a scenario to its end and writes what `outputs` asks for. What is recorded changes no result.
pub fn execute_traced(
    prepared: Prepared,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let traces = Traces::create(outputs, &prepared)?;
    let files = outputs.folder.map(|folder| Files::create(folder, &prepared)).transpose()?;
    if let Some(capture) = &outputs.capture {
        let recorder = FrameTrace::new(&traces.ports, prepared.graph.ports.len(), capture.most);
        run(Run::new(prepared, recorder, files, traces)?, observer)
    } else if files.is_some() || traces.samples() {
        run(Run::new(prepared, PfcTrace::default(), files, traces)?, observer)
    } else {
        run(Run::new(prepared, NoRecord, files, traces)?, observer)
    }
}

fn run<R: Records>(mut run: Run<R>, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    run.go(observer);
    possible(run.finish())
}

/// The outcome, unless a collective was faster than its hardware allows.
fn possible(outcome: Outcome) -> Result<Outcome, RunError> {
    match results::impossible(&outcome.summary.collectives) {
        None => Ok(outcome),
        Some(what) => Err(RunError::Impossible(what)),
    }
}

/// A run under way.
struct Run<R: Records> {
    fabric: Fabric<TimeWheel, R>,
    prepared: Prepared,
    watch: Watch,
    files: Option<Files>,
    traces: Traces,
    write_error: Option<WriteError>,
    grid: Duration,
    payload: u64,
    end: End,
}

impl<R: Records> Run<R> {
    fn new(
        mut prepared: Prepared,
        recorder: R,
        files: Option<Files>,
        traces: Traces,
    ) -> Result<Self, RunError> {
        let graph = std::mem::take(&mut prepared.graph);
        let flows = std::mem::take(&mut prepared.flows);
        let grid = control_grid(&prepared, &graph, &flows);
        let watch = Watch::new(&prepared.scenario, &graph);
        let jobs = prepared.jobs.as_ref();
        let payload = flows.iter().map(|flow| flow.bytes().0).sum::<u64>() + network_bytes(jobs);
        let workload = jobs.map(|jobs| jobs.workload.clone());
        let fabric = Fabric::build_with(graph, flows, workload, &prepared.config, recorder)?;
        Ok(Self {
            fabric,
            prepared,
            watch,
            files,
            traces,
            write_error: None,
            grid,
            payload,
            end: End::Completed,
        })
    }

    /// Runs to the end.
    fn go(&mut self, observer: &mut dyn Observer) {
        let run = self.prepared.scenario.run.clone();
        let until = run.until.map_or(Time::NEVER, |span| Time::ZERO + span);
        let mut control = Grid::new(self.grid);
        let mut pauses = Grid::new(run.deadlock_interval);
        let mut samples = Grid::new(self.prepared.scenario.output.sample_interval);
        // Where nothing is sampled otherwise, a trace looks at queues with everything else.
        let trace_by_control = samples.step.0 == 0;
        if self.files.is_none() && !self.traces.samples() {
            samples.next = Time::NEVER;
        }
        self.end = loop {
            let now = control.next.min(pauses.next).min(samples.next).min(until);
            self.fabric.run_until(now);
            if samples.due(now) {
                self.write(|files, fabric| files.sample(fabric));
                self.write_traces(|traces, fabric| traces.sample(fabric));
            }
            if (pauses.due(now) || now == until) && self.watch.scan(&self.fabric) && run.stop_on_deadlock {
                break End::Deadlock;
            }
            if !control.due(now) && now != until {
                continue;
            }
            self.watch.look(&self.fabric);
            self.fabric.skip_steady_loops();
            if trace_by_control {
                self.write_traces(|traces, fabric| traces.sample(fabric));
            }
            self.write_records();
            if self.write_error.is_some() {
                break End::WriteFailed;
            }
            if self.done() {
                self.drain(observer);
                break End::Completed;
            }
            if now == until {
                break End::Until;
            }
            if self.stalled(run.stall_limit) {
                break End::Stalled;
            }
            match observer.poll() {
                Poll::Go => {}
                Poll::Report => {
                    observer.progress(&self.progress());
                    self.write(|files, _| files.flush());
                    self.write_traces(|traces, _| traces.flush());
                }
                Poll::Stop => break End::Interrupted,
            }
        };
        self.write_records();
        if self.end != End::Completed {
            self.watch.look_at_trees(&self.fabric, 0);
        }
    }

    fn write(&mut self, what: impl FnOnce(&mut Files, &Fabric<TimeWheel, R>) -> Result<(), WriteError>) {
        if let (Some(files), None) = (&mut self.files, &self.write_error)
            && let Err(error) = what(files, &self.fabric)
        {
            self.write_error = Some(error);
        }
    }

    fn write_traces(
        &mut self,
        what: impl FnOnce(&mut Traces, &Fabric<TimeWheel, R>) -> Result<(), WriteError>,
    ) {
        if self.write_error.is_none() {
            self.write_error = what(&mut self.traces, &self.fabric).err();
        }
    }

    fn write_records(&mut self) {
        let recorder = self.fabric.recorder_mut();
        let (records, frames) = (recorder.take(), recorder.take_frames());
        self.write(|files, fabric| files.pfc(fabric.graph(), &records));
        self.write_traces(|traces, fabric| traces.write(fabric, &records, &frames));
    }

    fn done(&self) -> bool {
        self.fabric.completed() == self.fabric.flows().len() as u64
            && self.fabric.tasks_done() == self.fabric.task_times().len() as u64
    }

    /// Whether flows wait and nothing was delivered for `limit`.
    fn stalled(&self, limit: Duration) -> bool {
        let quiet = self.fabric.now().since(self.fabric.last_delivery());
        let flows = self.fabric.flow_states();
        quiet >= limit
            && (flows.iter().any(|flow| flow.started.is_some() && flow.finished.is_none())
                || (self.fabric.tasks_done() < self.fabric.task_times().len() as u64
                    && !self.fabric.computing()))
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

    /// Bytes of collectives that need not be simulated, because their loops are steady.
    fn left_out(&self) -> u64 {
        let Some(jobs) = &self.prepared.jobs else { return 0 };
        let part = |(index, call): (usize, &crate::jobs::PlannedCall)| {
            let loops =
                jobs.workload.calls[index].schedule.channels.iter().map(|c| c.loops).max().unwrap_or(1);
            let skipped = self.fabric.skipped(index as u32).loops;
            (call_bytes(jobs, index) * call.executions.len() as u64) / u64::from(loops.max(1))
                * u64::from(skipped)
        };
        jobs.calls.iter().enumerate().map(part).sum()
    }

    fn progress(&self) -> Progress {
        let fabric = &self.fabric;
        let flows = fabric.flows().len() as u32;
        let delivered: u64 = (0..flows).map(|flow| fabric.delivered(flow)).sum::<u64>()
            + fabric.moved().network_bytes
            + self.left_out();
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

    fn finish(mut self) -> Outcome {
        let skipped = self.fabric.recorder_mut().skipped();
        let flows = self.fabric.flow_states().iter().filter_map(|flow| flow.finished);
        let last = flows.chain(self.fabric.task_times().filter_map(|task| task.finished)).max();
        let sim_time = match self.end {
            End::Completed => last.unwrap_or(self.fabric.now()),
            End::Until | End::Deadlock | End::Stalled | End::Interrupted | End::WriteFailed => {
                self.fabric.now()
            }
        };
        let facts = Facts::gather(&self.fabric, &self.prepared, (&self.end, sim_time), &self.watch);
        let summary = Summary::new(&facts, verdict::find(&facts));
        let written = self.files.as_mut().map(|files| {
            if self.write_error.is_none() {
                self.write_error = files.finish(&facts, &summary).err();
            }
            files.written(facts.graph)
        });
        if self.write_error.is_none() {
            self.write_error = self.traces.finish(&self.fabric, &facts).err();
        }
        let left_out = self.traces.told(skipped);
        let page = Page::new(&facts, &summary, written.as_ref());
        Outcome { summary, end: self.end, written, write_error: self.write_error, left_out, page }
    }
}

/// Bytes one execution of a call sends over NICs.
fn call_bytes(jobs: &PlannedJobs, index: usize) -> u64 {
    let connections = &jobs.workload.calls[index].schedule.connections;
    connections
        .iter()
        .zip(&jobs.calls[index].bound.connections)
        .filter(|(connection, _)| matches!(connection.path, Path::Network { .. } | Path::InNetwork { .. }))
        .map(|(_, bytes)| bytes)
        .sum()
}

/// Bytes all jobs send over NICs.
fn network_bytes(jobs: Option<&PlannedJobs>) -> u64 {
    let of = |jobs: &PlannedJobs| {
        (0..jobs.calls.len()).map(|i| call_bytes(jobs, i) * jobs.calls[i].executions.len() as u64).sum()
    };
    jobs.map_or(0, of)
}

/// Instants a fixed step apart.
struct Grid {
    step: Duration,
    next: Time,
}

impl Grid {
    /// The grid of `step`, first at one step; of a step of 0, never.
    fn new(step: Duration) -> Self {
        Self { step, next: if step.0 == 0 { Time::NEVER } else { Time::ZERO + step } }
    }

    /// Whether `now` is its next instant, and if so on to the one after.
    fn due(&mut self, now: Time) -> bool {
        let due = now == self.next && now != Time::NEVER;
        if due {
            self.next = Time(self.next.0.saturating_add(self.step.0));
        }
        due
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
    let of_jobs: f64 =
        prepared.jobs.iter().flat_map(|jobs| &jobs.calls).map(|call| call.choice.predicted_us).sum();
    let busiest = busiest.max((of_jobs * 1e6) as u64);
    // Whole microseconds.
    let grid = busiest / POINTS / FINEST.0 * FINEST.0;
    Duration(grid.clamp(FINEST.0, COARSEST.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::super::test_runs::{flows, incast, only, run, scenario, star};
    use super::super::{Silent, prepare};
    use super::*;

    /// An incast that pauses.
    fn pausing() -> Value {
        json!({ "topology": star(9, 100, 10), "traffic": incast(8, "4MB") })
    }

    fn read(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
            })
            .collect()
    }

    fn with_files(object: Value, folder: &Path) -> Outcome {
        execute(prepare(&scenario(object)).unwrap(), Some(folder), &mut Silent).unwrap()
    }

    #[test]
    fn a_run_ends_when_all_has_arrived() {
        let summary = run(pausing()).summary;
        assert!(summary.pfc.pause_frames > 0 && summary.cnp.sent > 0);
        assert_eq!(summary.cnp.sent, summary.cnp.received);
        let fct = summary.flows.fct_us.unwrap();
        // The drain is not counted: simulated time is the last completion.
        assert!((summary.sim_time_ns / 1e3 - fct.max).abs() < 1.0, "{} {}", summary.sim_time_ns, fct.max);
    }

    #[test]
    fn the_same_run_writes_the_same_bytes_and_files_do_not_change_the_summary() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = with_files(pausing(), a.path());
        with_files(pausing(), b.path());
        let (a, b) = (read(a.path()), read(b.path()));
        let names: Vec<&str> = a.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["flows.csv", "pfc.csv", "ports.csv", "queues.csv", "rates.csv", "scenario.json", "summary.json"]
        );
        assert_eq!(a, b);
        assert_eq!(first.summary, run(pausing()).summary);
    }

    /// Every pause is in the file, and the counters of the ports agree with it.
    #[test]
    fn pfc_csv_holds_what_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = with_files(pausing(), folder.path());
        let text = std::fs::read_to_string(folder.path().join("pfc.csv")).unwrap();
        let of = |action: &str| text.lines().filter(|line| line.ends_with(action)).count() as u64;
        let pfc = outcome.summary.pfc;
        assert_eq!(of(",pause") + of(",refresh"), pfc.pause_frames);
        assert_eq!(of(",resume"), pfc.resume_frames);
        assert_eq!(of(",pause"), of(",resume"), "nothing stays paused");
        let (at, hop) = outcome.written.unwrap().first_pause.unwrap();
        assert!(at > Time::ZERO && hop.starts_with("switch0:") && hop.contains(" → host"), "{hop}");
    }

    #[test]
    fn without_pauses_the_file_has_its_header_only() {
        let folder = tempfile::tempdir().unwrap();
        let object = json!({ "topology": star(2, 100, 10), "traffic": flows(&[("host0", "host1", "1MB")]) });
        let outcome = with_files(object, folder.path());
        let text = std::fs::read_to_string(folder.path().join("pfc.csv")).unwrap();
        assert_eq!(text, "time_us,port,peer,class,action\n");
        assert!(only(&outcome, "pfc-quiet").text.starts_with("0 events"));
        assert!(outcome.page.body.contains("PFC       0 events"));
    }

    #[test]
    fn limits_act_and_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut object = pausing();
        object["output"] =
            json!({ "sample_interval": "5us", "rate_flows": 3, "queue_rows": 1, "pfc_rows": 4 });
        object["topology"] = star(9, 100, 100);
        object["traffic"] = json!([
            { "incast": { "senders": 8, "size": "4MB" } }, { "incast": { "senders": 4, "size": "1MB", "receiver": "host8" } }
        ]);
        let outcome = with_files(object.clone(), folder.path());
        let lines = |name: &str| {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
            text.lines().skip(1).map(String::from).collect::<Vec<String>>()
        };
        assert_eq!(lines("pfc.csv").len(), 4);
        assert!(
            lines("rates.csv").iter().all(|line| ["0", "1", "2"].contains(&line.split(',').nth(1).unwrap()))
        );
        let times: Vec<String> =
            lines("queues.csv").iter().map(|l| l.split(',').next().unwrap().to_string()).collect();
        let mut once = times.clone();
        once.dedup();
        assert_eq!(times, once, "one row a sample");
        assert!(times.iter().all(|t| t.parse::<f64>().unwrap() % 5.0 == 0.0));
        let said = outcome.written.unwrap().limits.join("\n");
        for name in [
            "pfc.csv holds the first 4 events",
            "queues.csv holds the 1 longest",
            "rates.csv holds the first 3 of 12",
        ] {
            assert!(said.contains(name), "{said}");
        }
        object["output"]["sample_interval"] = json!("0us");
        with_files(object, folder.path());
        assert!(!folder.path().join("queues.csv").exists(), "files of an earlier run are removed");
    }

    #[test]
    fn a_full_disk_ends_the_run_and_keeps_what_there_is() {
        if !Path::new("/dev/full").exists() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("rates.csv")).unwrap();
        let outcome = with_files(pausing(), folder.path());
        let error = outcome.write_error.as_ref().expect("the disk is full");
        assert!(error.path.ends_with("rates.csv"), "{error}");
        assert!(error.to_string().contains("No space left on device"), "{error}");
        assert!(folder.path().join("scenario.json").exists() && folder.path().join("pfc.csv").exists());
    }

    #[test]
    fn a_folder_that_is_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("taken");
        std::fs::write(&file, "x").unwrap();
        let prepared = prepare(&scenario(pausing())).unwrap();
        let error = execute(prepared.clone(), Some(&file), &mut Silent).unwrap_err().to_string();
        assert!(error.contains("taken: it is a file, but a folder is due"), "{error}");
        let below = execute(prepared, Some(&file.join("deeper")), &mut Silent).unwrap_err().to_string();
        assert!(below.contains("the folder cannot be made"), "{below}");
    }
}
