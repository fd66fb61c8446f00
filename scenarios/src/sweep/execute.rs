//! Runs the points of a plan on several threads. Each finished point is in the journal before the next one of its
//! thread begins, so that a kill loses the points in flight and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Map, Value};

use super::error::SweepError;
use super::figures;
use super::journal::{Index, Journal, Row};
use super::plan::{Plan, Point};
use super::shard::Shard;
use super::store::{header, index_of, settle};
use crate::run::{self, End, Observer, Poll, Progress};

/// Watches a sweep from outside; called from all its threads.
pub trait Watch: Sync {
    /// Whether the sweep is to stop. Asked often: must be cheap.
    fn stop(&self) -> bool {
        false
    }
    /// Called while points run, often: a chance to tell how far the sweep is.
    fn tick(&self) {}
    /// How many points there are to do, before the first one.
    fn begin(&self, _to_do: u64) {}
    /// A point is done and in the journal.
    fn finished(&self, _point: &Point, _row: &Row) {}
}

/// Does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// How a sweep is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The part of the plan to compute.
    pub shard: Shard,
    /// Points that run at the same time.
    pub jobs: usize,
    /// Whether each point keeps its files, in `points/ID/`.
    pub keep: bool,
    /// Version and commit, which the journal remembers.
    pub build: String,
}

/// What a run of a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Points of the shard.
    pub points: u64,
    /// Points that were done before.
    pub before: u64,
    /// Points that were run, failed ones included.
    pub ran: u64,
    /// Points that failed.
    pub failed: u64,
    /// Lines of journals that were torn and left out.
    pub torn: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Runs what is missing or failed of a plan's shard, into the journal of `folder`.
pub fn run(plan: &Plan, folder: &Path, options: &Options, watch: &dyn Watch) -> Result<Done, SweepError> {
    run_with(plan, folder, options, watch, &|point, stopper| {
        let keep = options.keep.then(|| folder.join("points").join(point.id()));
        simulate(plan, point, keep.as_deref(), stopper)
    })
}

/// Stops a point when the sweep stops.
pub struct Stopper<'a> {
    watch: &'a dyn Watch,
    broken: &'a AtomicBool,
}

impl Stopper<'_> {
    fn stopped(&self) -> bool {
        self.broken.load(Ordering::Relaxed) || self.watch.stop()
    }
}

impl Observer for Stopper<'_> {
    fn poll(&mut self) -> Poll {
        if self.stopped() {
            return Poll::Stop;
        }
        self.watch.tick();
        Poll::Go
    }

    fn progress(&mut self, _: &Progress) {}
}

/// What a point came to: its figures or why it failed; `None` if it was stopped.
type Outcome = Option<Result<Map<String, Value>, String>>;

/// Runs a plan with another way to compute a point, for tests.
fn run_with(
    plan: &Plan,
    folder: &Path,
    options: &Options,
    watch: &dyn Watch,
    compute: &(dyn Fn(&Point, &mut Stopper) -> Outcome + Sync),
) -> Result<Done, SweepError> {
    settle(folder, plan)?;
    // A whole sweep goes on from what shards did; a shard looks at its own journal, others may be at work on theirs.
    let own = folder.join(options.shard.journal());
    let mut index = Index::default();
    if options.shard == Shard::WHOLE {
        index = index_of(&[PathBuf::from(folder)], plan, &options.build)?;
    } else if own.exists() {
        index.read(&own, &header(plan, &options.build))?;
    }
    let mut done = Done { points: options.shard.size(plan.len()), torn: index.torn, ..Done::default() };
    let mine = |number: &u64| options.shard.has(*number);
    done.before = (0..plan.len()).filter(mine).filter(|&i| index.done(&plan.point(i))).count() as u64;
    let to_do = done.points - done.before;
    watch.begin(to_do);
    if to_do == 0 {
        return Ok(done);
    }
    let journal = Mutex::new(Journal::open(&own, &header(plan, &options.build))?);
    let (next, broken, ran, failed) =
        (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let error: Mutex<Option<SweepError>> = Mutex::new(None);
    let worker = || {
        let mut stopper = Stopper { watch, broken: &broken };
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.len() || stopper.stopped() {
                return;
            }
            if !options.shard.has(number) {
                continue;
            }
            let point = plan.point(number);
            if index.done(&point) {
                continue;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| compute(&point, &mut stopper)));
            let Some(outcome) = outcome.unwrap_or_else(|panic| Some(Err(panicked(panic.as_ref())))) else {
                return;
            };
            let row = Row::new(&point, outcome);
            let written = journal.lock().map_err(|_| None).and_then(|mut j| j.append(&row).map_err(Some));
            if let Err(why) = written {
                broken.store(true, Ordering::Relaxed);
                if let (Ok(mut error), Some(why)) = (error.lock(), why) {
                    error.get_or_insert(why.into());
                }
                return;
            }
            ran.fetch_add(1, Ordering::Relaxed);
            failed.fetch_add(u64::from(row.error.is_some()), Ordering::Relaxed);
            watch.finished(&point, &row);
        }
    };
    let threads = options.jobs.max(1).min(usize::try_from(to_do).unwrap_or(usize::MAX));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        SweepError::Threads(format!("{threads} threads cannot be started: {error}; ask for fewer --jobs"))
    })?;
    pool.broadcast(|_| worker());
    if let Ok(Some(error)) = error.into_inner() {
        return Err(error);
    }
    if let Ok(mut journal) = journal.into_inner() {
        journal.sync()?;
    }
    done.ran = ran.into_inner();
    done.failed = failed.into_inner();
    done.stopped = done.ran < to_do;
    Ok(done)
}

/// What a panic says.
fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    format!("fabsim panicked, which is a fault of it: {text}")
}

/// Runs one point.
pub fn simulate(plan: &Plan, point: &Point, keep: Option<&Path>, observer: &mut dyn Observer) -> Outcome {
    let ready = plan.load(point).map_err(|error| error.to_string()).and_then(|loaded| {
        let mut prepared = run::prepare(&loaded.scenario).map_err(|error| error.to_string())?;
        prepared.params = loaded.params;
        Ok(prepared)
    });
    let outcome =
        ready.and_then(|prepared| run::execute(prepared, keep, observer).map_err(|error| error.to_string()));
    match outcome {
        Err(error) => Some(Err(error)),
        Ok(outcome) => match (outcome.end, outcome.write_error) {
            (End::Interrupted, _) => None,
            (_, Some(error)) => Some(Err(error.to_string())),
            (_, None) => Some(Ok(figures::of(&outcome.summary))),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::super::tests::plan;
    use super::super::{POINTS, conclude, missing};
    use super::*;

    fn options(jobs: usize) -> Options {
        Options { shard: Shard::WHOLE, jobs, keep: false, build: "test".to_string() }
    }

    fn small() -> Plan {
        plan(json!({
            "parameters": [
                { "path": "params.size", "range": { "from": "10KB", "to": "80KB", "factor": 2 } },
                { "path": "switch.ecn.kmin", "values": ["10KB", "20KB"] }
            ],
            "repeat": 2
        }))
        .unwrap()
    }

    fn table(plan: &Plan, folder: &Path) -> String {
        let index = index_of(&[PathBuf::from(folder)], plan, "test").unwrap();
        conclude(folder, plan, &index).unwrap();
        fs::read_to_string(folder.join(POINTS)).unwrap()
    }

    #[test]
    fn the_table_is_the_same_for_any_jobs_and_shards() {
        let plan = small();
        let of = |jobs| {
            let folder = tempfile::tempdir().unwrap();
            let done = run(&plan, folder.path(), &options(jobs), &Unwatched).unwrap();
            assert_eq!((done.ran, done.failed, done.stopped), (16, 0, false));
            table(&plan, folder.path())
        };
        let one = of(1);
        assert_eq!(one.lines().count(), 17);
        assert_eq!(of(2), one);
        assert_eq!(of(5), one);
        let folder = tempfile::tempdir().unwrap();
        for number in [3, 1, 2] {
            let shard = Shard::new(number, 3).unwrap();
            run(&plan, folder.path(), &Options { shard, ..options(1) }, &Unwatched).unwrap();
            let folders = [folder.path().to_path_buf()];
            let index = index_of(&folders, &plan, "test").unwrap();
            let missing = missing(&plan, &index, &folders).unwrap();
            let left: Vec<u64> = missing.shards.iter().map(|(_, lost)| *lost).collect();
            let want: &[u64] = match number {
                3 => &[6, 5],
                1 => &[5],
                _ => &[],
            };
            assert_eq!(left, want);
        }
        assert_eq!(table(&plan, folder.path()), one);
    }

    #[test]
    fn a_point_that_fails_or_panics_is_a_row_and_is_run_again() {
        let plan = small();
        let folder = tempfile::tempdir().unwrap();
        let broken = |point: &Point, stopper: &mut Stopper| match point.index {
            3 => panic!("at {}", point.index),
            5 => Some(Err("no such\nluck".to_string())),
            _ => simulate(&plan, point, None, stopper),
        };
        let done = run_with(&plan, folder.path(), &options(2), &Unwatched, &broken).unwrap();
        assert_eq!((done.ran, done.failed), (16, 2));
        let text = table(&plan, folder.path());
        let row = |index: usize| text.lines().nth(index + 1).unwrap().to_string();
        assert!(row(3).ends_with(",\"fabsim panicked, which is a fault of it: at 3\""), "{}", row(3));
        assert!(row(5).ends_with(",no such luck"), "{}", row(5));
        let done = run(&plan, folder.path(), &options(2), &Unwatched).unwrap();
        assert_eq!((done.before, done.ran, done.failed), (14, 2, 0));
        let whole = tempfile::tempdir().unwrap();
        run(&plan, whole.path(), &options(1), &Unwatched).unwrap();
        assert_eq!(table(&plan, folder.path()), table(&plan, whole.path()));
    }

    #[test]
    fn values_that_do_not_fit_each_other_fail_their_points_alone() {
        let plan = plan(json!({ "parameters": [{ "path": "switch.ecn.kmin", "values": ["10KB", "1MB"] }] }))
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let done = run(&plan, folder.path(), &options(1), &Unwatched).unwrap();
        assert_eq!((done.ran, done.failed), (2, 1));
        let text = table(&plan, folder.path());
        assert!(text.lines().nth(2).unwrap().contains("kmin"), "{text}");
    }

    #[test]
    fn a_sweep_that_is_stopped_goes_on_where_it_was() {
        struct After(AtomicU64);
        impl Watch for After {
            fn stop(&self) -> bool {
                self.0.load(Ordering::Relaxed) == 0
            }
            fn finished(&self, _: &Point, _: &Row) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let plan = small();
        let folder = tempfile::tempdir().unwrap();
        let done = run(&plan, folder.path(), &options(1), &After(AtomicU64::new(5))).unwrap();
        assert_eq!((done.ran, done.stopped), (5, true));
        let done = run(&plan, folder.path(), &options(1), &Unwatched).unwrap();
        assert_eq!((done.before, done.ran, done.stopped), (5, 11, false));
    }

    #[test]
    fn another_plan_in_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        run(&small(), folder.path(), &options(2), &Unwatched).unwrap();
        let other = plan(json!({ "parameters": [{ "path": "params.size", "values": ["10KB"] }] })).unwrap();
        let error = run(&other, folder.path(), &options(2), &Unwatched).unwrap_err().to_string();
        assert!(error.contains("it holds another sweep: small with 16 points"), "{error}");
        fs::remove_file(folder.path().join("plan.json")).unwrap();
        let error = run(&other, folder.path(), &options(2), &Unwatched).unwrap_err().to_string();
        assert!(error.contains("points.jsonl: it holds another sweep"), "{error}");
    }
}
