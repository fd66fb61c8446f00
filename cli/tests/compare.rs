//! `fabsim compare`.

mod common;

use std::fs;

use common::fabsim;
use serde_json::Value;

const LOG: &str = "\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid  10000 on     node-0 device  0 [0000:06:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  10001 on     node-1 device  0 [0000:06:00] NVIDIA H100 80GB HBM3
NCCL version 2.30.3+cuda13.0
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
        1024           256     float     sum      -1    57.93    0.02    0.02       0    57.90    0.02    0.02       0
        2048           512     float     sum      -1    60.50    0.03    0.03       0    59.82    0.03    0.03       0
        4096          1024     float     sum      -1    66.96    0.06    0.06       0    66.24    0.06    0.06       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.0366
";

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        })
        .collect();
    (folder, paths)
}

fn json(args: &[&str]) -> Value {
    let answer = fabsim(args);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    serde_json::from_str(&answer.stdout()).unwrap()
}

#[test]
fn a_log_is_read() {
    let (_folder, files) = folder(&[("run.log", LOG)]);
    let found = json(&["compare", &files[0], "--parse-only", "--json"]);
    assert_eq!(found["rows"].as_array().unwrap().len(), 3);
    assert_eq!(found["rows"][2]["measured_us"], 66.96);
    assert_eq!(found["rows"][2]["in_place"]["time_us"], 66.24);
    let log = &found["log"];
    assert_eq!((log["ranks"].as_u64(), log["collective"].as_str()), (Some(2), Some("all-reduce")));
    assert_eq!((log["version"].as_str(), log["nodes"].as_u64()), (Some("2.30.3+cuda13.0"), Some(2)));
    assert_eq!(log["problems"], Value::Array(vec![]));
    assert!(found.get("error").is_none() && found.get("diagnosis").is_none());
}

#[test]
fn a_log_alone_is_diagnosed() {
    let (_folder, files) = folder(&[("run.log", LOG)]);
    let found = json(&["compare", &files[0], "--json", "--in-place"]);
    let row = &found["rows"][0];
    assert_eq!((row["bytes"].as_u64(), row["measured_us"].as_f64()), (Some(1024), Some(57.9)));
    assert!(row["simulated_us"].is_null() && row["error_pct"].is_null());
    assert_eq!(found["error"]["latency"]["sizes"], 0);
    assert!(found["error"]["bandwidth"]["mape_pct"].is_null());
    let fast = LOG
        .replace("4096          1024", "4096000000 1024000000")
        .replace("66.96    0.06    0.06", "6696  611.7  611.7");
    let (_folder, files) = folder(&[("fast.log", &fast)]);
    let found = json(&["compare", &files[0], "--json", "--line-rate", "400Gbps"]);
    assert_eq!(found["diagnosis"][0]["code"], "impossible");
    let answer = fabsim(&["compare", &files[0], "--line-rate", "400GB"]);
    assert_eq!(answer.code(), 2);
}

#[test]
fn logs_are_set_side_by_side_and_files_are_written() {
    let (folder, files) = folder(&[("a.log", LOG), ("b.log", &LOG.replace("60.50 ", "160.50"))]);
    let out = folder.path().join("new/out");
    let found = json(&["compare", &files[0], &files[1], "--json", "--out", out.to_str().unwrap()]);
    assert_eq!(found["others"].as_array().unwrap().len(), 1);
    assert_eq!(found["paired"][0]["rows"][1]["outlier"], true);
    assert_eq!(found["paired"][0]["diagnosis"][1]["code"], "outliers");
    let text = fs::read_to_string(out.join("compare.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), found);
    for name in ["busbw-1.svg", "time-1.svg", "busbw-2.svg", "time-2.svg"] {
        assert!(fs::read_to_string(out.join(name)).unwrap().starts_with("<svg "), "{name}");
    }
    assert_eq!(fs::read_to_string(out.join("rows.csv")).unwrap().lines().count(), 7);
    let page = fabsim(&["compare", &files[0], &files[1]]).stdout();
    assert!(page.contains("stands out") && page.contains("[outliers]"), "{page}");
}

#[test]
fn slow_nodes_are_eliminated() {
    let (_folder, files) = folder(&[(
        "pairs.csv",
        "644,699,49.36\n632,641,88.36\n284,678,49.28\n641,644,49.30\n404,699,86.81\n",
    )]);
    let found = json(&["compare", "--pairs", &files[0], "--json"]);
    assert_eq!(found["bad"], serde_json::json!(["644"]));
    assert_eq!(found["at_least_one_of"], serde_json::json!([["284", "678"]]));
    let page = fabsim(&["compare", "--pairs", &files[0]]).stdout();
    assert!(page.contains("644") && page.contains("[bad-node]"), "{page}");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let (folder, files) = folder(&[
        ("run.log", LOG),
        ("empty.log", "srun: error: no such partition\n"),
        ("pairs.csv", "a,b\n"),
    ]);
    for (args, words) in [
        (vec!["compare"], "LOG"),
        (vec!["compare", &files[1]], "holds no row of an nccl-tests table"),
        (vec!["compare", &files[0], &files[1]], "empty.log holds no row"),
        (vec!["compare", "missing.log"], "missing.log cannot be read"),
        (vec!["compare", folder.path().to_str().unwrap()], "cannot be read"),
        (vec!["compare", "--pairs", &files[2]], "pairs.csv:1: 2 fields"),
        (vec!["compare", &files[0], "--scenario", "no-such"], "no shipped scenario"),
        (vec!["compare", &files[0], "--scenario", "incast"], "has no cluster and jobs"),
        (vec!["compare", &files[0], "--exact"], "--scenario"),
        (vec!["compare", &files[0], "--line-rate", "400"], "no unit"),
    ] {
        let answer = fabsim(&args);
        assert_eq!(answer.code(), 2, "{args:?}");
        assert!(answer.stderr().contains(words), "{args:?}: {}", answer.stderr());
        assert_eq!(answer.stdout(), "", "{args:?}");
    }
}
