//! The parameter page: the JSON Schema as readable Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::schema;

const HEAD: &str = "# Scenario parameters

Every field of a scenario file, generated from the same source as `scenario-schema.json`
(`fabsim schema --markdown`). `N` in a path stands for an index of a list; `--set` takes the same paths,
`--set traffic.0.incast.senders=16`.

Quantities are text with a unit:

| kind | units | example |
|---|---|---|
| duration | `ps`, `ns`, `us`, `ms`, `s` | `\"1us\"` |
| rate | `bps`, `Kbps`, `Mbps`, `Gbps`, `Tbps` | `\"400Gbps\"` |
| size | `B`, `KB` (1000 B), `MB`, `GB`, `TB`, `KiB` (1024 B), `MiB`, `GiB`, `TiB` | `\"200KB\"` |
| length | `mm`, `cm`, `m`, `km` | `\"40m\"` |

Any value may be `\"$name\"`, the value of the parameter `name` of the `params` section; text that starts with such
a dollar is written `\"$$name\"`. A choice whose fields all have defaults may be written as its name alone,
`\"dcqcn\"` for `{\"dcqcn\": {}}`.
";

/// One table of the page.
struct Section<'a> {
    name: &'a str,
    places: Vec<String>,
    schema: &'a Map<String, Value>,
}

/// The page of all parameters, as Markdown.
pub fn parameter_page() -> String {
    let schema = schema::plain();
    let mut page =
        Page { definitions: schema["$defs"].as_object(), sections: Vec::new(), index: BTreeMap::new() };
    let Some(root) = schema.as_object() else { return String::new() };
    page.sections.push(Section { name: "Scenario", places: vec![String::new()], schema: root });
    page.visit(root, "");
    let mut out = HEAD.to_string();
    for section in &page.sections {
        page.write(section, &mut out);
    }
    out
}

struct Page<'a> {
    definitions: Option<&'a Map<String, Value>>,
    sections: Vec<Section<'a>>,
    index: BTreeMap<&'a str, usize>,
}

impl<'a> Page<'a> {
    fn definition(&self, reference: &'a str) -> Option<(&'a str, &'a Map<String, Value>)> {
        let name = reference.strip_prefix("#/$defs/")?;
        Some((name, self.definitions?.get(name)?.as_object()?))
    }

    /// Finds the definitions below `schema` in the order they are met; each gets one section.
    fn visit(&mut self, schema: &'a Map<String, Value>, path: &str) {
        if let Some((name, definition)) =
            schema.get("$ref").and_then(Value::as_str).and_then(|r| self.definition(r))
        {
            if quantity(definition).is_some() {
                return;
            }
            if let Some(&known) = self.index.get(name) {
                self.sections[known].places.push(path.to_string());
                return;
            }
            self.index.insert(name, self.sections.len());
            self.sections.push(Section { name, places: vec![path.to_string()], schema: definition });
            return self.visit(definition, path);
        }
        for (field, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
            if let Some(property) = property.as_object() {
                self.visit(property, &path);
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(element) = schema.get(key).and_then(Value::as_object) {
                let part = if key == "items" { "N" } else { "NAME" };
                self.visit(element, &format!("{path}.{part}"));
            }
        }
        for key in ["oneOf", "anyOf"] {
            for choice in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                if let Some(choice) = choice.as_object() {
                    self.visit(choice, path);
                }
            }
        }
    }

    fn write(&self, section: &Section, out: &mut String) {
        let title = if section.places[0].is_empty() { "The file" } else { &section.places[0] };
        let _ = write!(out, "\n<a id=\"{}\"></a>\n## {title}\n\n", anchor(section.name));
        let _ = writeln!(out, "{}", text(section.schema));
        if section.places.len() > 1 {
            let others: Vec<String> = section.places[1..].iter().map(|p| format!("`{p}`")).collect();
            let _ = writeln!(out, "\nAlso at {}.", others.join(", "));
        }
        let mut rows = Vec::new();
        let head = match section.schema.get("oneOf").and_then(Value::as_array) {
            Some(choices) => {
                choices.iter().filter_map(Value::as_object).for_each(|choice| self.choice(choice, &mut rows));
                "| choice | value | default | meaning |"
            }
            None => {
                self.fields(section.schema, "", &mut rows);
                "| field | type | default | meaning |"
            }
        };
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{head}\n|---|---|---|---|\n{}", rows.join("\n"));
        }
    }

    /// The rows of one choice of an enum.
    fn choice(&self, choice: &Map<String, Value>, rows: &mut Vec<String>) {
        if let Some(name) = choice.get("const").and_then(Value::as_str) {
            rows.push(format!("| `\"{name}\"` | | | {} |", text(choice)));
        }
        for name in
            choice.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            rows.push(format!("| `\"{name}\"` | | | {} |", text(choice)));
        }
        for (name, content) in choice.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let Some(content) = content.as_object() else { continue };
            rows.push(format!("| `{name}` | {} | | {} |", self.kind(content), text(choice)));
            self.fields(content, &format!("{name}."), rows);
        }
    }

    fn fields(&self, schema: &Map<String, Value>, prefix: &str, rows: &mut Vec<String>) {
        let required = schema.get("required").and_then(Value::as_array);
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let Some(property) = property.as_object() else { continue };
            let default = if required.is_some_and(|list| list.iter().any(|r| r == name)) {
                "required".to_string()
            } else {
                property.get("default").map_or(String::new(), shown)
            };
            rows.push(format!(
                "| `{prefix}{name}` | {} | {default} | {} |",
                self.kind(property),
                text(property)
            ));
        }
    }

    /// The type of a value, with a link where it has a section.
    fn kind(&self, schema: &Map<String, Value>) -> String {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let Some(name) = reference.strip_prefix("#/$defs/") else { return reference.to_string() };
            let definition = self.definitions.and_then(|d| d.get(name)).and_then(Value::as_object);
            return match definition.and_then(quantity) {
                Some(kind) => kind.to_string(),
                None => format!("[{}](#{})", words(name), anchor(name)),
            };
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array) {
                let kinds: Vec<String> =
                    choices.iter().filter_map(Value::as_object).map(|c| self.kind(c)).collect();
                return kinds.join(" or ");
            }
        }
        match schema.get("type") {
            Some(Value::Array(kinds)) => {
                let kinds: Vec<String> =
                    kinds.iter().filter_map(Value::as_str).map(|k| self.simple(k, schema)).collect();
                kinds.join(" or ")
            }
            Some(Value::String(kind)) => self.simple(kind, schema),
            _ => "any".to_string(),
        }
    }

    fn simple(&self, kind: &str, schema: &Map<String, Value>) -> String {
        let element = |key: &str| {
            schema.get(key).and_then(Value::as_object).map_or("any".to_string(), |e| self.kind(e))
        };
        match kind {
            "integer" => "whole number".to_string(),
            "number" => "number".to_string(),
            "boolean" => "true or false".to_string(),
            "string" => "text".to_string(),
            "array" => format!("list of {}", element("items")),
            "object" if schema.contains_key("additionalProperties") && !schema.contains_key("properties") => {
                format!("name → {}", element("additionalProperties"))
            }
            "object" => "object".to_string(),
            other => format!("`{other}`"),
        }
    }
}

/// The kind of quantity a definition is, if it is a text with a unit.
fn quantity(definition: &Map<String, Value>) -> Option<&'static str> {
    let sort = definition.get("description")?.as_str()?;
    definition.get("pattern")?;
    [("Duration", "duration"), ("Rate", "rate"), ("Bytes", "size"), ("Length", "length")]
        .into_iter()
        .find(|(name, _)| sort.contains(name))
        .map(|(_, kind)| kind)
}

/// The description in one line, fit for a table cell.
fn text(schema: &Map<String, Value>) -> String {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    description.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn shown(default: &Value) -> String {
    let text = default.to_string();
    if text.len() <= 40 { format!("`{text}`") } else { "see there".to_string() }
}

fn anchor(name: &str) -> String {
    name.to_lowercase()
}

/// `LinkConfig` → `link`, `SizeDistribution` → `size distribution`.
fn words(name: &str) -> String {
    let mut out = String::new();
    for c in name.strip_suffix("Config").unwrap_or(name).chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_field_is_on_the_page() {
        let page = parameter_page();
        for row in [
            "## switch.ecn\n",
            "| `kmin` | size | `\"100KB\"` | Queue length below which nothing is marked",
            "| `dynamic.alpha` | number | required | The factor.",
            "| `\"go-back-0\"` | | | A NAK sends the whole message again",
            "| `traffic` | list of [traffic](#trafficconfig) |",
            "| `params` | name → [param](#param) |",
            "| `until` | duration or `null` | `null` | The run ends at this simulated time",
        ] {
            assert!(page.contains(row), "{row}\n{page}");
        }
    }

    #[test]
    fn every_link_has_its_section() {
        let page = parameter_page();
        let links: Vec<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(links.len() > 30);
        for link in links {
            assert!(page.contains(&format!("<a id=\"{link}\">")), "{link}");
        }
    }

    #[test]
    fn names_become_words() {
        assert_eq!(words("LinkConfig"), "link");
        assert_eq!(words("SizeDistribution"), "size distribution");
    }
}
