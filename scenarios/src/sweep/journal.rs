//! Journals: what points came to, one line each, appended as they finish.
//!
//! A line is one JSON object `{"sum":"…","row":{…}}`, written by one `write`; `sum` is the hash of the row's bytes. The
//! first row says which plan and build the journal is of. A line that was cut short by a kill or a full disk fails its
//! sum: at the end of one's own journal it is cut off before anything is appended, elsewhere it counts as not there.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::SweepError;
use super::hash::{hash, hex};
use super::plan::Point;
use crate::run::WriteError;

/// Longest time lines stay in the system's cache before they are synchronised.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// Longest line that is read.
const LONGEST: u64 = 1 << 24;

/// Which plan and build a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Fingerprint of the plan.
    pub plan: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Points of the plan.
    pub points: u64,
    /// Version and commit that computed it.
    pub build: String,
}

/// What a point came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Id of the point.
    pub id: String,
    /// Its place in the plan.
    pub index: u64,
    /// Its figures by path; none where it failed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub figures: Map<String, Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Row {
    /// The row of a point.
    pub fn new(point: &Point, outcome: Result<Map<String, Value>, String>) -> Self {
        let (figures, error) = match outcome {
            Ok(figures) => (figures, None),
            Err(error) => (Map::new(), Some(error)),
        };
        Self { id: point.id(), index: point.index, figures, error }
    }
}

/// The line of a row or header.
fn line(row: &impl Serialize) -> String {
    let row = serde_json::to_string(row).expect("rows have only text keys");
    format!("{{\"sum\":\"{}\",\"row\":{row}}}\n", hex(hash(row.as_bytes())))
}

/// The row's text of a whole line.
fn row_text(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"sum\":\"")?;
    let (sum, rest) = rest.split_at_checked(16)?;
    let row = rest.strip_prefix(b"\",\"row\":")?.strip_suffix(b"}\n")?;
    (sum == hex(hash(row)).as_bytes()).then_some(row)
}

/// Appends rows to a journal. Nobody else can while it is open.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    synced: Instant,
    dirty: bool,
}

impl Journal {
    /// Opens or begins the journal at `path`, cutting off a last line that is torn.
    pub fn open(path: &Path, header: &Header) -> Result<Self, SweepError> {
        let refuse = |what: &str, error: &io::Error| SweepError::folder(path, format!("{what}: {error}"));
        if path.exists() && !path.is_file() {
            return Err(SweepError::folder(path, "this is no plain file: name another --out"));
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.map_err(|error| refuse("the journal cannot be opened", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = "another sweep is appending to it: wait for that one, or name another --out";
                return Err(SweepError::folder(path, why));
            }
            // Not every network file system knows locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut journal = Self { file, path: path.to_path_buf(), synced: Instant::now(), dirty: false };
        let end = journal.whole().map_err(|error| refuse("the journal cannot be read", &error))?;
        journal.file.set_len(end).map_err(|error| refuse("a torn line cannot be cut off", &error))?;
        if end == 0 {
            journal.write(&line(header))?;
            journal.sync()?;
        }
        Ok(journal)
    }

    /// Bytes up to the end of the last line that ends.
    fn whole(&mut self) -> io::Result<u64> {
        let mut end = self.file.metadata()?.len();
        let mut chunk = vec![0u8; 1 << 16];
        while end > 0 {
            let start = end.saturating_sub(chunk.len() as u64);
            let part = &mut chunk[..(end - start) as usize];
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(part)?;
            if let Some(at) = part.iter().rposition(|&byte| byte == b'\n') {
                return Ok(start + at as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// Appends a row.
    pub fn append(&mut self, row: &Row) -> Result<(), WriteError> {
        self.write(&line(row))?;
        if self.synced.elapsed() >= SYNC_INTERVAL {
            self.sync()?;
        }
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<(), WriteError> {
        self.dirty = true;
        self.file.write_all(line.as_bytes()).map_err(|source| WriteError { path: self.path.clone(), source })
    }

    /// Makes what was appended safe from a power failure.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        if self.dirty {
            self.file.sync_data().map_err(|source| WriteError { path: self.path.clone(), source })?;
            self.dirty = false;
        }
        self.synced = Instant::now();
        Ok(())
    }
}

/// Where the row of a point stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    offset: u64,
    length: u32,
    failed: bool,
}

/// What all journals of some folders hold, by point; the rows themselves stay on disk.
#[derive(Debug, Default)]
pub struct Index {
    files: Vec<(PathBuf, File)>,
    rows: HashMap<u64, Place>,
    /// Lines that fail their sum, in all.
    pub torn: u64,
}

impl Index {
    /// Reads the journal at `path`. Where a point has several rows, one that did not fail counts, else the last.
    pub fn read(&mut self, path: &Path, header: &Header) -> Result<(), SweepError> {
        let refuse =
            |error: io::Error| SweepError::folder(path, format!("the journal cannot be read: {error}"));
        let file = File::open(path).map_err(refuse)?;
        let number = self.files.len() as u32;
        let mut lines = BufReader::with_capacity(1 << 16, file.try_clone().map_err(refuse)?);
        let (mut line, mut offset, mut first) = (Vec::new(), 0u64, true);
        loop {
            line.clear();
            let length = (&mut lines).take(LONGEST).read_until(b'\n', &mut line).map_err(refuse)?;
            if length == 0 {
                break;
            }
            match row_text(&line) {
                None => self.torn += 1,
                Some(row) if first => self.check(path, row, header)?,
                Some(row) => {
                    self.note(row, Place { file: number, offset, length: length as u32, failed: false })
                }
            }
            first = first && row_text(&line).is_none();
            offset += length as u64;
        }
        self.files.push((path.to_path_buf(), file));
        Ok(())
    }

    fn check(&self, path: &Path, row: &[u8], header: &Header) -> Result<(), SweepError> {
        let found: Header = serde_json::from_slice(row)
            .map_err(|_| SweepError::folder(path, "this is no journal of a sweep: name another --out"))?;
        if found.plan != header.plan || found.points != header.points {
            return Err(SweepError::folder(
                path,
                format!(
                    "it holds another sweep: {} with {} points (plan {}), not {} with {} (plan {}); name another --out, \
                     or remove the folder",
                    found.scenario, found.points, found.plan, header.scenario, header.points, header.plan
                ),
            ));
        }
        if found.build != header.build {
            return Err(SweepError::folder(
                path,
                format!(
                    "its points were computed by fabsim {}, this is {}: results of two builds are not mixed; go on with \
                     that build, or name another --out",
                    found.build, header.build
                ),
            ));
        }
        Ok(())
    }

    fn note(&mut self, row: &[u8], place: Place) {
        #[derive(Deserialize)]
        struct Short<'a> {
            id: &'a str,
            error: Option<serde::de::IgnoredAny>,
        }
        let Ok(short) = serde_json::from_slice::<Short>(row) else { return };
        let Ok(id) = u64::from_str_radix(short.id, 16) else { return };
        let place = Place { failed: short.error.is_some(), ..place };
        let kept = self.rows.get(&id).is_some_and(|known| !known.failed && place.failed);
        if !kept {
            self.rows.insert(id, place);
        }
    }

    /// Whether the point has a row that did not fail.
    pub fn done(&self, point: &Point) -> bool {
        self.rows.get(&point.hash).is_some_and(|place| !place.failed)
    }

    /// Whether the point has a row.
    pub fn has(&self, point: &Point) -> bool {
        self.rows.contains_key(&point.hash)
    }

    /// The row of a point.
    pub fn row(&self, point: &Point) -> Result<Option<Row>, SweepError> {
        let Some(place) = self.rows.get(&point.hash) else { return Ok(None) };
        let (path, file) = &self.files[place.file as usize];
        let read = || {
            let mut file = file;
            let mut line = vec![0u8; place.length as usize];
            file.seek(SeekFrom::Start(place.offset))?;
            file.read_exact(&mut line)?;
            Ok(line)
        };
        let line: Vec<u8> = read().map_err(|error: io::Error| {
            SweepError::folder(path, format!("the journal cannot be read: {error}"))
        })?;
        let row = row_text(&line).and_then(|text| serde_json::from_slice(text).ok());
        row.map(Some)
            .ok_or_else(|| SweepError::folder(path, "the journal was changed while it was read: try again"))
    }
}

/// Journals of a folder, in the order of their names.
pub fn journals(folder: &Path) -> Result<Vec<PathBuf>, SweepError> {
    let refuse = |error: io::Error| SweepError::folder(folder, format!("the folder cannot be read: {error}"));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(refuse)? {
        let path = entry.map_err(refuse)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".jsonl") && (name == "points.jsonl" || name.starts_with("shard-")) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn header(plan: &str) -> Header {
        Header { plan: plan.into(), scenario: "s".into(), points: 3, build: "0.1.0 (abc)".into() }
    }

    fn point(index: u64) -> Point {
        Point { index, setting: index, repeat: 0, seed: 1, hash: index * 7 + 1, values: Vec::new() }
    }

    fn row(index: u64, value: u64) -> Row {
        let mut figures = Map::new();
        figures.insert("x".to_string(), json!(value));
        Row::new(&point(index), Ok(figures))
    }

    fn index(path: &Path) -> Index {
        let mut index = Index::default();
        index.read(path, &header("p")).unwrap();
        index
    }

    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let mut journal = Journal::open(&path, &header("p")).unwrap();
        journal.append(&row(0, 10)).unwrap();
        let whole = fs::metadata(&path).unwrap().len() as usize;
        journal.append(&row(1, 11)).unwrap();
        drop(journal);
        let bytes = fs::read(&path).unwrap();
        for cut in whole..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let read = index(&path);
            assert_eq!((read.done(&point(0)), read.done(&point(1))), (true, false), "cut at {cut}");
            Journal::open(&path, &header("p")).unwrap().append(&row(2, 12)).unwrap();
            let read = index(&path);
            assert_eq!(read.torn, 0);
            assert_eq!(read.row(&point(0)).unwrap(), Some(row(0, 10)));
            assert_eq!(read.row(&point(2)).unwrap(), Some(row(2, 12)));
            assert_eq!(read.row(&point(1)).unwrap(), None);
        }
    }

    #[test]
    fn any_cut_of_the_first_line_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        drop(Journal::open(&path, &header("p")).unwrap());
        let bytes = fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            drop(Journal::open(&path, &header("p")).unwrap());
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_changed_byte_makes_a_line_count_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let mut journal = Journal::open(&path, &header("p")).unwrap();
        journal.append(&row(0, 10)).unwrap();
        journal.append(&row(1, 11)).unwrap();
        let text = fs::read_to_string(&path).unwrap().replace("\"x\":10", "\"x\":90");
        fs::write(&path, text).unwrap();
        let read = index(&path);
        assert_eq!((read.torn, read.done(&point(0)), read.done(&point(1))), (1, false, true));
    }

    #[test]
    fn a_good_row_outlives_a_failed_one_and_another_plan_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let mut journal = Journal::open(&path, &header("p")).unwrap();
        let failed = Row::new(&point(0), Err("no".to_string()));
        for row in [&failed, &row(0, 1), &failed] {
            journal.append(row).unwrap();
        }
        assert_eq!(index(&path).row(&point(0)).unwrap(), Some(row(0, 1)));
        let error = Journal::open(&path, &header("p")).unwrap_err().to_string();
        assert!(error.contains("another sweep is appending to it"), "{error}");
        let error = Index::default().read(&path, &header("q")).unwrap_err().to_string();
        assert!(error.contains("it holds another sweep: s with 3 points (plan p)"), "{error}");
        let other = Header { build: "0.2.0 (def)".into(), ..header("p") };
        let error = Index::default().read(&path, &other).unwrap_err().to_string();
        assert!(error.contains("computed by fabsim 0.1.0 (abc), this is 0.2.0 (def)"), "{error}");
    }
}
