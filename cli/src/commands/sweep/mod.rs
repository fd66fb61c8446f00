//! `fabsim sweep`: a scenario at many settings of its parameters.

mod bar;
mod input;
mod merge;
mod parquet;
mod plan;
mod run;
mod shard;
mod slurm;

use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use crate::output::Failure;

/// Arguments of `fabsim sweep`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub struct SweepArgs {
    #[command(subcommand)]
    command: Option<SweepCommand>,
    #[command(flatten)]
    sweep: WithoutPart,
}

/// `fabsim sweep FILE`: its arguments, unless a part of a sweep is named.
struct WithoutPart(Option<run::SweepRunArgs>);

impl Args for WithoutPart {
    fn augment_args(command: Command) -> Command {
        run::SweepRunArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        run::SweepRunArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for WithoutPart {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = matches.contains_id("file");
        Ok(Self(given.then(|| run::SweepRunArgs::from_arg_matches(matches)).transpose()?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parts of a sweep, for more than one machine.
#[derive(Subcommand)]
enum SweepCommand {
    /// Write the plan of a sweep and its list of points
    Plan(plan::PlanArgs),
    /// Run a planned sweep, or a shard of it
    Run(run::SweepRunArgs),
    /// Join the shards of a sweep, or say what is missing
    Merge(merge::MergeArgs),
    /// Plan a sweep and print a Slurm batch script that runs it as an array of jobs
    Slurm(slurm::SlurmArgs),
}

pub fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    match (&args.command, &args.sweep.0) {
        (Some(SweepCommand::Plan(args)), _) => plan::run(args),
        (Some(SweepCommand::Run(args)), _) => run::run(args, true),
        (Some(SweepCommand::Merge(args)), _) => merge::run(args),
        (Some(SweepCommand::Slurm(args)), _) => slurm::run(args),
        (None, Some(args)) => run::run(args, false),
        (None, None) => {
            Err(Failure("name a scenario, or a part of a sweep: fabsim sweep --help".to_string()))
        }
    }
}
