//! `fabsim run`: what it prints and writes, and how it ends.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::fabsim;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a scenario in it.
fn folder_with(scenario: &Value) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.json");
    fs::write(&file, scenario.to_string()).unwrap();
    let file = file.to_string_lossy().into_owned();
    (folder, file)
}

/// Eight hosts to one: pauses, marks and CNPs.
fn incast() -> Value {
    json!({
        "schema_version": 1,
        "name": "small",
        "params": { "size": { "default": "2MB", "unit": "MB", "about": "Bytes each sends." } },
        "topology": { "single-switch": { "hosts": 9, "link": { "rate": "100Gbps", "delay": "1us" } } },
        "traffic": [{ "incast": { "senders": 8, "size": "$size" } }]
    })
}

/// Takes minutes.
fn long() -> Value {
    let mut scenario = incast();
    scenario["params"]["size"]["default"] = json!("100GB");
    scenario
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let (folder, file) = folder_with(&incast());
    let answer = fabsim(&["run", &file, "--json", "--quiet", "--seed", "7", "--set", "params.size=1MB"]);
    assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    let summary: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(
        keys(&summary),
        [
            "scenario",
            "seed",
            "sim_time_ns",
            "events",
            "packet_hops",
            "params",
            "flows",
            "pfc",
            "ecn",
            "cnp",
            "drops",
            "queues",
            "headroom",
            "retransmissions",
            "deadlock",
            "collectives",
            "verdict",
            "performance"
        ]
    );
    assert_eq!(keys(&summary["flows"]), ["count", "completed", "fct_us", "goodput_gbps"]);
    assert_eq!(keys(&summary["flows"]["fct_us"]), ["min", "mean", "p50", "p99", "max"]);
    assert_eq!(keys(&summary["flows"]["goodput_gbps"]), ["min", "mean", "max"]);
    assert_eq!(
        keys(&summary["pfc"]),
        ["pause_frames", "resume_frames", "paused_us_total", "watchdog_storms", "watchdog_restores"]
    );
    assert_eq!(keys(&summary["deadlock"]), ["detected", "at_ns", "cycle"]);
    assert_eq!(keys(&summary["verdict"]), ["healthy", "findings"]);
    assert_eq!(
        keys(&summary["performance"]),
        ["wall_s", "setup_s", "packet_hops_per_s", "peak_rss_bytes", "threads", "version", "commit"]
    );
    assert_eq!(summary["seed"], 7);
    assert_eq!(summary["params"], json!({ "size": "1MB" }));
    assert_eq!(summary["flows"]["completed"], 8);
    assert!(summary["performance"]["peak_rss_bytes"].as_u64().unwrap() > 1_000_000);
    assert_eq!(files(folder.path()).len(), 1, "no files without --out");
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_threads_and_another_seed_does_not() {
    let (folder, file) = folder_with(&incast());
    let run = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let out_text = out.to_string_lossy().into_owned();
        let mut args = vec!["run", &file, "--quiet", "--out", &out_text];
        args.extend(more);
        assert_eq!(fabsim(&args).code(), 0);
        let mut files = files(&out);
        assert!(files.remove("performance.json").is_some());
        files
    };
    let (a, b, c) = (run("a", &[]), run("b", &["--threads", "4"]), run("c", &["--seed", "2"]));
    assert_eq!(a.len(), 7);
    assert!(a == b, "files differ between equal runs");
    assert_ne!(a["flows.csv"], c["flows.csv"]);
    // The resolved scenario runs to the same results.
    let again = folder.path().join("a/scenario.json").to_string_lossy().into_owned();
    let out = folder.path().join("d");
    assert_eq!(fabsim(&["run", &again, "--quiet", "--out", &out.to_string_lossy()]).code(), 0);
    assert_eq!(a["flows.csv"], files(&out)["flows.csv"]);
}

#[test]
fn the_page_fits_and_names_its_files() {
    let (folder, file) = folder_with(&incast());
    let output = Command::new(env!("CARGO_BIN_EXE_fabsim"))
        .args(["run", &file])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 110), "{page}");
    for label in [
        "small · 8 senders → 1 receiver",
        "flows     8 of 8 done",
        "goodput   mean ",
        "ECN  ",
        "PFC  ",
        "buffer  ",
        "verdict   healthy",
        "files     runs/small-1/",
    ] {
        assert!(page.contains(label), "{label} in\n{page}");
    }
    assert!(folder.path().join("runs/small-1/performance.json").exists());
}

#[test]
fn threads_beyond_one_are_said() {
    let (_folder, file) = folder_with(&incast());
    let answer = fabsim(&["run", &file, "--json", "--threads", "8"]);
    assert!(answer.stderr().contains("this version simulates on one thread"), "{}", answer.stderr());
    assert_eq!(fabsim(&["run", &file, "--json", "--threads", "0"]).code(), 2);
}

#[test]
fn what_fail_on_names_makes_exit_1() {
    let lossy = json!({
        "schema_version": 1,
        "name": "lossy",
        "topology": { "single-switch": { "hosts": 9, "link": { "rate": "100Gbps" } } },
        "switch": { "buffer": "200KB", "classes": [], "ecn": null },
        "congestion": "none",
        "traffic": [{ "incast": { "senders": 8, "size": "1MB" } }],
        "run": { "until": "200us" }
    });
    let (_folder, file) = folder_with(&lossy);
    for (what, code) in [
        ("drops", 1),
        ("incomplete", 1),
        ("unhealthy", 1),
        ("deadlock", 0),
        ("storm", 0),
        ("deadlock,storm", 0),
        ("deadlock,drops", 1),
        ("nothing", 2),
    ] {
        assert_eq!(fabsim(&["run", &file, "--json", "--quiet", "--fail-on", what]).code(), code, "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_is_refused_before_the_run() {
    let (folder, file) = folder_with(&long());
    let started = Instant::now();
    // The scenario itself stands where a folder is due.
    let answer = fabsim(&["run", &file, "--out", &file]);
    assert_eq!((answer.code(), answer.stdout()), (2, String::new()));
    assert!(
        answer.stderr().contains("scenario.json: it is a file, but a folder is due"),
        "{}",
        answer.stderr()
    );
    let below = format!("{file}/deeper/still");
    let answer = fabsim(&["run", &file, "--out", &below]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("the folder cannot be made"), "{}", answer.stderr());
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn missing_folders_are_made() {
    let (folder, file) = folder_with(&incast());
    let out = folder.path().join("a/b/c");
    assert_eq!(fabsim(&["run", &file, "--quiet", "--out", &out.to_string_lossy()]).code(), 0);
    assert_eq!(files(&out).len(), 8);
}

#[test]
fn a_full_disk_is_said_with_the_file_and_what_was_written_stays() {
    let (folder, file) = folder_with(&incast());
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink("/dev/full", out.join("queues.csv")).unwrap();
    let answer = fabsim(&["run", &file, "--json", "--out", &out.to_string_lossy()]);
    assert_eq!(answer.code(), 2);
    assert!(
        answer.stderr().contains("queues.csv cannot be written: No space left on device"),
        "{}",
        answer.stderr()
    );
    assert!(answer.stderr().contains("kept in"), "{}", answer.stderr());
    assert!(out.join("scenario.json").exists() && out.join("pfc.csv").exists());
    let summary: Value = serde_json::from_str(&answer.stdout()).unwrap();
    assert_eq!(summary["scenario"], "small");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let (_folder, file) = folder_with(&incast());
    let mut child = start(&["run", &file, "--json", "--quiet"]);
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((status.code(), errors), (Some(0), String::new()));
}

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fabsim"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until `path` holds something.
fn wait_for(path: &Path) {
    let begun = Instant::now();
    while fs::metadata(path).map_or(0, |data| data.len()) < 100 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} stays empty", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_keeps_partial_results() {
    let (folder, file) = folder_with(&long());
    let out = folder.path().join("out");
    let out_text = out.to_string_lossy().into_owned();
    let child = start(&["run", &file, "--json", "--out", &out_text]);
    // It has been flushed: a kill would leave it as well.
    wait_for(&out.join("queues.csv"));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("stopped at") && errors.contains("is kept in"), "{errors}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes: Vec<&str> = summary["verdict"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"interrupted"), "{codes:?}");
    assert_eq!(summary["verdict"]["healthy"], false);
    let files = files(&out);
    assert_eq!(files.len(), 8, "{:?}", files.keys());
    for name in ["queues.csv", "rates.csv", "pfc.csv", "flows.csv"] {
        let text = String::from_utf8(files[name].clone()).unwrap();
        let columns = text.lines().next().unwrap().split(',').count();
        assert!(text.ends_with('\n') && text.lines().count() > 2, "{name}");
        assert!(text.lines().all(|line| line.split(',').count() == columns), "{name} has a torn row");
    }
}

#[test]
fn progress_is_quiet_when_told_and_the_run_can_be_ended_politely() {
    let (_folder, file) = folder_with(&long());
    let mut child = start(&["run", &file, "--json", "--quiet"]);
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-TERM");
    child.stdin.take().map(|mut input| input.flush());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("the summary holds up to there"), "{errors}");
}
