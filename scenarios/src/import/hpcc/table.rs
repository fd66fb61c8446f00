//! Rows after a header that announces how many there are.

use super::super::lines::Line;
use super::super::report::Log;

/// The rows of a table and what is not a row.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    /// Lines that start with a number.
    pub rows: Vec<Line<'a>>,
    /// Other lines, in order.
    pub text: Vec<Line<'a>>,
    /// Rows before the first line of text.
    rows_before_text: usize,
}

/// Sorts `lines` into rows and text.
pub(super) fn table<'a>(lines: &[Line<'a>]) -> Table<'a> {
    let mut table = Table::default();
    for &line in lines {
        let start = line.text.strip_prefix('-').unwrap_or(line.text);
        if start.starts_with(|c: char| c.is_ascii_digit()) {
            table.rows.push(line);
            table.rows_before_text += usize::from(table.text.is_empty());
        } else {
            table.text.push(line);
        }
    }
    table
}

impl Table<'_> {
    /// Compares the rows with the `announced` number of the header at `header_line` and reports text. When lenient,
    /// rows beyond the announced ones are dropped.
    pub fn reconcile(&mut self, log: &mut Log, file: &str, header_line: usize, announced: u64, noun: &str) {
        let found = self.rows.len();
        let wanted = usize::try_from(announced).unwrap_or(usize::MAX);
        let plural = |n: u64| if n == 1 { noun.to_string() } else { format!("{noun}s") };
        let rows = if found == 1 { "row follows" } else { "rows follow" };
        if found > wanted {
            let (first, last) = (self.rows[wanted].number, self.rows[found - 1].number);
            log.contradiction(
                file,
                header_line,
                format!(
                    "{announced} {} announced, {found} {rows}: correct this line, or take the first {announced} with --lenient",
                    plural(announced)
                ),
                format!("{} {noun} rows ignored (lines {first} to {last}): {announced} announced", found - wanted),
            );
            if log.lenient {
                self.rows.truncate(wanted);
            }
        } else if found < wanted {
            log.contradiction(
                file,
                header_line,
                format!(
                    "{announced} {} announced, {found} {rows}: correct this line, or take what is there with --lenient",
                    plural(announced)
                ),
                format!("{announced} {} announced, {found} {rows}: all {found} are used", plural(announced)),
            );
        }
        self.report_text(log, file, noun);
    }

    fn report_text(&self, log: &mut Log, file: &str, noun: &str) {
        let Some(first) = self.text.first() else { return };
        let count = match self.text.len() {
            1 => "1 line of text".to_string(),
            n => format!("{n} lines of text"),
        };
        if self.rows_before_text < self.rows.len() {
            log.contradiction(
                file,
                first.number,
                format!(
                    "text before the last {noun} row, {}: remove it, or skip it with --lenient",
                    first.quoted()
                ),
                format!("{count} between or after the {noun} rows not read, from {}", first.quoted()),
            );
        } else {
            log.note(
                file,
                first.number,
                format!("{count} after the {noun} rows not read, from {}", first.quoted()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{lines::lines, report::Note};

    fn run(text: &str, announced: u64, lenient: bool) -> (usize, Result<Vec<Note>, String>) {
        let mut log = Log::new(lenient);
        let all = lines(&mut log, "f", text);
        let mut table = table(&all);
        table.reconcile(&mut log, "f", 1, announced, "flow");
        (table.rows.len(), log.finish().map_err(|e| e.to_string()))
    }

    #[test]
    fn more_rows_than_announced() {
        let (_, strict) = run("1 a\n2 b\n3 c\n", 2, false);
        assert_eq!(
            strict.unwrap_err(),
            "f:1: 2 flows announced, 3 rows follow: correct this line, or take the first 2 with --lenient"
        );
        let (rows, lenient) = run("1 a\n2 b\n3 c\n", 2, true);
        assert_eq!(rows, 2);
        assert_eq!(lenient.unwrap()[0].text, "1 flow rows ignored (lines 3 to 3): 2 announced");
    }

    #[test]
    fn fewer_rows_than_announced() {
        let (_, strict) = run("1 a\n", 2, false);
        assert!(strict.unwrap_err().contains("2 flows announced, 1 row follows"));
        assert_eq!(run("1 a\n", 2, true).0, 1);
    }

    #[test]
    fn text_after_the_rows_is_a_note_and_between_them_an_error() {
        let (rows, notes) = run("1 a\n\nFirst line: x\n...\n", 1, false);
        assert_eq!(rows, 1);
        let notes = notes.unwrap();
        assert_eq!((notes[0].line, notes.len()), (3, 1));
        assert_eq!(notes[0].text, "2 lines of text after the flow rows not read, from \"First line: x\"");
        assert!(
            run("1 a\nhm\n2 b\n", 2, false).1.unwrap_err().contains("f:2: text before the last flow row")
        );
        assert!(run("1 a\nhm\n2 b\n", 2, true).1.unwrap()[0].text.contains("not read"));
        assert_eq!(run("-1 a\n", 1, false).0, 1);
    }
}
