//! `fabsim run`: simulates a scenario.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use scenarios::run::{
    self, CaptureOptions, End, Outcome, Outputs, Performance, Summary, TraceOptions, write_json,
};
use serde_json::json;

use crate::input::ScenarioArgs;
use crate::output::{self, Failure};
use crate::progress::{self, Watcher, wall};

/// Arguments of `fabsim run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Seed of every random stream, instead of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Threads; results are the same for any number
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
    /// Simulate every packet of collectives, also where their loops have become steady (as run.exact does)
    #[arg(long)]
    exact: bool,
    /// Folder the results go to. Default: runs/NAME-SEED, or no files with --json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a trace for Perfetto: flows, queues, pauses and collective steps over time
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Most events of the trace
    #[arg(long, value_name = "EVENTS", default_value_t = 1_000_000, requires = "trace")]
    trace_limit: u64,
    /// Write a packet capture for Wireshark of the port or host that --pcap-at names
    #[arg(long, value_name = "FILE.pcapng", requires = "pcap_at")]
    pcap: Option<PathBuf>,
    /// Where packets are captured, both ways: a host, a switch (all its ports) or a port such as leaf0:3
    #[arg(long, value_name = "PORT", requires = "pcap")]
    pcap_at: Option<String>,
    /// Most packets of the capture
    #[arg(long, value_name = "PACKETS", default_value_t = 1_000_000, requires = "pcap")]
    pcap_limit: u64,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,
    /// Exit with 1 if the run shows one of these
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
}

/// What `--fail-on` can name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A deadlock
    Deadlock,
    /// Packets lost, for any reason
    Drops,
    /// A pause storm, or one declared by the watchdog
    Storm,
    /// Flows that are not done
    Incomplete,
    /// A verdict that is not healthy
    Unhealthy,
}

impl FailOn {
    fn holds(self, summary: &Summary) -> bool {
        match self {
            Self::Deadlock => summary.deadlock.detected,
            Self::Drops => summary.drops.total > 0,
            Self::Storm => {
                let named = |code: &str| code.contains("storm");
                summary.pfc.watchdog_storms > 0 || summary.verdict.findings.iter().any(|f| named(&f.code))
            }
            Self::Incomplete => summary.flows.completed < summary.flows.count,
            Self::Unhealthy => !summary.verdict.healthy,
        }
    }
}

pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let mut loaded = args.scenario.load()?;
    if let Some(seed) = args.seed {
        loaded.scenario.seed = seed;
    }
    loaded.scenario.run.exact |= args.exact;
    if args.threads > 1 && !args.quiet {
        output::note("this version simulates on one thread; results are the same for any --threads");
    }
    if let (Some(sweep), false) = (&loaded.scenario.sweep, args.quiet) {
        output::note(&format!(
            "the scenario has a sweep block of {}: this run is of the scenario as it stands; `fabsim sweep {}` runs all \
             its points",
            counted(sweep.parameters.len()),
            args.scenario.file
        ));
    }
    let mut prepared = run::prepare(&loaded.scenario)?;
    prepared.params = loaded.params;
    let out = match (&args.out, args.json) {
        (Some(folder), _) => Some(folder.clone()),
        (None, true) => None,
        (None, false) => {
            Some(Path::new("runs").join(format!("{}-{}", prepared.scenario.name, prepared.scenario.seed)))
        }
    };
    progress::catch_interrupts()?;
    let setup = begun.elapsed();
    let mut watcher = Watcher::new(args.quiet);
    let outcome = run::execute_traced(prepared, &outputs(args, out.as_deref()), &mut watcher);
    let wall_s = watcher.elapsed().as_secs_f64();
    watcher.clear();
    let outcome = outcome?;
    let performance = performance(&outcome, setup.as_secs_f64(), wall_s);
    print(args, &outcome, &performance)?;
    finish(args, &outcome, &performance)
}

/// What the run is to write.
fn outputs<'a>(args: &RunArgs, folder: Option<&'a Path>) -> Outputs<'a> {
    let trace = args.trace.clone().map(|file| TraceOptions { file, most: args.trace_limit });
    let capture = args.pcap.clone().zip(args.pcap_at.clone());
    let capture = capture.map(|(file, at)| CaptureOptions { file, at, most: args.pcap_limit });
    Outputs { folder, trace, capture }
}

fn counted(parameters: usize) -> String {
    if parameters == 1 { "1 parameter".to_string() } else { format!("{parameters} parameters") }
}

/// The summary on stdout.
fn print(args: &RunArgs, outcome: &Outcome, performance: &Performance) -> Result<(), Failure> {
    if args.json {
        let mut object = serde_json::to_value(&outcome.summary).expect("a summary has only text keys");
        object["performance"] = json!(performance);
        let mut text = serde_json::to_string_pretty(&object).expect("a summary has only text keys");
        text.push('\n');
        return output::print(&text);
    }
    let page = &outcome.page;
    let hops = outcome.summary.packet_hops as f64;
    output::print(&format!(
        "{}\nsimulated {} in {} · {:.2} M packet-hops, {:.1} M/s\n\n{}",
        page.title,
        page.simulated,
        wall(performance.wall_s),
        hops / 1e6,
        performance.packet_hops_per_s / 1e6,
        page.body
    ))
}

/// Writes what only the end knows, and says how the run ended.
fn finish(args: &RunArgs, outcome: &Outcome, performance: &Performance) -> Result<ExitCode, Failure> {
    if let Some(error) = &outcome.write_error {
        let kept = outcome.written.as_ref();
        let kept = kept.map_or(String::new(), |written| format!(" in {}/", written.folder.display()));
        return Err(Failure(format!("{error}; what was written until then is kept{kept}")));
    }
    outcome.left_out.iter().for_each(|text| output::note(text));
    if let Some(written) = &outcome.written {
        write_json(&written.folder, "performance.json", performance)
            .map_err(|error| Failure(error.to_string()))?;
        if args.json && !args.quiet {
            written.limits.iter().for_each(|limit| output::note(limit));
        }
    }
    match outcome.end {
        End::Interrupted => {
            let kept = match &outcome.written {
                Some(written) => format!("what there is is kept in {}/", written.folder.display()),
                None => "the summary holds up to there".to_string(),
            };
            Err(Failure(format!("stopped at {} of simulated time; {kept}", outcome.page.simulated)))
        }
        End::Completed | End::Until | End::Deadlock | End::Stalled | End::WriteFailed => {
            let failed = args.fail_on.iter().any(|what| what.holds(&outcome.summary));
            Ok(ExitCode::from(u8::from(failed)))
        }
    }
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
pub(super) fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
