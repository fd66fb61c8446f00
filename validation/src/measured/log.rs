//! What a log says: one `MeasuredLog` for each table in it.

use std::collections::BTreeMap;
use std::fmt;

use super::collective::Collective;

/// Out of place: input and output are two buffers; in place: one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Two buffers: the left half of a table.
    OutOfPlace,
    /// One buffer: the right half of a table.
    InPlace,
}

impl Mode {
    /// `out-of-place` or `in-place`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfPlace => "out-of-place",
            Self::InPlace => "in-place",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::OutOfPlace => Self::InPlace,
            Self::InPlace => Self::OutOfPlace,
        }
    }
}

/// One half of a row: what one way of calling the collective took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Time of one call, in us: a mean over the iterations, which are launched back to back.
    pub time_us: f64,
    /// Size over time, in GB/s (10⁹ bytes). `None` where the log has N/A.
    pub algbw_gbytes_per_s: Option<f64>,
    /// Bus bandwidth, in GB/s. `None` where the log has N/A.
    pub busbw_gbytes_per_s: Option<f64>,
    /// Elements with a wrong result. `None` where results were not checked.
    pub wrong: Option<u64>,
    /// Largest error of a result, in logs before nccl-tests 2.12.
    pub max_error: Option<f64>,
    /// What the last printed digit of the time is worth, in us.
    pub time_digit_us: f64,
    /// What the last printed digit of the bandwidths is worth, in GB/s.
    pub bandwidth_digit_gbytes_per_s: f64,
}

/// One size of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRow {
    /// Its line in the file, from 1; in a JSON report its place in `results`, from 1.
    pub line: usize,
    /// Size, in bytes, as the collective defines it (`docs/compare.md`).
    pub bytes: u64,
    /// Elements, as printed.
    pub count: u64,
    /// Type of an element, `float`.
    pub datatype: String,
    /// Reduction, `sum`; `None` where the column is empty or `none`.
    pub op: Option<String>,
    /// Root rank; `None` where the column is missing or −1.
    pub root: Option<u32>,
    /// With two buffers.
    pub out_of_place: Option<Timing>,
    /// With one buffer.
    pub in_place: Option<Timing>,
}

impl MeasuredRow {
    /// The half called `mode`.
    pub fn timing(&self, mode: Mode) -> Option<&Timing> {
        match mode {
            Mode::OutOfPlace => self.out_of_place.as_ref(),
            Mode::InPlace => self.in_place.as_ref(),
        }
    }

    /// The half called `mode`, or else the other one.
    pub fn either(&self, mode: Mode) -> Option<&Timing> {
        self.timing(mode).or_else(|| self.timing(mode.other()))
    }

    /// Both halves that are there.
    pub fn timings(&self) -> impl Iterator<Item = (Mode, &Timing)> {
        [Mode::OutOfPlace, Mode::InPlace].into_iter().filter_map(|mode| Some((mode, self.timing(mode)?)))
    }
}

/// What a log says that contradicts itself, is missing, or had to be derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1, or place in `results` of a JSON report; 0 for the log as a whole.
    pub line: usize,
    /// A stable name, `busbw-factor`.
    pub code: &'static str,
    /// What is the case and what it means, in figures.
    pub text: String,
}

/// How something was found that a log does not always print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Printed by the test itself.
    Printed,
    /// From the command line, the launcher or NCCL's messages in the log.
    Surroundings,
    /// From the name of the file, which agrees with the figures.
    FileName,
    /// From the figures: bus bandwidth over algorithm bandwidth.
    Derived,
}

impl Origin {
    /// `printed`, `surroundings`, `file-name` or `derived`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Surroundings => "surroundings",
            Self::FileName => "file-name",
            Self::Derived => "derived",
        }
    }
}

/// How the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table as text.
    Text,
    /// The report of `-J`.
    Json,
}

/// The rank lines of a log (`#  Rank  0 Group  0 Pid ...`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Rank.
    pub rank: u32,
    /// Process id.
    pub pid: u64,
    /// Host name.
    pub host: String,
    /// Number of the GPU in its host.
    pub device: u32,
    /// Model of the GPU.
    pub model: String,
}

/// One table of a log and all that is known of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredLog {
    /// The file, as the user named it.
    pub source: String,
    /// The table's place in the file, from 1.
    pub table: usize,
    /// Whether it is text or JSON.
    pub format: Format,
    /// What was measured, and how that is known.
    pub collective: Option<(Collective, Origin)>,
    /// Ranks, and how that is known.
    pub ranks: Option<(u32, Origin)>,
    /// Hosts.
    pub nodes: Option<u32>,
    /// Ranks a host.
    pub gpus_per_node: Option<u32>,
    /// Model of the GPUs, as printed.
    pub gpu: Option<String>,
    /// Version of NCCL or RCCL, `2.30.3+cuda13.0`.
    pub library_version: Option<String>,
    /// Version of nccl-tests or rccl-tests.
    pub tests_version: Option<String>,
    /// Type of an element; one for a table.
    pub datatype: String,
    /// Reduction; one for a table.
    pub op: Option<String>,
    /// Threads a process.
    pub threads: Option<u32>,
    /// GPUs a thread (`-g`).
    pub gpus_per_thread: Option<u32>,
    /// Untimed calls before the first size.
    pub warmup_iterations: Option<u32>,
    /// Timed calls a size.
    pub iterations: Option<u32>,
    /// Least and largest size asked for, in bytes.
    pub size_limits: Option<(u64, u64)>,
    /// The line `Avg bus bandwidth`, in GB/s.
    pub average_busbw_gbytes_per_s: Option<f64>,
    /// Why the run is no measurement: it failed, or its results are wrong.
    pub failed: Option<String>,
    /// Variables of NCCL and RCCL that the log shows.
    pub environment: BTreeMap<String, String>,
    /// Rank lines.
    pub devices: Vec<Device>,
    /// Rows, in the order of the file. Rows of zero bytes included.
    pub rows: Vec<MeasuredRow>,
    /// What is wrong with the log, in the order of lines.
    pub problems: Vec<Problem>,
}

impl MeasuredLog {
    /// The collective, however found.
    pub fn collective(&self) -> Option<Collective> {
        self.collective.map(|(collective, _)| collective)
    }

    /// Ranks, however found.
    pub fn ranks(&self) -> Option<u32> {
        self.ranks.map(|(ranks, _)| ranks)
    }

    /// Where a row or a problem stands, for messages.
    pub fn place(&self, line: usize) -> String {
        match (line, self.format) {
            (0, _) => self.source.clone(),
            (_, Format::Text) => format!("{}:{line}", self.source),
            (_, Format::Json) => format!("{} results[{}]", self.source, line - 1),
        }
    }

    /// Whether a model may be fitted to it or judged by it: a failed run or wrong results measure something else.
    pub fn fit_for_calibration(&self) -> bool {
        self.failed.is_none()
    }

    /// Rows with a size and a time in `mode` (or in the other, where a row has only that), by size. A size that
    /// occurs several times keeps its fastest row.
    pub fn sizes(&self, mode: Mode) -> BTreeMap<u64, (&MeasuredRow, &Timing)> {
        let mut sizes: BTreeMap<u64, (&MeasuredRow, &Timing)> = BTreeMap::new();
        for row in &self.rows {
            let Some(timing) = row.either(mode) else { continue };
            if row.bytes == 0 || !timing.time_us.is_finite() || timing.time_us <= 0.0 {
                continue;
            }
            let slot = sizes.entry(row.bytes).or_insert((row, timing));
            if timing.time_us < slot.1.time_us {
                *slot = (row, timing);
            }
        }
        sizes
    }

    /// Bus bandwidth of a time, in GB/s, where collective and ranks are known.
    pub fn busbw_gbytes_per_s(&self, bytes: u64, time_us: f64) -> Option<f64> {
        let factor = self.collective()?.busbw_factor(self.ranks()?);
        Some(bytes as f64 / time_us / 1e3 * factor)
    }
}

impl fmt::Display for MeasuredLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if self.table > 1 { write!(f, " (table {})", self.table) } else { Ok(()) }
    }
}
