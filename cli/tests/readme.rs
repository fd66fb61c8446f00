//! What the README says of scenarios and commands holds.

mod common;

use std::{env, fs};

use common::fabsim;

fn readme() -> String {
    let path = format!("{}/../README.md", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

#[test]
fn the_table_has_every_shipped_scenario_and_its_knobs() {
    let text = readme();
    for line in fabsim(&["list"]).stdout().lines() {
        let name = line.split_whitespace().next().unwrap();
        let row = text.lines().find(|row| row.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("the table of README.md has no row for {name}"));
        let shipped =
            fs::read_to_string(format!("{}/../scenarios/library/{name}.json", env!("CARGO_MANIFEST_DIR")));
        let shipped: serde_json::Value = serde_json::from_str(&shipped.unwrap()).unwrap();
        let knobs: Vec<String> = shipped["params"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(knob, _)| format!("`{knob}`"))
            .collect();
        let cell = row.split('|').nth(3).unwrap().trim();
        assert_eq!(cell, knobs.join(", "), "knobs of {name} in README.md");
    }
}

#[test]
fn the_scenario_of_the_readme_is_one() {
    let text = readme();
    let (_, rest) = text.split_once("```json\n").expect("a scenario");
    let (scenario, _) = rest.split_once("```").expect("its end");
    let file = env::temp_dir().join(format!("fabsim-readme-{}.json", std::process::id()));
    fs::write(&file, scenario).unwrap();
    let answer = fabsim(&["show", file.to_str().unwrap(), "--resolved"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    assert!(answer.stdout().contains("\"name\": \"mine\""));
}

#[test]
fn the_commands_of_the_readme_exist() {
    let text = readme();
    let commands = text.lines().filter_map(|line| line.strip_prefix("    fabsim "));
    let mut seen = 0;
    for line in commands {
        let command = line.split_whitespace().next().unwrap();
        assert_eq!(fabsim(&[command, "--help"]).code(), 0, "fabsim {command}");
        for flag in
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|w| w.starts_with("--"))
        {
            assert!(fabsim(&[command, "--help"]).stdout().contains(flag), "fabsim {command} {flag}");
        }
        seen += 1;
    }
    assert!(seen >= 7, "{seen} commands");
}

#[test]
fn the_example_is_what_the_command_prints() {
    let root = format!("{}/..", env!("CARGO_MANIFEST_DIR"));
    let folder = env::temp_dir().join(format!("fabsim-readme-{}", std::process::id()));
    let scenario = format!("{root}/scenarios/library/incast.json");
    let answer = fabsim(&["run", &scenario, "--quiet", "--out", folder.to_str().unwrap()]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(answer.code(), 0, "{}", answer.stderr());
    // The wall clock and the folder are the only lines that may differ.
    let steady = |line: &&str| !line.starts_with("simulated ") && !line.starts_with("files ");
    let page = answer.stdout();
    let printed: Vec<&str> = page.lines().filter(steady).collect();
    let text = readme();
    let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    let example: Vec<&str> = lines
        .skip_while(|line| !line.starts_with("incast · "))
        .take(page.lines().count())
        .filter(steady)
        .collect();
    assert_eq!(example, printed);
}
