//! `fabsim import`: other simulators' input files to a scenario.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use scenarios::import::{self, Dialect, Options, StartUnit};
use scenarios::language;

use crate::output::{self, Failure};

/// Arguments of `fabsim import`.
#[derive(Args)]
pub struct ImportArgs {
    /// The family of files
    kind: Kind,
    /// The files, in any order: topology, flows, configuration
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Scenario file to write. Default: stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Accept files that contradict themselves, as the original simulators do, with a note
    #[arg(long)]
    lenient: bool,
    /// Name of the scenario. Default: that of the topology file
    #[arg(long)]
    name: Option<String>,
    /// The simulator the files are of, where they do not tell (hpcc, ns3-rdma, powertcp, reverie, simai, conweave,
    /// astra-network-ns3, m3)
    #[arg(long)]
    dialect: Option<Dialect>,
    /// Unit of htsim's start times: ps or us
    #[arg(long)]
    start_unit: Option<StartUnit>,
}

/// Families of files.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// ns-3 RDMA simulators: HPCC, ns3-rdma, SimAI and their kin
    Hpcc,
    /// htsim connection matrices (.cm) and topologies (.topo)
    Htsim,
}

pub fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let mut texts = Vec::new();
    for path in &args.files {
        texts.push((path.display().to_string(), read(path)?));
    }
    let options = Options {
        lenient: args.lenient,
        name: args.name.clone(),
        dialect: args.dialect,
        start_unit: args.start_unit,
    };
    let imported = match args.kind {
        Kind::Hpcc => import::import_hpcc(&texts, &options),
        Kind::Htsim => import::import_htsim(&texts, &options),
    }
    .map_err(|error| Failure(error.to_string()))?;
    language::validate_ranges(&imported.scenario)?;
    for note in &imported.notes {
        output::note(&note.to_string());
    }
    let text = language::to_json(&imported.scenario);
    match &args.out {
        None => output::print(&text)?,
        Some(path) => write(path, &text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Failure(format!("{name} cannot be read: {error}")))?;
    Ok(language::decode(&bytes, &name)?)
}

/// Writes the scenario, and makes the folder it goes to where there is none.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let refuse = |error: std::io::Error| Failure(format!("{} cannot be written: {error}", path.display()));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| {
            Failure(format!("the folder {} of --out cannot be made: {error}", folder.display()))
        })?;
    }
    fs::write(path, text).map_err(refuse)
}
