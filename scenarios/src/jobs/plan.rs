//! From jobs to the work of each GPU.

use collectives::CollectiveSchedule;
use collectives::algorithms::{self, AlgorithmError};
use collectives::nccl::{Choice, Communicator as Nccl, PlanError};
use collectives::node::{NodeError, NodeSpec};
use collectives::schedule::{Operation, Path};
use models::workload::{Call, Task, Work, Workload};

use super::bound::Bound;
use super::spec::{ClusterConfig, JobConfig, JobWork};
use super::timing;
use crate::spec::Scenario;

/// Why jobs cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Jobs without nodes.
    #[error("jobs need GPU nodes: add a \"cluster\" section with the node and how many there are")]
    NoCluster,
    /// Nodes without jobs.
    #[error("\"cluster\" has no \"jobs\": say what the GPUs do, or remove the section")]
    NoJobs,
    /// The node cannot be.
    #[error("cluster.node: {0}")]
    Node(#[from] NodeError),
    /// NCCL cannot do what a job asks for.
    #[error("jobs.{job}: {error}")]
    Plan {
        /// The job.
        job: usize,
        /// What NCCL's rules say.
        error: PlanError,
    },
    /// The algorithm cannot do what a job asks for.
    #[error("jobs.{job}: {error}")]
    Algorithm {
        /// The job.
        job: usize,
        /// What it says.
        error: AlgorithmError,
    },
    /// A value that does not fit the cluster.
    #[error("jobs.{job}.{field}: {why}")]
    Job {
        /// The job.
        job: usize,
        /// The field.
        field: &'static str,
        /// What is wrong and what to do.
        why: String,
    },
}

/// A group of ranks that call collectives together, and where they are.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// Its number; calls of one number share connections.
    pub number: u32,
    /// Nodes with members.
    pub nodes: u32,
    /// The GPU of each rank.
    pub members: Vec<u32>,
    /// What NCCL sets up on the machine, cut down to the members' GPUs and the NICs near them.
    pub nccl: Nccl,
    /// The NIC of the whole node that each NIC of `node` is.
    pub nics: Vec<u32>,
}

/// A call of the workload, and what it was planned as.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The job's name.
    pub job: String,
    /// What is computed.
    pub operation: Operation,
    /// Bytes, as nccl-tests counts them.
    pub bytes: u64,
    /// Ranks.
    pub ranks: u32,
    /// Nodes.
    pub nodes: u32,
    /// What NCCL's rules chose, and why.
    pub choice: Choice,
    /// Tasks of each execution, one a rank; those before the first that counts are warm-up.
    pub executions: Vec<Vec<u32>>,
    /// Executions that do not count.
    pub warmup: usize,
    /// What the hardware allows.
    pub bound: Bound,
}

/// All jobs, ready to run.
#[derive(Clone, Debug)]
pub struct PlannedJobs {
    /// What the fabric executes.
    pub workload: Workload,
    /// Its calls, as planned.
    pub calls: Vec<PlannedCall>,
    /// Training steps, for their own results.
    pub steps: Vec<super::training::PlannedSteps>,
    /// The machine.
    pub node: NodeSpec,
}

/// Plans the jobs of a scenario; `None` where it has none.
pub fn plan(scenario: &Scenario) -> Result<Option<PlannedJobs>, JobError> {
    let cluster = match (&scenario.cluster, scenario.jobs.is_empty()) {
        (None, true) => return Ok(None),
        (None, false) => return Err(JobError::NoCluster),
        (Some(_), true) => return Err(JobError::NoJobs),
        (Some(cluster), false) => cluster,
    };
    let node = cluster.node.resolve()?;
    let mut planner = Planner {
        cluster,
        calls: Vec::new(),
        planned: Vec::new(),
        tasks: Vec::new(),
        steps: Vec::new(),
        communicators: 0,
        exact: scenario.run.exact,
        node,
    };
    for (index, job) in scenario.jobs.iter().enumerate() {
        planner.job(index, job)?;
    }
    let machine = timing::machine(cluster, &planner.node);
    Ok(Some(PlannedJobs {
        workload: Workload { machine, calls: planner.calls, tasks: planner.tasks },
        calls: planner.planned,
        steps: planner.steps,
        node: planner.node,
    }))
}

/// What a job calls, size by size.
struct Calls {
    operation: Operation,
    root: u32,
    sizes: Vec<u64>,
    warmup: u32,
    iterations: u32,
}

/// Jobs while they are planned.
pub(super) struct Planner<'a> {
    cluster: &'a ClusterConfig,
    calls: Vec<Call>,
    planned: Vec<PlannedCall>,
    tasks: Vec<Task>,
    pub steps: Vec<super::training::PlannedSteps>,
    communicators: u32,
    exact: bool,
    node: NodeSpec,
}

impl Planner<'_> {
    fn job(&mut self, index: usize, job: &JobConfig) -> Result<(), JobError> {
        let wrong = |field: &'static str, why: String| JobError::Job { job: index, field, why };
        let nodes = job.nodes.clone().unwrap_or_else(|| (0..self.cluster.nodes).collect());
        if let Some(node) = nodes.iter().find(|node| **node >= self.cluster.nodes) {
            let why = format!("there is no node {node}: the cluster has {}", self.cluster.nodes);
            return Err(wrong("nodes", why));
        }
        if nodes.is_empty() || (1..nodes.len()).any(|i| nodes[..i].contains(&nodes[i])) {
            return Err(wrong("nodes", "give at least one node, and each once".to_string()));
        }
        let each = job.ranks_per_node.unwrap_or(self.node.gpus);
        if each == 0 || each > self.node.gpus {
            let why = format!("{each} ranks on a node with {} GPUs: give 1 to that many", self.node.gpus);
            return Err(wrong("ranks_per_node", why));
        }
        let per_node = self.node.gpus;
        let gpus: Vec<u32> =
            nodes.iter().flat_map(|node| (0..each).map(move |g| node * per_node + g)).collect();
        let first: Vec<Option<u32>> = gpus
            .iter()
            .map(|&gpu| (job.start.0 > 0).then(|| self.task(gpu, Work::Compute(job.start), vec![])))
            .collect();
        let named = |kind: &str| job.name.clone().unwrap_or_else(|| format!("{kind}-{index}"));
        let calls = match &job.work {
            JobWork::Collective(work) => Calls {
                operation: work.operation,
                root: work.root,
                sizes: vec![work.size.0],
                warmup: 0,
                iterations: work.iterations,
            },
            JobWork::NcclTests(work) => {
                if work.begin > work.end {
                    let why = format!("sizes from {} to {}: give begin ≤ end", work.begin, work.end);
                    return Err(wrong("work.nccl-tests.begin", why));
                }
                Calls {
                    operation: work.operation,
                    root: 0,
                    sizes: work.sizes(),
                    warmup: work.warmup,
                    iterations: work.iterations,
                }
            }
            JobWork::TrainingStep(_) if job.communicators != 1 => {
                let why = "a training step makes its own groups: leave it out".to_string();
                return Err(wrong("communicators", why));
            }
            JobWork::TrainingStep(work) => {
                return super::training::lay_out(self, index, job, &named("training"), work, &gpus, first);
            }
        };
        let parts = job.communicators;
        if parts == 0 || !each.is_multiple_of(parts) {
            let why = format!("{parts} communicators do not divide {each} ranks on each node");
            return Err(wrong("communicators", why));
        }
        let name = named(calls.operation.name());
        for part in 0..parts {
            let own = |gpu: u32| (gpu % per_node) / (each / parts) == part;
            let (members, last): (Vec<u32>, Vec<Option<u32>>) = gpus
                .iter()
                .zip(&first)
                .filter(|(gpu, _)| own(**gpu))
                .map(|(gpu, last)| (*gpu, *last))
                .unzip();
            let name = if parts == 1 { name.clone() } else { format!("{name}/{part}") };
            let communicator = self.communicator(index, job, members)?;
            self.sweep(index, job, &name, &calls, &communicator, last)?;
        }
        Ok(())
    }

    /// The calls of one communicator, one after another, size by size; `last` is what each rank did before.
    fn sweep(
        &mut self,
        index: usize,
        job: &JobConfig,
        name: &str,
        calls: &Calls,
        communicator: &Communicator,
        mut last: Vec<Option<u32>>,
    ) -> Result<(), JobError> {
        let what = (calls.operation, calls.root);
        for &bytes in &calls.sizes {
            let call = self.call(index, job, name, communicator, what, bytes, !self.exact)?;
            for _ in 0..calls.warmup + calls.iterations {
                self.execute(call, communicator, &mut last);
            }
            self.planned[call as usize].warmup = calls.warmup as usize;
        }
        Ok(())
    }

    /// Adds one execution of a call, after each rank's last task.
    pub fn execute(&mut self, call: u32, communicator: &Communicator, last: &mut [Option<u32>]) {
        let mut execution = Vec::with_capacity(communicator.members.len());
        for (rank, &gpu) in communicator.members.iter().enumerate() {
            let work = Work::Call { call, rank: rank as u32 };
            let task = self.task(gpu, work, last[rank].into_iter().collect());
            last[rank] = Some(task);
            execution.push(task);
        }
        self.executed(call, execution);
    }

    /// Notes the tasks of an execution of `call`, one a rank.
    pub fn executed(&mut self, call: u32, tasks: Vec<u32>) {
        self.planned[call as usize].executions.push(tasks);
    }

    /// Adds a task.
    pub fn task(&mut self, gpu: u32, work: Work, after: Vec<u32>) -> u32 {
        self.tasks.push(Task { gpu, work, after });
        self.tasks.len() as u32 - 1
    }

    /// A communicator of these GPUs: as many in each node, the same ones where they are not all.
    pub fn communicator(
        &mut self,
        index: usize,
        job: &JobConfig,
        members: Vec<u32>,
    ) -> Result<Communicator, JobError> {
        let gpus = self.node.gpus;
        let first = members.first().map_or(0, |gpu| gpu / gpus);
        let locals: Vec<u32> =
            members.iter().take_while(|gpu| **gpu / gpus == first).map(|gpu| gpu % gpus).collect();
        let per_node = locals.len().max(1) as u32;
        let (node, nics) = restrict(&self.node, &locals);
        self.communicators += 1;
        let nodes = members.len() as u32 / per_node;
        let nccl = Nccl::new(&node, nodes, per_node, &job.nccl)
            .map_err(|error| JobError::Plan { job: index, error })?;
        Ok(Communicator { number: self.communicators, nodes, members, nccl, nics })
    }

    /// Plans a call of `bytes` in `communicator`.
    pub fn call(
        &mut self,
        index: usize,
        job: &JobConfig,
        name: &str,
        communicator: &Communicator,
        (operation, root): (Operation, u32),
        bytes: u64,
        may_skip: bool,
    ) -> Result<u32, JobError> {
        let Communicator { number, nodes, members, nccl, nics } = communicator;
        let (schedule, choice) =
            schedule(nccl, (operation, root), bytes, nics).map_err(|error| error.at(index))?;
        let bytes = schedule.bytes;
        let bound = Bound::new(&self.node, members, &schedule);
        let number_of_call = self.calls.len() as u32;
        self.planned.push(PlannedCall {
            job: name.to_string(),
            operation,
            bytes,
            ranks: members.len() as u32,
            nodes: *nodes,
            choice,
            executions: Vec::new(),
            warmup: 0,
            bound,
        });
        self.calls.push(Call {
            name: name.to_string(),
            members: members.clone(),
            communicator: *number,
            timing: timing::timing(nccl, schedule.algorithm, schedule.protocol, self.cluster.costs),
            thread_rates: timing::thread_rates(&nccl.node, *nodes, &schedule, self.cluster.costs),
            transport: timing::transport(self.cluster, job, &nccl.node),
            may_skip,
            schedule,
        });
        Ok(number_of_call)
    }
}

/// What a call's schedule cannot be written for.
#[derive(Debug)]
pub enum ScheduleError {
    /// NCCL cannot do it.
    Plan(PlanError),
    /// The algorithm cannot.
    Algorithm(AlgorithmError),
}

impl ScheduleError {
    fn at(self, job: usize) -> JobError {
        match self {
            Self::Plan(error) => JobError::Plan { job, error },
            Self::Algorithm(error) => JobError::Algorithm { job, error },
        }
    }
}

/// The schedule of a call as NCCL would run it.
pub fn schedule(
    nccl: &Nccl,
    (operation, root): (Operation, u32),
    bytes: u64,
    nics: &[u32],
) -> Result<(CollectiveSchedule, Choice), ScheduleError> {
    let (plan, choice) = nccl.plan(operation, bytes, root).map_err(ScheduleError::Plan)?;
    let mut schedule = algorithms::build(&plan).map_err(ScheduleError::Algorithm)?;
    for connection in &mut schedule.connections {
        match &mut connection.path {
            Path::Network { from_nic, to_nic, .. } => {
                *from_nic = nics.get(*from_nic as usize).copied().unwrap_or(*from_nic);
                *to_nic = nics.get(*to_nic as usize).copied().unwrap_or(*to_nic);
            }
            Path::InNetwork { nic, .. } => *nic = nics.get(*nic as usize).copied().unwrap_or(*nic),
            Path::Local | Path::NvlsReduce | Path::NvlsMulticast => {}
        }
    }
    Ok((schedule, choice))
}

/// A node cut down to some of its GPUs, and the NICs that are near them. The second value names its NICs in the whole node.
fn restrict(node: &NodeSpec, locals: &[u32]) -> (NodeSpec, Vec<u32>) {
    let whole = locals.len() == node.gpus as usize && locals.iter().enumerate().all(|(i, g)| i as u32 == *g);
    if whole {
        return (node.clone(), (0..node.nics).collect());
    }
    let mut nics: Vec<u32> = (0..node.nics)
        .filter(|&nic| node.affinity[nic as usize].iter().any(|gpu| locals.contains(gpu)))
        .collect();
    if nics.is_empty() {
        nics = (0..node.nics).collect();
    }
    // Each GPU's own NIC first: with few of a node's GPUs, NCCL starts there.
    let own: Vec<u32> = locals.iter().map(|&gpu| node.nic_of(gpu, 0)).collect();
    nics.sort_by_key(|nic| own.iter().position(|own| own == nic).unwrap_or(usize::MAX));
    let affinity = nics
        .iter()
        .map(|&nic| {
            let near: Vec<u32> = locals
                .iter()
                .enumerate()
                .filter(|(_, gpu)| node.affinity[nic as usize].contains(gpu))
                .map(|(i, _)| i as u32)
                .collect();
            if near.is_empty() { (0..locals.len() as u32).collect() } else { near }
        })
        .collect();
    let spec = NodeSpec { gpus: locals.len() as u32, nics: nics.len() as u32, affinity, ..node.clone() };
    (spec, nics)
}

/// busbw over algbw, as nccl-tests counts.
pub fn bus_factor(operation: Operation, ranks: u32) -> f64 {
    let n = f64::from(ranks);
    match operation {
        Operation::AllReduce => 2.0 * (n - 1.0) / n,
        Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => (n - 1.0) / n,
        Operation::Broadcast | Operation::Reduce | Operation::SendRecv => 1.0,
    }
}
