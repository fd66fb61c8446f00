//! Scenarios of published problem reports, reduced to what decides them. Each test that uses one says what is right.

use serde_json::{Value, json};

/// `senders` hosts to one over a single switch, 100 Gb/s and 1 us a link unless `more` says otherwise; `more` is laid over
/// the scenario key by key.
pub fn incast(senders: u32, size: &str, more: &Value) -> String {
    let mut scenario = json!({
        "schema_version": 1,
        "name": "incast",
        "topology": {"single-switch": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "traffic": [{"incast": {"senders": senders, "size": size}}],
    });
    overlay(&mut scenario, more);
    scenario.to_string()
}

/// Two hosts on one switch, one sending `messages` messages of `size`; `more` is laid over the scenario.
pub fn pair(size: &str, messages: u32, more: &Value) -> String {
    let mut scenario = json!({
        "schema_version": 1,
        "name": "pair",
        "topology": {"single-switch": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "congestion": "none",
        "traffic": [{"flows": {"list": [
            {"from": "host0", "to": "host1", "size": size, "messages": messages}
        ]}}],
    });
    overlay(&mut scenario, more);
    scenario.to_string()
}

/// Puts every value of `from` in its place in `into`; objects are merged, everything else replaces.
pub fn overlay(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                overlay(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlays_merge_objects_and_replace_the_rest() {
        let mut value = json!({"a": {"b": 1, "c": [1, 2]}, "d": 3});
        overlay(&mut value, &json!({"a": {"c": [3]}, "e": null}));
        assert_eq!(value, json!({"a": {"b": 1, "c": [3]}, "d": 3, "e": null}));
    }
}
