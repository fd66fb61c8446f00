//! `fabsim schedule`: the schedules of a scenario's collectives.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use scenarios::run;

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim schedule`.
#[derive(Args)]
pub struct ScheduleArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// The call to show, counted from 0; a size sweep has one a size. Default: all with --prove, else the first
    #[arg(long)]
    call: Option<usize>,
    /// Print the schedule as JSON, for other executors
    #[arg(long)]
    json: bool,
    /// Write the JSON to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Execute the schedule symbolically and prove that every rank ends with every contribution exactly once
    #[arg(long)]
    prove: bool,
    /// Most lines of steps
    #[arg(long, default_value_t = 40)]
    lines: usize,
}

pub fn run(args: &ScheduleArgs) -> Result<ExitCode, Failure> {
    let loaded = args.scenario.load()?;
    let prepared = run::prepare(&loaded.scenario)?;
    let Some(jobs) = &prepared.jobs else {
        return Err(Failure(format!(
            "{} has no jobs, so no collective has a schedule",
            prepared.scenario.name
        )));
    };
    let calls = &jobs.workload.calls;
    let chosen: Vec<usize> = match args.call {
        Some(call) if call < calls.len() => vec![call],
        Some(call) => {
            return Err(Failure(format!("--call {call}: there are {}, counted from 0", calls.len())));
        }
        None if args.prove => (0..calls.len()).collect(),
        None => vec![0],
    };
    for &call in &chosen {
        let schedule = &calls[call].schedule;
        if args.prove {
            let proof =
                collectives::check::check(schedule).map_err(|e| Failure(format!("call {call}: {e}")))?;
            let sum = proof.totals.sum();
            output::print(&format!(
                "call {call}: {} over {} ranks, {} B: proved · {} steps, {} messages, {} B over NVLink, {} B over the network\n",
                schedule.operation.name(),
                schedule.ranks,
                schedule.bytes,
                proof.totals.steps,
                proof.totals.messages,
                sum.local + sum.nvls,
                sum.network + sum.in_network,
            ))?;
            continue;
        }
        if args.json || args.out.is_some() {
            let mut text = serde_json::to_string(schedule).expect("a schedule has only text keys");
            text.push('\n');
            match &args.out {
                None => output::print(&text)?,
                Some(file) => std::fs::write(file, text)
                    .map_err(|e| Failure(format!("--out {}: {e}", file.display())))?,
            }
            continue;
        }
        output::print(&format!("{}\n", jobs.calls[call].choice.why))?;
        output::print(&collectives::describe(schedule, args.lines))?;
    }
    if args.call.is_none() && !args.prove && calls.len() > 1 && !args.json {
        output::note(&format!("there are {} calls: --call N shows another", calls.len()));
    }
    Ok(ExitCode::SUCCESS)
}
