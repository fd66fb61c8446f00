//! `fabsim report`: pages of runs and sweeps.

mod common;

use std::fs;
use std::path::Path;

use common::fabsim;
use tempfile::TempDir;

/// Where a page may name the network: the namespace of its drawings.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

fn ran(scenario: &str, sets: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_string_lossy().into_owned();
    let mut args = vec!["run", scenario, "--quiet", "--json", "--out", &out];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let answer = fabsim(&args);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    folder
}

fn page(folder: &Path) -> String {
    let answer = fabsim(&["report", &folder.to_string_lossy()]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    assert!(answer.stdout().contains("report.html"), "{}", answer.stdout());
    fs::read_to_string(folder.join("report.html")).unwrap()
}

fn stands_alone(html: &str) {
    let text = html.replace(NAMESPACE, "");
    for outside in ["http://", "https://", " src=", "<link", "@import", "url(h", "url(\"", "url('"] {
        assert!(!text.contains(outside), "{outside}");
    }
    for part in html.split("href=\"").skip(1) {
        assert!(part.starts_with('#'), "{}", &part[..40]);
    }
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
}

#[test]
fn the_report_of_a_deadlock_shows_its_cycle() {
    let folder = ran("pfc-deadlock-cbd", &[]);
    let html = page(folder.path());
    stands_alone(&html);
    for part in [
        "id=\"fig-deadlock\"",
        "spine0:2 paused by leaf2",
        "Nobody can move",
        "id=\"fig-topology\"",
        "id=\"fig-pauses\"",
        "id=\"fig-queues\"",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // The same files, the same bytes.
    assert_eq!(page(folder.path()), html);
}

#[test]
fn what_is_missing_or_cut_is_said() {
    let folder = ran("pfc-deadlock-cbd", &[]);
    fs::remove_file(folder.path().join("pfc.csv")).unwrap();
    let queues = folder.path().join("queues.csv");
    let text = fs::read_to_string(&queues).unwrap();
    fs::write(&queues, &text[..text.len() - 5]).unwrap();
    fs::write(folder.path().join("summary.json"), "{\"scenario\": ").unwrap();
    let html = page(folder.path());
    for said in [
        "pfc.csv is not there",
        "queues.csv is cut or damaged: 1 row left out",
        "summary.json is no whole JSON",
    ] {
        assert!(html.contains(said), "{said}");
    }
    stands_alone(&html);
}

#[test]
fn drawings_alone() {
    let folder = ran("pfc-deadlock-cbd", &[]);
    let path = folder.path().to_string_lossy().into_owned();
    let answer = fabsim(&["report", &path, "--svg"]);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let names: Vec<String> = fs::read_dir(folder.path().join("report-svg"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.contains(&"deadlock.svg".to_string()) && names.contains(&"topology.svg".to_string()),
        "{names:?}"
    );
    let svg = fs::read_to_string(folder.path().join("report-svg/topology.svg")).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("prefers-color-scheme:dark")
    );
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn the_report_of_a_sweep_recommends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    let args = [
        "sweep",
        "incast",
        "--param",
        "params.size=200KB",
        "--param",
        "switch.ecn.kmin=100KB,400KB",
        "--param",
        "switch.ecn.kmax=1MB,8MB",
        "--quiet",
        "--out",
        &path,
    ];
    let answer = fabsim(&args);
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    let html = page(folder.path());
    stands_alone(&html);
    for part in ["id=\"fig-heat-0\"", "id=\"fig-tradeoff-1\"", "class=\"finding good\"", "id=\"csv-points\""]
    {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn other_folders_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    let answer = fabsim(&["report", &path]);
    assert_eq!(answer.code(), 2);
    assert!(
        answer.stderr().contains("neither the folder of a run") && answer.stderr().contains("fabsim sweep"),
        "{}",
        answer.stderr()
    );
    let answer = fabsim(&["report", &format!("{path}/none")]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("there is no such folder"), "{}", answer.stderr());
    fs::write(folder.path().join("flows.csv"), "id\n").unwrap();
    let answer = fabsim(&["report", &path, "--out", &path]);
    assert_eq!(answer.code(), 2);
    assert!(answer.stderr().contains("is a folder, but a file is due"), "{}", answer.stderr());
}
