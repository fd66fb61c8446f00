//! Lines with their numbers.

use super::MAX_LINES;
use super::report::Log;

/// A line that is not blank, trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its text without surrounding blanks.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Its fields.
    pub fn fields(self) -> Vec<&'a str> {
        self.text.split_whitespace().collect()
    }

    /// Its text, cut to what fits a message.
    pub fn quoted(self) -> String {
        quote(self.text)
    }
}

/// A text in quotes, cut to what fits a message.
pub(super) fn quote(text: &str) -> String {
    let short: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
    if short.chars().count() < text.chars().count() {
        format!("\"{short}…\"")
    } else {
        format!("\"{short}\"")
    }
}

/// The lines of `text` that are not blank. Too many are an error.
pub(super) fn lines<'a>(log: &mut Log, file: &str, text: &'a str) -> Vec<Line<'a>> {
    let total = text.lines().count();
    if total > MAX_LINES {
        log.error(file, 0, format!("{total} lines; an import reads at most {MAX_LINES}"));
        return Vec::new();
    }
    let trimmed = text.trim_start_matches('\u{feff}');
    let numbered =
        trimmed.lines().enumerate().map(|(index, line)| Line { number: index + 1, text: line.trim() });
    numbered.filter(|line| !line.text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_count_but_are_not_given() {
        let mut log = Log::new(false);
        let got = lines(&mut log, "f", "\u{feff}a b\r\n\r\n  c\n");
        assert_eq!(got, [Line { number: 1, text: "a b" }, Line { number: 3, text: "c" }]);
        assert!(!log.failed());
    }

    #[test]
    fn too_many_lines_are_an_error() {
        let mut log = Log::new(true);
        assert!(lines(&mut log, "f", &"1\n".repeat(MAX_LINES + 1)).is_empty());
        assert_eq!(
            log.finish().unwrap_err().to_string(),
            "f: 1000001 lines; an import reads at most 1000000"
        );
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(quote("ab"), "\"ab\"");
        assert_eq!(quote(&"x".repeat(50)), format!("\"{}…\"", "x".repeat(40)));
    }
}
