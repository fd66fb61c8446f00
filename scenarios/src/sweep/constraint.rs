//! Constraints of a sweep: `switch.ecn.kmax >= 2 * switch.ecn.kmin`.

use std::fmt;

use serde_json::Value;

use super::values::{Kind, Quantity, plain};
use crate::language::nearest;

/// A comparison of two operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    text: String,
    left: Operand,
    comparison: Comparison,
    right: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// The signs, those that begin with another one first.
const SIGNS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A path or a literal, times a factor.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    factor: f64,
    term: Term,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Path(String),
    Literal(Value),
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Constraint {
    /// Reads a constraint.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| format!("constraint \"{text}\": {why}");
        let found = SIGNS
            .iter()
            .filter_map(|&(sign, comparison)| text.find(sign).map(|at| (at, sign, comparison)))
            .min_by_key(|&(at, sign, _)| (at, std::cmp::Reverse(sign.len())));
        let Some((at, sign, comparison)) = found else {
            return Err(refuse(
                "it compares nothing: write it as \"switch.ecn.kmax >= switch.ecn.kmin\", with one of <, <=, >, >=, \
                 ==, !=",
            ));
        };
        let left = Operand::parse(&text[..at]).map_err(|why| refuse(&why))?;
        let right = Operand::parse(&text[at + sign.len()..]).map_err(|why| refuse(&why))?;
        if !matches!(left.term, Term::Path(_)) && !matches!(right.term, Term::Path(_)) {
            return Err(refuse("neither side is a path, so that it says nothing about a point"));
        }
        Ok(Self { text: text.to_string(), left, comparison, right })
    }

    /// The paths it looks at.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        [&self.left, &self.right].into_iter().filter_map(|operand| match &operand.term {
            Term::Path(path) => Some(path.as_str()),
            Term::Literal(_) => None,
        })
    }

    /// Whether it holds where `lookup` gives the value of a path, or says why there is none.
    pub fn holds(&self, lookup: &dyn Fn(&str) -> Result<Value, String>) -> Result<bool, String> {
        let refuse = |why: String| format!("constraint \"{}\": {why}", self.text);
        let value = |operand: &Operand| match &operand.term {
            Term::Path(path) => lookup(path).map_err(&refuse),
            Term::Literal(value) => Ok(value.clone()),
        };
        let (left, right) = (value(&self.left)?, value(&self.right)?);
        let measured = (Quantity::of(&left), Quantity::of(&right));
        let (Some(a), Some(b)) = measured else {
            let equal = left == right;
            return match self.comparison {
                _ if self.left.factor != 1.0 || self.right.factor != 1.0 => {
                    let odd = if measured.0.is_none() { &left } else { &right };
                    Err(refuse(format!("{odd} cannot be multiplied")))
                }
                Comparison::Equal => Ok(equal),
                Comparison::NotEqual => Ok(!equal),
                _ => Err(refuse(format!("{left} and {right} have no order: only == and != say something"))),
            };
        };
        let zero = |q: Quantity| q.kind == Kind::Number && q.amount == 0.0;
        if a.kind != b.kind && !zero(a) && !zero(b) {
            return Err(refuse(format!(
                "{} is a {}, but {} is a {}",
                plain(&left),
                a.kind.name(),
                plain(&right),
                b.kind.name()
            )));
        }
        let (a, b) = (a.amount * self.left.factor, b.amount * self.right.factor);
        Ok(match self.comparison {
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterOrEqual => a >= b,
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
        })
    }
}

impl Operand {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (factor, rest) = match text.split_once('*') {
            None => (1.0, text),
            Some((factor, rest)) => match factor.trim().parse::<f64>() {
                Ok(factor) if factor.is_finite() => (factor, rest.trim()),
                Ok(_) | Err(_) => {
                    return Err(format!("\"{}\" is no number to multiply by", factor.trim()));
                }
            },
        };
        Ok(Self { factor, term: Term::parse(rest)? })
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("one side is empty".to_string());
        }
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            return Ok(Self::Literal(value));
        }
        if Quantity::parse(text).is_some() {
            return Ok(Self::Literal(Value::String(text.to_string())));
        }
        let word =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        if text.split('.').all(word) {
            return Ok(Self::Path(text.to_string()));
        }
        Err(format!(
            "\"{text}\" is no path, number, text with a unit or text in quotes; one comparison a constraint"
        ))
    }
}

/// The value at `path` of a resolved scenario, or why there is none, with the nearest name.
pub fn value_at(root: &Value, path: &str) -> Result<Value, String> {
    let mut value = root;
    for (depth, key) in path.split('.').enumerate() {
        let next = match value {
            Value::Object(map) => map.get(key),
            Value::Array(list) => key.parse::<usize>().ok().and_then(|index| list.get(index)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        value = next.ok_or_else(|| {
            let at: Vec<&str> = path.split('.').take(depth).collect();
            let place = if at.is_empty() { String::new() } else { format!(" in {}", at.join(".")) };
            let names: Vec<&str> = match value {
                Value::Object(map) => map.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            match nearest(key, names.iter().copied()) {
                Some(name) => format!("there is no \"{key}\"{place}; did you mean \"{name}\"?"),
                None if names.is_empty() => format!("there is no \"{key}\"{place}: {value} has no fields"),
                None => format!("there is no \"{key}\"{place}; there are {}", names.join(", ")),
            }
        })?;
    }
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> Result<bool, String> {
        let root = json!({
            "switch": { "ecn": { "kmin": "100KB", "kmax": "0.4MB", "pmax": 0.2 } },
            "congestion": "none",
            "run": { "until": "10us" }
        });
        Constraint::parse(text)?.holds(&|path| value_at(&root, path))
    }

    #[test]
    fn comparisons_know_units() {
        for (text, want) in [
            ("switch.ecn.kmax >= switch.ecn.kmin", true),
            ("switch.ecn.kmax == 4 * switch.ecn.kmin", true),
            ("switch.ecn.kmax < 4 * switch.ecn.kmin", false),
            ("switch.ecn.kmin>99KB", true),
            ("0.1 <= switch.ecn.pmax", true),
            ("switch.ecn.pmax != 0.2", false),
            ("run.until > 0", true),
            ("congestion == \"none\"", true),
            ("congestion != \"dcqcn\"", true),
        ] {
            assert_eq!(check(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, want) in [
            ("switch.ecn.kmax", "it compares nothing"),
            ("switch.ecn.kmax >=", "one side is empty"),
            ("1 < 2", "neither side is a path"),
            ("switch.ecn.kmux > 1KB", "did you mean \"kmax\"?"),
            ("switch.ecn.kmax > 1us", "0.4MB is a size, but 1us is a duration"),
            ("x * switch.ecn.kmax > 1KB", "\"x\" is no number"),
            ("congestion > 5", "have no order"),
            ("2 * congestion == 5", "cannot be multiplied"),
            ("switch.ecn.kmin < switch.ecn.kmax < 1MB", "one comparison a constraint"),
            ("congestion.dcqcn == 1", "there is no \"dcqcn\" in congestion"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
