//! The points of a sweep, in order, each with a stable id and a seed. Points are made when they are asked for, so that
//! a plan of any size takes 8 bytes a setting at most.

mod asked;
mod choose;

use serde_json::Value;
use sim_core::random::{Purpose, stream, unit};

use asked::{STRATUM_STREAMS, candidates, parameters, seeds, shuffled};

use super::constraint::Constraint;
use super::error::SweepError;
use super::figures;
use super::hash::{Hasher, hex};
use super::spec::{Objective, Sampling, SweepSpec, Work};
use super::values::Values;
use crate::jobs::JobWork;
use crate::language::{self, Loaded, Override};
use crate::spec::Scenario;

/// Most candidates of a plan.
const MOST_POINTS: u64 = 10_000_000;

/// The scenario a sweep starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its text.
    pub text: String,
    /// What errors call it.
    pub file: String,
    /// What is set at every point.
    pub sets: Vec<Override>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its place in the plan, from 0.
    pub index: u64,
    /// The number of its setting, from 0: points that differ in their seed alone share it.
    pub setting: u64,
    /// Which of the seeds of its setting it has, from 0.
    pub repeat: u32,
    /// The seed of all its random streams.
    pub seed: u64,
    /// Hash of its values and seed.
    pub hash: u64,
    /// The values of the parameters, in their order.
    pub values: Vec<Value>,
}

impl Point {
    /// Its id: the hash as 16 hexadecimal digits.
    pub fn id(&self) -> String {
        hex(self.hash)
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// The scenario.
    pub source: Source,
    /// What the sweep asks for, the command line's part included.
    pub spec: SweepSpec,
    /// Identifies scenario, `--set`s, parameters, sampling, constraints and repeats; not the objectives.
    pub fingerprint: String,
    /// What makes a setting a good one: the sweep's objectives, or the default ones.
    pub objectives: Vec<Objective>,
    parameters: Vec<(String, Values)>,
    /// Seed of the scenario.
    seed: u64,
    /// The seeds of each setting.
    seeds: Vec<u64>,
    candidates: u64,
    /// The candidates that are settings; all of them where it is `None`.
    chosen: Option<Vec<u64>>,
    /// For each parameter of a Latin hypercube the stratum of each candidate.
    strata: Vec<Vec<u32>>,
}

impl Plan {
    /// Plans the sweep of a scenario. `spec` is its sweep block together with what the command line adds.
    pub fn new(source: Source, spec: SweepSpec) -> Result<Self, SweepError> {
        let base = language::load(&source.text, &source.file, &source.sets)?;
        let constraints = spec
            .constraints
            .iter()
            .map(|text| Constraint::parse(text).map_err(SweepError::Spec))
            .collect::<Result<Vec<_>, _>>()?;
        let objectives = spec.objectives(work(&base.scenario));
        figures::check_objectives(&objectives)?;
        let parameters = parameters(&spec)?;
        let fingerprint = fingerprint(&source, &spec)?;
        let seed = base.scenario.seed;
        let mut plan = Self {
            name: base.scenario.name.clone(),
            seeds: seeds(seed, spec.repeat)?,
            candidates: candidates(&parameters, spec.sampling)?,
            chosen: None,
            strata: Vec::new(),
            source,
            spec,
            fingerprint,
            objectives,
            parameters,
            seed,
        };
        if let Sampling::LatinHypercube(sample) = plan.spec.sampling {
            let count = plan.parameters.len() as u64;
            plan.strata = (0..count).map(|p| shuffled(sample.points, seed, STRATUM_STREAMS + p)).collect();
        }
        plan.choose(&constraints, &base)?;
        if plan.len() > MOST_POINTS {
            return Err(SweepError::Spec(format!(
                "{} settings with {} seeds each are more than the {MOST_POINTS} points a sweep may have: take fewer",
                plan.settings(),
                plan.repeat()
            )));
        }
        plan.check_points()?;
        Ok(plan)
    }

    /// Paths of the parameters.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(path, _)| path.as_str())
    }

    /// The parameters with their values.
    pub fn parameters(&self) -> &[(String, Values)] {
        &self.parameters
    }

    /// Settings: points that differ in more than their seed.
    pub fn settings(&self) -> u64 {
        self.chosen.as_ref().map_or(self.candidates, |chosen| chosen.len() as u64)
    }

    /// Points in all.
    pub fn len(&self) -> u64 {
        self.settings() * self.seeds.len() as u64
    }

    /// Whether there is none; a plan that is made has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Seeds of each setting.
    pub fn repeat(&self) -> u32 {
        self.seeds.len() as u32
    }

    /// The point at `index`, which is below [`Self::len`].
    pub fn point(&self, index: u64) -> Point {
        let repeats = self.seeds.len() as u64;
        let (setting, repeat) = (index / repeats, (index % repeats) as u32);
        let candidate = self.chosen.as_ref().map_or(setting, |chosen| chosen[setting as usize]);
        let values = self.values(candidate);
        let seed = self.seeds[repeat as usize];
        let hash = self.hash(&values).add(format!("seed={seed}").as_bytes()).value();
        Point { index, setting, repeat, seed, hash, values }
    }

    /// What a point changes in the scenario, after [`Source::sets`].
    pub fn overrides(&self, values: &[Value]) -> Vec<Override> {
        let set =
            |((path, _), value): (&(String, Values), &Value)| Override::new(path.clone(), set_text(value));
        self.parameters.iter().zip(values).map(set).collect()
    }

    /// The scenario at a point, its seed included.
    pub fn load(&self, point: &Point) -> Result<Loaded, language::LanguageError> {
        let mut sets = self.source.sets.clone();
        sets.extend(self.overrides(&point.values));
        let mut loaded = language::load(&self.source.text, &self.source.file, &sets)?;
        loaded.scenario.seed = point.seed;
        loaded.scenario.sweep = None;
        Ok(loaded)
    }

    /// The values of the parameters at a candidate.
    fn values(&self, candidate: u64) -> Vec<Value> {
        match self.spec.sampling {
            Sampling::Grid => {
                let mut rest = candidate;
                let mut values: Vec<Value> = self.parameters.iter().map(|_| Value::Null).collect();
                for ((_, choices), value) in self.parameters.iter().zip(&mut values).rev() {
                    if let Values::List(list) = choices {
                        *value = list[(rest % list.len() as u64) as usize].clone();
                        rest /= list.len() as u64;
                    }
                }
                values
            }
            Sampling::Random(_) => {
                let mut random = stream(self.seed, Purpose::Sweep, candidate);
                self.parameters.iter().map(|(_, choices)| choices.at(unit(&mut random))).collect()
            }
            Sampling::LatinHypercube(sample) => {
                let mut random = stream(self.seed, Purpose::Sweep, candidate);
                let place = |stratum: u32, u: f64| (f64::from(stratum) + u) / f64::from(sample.points);
                self.parameters
                    .iter()
                    .zip(&self.strata)
                    .map(|((_, choices), strata)| {
                        choices.at(place(strata[candidate as usize], unit(&mut random)))
                    })
                    .collect()
            }
        }
    }

    fn hash(&self, values: &[Value]) -> Hasher {
        self.parameters.iter().zip(values).fold(Hasher::default(), |hash, ((path, _), value)| {
            hash.add(path.as_bytes()).add(b"=").add(value.to_string().as_bytes()).add(b"\n")
        })
    }
}

/// A value as an override takes it: text that would read as something else in quotes.
fn set_text(value: &Value) -> String {
    match value {
        Value::String(text)
            if serde_json::from_str::<Value>(text).is_err() && !text.starts_with(['{', '[', '"']) =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}

/// What the first job of a scenario does.
fn work(scenario: &Scenario) -> Option<Work> {
    scenario.jobs.first().map(|job| match job.work {
        JobWork::Collective(_) | JobWork::NcclTests(_) => Work::Collective,
        JobWork::TrainingStep(_) => Work::Training,
    })
}

fn fingerprint(source: &Source, spec: &SweepSpec) -> Result<String, SweepError> {
    let mut scenario = language::canonical(&source.text, &source.file)?;
    if let Some(map) = scenario.as_object_mut() {
        map.shift_remove("sweep");
        map.shift_remove("description");
    }
    let planned = SweepSpec { objectives: Vec::new(), ..spec.clone() };
    let planned = serde_json::to_string(&planned).expect("a sweep has only text keys");
    let mut hash = Hasher::default().add(scenario.to_string().as_bytes()).add(b"\n").add(planned.as_bytes());
    for set in &source.sets {
        hash = hash.add(b"\n").add(set.to_string().as_bytes());
    }
    Ok(hex(hash.value()))
}
