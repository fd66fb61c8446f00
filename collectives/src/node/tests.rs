use super::*;

fn parse(json: &str) -> Result<NodeConfig, serde_json::Error> {
    serde_json::from_str(json)
}

#[test]
fn every_preset_is_valid_and_named() {
    for name in PRESETS {
        let spec = NodeSpec::preset(name).unwrap();
        assert_eq!(spec.name, name);
        spec.validate().unwrap();
    }
}

#[test]
fn a_name_and_an_object_are_read() {
    assert_eq!(parse("\"aws-p5\"").unwrap().resolve().unwrap(), NodeSpec::preset("aws-p5").unwrap());
    let node = parse(r#"{"preset": "dgx-h100", "nic_rate_gbps": 200}"#).unwrap().resolve().unwrap();
    assert_eq!((node.nic_rate_gbps, node.nics), (200, 8));
    let small = parse(r#"{"gpus": 4, "nics": 2}"#).unwrap().resolve().unwrap();
    assert_eq!(small.affinity, [[0, 1], [2, 3]]);
    let many = parse(r#"{"gpus": 2, "nics": 4}"#).unwrap().resolve().unwrap();
    assert_eq!(many.affinity, [[0], [0], [1], [1]]);
    let schema = serde_json::to_string(&schemars::schema_for!(NodeConfig)).unwrap();
    assert!(schema.contains("gb200-nvl72") && schema.contains("nic_rate_gbps"));
}

#[test]
fn mistakes_are_named() {
    let error = |json: &str| match parse(json) {
        Ok(config) => config.resolve().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(
        error("\"dgx-h10\"")
            .starts_with("node preset \"dgx-h10\" does not exist; did you mean \"dgx-h100\"?")
    );
    assert!(error(r#"{"nic_rate": 1}"#).starts_with("unknown field `nic_rate`, expected one of `preset`"));
    assert!(
        error("7").starts_with("invalid type: integer `7`, expected the name of a node preset, or an object")
    );
    assert_eq!(error(r#"{"gpus": 0}"#), "node dgx-h100: gpus is 0, outside of 1–1024; set gpus within it");
    assert_eq!(
        error(r#"{"affinity": [[0]]}"#),
        "node dgx-h100: affinity lists 1 NICs, but nics is 8; give one list of GPUs for each NIC"
    );
    assert_eq!(
        error(r#"{"nics": 1, "affinity": [[8]]}"#),
        "node dgx-h100: affinity of NIC 0 is [8]; name at least one GPU, each of 0 to 7"
    );
}

#[test]
fn gpus_share_the_nics_near_them() {
    let own =
        |name: &str| (0..8).map(|gpu| NodeSpec::preset(name).unwrap().nic_of(gpu, 0)).collect::<Vec<_>>();
    assert_eq!(own("dgx-h100"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(own("dgx-a100"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(own("aws-p4d"), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(own("aws-p3dn"), [0; 8]);
}
