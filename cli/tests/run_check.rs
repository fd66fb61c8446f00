//! `fabsim check` and `fabsim import`.

mod common;

use std::fs;

use common::fabsim;
use serde_json::{Value, json};

fn headroom(bytes: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let scenario = json!({
        "schema_version": 1,
        "name": "cable",
        "topology": { "single-switch": { "hosts": 3, "link": { "rate": "100Gbps", "length": "300m" } } },
        "nic": { "mtu": "9000B" },
        "switch": { "headroom": { "bytes": bytes } },
        "traffic": [{ "incast": { "senders": 2, "size": "1MB" } }]
    });
    let file = folder.path().join("cable.json");
    fs::write(&file, scenario.to_string()).unwrap();
    let file = file.to_string_lossy().into_owned();
    (folder, file)
}

#[test]
fn findings_say_what_where_and_what_to_do() {
    let (_folder, file) = headroom("38912B");
    let answer = fabsim(&["check", &file]);
    assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    let text = answer.stdout();
    assert!(text.starts_with("cable: 1 error"), "{text}");
    assert!(
        text.contains("error     switch0:0, switch0:1, switch0:2 (3 ports) [headroom-too-small]"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let answer = fabsim(&["check", &file, "--set", "switch.headroom.bytes=200KB"]);
    assert_eq!(answer.stdout(), "cable: nothing found\n");
}

#[test]
fn check_fails_only_when_asked_to() {
    let (_folder, file) = headroom("38912B");
    for (what, code) in [("error", 1), ("warning", 1), ("note", 1), ("drops", 2)] {
        assert_eq!(fabsim(&["check", &file, "--fail-on", what]).code(), code, "{what}");
    }
    let (_folder, sound) = headroom("200KB");
    assert_eq!(fabsim(&["check", &sound, "--fail-on", "note"]).code(), 0);
}

#[test]
fn check_as_json() {
    let (_folder, file) = headroom("38912B");
    let found: Value = serde_json::from_str(&fabsim(&["check", &file, "--json"]).stdout()).unwrap();
    assert_eq!(found["scenario"], "cable");
    let first = &found["findings"][0];
    assert_eq!(
        (first["code"].as_str(), first["severity"].as_str()),
        (Some("headroom-too-small"), Some("error"))
    );
    assert!(first["where"].as_str().unwrap().starts_with("switch0:0"));
}

const TOPOLOGY: &str = "4 1 3\n3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n";
const FLOWS: &str = "2\n0 2 3 100 1000000 2.0\n1 2 3 100 1000000 2.0\n";

#[test]
fn imported_files_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("topo.txt"), TOPOLOGY).unwrap();
    fs::write(path("flow.txt"), FLOWS).unwrap();
    let scenario = path("not/yet/there/s.json");
    let answer = fabsim(&[
        "import",
        "hpcc",
        &path("flow.txt"),
        &path("topo.txt"),
        "--out",
        &scenario,
        "--name",
        "mine",
    ]);
    assert_eq!((answer.code(), answer.stdout()), (0, String::new()), "{}", answer.stderr());
    assert!(answer.stderr().lines().all(|line| line.starts_with("note: ")), "{}", answer.stderr());
    let summary: Value =
        serde_json::from_str(&fabsim(&["run", &scenario, "--json", "--quiet"]).stdout()).unwrap();
    assert_eq!(
        (summary["scenario"].as_str(), summary["flows"]["completed"].as_u64()),
        (Some("mine"), Some(2))
    );

    let shown = fabsim(&["import", "hpcc", &path("topo.txt"), &path("flow.txt"), "--name", "mine"]);
    assert_eq!(shown.stdout(), fs::read_to_string(scenario).unwrap());
}

#[test]
fn what_cannot_be_imported_or_written_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("topo.txt"), TOPOLOGY.replace("4 1 3", "4 1 5")).unwrap();
    fs::write(path("flow.txt"), FLOWS).unwrap();
    let answer = fabsim(&["import", "hpcc", &path("topo.txt"), &path("flow.txt")]);
    assert_eq!((answer.code(), answer.stdout()), (2, String::new()));
    assert!(answer.stderr().contains("topo.txt:1: "), "{}", answer.stderr());
    let answer = fabsim(&["import", "hpcc", &path("none.txt")]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("none.txt cannot be read"), "{}", answer.stderr());
    fs::write(path("topo.txt"), TOPOLOGY).unwrap();
    let answer =
        fabsim(&["import", "hpcc", &path("topo.txt"), &path("flow.txt"), "--out", &path("flow.txt/s.json")]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("flow.txt of --out cannot be made"), "{}", answer.stderr());
    assert_eq!(fabsim(&["import", "omnet", &path("topo.txt")]).code(), 2);
}
