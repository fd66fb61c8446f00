//! `fabsim check`: what can be said about a scenario before it runs.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use scenarios::finding::{Finding, Severity};
use scenarios::run::{self, paragraph};
use serde_json::json;

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim check`.
#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Print the findings as one JSON object
    #[arg(long)]
    json: bool,
    /// Exit with 1 if there is a finding of this severity or a worse one
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
}

/// What `--fail-on` can name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any finding
    Note,
    /// Warnings and errors
    Warning,
    /// Errors
    Error,
}

impl FailOn {
    fn severity(self) -> Severity {
        match self {
            Self::Note => Severity::Note,
            Self::Warning => Severity::Warning,
            Self::Error => Severity::Error,
        }
    }
}

pub fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let loaded = args.scenario.load()?;
    let prepared = run::prepare(&loaded.scenario)?;
    let (name, findings) = (&prepared.scenario.name, &prepared.findings);
    if args.json {
        let object = json!({ "scenario": name, "findings": findings });
        let mut text = serde_json::to_string_pretty(&object).expect("findings have only text keys");
        text.push('\n');
        output::print(&text)?;
    } else {
        output::print(&page(name, findings))?;
    }
    let worst = findings.iter().map(|finding| finding.severity).max();
    let failed = args.fail_on.is_some_and(|least| worst >= Some(least.severity()));
    Ok(ExitCode::from(u8::from(failed)))
}

fn page(name: &str, findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings, notes) = (of(Severity::Error), of(Severity::Warning), of(Severity::Note));
    let mut out = if findings.is_empty() {
        format!("{name}: nothing found\n")
    } else {
        let counts: Vec<String> = [(errors, "error"), (warnings, "warning"), (notes, "note")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}{}", if n == 1 { "" } else { "s" }))
            .collect();
        format!("{name}: {}\n", counts.join(", "))
    };
    for finding in findings {
        let label = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        out.push('\n');
        out.push_str(&paragraph(label, &format!("{} [{}]", finding.place, finding.code)));
        out.push_str(&paragraph("", &finding.text));
    }
    out
}
