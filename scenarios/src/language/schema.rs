//! The JSON Schema of a scenario file.

use serde_json::{Map, Value, json};

use crate::spec::Scenario;

/// Name of the definition that stands for `"$name"`.
const REFERENCE: &str = "ParameterReference";

/// The schema of the types alone, without what the language adds to them.
pub(super) fn plain() -> Value {
    schemars::schema_for!(Scenario).to_value()
}

/// JSON Schema (2020-12) of a scenario file. `"$name"` may stand for any value, and a choice whose fields all have
/// defaults may be written as its name alone.
pub fn schema() -> Value {
    let mut schema = plain();
    let definitions = schema["$defs"].clone();
    each_choice(&mut schema, &definitions);
    if let Some(Value::Object(defs)) = schema.get_mut("$defs") {
        for (name, definition) in defs.iter_mut() {
            if name != "Param" {
                allow_references(definition);
            }
        }
        let reference = json!({
            "type": "string",
            "pattern": r"^\$[A-Za-z_][A-Za-z0-9_-]*$",
            "description": "`\"$name\"`: the value of that parameter."
        });
        defs.insert(REFERENCE.to_string(), reference);
    }
    allow_references(&mut schema);
    schema
}

/// The schema as `docs/scenario-schema.json` holds it.
pub fn schema_text() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).expect("a JSON value has only text keys");
    text.push('\n');
    text
}

/// Adds the short form `"dcqcn"` of `{"dcqcn": {}}` beside every choice whose fields all have defaults.
fn each_choice(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(choices)) = map.get_mut("oneOf") {
                let short: Vec<Value> = choices.iter().filter_map(|c| short_form(c, definitions)).collect();
                choices.extend(short);
            }
            map.values_mut().for_each(|value| each_choice(value, definitions));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| each_choice(value, definitions)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn short_form(choice: &Value, definitions: &Value) -> Option<Value> {
    let (name, content) = choice.get("properties")?.as_object()?.iter().next()?;
    let definition = definitions.get(content.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?)?;
    let all_default = definition.get("type")? == "object" && definition.get("required").is_none();
    all_default.then(|| json!({ "description": "With all defaults.", "type": "string", "const": name }))
}

/// Lets `"$name"` stand for every field and element that is not free text anyway.
fn allow_references(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if name != "schema_version" && name != "params" {
                allow_references(property);
                allow_reference(property);
            }
        }
    }
    if let Some(items) = map.get_mut("items") {
        allow_references(items);
        allow_reference(items);
    }
    for list in ["oneOf", "anyOf"] {
        if let Some(Value::Array(choices)) = map.get_mut(list) {
            choices.iter_mut().for_each(allow_references);
        }
    }
}

fn allow_reference(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    let free_text = map.get("type").is_some_and(|t| t == "string")
        && !["pattern", "const", "enum"].iter().any(|k| map.contains_key(*k));
    if free_text {
        return;
    }
    let mut outer = Map::new();
    for key in ["description", "default"] {
        if let Some(value) = map.shift_remove(key) {
            outer.insert(key.to_string(), value);
        }
    }
    let reference = json!({ "$ref": format!("#/$defs/{REFERENCE}") });
    outer.insert("anyOf".to_string(), json!([Value::Object(std::mem::take(map)), reference]));
    *map = outer;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::parameter_page;

    /// A committed file, with the line ends of the platform it was checked out on taken out.
    fn committed(name: &str) -> String {
        let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
    }

    #[test]
    fn the_committed_schema_is_fresh() {
        let fresh = committed("scenario-schema.json") == schema_text();
        assert!(fresh, "stale: cargo run -p fabsim -- schema > docs/scenario-schema.json");
    }

    #[test]
    fn the_committed_parameter_page_is_fresh() {
        let fresh = committed("parameters.md") == parameter_page();
        assert!(fresh, "stale: cargo run -p fabsim -- schema --markdown > docs/parameters.md");
    }

    #[test]
    fn references_and_short_forms_are_allowed() {
        let schema = schema();
        let senders = &schema["$defs"]["Incast"]["properties"]["senders"]["anyOf"];
        assert_eq!(senders[0]["type"], "integer");
        assert_eq!(senders[1]["$ref"], "#/$defs/ParameterReference");
        let choices = schema["$defs"]["CongestionConfig"]["oneOf"].as_array().unwrap();
        for name in ["none", "dcqcn", "timely", "swift", "hpcc"] {
            assert!(choices.iter().any(|c| c["const"] == name), "{name}");
        }
        let topologies = schema["$defs"]["TopologyConfig"]["oneOf"].as_array().unwrap();
        assert!(topologies.iter().all(|c| c["const"] != "leaf-spine"));
        // Free text stays free, and the parameters themselves are no references.
        assert_eq!(schema["properties"]["name"]["type"], "string");
        assert!(schema["properties"]["params"].get("anyOf").is_none());
    }
}
