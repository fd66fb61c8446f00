//! Finding nodes by name, and what to say when there is no such node.

use std::collections::BTreeMap;
use std::fmt;

use super::{Graph, NodeIndex};

/// Families of names listed in an error before the rest is counted only.
const LISTED: usize = 8;

/// Names of nodes, to look up many: a lookup is logarithmic where [`Graph::node`] is linear.
#[derive(Clone, Debug)]
pub struct NameIndex<'a> {
    names: &'a [String],
    index: BTreeMap<&'a str, NodeIndex>,
}

impl<'a> NameIndex<'a> {
    /// The names of all nodes of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        Self::of(&graph.names)
    }

    /// These names, in the order of their nodes. Of equal names the last counts.
    pub fn of(names: &'a [String]) -> Self {
        let index = names.iter().enumerate().map(|(n, name)| (name.as_str(), n as NodeIndex)).collect();
        Self { names, index }
    }

    /// The node called `name`, or what to say about there being none.
    pub fn find(&self, name: &str) -> Result<NodeIndex, UnknownName> {
        self.index.get(name).copied().ok_or_else(|| UnknownName::new(name, self.names))
    }
}

/// A name that no node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name as written.
    pub name: String,
    /// The name of a node most like it, unless none is like it.
    pub nearest: Option<String>,
    /// The names there are, `host0…host31, leaf0…leaf3`.
    pub known: String,
}

impl UnknownName {
    /// `name`, which is not in `names`.
    pub fn new(name: &str, names: &[String]) -> Self {
        Self {
            name: name.to_string(),
            nearest: nearest(name, names).map(str::to_string),
            known: families(names),
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no node \"{}\"", self.name)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean \"{nearest}\"?")?;
        } else {
            write!(f, ".")?;
        }
        write!(f, " The nodes are {}", self.known)
    }
}

/// The name most like `name` (fewest letters inserted, removed or changed, the first of equals), if at most a
/// third of the letters differ (or two).
pub fn nearest<'a>(name: &str, names: &'a [String]) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    names
        .iter()
        .map(|candidate| (edit_distance(&wanted, candidate), candidate.as_str()))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, remove or change to make `wanted` of `candidate`, whatever their case.
fn edit_distance(wanted: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (i, c) in candidate.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, w) in wanted.iter().enumerate() {
            let changed = diagonal + usize::from(c != *w);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[wanted.len()]
}

/// A name as what stands before its number, and the number.
fn split(name: &str) -> Option<(&str, u64)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    let canonical = digits == "0" || !digits.starts_with('0');
    canonical.then(|| digits.parse().ok()).flatten().map(|number| (prefix, number))
}

/// Names in short: runs of consecutive numbers as `host0…host31`.
pub fn families(names: &[String]) -> String {
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for name in names {
        let follows = runs.last().is_some_and(|(_, last)| match (split(last), split(name)) {
            (Some((a, n)), Some((b, m))) => a == b && n.checked_add(1) == Some(m),
            (None, _) | (_, None) => false,
        });
        match runs.last_mut() {
            Some(run) if follows => run.1 = name,
            Some(_) | None => runs.push((name, name)),
        }
    }
    let shown = runs.iter().take(LISTED);
    let mut parts: Vec<String> =
        shown.map(|(a, b)| if a == b { (*a).to_string() } else { format!("{a}…{b}") }).collect();
    if runs.len() > LISTED {
        parts.push(format!("and {} more", runs.len() - LISTED));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_string()).collect()
    }

    #[test]
    fn nearest_is_by_edits() {
        let known = names(&["host0", "host1", "leaf0", "spine0"]);
        assert_eq!(nearest("Leaf0", &known), Some("leaf0"));
        assert_eq!(nearest("lef0", &known), Some("leaf0"));
        assert_eq!(nearest("spin0", &known), Some("spine0"));
        assert_eq!(nearest("aggregation", &known), None);
        assert_eq!(edit_distance(&"kitten".chars().collect::<Vec<_>>(), "sitting"), 3);
    }

    #[test]
    fn families_are_runs_of_numbers() {
        assert_eq!(
            families(&names(&["host0", "host1", "host2", "leaf0", "a", "b7", "b9"])),
            "host0…host2, leaf0, a, b7, b9"
        );
        assert_eq!(families(&names(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])), {
            "a, b, c, d, e, f, g, h, and 2 more"
        });
        // A number that does not fit, or with a leading zero, is a plain name.
        assert_eq!(
            families(&names(&["x00", "x01", "y99999999999999999999"])),
            "x00, x01, y99999999999999999999"
        );
    }

    #[test]
    fn unknown_names_say_what_there_is() {
        let known = names(&["host0", "host1", "switch0"]);
        let index = NameIndex::of(&known);
        assert_eq!(index.find("switch0"), Ok(2));
        assert_eq!(
            index.find("swich0").unwrap_err().to_string(),
            "there is no node \"swich0\"; did you mean \"switch0\"? The nodes are host0…host1, switch0"
        );
        assert_eq!(
            index.find("zzzzzzz").unwrap_err().to_string(),
            "there is no node \"zzzzzzz\". The nodes are host0…host1, switch0"
        );
    }
}
