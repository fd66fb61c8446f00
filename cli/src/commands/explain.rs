//! `fabsim explain`: what bounds the collectives of a scenario, before any packet is simulated.

use std::process::ExitCode;

use clap::Args;
use scenarios::jobs::explain;
use scenarios::run;
use serde_json::json;

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim explain`.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Only this call, counted from 0; a size sweep has one a size. Default: the largest of each algorithm and protocol
    #[arg(long)]
    call: Option<usize>,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let loaded = args.scenario.load()?;
    let prepared = run::prepare(&loaded.scenario)?;
    if prepared.jobs.is_none() {
        let name = &prepared.scenario.name;
        return Err(Failure(format!(
            "{name} has no jobs: `fabsim check` and `fabsim run` say what its flows do"
        )));
    }
    let explanations = explain::explain(prepared, args.call)?;
    if args.json {
        let object = json!({ "calls": explanations });
        let mut text = serde_json::to_string_pretty(&object).expect("explanations have only text keys");
        text.push('\n');
        output::print(&text)?;
    } else {
        for explanation in &explanations {
            output::print(&explanation.page())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
