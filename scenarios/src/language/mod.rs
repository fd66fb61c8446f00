//! The scenario language: from a JSON or YAML text and `--set` overrides to a [`Scenario`].
//!
//! text → tree that knows lines → overrides → parameters → types → ranges. Every mistake says where it stands
//! (file, line and column, or the `--set` it came from), what is wrong and what to do.

mod error;
mod json;
mod nearest;
mod overrides;
mod page;
mod params;
mod ranges;
mod ranges_jobs;
mod ranges_topology;
mod schema;
mod tree;
mod typed;
mod yaml;

use indexmap::IndexMap;
use models::config::CongestionConfig;
use models::congestion::DcqcnParams;

pub use error::{LanguageError, Place};
pub use nearest::nearest;
pub use overrides::Override;
pub use page::parameter_page;
pub use ranges::{Violation, validate_ranges, violations};
pub use schema::{schema, schema_text};

use crate::spec::{Param, SCHEMA_VERSION, Scenario};
use error::Fault;
use params::Params;
use tree::{Node, Origin, Value};

/// A scenario ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario with every parameter replaced by its value; its own `params` are empty.
    pub scenario: Scenario,
    /// The values of the parameters, in the order of the file.
    pub params: IndexMap<String, serde_json::Value>,
    /// The parameters as the file declares them.
    pub declared: IndexMap<String, Param>,
}

/// Reads a scenario. `file_name` is what errors call the text; it is JSON when it starts with `{`, else YAML.
pub fn load(text: &str, file_name: &str, overrides: &[Override]) -> Result<Loaded, LanguageError> {
    read(text, file_name, overrides, true)
}

/// Reads a scenario as [`load`] does, but takes values out of their range, which [`validate_ranges`] finds: where a
/// mistake in a name or type is to be told from a value that does not fit the others.
pub fn load_unranged(text: &str, file_name: &str, overrides: &[Override]) -> Result<Loaded, LanguageError> {
    read(text, file_name, overrides, false)
}

/// The text as a tree, in one form whatever its spaces, comments and language: to tell whether two texts say the same.
pub fn canonical(text: &str, file_name: &str) -> Result<serde_json::Value, LanguageError> {
    parse(text)
        .and_then(|root| typed::read(&root))
        .map_err(|fault: Fault| fault.into_error(file_name, &[], &[]))
}

fn read(text: &str, file_name: &str, overrides: &[Override], ranged: bool) -> Result<Loaded, LanguageError> {
    let sets: Vec<String> = overrides.iter().map(Override::to_string).collect();
    let mut names = Vec::new();
    let mut root = parse(text).map_err(|fault| fault.into_error(file_name, &sets, &names))?;
    let loaded = (|| {
        let params = prepare(&mut root, overrides)?;
        let declared = params.declared.clone();
        names = params.names();
        params.substitute(&mut root)?;
        let scenario: Scenario = typed::read(&root)?;
        if let Some(violation) = violations(&scenario).into_iter().next().filter(|_| ranged) {
            return Err(placed(&root, violation));
        }
        let mut values = IndexMap::new();
        for param in &params.all {
            values.insert(param.name.clone(), typed::read(&param.value)?);
        }
        Ok(Loaded { scenario, params: values, declared })
    })();
    loaded.map_err(|fault: Fault| fault.into_error(file_name, &sets, &names))
}

/// The text of a file, or where it stops being UTF-8.
pub fn decode(bytes: &[u8], file_name: &str) -> Result<String, LanguageError> {
    let error = |line: usize, text: String| LanguageError {
        place: Place::Position {
            file: file_name.to_string(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: 1,
        },
        path: String::new(),
        text,
    };
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(error(1, "the file is UTF-16: save it as UTF-8".to_string()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_string()),
        Err(wrong) => {
            let good = &bytes[..wrong.valid_up_to()];
            let line = good.iter().filter(|&&b| b == b'\n').count() + 1;
            let byte = bytes[wrong.valid_up_to()];
            Err(error(line, format!("the byte 0x{byte:02x} is not UTF-8: save the file as UTF-8")))
        }
    }
}

/// The resolved scenario as JSON: every default filled in, those of a preset too, and no parameters left, so that
/// reading it again gives the same run.
pub fn to_json(scenario: &Scenario) -> String {
    let mut value = serde_json::to_value(resolved(scenario)).expect("a scenario has only text keys");
    escape(&mut value);
    let mut text = serde_json::to_string_pretty(&value).expect("a JSON value has only text keys");
    text.push('\n');
    text
}

/// The scenario without parameters and sweep, which go through them, with the values of its DCQCN preset written out.
fn resolved(scenario: &Scenario) -> Scenario {
    let mut resolved = Scenario { params: IndexMap::new(), sweep: None, ..scenario.clone() };
    if let CongestionConfig::Dcqcn(dcqcn) = &mut resolved.congestion {
        *dcqcn = DcqcnParams::resolve(dcqcn).to_config(dcqcn.preset);
    }
    resolved
}

fn escape(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => params::escape(text),
        serde_json::Value::Array(list) => list.iter_mut().for_each(escape),
        serde_json::Value::Object(map) => map.values_mut().for_each(escape),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

fn parse(text: &str) -> Result<Node, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = if text.trim_start().starts_with('{') { json::parse(text, None)? } else { yaml::parse(text)? };
    match root.value {
        Value::Map(_) => Ok(root),
        _ => {
            let text = format!(
                "{} is given, but a scenario is due: an object with schema_version, name, topology \
                                and traffic",
                root.describe()
            );
            Err(Fault::new(root.origin, text))
        }
    }
}

/// Checks the version and the parameters, and applies the overrides.
fn prepare(root: &mut Node, overrides: &[Override]) -> Result<Params, Fault> {
    check_version(root)?;
    let mut params = Params::take(root)?;
    params.check_references(root)?;
    for (index, set) in overrides.iter().enumerate() {
        let index = index as u32;
        if set.keys()[0] == "params" {
            params.set(set, index)?;
        } else {
            overrides::apply(root, set, index)?;
        }
    }
    check_version(root)?;
    Ok(params)
}

/// A file of another version is refused before anything else of it is judged.
fn check_version(root: &Node) -> Result<(), Fault> {
    let Some(node) = root.get("schema_version") else {
        let text =
            format!("the field \"schema_version\" is missing: add \"schema_version\": {SCHEMA_VERSION}");
        return Err(Fault::new(root.origin, text));
    };
    match node.value {
        Value::Number(tree::Number::Unsigned(version), _) if version == u64::from(SCHEMA_VERSION) => Ok(()),
        Value::Number(tree::Number::Unsigned(version), _) => {
            let text = format!(
                "the scenario is written in version {version} of the language, this build reads version \
                 {SCHEMA_VERSION}"
            );
            Err(Fault::new(node.origin, text).at_path(&["schema_version"]))
        }
        _ => {
            let text = format!("{} is given, but the number {SCHEMA_VERSION} is due", node.describe());
            Err(Fault::new(node.origin, text).at_path(&["schema_version"]))
        }
    }
}

/// A violation at the line of its value, or of the nearest object that is written out.
fn placed(root: &Node, violation: Violation) -> Fault {
    let keys: Vec<&str> = violation.path.split('.').collect();
    let origin: Origin = root.nearest(keys.iter().copied()).origin;
    Fault::new(origin, violation.text).at_path(&keys)
}

#[cfg(test)]
mod ranges_tests;
#[cfg(test)]
mod tests;
