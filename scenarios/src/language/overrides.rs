//! `--set path=value`.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;

use super::error::{Fault, LanguageError, Place};
use super::json;
use super::tree::{Entry, Node, Origin, Value, quoted};

/// One `path=value`: keys and list indices separated by dots, and what to put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    path: String,
    value: String,
}

impl Override {
    /// Sets what is at `path` to `value`: a JSON value if it is one, else text.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { path: path.into(), value: value.into() }
    }

    /// The path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value as written.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The path's keys and indices.
    pub(super) fn keys(&self) -> Vec<&str> {
        self.path.split('.').collect()
    }

    /// The value as a tree. Text that starts like a JSON list, object or quoted text has to be one.
    pub(super) fn node(&self, index: u32) -> Result<Node, Fault> {
        let origin = Origin::set(index);
        let text = self.value.trim();
        match json::parse(text, Some(index)) {
            Ok(node) => Ok(node),
            Err(fault) if text.starts_with(['{', '[', '"']) => Err(fault),
            Err(_) => Ok(Node::new(Value::Text(self.value.clone()), origin)),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

impl FromStr for Override {
    type Err = LanguageError;

    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let error = |message: &str| LanguageError {
            place: Place::Set(text.to_string()),
            path: String::new(),
            text: message.to_string(),
        };
        let (path, value) = text
            .split_once('=')
            .ok_or_else(|| error("there is no \"=\": write it as switch.ecn.kmin=200KB"))?;
        if path.split('.').any(str::is_empty) {
            return Err(error("the path has an empty part: write it as switch.ecn.kmin=200KB"));
        }
        Ok(Self::new(path.trim(), value))
    }
}

/// Puts the value of override `index` at its path, creating objects on the way.
pub(super) fn apply(root: &mut Node, set: &Override, index: u32) -> Result<(), Fault> {
    let origin = Origin::set(index);
    let value = set.node(index)?;
    let keys = set.keys();
    let mut node = root;
    for (depth, key) in keys.iter().enumerate() {
        node = step(node, key, index).map_err(|text| Fault::new(origin, text).at_path(&keys[..depth]))?;
    }
    *node = value;
    Ok(())
}

/// The child of `node` called `key`. A choice written as text, a null or a number gives way to an object.
fn step<'a>(node: &'a mut Node, key: &str, index: u32) -> Result<&'a mut Node, String> {
    let origin = Origin::set(index);
    let empty = || Node::new(Value::Map(IndexMap::new()), origin);
    match node.value {
        Value::List(_) | Value::Map(_) => {}
        Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_) => *node = empty(),
    }
    match &mut node.value {
        Value::List(list) => {
            let length = list.len();
            let found = key.parse::<usize>().ok().and_then(|i| list.get_mut(i));
            found.ok_or_else(|| no_element(key, length))
        }
        Value::Map(map) => {
            let entry = map.entry(key.to_string()).or_insert_with(|| Entry::new(origin, empty()));
            entry.touched = Some(index);
            Ok(&mut entry.node)
        }
        Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_) => unreachable!("replaced above"),
    }
}

fn no_element(key: &str, length: usize) -> String {
    match length {
        0 => format!("the list is empty, so there is no {} in it: set the whole list", quoted(key)),
        1 => format!("there is no {} in a list of one entry: its index is 0", quoted(key)),
        _ => {
            format!("there is no {} in a list of {length} entries: they are 0 to {}", quoted(key), length - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(file: &str, sets: &[&str]) -> Result<serde_json::Value, String> {
        let mut root = json::parse(file, None).unwrap();
        let texts: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        for (index, text) in sets.iter().enumerate() {
            apply(&mut root, &text.parse().unwrap(), index as u32)
                .map_err(|f| f.into_error("f.json", &texts, &[]).to_string())?;
        }
        Ok(super::super::typed::read(&root).unwrap())
    }

    #[test]
    fn values_are_json_scalars_or_text() {
        let got =
            after("{}", &["a=1", "b=true", "c=null", "d=\"1\"", "e=4.5Gbps", "f=[1,2]", "g.h=x=y"]).unwrap();
        let want = serde_json::json!({"a": 1, "b": true, "c": null, "d": "1", "e": "4.5Gbps", "f": [1, 2],
            "g": {"h": "x=y"}});
        assert_eq!(got, want);
    }

    #[test]
    fn paths_go_through_lists_and_replace_scalars() {
        let file = r#"{"a": [{"b": 1}, {"b": 2}], "c": "none"}"#;
        let got = after(file, &["a.1.b=7", "c.dcqcn.gain=0.5"]).unwrap();
        assert_eq!(got, serde_json::json!({"a": [{"b": 1}, {"b": 7}], "c": {"dcqcn": {"gain": 0.5}}}));
    }

    #[test]
    fn mistakes_are_named() {
        let file = r#"{"a": [1, 2], "b": [], "c": [0]}"#;
        for (set, want) in [
            ("a.2=1", "--set a.2=1: a: there is no \"2\" in a list of 2 entries: they are 0 to 1"),
            ("a.x=1", "--set a.x=1: a: there is no \"x\" in a list of 2 entries: they are 0 to 1"),
            ("b.0=1", "--set b.0=1: b: the list is empty, so there is no \"0\" in it: set the whole list"),
            ("c.1=1", "--set c.1=1: c: there is no \"1\" in a list of one entry: its index is 0"),
            ("a=[1,", "--set a=[1,: the value ends inside a \"[\""),
            ("a={\"x\":", "--set a={\"x\":: the text ends where a value is due"),
            ("a={\"x\":1", "--set a={\"x\":1: the value ends inside a \"{\""),
        ] {
            assert_eq!(after(file, &[set]).unwrap_err(), want);
        }
        let error = "a".parse::<Override>().unwrap_err().to_string();
        assert_eq!(error, "--set a: there is no \"=\": write it as switch.ecn.kmin=200KB");
        let error = "a..b=1".parse::<Override>().unwrap_err().to_string();
        assert_eq!(error, "--set a..b=1: the path has an empty part: write it as switch.ecn.kmin=200KB");
    }
}
