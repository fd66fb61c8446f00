//! Named knobs: their declaration, their values, and where `"$name"` stands for them.

use indexmap::IndexMap;

use super::error::Fault;
use super::nearest::advice;
use super::overrides::Override;
use super::tree::{Node, Origin, Value, quoted, unit_kinds};
use super::typed;
use crate::spec::Param;

/// A declared parameter.
pub(super) struct Declared {
    pub name: String,
    /// Where its name stands.
    pub at: Origin,
    pub default: Node,
    /// Its value for this run.
    pub value: Node,
    /// The override that set it.
    pub set: Option<u32>,
}

/// The parameters of a scenario, in the order of the file.
#[derive(Default)]
pub(super) struct Params {
    pub all: Vec<Declared>,
    /// As the file declares them.
    pub declared: IndexMap<String, Param>,
}

/// What a text means to the language.
enum Meaning<'a> {
    /// `$name`.
    Reference(&'a str),
    /// `$$…`: the text without its first dollar.
    Escaped(&'a str),
    Plain,
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn meaning(text: &str) -> Meaning<'_> {
    match text.strip_prefix('$') {
        Some(name) if is_name(name) => Meaning::Reference(name),
        Some(rest) if rest.starts_with('$') => Meaning::Escaped(rest),
        _ => Meaning::Plain,
    }
}

/// The text as a file has to write it for the language to read `text`.
pub(super) fn escape(text: &mut String) {
    if !matches!(meaning(text), Meaning::Plain) {
        text.insert(0, '$');
    }
}

impl Params {
    /// Takes the `params` section out of the tree.
    pub fn take(root: &mut Node) -> Result<Self, Fault> {
        let Value::Map(map) = &mut root.value else { return Ok(Self::default()) };
        let Some(section) = map.shift_remove("params") else { return Ok(Self::default()) };
        let inside = |mut fault: Fault| {
            fault.path.insert(0, "params".to_string());
            fault
        };
        let declared: IndexMap<String, Param> = typed::read(&section.node).map_err(inside)?;
        let Value::Map(entries) = section.node.value else { return Ok(Self::default()) };
        let mut all = Vec::new();
        for (name, entry) in entries {
            if !is_name(&name) {
                let text = format!("{} is no parameter name: use letters, digits, - and _", quoted(&name));
                return Err(inside(Fault::new(entry.key, text)));
            }
            let Some(default) = entry.node.get("default").cloned() else { continue };
            let value = default.clone();
            all.push(Declared { name, at: entry.key, default, value, set: None });
        }
        Ok(Self { all, declared })
    }

    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|p| p.name.clone()).collect()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|p| p.name == name)
    }

    fn advice(&self, name: &str) -> String {
        advice(name, self.all.iter().map(|p| p.name.as_str()))
    }

    /// Gives a parameter the value of override `index`.
    pub fn set(&mut self, set: &Override, index: u32) -> Result<(), Fault> {
        let origin = Origin::set(index);
        let keys = set.keys();
        let ["params", name] = keys.as_slice() else {
            return Err(Fault::new(origin, "a parameter is set as params.NAME=VALUE"));
        };
        let Some(found) = self.find(name) else {
            let text = format!("unknown parameter {}; {}", quoted(name), self.advice(name));
            return Err(Fault::new(origin, text));
        };
        let value =
            fitting(&self.all[found].default, set.node(index)?).map_err(|text| Fault::new(origin, text))?;
        self.all[found].value = value;
        self.all[found].set = Some(index);
        Ok(())
    }

    /// Checks that every reference of the tree is declared and every parameter referred to.
    pub fn check_references(&self, root: &Node) -> Result<(), Fault> {
        let used = self.references(root)?;
        match self.all.iter().zip(used).find(|(_, used)| !used) {
            None => Ok(()),
            Some((unused, _)) => {
                let text = format!(
                    "nothing refers to this parameter: write \"${}\" where it should act, or remove it",
                    unused.name
                );
                Err(Fault::new(unused.at, text).at_path(&["params", &unused.name]))
            }
        }
    }

    /// Replaces every reference by the parameter's value. A parameter set by an override has to act somewhere.
    pub fn substitute(&self, root: &mut Node) -> Result<(), Fault> {
        let used = self.references(root)?;
        for (param, used) in self.all.iter().zip(used) {
            if let (Some(index), false) = (param.set, used) {
                let text = "another --set replaces every place this parameter acts on: remove one of them";
                return Err(Fault::new(Origin::set(index), text));
            }
        }
        self.replace(root);
        Ok(())
    }

    /// Which parameters the tree refers to; an undeclared one is a fault.
    fn references(&self, root: &Node) -> Result<Vec<bool>, Fault> {
        let mut used = vec![false; self.all.len()];
        self.collect(root, &mut Vec::new(), &mut used)?;
        Ok(used)
    }

    fn collect(&self, node: &Node, path: &mut Vec<String>, used: &mut [bool]) -> Result<(), Fault> {
        match &node.value {
            Value::Text(text) => {
                if let Meaning::Reference(name) = meaning(text) {
                    let found = self.find(name).ok_or_else(|| self.undeclared(name, node.origin, path))?;
                    used[found] = true;
                }
            }
            Value::List(list) => {
                for (index, node) in list.iter().enumerate() {
                    path.push(index.to_string());
                    self.collect(node, path, used)?;
                    path.pop();
                }
            }
            Value::Map(map) => {
                for (key, entry) in map {
                    path.push(key.clone());
                    self.collect(&entry.node, path, used)?;
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(..) => {}
        }
        Ok(())
    }

    fn undeclared(&self, name: &str, at: Origin, path: &[String]) -> Fault {
        let advice = if self.all.is_empty() {
            "the file declares none; a text that starts with a dollar is written \"$$…\"".to_string()
        } else {
            self.advice(name)
        };
        let mut fault = Fault::new(at, format!("unknown parameter \"${name}\"; {advice}"));
        fault.path = path.to_vec();
        fault
    }

    fn replace(&self, node: &mut Node) {
        match &mut node.value {
            Value::Text(text) => match meaning(text) {
                Meaning::Reference(name) => {
                    if let Some(found) = self.find(name) {
                        *node = self.all[found].value.clone();
                        mark(node, found as u32);
                    }
                }
                Meaning::Escaped(rest) => *text = rest.to_string(),
                Meaning::Plain => {}
            },
            Value::List(list) => list.iter_mut().for_each(|node| self.replace(node)),
            Value::Map(map) => map.values_mut().for_each(|entry| self.replace(&mut entry.node)),
            Value::Null | Value::Bool(_) | Value::Number(..) => {}
        }
    }
}

/// Notes on a value, and all within it, which parameter it came through.
fn mark(node: &mut Node, param: u32) {
    node.origin.param = Some(param);
    match &mut node.value {
        Value::List(list) => list.iter_mut().for_each(|node| mark(node, param)),
        Value::Map(map) => map.values_mut().for_each(|entry| {
            entry.key.param = Some(param);
            mark(&mut entry.node, param);
        }),
        Value::Null | Value::Bool(_) | Value::Number(..) | Value::Text(_) => {}
    }
}

/// The value as the parameter takes it, or why it is of the wrong type.
fn fitting(default: &Node, value: Node) -> Result<Node, String> {
    let refuse = |due: &str| {
        Err(format!(
            "{} is given, but the parameter is {due}, {} by default",
            value.describe(),
            default.describe()
        ))
    };
    match (&default.value, &value.value) {
        (Value::Bool(_), Value::Bool(_)) => Ok(value),
        (Value::Bool(_), _) => refuse("true or false"),
        (Value::Number(..), Value::Number(..)) => Ok(value),
        (Value::Number(..), _) => refuse("a number"),
        (Value::List(_), Value::List(_)) => Ok(value),
        (Value::List(_), _) => refuse("a list"),
        (Value::Map(_), Value::Map(_) | Value::Text(_)) => Ok(value),
        (Value::Map(_), _) => refuse("an object"),
        (Value::Null, _) => Ok(value),
        (Value::Text(text), found) => {
            let kinds = unit_kinds(text);
            let given = match found {
                Value::Text(given) | Value::Number(_, given) => given,
                // A choice may be text or an object, `"none"` or `{"dcqcn": {}}`.
                Value::Map(_) if kinds.is_empty() => return Ok(value),
                Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) if kinds.is_empty() => {
                    return refuse("text");
                }
                Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => {
                    return refuse(&format!("a {}", kinds.join(" or ")));
                }
            };
            if kinds.is_empty() || unit_kinds(given).iter().any(|kind| kinds.contains(kind)) {
                let origin = value.origin;
                return Ok(Node::new(Value::Text(given.clone()), origin));
            }
            let due = format!("a {}", kinds.join(" or "));
            match unit_kinds(given).first() {
                Some(kind) => Err(format!(
                    "{} is a {kind}, but the parameter is {due}, {} by default",
                    quoted(given),
                    quoted(text)
                )),
                None => Err(format!("{} is not {due}; the default is {}", quoted(given), quoted(text))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_escaped_exactly_where_they_would_be_read() {
        for (text, written) in
            [("$a", "$$a"), ("$$", "$$$"), ("$$a", "$$$a"), ("$5 each", "$5 each"), ("a$b", "a$b")]
        {
            let mut escaped = text.to_string();
            escape(&mut escaped);
            assert_eq!(escaped, written);
            match meaning(&escaped) {
                Meaning::Reference(name) => panic!("{name} would be replaced"),
                Meaning::Escaped(rest) => assert_eq!(rest, text),
                Meaning::Plain => assert_eq!(escaped, text),
            }
        }
    }
}
