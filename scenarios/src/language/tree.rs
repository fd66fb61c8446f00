//! A scenario text as a tree in which every key and value knows where it stands.

use indexmap::IndexMap;
use sim_core::{Bytes, Duration, Length, Rate};

/// How deep maps and lists may nest.
pub(super) const MAX_DEPTH: usize = 64;

/// Where a key or value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the file, counted from 1.
    File { line: u32, column: u32 },
    /// In the override of this index.
    Set(u32),
}

/// Where a value was written, and the parameter (by index) it came through, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub source: Source,
    pub param: Option<u32>,
}

impl Origin {
    pub fn file(line: u32, column: u32) -> Self {
        Self { source: Source::File { line, column }, param: None }
    }

    pub fn set(index: u32) -> Self {
        Self { source: Source::Set(index), param: None }
    }

    pub fn is_set(self) -> bool {
        matches!(self.source, Source::Set(_))
    }

    /// The line, for "first on line 4".
    pub fn line(self) -> u32 {
        match self.source {
            Source::File { line, .. } => line,
            Source::Set(_) => 1,
        }
    }
}

/// A number, exact where it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    /// Reads a decimal number. `None` when it is none or not finite.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(value) = text.parse::<u64>() {
            return Some(Self::Unsigned(value));
        }
        if let Ok(value) = text.parse::<i64>() {
            return Some(Self::Signed(value));
        }
        let value: f64 = text.parse().ok()?;
        value.is_finite().then_some(Self::Float(value))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// The number and its text as written.
    Number(Number, String),
    Text(String),
    List(Vec<Node>),
    Map(IndexMap<String, Entry>),
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// One key of a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Where the key stands.
    pub key: Origin,
    /// The last override that set something in it.
    pub touched: Option<u32>,
    pub node: Node,
}

impl Entry {
    pub fn new(key: Origin, node: Node) -> Self {
        Self { key, touched: None, node }
    }
}

impl Node {
    pub fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// What the value is, for errors: `the text "abc"`, `the number 5`, `a list`.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "null".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Number(_, text) => format!("the number {text}"),
            Value::Text(text) => format!("the text {}", quoted(text)),
            Value::List(_) => "a list".to_string(),
            Value::Map(_) => "an object".to_string(),
        }
    }

    /// The entry or element called `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(map) => map.get(key).map(|entry| &entry.node),
            Value::List(list) => list.get(key.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_) => None,
        }
    }

    /// The node at `path`, or the deepest one on the way to it.
    pub fn nearest<'a>(&self, path: impl Iterator<Item = &'a str>) -> &Node {
        let mut node = self;
        for key in path {
            match node.get(key) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}

/// `text` in double quotes, with quotes, backslashes and control characters escaped, cut where it is very long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("\"");
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The kinds of quantity a text with a unit can be. `"0"` is all of them.
pub(super) fn unit_kinds(text: &str) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if text.parse::<Duration>().is_ok() {
        kinds.push("duration");
    }
    if text.parse::<Rate>().is_ok() {
        kinds.push("rate");
    }
    if text.parse::<Bytes>().is_ok() {
        kinds.push("size");
    }
    if text.parse::<Length>().is_ok() {
        kinds.push("length");
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_refused() {
        assert_eq!(Number::parse("18446744073709551615"), Some(Number::Unsigned(u64::MAX)));
        assert_eq!(Number::parse("-3"), Some(Number::Signed(-3)));
        assert_eq!(Number::parse("0.1"), Some(Number::Float(0.1)));
        assert_eq!(Number::parse("1e999"), None);
        assert_eq!(Number::parse("abc"), None);
    }

    #[test]
    fn quoting_escapes_and_cuts() {
        assert_eq!(quoted("a\"b\n"), "\"a\\\"b\\n\"");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 63);
    }

    #[test]
    fn zero_is_every_kind_and_words_are_none() {
        assert_eq!(unit_kinds("0"), ["duration", "rate", "size", "length"]);
        assert_eq!(unit_kinds("400Gbps"), ["rate"]);
        assert!(unit_kinds("go-back-n").is_empty());
    }
}
