//! A collective of a scenario at many sizes, each in a run of its own: what is set beside measurements.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use collectives::schedule::Operation;
use sim_core::Bytes;

use super::bound::PortOf;
use super::explain::{self, Collision};
use super::results::CollectiveSummary;
use super::spec::{CollectiveWork, JobWork};
use crate::run::{self, Observer, Poll, Progress, RunError, Summary};
use crate::spec::Scenario;

/// A size that was simulated.
#[derive(Clone, Debug)]
pub struct SizeResult {
    /// The collective.
    pub collective: CollectiveSummary,
    /// The whole run.
    pub summary: Summary,
    /// Messages that the busiest connection carries one after the other.
    pub messages: u64,
    /// Utilisation of each rail's busiest NIC, 0 to 1.
    pub rails: Vec<f64>,
    /// Streams that share links to their loss.
    pub collisions: Vec<Collision>,
}

/// Watches several runs at once: how many sizes are done, and whether to stop.
pub trait SizesObserver: Sync {
    /// `done` of `all` sizes are done.
    fn done(&self, done: usize, all: usize);
    /// Whether to stop.
    fn stop(&self) -> bool;
}

struct Inner<'a>(&'a dyn SizesObserver);

impl Observer for Inner<'_> {
    fn poll(&mut self) -> Poll {
        if self.0.stop() { Poll::Stop } else { Poll::Go }
    }

    fn progress(&mut self, _: &Progress) {}
}

/// Simulates the scenario's first job as `operation` at each of `sizes`, on up to `threads` threads; results in the order
/// of the sizes, whatever the threads. With `exact` every packet is simulated.
pub fn run_sizes(
    scenario: &Scenario,
    operation: Operation,
    sizes: &[u64],
    exact: bool,
    threads: usize,
    observer: &dyn SizesObserver,
) -> Result<Vec<SizeResult>, RunError> {
    let results: Mutex<Vec<Option<Result<SizeResult, RunError>>>> =
        Mutex::new(sizes.iter().map(|_| None).collect());
    // The largest first: they take longest.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(sizes[i]));
    let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, sizes.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    if failed.load(Ordering::Relaxed) || observer.stop() {
                        return;
                    }
                    let result = one(scenario, operation, sizes[index], exact, observer);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    results.lock().expect("no thread panics while it holds the results")[index] =
                        Some(result);
                    observer.done(done.fetch_add(1, Ordering::Relaxed) + 1, sizes.len());
                }
            });
        }
    });
    let results = results.into_inner().expect("all threads have ended");
    results.into_iter().flatten().collect()
}

fn one(
    scenario: &Scenario,
    operation: Operation,
    bytes: u64,
    exact: bool,
    observer: &dyn SizesObserver,
) -> Result<SizeResult, RunError> {
    let mut scenario = scenario.clone();
    scenario.run.exact |= exact;
    scenario.jobs.truncate(1);
    if let Some(job) = scenario.jobs.first_mut() {
        let iterations = match &job.work {
            JobWork::Collective(work) => work.iterations,
            JobWork::NcclTests(work) => work.iterations,
            JobWork::TrainingStep(_) => 1,
        };
        job.work = JobWork::Collective(CollectiveWork { operation, size: Bytes(bytes), iterations, root: 0 });
    }
    let prepared = run::prepare(&scenario)?;
    let collisions = explain::explain(prepared.clone(), Some(0))?.remove(0).collisions;
    let jobs = prepared.jobs.clone().ok_or(RunError::NothingToDo)?;
    let outcome = run::execute(prepared, None, &mut Inner(observer))?;
    let summary = outcome.summary;
    let collective = summary.collectives.first().cloned().ok_or(RunError::NothingToDo)?;
    let time = collective.step_time_us.map_or(f64::INFINITY, |t| t.mean);
    let mut rails = vec![0.0f64; jobs.node.nics as usize];
    for (port, &bytes) in &jobs.calls[0].bound.loads {
        if let PortOf::Nic { nic, .. } = port {
            let busy = bytes as f64 / jobs.node.nic_bandwidth() / 1e3 / time;
            rails[*nic as usize] = rails[*nic as usize].max(busy);
        }
    }
    let messages = messages(&jobs.workload.calls[0].schedule);
    Ok(SizeResult { collective, summary, messages, rails, collisions })
}

/// Messages of the connection between nodes (or, in one node, within it) that carries most.
fn messages(schedule: &collectives::CollectiveSchedule) -> u64 {
    let mut count = vec![0u64; schedule.connections.len()];
    for thread in &schedule.threads {
        let Some(channel) = schedule.channels.get(thread.channel as usize) else { continue };
        for step in &thread.steps {
            let slices = channel.slice_count(channel.step_bytes(0, step, 0));
            for &connection in &step.send {
                count[connection as usize] += slices * u64::from(step.repeat) * u64::from(channel.loops);
            }
        }
    }
    let networked = |c: &collectives::schedule::Connection| {
        matches!(
            c.path,
            collectives::schedule::Path::Network { .. } | collectives::schedule::Path::InNetwork { .. }
        )
    };
    let between =
        schedule.connections.iter().zip(&count).filter(|(c, _)| networked(c)).map(|(_, n)| *n).max();
    between.or(count.into_iter().max()).unwrap_or(0)
}
