//! `fabsim sweep FILE` and `fabsim sweep run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use scenarios::run::write_json;
use scenarios::sweep::{self, Analysis, Done, Index, Options, Plan, Shard, page, sweep_json};
use serde_json::{Value, json};

use super::bar::Bar;
use super::input::{PlannedArgs, build, default_folder};
use super::parquet::ParquetArgs;
use super::shard::ShardArgs;
use crate::commands::run::peak_rss;
use crate::output::{self, Failure};
use crate::progress::{self, wall};

/// Arguments of `fabsim sweep FILE` and `fabsim sweep run`.
#[derive(Args)]
pub struct SweepRunArgs {
    #[command(flatten)]
    planned: PlannedArgs,
    #[command(flatten)]
    shard: ShardArgs,
    /// Points that run at the same time. Default: one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Folder of the sweep; the same command goes on where an earlier one stopped. Default: runs/NAME-sweep, or the folder
    /// that is run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep the files of each point in DIR/points/ID/
    #[arg(long)]
    keep_points: bool,
    #[command(flatten)]
    parquet: ParquetArgs,
    /// Print the results as one JSON object
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,
}

pub fn run(args: &SweepRunArgs, from_environment: bool) -> Result<ExitCode, Failure> {
    args.parquet.check()?;
    let (plan, planned_in) = args.planned.plan()?;
    let environment = |name: &str| from_environment.then(|| std::env::var(name).ok()).flatten();
    let (shard, source) = args.shard.find(&environment)?;
    if let (Some(source), false) = (source, args.quiet) {
        output::note(&format!("this is shard {shard}, as {source} says"));
    }
    if args.parquet.parquet && shard != Shard::WHOLE {
        return Err(Failure(format!(
            "--parquet: shard {shard} has no table of its own; give --parquet to `fabsim sweep merge`, which makes it"
        )));
    }
    let folder = args.out.clone().or(planned_in).unwrap_or_else(|| default_folder(&plan));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(processors, |jobs| jobs as usize);
    let options = Options { shard, jobs, keep: args.keep_points, build: build() };
    progress::catch_interrupts()?;
    let bar = Bar::new(&plan, args.quiet);
    let done = sweep::run(&plan, &folder, &options, &bar);
    let wall_s = bar.elapsed().as_secs_f64();
    bar.clear();
    let done = done?;
    if !args.quiet {
        notes(&done);
    }
    if done.stopped {
        return Err(Failure(format!(
            "stopped: {} of {} points are done and kept in {}/; the same command goes on from there",
            done.before + done.ran,
            done.points,
            folder.display()
        )));
    }
    let mut performance = performance(&done, jobs, wall_s);
    if shard != Shard::WHOLE {
        return finish_shard(args, &folder, shard, &done, &performance);
    }
    let index = sweep::index_of(std::slice::from_ref(&folder), &plan, &options.build)?;
    let analysis = conclude(&plan, &folder, &index, &args.parquet)?;
    performance["peak_rss_bytes"] = json!(peak_rss());
    write_json(&folder, "performance.json", &performance).map_err(|error| Failure(error.to_string()))?;
    let speed = speed(&done, jobs, wall_s);
    print(args.json, &plan, &analysis, &folder, Some((&speed, &performance)))?;
    failures(&plan, &analysis, &folder)
}

fn notes(done: &Done) {
    if done.torn > 0 {
        output::note(&format!("{} torn by an interruption: dropped and run again", lines(done.torn)));
    }
    if done.before > 0 && done.before < done.points {
        output::note(&format!("{} of {} points were done before", done.before, done.points));
    }
}

fn lines(count: u64) -> String {
    if count == 1 {
        "1 line of the journal was".to_string()
    } else {
        format!("{count} lines of the journal were")
    }
}

fn speed(done: &Done, jobs: usize, wall_s: f64) -> String {
    match done.ran {
        0 => "every point was done before".to_string(),
        ran => format!(
            "{ran} points in {} with {jobs} at a time · {:.0} points/min",
            wall(wall_s),
            ran as f64 / wall_s.max(1e-9) * 60.0
        ),
    }
}

fn performance(done: &Done, jobs: usize, wall_s: f64) -> Value {
    json!({
        "wall_s": wall_s,
        "points": done.ran,
        "points_per_minute": done.ran as f64 / wall_s.max(1e-9) * 60.0,
        "jobs": jobs,
        "peak_rss_bytes": peak_rss(),
        "version": env!("CARGO_PKG_VERSION"),
        "commit": env!("FABSIM_COMMIT"),
    })
}

fn finish_shard(
    args: &SweepRunArgs,
    folder: &Path,
    shard: Shard,
    done: &Done,
    performance: &Value,
) -> Result<ExitCode, Failure> {
    if args.json {
        let object = json!({
            "shard": shard.to_string(), "points": done.points, "before": done.before, "ran": done.ran,
            "failed": done.failed, "performance": performance
        });
        output::print(&format!("{object:#}\n"))?;
    } else {
        output::print(&format!(
            "shard {shard}: {} of {} points done, {} of them now\nall shards together: fabsim sweep merge {}\n",
            done.before + done.ran - done.failed,
            done.points,
            done.ran - done.failed,
            folder.display()
        ))?;
    }
    if done.failed > 0 {
        return Err(Failure(format!("{} points failed: the same command tries them again", done.failed)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the tables of a complete sweep.
pub fn conclude(
    plan: &Plan,
    folder: &Path,
    index: &Index,
    parquet: &ParquetArgs,
) -> Result<Analysis, Failure> {
    let analysis = sweep::conclude(folder, plan, index)?;
    parquet.write(folder, plan, index)?;
    Ok(analysis)
}

/// The results on stdout.
pub fn print(
    as_json: bool,
    plan: &Plan,
    analysis: &Analysis,
    folder: &Path,
    ran: Option<(&str, &Value)>,
) -> Result<(), Failure> {
    if as_json {
        let mut object = sweep_json(plan, analysis);
        if let Some((_, performance)) = ran {
            object["performance"] = performance.clone();
        }
        return output::print(&format!("{object:#}\n"));
    }
    let text = page(plan, analysis);
    // The wall-clock line stands under the heading.
    let (heading, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let speed = ran.map_or(String::new(), |(speed, _)| format!("{speed}\n"));
    output::print(&format!("{heading}\n{speed}\n{body}files     {}/\n", folder.display()))
}

/// How the sweep ends: failed points make it a failure, after everything is written.
pub fn failures(plan: &Plan, analysis: &Analysis, folder: &Path) -> Result<ExitCode, Failure> {
    match analysis.failed {
        0 => Ok(ExitCode::SUCCESS),
        failed => Err(Failure(format!(
            "{failed} of {} points failed: the column error of {} says why; the same command tries them again",
            plan.len(),
            folder.join(sweep::POINTS).display()
        ))),
    }
}
