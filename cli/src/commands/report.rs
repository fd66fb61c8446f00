//! `fabsim report`: the folder of a run or a sweep as one HTML page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use scenarios::report::{self, Report};
use scenarios::run::write_file;

use crate::output::{self, Failure};

/// Name of the page in its folder.
const PAGE: &str = "report.html";
/// Name of the folder of drawings.
const DRAWINGS: &str = "report-svg";

/// Arguments of `fabsim report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Folder that `fabsim run` or `fabsim sweep` wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// File of the report, or folder of the drawings with --svg. Default: DIR/report.html, DIR/report-svg
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the drawings alone, an SVG file each
    #[arg(long)]
    svg: bool,
}

pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let report = report::of_folder(&args.folder).map_err(|error| Failure(error.to_string()))?;
    report.notes.iter().for_each(|text| output::note(text));
    if args.svg {
        drawings(args, &report)?
    } else {
        page(args, &report)?
    }
    Ok(ExitCode::SUCCESS)
}

fn page(args: &ReportArgs, report: &Report) -> Result<(), Failure> {
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(PAGE));
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), false) = (name, path.is_dir()) else {
        return Err(Failure(format!(
            "{} is a folder, but a file is due: name one, {PAGE} in it for example",
            path.display()
        )));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    made(folder)?;
    let html = report.html();
    write_file(folder, name, &html).map_err(|error| Failure(error.to_string()))?;
    let count = report.figures().count();
    output::print(&format!("{}  {:.0} KB, {count} charts\n", path.display(), html.len() as f64 / 1e3))
}

fn drawings(args: &ReportArgs, report: &Report) -> Result<(), Failure> {
    let folder = args.out.clone().unwrap_or_else(|| args.folder.join(DRAWINGS));
    made(&folder)?;
    let mut said = String::new();
    for figure in report.figures() {
        let name = format!("{}.svg", figure.id);
        write_file(&folder, &name, &figure.svg.document()).map_err(|error| Failure(error.to_string()))?;
        said.push_str(&format!("{}  {}\n", folder.join(name).display(), figure.title));
    }
    if said.is_empty() {
        output::note("there is nothing to draw in this folder");
    }
    output::print(&said)
}

fn made(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure(format!("the folder {} cannot be made: {error}; name another --out", folder.display()))
    })
}
