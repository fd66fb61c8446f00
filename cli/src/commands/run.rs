//! `fabsim run`: simulates a scenario.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use scenarios::run::{self, Outcome, Performance, Silent};
use serde_json::json;

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};

/// Arguments of `fabsim run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Seed of every random stream, instead of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Threads; results are the same for any number
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// Folder the results go to. Default: runs/NAME-SEED, or no files with --json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let mut loaded = args.scenario.load()?;
    if let Some(seed) = args.seed {
        loaded.scenario.seed = seed;
    }
    let mut prepared = run::prepare(&loaded.scenario)?;
    prepared.params = loaded.params;
    let setup = begun.elapsed();
    let start = Instant::now();
    let outcome = run::execute(prepared, args.out.as_deref(), &mut Silent)?;
    let wall = start.elapsed().as_secs_f64();
    let performance = performance(&outcome, setup.as_secs_f64(), wall);
    let mut object = serde_json::to_value(&outcome.summary).expect("a summary has only text keys");
    object["performance"] = json!(performance);
    let mut text = serde_json::to_string_pretty(&object).expect("a summary has only text keys");
    text.push('\n');
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn performance(outcome: &Outcome, setup_s: f64, wall_s: f64) -> Performance {
    Performance {
        wall_s,
        setup_s,
        packet_hops_per_s: outcome.summary.packet_hops as f64 / wall_s.max(1e-9),
        peak_rss_bytes: peak_rss(),
        threads: 1,
        version: env!("CARGO_PKG_VERSION").to_string(),
        commit: env!("FABSIM_COMMIT").to_string(),
    }
}

/// Most memory the process ever held, as Linux tells it.
fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
