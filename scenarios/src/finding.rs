//! What `fabsim check` and a run's verdict say: one finding each, with what, where and what to do.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Likely not what was meant.
    Warning,
    /// The fabric cannot do what the scenario asks of it.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable kebab-case name, `headroom-too-small`.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// The port, link, class or scenario path it is about.
    #[serde(rename = "where")]
    pub place: String,
    /// What is the case and what to do about it, in figures.
    pub text: String,
}

impl Finding {
    /// A finding.
    pub fn new(severity: Severity, code: &str, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code: code.to_string(), severity, place: place.into(), text: text.into() }
    }
}
