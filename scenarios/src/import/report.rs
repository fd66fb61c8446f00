//! What an import says: notes about what it assumed, problems that stop it.

use std::fmt;

/// Most problems an error lists.
const SHOWN: usize = 20;

/// Something the import assumed, left out or finds odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file it is about; empty when it is about the import as a whole.
    pub file: String,
    /// The line it is about, from 1; 0 when it is about the file as a whole.
    pub line: usize,
    /// What is the case.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.file, self.line)?;
        f.write_str(&self.text)
    }
}

/// Something that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file it is in; empty when it is about the files together.
    pub file: String,
    /// The line it is on, from 1; 0 when it is about the file as a whole.
    pub line: usize,
    /// What is wrong and what to do about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.file, self.line)?;
        f.write_str(&self.text)
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, file: &str, line: usize) -> fmt::Result {
    match (file.is_empty(), line) {
        (true, _) => Ok(()),
        (false, 0) => write!(f, "{file}: "),
        (false, _) => write!(f, "{file}:{line}: "),
    }
}

/// Why the files cannot be imported: every problem found, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for ImportError {}

/// Collects notes and problems while files are read.
#[derive(Debug)]
pub(super) struct Log {
    /// Whether contradictions are notes.
    pub lenient: bool,
    notes: Vec<Note>,
    problems: Vec<Problem>,
}

impl Log {
    pub fn new(lenient: bool) -> Self {
        Self { lenient, notes: Vec::new(), problems: Vec::new() }
    }

    /// Something worth saying.
    pub fn note(&mut self, file: &str, line: usize, text: impl Into<String>) {
        self.notes.push(Note { file: file.to_string(), line, text: text.into() });
    }

    /// Something that stops the import.
    pub fn error(&mut self, file: &str, line: usize, text: impl Into<String>) {
        self.problems.push(Problem { file: file.to_string(), line, text: text.into() });
    }

    /// A contradiction: an error, or when lenient a note that says what was made of it.
    pub fn contradiction(&mut self, file: &str, line: usize, error: String, note: String) {
        if self.lenient {
            self.note(file, line, note);
        } else {
            self.error(file, line, error);
        }
    }

    /// Whether a problem was found.
    pub fn failed(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The notes, or the problems when there are any.
    pub fn finish(self) -> Result<Vec<Note>, ImportError> {
        if self.problems.is_empty() { Ok(self.notes) } else { Err(ImportError { problems: self.problems }) }
    }
}

/// The same fault on many lines: the first is quoted, the rest counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    first: Option<(usize, String)>,
    count: usize,
}

impl Tally {
    /// One more; `text` is what is said of the first.
    pub fn add(&mut self, line: usize, text: impl FnOnce() -> String) {
        if self.first.is_none() {
            self.first = Some((line, text()));
        }
        self.count += 1;
    }

    /// The line and text of the first, with the number of others, or `None` when there was none.
    pub fn text(&self) -> Option<(usize, String)> {
        let (line, text) = self.first.as_ref()?;
        Some(match self.count {
            1 => (*line, text.clone()),
            2 => (*line, format!("{text} (and 1 more line like it)")),
            n => (*line, format!("{text} (and {} more lines like it)", n - 1)),
        })
    }

    /// Reports it as an error, if there was any.
    pub fn error(self, log: &mut Log, file: &str) {
        if let Some((line, text)) = self.text() {
            log.error(file, line, text);
        }
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_lengths() {
        let at = |file: &str, line| Problem { file: file.into(), line, text: "bad".into() }.to_string();
        assert_eq!(at("a.txt", 3), "a.txt:3: bad");
        assert_eq!(at("a.txt", 0), "a.txt: bad");
        assert_eq!(at("", 0), "bad");
        let problems = vec![Problem { file: String::new(), line: 0, text: "bad".into() }; 23];
        let text = ImportError { problems }.to_string();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("and 3 more"));
    }

    #[test]
    fn a_contradiction_is_a_note_only_when_lenient() {
        let mut strict = Log::new(false);
        strict.contradiction("f", 1, "e".into(), "n".into());
        assert_eq!(strict.finish().unwrap_err().problems[0].text, "e");
        let mut lenient = Log::new(true);
        lenient.contradiction("f", 1, "e".into(), "n".into());
        assert_eq!(lenient.finish().unwrap()[0].text, "n");
    }
}
