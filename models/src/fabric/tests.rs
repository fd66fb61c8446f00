//! Whole fabrics in a few lines: the harness of the models' own tests.

use sim_core::queue::TimeWheel;
use sim_core::{Bytes, Duration, Rate, Time};

use super::{Fabric, FabricConfig};
use crate::config::{
    CongestionConfig, LeafSpine, LinkConfig, Operation, Recovery, RouteOverride, SingleSwitch, Threshold,
    TopologyConfig,
};
use crate::counters::DropReason;
use crate::deadlock::detect::{Deadlock, Detector};
use crate::record::NoRecord;
use crate::topology::{self, Graph, Link};
use crate::traffic::Flow;

type Simulation = Fabric<TimeWheel, NoRecord>;

fn flow(src: u32, dst: u32, size: u64) -> Flow {
    Flow {
        src,
        dst,
        size: Bytes(size),
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

fn star(hosts: u32, gbps: u64) -> Graph {
    let link = LinkConfig::new(Rate::gbps(gbps), Duration::from_us(1));
    let config = SingleSwitch { hosts, link, overrides: Vec::new() };
    topology::build(&TopologyConfig::SingleSwitch(config)).unwrap()
}

fn quiet() -> FabricConfig {
    let mut config = FabricConfig { seed: 1, congestion: CongestionConfig::None, ..FabricConfig::default() };
    config.nic.jitter = false;
    config
}

fn simulate(graph: Graph, flows: Vec<Flow>, config: &FabricConfig, until: Duration) -> Simulation {
    let mut fabric = Simulation::build(graph, flows, config, NoRecord).unwrap();
    let end = Time::ZERO + until;
    let mut at = Time::ZERO;
    while at < end && fabric.completed() < fabric.flows().len() as u64 {
        at = (at + Duration::from_us(50)).min(end);
        fabric.run_until(at);
        fabric.audit().unwrap();
    }
    fabric
}

#[test]
fn one_packet_takes_the_time_arithmetic_says() {
    let fabric = simulate(star(2, 100), vec![flow(0, 1, 4096)], &quiet(), Duration::from_ms(1));
    // 4096 + 62 + 16 (RETH) + 20 bytes twice and 86 bytes twice at 80 ps a byte, four links of 1 us.
    let expected = (4194 + 86) * 2 * 80 + 4_000_000;
    assert_eq!(fabric.flow_states()[0].fct(), Some(Duration(expected)));
    assert_eq!(fabric.counters().packet_hops, 4);
    assert_eq!(fabric.counters().events, 4 + 1, "one event a hop of an idle path, and the start");
}

#[test]
fn every_operation_and_recovery_completes_over_a_lossy_link() {
    for operation in [Operation::Write, Operation::Send, Operation::Read] {
        for recovery in [Recovery::GoBackN, Recovery::GoBack0, Recovery::SelectiveRepeat] {
            let mut graph = star(2, 100);
            graph.links[0].error_rate = 1e-2;
            let mut config = quiet();
            config.nic.recovery = recovery;
            config.nic.retransmission_timeout = Duration::from_us(200);
            let mut f = flow(0, 1, 200_000);
            f.messages = 10;
            f.operation = operation;
            let fabric = simulate(graph, vec![f], &config, Duration::from_ms(100));
            assert_eq!(fabric.completed(), 1, "{operation:?} {recovery:?}");
            assert_eq!(fabric.delivered(0), 2_000_000);
            assert!(
                fabric.counters().drops[DropReason::LinkError as usize] > 0,
                "{operation:?} {recovery:?}"
            );
            assert!(fabric.counters().retransmissions > 0);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_counters_whatever_the_grid() {
    let run = |step: u64| {
        let flows = (1..9).map(|h| flow(h, 0, 300_000)).collect();
        let config = FabricConfig { seed: 7, ..FabricConfig::default() };
        let mut fabric = Simulation::build(star(9, 100), flows, &config, NoRecord).unwrap();
        let mut at = 0;
        while at < 1_000_000_000 {
            at += step;
            fabric.run_until(Time(at.min(1_000_000_000)));
        }
        (fabric.counters().clone(), fabric.flow_states().to_vec())
    };
    assert_eq!(run(1_000_000), run(777_777_777));
}

/// Two switches whose routes for a third host's prefix point at each other.
fn loop_of_two() -> (Graph, FabricConfig) {
    let names = ["host0", "host1", "s0", "s1"].map(String::from).to_vec();
    let link = |a, b| Link { a, b, rate: Rate::gbps(40), delay: Duration::from_us(1), error_rate: 0.0 };
    let graph = Graph::new(2, names, vec![link(0, 2), link(1, 3), link(2, 3)]);
    let mut config = quiet();
    config.switch.xoff = Threshold::Static(Bytes(100_000));
    let route =
        |at: &str, via: &str| RouteOverride { at: at.into(), to: "host1".into(), via: vec![via.into()] };
    config.routing.routes = vec![route("s0", "s1"), route("s1", "s0")];
    (graph, config)
}

fn run_loop(rate: Rate) -> (Simulation, Option<Deadlock>) {
    let (graph, config) = loop_of_two();
    let mut f = flow(0, 1, 1 << 30);
    f.operation = Operation::Datagram;
    f.rate = Some(rate);
    f.ttl = 16;
    let mut fabric = Simulation::build(graph, vec![f], &config, NoRecord).unwrap();
    let mut detector = Detector::default();
    for step in 1..500 {
        fabric.run_until(Time(step * 20_000_000));
        fabric.audit().unwrap();
        if let Some(found) = detector.scan(&fabric) {
            return (fabric, Some(found));
        }
    }
    (fabric, None)
}

#[test]
fn a_routing_loop_deadlocks_above_its_capacity_only_and_the_cycle_is_named() {
    let (fabric, found) = run_loop(Rate::mbps(6000));
    let found = found.expect("6 Gb/s is above 2 · 40 / 16");
    let names: Vec<String> = found.cycle.iter().map(|w| fabric.graph().port_name(w.port)).collect();
    assert_eq!(names, ["s0:1", "s1:1"]);
    assert!(found.cycle.iter().all(|w| w.class == 3 && w.bytes > 90_000), "{found:?}");
    let (fabric, found) = run_loop(Rate::mbps(4500));
    assert_eq!(found, None);
    assert!(fabric.counters().drops[DropReason::Ttl as usize] > 100);
}

/// Two leaves and two spines, where the pinned path of a flow is not the one way its table knows.
#[test]
fn a_pinned_flow_keeps_to_its_path_where_the_table_has_one_other_way() {
    let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
    let config = LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 1,
        host_link: link.clone(),
        fabric_link: link,
        parallel: 1,
        overrides: Vec::new(),
    };
    let graph = topology::build(&TopologyConfig::LeafSpine(config)).unwrap();
    let path: Vec<u32> =
        ["leaf0", "spine0", "leaf2", "spine1", "leaf1"].map(|name| graph.node(name).unwrap()).to_vec();
    let mut config = quiet();
    config.routing.routes =
        vec![RouteOverride { at: "leaf0".into(), to: "leaf1".into(), via: vec!["spine1".into()] }];
    let pinned = Flow { paths: vec![path], ..flow(0, 1, 2_000_000) };
    let fabric = simulate(graph, vec![pinned, flow(3, 2, 2_000_000)], &config, Duration::from_ms(2));
    assert_eq!(fabric.completed(), 2);
    assert_eq!(fabric.counters().retransmissions, 0, "packets in order");
    let graph = fabric.graph();
    let sent = |from: &str, to: &str| {
        let node = graph.node(to).unwrap();
        let port =
            graph.ports_of(graph.node(from).unwrap()).find(|&p| graph.ports[p as usize].peer_node == node);
        fabric.port(port.unwrap()).tx_packets
    };
    assert!(sent("leaf0", "spine0") >= 489, "{}", sent("leaf0", "spine0"));
    assert!(sent("leaf2", "spine1") >= 489, "{}", sent("leaf2", "spine1"));
}
