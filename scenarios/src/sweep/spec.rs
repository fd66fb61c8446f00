//! The `sweep` block of a scenario as types. Field comments are the reference: the JSON Schema is generated from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What `fabsim sweep` varies and what it looks for. `fabsim run` runs the scenario as it stands, without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SweepSpec {
    /// What is varied; `--param` adds to them or replaces the values of one.
    pub parameters: Vec<SweepParameter>,
    /// How settings are taken from the values of the parameters. Default: grid.
    pub sampling: Sampling,
    /// What has to hold for a setting to be run, `"switch.ecn.kmax >= 2 * switch.ecn.kmin"`: a path, number or text with
    /// a unit on either side of `<`, `<=`, `>`, `>=`, `==` or `!=`, each with a factor before it if need be. Default: none.
    pub constraints: Vec<String>,
    /// Seeds each setting is run with. The first is the scenario's. Default: 1. Range: from 1.
    pub repeat: u32,
    /// What makes a setting a good one. All count alike; the first is told while the sweep runs. Default:
    /// `flows.goodput_gbps.mean` max, `flows.fct_us.p99` min, `pfc.pause_frames` min and `queues.peak_bytes` min; with
    /// jobs `collectives.0.busbw_gbytes_per_s` max (or `training.0.step_time_us.mean` min) instead of the first two.
    pub objectives: Vec<Objective>,
}

impl Default for SweepSpec {
    fn default() -> Self {
        Self {
            parameters: Vec::new(),
            sampling: Sampling::default(),
            constraints: Vec::new(),
            repeat: 1,
            objectives: Vec::new(),
        }
    }
}

/// One parameter of a sweep: a path and either `values` or a `range`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepParameter {
    /// Any path that `--set` takes: `switch.ecn.kmin`, `params.senders`, `topology.leaf-spine.spines`.
    pub path: String,
    /// The values, in the order in which they are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Values from a first to a last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SweepRange>,
}

/// Values from a first to a last one, both included where the steps meet the last. A grid needs a step or a factor;
/// without one, a sampled sweep draws evenly between them, in the value or in its logarithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepRange {
    /// The first value: a number, or text with a unit.
    pub from: Value,
    /// The last value.
    pub to: Value,
    /// What is added from one value to the next. Range: above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Value>,
    /// What one value is multiplied by for the next. Range: above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// In what a sample is even: `log` draws 10 KB to 100 KB as often as 100 KB to 1 MB, and needs a `from` above 0. For
    /// ranges without step and factor. Default: `linear`.
    #[serde(default, skip_serializing_if = "Scale::is_linear")]
    pub scale: Scale,
}

/// In what the values of a sample are even.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// In the value.
    #[default]
    Linear,
    /// In its logarithm.
    Log,
}

impl Scale {
    fn is_linear(&self) -> bool {
        *self == Self::Linear
    }
}

/// How settings are taken from the values of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Every combination; the last parameter varies fastest.
    #[default]
    Grid,
    /// Settings drawn at random, each parameter for itself, no setting twice.
    Random(SampleSize),
    /// As many strata of each parameter as settings, each stratum once.
    LatinHypercube(SampleSize),
}

/// Size of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleSize {
    /// Settings, before constraints in a Latin hypercube, after them in a random sample. Range: from 1.
    pub points: u32,
}

/// A figure of the summary that is to be small or large.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Its path in the summary: `flows.fct_us.p99`.
    pub figure: String,
    /// Whether less or more of it is better.
    pub goal: Goal,
}

/// What the first job of a scenario does, which says what its figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Collective operations.
    Collective,
    /// Steps of training.
    Training,
}

/// Which way an objective is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Less is better.
    Min,
    /// More is better.
    Max,
}

impl SweepSpec {
    /// The objectives, or the default ones where none is given. `work` is what the scenario's first job does.
    pub fn objectives(&self, work: Option<Work>) -> Vec<Objective> {
        if !self.objectives.is_empty() {
            return self.objectives.clone();
        }
        let own: &[(&str, Goal)] = match work {
            None => &[("flows.goodput_gbps.mean", Goal::Max), ("flows.fct_us.p99", Goal::Min)],
            Some(Work::Collective) => &[("collectives.0.busbw_gbytes_per_s", Goal::Max)],
            Some(Work::Training) => &[("training.0.step_time_us.mean", Goal::Min)],
        };
        let all = own.iter().chain(&[("pfc.pause_frames", Goal::Min), ("queues.peak_bytes", Goal::Min)]);
        all.map(|&(figure, goal)| Objective { figure: figure.to_string(), goal }).collect()
    }

    /// Gives the parameter `path` these values: instead of those it has, or as one more parameter.
    pub fn set_values(&mut self, path: &str, values: Vec<Value>) {
        let new = SweepParameter { path: path.to_string(), values: Some(values), range: None };
        match self.parameters.iter_mut().find(|parameter| parameter.path == path) {
            Some(parameter) => *parameter = new,
            None => self.parameters.push(new),
        }
    }
}
