//! A step of training: computation of each GPU, and the collectives of data, tensor, pipeline and expert parallelism.
//!
//! Ranks are numbered as Megatron numbers them: tensor-parallel ranks next to each other, then data-parallel ones, then
//! pipeline stages. Each micro-batch goes forward through all stages, then backward (GPipe's order). In each layer, forward and
//! backward, tensor parallelism reduces the activation twice over its group, and expert parallelism sends it to the experts
//! and back; both wait. Gradients are reduced over the data-parallel group in buckets, as soon as the backward pass of
//! the last micro-batch has passed their layers (with `overlap`), or after it.

use collectives::schedule::Operation;
use models::workload::Work;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration};

use super::plan::{JobError, Planner};
use super::spec::JobConfig;

/// A step of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingStep {
    /// Steps, one after the other. Default: 1. Range: ≥ 1.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Parameters of the model.
    pub parameters: u64,
    /// Layers of the model, a multiple of the pipeline stages. Default: 32.
    #[serde(default = "layers")]
    pub layers: u32,
    /// Bytes of a gradient. Default: 2 (BF16).
    #[serde(default = "two")]
    pub gradient_bytes: u32,
    /// Bytes of a bucket of gradients. Default: 25 MiB (PyTorch DDP).
    #[serde(default = "bucket")]
    pub bucket: Bytes,
    /// Time a GPU computes for one layer of one micro-batch, forward.
    pub forward: Duration,
    /// The same backward. Default: twice `forward`.
    #[serde(default)]
    pub backward: Option<Duration>,
    /// Micro-batches of a step. Default: 1. Range: ≥ 1.
    #[serde(default = "one")]
    pub micro_batches: u32,
    /// Bytes of the activation of one micro-batch between layers. Used by tensor, pipeline and expert parallelism.
    /// Default: 0.
    #[serde(default)]
    pub activation: Bytes,
    /// Whether gradients are reduced while the backward pass runs. Default: true.
    #[serde(default = "yes")]
    pub overlap: bool,
    /// Ranks that share each layer. Default: 1. Must divide the ranks of a node or be a multiple of them.
    #[serde(default = "one")]
    pub tensor_parallel: u32,
    /// Stages the layers are cut into. Default: 1.
    #[serde(default = "one")]
    pub pipeline_parallel: u32,
    /// Ranks that share the experts of each layer. Default: 1, no experts. Must divide the data-parallel ranks.
    #[serde(default = "one")]
    pub expert_parallel: u32,
}

const fn one() -> u32 {
    1
}
const fn two() -> u32 {
    2
}
const fn layers() -> u32 {
    32
}
const fn bucket() -> Bytes {
    Bytes(25 << 20)
}
const fn yes() -> bool {
    true
}

/// Tasks of one GPU in one step.
#[derive(Clone, Debug, Default)]
pub struct GpuStep {
    /// Computation.
    pub compute: Vec<u32>,
    /// Collectives.
    pub communication: Vec<u32>,
}

/// The steps of a training job, for its results.
#[derive(Clone, Debug)]
pub struct PlannedSteps {
    /// The job's name.
    pub job: String,
    /// By step and rank.
    pub steps: Vec<Vec<GpuStep>>,
}

/// One kind of call in every group that makes it.
struct Calls {
    /// The call of each group, and its ranks in order.
    groups: Vec<(u32, Vec<usize>)>,
    /// The group of each rank.
    of: Vec<Option<usize>>,
    /// The last execution of each rank.
    last: Vec<Option<u32>>,
}

struct Layout<'a, 'b> {
    planner: &'a mut Planner<'b>,
    gpus: &'a [u32],
    /// The last task each rank's computation waits for.
    ready: Vec<Vec<u32>>,
    now: Vec<GpuStep>,
}

/// Lays out the tasks of a training job on `gpus`, each after its task in `first`.
pub(super) fn lay_out(
    planner: &mut Planner,
    index: usize,
    job: &JobConfig,
    name: &str,
    work: &TrainingStep,
    gpus: &[u32],
    first: Vec<Option<u32>>,
) -> Result<(), JobError> {
    let ranks = gpus.len() as u32;
    let wrong = |field: &'static str, why: String| Err(JobError::Job { job: index, field, why });
    let (tensor, stages) = (work.tensor_parallel, work.pipeline_parallel);
    let fold = tensor.checked_mul(stages).unwrap_or(0);
    if fold == 0 || !ranks.is_multiple_of(fold) {
        let why = format!("{tensor} tensor-parallel ranks times {stages} stages do not divide {ranks} ranks");
        return wrong("work.training-step", why);
    }
    let data = ranks / (tensor * stages);
    let expert = work.expert_parallel;
    if expert == 0 || !data.is_multiple_of(expert) {
        let why = format!("{expert} does not divide the {data} data-parallel ranks");
        return wrong("work.training-step.expert_parallel", why);
    }
    if work.layers == 0 || !work.layers.is_multiple_of(stages) {
        let why = format!("{} layers cannot be cut into {stages} equal stages", work.layers);
        return wrong("work.training-step.layers", why);
    }
    if work.iterations == 0 || work.micro_batches == 0 || work.bucket.0 == 0 {
        return wrong(
            "work.training-step",
            "iterations, micro_batches and bucket must be 1 or more".to_string(),
        );
    }
    if (tensor > 1 || stages > 1 || expert > 1) && work.activation.0 == 0 {
        let why = "0 bytes: tensor, pipeline and expert parallelism send the activation, so give its size";
        return wrong("work.training-step.activation", why.to_string());
    }
    let rank = |t: u32, d: u32, p: u32| (p * data + d) * tensor + t;
    let groups = |make: &dyn Fn(u32, u32, u32) -> Option<Vec<u32>>| -> Vec<Vec<u32>> {
        let all = (0..stages).flat_map(|p| (0..data).flat_map(move |d| (0..tensor).map(move |t| (t, d, p))));
        all.filter_map(|(t, d, p)| make(t, d, p)).collect()
    };
    let of_tensor =
        groups(&|t, d, p| (t == 0 && tensor > 1).then(|| (0..tensor).map(|t| rank(t, d, p)).collect()));
    let of_data = groups(&|t, d, p| (d == 0 && data > 1).then(|| (0..data).map(|d| rank(t, d, p)).collect()));
    let of_expert = groups(&|t, d, p| {
        (d % expert == 0 && expert > 1).then(|| (d..d + expert).map(|d| rank(t, d, p)).collect())
    });
    let shard = work.parameters.div_ceil(u64::from(tensor * stages)) * u64::from(work.gradient_bytes);
    let buckets = shard.div_ceil(work.bucket.0).max(1);
    let mut layout = Layout {
        planner,
        gpus,
        ready: first.into_iter().map(|task| task.into_iter().collect()).collect(),
        now: vec![GpuStep::default(); gpus.len()],
    };
    let add = |layout: &mut Layout, kind: &str, groups: &[Vec<u32>], operation: Operation, bytes: u64| {
        layout.calls(index, job, &format!("{name}/{kind}"), groups, operation, bytes)
    };
    let activation = work.activation.0;
    let mut tensor_calls = add(&mut layout, "tensor", &of_tensor, Operation::AllReduce, activation)?;
    let mut expert_calls = add(&mut layout, "expert", &of_expert, Operation::AllToAll, activation)?;
    let (mut to_next, mut to_previous) = (Vec::new(), Vec::new());
    for before in 0..stages - 1 {
        let pairs = |from: u32, to: u32| -> Vec<Vec<u32>> {
            (0..data)
                .flat_map(|d| (0..tensor).map(move |t| (t, d)))
                .map(|(t, d)| vec![rank(t, d, from), rank(t, d, to)])
                .collect()
        };
        let (ahead, back) = (pairs(before, before + 1), pairs(before + 1, before));
        to_next.push(add(&mut layout, "pipeline-forward", &ahead, Operation::Broadcast, activation)?);
        to_previous.push(add(&mut layout, "pipeline-backward", &back, Operation::Broadcast, activation)?);
    }
    let mut full = add(&mut layout, "gradients", &of_data, Operation::AllReduce, work.bucket.0.min(shard))?;
    let rest = shard - (buckets - 1) * work.bucket.0.min(shard);
    let mut tail = add(&mut layout, "gradients-last", &of_data, Operation::AllReduce, rest)?;

    let per_stage = work.layers / stages;
    let backward = work.backward.unwrap_or(Duration(2 * work.forward.0));
    let mut steps = Vec::new();
    for _ in 0..work.iterations {
        for _ in 0..work.micro_batches {
            for p in 0..stages {
                let here: Vec<usize> = (0..data * tensor).map(|i| (p * data * tensor + i) as usize).collect();
                if p > 0 {
                    layout.exchange(&mut to_next[p as usize - 1], &here);
                }
                for _ in 0..per_stage {
                    layout.compute(&here, work.forward);
                    layout.wait_for(&mut tensor_calls, &here, 2);
                    layout.wait_for(&mut expert_calls, &here, 2);
                }
            }
        }
        for micro in 0..work.micro_batches {
            let last = micro + 1 == work.micro_batches;
            for p in (0..stages).rev() {
                let here: Vec<usize> = (0..data * tensor).map(|i| (p * data * tensor + i) as usize).collect();
                if p + 1 < stages {
                    layout.exchange(&mut to_previous[p as usize], &here);
                }
                let mut begun = 0;
                for layer in 1..=per_stage {
                    layout.compute(&here, backward);
                    layout.wait_for(&mut expert_calls, &here, 2);
                    layout.wait_for(&mut tensor_calls, &here, 2);
                    let due = match (last, work.overlap) {
                        (true, true) => buckets * u64::from(layer) / u64::from(per_stage),
                        (true, false) if layer == per_stage => buckets,
                        (true, false) | (false, _) => 0,
                    };
                    while begun < due {
                        begun += 1;
                        if begun == buckets {
                            // The last bucket is another call; it follows the one before all the same.
                            tail.follow(&full);
                            layout.start(&mut tail, &here);
                        } else {
                            layout.start(&mut full, &here);
                        }
                    }
                }
            }
        }
        // The next step needs all gradients.
        for rank in 0..gpus.len() {
            layout.ready[rank].extend(tail.last[rank]);
            full.last[rank] = tail.last[rank].or(full.last[rank]);
        }
        let fresh = vec![GpuStep::default(); gpus.len()];
        steps.push(std::mem::replace(&mut layout.now, fresh));
    }
    layout.planner.steps.push(PlannedSteps { job: name.to_string(), steps });
    Ok(())
}

impl Calls {
    /// Each rank's next execution also waits for the last of `other`.
    fn follow(&mut self, other: &Self) {
        for (own, other) in self.last.iter_mut().zip(&other.last) {
            *own = (*own).max(*other);
        }
    }
}

impl Layout<'_, '_> {
    /// One call for each group.
    fn calls(
        &mut self,
        index: usize,
        job: &JobConfig,
        name: &str,
        groups: &[Vec<u32>],
        operation: Operation,
        bytes: u64,
    ) -> Result<Calls, JobError> {
        let none = self.gpus.len();
        let mut calls = Calls { groups: Vec::new(), of: vec![None; none], last: vec![None; none] };
        for group in groups {
            let ranks: Vec<usize> = group.iter().map(|&rank| rank as usize).collect();
            let members = ranks.iter().map(|&rank| self.gpus[rank]).collect();
            let communicator = self.planner.communicator(index, job, members)?;
            let call = self.planner.call(index, job, name, &communicator, (operation, 0), bytes, false)?;
            for &rank in &ranks {
                calls.of[rank] = Some(calls.groups.len());
            }
            calls.groups.push((call, ranks));
        }
        Ok(calls)
    }

    /// The ranks compute, after what they wait for.
    fn compute(&mut self, ranks: &[usize], time: Duration) {
        for &rank in ranks {
            let after = std::mem::take(&mut self.ready[rank]);
            let task = self.planner.task(self.gpus[rank], Work::Compute(time), after);
            self.ready[rank] = vec![task];
            self.now[rank].compute.push(task);
        }
    }

    /// The ranks call `times` times, each after what it waits for, and wait for the result.
    fn wait_for(&mut self, calls: &mut Calls, ranks: &[usize], times: u32) {
        for _ in 0..times {
            for (rank, task) in self.start(calls, ranks) {
                self.ready[rank].push(task);
            }
        }
    }

    /// The groups of the ranks call, after what each waits for, and go on. The tasks, by rank.
    fn start(&mut self, calls: &mut Calls, ranks: &[usize]) -> Vec<(usize, u32)> {
        let mut groups: Vec<usize> = ranks.iter().filter_map(|&rank| calls.of[rank]).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut started = Vec::new();
        for group in groups {
            let (call, members) = calls.groups[group].clone();
            let mut execution = Vec::with_capacity(members.len());
            for (place, &rank) in members.iter().enumerate() {
                let mut after = self.ready[rank].clone();
                after.extend(calls.last[rank]);
                after.sort_unstable();
                after.dedup();
                let work = Work::Call { call, rank: place as u32 };
                let task = self.planner.task(self.gpus[rank], work, after);
                calls.last[rank] = Some(task);
                self.now[rank].communication.push(task);
                execution.push(task);
                started.push((rank, task));
            }
            self.planner.executed(call, execution);
        }
        started
    }

    /// The ranks get what the stage before (or behind) has made; only they wait.
    fn exchange(&mut self, calls: &mut Calls, ranks: &[usize]) {
        for (rank, task) in self.start(calls, ranks) {
            if ranks.contains(&rank) {
                self.ready[rank].push(task);
            }
        }
    }
}
