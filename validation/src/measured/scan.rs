//! Words and numbers of a line of text.

/// A printed number and what its last digit is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub digit: f64,
}

/// A number as nccl-tests prints it: `12.90`, `63896`, `1.0e+07`, `5e-07`, `nan`, `inf`.
pub(super) fn number(word: &str) -> Option<Number> {
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    let plain = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let special = ["nan", "inf"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    if !plain && !special {
        return None;
    }
    let value: f64 = word.parse().ok()?;
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) if plain => (mantissa, exponent.parse::<i32>().ok()?),
        _ => (word, 0),
    };
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    Some(Number { value, digit: power_of_ten(exponent.saturating_sub(decimals.min(400) as i32)) })
}

/// 10 to the power of `exponent`, by multiplication so that every machine gets the same.
fn power_of_ten(exponent: i32) -> f64 {
    let power = (0..exponent.unsigned_abs().min(400)).fold(1.0, |power: f64, _| power * 10.0);
    if exponent < 0 { 1.0 / power } else { power }
}

/// A number at the start of a word to which a log line was glued: `-1node-0:25:25`.
pub(super) fn glued_number(word: &str) -> Option<Number> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(word.len());
    let head = &word[..end.min(40)];
    // A host name may begin with digits and signs of its own: take the longest number.
    (1..=head.len()).rev().find_map(|end| number(&head[..end]))
}

/// Words of a line with the place where each begins, in bytes.
pub(super) fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices() {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                words.push((from, &line[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        words.push((from, &line[from..]));
    }
    words
}

/// The whole number that follows `key` in a line, spaces, `:` and `=` between them.
pub(super) fn after<T: std::str::FromStr>(line: &str, key: &str) -> Option<T> {
    let (_, rest) = line.split_once(key)?;
    let rest = rest.trim_start_matches([' ', '\t', ':', '=']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A line without terminal colours and other control characters.
pub(super) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
            '\t' => out.push(' '),
            '\u{feff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The rank of the process that printed a line, where the launcher says it: `[1,0]` (mpirun), `0:` (srun).
pub(super) fn launcher_tag(line: &str) -> &str {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if let Some(rest) = line.strip_prefix('[') {
        let first = digits(rest);
        if first > 0
            && let Some(second) = rest[first..].strip_prefix(',')
            && digits(second) > 0
            && second[digits(second)..].starts_with(']')
        {
            return &line[..first + digits(second) + 3];
        }
        return "";
    }
    let first = digits(line.trim_start());
    let indent = line.len() - line.trim_start().len();
    let rest = &line[indent + first..];
    if first > 0 && (rest.starts_with(": ") || rest == ":") { &line[indent..indent + first] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_know_their_last_digit() {
        for (word, value, digit) in [
            ("12.90", 12.90, 0.01),
            ("63896", 63896.0, 1.0),
            ("1.04858e+06", 1_048_580.0, 10.0),
            ("-1", -1.0, 1.0),
        ] {
            let found = number(word).unwrap();
            assert!((found.value - value).abs() < 1e-9 && (found.digit / digit - 1.0).abs() < 1e-9, "{word}");
        }
        assert!(number("nan").unwrap().value.is_nan() && number("-inf").unwrap().value.is_infinite());
        for word in ["N/A", "float", "node1", "", "-", "infinity", "2024-07-18", "15:41:05"] {
            assert_eq!(number(word), None, "{word}");
        }
        assert_eq!(glued_number("-1node-0:25:25").unwrap().value, -1.0);
        assert_eq!(glued_number("0host").unwrap().value, 0.0);
        assert_eq!(glued_number("host"), None);
    }

    #[test]
    fn tags_are_those_of_launchers() {
        assert_eq!(launcher_tag("[1,12]<stdout>:#"), "[1,12]");
        assert_eq!(launcher_tag("0: #   size"), "0");
        for line in
            ["[node-0:11560] 15 more", "15:41:05 2024", "  8  2 float", "[1776961424.994705] [node-1]"]
        {
            assert_eq!(launcher_tag(line), "", "{line}");
        }
    }

    #[test]
    fn colours_go() {
        assert_eq!(plain("\u{1b}[1;31m8\u{1b}[0m\t2\r"), "8 2");
    }
}
