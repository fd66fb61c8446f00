//! The commands, one file each.

mod check;
mod compare;
mod explain;
mod import;
mod list;
mod report;
mod run;
mod schedule;
mod schema;
mod show;
mod sweep;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Failure;

/// Packet-level simulator of GPU-cluster networks.
#[derive(Parser)]
#[command(name = "fabsim", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scenario
    Run(run::RunArgs),
    /// Make an HTML report of the folder of a run or a sweep
    Report(report::ReportArgs),
    /// Check a scenario without running it
    Check(check::CheckArgs),
    /// Simulate a scenario at many settings of its parameters
    Sweep(sweep::SweepArgs),
    /// Read measured collectives and set them beside the simulation
    Compare(compare::CompareArgs),
    /// Say what bounds the collectives of a scenario: links, rails, rings and collisions
    Explain(explain::ExplainArgs),
    /// Show, export or prove the schedules of a scenario's collectives
    Schedule(schedule::ScheduleArgs),
    /// Turn other simulators' files into a scenario
    Import(import::ImportArgs),
    /// List the shipped scenarios
    List,
    /// Describe a scenario: what it shows, its parameters and its text
    Show(show::ShowArgs),
    /// Print the JSON Schema of scenario files
    Schema(schema::SchemaArgs),
}

/// Runs a command. The exit code is 0 or, when `--fail-on` named something that was found, 1.
pub fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Schedule(args) => schedule::run(&args),
        Command::Import(args) => import::run(&args),
        Command::List => list::run(),
        Command::Show(args) => show::run(&args),
        Command::Schema(args) => schema::run(&args),
    }
}
