//! Which candidates of a plan are settings, and whether the points made of them can be read.

use std::collections::HashSet;

use serde_json::Value;

use super::Plan;
use crate::language::{self, Loaded, Override};
use crate::sweep::constraint::{Constraint, value_at};
use crate::sweep::error::SweepError;
use crate::sweep::spec::Sampling;
use crate::sweep::values::{Values, plain};

/// Points of a sampled plan whose values are checked before it runs.
const CHECKED: u64 = 20;

impl Plan {
    /// Finds the candidates that are run.
    pub(super) fn choose(&mut self, constraints: &[Constraint], base: &Loaded) -> Result<(), SweepError> {
        if constraints.is_empty() && self.spec.sampling == Sampling::Grid {
            return Ok(());
        }
        let (wanted, fixed) = match self.spec.sampling {
            Sampling::Grid => (u64::MAX, true),
            Sampling::Random(sample) => (u64::from(sample.points), false),
            Sampling::LatinHypercube(_) => (u64::MAX, true),
        };
        let resolved = self.resolve_needed(constraints).then(|| resolved(base));
        let mut chosen = Vec::new();
        let mut seen = HashSet::new();
        for candidate in 0..self.candidates {
            if chosen.len() as u64 == wanted {
                break;
            }
            let values = self.values(candidate);
            if self.spec.sampling != Sampling::Grid && !seen.insert(self.hash(&values).value()) {
                if fixed {
                    let text: Vec<String> = values.iter().map(plain).collect();
                    return Err(SweepError::Spec(format!(
                        "the Latin hypercube has the setting {} twice: ask for fewer points, or give more values",
                        text.join(", ")
                    )));
                }
                continue;
            }
            if self.allowed(constraints, &values, base, resolved.is_some())? {
                chosen.push(candidate);
            }
        }
        if chosen.is_empty() {
            let texts: Vec<String> = constraints.iter().map(|c| format!("\"{c}\"")).collect();
            return Err(SweepError::Spec(format!(
                "no setting meets all constraints ({}): the grid is empty; loosen one of them or widen the values",
                texts.join(", ")
            )));
        }
        if !fixed && (chosen.len() as u64) < wanted {
            return Err(SweepError::Spec(format!(
                "only {} different settings were found for a random sample of {wanted}: ask for fewer points, or give \
                 more values",
                chosen.len()
            )));
        }
        self.chosen = Some(chosen);
        Ok(())
    }

    /// Whether constraints look at more than the parameters themselves.
    fn resolve_needed(&self, constraints: &[Constraint]) -> bool {
        constraints.iter().flat_map(Constraint::paths).any(|path| self.paths().all(|known| known != path))
    }

    fn allowed(
        &self,
        constraints: &[Constraint],
        values: &[Value],
        base: &Loaded,
        resolve: bool,
    ) -> Result<bool, SweepError> {
        let root = if resolve { resolved(&self.read(values)?) } else { Value::Null };
        let lookup = |path: &str| {
            if let Some(index) = self.paths().position(|known| known == path) {
                return Ok(values[index].clone());
            }
            match path.strip_prefix("params.") {
                Some(name) if base.params.contains_key(name) => Ok(base.params[name].clone()),
                Some(_) | None => value_at(&root, path),
            }
        };
        for constraint in constraints {
            if !constraint.holds(&lookup).map_err(SweepError::Spec)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The scenario with these values, which may be out of range: then the point's row says so.
    fn read(&self, values: &[Value]) -> Result<Loaded, SweepError> {
        let swept = self.overrides(values);
        let mut sets = self.source.sets.clone();
        sets.extend_from_slice(&swept);
        language::load_unranged(&self.source.text, &self.source.file, &sets).map_err(|error| {
            let texts: Vec<String> = swept.iter().map(Override::to_string).collect();
            SweepError::point(error, &texts)
        })
    }

    /// Reads points until each value of each parameter was in one, so that a wrong path or type is found before any
    /// point runs.
    pub(super) fn check_points(&self) -> Result<(), SweepError> {
        let repeats = u64::from(self.repeat());
        let check = |setting: u64| {
            let values = self.point(setting * repeats).values;
            let loaded = self.read(&values)?;
            if loaded.scenario.seed != self.seed {
                let text =
                    "a parameter of the sweep changes the seed of the scenario: seeds come from --repeat";
                return Err(SweepError::Spec(text.to_string()));
            }
            Ok(values)
        };
        if self.spec.sampling != Sampling::Grid {
            return (0..self.settings().min(CHECKED)).try_for_each(|setting| check(setting).map(|_| ()));
        }
        let mut left: Vec<HashSet<String>> = self
            .parameters
            .iter()
            .map(|(_, choices)| match choices {
                Values::List(list) => list.iter().map(Value::to_string).collect(),
                Values::Between { .. } => HashSet::new(),
            })
            .collect();
        for setting in 0..self.settings() {
            if left.iter().all(HashSet::is_empty) {
                break;
            }
            let values = self.point(setting * repeats).values;
            if values.iter().zip(&left).any(|(value, left)| left.contains(&value.to_string())) {
                check(setting)?;
                for (value, left) in values.iter().zip(&mut left) {
                    left.remove(&value.to_string());
                }
            }
        }
        Ok(())
    }
}

/// The scenario with all defaults, and the values of its parameters under `params`.
fn resolved(loaded: &Loaded) -> Value {
    let mut value = serde_json::to_value(&loaded.scenario).expect("a scenario has only text keys");
    value["params"] = serde_json::to_value(&loaded.params).expect("parameters have text keys");
    value
}
