//! Ranges of GPU nodes and their jobs.

use sim_core::Rate;

use super::ranges::Rules;
use crate::jobs::{ClusterConfig, JobConfig, JobWork};
use crate::spec::Scenario;

/// Most nodes of a cluster.
const MAX_NODES: u32 = 65_536;
/// Most calls of a job's collective, and micro-batches and layers of a training step.
const MANY: u32 = 1 << 16;

pub(super) fn check(r: &mut Rules, scenario: &Scenario) {
    if let Some(cluster) = &scenario.cluster {
        self::cluster(r, cluster);
    }
    for (index, config) in scenario.jobs.iter().enumerate() {
        job(r, &format!("jobs.{index}"), config);
    }
}

fn cluster(r: &mut Rules, c: &ClusterConfig) {
    r.within("cluster", "nodes", c.nodes, 1, MAX_NODES);
    r.within("cluster", "planes", c.planes, 1, 2);
    r.span("cluster", "host_step", c.host_step);
    if let Some(rate) = c.host_copy_rate {
        r.within("cluster", "host_copy_rate", rate, Rate(8), Rate(u64::MAX / 8));
    }
}

fn job(r: &mut Rules, at: &str, job: &JobConfig) {
    r.class(at, "class", job.class);
    r.dscp(at, "dscp", job.dscp);
    r.rate(at, "rate", job.rate);
    r.span(at, "start", job.start);
    if let Some(ranks) = job.ranks_per_node {
        r.within(at, "ranks_per_node", ranks, 1, MAX_NODES);
    }
    r.within(at, "communicators", job.communicators, 1, MAX_NODES);
    r.within(&format!("{at}.nccl"), "qps_per_connection", job.nccl.qps_per_connection, 1, 16);
    match &job.work {
        JobWork::Collective(work) => {
            let at = format!("{at}.work.collective");
            r.some_bytes(&at, "size", work.size);
            r.within(&at, "iterations", work.iterations, 1, MANY);
        }
        JobWork::NcclTests(work) => {
            let at = format!("{at}.work.nccl-tests");
            r.some_bytes(&at, "begin", work.begin);
            r.some_bytes(&at, "end", work.end);
            r.within(&at, "factor", work.factor, 2, 1 << 20);
            r.within(&at, "iterations", work.iterations, 1, MANY);
            r.within(&at, "warmup", work.warmup, 0, MANY);
        }
        JobWork::TrainingStep(work) => {
            let at = format!("{at}.work.training-step");
            r.within(&at, "iterations", work.iterations, 1, MANY);
            r.within(&at, "micro_batches", work.micro_batches, 1, MANY);
            r.within(&at, "layers", work.layers, 1, MANY);
            r.within(&at, "parameters", work.parameters, 1, 1 << 50);
            r.within(&at, "gradient_bytes", work.gradient_bytes, 1, 16);
            r.some_bytes(&at, "bucket", work.bucket);
            r.bytes(&at, "activation", work.activation);
            r.span(&at, "forward", work.forward);
            r.span(&at, "backward", work.backward);
        }
    }
}
