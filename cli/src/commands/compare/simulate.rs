//! The one place where `fabsim compare` asks the simulator.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use collectives::schedule::Operation;
use scenarios::jobs::JobWork;
use scenarios::jobs::sizes::{SizeResult, SizesObserver, run_sizes};
use scenarios::language::Loaded;
use scenarios::spec::Scenario;
use validation::measured::{Collective, NetworkEvidence, SimulatedRow};

use crate::output::Failure;
use crate::progress;

/// Simulates a collective with `ranks` ranks on the scenario's fabric, once for each of `sizes` (bytes, as nccl-tests
/// defines the size of the collective), and returns a row for each. `exact` simulates every packet; otherwise a steady
/// state may be extrapolated, and the row says so.
pub fn simulate(
    scenario: &Loaded,
    collective: Collective,
    ranks: u32,
    sizes: &[u64],
    exact: bool,
    quiet: bool,
) -> Result<Vec<SimulatedRow>, Failure> {
    let scenario = &scenario.scenario;
    let operation = operation(collective).ok_or_else(|| {
        Failure(format!("{collective} is not simulated: the scenario's jobs know all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all and send-recv"))
    })?;
    fits(scenario, ranks)?;
    progress::catch_interrupts()?;
    let watcher = Watcher { begun: Instant::now(), shown: !quiet && std::io::stderr().is_terminal() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results = run_sizes(scenario, operation, sizes, exact, threads, &watcher)?;
    if watcher.shown {
        eprint!("\r\x1b[K");
    }
    if results.len() < sizes.len() {
        return Err(Failure(format!("stopped after {} of {} sizes", results.len(), sizes.len())));
    }
    Ok(results.iter().map(row).collect())
}

/// The scenario has the log's ranks.
fn fits(scenario: &Scenario, ranks: u32) -> Result<(), Failure> {
    let (Some(cluster), Some(job)) = (&scenario.cluster, scenario.jobs.first()) else {
        return Err(Failure(format!(
            "scenario \"{}\" has no cluster and jobs: add them, or name one that has, such as allreduce-h100-4nodes",
            scenario.name
        )));
    };
    if let JobWork::TrainingStep(_) = job.work {
        return Err(Failure(
            "the scenario's first job is a training step: compare needs a collective".into(),
        ));
    }
    let node = cluster.node.resolve().map_err(|error| Failure(error.to_string()))?;
    let nodes = job.nodes.as_ref().map_or(cluster.nodes, |nodes| nodes.len() as u32);
    let each = job.ranks_per_node.unwrap_or(node.gpus);
    if nodes * each != ranks {
        return Err(Failure(format!(
            "the log has {ranks} ranks, the scenario's first job {nodes} nodes with {each} each: set cluster.nodes, or \
             jobs.0.ranks_per_node, or --set a parameter of the scenario, so that they agree"
        )));
    }
    Ok(())
}

fn operation(collective: Collective) -> Option<Operation> {
    Some(match collective {
        Collective::AllReduce => Operation::AllReduce,
        Collective::AllGather => Operation::AllGather,
        Collective::ReduceScatter => Operation::ReduceScatter,
        Collective::AllToAll => Operation::AllToAll,
        Collective::Broadcast => Operation::Broadcast,
        Collective::Reduce => Operation::Reduce,
        Collective::SendRecv => Operation::SendRecv,
        Collective::Gather | Collective::Scatter => return None,
    })
}

fn row(result: &SizeResult) -> SimulatedRow {
    let SizeResult { collective: c, summary, messages, rails, collisions } = result;
    let utilisation = match (c.busbw_gbytes_per_s, c.bound_busbw_gbytes_per_s) {
        (Some(busbw), Some(bound)) => busbw / bound,
        _ => 0.0,
    };
    SimulatedRow {
        bytes: c.bytes,
        time_us: c.step_time_us.map_or(f64::INFINITY, |time| time.mean),
        bound_busbw_gbytes_per_s: c.bound_busbw_gbytes_per_s,
        bound_by: c.bound_by.clone(),
        algorithm: Some(c.algorithm.to_string()),
        protocol: Some(c.protocol.to_string()),
        steps: Some(*messages),
        extrapolated: c.extrapolated_loops > 0,
        network: NetworkEvidence {
            marked_packets: summary.ecn.marked,
            cnps: summary.cnp.received,
            pause_frames: summary.pfc.pause_frames,
            dropped_packets: summary.drops.total,
            retransmissions: summary.retransmissions,
            hottest_link: c.bound_by.clone().map(|link| (link, utilisation)),
            rails: rails.clone(),
            collision: collisions.first().map(|c| format!("{}: {}", c.link, c.streams.join("; "))),
        },
    }
}

/// Sizes done, on a terminal.
struct Watcher {
    begun: Instant,
    shown: bool,
}

impl SizesObserver for Watcher {
    fn done(&self, done: usize, all: usize) {
        if self.shown {
            let seconds = self.begun.elapsed().as_secs_f64();
            eprint!("\r\x1b[Ksimulated {done} of {all} sizes in {seconds:.0} s");
            let _ = std::io::stderr().flush();
        }
    }

    fn stop(&self) -> bool {
        progress::interrupted()
    }
}
