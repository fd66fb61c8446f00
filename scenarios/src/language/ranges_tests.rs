//! Each range: values outside are refused at their path, values at its ends are accepted.

use crate::language::{Override, load, validate_ranges};

const BASE: &str = r#"{
    "schema_version": 1, "name": "x",
    "topology": { "single-switch": { "hosts": 4, "link": { "rate": "1Gbps" } } },
    "traffic": [{ "permutation": { "size": "1MB" } }]
}"#;

fn violated(set: &str) -> Option<String> {
    let set: Override = set.parse().unwrap();
    load(BASE, "f.json", &[set]).err().map(|error| {
        assert!(
            error.text.contains("give") || error.text.contains("keep") || error.text.contains("have to"),
            "{error}"
        );
        error.path
    })
}

/// Each value just outside its range is refused, at the path it stands at unless another is named.
#[test]
fn values_outside_their_range_are_refused() {
    for set in [
        "name=",
        "name=a/b",
        "name=.x",
        "topology.single-switch.hosts=0",
        "topology.single-switch.hosts=65537",
        "topology.single-switch.link.rate=0bps",
        "topology.single-switch.link.error_rate=1",
        "topology.single-switch.link.error_rate=-0.1",
        "topology.single-switch.link.delay=1000001s",
        "topology.single-switch.link.length=100001km",
        "switch.buffer=0B",
        "switch.cell=0B",
        "switch.latency=1000001s",
        "switch.xoff.static=0B",
        "switch.forwarding.cut-through.header=0B",
        "switch.xoff.dynamic.alpha=0.0039",
        "switch.lossy_ingress.dynamic.alpha=129",
        "switch.lossless_egress.static=0B",
        "switch.headroom.bdp-factor=-1",
        "switch.pfc.quanta=65536",
        "switch.pfc.refresh=1",
        "switch.pfc.refresh=-0.1",
        "switch.pfc.frame=0B",
        "switch.ecn.kmin=401KB",
        "switch.ecn.pmax=1.1",
        "switch.ecn.reference_rate=0bps",
        "switch.watchdog.poll=0s",
        "switch.watchdog.detection=0s",
        "nic.mtu=63B",
        "nic.mtu=9001B",
        "nic.ack_frame=0B",
        "nic.ack_every=0",
        "nic.ack_every=1025",
        "nic.ack_class=8",
        "nic.retransmission_timeout=0s",
        "nic.window.bytes=4095B",
        "nic.cnp.class=8",
        "nic.drain_rate=0bps",
        "nic.inject_rate=0bps",
        "nic.receive_buffer=0B",
        "nic.receive_xoff=2001KB",
        "congestion.dcqcn.gain=0",
        "congestion.dcqcn.gain=1.1",
        "congestion.dcqcn.initial_alpha=1.1",
        "congestion.dcqcn.min_decrease_factor=-0.1",
        "congestion.dcqcn.alpha_interval=0s",
        "congestion.dcqcn.min_rate=0bps",
        "congestion.timely.beta=0",
        "congestion.timely.t_low=501us",
        "congestion.timely.min_rtt=0s",
        "congestion.swift.max_decrease=1",
        "congestion.swift.base_target=0s",
        "congestion.swift.max_scaling_window=0.01",
        "congestion.hpcc.eta=1.01",
        "congestion.hpcc.min_rate=0bps",
        "routing.mode.flowlet.gap=0s",
        "traffic.0.permutation.size=0B",
        "traffic.0.permutation.options.class=8",
        "traffic.0.permutation.options.dscp=64",
        "traffic.0.permutation.options.ttl=0",
        "traffic.0.permutation.options.ttl=255",
        "traffic.0.permutation.options.rate=0bps",
        "traffic.0.incast={\"size\":\"1B\",\"senders\":0}",
        "traffic.0.all-to-all={\"size\":\"1B\",\"hosts\":1}",
        "run.until=0s",
        "run.stall_limit=0s",
        "run.deadlock_interval=0s",
        "output.sample_interval=1000001s",
    ] {
        let path = set.split_once('=').unwrap().0;
        let found = violated(set).unwrap_or_else(|| panic!("{set} is accepted"));
        assert!(found.starts_with(path), "{set}: {found}");
    }
}

#[test]
fn values_at_the_end_of_their_range_are_accepted() {
    for set in [
        "topology.single-switch.link.error_rate=0.999",
        "switch.xoff.dynamic.alpha=128",
        "switch.pfc.quanta=0",
        "switch.pfc.refresh=0",
        "switch.ecn.kmin=400KB",
        "switch.ecn.pmax=1",
        "nic.mtu=64B",
        "nic.mtu=9KB",
        "nic.ack_every=1024",
        "nic.window.bytes=4096B",
        "nic.window=bdp",
        "nic.receive_xoff=2MB",
        "congestion.dcqcn.gain=1",
        "traffic.0.permutation.size=1B",
        "traffic.0.permutation.options.ttl=254",
        "output.sample_interval=0",
        "switch.headroom.bytes=0B",
    ] {
        assert_eq!(violated(set), None, "{set}");
    }
}

#[test]
fn lists_and_whole_sections_are_judged() {
    for (set, path) in [
        (
            r#"switch.classes=[{"class":3,"kind":"lossy","scheduler":{"dwrr":101}}]"#,
            "switch.classes.0.scheduler.dwrr",
        ),
        (
            r#"switch.classes=[{"class":3,"kind":"lossy"},{"class":3,"kind":"lossy"}]"#,
            "switch.classes.1.class",
        ),
        (r#"switch.dscp_map=[{"dscp":64,"class":1}]"#, "switch.dscp_map.0.dscp"),
        (
            r#"switch.ecn.per_rate=[{"rate":"1Gbps","kmin":"2B","kmax":"1B","pmax":0}]"#,
            "switch.ecn.per_rate.0.kmin",
        ),
        (r#"switch.ecn.classes=[3,8]"#, "switch.ecn.classes.1"),
        (r#"routing.routes=[{"at":"s","to":"h","via":[]}]"#, "routing.routes.0.via"),
        (
            r#"topology.single-switch.link={"rate":"1bps","delay":"1us","length":"1m"}"#,
            "topology.single-switch.link.length",
        ),
        (
            r#"topology.single-switch.overrides=[{"a":"x","b":"y","rate":"0bps"}]"#,
            "topology.single-switch.overrides.0.rate",
        ),
        (r#"topology.fat-tree={"k":5,"link":{"rate":"1bps"}}"#, "topology.fat-tree.k"),
        (r#"topology.fat-tree={"k":4,"pods":3,"link":{"rate":"1bps"}}"#, "topology.fat-tree.pods"),
        (r#"topology.fat-tree={"k":128,"link":{"rate":"1bps"}}"#, "topology.fat-tree"),
        (
            r#"topology.rail={"nodes":0,"nics_per_node":8,"spines":1,"link":{"rate":"1bps"}}"#,
            "topology.rail.nodes",
        ),
        (
            r#"topology.rail={"nodes":4,"nics_per_node":8,"rails":3,"spines":1,"link":{"rate":"1bps"}}"#,
            "topology.rail.rails",
        ),
        (
            r#"topology.rail={"nodes":4,"nics_per_node":8,"nodes_per_leaf":2,"spines":0,"link":{"rate":"1bps"}}"#,
            "topology.rail.spines",
        ),
        (
            r#"topology.rail={"nodes":4,"nics_per_node":8,"planes":3,"spines":1,"link":{"rate":"1bps"}}"#,
            "topology.rail.planes",
        ),
        (r#"topology.edges={"hosts":[],"switches":[],"links":[]}"#, "topology.edges.hosts"),
        (
            r#"traffic.0.flows={"list":[{"from":"a","to":"b","size":"1B","messages":0}]}"#,
            "traffic.0.flows.list.0.messages",
        ),
        (r#"faults=[{"drop-every":{"at":"switch0","every":1}}]"#, "faults.0.drop-every.every"),
        (r#"faults=[{"link-down":{"a":"x","b":"y","at":"2us","until":"2us"}}]"#, "faults.0.link-down.until"),
        (r#"faults=[{"pause-storm":{"host":"host0","classes":[3,9]}}]"#, "faults.0.pause-storm.classes.1"),
        (r#"traffic.0.permutation={"size":"1000TB","options":{"messages":2}}"#, "traffic.0.permutation.size"),
        (
            r#"traffic.0.permutation={"size":"1B","options":{"messages":0}}"#,
            "traffic.0.permutation.options.messages",
        ),
        (r#"traffic.0.poisson={"load":1.1,"duration":"1us","sizes":"storage"}"#, "traffic.0.poisson.load"),
        (r#"traffic.0.poisson={"load":1,"duration":"0s","sizes":"storage"}"#, "traffic.0.poisson.duration"),
        (r#"traffic.0.poisson={"load":1,"duration":"1s","sizes":{"cdf":[]}}"#, "traffic.0.poisson.sizes.cdf"),
        (
            r#"traffic.0.poisson={"load":1,"duration":"1s","sizes":{"cdf":[{"size":"2B","percent":50},{"size":"1B","percent":100}]}}"#,
            "traffic.0.poisson.sizes.cdf.1.size",
        ),
    ] {
        assert_eq!(violated(set).as_deref(), Some(path), "{set}");
    }
}

#[test]
fn a_scenario_without_a_text_is_judged_too() {
    let mut scenario = load(BASE, "f.json", &[]).unwrap().scenario;
    assert_eq!(validate_ranges(&scenario), Ok(()));
    scenario.nic.ack_every = 0;
    let error = validate_ranges(&scenario).unwrap_err().to_string();
    assert_eq!(error, "nic.ack_every: 0 is out of range: give 1 to 1024");
}
