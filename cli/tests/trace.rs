//! `fabsim run --trace` and `--pcap`.

mod common;

use std::fs;
use std::path::Path;

use common::fabsim;
use serde_json::Value;

/// Runs a scenario with these arguments besides; the summary.
fn run(scenario: &str, args: &[&str]) -> (Value, String) {
    let mut all = vec!["run", scenario, "--json", "--quiet"];
    all.extend(args);
    let answer = fabsim(&all);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let mut summary: Value = serde_json::from_str(&answer.stdout()).unwrap();
    summary.as_object_mut().unwrap().remove("performance");
    (summary, answer.stderr())
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn a_trace_is_json_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "t.json");
    let (summary, _) = run("pfc-deadlock-cbd", &["--trace", &file]);
    assert_eq!(summary, run("pfc-deadlock-cbd", &[]).0);
    let events: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!((count("b"), count("e")), (4, 0), "flows begin, none is done");
    assert_eq!(count("B"), count("E"), "every pause ends, the last with the run");
    let paused =
        events.iter().filter(|event| event["ph"] == "B" && event["name"] == "paused by leaf2:2").count();
    assert!(paused > 0 && count("C") > 10 && count("M") > 3);
    let again = path(folder.path(), "again.json");
    run("pfc-deadlock-cbd", &["--trace", &again]);
    assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap());
}

#[test]
fn a_trace_of_collectives_has_their_steps() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "t.json");
    run("allreduce-ring-8", &["--trace", &file]);
    let events: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let steps = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "collective");
    assert_eq!(steps.count(), 24, "8 ranks, 3 executions");
}

#[test]
fn limits_are_kept_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, pcap) = (path(folder.path(), "t.json"), path(folder.path(), "p.pcapng"));
    let (_, said) = run(
        "pfc-deadlock-cbd",
        &[
            "--trace",
            &trace,
            "--trace-limit",
            "10",
            "--pcap",
            &pcap,
            "--pcap-at",
            "spine0:2",
            "--pcap-limit",
            "5",
        ],
    );
    assert!(said.contains("first 10 events") && said.contains("raise --trace-limit"), "{said}");
    assert!(said.contains("first 5 frames") && said.contains("raise --pcap-limit"), "{said}");
    let events: Vec<Value> = serde_json::from_str(&fs::read_to_string(&trace).unwrap()).unwrap();
    assert_eq!(events.iter().filter(|event| event["ph"] != "M").count(), 10);
    assert_eq!(blocks(&fs::read(&pcap).unwrap()).iter().filter(|block| block.0 == 6).count(), 5);
}

/// The blocks of a pcapng file: type and body.
fn blocks(bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut all) = (0, Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert!(
            length.is_multiple_of(4) && length >= 12 && word(at + length - 4) as usize == length,
            "at {at}"
        );
        all.push((word(at), &bytes[at + 8..at + length - 4]));
        at += length;
    }
    all
}

#[test]
fn a_capture_is_pcapng_with_whole_headers() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "p.pcapng");
    let (summary, _) = run("pfc-deadlock-cbd", &["--pcap", &file, "--pcap-at", "spine0:2"]);
    assert_eq!(summary, run("pfc-deadlock-cbd", &[]).0);
    let bytes = fs::read(&file).unwrap();
    let blocks = blocks(&bytes);
    assert_eq!([blocks[0].0, blocks[1].0], [0x0a0d_0d0a, 1]);
    assert_eq!(blocks[0].1[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
    assert!(blocks[1].1.windows(8).any(|name| name == b"spine0:2"));
    let word = |body: &[u8], at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap()) as usize;
    let frames: Vec<(&[u8], usize)> =
        blocks[2..].iter().map(|(_, body)| (&body[20..20 + word(body, 12)], word(body, 16))).collect();
    let pfc: Vec<&[u8]> =
        frames.iter().filter(|(f, _)| f[12..16] == [0x88, 0x08, 1, 1]).map(|(f, _)| *f).collect();
    // What leaf2 told spine0:2, as pfc.csv has it.
    assert_eq!(pfc.len(), 1);
    assert_eq!(pfc[0][..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
    assert_eq!((&pfc[0][16..18], &pfc[0][24..26]), (&[0, 8][..], &[0xff, 0xff][..]));
    let roce: Vec<&(&[u8], usize)> =
        frames.iter().filter(|(f, _)| f[12..14] == [8, 0] && f[36..38] == [0x12, 0xb7]).collect();
    assert_eq!(roce.len() + pfc.len(), frames.len());
    assert!(roce.iter().all(|(frame, length)| frame.len() == 128.min(*length)));
    // A full packet without its frame check sequence, and the first of a message with its RETH.
    assert!(roce.iter().any(|(_, length)| *length == 4154));
    let first = roce.iter().find(|(frame, _)| frame[42] == 0x06);
    if let Some((frame, length)) = first {
        assert_eq!((*length, &frame[66..70]), (4170, &20_000_000u32.to_be_bytes()[..]));
    }
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "p.pcapng");
    for (args, what) in [
        (vec!["--pcap", &file, "--pcap-at", "spin0:2"], "did you mean \"spine0\"?"),
        (vec!["--pcap", &file, "--pcap-at", "spine0:9"], "spine0 has the ports spine0:0 to spine0:3"),
        (vec!["--pcap", &file], "--pcap-at"),
        (vec!["--trace", "/proc/none/t.json"], "name another file"),
    ] {
        let mut all = vec!["run", "pfc-deadlock-cbd", "--json", "--quiet"];
        all.extend(args);
        let answer = fabsim(&all);
        assert_eq!(answer.code(), 2, "{what}");
        assert!(answer.stderr().contains(what), "{}", answer.stderr());
    }
}
