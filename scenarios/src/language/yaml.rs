//! YAML text to a located tree. One document, no anchors, no tags: what JSON can say, in YAML's spelling.

use indexmap::IndexMap;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::error::Fault;
use super::json::insert;
use super::tree::{Entry, MAX_DEPTH, Node, Number, Origin, Value, quoted};

/// Reads a whole YAML text.
pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { parser: Parser::new_from_str(text), last: Origin::file(1, 1) };
    let mut document = None;
    loop {
        let (event, at) = reader.next()?;
        match event {
            Event::StreamStart | Event::Nothing | Event::DocumentStart(_) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            _ if document.is_some() => {
                return Err(Fault::new(at, "a second YAML document starts here: a scenario is a single one"));
            }
            event => document = Some(reader.node(event, at, 0)?),
        }
    }
    document.ok_or_else(|| Fault::new(Origin::file(1, 1), "the file is empty: a scenario is due"))
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    last: Origin,
}

fn origin(span: &Span) -> Origin {
    position(span.start.line(), span.start.col())
}

fn position(line: usize, column: usize) -> Origin {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Origin::file(number(line.max(1)), number(column.saturating_add(1)))
}

fn syntax(error: &ScanError) -> Fault {
    let at = error.marker();
    Fault::new(position(at.line(), at.col()), format!("the YAML cannot be read: {}", error.info()))
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Origin), Fault> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, self.last)),
            Some(Err(error)) => Err(syntax(&error)),
            Some(Ok((event, span))) => {
                self.last = origin(&span);
                Ok((event, self.last))
            }
        }
    }

    fn node(&mut self, event: Event<'a>, at: Origin, depth: usize) -> Result<Node, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::new(at, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag.is_some()),
            Event::Alias(_) => (1, false),
            _ => (0, false),
        };
        if anchor != 0 {
            let text =
                "YAML anchors and aliases are not read: write the value out, or use `params` and \"$name\"";
            return Err(Fault::new(at, text));
        }
        if tag {
            return Err(Fault::new(at, "YAML tags (\"!…\") are not read: write the plain value"));
        }
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, _, _) => plain(&text, at)?,
            Event::Scalar(text, _, _, _) => Value::Text(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            _ => return Err(Fault::new(at, "a value is due here")),
        };
        Ok(Node::new(value, at))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(list)),
                (Event::StreamEnd, at) => return Err(Fault::new(at, "the file ends inside a list")),
                (event, at) => list.push(self.node(event, at, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut map = IndexMap::new();
        loop {
            let (key, at) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Value::Map(map)),
                (Event::StreamEnd, at) => return Err(Fault::new(at, "the file ends inside an object")),
                (Event::Scalar(key, _, 0, None), at) => (key.into_owned(), at),
                (_, at) => {
                    return Err(Fault::new(at, "a field name is due: plain text without anchor or tag"));
                }
            };
            let (event, value_at) = self.next()?;
            let node = self.node(event, value_at, depth + 1)?;
            insert(&mut map, key, Entry::new(at, node))?;
        }
    }
}

/// A plain scalar by YAML 1.2's core schema: `yes` and `1_000` are text.
fn plain(text: &str, at: Origin) -> Result<Value, Fault> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text) {
            None => Value::Text(text.to_string()),
            Some(Some(number)) => Value::Number(number, text.to_string()),
            Some(None) => {
                return Err(Fault::new(at, format!("{} is larger than a number can be", quoted(text))));
            }
        },
    })
}

/// `None` when the text is no number, `Some(None)` when it is one that cannot be held.
fn number(text: &str) -> Option<Option<Number>> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|d| d.chars().all(|c| c.is_digit(radix))) {
            return (!digits.is_empty())
                .then(|| u64::from_str_radix(digits, radix).ok().map(Number::Unsigned));
        }
    }
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && body.contains(|c: char| c.is_ascii_digit())
        && body.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !numeric || text.parse::<f64>().is_err() {
        return None;
    }
    Some(Number::parse(text.strip_prefix('+').unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().into_error("f.yaml", &[], &[]).to_string()
    }

    #[test]
    fn values_know_where_they_stand() {
        let node = parse("# comment\na:\n  - 1\n  - b: \"x\"\n    c: 400Gbps\n").unwrap();
        let second = node.get("a").unwrap().get("1").unwrap();
        assert_eq!(second.get("b").unwrap().origin, Origin::file(4, 8));
        assert_eq!(second.get("c").unwrap().value, Value::Text("400Gbps".to_string()));
        assert_eq!(
            node.get("a").unwrap().get("0").unwrap().value,
            Value::Number(Number::Unsigned(1), "1".into())
        );
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        let value = |text: &str| plain(text, Origin::file(1, 1)).unwrap();
        assert_eq!(value("~"), Value::Null);
        assert_eq!(value("True"), Value::Bool(true));
        assert_eq!(value("yes"), Value::Text("yes".to_string()));
        assert_eq!(value("0x10"), Value::Number(Number::Unsigned(16), "0x10".into()));
        assert_eq!(value("1e-4"), Value::Number(Number::Float(1e-4), "1e-4".into()));
        assert_eq!(value("1_000"), Value::Text("1_000".to_string()));
        assert_eq!(value("1.2.3"), Value::Text("1.2.3".to_string()));
        assert_eq!(value(".inf"), Value::Text(".inf".to_string()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let anchors =
            "YAML anchors and aliases are not read: write the value out, or use `params` and \"$name\"";
        for (text, want) in [
            ("", "f.yaml:1:1: the file is empty: a scenario is due".to_string()),
            ("a: &x 1\n", format!("f.yaml:1:4: {anchors}")),
            (
                "a: !!str 1\n",
                "f.yaml:1:4: YAML tags (\"!…\") are not read: write the plain value".to_string(),
            ),
            (
                "a: 1\nb: 2\na: 3\n",
                "f.yaml:3:1: the field \"a\" is given twice, on line 1 and on line 3: keep one".to_string(),
            ),
            (
                "a: 1\n---\nb: 2\n",
                "f.yaml:3:1: a second YAML document starts here: a scenario is a single one".to_string(),
            ),
            ("? [a]\n: 1\n", "f.yaml:1:3: a field name is due: plain text without anchor or tag".to_string()),
            ("a: 1e999\n", "f.yaml:1:4: \"1e999\" is larger than a number can be".to_string()),
        ] {
            assert_eq!(message(text), want, "{text}");
        }
        assert!(message("a: [1, 2\nb: 3").starts_with("f.yaml:2:"), "{}", message("a: [1, 2\nb: 3"));
    }

    #[test]
    fn nesting_is_limited() {
        assert!(message(&("[".repeat(100) + &"]".repeat(100))).contains("more than 64 levels"));
        // Far too deep for the scanner, which says so itself.
        assert!(message(&"[".repeat(5_000)).contains("recursion limit"));
        assert!(message(&"- ".repeat(5_000)).contains("more than 64 levels"));
    }
}
