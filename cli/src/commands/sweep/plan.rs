//! `fabsim sweep plan`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use scenarios::sweep::{self, MANIFEST};

use super::input::PlannedArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim sweep plan`.
#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    planned: PlannedArgs,
    /// Folder of the sweep
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let (plan, _) = args.planned.plan()?;
    sweep::settle(&args.out, &plan)?;
    sweep::write_manifest(&args.out, &plan).map_err(|error| Failure(error.to_string()))?;
    let folder = args.out.display();
    output::print(&format!(
        "{}: {} points ({} settings, {} {} each), listed in {folder}/{MANIFEST}\nrun it: fabsim sweep run {folder} \
         [--shard i/N]\n",
        plan.name,
        plan.len(),
        plan.settings(),
        plan.repeat(),
        if plan.repeat() == 1 { "seed" } else { "seeds" }
    ))?;
    Ok(ExitCode::SUCCESS)
}
