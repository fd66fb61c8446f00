//! The files of a run. Samples and PFC events are written while it goes on, so that what a kill leaves is whole up to
//! the last flush; everything else is written at the end, beside its place and then renamed into it.

mod collectives;
mod flows;
mod pfc;
mod ports;
mod samples;
mod table;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use models::fabric::Fabric;
use models::record::{FrameRecord, FrameTrace, NoRecord, PfcRecord, PfcTrace, Recorder};
use models::topology::Graph;
use sim_core::Time;
use sim_core::queue::TimeWheel;

use self::pfc::PfcFile;
use self::samples::{QueueFile, RateFile};
use super::facts::Facts;
use super::prepare::{Prepared, RunError};
use super::summary::Summary;
use crate::language;

/// Every file a run may write, with what it holds.
pub const FILES: [(&str, &str); 9] = [
    ("scenario.json", "the resolved scenario"),
    ("summary.json", "the summary"),
    ("performance.json", "wall-clock figures, version and commit"),
    ("flows.csv", "each flow"),
    ("collectives.csv", "when each rank took part in each execution of each collective"),
    ("ports.csv", "the counters of each port"),
    ("pfc.csv", "every pause and resume"),
    ("queues.csv", "egress queues over time"),
    ("rates.csv", "rates of flows over time"),
];

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be written: {}", self.path.display(), reason(&self.source))
    }
}

impl std::error::Error for WriteError {}

/// What an I/O error says, without the number of the system's error.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The folder.
    pub folder: PathBuf,
    /// What was left out because of the limits of `output`.
    pub limits: Vec<String>,
    /// Where the first PAUSE was sent and when, if there was one.
    pub first_pause: Option<(Time, String)>,
}

/// Takes the PFC records of a run out of its recorder.
pub(super) trait Records: Recorder {
    /// The records since the last call, in order of time.
    fn take(&mut self) -> Vec<PfcRecord>;

    /// The frames since the last call, in order of time.
    fn take_frames(&mut self) -> Vec<FrameRecord> {
        Vec::new()
    }

    /// Frames that exceeded their limit.
    fn skipped(&self) -> u64 {
        0
    }
}

impl Records for FrameTrace {
    fn take(&mut self) -> Vec<PfcRecord> {
        std::mem::take(&mut self.pfc)
    }

    fn take_frames(&mut self) -> Vec<FrameRecord> {
        std::mem::take(&mut self.frames)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl Records for NoRecord {
    fn take(&mut self) -> Vec<PfcRecord> {
        Vec::new()
    }
}

impl Records for PfcTrace {
    fn take(&mut self) -> Vec<PfcRecord> {
        std::mem::take(&mut self.records)
    }
}

/// The open files of a run.
pub(super) struct Files {
    folder: PathBuf,
    pfc: PfcFile,
    queues: Option<QueueFile>,
    rates: Option<RateFile>,
    limits: Vec<String>,
}

impl Files {
    /// Makes the folder and opens the files that are written while the run goes on. Files of an earlier run are
    /// removed first, so that what is there afterwards is of one run.
    pub fn create(folder: &Path, prepared: &Prepared) -> Result<Self, RunError> {
        let refuse = |why: String| RunError::Output { path: folder.to_path_buf(), why };
        if folder.exists() && !folder.is_dir() {
            return Err(refuse(
                "it is a file, but a folder is due: name another, or remove the file".to_string(),
            ));
        }
        fs::create_dir_all(folder)
            .map_err(|error| refuse(format!("the folder cannot be made: {}", reason(&error))))?;
        for (name, _) in FILES {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok_and(|data| data.is_file()) {
                fs::remove_file(&path).map_err(|error| {
                    refuse(format!("{name} of an earlier run cannot be removed: {}", reason(&error)))
                })?;
            }
        }
        let create = || {
            write_file(folder, "scenario.json", &language::to_json(&prepared.scenario))?;
            let output = &prepared.scenario.output;
            let sampled = output.sample_interval.0 > 0;
            let pfc = PfcFile::create(folder, output.pfc_rows)?;
            let queues = sampled.then(|| QueueFile::create(folder, output.queue_rows)).transpose()?;
            let flows = prepared.flows.len();
            let rates = sampled.then(|| RateFile::create(folder, output.rate_flows, flows)).transpose()?;
            Ok(Self { folder: folder.to_path_buf(), pfc, queues, rates, limits: Vec::new() })
        };
        create().map_err(|error: WriteError| RunError::Output {
            why: format!("the file cannot be written: {}", reason(&error.source)),
            path: error.path,
        })
    }

    /// Writes a sample of queues and rates.
    pub fn sample<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        if let Some(queues) = &mut self.queues {
            queues.sample(fabric)?;
        }
        if let Some(rates) = &mut self.rates {
            rates.sample(fabric)?;
        }
        Ok(())
    }

    /// Writes PFC records.
    pub fn pfc(&mut self, graph: &Graph, records: &[PfcRecord]) -> Result<(), WriteError> {
        self.pfc.write(graph, records)
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.pfc.flush()?;
        if let Some(queues) = &mut self.queues {
            queues.flush()?;
        }
        if let Some(rates) = &mut self.rates {
            rates.flush()?;
        }
        Ok(())
    }

    /// Writes what is known at the end only.
    pub fn finish(&mut self, facts: &Facts, summary: &Summary) -> Result<(), WriteError> {
        self.flush()?;
        flows::write(&self.folder, facts)?;
        collectives::write(&self.folder, facts)?;
        ports::write(&self.folder, facts)?;
        write_json(&self.folder, "summary.json", summary)
    }

    /// What was written so far.
    pub fn written(&self, graph: &Graph) -> Written {
        let mut limits = self.limits.clone();
        limits.extend(self.pfc.left_out());
        limits.extend(self.queues.as_ref().and_then(QueueFile::left_out));
        limits.extend(self.rates.as_ref().and_then(RateFile::left_out));
        let first_pause = self.pfc.first().map(|record| {
            let (from, to) = (record.port, graph.ports[record.port as usize].peer);
            (record.at, format!("{} → {}", graph.port_name(from), graph.port_name(to)))
        });
        Written { folder: self.folder.clone(), limits, first_pause }
    }
}

/// Writes a file whole: beside its place first, so that no one ever sees a part of it.
pub fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), WriteError> {
    let path = folder.join(name);
    let beside = folder.join(format!(".{name}.part"));
    let write = || {
        let mut file = fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_data().or_else(|error| {
            // What is no plain file cannot be synchronised, and need not be.
            if error.kind() == io::ErrorKind::InvalidInput { Ok(()) } else { Err(error) }
        })?;
        fs::rename(&beside, &path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&beside);
        WriteError { path, source }
    })
}

/// Writes a value as JSON, as [`write_file`] does.
pub fn write_json(folder: &Path, name: &str, value: &impl serde::Serialize) -> Result<(), WriteError> {
    let mut text = serde_json::to_string_pretty(value).expect("results have only text keys");
    text.push('\n');
    write_file(folder, name, &text)
}
