//! JSON text to a located tree.

use std::iter::Peekable;
use std::str::Chars;

use indexmap::IndexMap;
use indexmap::map::Entry as Slot;

use super::error::Fault;
use super::tree::{Entry, MAX_DEPTH, Node, Number, Origin, Source, Value, quoted};

/// Reads a whole JSON text. With `set`, every value is said to stand in that override instead of the file.
pub(super) fn parse(text: &str, set: Option<u32>) -> Result<Node, Fault> {
    let mut reader = Reader { chars: text.chars().peekable(), line: 1, column: 1, set };
    let node = reader.value(0)?;
    reader.blank()?;
    match reader.peek() {
        None => Ok(node),
        Some(c) => Err(reader.fault(format!("{} follows after the end of the JSON value", shown(c)))),
    }
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    line: u32,
    column: u32,
    set: Option<u32>,
}

fn shown(c: char) -> String {
    quoted(c.encode_utf8(&mut [0; 4]))
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.chars.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(c)
    }

    fn here(&self) -> Origin {
        match self.set {
            Some(index) => Origin::set(index),
            None => Origin::file(self.line, self.column),
        }
    }

    fn fault(&self, text: impl Into<String>) -> Fault {
        Fault::new(self.here(), text)
    }

    /// Skips white space; a comment is named as what it is.
    fn blank(&mut self) -> Result<(), Fault> {
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\n' | '\r')) {
            self.next();
        }
        match self.peek() {
            Some('/' | '#') => {
                Err(self.fault("JSON has no comments: remove it, or write the file as YAML, which has them"))
            }
            _ => Ok(()),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.blank()?;
        let origin = self.here();
        if depth > MAX_DEPTH {
            return Err(Fault::new(origin, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        let value = match self.peek() {
            None => return Err(Fault::new(origin, format!("{} ends where a value is due", self.whole()))),
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.string()?),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(origin)?,
            Some(c) if c.is_alphabetic() => self.word(origin)?,
            Some(c) => return Err(Fault::new(origin, format!("{} where a value is due", shown(c)))),
        };
        Ok(Node::new(value, origin))
    }

    fn map(&mut self, depth: usize) -> Result<Value, Fault> {
        let open = self.here();
        self.next();
        let mut map: IndexMap<String, Entry> = IndexMap::new();
        self.blank()?;
        if self.peek() == Some('}') {
            self.next();
            return Ok(Value::Map(map));
        }
        loop {
            self.blank()?;
            let key_origin = self.here();
            match self.peek() {
                Some('"') => {}
                Some('}') => {
                    return Err(self.fault("a comma before \"}\": JSON allows none after the last field"));
                }
                Some(c) => {
                    return Err(self.fault(format!("{} where a field name in quotes is due", shown(c))));
                }
                None => return Err(self.unclosed("{", open)),
            }
            let key = self.string()?;
            self.blank()?;
            match self.peek() {
                Some(':') => self.next(),
                None => return Err(self.unclosed("{", open)),
                Some(c) => {
                    let text = format!("{} after the field name {}: \":\" is due", shown(c), quoted(&key));
                    return Err(self.fault(text));
                }
            };
            let node = self.value(depth + 1)?;
            insert(&mut map, key, Entry::new(key_origin, node))?;
            self.blank()?;
            match self.peek() {
                Some(',') => self.next(),
                Some('}') => {
                    self.next();
                    return Ok(Value::Map(map));
                }
                None => return Err(self.unclosed("{", open)),
                Some(c) => return Err(self.fault(format!("{} where \",\" or \"}}\" is due", shown(c)))),
            };
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        let open = self.here();
        self.next();
        let mut list = Vec::new();
        self.blank()?;
        if self.peek() == Some(']') {
            self.next();
            return Ok(Value::List(list));
        }
        loop {
            self.blank()?;
            match self.peek() {
                Some(']') => {
                    return Err(self.fault("a comma before \"]\": JSON allows none after the last value"));
                }
                None => return Err(self.unclosed("[", open)),
                Some(_) => list.push(self.value(depth + 1)?),
            }
            self.blank()?;
            match self.peek() {
                Some(',') => self.next(),
                Some(']') => {
                    self.next();
                    return Ok(Value::List(list));
                }
                None => return Err(self.unclosed("[", open)),
                Some(c) => return Err(self.fault(format!("{} where \",\" or \"]\" is due", shown(c)))),
            };
        }
    }

    fn whole(&self) -> &'static str {
        if self.set.is_some() { "the text" } else { "the file" }
    }

    fn unclosed(&self, bracket: &str, open: Origin) -> Fault {
        self.fault(match open.source {
            Source::File { line, .. } => {
                format!("the file ends inside the \"{bracket}\" opened on line {line}: it is cut short or unclosed")
            }
            Source::Set(_) => format!("the value ends inside a \"{bracket}\""),
        })
    }

    fn number(&mut self, origin: Origin) -> Result<Value, Fault> {
        let mut text = String::new();
        while let Some(c) =
            self.peek().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'))
        {
            text.push(c);
            self.next();
        }
        if !is_json_number(&text) {
            let advice = if text.ends_with(|c: char| c.is_ascii_alphabetic()) {
                "a quantity with a unit stands in quotes"
            } else {
                "write it as 12, 0.5 or 1e-4"
            };
            return Err(Fault::new(origin, format!("{} is no JSON number: {advice}", quoted(&text))));
        }
        match Number::parse(&text) {
            Some(number) => Ok(Value::Number(number, text)),
            None => Err(Fault::new(origin, format!("{} is larger than a number can be", quoted(&text)))),
        }
    }

    fn word(&mut self, origin: Origin) -> Result<Value, Fault> {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            text.push(c);
            self.next();
        }
        match text.as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            _ => {
                Err(Fault::new(origin, format!("{} is no JSON value: text stands in quotes", quoted(&text))))
            }
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let open = self.here();
        self.next();
        let mut out = String::new();
        loop {
            let here = self.here();
            match self.next() {
                None | Some('\n') => {
                    return Err(Fault::new(
                        open,
                        "the text that starts here has no closing quote on its line",
                    ));
                }
                Some('"') => return Ok(out),
                Some('\\') => out.push(self.escape(here)?),
                Some(c) if c < ' ' => {
                    let text = format!("the control character {} in a text: write it as an escape", shown(c));
                    return Err(Fault::new(here, text));
                }
                Some(c) => out.push(c),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, at: Origin) -> Result<char, Fault> {
        let bad = || Fault::new(at, "unknown escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
        Ok(match self.next().ok_or_else(bad)? {
            '"' => '"',
            '\\' => '\\',
            '/' => '/',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.hex4().ok_or_else(bad)?;
                let code = if (0xD800..0xDC00).contains(&first) {
                    let pair = (self.next() == Some('\\') && self.next() == Some('u')).then(|| self.hex4());
                    match pair.flatten() {
                        Some(low) if (0xDC00..0xE000).contains(&low) => {
                            0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)
                        }
                        _ => return Err(Fault::new(at, "half of a surrogate pair: both halves are due")),
                    }
                } else {
                    first
                };
                char::from_u32(code)
                    .ok_or_else(|| Fault::new(at, "half of a surrogate pair: both halves are due"))?
            }
            _ => return Err(bad()),
        })
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut value = 0;
        for _ in 0..4 {
            value = value * 16 + self.next()?.to_digit(16)?;
        }
        Some(value)
    }
}

/// Adds a field; a second one of the same name is an error that names both lines.
pub(super) fn insert(map: &mut IndexMap<String, Entry>, key: String, entry: Entry) -> Result<(), Fault> {
    match map.entry(key) {
        Slot::Vacant(slot) => {
            slot.insert(entry);
            Ok(())
        }
        Slot::Occupied(slot) => {
            let text = format!(
                "the field {} is given twice, on line {} and on line {}: keep one",
                quoted(slot.key()),
                slot.get().key.line(),
                entry.key.line()
            );
            Err(Fault::new(entry.key, text))
        }
    }
}

/// RFC 8259, section 6.
fn is_json_number(text: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, Some(e.strip_prefix(['+', '-']).unwrap_or(e))),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((w, f)) => (w, Some(f)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text, None).unwrap_err().into_error("f.json", &[], &[]).to_string()
    }

    #[test]
    fn values_know_where_they_stand() {
        let node = parse("{\n  \"a\": [1,\n    \"é\", {\"b\": null}]\n}", None).unwrap();
        assert_eq!(node.origin, Origin::file(1, 1));
        let list = node.get("a").unwrap();
        assert_eq!(list.origin, Origin::file(2, 8));
        assert_eq!(list.get("1").unwrap().origin, Origin::file(3, 5));
        assert_eq!(list.get("2").unwrap().get("b").unwrap().origin, Origin::file(3, 16));
        assert_eq!(list.get("2").unwrap().get("b").unwrap().value, Value::Null);
    }

    #[test]
    fn escapes_are_read() {
        let node = parse(r#""a\n\u00e9\ud83d\ude00\"""#, None).unwrap();
        assert_eq!(node.value, Value::Text("a\né😀\"".to_string()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, want) in [
            ("{\"a\": 1,}", "f.json:1:9: a comma before \"}\": JSON allows none after the last field"),
            ("{\"a\": 1\n\"b\": 2}", "f.json:2:1: \"\\\"\" where \",\" or \"}\" is due"),
            (
                "{\"a\": [1,",
                "f.json:1:10: the file ends inside the \"[\" opened on line 1: it is cut short or unclosed",
            ),
            ("{\"a\":", "f.json:1:6: the file ends where a value is due"),
            ("{\"a\" 1}", "f.json:1:6: \"1\" after the field name \"a\": \":\" is due"),
            ("{a: 1}", "f.json:1:2: \"a\" where a field name in quotes is due"),
            (
                "{\"a\": 5Gbps}",
                "f.json:1:7: \"5Gbps\" is no JSON number: a quantity with a unit stands in quotes",
            ),
            ("{\"a\": 01}", "f.json:1:7: \"01\" is no JSON number: write it as 12, 0.5 or 1e-4"),
            ("{\"a\": 1e999}", "f.json:1:7: \"1e999\" is larger than a number can be"),
            ("{\"a\": True}", "f.json:1:7: \"True\" is no JSON value: text stands in quotes"),
            ("{\"a\": \"x\n\"}", "f.json:1:7: the text that starts here has no closing quote on its line"),
            (
                "{ // x\n}",
                "f.json:1:3: JSON has no comments: remove it, or write the file as YAML, which has them",
            ),
            (
                "{\"a\": 1,\n\"b\": 2,\n\"a\": 3}",
                "f.json:3:1: the field \"a\" is given twice, on line 1 and on line 3: keep one",
            ),
            ("{} {}", "f.json:1:4: \"{\" follows after the end of the JSON value"),
            ("{\"a\": \"\\ud800\"}", "f.json:1:8: half of a surrogate pair: both halves are due"),
        ] {
            assert_eq!(message(text), want, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(parse(&deep(MAX_DEPTH + 1), None).is_ok());
        assert_eq!(message(&deep(100_000)), "f.json:1:66: more than 64 levels of nesting");
    }
}
