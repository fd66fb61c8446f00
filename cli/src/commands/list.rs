//! `fabsim list`: the shipped scenarios.

use std::fmt::Write;
use std::process::ExitCode;

use scenarios::language;

use crate::library::SHIPPED;
use crate::output::{self, Failure};

pub fn run() -> Result<ExitCode, Failure> {
    let width = SHIPPED.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, text) in SHIPPED {
        let loaded = language::load(text, &format!("{name}.json (shipped)"), &[])?;
        let _ = writeln!(out, "{name:width$}  {}", first_sentence(&loaded.scenario.description));
    }
    output::print(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// The text up to its first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    match text.find(". ") {
        Some(end) => &text[..=end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_sentence_ends_at_a_stop_before_a_space() {
        assert_eq!(first_sentence("25.5 Gb/s of 30. More."), "25.5 Gb/s of 30.");
        assert_eq!(first_sentence("No stop"), "No stop");
        assert_eq!(first_sentence(""), "");
    }
}
