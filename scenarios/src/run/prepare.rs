//! Everything of a run before its first event.

use std::path::PathBuf;

use indexmap::IndexMap;
use models::fabric::{BuildError, FabricConfig};
use models::topology::{self, Graph, TopologyError};
use models::traffic::{self, Flow, TrafficError};

use crate::check;
use crate::finding::Finding;
use crate::jobs::{self, JobError, PlannedJobs};
use crate::language::{self, LanguageError};
use crate::spec::Scenario;

/// Why a run cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A value is out of its range.
    #[error("{0}")]
    Scenario(#[from] LanguageError),
    /// The topology cannot be built.
    #[error("{0}")]
    Topology(#[from] TopologyError),
    /// The traffic cannot be built.
    #[error("{0}")]
    Traffic(#[from] TrafficError),
    /// The jobs cannot be planned.
    #[error("{0}")]
    Jobs(#[from] JobError),
    /// The fabric cannot be built.
    #[error("{0}")]
    Fabric(#[from] BuildError),
    /// A result above what the hardware allows.
    #[error(
        "{0}: this is a fault of fabsim, and none of the run's figures can be trusted; please report the scenario"
    )]
    Impossible(String),
    /// A call that is not there.
    #[error("--call {call}: there are {calls} calls, counted from 0")]
    NoCall {
        /// The call asked for.
        call: usize,
        /// Calls there are.
        calls: usize,
    },
    /// Neither traffic nor jobs.
    #[error("traffic: the scenario has no flows and no jobs: add some traffic, or a cluster with jobs")]
    NothingToDo,
    /// A trace or capture cannot be made.
    #[error("{0}")]
    Trace(String),
    /// The output folder cannot be used.
    #[error("--out {}: {why}", .path.display())]
    Output {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
}

/// A scenario that is built and checked, ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The resolved scenario.
    pub scenario: Scenario,
    /// Values of the scenario's parameters, for the summary. [`prepare`] leaves them empty.
    pub params: IndexMap<String, serde_json::Value>,
    /// The topology.
    pub graph: Graph,
    /// The flows.
    pub flows: Vec<Flow>,
    /// What the GPUs do.
    pub jobs: Option<PlannedJobs>,
    /// What the fabric is made of besides.
    pub config: FabricConfig,
    /// What the checks before a run found.
    pub findings: Vec<Finding>,
}

/// Builds topology and traffic of a resolved scenario and checks them.
pub fn prepare(scenario: &Scenario) -> Result<Prepared, RunError> {
    language::validate_ranges(scenario)?;
    let graph = topology::build(&scenario.topology)?;
    let flows = traffic::build(&scenario.traffic, &graph, scenario.seed)?;
    let jobs = jobs::plan::plan(scenario)?;
    if flows.is_empty() && jobs.is_none() {
        return Err(RunError::NothingToDo);
    }
    let findings = check::check(scenario, &graph, &flows);
    let mut config = FabricConfig {
        switch: scenario.switch.clone(),
        nic: scenario.nic.clone(),
        congestion: scenario.congestion.clone(),
        routing: scenario.routing.clone(),
        faults: scenario.faults.clone(),
        seed: scenario.seed,
    };
    if let (Some(jobs), None) = (&jobs, config.nic.inject_rate) {
        config.nic.inject_rate = jobs::timing::inject_rate(&jobs.node, &config.nic);
    }
    Ok(Prepared { scenario: scenario.clone(), params: IndexMap::new(), graph, flows, jobs, config, findings })
}
