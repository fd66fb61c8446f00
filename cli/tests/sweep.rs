//! `fabsim sweep`: interruptions, shards, and how mistakes are answered.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::fabsim;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An incast that takes some 20 ms a point, at 24 points.
fn scenario() -> Value {
    json!({
        "schema_version": 1,
        "name": "small",
        "params": { "size": { "default": "1MB", "unit": "MB", "about": "Bytes each sends." } },
        "topology": { "single-switch": { "hosts": 9, "link": { "rate": "100Gbps", "delay": "1us" } } },
        "traffic": [{ "incast": { "senders": 8, "size": "$size" } }],
        "sweep": {
            "parameters": [
                { "path": "switch.ecn.kmin", "range": { "from": "25KB", "to": "200KB", "factor": 2 } },
                { "path": "switch.ecn.kmax", "values": ["200KB", "800KB", "3200KB"] }
            ],
            "constraints": ["switch.ecn.kmax >= switch.ecn.kmin"],
            "repeat": 2
        }
    })
}

struct Place {
    folder: TempDir,
    file: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("small.json").to_string_lossy().into_owned();
        fs::write(&file, scenario().to_string()).unwrap();
        Self { folder, file }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// The tables of a sweep that was never interrupted.
    fn whole(&self) -> [String; 3] {
        let answer = fabsim(&["sweep", &self.file, "--out", &self.text("whole"), "--quiet", "--jobs", "1"]);
        assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
        tables(&self.path("whole"))
    }
}

fn tables(folder: &Path) -> [String; 3] {
    ["points.csv", "settings.csv", "sweep.json"].map(|name| fs::read_to_string(folder.join(name)).unwrap())
}

/// Rows of a journal that are whole.
fn rows(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("points.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with("}}\n")).count().saturating_sub(1)
}

#[test]
fn kills_at_any_instant_lose_nothing_that_was_done() {
    let place = Place::new();
    let want = place.whole();
    assert_eq!(want[0].lines().count(), 25);
    for round in 0..3u64 {
        let out = place.path(&format!("killed-{round}"));
        let args = ["sweep", &place.file, "--quiet", "--jobs", "2", "--out", out.to_str().unwrap()];
        let mut before = 0;
        for attempt in 0..12u64 {
            let mut child = Command::new(env!("CARGO_BIN_EXE_fabsim"))
                .args(args)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Instants that differ from each other and from round to round.
            sleep(Duration::from_millis(3 + (round * 7 + attempt * 13) % 47));
            child.kill().unwrap();
            child.wait().unwrap();
            let now = rows(&out);
            assert!(now >= before, "{before} rows, then {now}");
            before = now;
        }
        let answer = fabsim(&args);
        assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
        assert_eq!(tables(&out), want);
        assert_eq!(rows(&out), 24, "no point was done twice");
    }
}

#[test]
fn shards_jobs_and_the_plan_give_the_same_bytes() {
    let place = Place::new();
    let want = place.whole();
    let out = place.text("planned");
    let answer = fabsim(&["sweep", "plan", &place.file, "--out", &out]);
    assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    let manifest = fs::read_to_string(place.path("planned/plan.csv")).unwrap();
    assert_eq!(manifest.lines().count(), 25);
    assert!(
        manifest.starts_with("index,point,switch.ecn.kmin,switch.ecn.kmax,repeat,seed\n0,"),
        "{manifest}"
    );
    for shard in ["2/3", "3/3"] {
        assert_eq!(fabsim(&["sweep", "run", &out, "--shard", shard, "--quiet"]).code(), 0);
    }
    let answer = fabsim(&["sweep", "merge", &out]);
    assert_eq!(answer.code(), 2);
    let error = answer.stderr();
    assert!(error.contains("8 of 24 points are missing, first point 0 ("), "{error}");
    assert!(error.contains("shard 1/3 lacks 8; run them: fabsim sweep run"), "{error}");
    // The shard that is missing, on another machine that has the scenario, told by Slurm.
    let answer = Command::new(env!("CARGO_BIN_EXE_fabsim"))
        .args(["sweep", "run", &place.file, "--out", &place.text("elsewhere")])
        .envs([("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_ARRAY_TASK_MIN", "5"), ("SLURM_ARRAY_TASK_COUNT", "3")])
        .output()
        .unwrap();
    let told = String::from_utf8(answer.stderr).unwrap();
    assert!(told.contains("note: this is shard 1/3, as SLURM_ARRAY_TASK_ID says"), "{told}");
    let answer = fabsim(&["sweep", "merge", &out, &place.text("elsewhere")]);
    assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    assert_eq!(tables(&place.path("planned")), want);
    // What the command line adds is the same as what the file says.
    let mut bare = scenario();
    bare.as_object_mut().unwrap().remove("sweep");
    let file = place.text("bare.json");
    fs::write(&file, bare.to_string()).unwrap();
    let out = place.text("bare");
    let answer = fabsim(&[
        "sweep",
        &file,
        "--out",
        &out,
        "--quiet",
        "--repeat",
        "2",
        "--jobs",
        "3",
        "--param",
        "switch.ecn.kmin=25KB,50KB,100KB,200KB",
        "--param",
        "switch.ecn.kmax=200KB,800KB,3200KB",
    ]);
    assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    assert_eq!(tables(&place.path("bare"))[0], want[0]);
}

#[test]
fn a_sweep_that_is_done_runs_nothing_and_says_the_same() {
    let place = Place::new();
    place.whole();
    let again = fabsim(&["sweep", &place.file, "--out", &place.text("whole"), "--json"]);
    assert_eq!((again.code(), again.stderr()), (0, String::new()));
    let object: Value = serde_json::from_str(&again.stdout()).unwrap();
    assert_eq!(object["performance"]["points"], 0);
    assert_eq!(object["points"], 24);
    let recommended = &object["recommended"];
    assert!(recommended["values"]["switch.ecn.kmin"].is_string(), "{recommended}");
    assert!(recommended["figures"]["flows.fct_us.p99"]["ci95"].is_number(), "{recommended}");
    assert_eq!(object["sensitivity"].as_array().unwrap().len(), 2);
}

#[test]
fn points_that_fail_are_rows_and_exit_2() {
    let place = Place::new();
    let out = place.text("failing");
    let answer = fabsim(&[
        "sweep",
        &place.file,
        "--out",
        &out,
        "--quiet",
        "--repeat",
        "1",
        "--keep-points",
        "--param",
        "switch.ecn.kmin=25KB",
        "--param",
        "switch.ecn.kmax=200KB",
        "--param",
        "switch.ecn.pmax=0.5,7",
    ]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("1 of 2 points failed: the column error of "), "{}", answer.stderr());
    let table = fs::read_to_string(place.path("failing/points.csv")).unwrap();
    let failed = table.lines().nth(2).unwrap();
    assert!(failed.contains("pmax"), "{failed}");
    let id = table.lines().nth(1).unwrap().split(',').next().unwrap();
    assert!(place.path(&format!("failing/points/{id}/summary.json")).exists());
}

#[test]
fn a_run_says_that_it_leaves_the_sweep_block_out() {
    let place = Place::new();
    let answer = fabsim(&["run", &place.file, "--out", &place.text("run"), "--set", "params.size=10KB"]);
    assert_eq!(answer.code(), 0);
    assert!(answer.stderr().contains("has a sweep block of 2 parameters"), "{}", answer.stderr());
    // What it wrote is this run, not the sweep.
    let resolved = fs::read_to_string(place.path("run/scenario.json")).unwrap();
    assert!(!resolved.contains("\"sweep\""));
}

#[test]
fn mistakes_exit_2_and_say_what_to_do() {
    let place = Place::new();
    let (file, out) = (place.file.as_str(), place.text("x"));
    for (args, want) in [
        (vec!["--param", "swich.ecn.kmin=1KB"], "unknown field \"swich\"; did you mean \"switch\"?"),
        (vec!["--param", "switch.ecn.kmin"], "there is no \"=\""),
        (vec!["--param", "switch.ecn.kmin="], "there is an empty value"),
        (vec!["--param", "switch.ecn.kmin=[]"], "the grid is empty"),
        (vec!["--param", "switch.ecn.kmin=1KB,1KB"], "the same points would be run twice"),
        (vec!["--param", "switch.ecn.kmin=1GB"], "no setting meets all constraints"),
        (vec!["--param", "params.size=1KB", "--param", "params.size=2KB"], "is given twice"),
        (vec!["--repeat", "0"], "repeat at least once"),
        (vec!["--shard", "4/3"], "there is no shard 4 of 3"),
        (vec!["--shards", "3"], "--shards needs JOB_COMPLETION_INDEX"),
    ] {
        let mut all = vec!["sweep", file, "--out", &out];
        all.extend(args);
        let answer = fabsim(&all);
        assert_eq!((answer.code(), answer.stdout().as_str()), (2, ""), "{all:?}");
        assert!(answer.stderr().contains(want), "{all:?}: {}", answer.stderr());
        assert!(!place.path("x").exists(), "{all:?} left a folder");
    }
    let answer = fabsim(&["sweep", "incast", "--out", &out]);
    assert!(answer.stderr().contains("there is nothing to sweep"), "{}", answer.stderr());
    let answer = fabsim(&["sweep", file, "--out", file]);
    assert!(answer.stderr().contains("it is a file, but a folder is due"), "{}", answer.stderr());
    let answer = fabsim(&["sweep", "merge", &place.folder.path().to_string_lossy()]);
    assert!(answer.stderr().contains("there is no plan.json in it"), "{}", answer.stderr());
}

/// Files may not grow beyond 8 kB: writing fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_sweep_and_what_was_done_is_kept() {
    let place = Place::new();
    let want = place.whole();
    let out = place.text("full");
    let script = format!(
        "ulimit -f 16; trap '' XFSZ; exec '{}' sweep '{}' --out '{out}' --quiet",
        env!("CARGO_BIN_EXE_fabsim"),
        place.file
    );
    let answer = Command::new("sh").args(["-c", &script]).output().unwrap();
    let error = String::from_utf8(answer.stderr).unwrap();
    assert_eq!(answer.status.code(), Some(2), "{error}");
    assert!(error.contains("points.jsonl cannot be written: "), "{error}");
    let kept = rows(Path::new(&out));
    assert!((1..24).contains(&kept), "{kept} rows");
    let again = fabsim(&["sweep", &place.file, "--out", &out]);
    assert_eq!(again.code(), 0);
    assert!(
        again.stderr().contains(&format!("note: {kept} of 24 points were done before")),
        "{}",
        again.stderr()
    );
    assert_eq!(tables(&place.path("full")), want);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_feature_parquet_is_refused_before_anything_runs() {
    let place = Place::new();
    let answer = fabsim(&["sweep", &place.file, "--out", &place.text("out"), "--parquet"]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("cargo build --release --features parquet"), "{}", answer.stderr());
    assert!(!place.path("out").exists());
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_are_the_same_from_one_process_and_from_shards() {
    let place = Place::new();
    let run = |arguments: &[&str]| {
        let answer = fabsim(arguments);
        assert_eq!((answer.code(), answer.stderr()), (0, String::new()));
    };
    run(&["sweep", &place.file, "--out", &place.text("one"), "--quiet", "--parquet"]);
    for shard in ["2/2", "1/2"] {
        run(&["sweep", &place.file, "--out", &place.text("two"), "--quiet", "--shard", shard]);
    }
    assert!(!place.path("two").join("points.parquet").exists());
    run(&["sweep", "merge", &place.text("two"), "--parquet"]);
    let read = |name: &str| fs::read(place.path(name).join("points.parquet")).unwrap();
    let bytes = read("one");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(bytes == read("two"));
    let arguments = ["sweep", &place.file, "--out", &place.text("no"), "--shard", "1/2", "--parquet"];
    let answer = fabsim(&arguments);
    assert!(answer.stderr().contains("give --parquet to `fabsim sweep merge`"), "{}", answer.stderr());
}
