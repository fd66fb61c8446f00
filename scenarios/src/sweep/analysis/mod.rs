//! What to make of a sweep: means over seeds with confidence intervals, the Pareto front of the objectives, a
//! recommended setting and how sensitive it is to each parameter.

mod pareto;
mod report;
mod sensitivity;
mod statistics;
mod text;

use serde_json::Value;

use super::error::SweepError;
use super::journal::Index;
use super::plan::Plan;
use super::spec::{Goal, Objective};
use super::table::each_row;

pub use pareto::{Recommendation, pareto_front, recommend};
pub use report::{SETTINGS, settings_csv, sweep_json};
pub use sensitivity::{Change, Rank, Sensitivity, sensitivities};
pub use statistics::{Estimate, student_t_975};
pub use text::{label, page, shown};

/// A setting: what its points, which differ in their seed alone, came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The values of the parameters.
    pub values: Vec<Value>,
    /// Each objective's figures, by seed; points that lack it are left out.
    pub samples: Vec<Vec<f64>>,
    /// Each objective's mean over the seeds; `None` where no point has that figure.
    pub estimates: Vec<Option<Estimate>>,
    /// Points that failed.
    pub failed: u32,
    /// Points with flows that are not done, or a deadlock.
    pub unfinished: u32,
}

impl Setting {
    /// A setting of which nothing is known yet.
    fn new(values: Vec<Value>, objectives: usize) -> Self {
        Self {
            values,
            samples: vec![Vec::new(); objectives],
            estimates: Vec::new(),
            failed: 0,
            unfinished: 0,
        }
    }

    /// The setting with its estimates made.
    fn judged(mut self) -> Self {
        self.estimates = self.samples.iter().map(|sample| Estimate::of(sample)).collect();
        self
    }

    /// Whether it can be compared: all points worked, all flows are done and every objective has a figure.
    pub fn usable(&self) -> bool {
        self.failed == 0 && self.unfinished == 0 && self.estimates.iter().all(Option::is_some)
    }

    /// The mean of objective `index`; of a usable setting there is one.
    pub fn mean(&self, index: usize) -> f64 {
        self.estimates[index].map_or(f64::NAN, |estimate| estimate.mean)
    }
}

/// What to make of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// The settings, in the order of the plan.
    pub settings: Vec<Setting>,
    /// The usable settings that none beats in one objective without losing in another, in the order of the plan.
    pub front: Vec<usize>,
    /// The setting to take; `None` where none is usable.
    pub recommended: Option<Recommendation>,
    /// How sensitive that is to each parameter.
    pub sensitivity: Vec<Sensitivity>,
    /// Points that failed.
    pub failed: u64,
}

impl Analysis {
    /// Looks at all rows of a sweep that is complete.
    pub fn of(plan: &Plan, index: &Index) -> Result<Self, SweepError> {
        let objectives = plan.objectives.clone();
        let mut settings: Vec<Setting> = Vec::new();
        each_row(plan, index, |point, row| {
            if point.repeat == 0 {
                settings.push(Setting::new(point.values.clone(), objectives.len()));
            }
            let Some(setting) = settings.last_mut() else { return Ok(()) };
            setting.failed += u32::from(row.error.is_some());
            let figure = |name: &str| row.figures.get(name);
            let unfinished = figure("flows.completed") != figure("flows.count")
                || figure("deadlock.detected") == Some(&Value::Bool(true));
            setting.unfinished += u32::from(unfinished);
            for (objective, sample) in objectives.iter().zip(&mut setting.samples) {
                sample.extend(figure(&objective.figure).and_then(Value::as_f64));
            }
            Ok(())
        })?;
        let settings: Vec<Setting> = settings.into_iter().map(Setting::judged).collect();
        let failed = settings.iter().map(|setting| u64::from(setting.failed)).sum();
        let front = pareto_front(&settings, &objectives);
        let recommended = recommend(&settings, &objectives, &front);
        let sensitivity = match &recommended {
            Some(recommended) => sensitivities(plan, &settings, &objectives, recommended.setting),
            None => Vec::new(),
        };
        Ok(Self { objectives, settings, front, recommended, sensitivity, failed })
    }
}

/// How bad a mean is: less is better whatever the goal.
fn cost(mean: f64, goal: Goal) -> f64 {
    match goal {
        Goal::Min => mean,
        Goal::Max => -mean,
    }
}
