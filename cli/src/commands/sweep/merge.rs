//! `fabsim sweep merge`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use scenarios::sweep::{self, Missing};

use super::input::build;
use super::parquet::ParquetArgs;
use super::run::{conclude, failures, print};
use crate::output::{self, Failure};

/// Arguments of `fabsim sweep merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// Folders with the journals of shards; the first has the plan
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder the tables go to. Default: the first
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    parquet: ParquetArgs,
    /// Print the results as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    args.parquet.check()?;
    let plan = sweep::plan_of(&args.folders[0])?;
    let index = sweep::index_of(&args.folders, &plan, &build())?;
    if index.torn > 0 {
        output::note(&format!("{} torn lines were left out", index.torn));
    }
    let missing = sweep::missing(&plan, &index, &args.folders)?;
    if missing.points > 0 {
        return Err(Failure(told(&missing, plan.len(), &args.folders[0].display().to_string())));
    }
    let out = args.out.as_ref().unwrap_or(&args.folders[0]);
    sweep::settle(out, &plan)?;
    let analysis = conclude(&plan, out, &index, &args.parquet)?;
    print(args.json, &plan, &analysis, out, None)?;
    failures(&plan, &analysis, out)
}

fn told(missing: &Missing, points: u64, folder: &str) -> String {
    let mut text = format!("{} of {points} points are missing", missing.points);
    if let Some((index, id)) = &missing.first {
        text += &format!(", first point {index} ({id})");
    }
    let shards: Vec<String> =
        missing.shards.iter().map(|(shard, lost)| format!("shard {shard} lacks {lost}")).collect();
    if !shards.is_empty() {
        text += &format!(": {}", shards.join(", "));
    }
    let flag = missing.shards.first().map_or(String::new(), |(shard, _)| format!(" --shard {shard}"));
    text + &format!("; run them: fabsim sweep run {folder}{flag}")
}
