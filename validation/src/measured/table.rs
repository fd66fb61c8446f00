//! The table itself: its header and its rows.

use super::log::{MeasuredRow, Timing};
use super::scan::{self, Number};

/// What a column of one half holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Time,
    AlgBw,
    BusBw,
    Wrong,
    Error,
    Other,
}

/// The columns of a table, from its header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    root: bool,
    halves: Vec<Vec<Field>>,
}

impl Columns {
    /// The columns that a header line names; `None` for another line.
    pub fn from_header(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_start_matches('#')).collect();
        let kind = words.iter().position(|word| *word == "type")?;
        if !words[..kind].contains(&"count") || !words[..kind].iter().any(|word| word.ends_with("size")) {
            return None;
        }
        let mut columns = Self { root: false, halves: Vec::new() };
        for word in &words[kind + 1..] {
            let field = match *word {
                "redop" | "" => continue,
                "root" => {
                    columns.root = true;
                    continue;
                }
                "time" | "cputime" => {
                    columns.halves.push(vec![Field::Time]);
                    continue;
                }
                "algbw" => Field::AlgBw,
                "busbw" => Field::BusBw,
                "wrong" => Field::Wrong,
                "error" => Field::Error,
                _ => Field::Other,
            };
            columns.halves.last_mut()?.push(field);
        }
        // What follows the last half (timestamp, algorithm, channels) belongs to the row.
        if let Some(last) = columns.halves.last_mut() {
            while last.last() == Some(&Field::Other) {
                last.pop();
            }
        }
        columns.halves.truncate(2);
        (!columns.halves.is_empty()).then_some(columns)
    }

    /// The columns that a row without header has, by the number of its values.
    fn guess(values: &[Value]) -> Self {
        let half = vec![Field::Time, Field::AlgBw, Field::BusBw, Field::Wrong];
        let whole = |value: &Value| matches!(value, Value::Number(n) if n.digit == 1.0 && n.value >= -1.0);
        let root = values.first().is_some_and(|first| {
            whole(first) && (matches!(first, Value::Number(n) if n.value == -1.0) || values.len() % 2 == 1)
        });
        let halves = if values.len() - usize::from(root) > 4 { 2 } else { 1 };
        Self { root, halves: vec![half; halves] }
    }

    fn values(&self) -> usize {
        usize::from(self.root) + self.halves.iter().map(Vec::len).sum::<usize>()
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Number(Number),
    NotAvailable,
}

/// The words of a row, before its columns are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowText {
    bytes: u64,
    count: u64,
    datatype: String,
    op: Option<String>,
    values: Vec<Value>,
    /// Blanks before the first value: where many, the first half is empty.
    gap: usize,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// All of it is there.
    Whole(MeasuredRow),
    /// The half called so is cut.
    Half(MeasuredRow, &'static str),
    /// No half is whole.
    Cut,
}

const DATATYPES: [&str; 26] = [
    "int8", "char", "uint8", "int32", "int", "uint32", "int64", "uint64", "half", "float16", "fp16", "float",
    "float32", "fp32", "double", "float64", "fp64", "bfloat16", "bf16", "fp8_e4m3", "fp8_e5m2", "f8e4m3",
    "f8e5m2", "f8e4m", "f8e5m", "fp8",
];

/// The size of an element, in bytes.
pub(super) fn datatype_bytes(datatype: &str) -> Option<u64> {
    Some(match datatype {
        "int8" | "char" | "uint8" | "fp8_e4m3" | "fp8_e5m2" | "f8e4m3" | "f8e5m2" | "f8e4m" | "f8e5m"
        | "fp8" => 1,
        "half" | "float16" | "fp16" | "bfloat16" | "bf16" => 2,
        "int32" | "int" | "uint32" | "float" | "float32" | "fp32" => 4,
        "int64" | "uint64" | "double" | "float64" | "fp64" => 8,
        _ => return None,
    })
}

fn value(word: &str) -> Option<Value> {
    if word.eq_ignore_ascii_case("n/a") {
        return Some(Value::NotAvailable);
    }
    scan::number(word).map(Value::Number)
}

impl RowText {
    /// The row in a line: two whole numbers and a type, whatever a launcher put before them.
    pub fn find(line: &str) -> Option<Self> {
        let words = scan::words(line);
        let (kind, size) = (2..words.len()).find_map(|kind| {
            let (_, size) = words[kind - 2];
            let whole = words[kind - 1].1.bytes().all(|b| b.is_ascii_digit());
            (DATATYPES.contains(&words[kind].1) && whole).then_some(())?;
            let digits = size.len() - size.bytes().rev().take_while(u8::is_ascii_digit).count();
            let before = size[..digits].chars().next_back();
            let apart = before.is_none_or(|c| !c.is_alphanumeric() && !"#-+.,/_".contains(c));
            (apart && digits < size.len()).then_some((kind, &size[digits..]))
        })?;
        if line[..words[kind - 2].0].trim_end().ends_with('#') {
            return None; // Commented out.
        }
        let (bytes, count) = (size.parse().ok()?, words[kind - 1].1.parse().ok()?);
        let mut rest = &words[kind + 1..];
        let mut op = None;
        let mut end = words[kind].0 + words[kind].1.len();
        if let Some((at, word)) = rest.first()
            && word.bytes().all(|b| b.is_ascii_alphabetic())
            && value(word).is_none()
        {
            op = (*word != "none").then(|| word.to_string());
            end = at + word.len();
            rest = &rest[1..];
        }
        let mut row =
            Self { bytes, count, datatype: words[kind].1.to_string(), op, values: Vec::new(), gap: 0 };
        row.take(rest, end);
        Some(row)
    }

    /// Takes values up to the first word that is none, to which a number may still be glued.
    fn take(&mut self, words: &[(usize, &str)], mut end: usize) {
        for (at, word) in words {
            if self.values.len() <= 1 {
                self.gap = self.gap.max(at.saturating_sub(end));
            }
            end = at + word.len();
            match value(word) {
                Some(value) => self.values.push(value),
                None => {
                    // `-1node-0:25:25 [0] NCCL INFO`: the message begins where the row stopped.
                    let starts_time = word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit());
                    if !starts_time && let Some(number) = scan::glued_number(word) {
                        self.values.push(Value::Number(number));
                    }
                    return;
                }
            }
        }
    }

    /// Whether values of a later line may still belong to it.
    pub fn is_open(&self, columns: Option<&Columns>) -> bool {
        let wanted = columns.map_or(4, |c| usize::from(c.root) + c.halves.first().map_or(4, Vec::len));
        self.values.len() < wanted
    }

    /// Adds the values of a line that holds nothing else; whether it was one.
    pub fn go_on(&mut self, line: &str) -> bool {
        let words = scan::words(line);
        let first = words.iter().rposition(|(_, word)| value(word).is_none()).map_or(0, |last| last + 1);
        let launcher = first == 0 || (first == 1 && words[0].1.ends_with([':', '>', '|']));
        if !launcher || words.len() - first < 4 {
            return false;
        }
        self.values.extend(words[first..].iter().filter_map(|(_, word)| value(word)));
        true
    }

    /// The row, with the columns of its table where a header named them.
    pub fn read(&self, line: usize, columns: Option<&Columns>) -> Reading {
        let guessed;
        let columns = match columns {
            Some(columns) => columns,
            None => {
                guessed = Columns::guess(&self.values);
                &guessed
            }
        };
        let mut values = &self.values[..];
        let mut root = None;
        if columns.root
            && let Some((first, rest)) = values.split_first()
        {
            root = match first {
                Value::Number(n) if n.value >= 0.0 && n.value <= f64::from(u32::MAX) => Some(n.value as u32),
                Value::Number(_) | Value::NotAvailable => None,
            };
            values = rest;
        }
        let (datatype, op) = (self.datatype.clone(), self.op.clone());
        let (bytes, count) = (self.bytes, self.count);
        let mut row =
            MeasuredRow { line, bytes, count, datatype, op, root, out_of_place: None, in_place: None };
        let first = columns.halves.first().map_or(4, Vec::len);
        let whole = self.values.len() >= columns.values();
        if !whole && self.gap >= 25 && values.len() >= columns.halves.last().map_or(4, Vec::len) {
            row.in_place = columns.halves.last().and_then(|fields| timing(fields, values));
            return if row.in_place.is_some() { Reading::Whole(row) } else { Reading::Cut };
        }
        if values.len() < first {
            return Reading::Cut;
        }
        row.out_of_place = columns.halves.first().and_then(|fields| timing(fields, values));
        if whole {
            row.in_place = columns.halves.get(1).and_then(|fields| timing(fields, &values[first..]));
        }
        match (row.out_of_place.is_some(), row.in_place.is_some(), whole) {
            (false, false, _) => Reading::Cut,
            (true, false, false) => Reading::Half(row, "in-place"),
            _ => Reading::Whole(row),
        }
    }
}

/// The values of one half; `None` where it has no time.
fn timing(fields: &[Field], values: &[Value]) -> Option<Timing> {
    let of = |field: Field| {
        let at = fields.iter().position(|f| *f == field)?;
        match values.get(at)? {
            Value::Number(number) => Some(*number),
            Value::NotAvailable => None,
        }
    };
    let time = of(Field::Time)?;
    let (algbw, busbw) = (of(Field::AlgBw), of(Field::BusBw));
    let digit = [algbw, busbw].iter().flatten().map(|n| n.digit).fold(0.0, f64::max);
    let wrong = of(Field::Wrong).filter(|n| n.value >= 0.0);
    // Logs without header: what has an exponent below zero is the old largest error.
    let is_error = wrong.is_some_and(|n| n.value > 0.0 && n.value < 1.0);
    Some(Timing {
        time_us: time.value,
        algbw_gbytes_per_s: algbw.map(|n| n.value),
        busbw_gbytes_per_s: busbw.map(|n| n.value),
        wrong: wrong.filter(|_| !is_error).map(|n| n.value as u64),
        max_error: of(Field::Error).or(wrong.filter(|_| is_error)).map(|n| n.value),
        time_digit_us: time.digit,
        bandwidth_digit_gbytes_per_s: digit,
    })
}
