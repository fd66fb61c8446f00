//! Whole fabrics in a few lines: the harness of the models' own tests.

use sim_core::queue::TimeWheel;
use sim_core::{Bytes, Duration, Rate, Time};

use super::{Fabric, FabricConfig};
use crate::config::{
    ClassConfig, ClassKind, CongestionConfig, FaultConfig, Forwarding, LeafSpine, LinkConfig, LinkDown,
    Operation, PauseStorm, Recovery, RouteOverride, RoutingMode, Scheduler, SingleSwitch, Threshold,
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

fn leaf_spine(spines: u32, hosts: u32) -> Graph {
    let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
    let config = LeafSpine {
        leaves: 2,
        spines,
        hosts_per_leaf: hosts,
        host_link: link.clone(),
        fabric_link: link,
        parallel: 1,
        overrides: Vec::new(),
    };
    topology::build(&TopologyConfig::LeafSpine(config)).unwrap()
}

/// Packets that leaf0 sent to each spine.
fn uplink_packets(fabric: &Simulation, hosts: u32) -> Vec<u64> {
    let graph = fabric.graph();
    let leaf = graph.node("leaf0").unwrap();
    graph.ports_of(leaf).skip(hosts as usize).map(|port| fabric.tx_packets(port)).collect()
}

#[test]
fn routing_modes_spread_one_flow_as_they_say() {
    let run = |mode: RoutingMode, rate: Option<Rate>| {
        let mut config = quiet();
        config.routing.mode = mode;
        config.nic.recovery = Recovery::SelectiveRepeat;
        config.nic.reorder_window = 256;
        let mut f = flow(0, 4, 4_096_000);
        f.rate = rate;
        let fabric = simulate(leaf_spine(4, 4), vec![f], &config, Duration::from_ms(10));
        assert_eq!(fabric.completed(), 1, "{mode:?}");
        assert_eq!(
            fabric.counters().retransmissions,
            0,
            "{mode:?}: the reorder window tolerates several paths"
        );
        uplink_packets(&fabric, 4)
    };
    let used = |sent: &[u64]| sent.iter().filter(|&&n| n > 0).count();
    assert_eq!(used(&run(RoutingMode::Ecmp, None)), 1, "a flow keeps its path");
    let sprayed = run(RoutingMode::Spray, None);
    assert!(sprayed.iter().all(|&n| (190..310).contains(&n)), "{sprayed:?} of 1000");
    let adaptive = run(RoutingMode::Adaptive, None);
    assert!(adaptive.iter().all(|&n| (200..300).contains(&n)), "{adaptive:?} of 1000");
    let gap = Duration::from_us(2);
    assert_eq!(used(&run(RoutingMode::Flowlet { gap }, None)), 1, "no gaps, no flowlets");
    // At 10 Gb/s a packet leaves every 3.3 us: each is a flowlet.
    let flowlets = run(RoutingMode::Flowlet { gap }, Some(Rate::gbps(10)));
    assert!(flowlets.iter().all(|&n| n > 150), "{flowlets:?} of 1000");
}

#[test]
fn cut_through_saves_a_frame_time_a_switch() {
    let fct = |forwarding: Forwarding| {
        let mut config = quiet();
        config.switch.forwarding = forwarding;
        simulate(leaf_spine(1, 1), vec![flow(0, 1, 4096)], &config, Duration::from_ms(1)).flow_states()[0]
            .fct()
            .unwrap()
            .0
    };
    let saved = fct(Forwarding::StoreAndForward) - fct(Forwarding::CutThrough { header: Bytes(64) });
    // Three switches forward after 64 of the 4194 bytes that the frame and its gap take, and of the ACK's 86.
    assert_eq!(saved, 3 * ((4194 - 64) + (86 - 64)) * 80);
}

#[test]
fn a_pause_that_is_not_refreshed_runs_out_and_one_that_is_stands() {
    let paused = |refresh: f64| {
        let mut config = quiet();
        config.switch.pfc.refresh = refresh;
        config.switch.pfc.quanta = 1000;
        config.faults = vec![FaultConfig::PauseStorm(PauseStorm {
            host: "host1".into(),
            classes: vec![3],
            at: Duration::from_us(10),
            until: None,
            enabled: true,
        })];
        let fabric = simulate(star(2, 100), vec![flow(0, 1, 100_000_000)], &config, Duration::from_us(100));
        fabric.paused_for(3, 3)
    };
    // 1000 quanta of 512 bit times at 100 Gb/s are 5.12 us. The frame of 84 bytes takes 6.72 ns, the link 1 us.
    assert_eq!(paused(0.0), 5_120_000);
    assert_eq!(paused(0.5), 100_000_000 - 11_006_720);
}

#[test]
fn a_slow_receiver_pauses_its_switch_and_loses_nothing() {
    let mut config = quiet();
    config.nic.drain_rate = Some(Rate::gbps(40));
    config.nic.receive_buffer = Bytes(400_000);
    config.nic.receive_xoff = Bytes(200_000);
    let fabric = simulate(star(2, 100), vec![flow(0, 1, 10_000_000)], &config, Duration::from_ms(10));
    let goodput = 10_000_000.0 * 8.0 / fabric.flow_states()[0].fct().unwrap().0 as f64 * 1e3;
    // 40 Gb/s of frames are 39.4 Gb/s of payload; the buffer takes the first 200 KB at line rate.
    assert!((39.0..41.0).contains(&goodput), "{goodput} Gb/s");
    assert_eq!(fabric.counters().dropped(), 0);
    assert!(fabric.counters().pause_frames > 1 && fabric.counters().resume_frames > 1);
}

#[test]
fn two_dwrr_classes_share_a_port_by_weight_and_a_strict_one_goes_first() {
    let run = |scheduler: Scheduler| {
        let mut config = quiet();
        let class = |class, scheduler| ClassConfig { class, kind: ClassKind::Lossless, scheduler };
        config.switch.classes = vec![class(3, Scheduler::Dwrr(1)), class(4, scheduler)];
        config.switch.ecn = None;
        let flows = (0..4)
            .map(|host| {
                let mut f = flow(host, 4, 20_000_000);
                (f.class, f.dscp) = if host < 2 { (3, 26) } else { (4, 34) };
                f
            })
            .collect();
        let fabric = simulate(star(5, 100), flows, &config, Duration::from_us(1500));
        let of = |a: u32, b: u32| (fabric.delivered(a) + fabric.delivered(b)) as f64;
        of(2, 3) / of(0, 1)
    };
    let ratio = run(Scheduler::Dwrr(3));
    assert!((2.8..3.2).contains(&ratio), "{ratio}");
    assert!(run(Scheduler::Strict) > 20.0);
}

#[test]
fn a_link_that_fails_and_returns_costs_packets_but_not_the_flow() {
    let mut config = quiet();
    config.nic.retransmission_timeout = Duration::from_us(300);
    config.faults = vec![FaultConfig::LinkDown(LinkDown {
        a: "leaf0".into(),
        b: "spine0".into(),
        at: Duration::from_us(50),
        until: Some(Duration::from_us(200)),
        enabled: true,
    })];
    let fabric = simulate(leaf_spine(1, 1), vec![flow(0, 1, 5_000_000)], &config, Duration::from_ms(20));
    assert_eq!(fabric.completed(), 1);
    let drops = fabric.counters().drops;
    assert!(drops[DropReason::LinkDown as usize] + drops[DropReason::NoRoute as usize] > 0);
    assert!(fabric.flow_states()[0].fct().unwrap() > Duration::from_us(550), "it waited for the timeout");
}
