//! A small scenario and graphs for the tests of checks.

use models::config::{
    CongestionConfig, LinkConfig, NicConfig, Operation, RoutingConfig, SingleSwitch, SwitchConfig,
    TopologyConfig,
};
use models::topology::{Graph, Link, NodeIndex};
use models::traffic::Flow;
use sim_core::{Bytes, Duration, Rate, Time};

use super::check;
use crate::finding::Finding;
use crate::spec::{OutputConfig, RunConfig, SCHEMA_VERSION, Scenario};

/// All defaults. Its topology is not looked at by checks: they are given the graph.
pub(super) fn scenario() -> Scenario {
    Scenario {
        schema_version: SCHEMA_VERSION,
        name: "test".into(),
        description: String::new(),
        params: Default::default(),
        seed: 1,
        topology: TopologyConfig::SingleSwitch(SingleSwitch {
            hosts: 1,
            link: LinkConfig::new(Rate::gbps(100), Duration::from_us(1)),
            overrides: Vec::new(),
        }),
        switch: SwitchConfig::default(),
        nic: NicConfig::default(),
        congestion: CongestionConfig::default(),
        routing: RoutingConfig::default(),
        traffic: Vec::new(),
        cluster: None,
        jobs: Vec::new(),
        faults: Vec::new(),
        run: RunConfig::default(),
        output: OutputConfig::default(),
        sweep: None,
    }
}

/// A link of `gbps` and `delay`.
pub(super) fn link(a: NodeIndex, b: NodeIndex, gbps: u64, delay: Duration) -> Link {
    Link { a, b, rate: Rate::gbps(gbps), delay, error_rate: 0.0 }
}

/// Leaves, spines, hosts of each leaf; every link has `gbps` and 1 us.
pub(super) fn leaf_spine(leaves: u32, spines: u32, per_leaf: u32, gbps: u64) -> Graph {
    let hosts = leaves * per_leaf;
    let mut names: Vec<String> = (0..hosts).map(|h| format!("host{h}")).collect();
    names.extend((0..leaves).map(|l| format!("leaf{l}")));
    names.extend((0..spines).map(|s| format!("spine{s}")));
    let one = Duration::from_us(1);
    let mut links: Vec<Link> = (0..hosts).map(|h| link(h, hosts + h / per_leaf, gbps, one)).collect();
    for leaf in hosts..hosts + leaves {
        links.extend((0..spines).map(|s| link(leaf, hosts + leaves + s, gbps, one)));
    }
    Graph::new(hosts, names, links)
}

/// `hosts` hosts on one switch.
pub(super) fn star(hosts: u32, gbps: u64, delay: Duration) -> Graph {
    let names = (0..hosts).map(|h| format!("host{h}")).chain(["switch0".into()]).collect();
    Graph::new(hosts, names, (0..hosts).map(|h| link(h, hosts, gbps, delay)).collect())
}

/// A lossless write of 1 MB.
pub(super) fn flow(src: NodeIndex, dst: NodeIndex) -> Flow {
    Flow {
        src,
        dst,
        size: Bytes(1_000_000),
        messages: 1,
        start: Time::ZERO,
        class: 3,
        dscp: 26,
        operation: Operation::Write,
        rate: None,
        ttl: 63,
        paths: Vec::new(),
    }
}

/// The codes of findings.
pub(super) fn codes(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| f.code.clone()).collect()
}

/// The findings of one code.
pub(super) fn found(scenario: &Scenario, graph: &Graph, flows: &[Flow], code: &str) -> Vec<Finding> {
    check(scenario, graph, flows).into_iter().filter(|f| f.code == code).collect()
}
