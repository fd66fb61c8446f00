//! The language as a whole: files, overrides, and the text of every error.

use models::config::{CongestionConfig, DcqcnPreset, EcnConfig, Threshold, TopologyConfig, TrafficConfig};
use proptest::prelude::*;
use sim_core::{Bytes, Duration, Rate};

use super::*;

const FILE: &str = r#"{
  "schema_version": 1,
  "name": "small",
  "params": {
    "rate": { "default": "400Gbps", "unit": "Gbps", "about": "Link rate." },
    "senders": { "default": 3, "unit": "hosts", "about": "Senders." },
    "fast": { "default": true, "unit": "true/false", "about": "Jitter." },
    "cc": { "default": "none", "unit": "", "about": "Congestion control." }
  },
  "topology": {
    "leaf-spine": {
      "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
      "host_link": { "rate": "$rate" },
      "fabric_link": { "rate": "$rate", "length": "40m" }
    }
  },
  "switch": { "xoff": { "dynamic": { "alpha": 0.25 } } },
  "nic": { "jitter": "$fast" },
  "congestion": "$cc",
  "traffic": [
    { "incast": { "senders": "$senders", "size": "1MB" } }
  ]
}
"#;

fn sets(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn with(texts: &[&str]) -> Scenario {
    load(FILE, "f.json", &sets(texts)).unwrap_or_else(|e| panic!("{e}")).scenario
}

/// The error of the file with `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    load(&FILE.replacen(from, to, 1), "f.json", &[]).unwrap_err().to_string()
}

fn set_error(texts: &[&str]) -> String {
    load(FILE, "f.json", &sets(texts)).unwrap_err().to_string()
}

fn leaf_spine(scenario: &Scenario) -> &models::config::LeafSpine {
    match &scenario.topology {
        TopologyConfig::LeafSpine(t) => t,
        other => panic!("{other:?}"),
    }
}

fn incast(scenario: &Scenario) -> &models::config::Incast {
    match &scenario.traffic[0] {
        TrafficConfig::Incast(t) => t,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_stand_for_their_values() {
    let loaded = load(FILE, "f.json", &[]).unwrap();
    assert_eq!(leaf_spine(&loaded.scenario).fabric_link.rate, Rate::gbps(400));
    assert_eq!(incast(&loaded.scenario).senders, 3);
    assert!(loaded.scenario.nic.jitter);
    assert_eq!(loaded.scenario.congestion, CongestionConfig::None);
    assert!(loaded.scenario.params.is_empty());
    let values = serde_json::to_string(&loaded.params).unwrap();
    assert_eq!(values, r#"{"rate":"400Gbps","senders":3,"fast":true,"cc":"none"}"#);
    assert_eq!(loaded.declared["senders"].unit, "hosts");

    let loaded = load(FILE, "f.json", &sets(&["params.rate=4.5Gbps", "params.fast=false"])).unwrap();
    assert_eq!(leaf_spine(&loaded.scenario).host_link.rate, Rate::mbps(4500));
    assert!(!loaded.scenario.nic.jitter);
    assert_eq!(loaded.params["rate"], "4.5Gbps");
}

#[test]
fn choices_can_be_set_as_text_or_by_their_fields() {
    assert_eq!(with(&["congestion=none"]).congestion, CongestionConfig::None);
    assert_eq!(with(&["congestion=dcqcn"]).congestion, CongestionConfig::default());
    assert_eq!(with(&["params.cc=dcqcn"]).congestion, CongestionConfig::default());
    let CongestionConfig::Dcqcn(c) = with(&["congestion.dcqcn.preset=sigcomm15"]).congestion else {
        panic!()
    };
    assert_eq!(c.preset, DcqcnPreset::Sigcomm15);
    let CongestionConfig::Dcqcn(c) = with(&["congestion.dcqcn.gain=0.5"]).congestion else { panic!() };
    assert_eq!(c.gain, Some(0.5));
    // The file chose `dynamic`; the override chooses again. The last override wins.
    assert_eq!(with(&["switch.xoff.static=100KB"]).switch.xoff, Threshold::Static(Bytes(100_000)));
    let both = ["congestion.timely.beta=0.5", "congestion.dcqcn.gain=0.5"];
    assert!(matches!(with(&both).congestion, CongestionConfig::Dcqcn(_)));
    let both = ["congestion.dcqcn.gain=0.5", "congestion.timely.beta=0.5"];
    assert!(matches!(with(&both).congestion, CongestionConfig::Timely(_)));
}

#[test]
fn overrides_reach_lists_and_fields_the_file_leaves_out() {
    assert_eq!(leaf_spine(&with(&["topology.leaf-spine.spines=5"])).spines, 5);
    let scenario = with(&["traffic.0.incast.size=2MB", "traffic.0.incast.options.messages=4"]);
    assert_eq!(incast(&scenario).size, Bytes(2_000_000));
    assert_eq!(incast(&scenario).options.messages, 4);
    let scenario = with(&["switch.ecn.kmin=200KB", "run.until=0.5ms", "output.sample_interval=0", "name=7"]);
    let ecn = EcnConfig { kmin: Bytes(200_000), ..EcnConfig::default() };
    assert_eq!(scenario.switch.ecn, Some(ecn));
    assert_eq!(scenario.run.until, Some(Duration::from_us(500)));
    assert_eq!(scenario.output.sample_interval, Duration::ZERO);
    assert_eq!(scenario.name, "7");
    assert_eq!(with(&["switch.ecn=null"]).switch.ecn, None);
    assert_eq!(with(&["nic.mtu=\"1KB\"", "nic.mtu=2KB"]).nic.mtu, Bytes(2000));
}

#[test]
fn yaml_says_the_same() {
    let yaml = "# comment\nschema_version: 1\nname: small\nparams:\n  senders: {default: 3, unit: hosts, about: x}\n\
                topology:\n  single-switch:\n    hosts: 4\n    link: {rate: 400Gbps}\ntraffic:\n- incast:\n    \
                senders: $senders\n    size: 1MB\n";
    let loaded = load(yaml, "f.yaml", &[]).unwrap();
    assert_eq!(incast(&loaded.scenario).senders, 3);
    let wrong = yaml.replace("size: 1MB", "size: 1Mbps");
    let error = load(&wrong, "f.yaml", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "f.yaml:13:11: traffic.0.incast.size: \"1Mbps\" is a rate, but a size is due, such as \"200KB\""
    );
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark_and_blank_lines() {
    assert!(load(&format!("\u{feff}\n\n{FILE}"), "f.json", &[]).is_ok());
}

#[test]
fn dollars_can_be_escaped() {
    let file = FILE.replace("\"name\": \"small\"", "\"name\": \"$$rate\"");
    assert_eq!(load(&file, "f.json", &[]).unwrap().scenario.name, "$rate");
    let file = FILE.replace("\"name\": \"small\"", "\"name\": \"$5 a host\"");
    assert_eq!(load(&file, "f.json", &[]).unwrap().scenario.name, "$5 a host");
}

#[test]
fn the_resolved_text_shows_every_value_of_a_preset() {
    for preset in ["sigcomm15", "connectx", "hpcc-ns3"] {
        let set = format!("params.cc={{\"dcqcn\":{{\"preset\":\"{preset}\",\"min_rate\":\"7Mbps\"}}}}");
        let loaded = load(FILE, "f.json", &sets(&[&set])).unwrap();
        let text = to_json(&loaded.scenario);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let dcqcn = value["congestion"]["dcqcn"].as_object().unwrap();
        assert_eq!(dcqcn["preset"], preset);
        assert_eq!(dcqcn["min_rate"], "7Mbps", "what the scenario gives stands");
        assert!(dcqcn.values().all(|value| !value.is_null()), "{dcqcn:?}");
        let again = load(&text, "resolved.json", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(to_json(&again.scenario), text);
    }
}

#[test]
fn the_resolved_text_reads_as_the_same_scenario() {
    let file = FILE.replace("\"name\": \"small\"", "\"name\": \"$$rate\", \"description\": \"$$$x\"");
    for overrides in [vec![], sets(&["params.cc=hpcc", "switch.ecn.pmax=0.1", "run.until=1us"])] {
        let loaded = load(&file, "f.json", &overrides).unwrap();
        let text = to_json(&loaded.scenario);
        let again = load(&text, "resolved.json", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.scenario, resolved(&loaded.scenario));
        assert_eq!(to_json(&again.scenario), text);
        assert!(text.contains("\"retransmission_timeout\""), "defaults are filled in");
        assert!(!text.contains("\"params\""));
    }
}

#[test]
fn mistakes_in_the_file_say_where_what_and_what_to_do() {
    for (from, to, want) in [
        ("\"switch\"", "\"swich\"", "f.json:17:3: unknown field \"swich\"; did you mean \"switch\"?"),
        (
            "\"spines\"",
            "\"spine\"",
            "f.json:12:20: topology.leaf-spine: unknown field \"spine\"; did you mean \"spines\"?",
        ),
        (
            "\"leaf-spine\"",
            "\"leaf_spin\"",
            "f.json:11:5: topology: unknown choice \"leaf_spin\"; did you mean \"leaf-spine\"?",
        ),
        (
            "\"leaf-spine\"",
            "\"torus\"",
            "f.json:11:5: topology: unknown choice \"torus\"; it can be single-switch, dumbbell, leaf-spine, \
             fat-tree, rail, edges",
        ),
        (
            "\"jitter\": \"$fast\"",
            "\"recovery\": \"go-back-m\", \"jitter\": \"$fast\"",
            "f.json:18:24: nic.recovery: unknown choice \"go-back-m\"; did you mean \"go-back-n\"?",
        ),
        (
            "\"40m\"",
            "\"40us\"",
            "f.json:14:51: topology.leaf-spine.fabric_link.length: \"40us\" is a duration, but a length is due, \
             such as \"40m\"",
        ),
        (
            "\"1MB\"",
            "1000000",
            "f.json:21:50: traffic.0.incast.size: the number 1000000 is given, but a size with its unit, such as \
             \"200KB\" is due",
        ),
        (
            "0.25",
            "\"x\"",
            "f.json:17:47: switch.xoff.dynamic.alpha: the text \"x\" is given, but a number is due",
        ),
        (
            "\"leaves\": 2",
            "\"leaves\": -2",
            "f.json:12:17: topology.leaf-spine.leaves: the number -2 is out of range: a whole number from 0 to \
             4294967295 is due",
        ),
        ("\"leaves\": 2, ", "", "f.json:11:19: topology.leaf-spine: the field \"leaves\" is missing: add it"),
        (
            "{ \"dynamic\": { \"alpha\": 0.25 } }",
            "{ \"dynamic\": { \"alpha\": 0.25 }, \"static\": \"1KB\" }",
            "f.json:17:23: switch.xoff: an object with the fields dynamic, static is given, but a single one of \
             static, dynamic is due",
        ),
        (
            "{ \"dynamic\": { \"alpha\": 0.25 } }",
            "\"static\"",
            "f.json:17:23: switch.xoff.static: the choice stands without its value: a size with its unit, such as \
             \"200KB\" is due",
        ),
        (
            "{ \"dynamic\": { \"alpha\": 0.25 } }",
            "\"dynamic\"",
            "f.json:17:23: switch.xoff.dynamic: the field \"alpha\" is missing: add it",
        ),
        (
            "{ \"dynamic\": { \"alpha\": 0.25 } }",
            "8",
            "f.json:17:23: switch.xoff: the number 8 is given, but one of static, dynamic is due",
        ),
        (
            "\"congestion\": \"$cc\"",
            "\"congestion\": { \"none\": { \"cc\": \"$cc\" } }",
            "f.json:19:27: congestion.none: an object is given, but this choice has no fields: write it as text",
        ),
        ("\"1MB\" } }", "\"1MB\" }", "f.json:22:3: \"]\" where \",\" or \"}\" is due"),
    ] {
        assert_eq!(error(from, to), want);
    }
    let end = FILE.find(" {\n    \"leaf-spine").unwrap();
    let cut = load(&FILE[..end], "cut.json", &[]).unwrap_err().to_string();
    assert_eq!(cut, "cut.json:10:14: the file ends where a value is due");
}

#[test]
fn another_version_is_refused_before_anything_else() {
    let file = "{\"schema_version\": 2, \"topologie\": [], \"params\": 7}";
    assert_eq!(
        load(file, "f.json", &[]).unwrap_err().to_string(),
        "f.json:1:20: schema_version: the scenario is written in version 2 of the language, this build reads version 1"
    );
    assert_eq!(
        load("{\"name\": \"x\"}", "f.json", &[]).unwrap_err().to_string(),
        "f.json:1:1: the field \"schema_version\" is missing: add \"schema_version\": 1"
    );
    assert_eq!(
        error("\"schema_version\": 1", "\"schema_version\": \"1\""),
        "f.json:2:21: schema_version: the text \"1\" is given, but the number 1 is due"
    );
    assert!(
        set_error(&["schema_version=3"])
            .starts_with("--set schema_version=3: schema_version: the scenario is")
    );
    assert_eq!(
        load("[1]", "f.yaml", &[]).unwrap_err().to_string(),
        "f.yaml:1:1: a list is given, but a scenario is due: an object with schema_version, name, topology and traffic"
    );
}

#[test]
fn parameters_have_to_be_declared_and_used() {
    for (from, to, want) in [
        (
            "\"$senders\"",
            "\"$sender\"",
            "f.json:21:30: traffic.0.incast.senders: unknown parameter \"$sender\"; did you mean \"senders\"?",
        ),
        (
            "\"$fast\"",
            "true",
            "f.json:7:5: params.fast: nothing refers to this parameter: write \"$fast\" where it should act, or \
             remove it",
        ),
        (
            "\"fast\": {",
            "\"fast lane\": {",
            "f.json:7:5: params: \"fast lane\" is no parameter name: use letters, digits, - and _",
        ),
        (", \"about\": \"Jitter.\"", "", "f.json:7:13: params.fast: the field \"about\" is missing: add it"),
        (
            "\"default\": 3",
            "\"default\": \"many\"",
            "f.json:6:29: traffic.0.incast.senders (params.senders): the text \"many\" is given, but a whole number \
             from 0 to 4294967295 is due",
        ),
    ] {
        assert_eq!(error(from, to), want);
    }
    let none = "{\"schema_version\": 1, \"name\": \"$x\"}";
    assert_eq!(
        load(none, "f.json", &[]).unwrap_err().to_string(),
        "f.json:1:31: name: unknown parameter \"$x\"; the file declares none; a text that starts with a dollar is \
         written \"$$…\""
    );
}

#[test]
fn mistakes_in_overrides_name_the_override() {
    for (texts, want) in [
        (
            &["swich.ecn.kmin=200KB"][..],
            "--set swich.ecn.kmin=200KB: unknown field \"swich\"; did you mean \"switch\"?",
        ),
        (
            &["switch.ecn.kmn=200KB"],
            "--set switch.ecn.kmn=200KB: switch.ecn: unknown field \"kmn\"; did you mean \"kmin\"?",
        ),
        (
            &["switch.ecn.kmin=400Gbps"],
            "--set switch.ecn.kmin=400Gbps: switch.ecn.kmin: \"400Gbps\" is a rate, but a size is due, such as \
             \"200KB\"",
        ),
        (
            &["switch.ecn.kmin=400"],
            "--set switch.ecn.kmin=400: switch.ecn.kmin: \"400\" has no unit: a size is due, such as \"200KB\"",
        ),
        (
            &["congestion=dcqnc"],
            "--set congestion=dcqnc: congestion: unknown choice \"dcqnc\"; did you mean \"dcqcn\"?",
        ),
        (
            &["traffic.1.incast.senders=3"],
            "--set traffic.1.incast.senders=3: traffic: there is no \"1\" in a list of one entry: its index is 0",
        ),
        (&["params.rat=1Gbps"], "--set params.rat=1Gbps: unknown parameter \"rat\"; did you mean \"rate\"?"),
        (
            &["params.rate.default=1Gbps"],
            "--set params.rate.default=1Gbps: a parameter is set as params.NAME=VALUE",
        ),
        (
            &["params.rate=400GB"],
            "--set params.rate=400GB: \"400GB\" is a size, but the parameter is a rate, \"400Gbps\" by default",
        ),
        (&["params.rate=fast"], "--set params.rate=fast: \"fast\" is not a rate; the default is \"400Gbps\""),
        (
            &["params.senders=many"],
            "--set params.senders=many: the text \"many\" is given, but the parameter is a number, the number 3 by \
             default",
        ),
        (
            &["params.fast=1"],
            "--set params.fast=1: the number 1 is given, but the parameter is true or false, true by default",
        ),
        (
            &["params.senders=1.5"],
            "--set params.senders=1.5: traffic.0.incast.senders (params.senders): the number 1.5 is given, but a \
             whole number from 0 to 4294967295 is due",
        ),
        (
            &["params.senders=4", "traffic.0.incast.senders=5"],
            "--set params.senders=4: another --set replaces every place this parameter acts on: remove one of them",
        ),
        (
            &["congestion.none.x=1"],
            "--set congestion.none.x=1: congestion.none: an object is given, but this choice has no fields: write it \
             as text",
        ),
    ] {
        assert_eq!(set_error(texts), want);
    }
}

#[test]
fn ranges_are_checked_with_their_place() {
    assert_eq!(
        error("0.25", "1000"),
        "f.json:17:47: switch.xoff.dynamic.alpha: 1000 is out of range: give 0.00390625 to 128"
    );
    assert_eq!(
        set_error(&["nic.mtu=10KB"]),
        "--set nic.mtu=10KB: nic.mtu: 10KB is out of range: give 64B to 9KB"
    );
    assert_eq!(
        set_error(&["params.senders=0"]),
        "--set params.senders=0: traffic.0.incast.senders (params.senders): 0 is out of range: give 1 to 16777216"
    );
    // A default that is out of range beside a value of the file stands at the object they share.
    assert_eq!(
        error("\"xoff\"", "\"ecn\": { \"kmin\": \"1MB\" }, \"xoff\""),
        "f.json:17:32: switch.ecn.kmin: kmin 1MB is above kmax 400KB: give at most kmax"
    );
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    assert_eq!(decode("a é".as_bytes(), "f").unwrap(), "a é");
    let error = decode(b"{\n \"name\": \"\xff\"}", "f.json").unwrap_err().to_string();
    assert_eq!(error, "f.json:2:1: the byte 0xff is not UTF-8: save the file as UTF-8");
    let error = decode(b"\xff\xfe{\0", "f.json").unwrap_err().to_string();
    assert_eq!(error, "f.json:1:1: the file is UTF-16: save it as UTF-8");
}

/// Text of the characters that mean something to JSON and YAML.
fn markup() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        ",",
        "\"",
        "'",
        "- ",
        "? ",
        "|\n",
        ">\n",
        "&a ",
        "*a",
        "!!str ",
        "!<%41>",
        "%",
        "#",
        "\n",
        "\n  ",
        "\t",
        "\\u",
        "\\ud800",
        "d800",
        "---\n",
        "...\n",
        "<<",
        "~",
        "0x",
        "1e9",
        "-",
        "$a",
        "é",
        "😀",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\0",
        "schema_version: 1\n",
        "params",
        "%YAML 1.2\n",
        "%TAG ! x\n",
        "@",
        "`",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|parts| parts.concat())
}

/// The file of these tests in both spellings, for mutation.
fn valid() -> [String; 2] {
    let yaml = "schema_version: 1\nname: small\nparams:\n  n: {default: 3, unit: hosts, about: 'x'}\ntopology:\n  \
                single-switch:\n    hosts: 4\n    link: {rate: \"400Gbps\"}\ntraffic:\n- incast:\n    senders: $n\n    \
                size: 1MB\n";
    [FILE.to_string(), yaml.to_string()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = decode(&bytes, "f") {
            let _ = load(&text, "f", &[]);
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = load(&text, "f", &[]);
        let _ = load(&format!("{{{text}"), "f", &[]);
    }

    #[test]
    fn any_markup_is_answered(text in markup()) {
        let _ = load(&text, "f", &[]);
        let _ = load(&format!("schema_version: 1\n{text}"), "f", &[]);
        let _ = text.parse::<Override>().map(|set| load(FILE, "f", &[set]));
    }

    #[test]
    fn any_mutation_is_answered(
        which in 0..2usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, markup()), 1..4),
    ) {
        let mut chars: Vec<char> = valid()[which].chars().collect();
        for (at, length, insert) in edits {
            let start = at.index(chars.len() + 1);
            let end = (start + length).min(chars.len());
            chars.splice(start..end, insert.chars().take(6));
        }
        let text: String = chars.into_iter().collect();
        if let Ok(loaded) = load(&text, "f", &[]) {
            let again = load(&to_json(&loaded.scenario), "again", &[]).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(again.scenario, resolved(&loaded.scenario));
        }
    }

    #[test]
    fn any_override_is_answered(path in "[a-z.0-9_$-]{1,30}", value in ".{0,20}") {
        let _ = load(FILE, "f", &[Override::new(path.clone(), value.clone())]);
        let _ = load(FILE, "f", &[Override::new(format!("switch.{path}"), value)]);
    }
}
