//! `fabsim list`, `show` and `schema`, and how bad input is answered.

mod common;

use std::io::Read;
use std::process::{Command, Stdio};
use std::{env, fs};

use common::fabsim;

#[test]
fn list_names_every_file_of_the_library() {
    let answer = fabsim(&["list"]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let folder = format!("{}/../scenarios/library", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let stdout = answer.stdout();
    let listed: Vec<&str> = stdout.lines().map(|line| line.split_once("  ").unwrap().0.trim()).collect();
    assert_eq!(listed, names);
    let line = stdout.lines().find(|line| line.starts_with("single-flow")).unwrap();
    assert!(line.ends_with("the goodput of a queue pair at line rate."), "{line}");
}

#[test]
fn every_shipped_scenario_is_called_as_its_file() {
    for line in fabsim(&["list"]).stdout().lines() {
        let name = line.split_whitespace().next().unwrap();
        let answer = fabsim(&["show", name, "--resolved"]);
        assert_eq!(answer.code(), 0, "{}", answer.stderr());
        let resolved: serde_json::Value = serde_json::from_str(&answer.stdout()).unwrap();
        assert_eq!(resolved["name"], name);
    }
}

#[test]
fn show_prints_description_parameters_and_text() {
    let answer = fabsim(&["show", "single-flow"]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let text = answer.stdout();
    assert!(text.starts_with("single-flow\n\nOne flow of 1 GB between two hosts"), "{text}");
    let table = "\nparameter  default  unit  about\n\
                 rate       400Gbps  Gbps  Rate of both links.\n\
                 mtu        4096B    B     Payload bytes of a full packet.\n\n{\n  \"schema_version\": 1,\n";
    assert!(text.contains(table), "{text}");
    let text = fabsim(&["show", "single-flow", "--set", "params.rate=25Gbps"]).stdout();
    assert!(text.contains("Rate of both links. (set to 25Gbps)\n"), "{text}");
}

#[test]
fn the_resolved_scenario_resolves_to_itself() {
    let first = fabsim(&["show", "incast", "--resolved", "--set", "params.senders=5"]);
    assert_eq!(first.code(), 0, "{}", first.stderr());
    let value: serde_json::Value = serde_json::from_str(&first.stdout()).unwrap();
    assert_eq!(value["traffic"][0]["incast"]["senders"], 5);
    let file = env::temp_dir().join(format!("fabsim-resolved-{}.json", std::process::id()));
    fs::write(&file, first.stdout()).unwrap();
    let second = fabsim(&["show", file.to_str().unwrap(), "--resolved"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(second.stdout(), first.stdout());
}

#[test]
fn schema_prints_the_committed_files() {
    for (args, file) in
        [(&["schema"][..], "scenario-schema.json"), (&["schema", "--markdown"], "parameters.md")]
    {
        let answer = fabsim(args);
        assert_eq!(answer.code(), 0);
        let path = format!("{}/../docs/{file}", env!("CARGO_MANIFEST_DIR"));
        let committed = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        assert!(
            answer.stdout() == committed,
            "stale: cargo run -p fabsim -- {} > docs/{file}",
            args.join(" ")
        );
    }
}

#[test]
fn bad_input_exits_2_and_says_where() {
    let folder = env::temp_dir();
    let folder = folder.to_str().unwrap();
    for (args, want) in [
        (
            vec!["show", "none.json"],
            "error: none.json: there is no such file, and no shipped scenario of that name; `fabsim list` names the \
             shipped ones\n"
                .to_string(),
        ),
        (
            vec!["show", "incats.json"],
            "error: incats.json: there is no such file, and no shipped scenario of that name; did you mean the \
             shipped scenario \"incast\"?\n"
                .to_string(),
        ),
        (vec!["show", folder], format!("error: {folder} is a directory: name a scenario file in it\n")),
        (
            vec!["show", "incast", "--set", "swich.ecn.kmin=200KB"],
            "error: --set swich.ecn.kmin=200KB: unknown field \"swich\"; did you mean \"switch\"?\n".to_string(),
        ),
        (
            vec!["show", "incast", "--set", "params.size=3us"],
            "error: --set params.size=3us: \"3us\" is a duration, but the parameter is a size, \"10MB\" by default\n"
                .to_string(),
        ),
    ] {
        let answer = fabsim(&args);
        assert_eq!((answer.code(), answer.stderr()), (2, want));
        assert_eq!(answer.stdout(), "");
    }
}

#[test]
fn a_file_that_is_cut_short_names_its_line() {
    let text = fabsim(&["show", "incast", "--resolved"]).stdout();
    let file = env::temp_dir().join(format!("fabsim-cut-{}.json", std::process::id()));
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let answer = fabsim(&["show", file.to_str().unwrap()]);
    fs::write(&file, b"{\n\"\xff\"").unwrap();
    let bytes = fabsim(&["show", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(answer.code(), 2);
    let line = text[..text.len() / 2].lines().count();
    assert!(answer.stderr().contains(&format!(".json:{line}:")), "{}", answer.stderr());
    assert_eq!(bytes.code(), 2);
    assert!(bytes.stderr().contains(".json:2:1: the byte 0xff is not UTF-8"), "{}", bytes.stderr());
}

#[test]
fn wrong_usage_exits_2() {
    for args in [&["shwo"][..], &["show"], &["show", "incast", "--set", "x"], &["list", "--bogus"], &[]] {
        assert_eq!(fabsim(args).code(), 2, "{args:?}");
    }
    assert_eq!(fabsim(&["--help"]).code(), 0);
    assert_eq!(fabsim(&["--version"]).code(), 0);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fabsim"))
        .args(["schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed before or while it writes: the schema is larger than a pipe holds.
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}
