//! Small scenarios for the tests of this module.

use serde_json::{Value, json};

use super::{Outcome, Silent, execute, prepare};
use crate::finding::Finding;
use crate::language;
use crate::spec::Scenario;

/// The scenario of a JSON object; version and name are added.
pub fn scenario(mut object: Value) -> Scenario {
    object["schema_version"] = json!(1);
    object["name"] = json!("test");
    language::load(&object.to_string(), "test.json", &[]).unwrap().scenario
}

/// Runs it without files.
pub fn run(object: Value) -> Outcome {
    execute(prepare(&scenario(object)).unwrap(), None, &mut Silent).unwrap()
}

/// The findings of a run with this code.
pub fn found(outcome: &Outcome, code: &str) -> Vec<Finding> {
    outcome.summary.verdict.findings.iter().filter(|finding| finding.code == code).cloned().collect()
}

/// The only finding of this code.
pub fn only(outcome: &Outcome, code: &str) -> Finding {
    let findings = found(outcome, code);
    assert_eq!(findings.len(), 1, "{code} in {:#?}", outcome.summary.verdict.findings);
    findings[0].clone()
}

/// One switch.
pub fn star(hosts: u32, gbps: u32, metres: u32) -> Value {
    json!({ "single-switch": {
        "hosts": hosts,
        "link": { "rate": format!("{gbps}Gbps"), "length": format!("{metres}m") }
    } })
}

/// Leaves with hosts, and spines, at 100 Gb/s.
pub fn leaf_spine(leaves: u32, spines: u32, hosts: u32) -> Value {
    let link = json!({ "rate": "100Gbps", "delay": "1us" });
    json!({ "leaf-spine": {
        "leaves": leaves, "spines": spines, "hosts_per_leaf": hosts, "host_link": link, "fabric_link": link
    } })
}

/// Senders to host0.
pub fn incast(senders: u32, size: &str) -> Value {
    json!([{ "incast": { "senders": senders, "size": size } }])
}

/// Flows as (from, to, size).
pub fn flows(list: &[(&str, &str, &str)]) -> Value {
    let list: Vec<Value> =
        list.iter().map(|(from, to, size)| json!({ "from": from, "to": to, "size": size })).collect();
    json!([{ "flows": { "list": list } }])
}

/// Two switches that send packets for host1 to each other: a loop.
pub fn routing_loop(rate: &str) -> Value {
    let link = |a: &str, b: &str| json!({ "a": a, "b": b, "rate": "40Gbps", "delay": "1us" });
    json!({
        "topology": { "edges": {
            "hosts": ["host0", "host1"],
            "switches": ["s0", "s1"],
            "links": [link("host0", "s0"), link("host1", "s1"), link("s0", "s1")]
        } },
        "nic": { "mtu": "1024B" },
        "switch": { "xoff": { "static": "100KB" }, "ecn": null },
        "congestion": "none",
        "routing": { "routes": [{ "at": "s1", "to": "host1", "via": ["s0"] }] },
        "traffic": [{ "flows": {
            "list": [{ "from": "host0", "to": "host1", "size": "100MB", "rate": rate }],
            "options": { "operation": "datagram", "ttl": 16 }
        } }],
        "run": { "until": "10ms" }
    })
}
