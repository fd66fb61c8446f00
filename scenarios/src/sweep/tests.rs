//! Plans: which points there are, and how mistakes are answered.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A small incast with knobs; the whole takes a millisecond.
pub fn source() -> Source {
    let text = json!({
        "schema_version": 1, "name": "small",
        "params": { "size": { "default": "100KB", "unit": "KB", "about": "Size." } },
        "topology": { "single-switch": { "hosts": 5, "link": { "rate": "100Gbps", "delay": "1us" } } },
        "traffic": [{ "incast": { "senders": 4, "size": "$size" } }]
    });
    Source { text: text.to_string(), file: "small.json".to_string(), sets: Vec::new() }
}

pub fn spec(object: Value) -> SweepSpec {
    serde_json::from_value(object).unwrap()
}

pub fn plan(object: Value) -> Result<Plan, String> {
    Plan::new(source(), spec(object)).map_err(|error| error.to_string())
}

fn values(plan: &Plan) -> Vec<Vec<String>> {
    (0..plan.len()).map(|i| plan.point(i).values.iter().map(plain).collect()).collect()
}

#[test]
fn a_grid_has_its_last_parameter_fastest_and_seeds_innermost() {
    let plan = plan(json!({
        "parameters": [
            { "path": "switch.ecn.kmin", "values": ["10KB", "20KB"] },
            { "path": "traffic.0.incast.senders", "range": { "from": 1, "to": 3, "step": 1 } }
        ],
        "repeat": 2
    }))
    .unwrap();
    assert_eq!((plan.len(), plan.settings(), plan.repeat()), (12, 6, 2));
    let want = [["10KB", "1"], ["10KB", "1"], ["10KB", "2"], ["10KB", "2"]];
    assert_eq!(values(&plan)[..4], want.map(|row| row.map(String::from).to_vec()));
    assert_eq!(plan.point(0).seed, 1, "the first seed is the scenario's");
    assert_ne!(plan.point(1).seed, 1);
    assert_eq!(plan.point(3).seed, plan.point(1).seed, "all settings have the same seeds");
    let loaded = plan.load(&plan.point(11)).unwrap();
    assert_eq!(loaded.scenario.switch.ecn.unwrap().kmin.0, 20_000);
    assert_eq!(loaded.scenario.seed, plan.point(11).seed);
}

#[test]
fn ids_are_of_values_and_seed_alone() {
    let of = |object: Value| plan(object).unwrap();
    let short = of(json!({ "parameters": [{ "path": "params.size", "values": ["20KB"] }] }));
    let long =
        of(json!({ "parameters": [{ "path": "params.size", "values": ["10KB", "20KB"] }], "repeat": 3 }));
    assert_eq!(short.point(0).id(), long.point(3).id());
    // Golden: a change of it makes every journal worthless.
    assert_eq!(short.point(0).id(), "919c615fc421c705");
    assert_ne!(short.fingerprint, long.fingerprint);
}

#[test]
fn the_fingerprint_sees_meaning_and_not_spelling() {
    let parameters = json!([{ "path": "params.size", "values": ["20KB"] }]);
    let of = |text: String, object: Value| {
        Plan::new(Source { text, ..source() }, spec(object)).unwrap().fingerprint
    };
    let first = of(source().text, json!({ "parameters": parameters }));
    let spaced = source().text.replace(',', " ,\n ");
    let goals =
        json!({ "parameters": parameters, "objectives": [{ "figure": "retransmissions", "goal": "min" }] });
    assert_eq!(of(spaced, goals), first);
    let other = source().text.replace("100Gbps", "200Gbps");
    assert_ne!(of(other, json!({ "parameters": parameters })), first);
    let constrained = json!({ "parameters": parameters, "constraints": ["params.size > 1KB"] });
    assert_ne!(of(source().text, constrained), first);
}

#[test]
fn constraints_look_at_parameters_defaults_and_what_follows_from_them() {
    let plan = plan(json!({
        "parameters": [
            { "path": "switch.ecn.kmin", "values": ["50KB", "200KB", "800KB"] },
            { "path": "params.size", "values": ["10KB", "20KB"] }
        ],
        // Kmax is 400 KB by default; the size of the flows comes from the parameter.
        "constraints": ["switch.ecn.kmax >= 2 * switch.ecn.kmin", "traffic.0.incast.size != 10KB"]
    }))
    .unwrap();
    assert_eq!(
        values(&plan),
        [["50KB", "20KB"], ["200KB", "20KB"]].map(|row| row.map(String::from).to_vec())
    );
}

#[test]
fn whole_choices_and_topology_sizes_can_be_swept() {
    let plan = plan(json!({
        "parameters": [
            { "path": "congestion", "values": ["none", { "dcqcn": { "preset": "sigcomm15" } }] },
            { "path": "topology.single-switch.hosts", "values": [5, 9] }
        ]
    }))
    .unwrap();
    let loaded = plan.load(&plan.point(3)).unwrap();
    assert!(matches!(loaded.scenario.congestion, models::config::CongestionConfig::Dcqcn(_)));
}

#[test]
fn jobs_have_goals_and_figures_of_their_own() {
    let text = json!({
        "schema_version": 1, "name": "ring",
        "topology": { "single-switch": { "hosts": 2, "link": { "rate": "100Gbps", "delay": "1us" } } },
        "cluster": { "node": { "preset": "hgx-h100-roce", "gpus": 1, "nics": 1 }, "nodes": 2 },
        "jobs": [{ "work": { "collective": { "operation": "all-reduce", "size": "1MB", "iterations": 1 } } }]
    });
    let source = Source { text: text.to_string(), ..source() };
    let object = json!({ "parameters": [{ "path": "switch.ecn.kmin", "values": ["10KB", "20KB"] }] });
    let plan = Plan::new(source, spec(object)).unwrap();
    assert_eq!(plan.objectives[0].figure, "collectives.0.busbw_gbytes_per_s");
    let folder = tempfile::tempdir().unwrap();
    let options = Options { shard: Shard::WHOLE, jobs: 1, keep: false, build: "test".to_string() };
    assert_eq!(run(&plan, folder.path(), &options, &Unwatched).unwrap().failed, 0);
    let index = index_of(&[folder.path().to_path_buf()], &plan, "test").unwrap();
    let analysis = conclude(folder.path(), &plan, &index).unwrap();
    assert!(analysis.recommended.is_some());
    let table = std::fs::read_to_string(folder.path().join(POINTS)).unwrap();
    let head = table.lines().next().unwrap();
    assert!(head.contains(",verdict.codes,collectives.0.name,"), "{head}");
    assert!(head.ends_with(",error") && !head.contains("why"), "{head}");
}

#[test]
fn mistakes_are_named() {
    let one = |path: &str, values: Value| json!({ "parameters": [{ "path": path, "values": values }] });
    for (object, want) in [
        (json!({}), "there is nothing to sweep"),
        (
            one("switch.ecn.kmin", json!([])),
            "sweep parameter switch.ecn.kmin: it has no values: the grid is empty",
        ),
        (one("switch.ecn.kmni", json!(["1KB"])), "unknown field \"kmni\"; did you mean \"kmin\"?"),
        (one("params.sise", json!(["1KB"])), "unknown parameter \"sise\"; did you mean \"size\"?"),
        (one("switch.ecn.kmin", json!(["1KB", "3us"])), "sweep parameter switch.ecn.kmin=3us"),
        (one("switch.ecn.kmin", json!(["1KB", "1000B"])), "the same points would be run twice"),
        (one("switch..kmin", json!(["1KB"])), "this is no path"),
        (one("seed", json!([1, 2])), "--repeat N"),
        (one("sweep.repeat", json!([1, 2])), "this cannot be swept"),
        (json!({ "parameters": [{ "path": "params.size" }] }), "give it \"values\" or a \"range\""),
        (
            json!({ "parameters": [{ "path": "params.size", "range": { "from": "1KB", "to": "2KB" } }] }),
            "add a \"step\" or a \"factor\"",
        ),
        (
            json!({ "parameters": [
                { "path": "params.size", "values": ["1KB"] }, { "path": "params.size", "values": ["2KB"] }
            ] }),
            "it stands in the sweep twice",
        ),
        (
            json!({ "parameters": [
                { "path": "switch.ecn.kmin", "values": ["1KB"] }, { "path": "switch.ecn", "values": [null] }
            ] }),
            "it replaces switch.ecn.kmin",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB"] }], "repeat": 0 }),
            "repeat at least once",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB"] }], "constraints": ["params.size > 1MB"] }),
            "no setting meets all constraints (\"params.size > 1MB\")",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB"] }],
                "constraints": ["switch.ecn.kmix > 1MB"] }),
            "did you mean \"kmi",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB", "2KB"] }],
                "sampling": { "random": { "points": 3 } } }),
            "only 2 different settings were found for a random sample of 3",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB", "2KB"] }],
                "sampling": { "latin-hypercube": { "points": 4 } } }),
            "the Latin hypercube has the setting",
        ),
        (
            json!({ "parameters": [{ "path": "params.size", "values": ["1KB"] }],
                "objectives": [{ "figure": "pfc.pauseframes", "goal": "min" }] }),
            "did you mean \"pfc.pause_frames\"?",
        ),
        (
            json!({ "parameters": [
                { "path": "switch.ecn.kmin", "range": { "from": 1000, "to": 100000, "step": 1 } },
                { "path": "switch.ecn.kmax", "range": { "from": 1000, "to": 100000, "step": 1 } }
            ] }),
            "are more than the 10000000",
        ),
    ] {
        let text = object.to_string();
        let error = plan(object).unwrap_err();
        assert!(error.contains(want), "{text}\n{error}");
    }
}

#[test]
fn samples_on_a_log_scale_have_as_many_points_in_every_decade() {
    for (sampling, slack) in
        [(json!({ "latin-hypercube": { "points": 300 } }), 1), (json!({ "random": { "points": 300 } }), 30)]
    {
        let range = json!({ "from": "1KB", "to": "1MB", "scale": "log" });
        let parameters = json!([{ "path": "params.size", "range": range }]);
        let plan = plan(json!({ "parameters": parameters, "sampling": sampling })).unwrap();
        let sizes: Vec<f64> = (0..plan.len())
            .map(|index| values::Quantity::of(&plan.point(index).values[0]).unwrap().amount)
            .collect();
        for decade in [1e3, 1e4, 1e5] {
            let count = sizes.iter().filter(|&&size| size >= decade && size < 10.0 * decade).count() as i32;
            assert!((count - 100).abs() <= slack, "{count} sizes from {decade} B");
        }
    }
    // A scale that says nothing new leaves fingerprints, and so journals, as they were.
    let of =
        |range: Value| plan(json!({ "parameters": [{ "path": "params.size", "range": range }] })).unwrap();
    let plain = of(json!({ "from": "1KB", "to": "2KB", "factor": 2 }));
    let said = of(json!({ "from": "1KB", "to": "2KB", "factor": 2, "scale": "linear" }));
    assert_eq!(plain.fingerprint, said.fingerprint);
}

/// Parameters with distinct values.
fn grids() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::hash_set(1..60u32, 1..6), 1..3)
        .prop_map(|sets| sets.into_iter().map(|set| set.into_iter().collect()).collect())
}

const PATHS: [&str; 2] = ["switch.ecn.kmin", "switch.ecn.kmax"];

fn parameters(grid: &[Vec<u32>]) -> Value {
    let of = |(path, values): (&&str, &Vec<u32>)| {
        let values: Vec<String> = values.iter().map(|value| format!("{value}KB")).collect();
        json!({ "path": path, "values": values })
    };
    PATHS.iter().zip(grid).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_grid_is_the_product_and_each_point_is_once(grid in grids(), repeat in 1..4u32, shards in 1..5u64) {
        let plan = plan(json!({ "parameters": parameters(&grid), "repeat": repeat })).unwrap();
        let product: u64 = grid.iter().map(|values| values.len() as u64).product();
        prop_assert_eq!(plan.len(), product * u64::from(repeat));
        let ids: HashSet<String> = (0..plan.len()).map(|i| plan.point(i).id()).collect();
        prop_assert_eq!(ids.len() as u64, plan.len());
        let shards: Vec<Shard> = (1..=shards).map(|i| Shard::new(i, shards).unwrap()).collect();
        for index in 0..plan.len() {
            prop_assert_eq!(plan.point(index), plan.point(index));
            prop_assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1);
        }
    }

    #[test]
    fn constraints_leave_what_a_filter_leaves(grid in grids(), factor in 1..4u32) {
        let all = plan(json!({ "parameters": parameters(&grid) })).unwrap();
        let number = |text: &String| text.trim_end_matches("KB").parse::<u32>().unwrap();
        let want: Vec<Vec<String>> = values(&all)
            .into_iter()
            .filter(|row| row.get(1).map_or(400, number) >= factor * number(&row[0]))
            .collect();
        let constraint = format!("switch.ecn.kmax >= {factor} * switch.ecn.kmin");
        match plan(json!({ "parameters": parameters(&grid), "constraints": [constraint] })) {
            Ok(plan) => prop_assert_eq!(values(&plan), want),
            Err(error) => {
                prop_assert!(want.is_empty());
                prop_assert!(error.contains("no setting meets"));
            }
        }
    }

    #[test]
    fn a_latin_hypercube_has_each_stratum_once(points in 1..40u32, seed in any::<u32>()) {
        let mut source = source();
        source.sets = vec![crate::language::Override::new("seed", seed.to_string())];
        let range = json!({ "from": 0.0, "to": 1.0 });
        let object = json!({
            "parameters": [{ "path": "switch.ecn.pmax", "range": range }, { "path": "nic.load", "range": range }],
            "sampling": { "latin-hypercube": { "points": points } }
        });
        // The second path is none, which is found out when the first point is read.
        prop_assert!(Plan::new(source.clone(), spec(object.clone())).is_err());
        let mut object = object;
        object["parameters"][1]["path"] = json!("congestion.dcqcn.gain");
        object["parameters"][1]["range"]["from"] = json!(0.001);
        let plan = Plan::new(source, spec(object)).unwrap();
        prop_assert_eq!(plan.len(), u64::from(points));
        for (parameter, least) in [0.0, 0.001].into_iter().enumerate() {
            let place = |i: u64| (plan.point(i).values[parameter].as_f64().unwrap() - least) / (1.0 - least);
            let strata: HashSet<u32> =
                (0..plan.len()).map(|i| (place(i) * f64::from(points)).min(f64::from(points) - 0.5) as u32).collect();
            // Values have four digits, so that one at the edge may show up in its neighbour.
            prop_assert!(strata.len() as u32 + 2 >= points, "{} strata of {points}", strata.len());
        }
    }

    #[test]
    fn any_spec_is_answered(text in ".{0,40}", path in "[a-z.0-9_]{0,20}") {
        let _ = plan(json!({
            "parameters": [{ "path": path, "values": [text] }], "constraints": [text, format!("{path} >= {text}")]
        }));
        let _ = plan(json!({
            "parameters": [{ "path": "params.size", "range": { "from": text, "to": text, "factor": 2.0 } }]
        }));
    }
}
