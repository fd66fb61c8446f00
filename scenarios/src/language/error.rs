//! What is wrong with a scenario text: where, which path, and what to do about it.

use std::fmt;

use super::tree::{Origin, Source};

/// Where the mistake stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A position of a file; lines and columns count from 1, columns in characters.
    Position {
        /// The file as the user named it.
        file: String,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A file as a whole.
    File(String),
    /// The text of a `--set`, `path=value`.
    Set(String),
    /// A scenario that did not come from a text.
    Scenario,
}

/// A mistake in a scenario or a `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageError {
    /// Where it stands.
    pub place: Place,
    /// The path of the value it is about, `switch.ecn.kmin`; empty for the whole scenario.
    pub path: String,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for LanguageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Position { file, line, column } => write!(f, "{file}:{line}:{column}: ")?,
            Place::File(file) => write!(f, "{file}: ")?,
            Place::Set(text) => write!(f, "--set {text}: ")?,
            Place::Scenario => {}
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for LanguageError {}

/// A mistake before it is known what the file is called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub origin: Option<Origin>,
    pub path: Vec<String>,
    pub text: String,
}

impl Fault {
    pub fn new(origin: Origin, text: impl Into<String>) -> Self {
        Self { origin: Some(origin), path: Vec::new(), text: text.into() }
    }

    pub fn at_path(mut self, path: &[&str]) -> Self {
        self.path = path.iter().map(|s| s.to_string()).collect();
        self
    }

    /// The error as the user sees it. `sets` are the texts of the overrides, `params` the declared names.
    pub fn into_error(self, file: &str, sets: &[String], params: &[String]) -> LanguageError {
        let mut path = self.path.join(".");
        let place = match self.origin {
            None => Place::File(file.to_string()),
            Some(Origin { source, param }) => {
                if let Some(name) = param.and_then(|p| params.get(p as usize)) {
                    path = format!("{path} (params.{name})");
                }
                match source {
                    Source::File { line, column } => Place::Position { file: file.to_string(), line, column },
                    Source::Set(index) => Place::Set(sets.get(index as usize).cloned().unwrap_or_default()),
                }
            }
        };
        LanguageError { place, path, text: self.text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_path_and_text_are_joined_by_colons() {
        let place = Place::Position { file: "a.json".into(), line: 3, column: 7 };
        let error = LanguageError { place, path: "nic.mtu".into(), text: "too large".into() };
        assert_eq!(error.to_string(), "a.json:3:7: nic.mtu: too large");
        let error =
            LanguageError { place: Place::Set("a=1".into()), path: String::new(), text: "no such".into() };
        assert_eq!(error.to_string(), "--set a=1: no such");
        let error = LanguageError { place: Place::Scenario, path: "run".into(), text: "x".into() };
        assert_eq!(error.to_string(), "run: x");
    }
}
