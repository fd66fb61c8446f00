//! `fabsim show`: what a scenario is about, its parameters and its text.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use scenarios::language::{self, Loaded};
use serde_json::Value;

use crate::input::{self, ScenarioArgs};
use crate::output::{self, Failure};

/// Arguments of `fabsim show`.
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Print only the resolved scenario: every default filled in, every parameter replaced by its value
    #[arg(long)]
    resolved: bool,
}

pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let loaded = args.scenario.load()?;
    if args.resolved {
        output::print(&language::to_json(&loaded.scenario))?;
    } else {
        let text = input::read(&args.scenario.file)?.text;
        output::print(&described(&loaded, &text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(loaded: &Loaded, text: &str) -> String {
    let mut out = format!("{}\n\n", loaded.scenario.name);
    if !loaded.scenario.description.is_empty() {
        let _ = writeln!(out, "{}\n", loaded.scenario.description);
    }
    if !loaded.declared.is_empty() {
        out.push_str(&parameters(loaded));
        out.push('\n');
    }
    out.push_str(text.trim_end());
    out.push('\n');
    out
}

/// The parameters as aligned columns: name, default, unit, and the value where an override gives another.
fn parameters(loaded: &Loaded) -> String {
    let mut rows = vec![["parameter".to_string(), "default".into(), "unit".into(), "about".into()]];
    for (name, param) in &loaded.declared {
        let default = plain(&param.default);
        let about = match loaded.params.get(name).map(plain) {
            Some(value) if value != default => format!("{} (set to {value})", param.about),
            Some(_) | None => param.about.clone(),
        };
        rows.push([name.clone(), default, param.unit.clone(), about]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (name, default, unit) = (width(0), width(1), width(2));
    let mut out = String::new();
    for row in &rows {
        let _ = writeln!(out, "{:name$}  {:default$}  {:unit$}  {}", row[0], row[1], row[2], row[3]);
    }
    out
}

/// A value as `--set` takes it: text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
