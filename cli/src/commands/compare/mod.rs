//! `fabsim compare`: measured collectives beside the simulation, beside each other, or alone.

mod files;
mod json;
mod page;
mod simulate;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use scenarios::language::{self, Override};
use serde_json::Value;
use sim_core::Rate;
use validation::measured::bound::{self, Bounds, NetworkRate};
use validation::measured::diagnosis::{self, Diagnosis};
use validation::measured::paired::{self, Paired};
use validation::measured::{Comparison, MeasuredLog, Mode, SimulatedRow, pairs, read};

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// Output of nccl-tests or rccl-tests: text of any launcher, or the file of -J
    #[arg(required_unless_present = "pairs", conflicts_with = "pairs", value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Scenario to simulate at the log's sizes: a file, or the name of a shipped scenario
    #[arg(long, value_name = "FILE", conflicts_with_all = ["parse_only", "pairs"])]
    scenario: Option<String>,
    /// Set a value of the scenario: params.rate=100Gbps
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "scenario")]
    set: Vec<Override>,
    /// Only read the logs and say what is wrong with them
    #[arg(long)]
    parse_only: bool,
    /// Find slow nodes from pairs that were measured: lines nodeA,nodeB,busbw[,label]
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write compare.json, rows.csv and charts into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
    /// Compare the in-place half of the tables
    #[arg(long)]
    in_place: bool,
    /// Simulate every packet instead of extrapolating a steady state
    #[arg(long, requires = "scenario")]
    exact: bool,
    /// Line rate of one NIC, to find figures that it cannot have carried: 400Gbps
    #[arg(long, value_name = "RATE")]
    line_rate: Option<Rate>,
    /// NICs a node. Default: as many as the log's GPUs a node
    #[arg(long, value_name = "N", requires = "line_rate", value_parser = clap::value_parser!(u32).range(1..))]
    nics: Option<u32>,
}

/// One table, compared.
struct Table {
    log: MeasuredLog,
    comparison: Comparison,
    diagnosis: Vec<Diagnosis>,
}

/// All that was found.
struct Outcome {
    tables: Vec<Table>,
    paired: Vec<Paired>,
    parse_only: bool,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.pairs {
        return eliminate(file, args);
    }
    let mode = if args.in_place { Mode::InPlace } else { Mode::OutOfPlace };
    let mut logs = Vec::new();
    for path in &args.logs {
        let name = path.display().to_string();
        let bytes = fs::read(path).map_err(|error| Failure(format!("{name} cannot be read: {error}")))?;
        logs.extend(read(&name, &bytes).map_err(|error| Failure(error.to_string()))?);
    }
    let paired = if args.parse_only { Vec::new() } else { pair_all(&logs, mode, args.quiet) };
    let mut tables = Vec::new();
    for log in logs {
        tables.push(table(log, mode, args)?);
    }
    let outcome = Outcome { tables, paired, parse_only: args.parse_only };
    let object = json::outcome(&outcome);
    output::print(&if args.json { text_of(&object) } else { page::outcome(&outcome) })?;
    if let Some(folder) = &args.out {
        files::write(folder, &outcome, &text_of(&object))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A table beside its simulation, where there is a scenario.
fn table(mut log: MeasuredLog, mode: Mode, args: &CompareArgs) -> Result<Table, Failure> {
    let bounds = bounds_of(&log, args)?;
    if let Some(bounds) = &bounds {
        log.problems.extend(diagnosis::above_line_rate(&log, bounds));
    }
    let simulated = match &args.scenario {
        None => Vec::new(),
        Some(file) => simulated(&log, mode, file, args)?,
    };
    let comparison = validation::measured::compare(&log, mode, &simulated);
    let diagnosis = diagnosis::diagnose(&log, &comparison, bounds.as_ref());
    Ok(Table { log, comparison, diagnosis })
}

fn bounds_of(log: &MeasuredLog, args: &CompareArgs) -> Result<Option<Bounds>, Failure> {
    let Some(rate) = args.line_rate else { return Ok(None) };
    let Some(nics) = args.nics.or(log.gpus_per_node) else {
        return Err(Failure(format!(
            "{log} does not say how many GPUs a node has: give --nics with --line-rate"
        )));
    };
    Ok(bound::bounds(log, NetworkRate { rate, nics }))
}

fn simulated(
    log: &MeasuredLog,
    mode: Mode,
    file: &str,
    args: &CompareArgs,
) -> Result<Vec<SimulatedRow>, Failure> {
    let scenario = ScenarioArgs { file: file.to_string(), set: args.set.clone() }.load()?;
    let (Some(collective), Some(ranks)) = (log.collective(), log.ranks()) else {
        return Err(Failure(format!(
            "{log} names neither its collective nor its ranks, and busbw/algbw does not give them: add the lines that \
             nccl-tests prints before the table"
        )));
    };
    let sizes: Vec<u64> = log.sizes(mode).into_keys().collect();
    simulate::simulate(&scenario, collective, ranks, &sizes, args.exact)
}

/// Every further table beside the first.
fn pair_all(logs: &[MeasuredLog], mode: Mode, quiet: bool) -> Vec<Paired> {
    let Some((first, others)) = logs.split_first() else { return Vec::new() };
    let mut found = Vec::new();
    for other in others {
        match paired::pair(first, other, mode) {
            Ok(paired) => found.push(paired),
            Err(why) if !quiet => output::note(&why),
            Err(_) => {}
        }
    }
    found
}

fn eliminate(file: &std::path::Path, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let name = file.display().to_string();
    let bytes = fs::read(file).map_err(|error| Failure(format!("{name} cannot be read: {error}")))?;
    let text = language::decode(&bytes, &name)?;
    let measured = pairs::read(&name, &text).map_err(|error| Failure(error.to_string()))?;
    let result = pairs::eliminate(&measured);
    let object = text_of(&json::elimination(&measured, &result));
    output::print(&if args.json { object.clone() } else { page::elimination(&name, &measured, &result) })?;
    if let Some(folder) = &args.out {
        files::write_json(folder, &object)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(object: &Value) -> String {
    let mut text = serde_json::to_string_pretty(object).expect("keys are text");
    text.push('\n');
    text
}
