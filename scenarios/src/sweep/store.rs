//! The folder of a sweep: `plan.json`, journals, and the tables made of them.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::SweepError;
use super::journal::{Header, Index, journals};
use super::plan::{Plan, Source};
use super::shard::Shard;
use super::spec::SweepSpec;
use super::values::plain;
use crate::language::Override;
use crate::run::{WriteError, write_json};

/// Name of the file that holds the plan.
pub const PLAN_FILE: &str = "plan.json";
/// Name of the table of points that `fabsim sweep plan` writes.
pub const MANIFEST: &str = "plan.csv";

/// A plan as a file: the scenario and what is swept; points are made from it.
#[derive(Debug, Serialize, Deserialize)]
struct PlanFile {
    plan: String,
    scenario: String,
    points: u64,
    settings: u64,
    repeat: u32,
    sweep: SweepSpec,
    sets: Vec<String>,
    file: String,
    text: String,
}

impl PlanFile {
    fn of(plan: &Plan) -> Self {
        Self {
            plan: plan.fingerprint.clone(),
            scenario: plan.name.clone(),
            points: plan.len(),
            settings: plan.settings(),
            repeat: plan.repeat(),
            sweep: plan.spec.clone(),
            sets: plan.source.sets.iter().map(Override::to_string).collect(),
            file: plan.source.file.clone(),
            text: plan.source.text.clone(),
        }
    }
}

/// Makes the folder of a sweep and puts its plan there. A folder with another plan is refused.
pub fn settle(folder: &Path, plan: &Plan) -> Result<(), SweepError> {
    if folder.exists() && !folder.is_dir() {
        let why = "it is a file, but a folder is due: name another --out, or remove the file";
        return Err(SweepError::folder(folder, why));
    }
    fs::create_dir_all(folder).map_err(|error| {
        SweepError::folder(folder, format!("the folder cannot be made: {error}; name another --out"))
    })?;
    if folder.join(PLAN_FILE).exists() {
        let found = read_file(folder)?;
        if found.plan != plan.fingerprint {
            return Err(SweepError::folder(
                folder,
                format!(
                    "it holds another sweep: {} with {} points (plan {}), not {} with {} (plan {}); name another --out, \
                     or remove the folder",
                    found.scenario,
                    found.points,
                    found.plan,
                    plan.name,
                    plan.len(),
                    plan.fingerprint
                ),
            ));
        }
    }
    Ok(write_json(folder, PLAN_FILE, &PlanFile::of(plan))?)
}

/// The plan of a folder.
pub fn plan_of(folder: &Path) -> Result<Plan, SweepError> {
    let file = read_file(folder)?;
    let sets = file
        .sets
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<Override>, _>>()
        .map_err(SweepError::Language)?;
    let plan = Plan::new(Source { text: file.text, file: file.file, sets }, file.sweep)?;
    if plan.fingerprint != file.plan || plan.len() != file.points {
        let why = "the plan was changed, or made by another version of fabsim: plan it again";
        return Err(SweepError::folder(folder.join(PLAN_FILE), why));
    }
    Ok(plan)
}

fn read_file(folder: &Path) -> Result<PlanFile, SweepError> {
    let path = folder.join(PLAN_FILE);
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            SweepError::folder(folder, "there is no plan.json in it, so that it is no folder of a sweep")
        }
        _ => SweepError::folder(&path, format!("it cannot be read: {error}")),
    })?;
    serde_json::from_str(&text)
        .map_err(|error| SweepError::folder(&path, format!("this is no plan of a sweep: {error}")))
}

/// The header of the plan's journals.
pub fn header(plan: &Plan, build: &str) -> Header {
    Header {
        plan: plan.fingerprint.clone(),
        scenario: plan.name.clone(),
        points: plan.len(),
        build: build.to_string(),
    }
}

/// Everything the journals of some folders hold.
pub fn index_of(folders: &[PathBuf], plan: &Plan, build: &str) -> Result<Index, SweepError> {
    let mut index = Index::default();
    for folder in folders {
        for path in journals(folder)? {
            index.read(&path, &header(plan, build))?;
        }
    }
    Ok(index)
}

/// Points without a row, and the shards that would have them where the journals are those of shards.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Points without a row.
    pub points: u64,
    /// The index and id of the first of them.
    pub first: Option<(u64, String)>,
    /// Shards with points missing, with their number; empty where there are no shards, or of different counts.
    pub shards: Vec<(Shard, u64)>,
}

/// What is missing in `index`, which was read from `folders`.
pub fn missing(plan: &Plan, index: &Index, folders: &[PathBuf]) -> Result<Missing, SweepError> {
    let mut counts = Vec::new();
    for folder in folders {
        for path in journals(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            counts.extend(Shard::of_journal(&name).map(Shard::count));
        }
    }
    counts.sort_unstable();
    counts.dedup();
    let mut shards: Vec<(Shard, u64)> = match counts.as_slice() {
        &[count] => (1..=count).filter_map(|i| Some((Shard::new(i, count)?, 0))).collect(),
        _ => Vec::new(),
    };
    let mut missing = Missing::default();
    for number in 0..plan.len() {
        let point = plan.point(number);
        if index.has(&point) {
            continue;
        }
        missing.points += 1;
        missing.first.get_or_insert((number, point.id()));
        if let Some((_, lost)) = shards.iter_mut().find(|(shard, _)| shard.has(number)) {
            *lost += 1;
        }
    }
    shards.retain(|(_, lost)| *lost > 0);
    missing.shards = shards;
    Ok(missing)
}

/// Writes the manifest: every point of the plan with its id, seed and values.
pub fn write_manifest(folder: &Path, plan: &Plan) -> Result<(), WriteError> {
    write_table(folder, MANIFEST, |table| {
        let mut head = vec!["index".to_string(), "point".to_string()];
        head.extend(plan.paths().map(str::to_string));
        head.extend(["repeat".to_string(), "seed".to_string()]);
        table.write_record(&head)?;
        for index in 0..plan.len() {
            let point = plan.point(index);
            let mut row = vec![index.to_string(), point.id()];
            row.extend(point.values.iter().map(plain));
            row.extend([point.repeat.to_string(), point.seed.to_string()]);
            table.write_record(&row)?;
        }
        Ok(())
    })
}

/// Writes a CSV file row by row, whole: see [`write_whole`].
pub(super) fn write_table(
    folder: &Path,
    name: &str,
    fill: impl FnOnce(&mut csv::Writer<BufWriter<fs::File>>) -> csv::Result<()>,
) -> Result<(), WriteError> {
    write_whole(folder, name, |file| -> io::Result<_> {
        let mut table = csv::Writer::from_writer(file);
        fill(&mut table).map_err(into_io)?;
        table.into_inner().map_err(|error| io::Error::other(error.to_string()))
    })
}

/// Writes a file whole: beside its place first, then renamed into it.
pub(super) fn write_whole(
    folder: &Path,
    name: &str,
    fill: impl FnOnce(BufWriter<fs::File>) -> io::Result<BufWriter<fs::File>>,
) -> Result<(), WriteError> {
    let path = folder.join(name);
    let beside = folder.join(format!(".{name}.part"));
    let write = || -> io::Result<()> {
        let mut buffer = fill(BufWriter::new(fs::File::create(&beside)?))?;
        buffer.flush()?;
        buffer.get_ref().sync_data()?;
        fs::rename(&beside, &path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&beside);
        WriteError { path, source }
    })
}

fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
