//! `fabsim sweep slurm`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use scenarios::run::Silent;
use scenarios::sweep::{self, Plan};

use super::input::{PlannedArgs, default_folder};
use crate::output::{self, Failure};
use crate::progress::wall;

/// Points that are timed, spread over the plan.
const TIMED: u64 = 3;
/// Part of a job's minutes that is filled by the estimate: points differ, and so do machines.
const FILLED: f64 = 0.8;
/// Jobs of an array that Slurm takes by default (MaxArraySize 1001).
const MOST_JOBS: u64 = 1000;

/// Arguments of `fabsim sweep slurm`.
#[derive(Args)]
pub struct SlurmArgs {
    #[command(flatten)]
    planned: PlannedArgs,
    /// About how long each job of the array is to last
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// Processors of each job, one point on each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    cpus: u32,
    /// Folder of the sweep, which all jobs can reach. Default: runs/NAME-sweep, or the folder that is named
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &SlurmArgs) -> Result<ExitCode, Failure> {
    let (plan, planned_in) = args.planned.plan()?;
    let folder = args.out.clone().or(planned_in).unwrap_or_else(|| default_folder(&plan));
    let seconds = timed(&plan)?;
    sweep::settle(&folder, &plan)?;
    sweep::write_manifest(&folder, &plan).map_err(|error| Failure(error.to_string()))?;
    let (text, note) = script(&plan, args, &folder.display().to_string(), seconds);
    if let Some(note) = note {
        output::note(&note);
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Seconds a point takes on this machine: the mean of a few.
fn timed(plan: &Plan) -> Result<f64, Failure> {
    let count = plan.len().min(TIMED);
    let mut seconds = 0.0;
    for sample in 0..count {
        let point = plan.point(if count > 1 { sample * (plan.len() - 1) / (count - 1) } else { 0 });
        let begun = Instant::now();
        if let Some(Err(error)) = sweep::simulate(plan, &point, None, &mut Silent) {
            return Err(Failure(format!(
                "point {} fails, so that nothing can be timed: {error}",
                point.index
            )));
        }
        seconds += begun.elapsed().as_secs_f64();
    }
    Ok(seconds / count as f64)
}

fn script(plan: &Plan, args: &SlurmArgs, folder: &str, seconds: f64) -> (String, Option<String>) {
    let budget = f64::from(args.minutes) * 60.0 * FILLED * f64::from(args.cpus);
    let per_job = ((budget / seconds.max(1e-9)) as u64).max(1);
    let wanted = plan.len().div_ceil(per_job);
    let jobs = wanted.min(MOST_JOBS);
    let per_job = plan.len().div_ceil(jobs);
    let note = (wanted > jobs).then(|| {
        format!(
            "{wanted} jobs would be more than an array of Slurm holds by default: these {MOST_JOBS} last longer than {} \
             min; ask for more --minutes or --cpus",
            args.minutes
        )
    });
    let lasts = seconds * per_job as f64 / f64::from(args.cpus);
    let limit = (lasts / 60.0 * 2.0).ceil().max(f64::from(args.minutes) * 2.0) as u64;
    let quoted = format!("'{}'", folder.replace('\'', "'\\''"));
    let text = format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=fabsim-{name}\n\
         #SBATCH --array=1-{jobs}\n\
         #SBATCH --cpus-per-task={cpus}\n\
         #SBATCH --time={limit}\n\
         # {points} points of about {each} each, as timed on the machine that wrote this: {per_job} a job, about {lasts}.\n\
         # Submit it from the folder it was written in. A job that was lost is submitted again alone: sbatch --array=7 FILE\n\
         # Afterwards: fabsim sweep merge {quoted}\n\
         set -euo pipefail\n\
         exec \"${{FABSIM:-fabsim}}\" sweep run {quoted} --shard \"$SLURM_ARRAY_TASK_ID/{jobs}\" --jobs {cpus} --quiet\n",
        name = plan.name,
        cpus = args.cpus,
        points = plan.len(),
        each = wall(seconds),
        lasts = wall(lasts),
    );
    (text, note)
}
