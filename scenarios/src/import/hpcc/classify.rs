//! What a file of the HPCC family is, by its content.

use super::super::lines::Line;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nodes and links.
    Topology,
    /// Flows.
    Flows,
    /// Nodes to trace.
    Trace,
    /// `KEY value` lines.
    Config,
    /// A distribution of flow sizes.
    Sizes,
}

impl Kind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Topology => "topology",
            Self::Flows => "flow",
            Self::Trace => "trace",
            Self::Config => "config",
            Self::Sizes => "flow-size",
        }
    }
}

/// Whether `word` is written like a config key.
pub(super) fn is_key(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn is_integer(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

fn is_numeric(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') && word.parse::<f64>().is_ok()
}

/// What the file with these lines is, or `None` when it is none of the kinds known.
pub(super) fn classify(lines: &[Line<'_>]) -> Option<Kind> {
    let mut data = lines.iter().filter(|line| !line.text.starts_with('#'));
    let first = data.next()?.fields();
    let second = data.next().map(|line| line.fields()).unwrap_or_default();
    if is_key(first[0]) {
        return (first.len() > 1).then_some(Kind::Config);
    }
    let last_may_be_text = first.len() == 6;
    let numbers = first.len() - usize::from(last_may_be_text);
    if !first[..numbers].iter().all(|word| is_numeric(word)) {
        return None;
    }
    match first.len() {
        1 if is_trace(&first, &second, data.next().copied()) => Some(Kind::Trace),
        1 => Some(Kind::Flows),
        2 if second.len() == 2 && second.iter().all(|word| is_numeric(word)) => Some(Kind::Sizes),
        3..=6 => Some(Kind::Topology),
        _ => None,
    }
}

/// A trace file has all its node ids in the second line; a flow file has a row of 5 to 7 fields a flow.
fn is_trace(first: &[&str], second: &[&str], third: Option<Line<'_>>) -> bool {
    if second.is_empty() || !second.iter().all(|word| is_integer(word)) {
        return false;
    }
    let single = third.is_none_or(|line| !is_integer(line.fields()[0]));
    let as_announced = first[0].parse() == Ok(second.len());
    single && (as_announced || !(5..=7).contains(&second.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{lines::lines, report::Log};

    fn kind(text: &str) -> Option<Kind> {
        classify(&lines(&mut Log::new(false), "f", text))
    }

    #[test]
    fn kinds_by_content() {
        assert_eq!(kind("66 1 65\n0\n0 1 100Gbps 0.001ms 0\n"), Some(Kind::Topology));
        assert_eq!(kind("216 8 16 72 768 A100\n128 129\n"), Some(Kind::Topology));
        assert_eq!(kind("2\n2 1 3 100 200000000 2\n3 1 3 100 5 2\n"), Some(Kind::Flows));
        assert_eq!(kind("2\n2 1 3 10000000 2.0 9.5\n\nFirst line: flow #\n"), Some(Kind::Flows));
        assert_eq!(kind("0\n"), Some(Kind::Flows));
        assert_eq!(kind("3\n0 1 2\n\nFirst line: tracing node #\n"), Some(Kind::Trace));
        assert_eq!(kind("6\n0 1 2 3 4 5\n"), Some(Kind::Trace));
        assert_eq!(kind("348\n0 1 2 3\n"), Some(Kind::Trace));
        assert_eq!(kind("ENABLE_QCN 1\r\n"), Some(Kind::Config));
        assert_eq!(kind("# comment\nCC_MODE 3 {x}\n"), Some(Kind::Config));
        assert_eq!(kind("0 0\n10000 15\n"), Some(Kind::Sizes));
        assert_eq!(kind("Nodes 16\nConnections 1\n"), None);
        assert_eq!(kind("hello\n"), None);
        assert_eq!(kind(""), None);
    }
}
