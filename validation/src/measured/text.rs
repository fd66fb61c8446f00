//! Text logs: lines to tables.
//!
//! A table belongs to the process that printed it: processes of a launcher that tags its lines are kept apart, because a
//! test built without MPI prints one table a process. NCCL's messages belong to all tables of the run.

use std::collections::BTreeMap;

use super::collective::Collective;
use super::lines::{self, Parameters};
use super::log::{Device, MeasuredRow, Problem};
use super::scan;
use super::table::{Columns, Reading, RowText};

/// What surrounds the tables of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub program: Option<Collective>,
    pub processes: Option<u32>,
    pub gpus_per_thread: Option<u32>,
    pub ranks: Option<u32>,
    pub nodes: Option<u32>,
    pub library_version: Option<String>,
    pub tests_version: Option<String>,
    pub environment: BTreeMap<String, String>,
    pub failure: Option<(usize, String)>,
}

/// A table being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub tag: String,
    pub line: usize,
    pub started: Option<Collective>,
    pub parameters: Parameters,
    pub devices: Vec<Device>,
    pub rows: Vec<MeasuredRow>,
    pub problems: Vec<Problem>,
    pub out_of_bounds: Option<(usize, u64, bool)>,
    pub average: Option<(usize, f64)>,
    pub reduced_max: Option<u64>,
    pub closed_tags: usize,
    columns: Option<Columns>,
    open_row: Option<(usize, RowText)>,
}

/// A file read: tables with what surrounds them, and the first complaint in it.
#[derive(Debug, Default)]
pub(super) struct TextReader {
    pub tables: Vec<(Draft, Surroundings)>,
    pub complaint: Option<(usize, String)>,
    pub headers: usize,
    pub lines: usize,
    open: Vec<Draft>,
    around: Surroundings,
}

impl TextReader {
    /// Reads all lines.
    pub fn read(text: &str) -> Self {
        let mut reader = Self::default();
        for (i, line) in text.lines().enumerate() {
            reader.lines = i + 1;
            reader.line(i + 1, &scan::plain(line));
        }
        reader.close(|_| true);
        reader
    }

    fn line(&mut self, number: usize, line: &str) {
        let tag = scan::launcher_tag(line).to_string();
        if let Some(columns) = Columns::from_header(line) {
            self.headers += 1;
            let draft = self.start(number, &tag);
            draft.columns = Some(columns);
        } else if let Some(row) = RowText::find(line) {
            let draft = self.draft(number, &tag);
            draft.settle();
            if row.is_open(draft.columns.as_ref()) {
                draft.open_row = Some((number, row));
            } else {
                draft.add(number, &row);
            }
            // A message may be glued to a row that stopped.
            self.message(number, line);
        } else if let Some(device) = lines::device(line) {
            self.start(number, &tag).devices.push(device);
        } else if let Some(parameters) = Parameters::find(line) {
            let draft = self.start(number, &tag);
            draft.parameters = parameters;
        } else if !self.continues(&tag, line) && !self.footer(number, &tag, line) {
            self.message(number, line);
        }
    }

    /// Whether the line holds the values of a row that a message had interrupted.
    fn continues(&mut self, tag: &str, line: &str) -> bool {
        let Some(draft) = self.open.iter_mut().find(|draft| draft.tag == tag) else { return false };
        let Some((number, row)) = draft.open_row.as_mut() else { return false };
        if !row.go_on(line) {
            return false;
        }
        let (number, row) = (*number, row.clone());
        draft.open_row = None;
        draft.add(number, &row);
        true
    }

    fn footer(&mut self, number: usize, tag: &str, line: &str) -> bool {
        if line.contains("Out of bounds values") {
            let wrong = scan::after(line, "Out of bounds values").unwrap_or(0);
            self.draft(number, tag).out_of_bounds = Some((number, wrong, line.contains("FAILED")));
        } else if let Some((_, rest)) = line.split_once("Avg bus bandwidth") {
            let word = rest.trim_start_matches([' ', ':']).split_whitespace().next().unwrap_or("");
            if let Some(average) = scan::number(word) {
                self.draft(number, tag).average = Some((number, average.value));
            }
        } else if line.contains("Collective test concluded") {
        } else if let Some(name) = lines::word_after(line, "Collective test starting") {
            let started = Collective::from_program(name);
            self.start(number, tag).started = started;
        } else if let Some(most) = scan::after(line, "Reducing maxBytes to") {
            self.draft(number, tag).reduced_max = Some(most);
        } else {
            return false;
        }
        true
    }

    /// What surrounds the tables.
    fn message(&mut self, number: usize, line: &str) {
        if self.complaint.is_none()
            && let Some(text) = lines::complaint(line)
        {
            self.complaint = Some((number, text));
        }
        let begun = self.open.iter().any(|draft| draft.columns.is_some() || !draft.rows.is_empty());
        if begun
            && self.around.failure.is_none()
            && let Some(text) = lines::failure(line)
        {
            self.around.failure = Some((number, text));
        }
        if line.contains("Destroy") || line.contains("Abort COMPLETE") {
            return;
        }
        let version = lines::library_version(line);
        if let Some(version) = version {
            self.next_run().library_version.get_or_insert(version);
        }
        for (key, is_library) in
            [("nccl-tests version", false), ("rccl-tests version", false), ("nccl-library", true)]
        {
            let Some(word) = lines::word_after(line, key) else { continue };
            if is_library {
                if let Some(version) = word.parse().ok().and_then(lines::version_code) {
                    self.next_run().library_version.get_or_insert(version);
                }
            } else {
                self.next_run().tests_version = Some(word.to_string());
            }
        }
        if let Some(word) = lines::word_after(line, "rccl-library")
            && let Some(version) = word.parse().ok().and_then(lines::version_code)
        {
            self.next_run().library_version.get_or_insert(version);
        }
        for (name, value) in lines::environment(line) {
            self.next_run().environment.insert(name, value);
        }
        if line.contains("NCCL INFO") {
            if let Some(ranks) = scan::after(line, "nranks").or_else(|| scan::after(line, "nRanks")) {
                self.next_run().ranks = Some(ranks);
            }
            if let Some(nodes) = scan::after(line, "nNodes") {
                self.next_run().nodes = Some(nodes);
            }
            return;
        }
        if let Some(processes) = scan::after(line, "SLURM_NTASKS=") {
            self.next_run().processes = Some(processes);
        }
        let program =
            line.split_whitespace().find(|word| word.contains("_perf")).and_then(Collective::from_program);
        if let Some(program) = program {
            let (processes, gpus) = (scan::after(line, " -np "), scan::after(line, " -g "));
            let around = self.next_run();
            around.program = Some(program);
            around.gpus_per_thread = gpus;
            around.processes = processes.or(around.processes);
        }
    }

    /// What surrounds the run that a message belongs to: the next one, where the tables before it are complete.
    fn next_run(&mut self) -> &mut Surroundings {
        let mut with_rows = self.open.iter().filter(|draft| !draft.rows.is_empty()).peekable();
        if with_rows.peek().is_some() && with_rows.all(|draft| draft.average.is_some()) {
            self.close(|_| true);
            self.around = Surroundings::default();
        }
        &mut self.around
    }

    /// The open table of a process.
    fn draft(&mut self, line: usize, tag: &str) -> &mut Draft {
        let at = self.open.iter().position(|draft| draft.tag == tag).unwrap_or_else(|| {
            self.open.push(Draft { tag: tag.to_string(), line, ..Draft::default() });
            self.open.len() - 1
        });
        &mut self.open[at]
    }

    /// A table of a process that has no row yet.
    fn start(&mut self, line: usize, tag: &str) -> &mut Draft {
        let done = |draft: &Draft| draft.tag == tag && (!draft.rows.is_empty() || draft.open_row.is_some());
        if self.open.iter().any(|draft| done(draft) && draft.average.is_some()) {
            // Its failure, if any, is its own; what it was built with holds for the next as well.
            self.close(|draft| draft.tag == tag);
            self.around.failure = None;
        } else if self.open.iter().any(done) {
            self.close(|draft| draft.tag == tag);
        }
        self.draft(line, tag)
    }

    fn close(&mut self, which: impl Fn(&Draft) -> bool) {
        let (mut closed, open): (Vec<Draft>, Vec<Draft>) =
            std::mem::take(&mut self.open).into_iter().partition(|draft| which(draft));
        self.open = open;
        for draft in &mut closed {
            draft.settle();
        }
        let tags = closed.iter().filter(|draft| !draft.rows.is_empty()).count();
        for mut draft in closed {
            draft.closed_tags = tags;
            self.tables.push((draft, self.around.clone()));
        }
    }
}

impl Draft {
    /// Gives up waiting for the rest of a row.
    fn settle(&mut self) {
        if let Some((number, row)) = self.open_row.take() {
            self.add(number, &row);
        }
    }

    fn add(&mut self, number: usize, row: &RowText) {
        let mut cut = |text: String| {
            self.problems.push(Problem { line: number, code: "cut-row", text });
        };
        match row.read(number, self.columns.as_ref()) {
            Reading::Whole(row) => self.rows.push(row),
            Reading::Half(row, half) => {
                cut(format!("the {half} half of the row of {} bytes is cut; it is left out", row.bytes));
                self.rows.push(row);
            }
            Reading::Cut => cut("the row is cut before its times; it is left out".to_string()),
        }
    }
}
