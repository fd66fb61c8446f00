//! What a sweep is made of: a scenario and what is varied, from the file and the command line, or a folder with a plan.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use scenarios::language;
use scenarios::sweep::{Plan, Source, SweepError, plan_of};
use serde_json::Value;

use crate::input::{self, ScenarioArgs};
use crate::output::Failure;

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        Self(error.to_string())
    }
}

/// A scenario and what is varied in it.
#[derive(Args)]
pub struct PlannedArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Vary a value: switch.ecn.kmin=100KB,200KB,400KB. Replaces the values the scenario's sweep block gives that path
    #[arg(long = "param", value_name = "PATH=V1,V2,...")]
    pub param: Vec<ParamArg>,
    /// Seeds of each setting, instead of the sweep block's
    #[arg(long, value_name = "N")]
    pub repeat: Option<u32>,
}

/// A path and its values.
#[derive(Clone)]
pub struct ParamArg {
    path: String,
    values: Vec<Value>,
}

impl FromStr for ParamArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = "write it as switch.ecn.kmin=100KB,200KB";
        let (path, list) = text.split_once('=').ok_or_else(|| format!("there is no \"=\": {advice}"))?;
        // Objects and lists have commas of their own: then the whole is a JSON list.
        let values = if list.trim_start().starts_with('[') {
            serde_json::from_str(list).map_err(|error| format!("this is no JSON list of values: {error}"))?
        } else {
            list.split(',')
                .map(|value| match value.trim() {
                    "" => Err(format!("there is an empty value: {advice}")),
                    value => {
                        Ok(serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_string())))
                    }
                })
                .collect::<Result<_, _>>()?
        };
        Ok(Self { path: path.trim().to_string(), values })
    }
}

impl PlannedArgs {
    /// Whether it names a folder with a plan.
    pub fn is_folder(&self) -> bool {
        Path::new(&self.scenario.file).is_dir()
    }

    /// Plans the sweep; also the folder of the plan, where it names one.
    pub fn plan(&self) -> Result<(Plan, Option<PathBuf>), Failure> {
        if self.is_folder() {
            if !self.scenario.set.is_empty() || !self.param.is_empty() || self.repeat.is_some() {
                return Err(Failure(format!(
                    "{} is planned already: --set, --param and --repeat belong to `fabsim sweep plan`",
                    self.scenario.file
                )));
            }
            let folder = PathBuf::from(&self.scenario.file);
            return Ok((plan_of(&folder)?, Some(folder)));
        }
        let input = input::read(&self.scenario.file)?;
        let loaded = language::load(&input.text, &input.name, &self.scenario.set)?;
        let mut spec = loaded.scenario.sweep.unwrap_or_default();
        let mut named: Vec<&str> = Vec::new();
        for param in &self.param {
            if named.contains(&param.path.as_str()) {
                return Err(Failure(format!(
                    "--param {} is given twice: give all its values in one",
                    param.path
                )));
            }
            named.push(&param.path);
            spec.set_values(&param.path, param.values.clone());
        }
        if let Some(repeat) = self.repeat {
            spec.repeat = repeat;
        }
        let source = Source { text: input.text, file: input.name, sets: self.scenario.set.clone() };
        Ok((Plan::new(source, spec)?, None))
    }
}

/// The folder of a sweep that names none.
pub fn default_folder(plan: &Plan) -> PathBuf {
    Path::new("runs").join(format!("{}-sweep", plan.name))
}

/// Version and commit, as journals remember them.
pub fn build() -> String {
    format!("{} ({})", env!("CARGO_PKG_VERSION"), env!("FABSIM_COMMIT"))
}
