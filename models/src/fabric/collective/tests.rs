//! Schedules executed on fabrics: completion, bytes and closed forms.

use collectives::algorithms::{self, ALGORITHMS};
use collectives::plan::{Plan, Ranks};
use collectives::schedule::{Algorithm, Operation, Protocol};
use collectives::{CollectiveSchedule, check};
use sim_core::queue::TimeWheel;
use sim_core::{Bytes, Duration, Rate, Time};

use crate::config::{CongestionConfig, LinkConfig, Recovery, SingleSwitch, TopologyConfig};
use crate::fabric::{Fabric, FabricConfig};
use crate::record::NoRecord;
use crate::topology;
use crate::workload::{Call, Machine, Task, Timing, Transport, Work, Workload};

const GBPS: u64 = 400;

/// A node for each of `ranks.nodes`, with a NIC a GPU on one switch, and one call of `schedule`, `times` times.
fn workload(schedule: CollectiveSchedule, ranks: Ranks, times: u32, may_skip: bool) -> Workload {
    let members: Vec<u32> = (0..ranks.count()).collect();
    let mut tasks = Vec::new();
    for execution in 0..times {
        for rank in 0..ranks.count() {
            let after = if execution == 0 { vec![] } else { vec![(execution - 1) * ranks.count() + rank] };
            tasks.push(Task { gpu: rank, work: Work::Call { call: 0, rank }, after });
        }
    }
    Workload {
        machine: Machine {
            gpus: ranks.count(),
            gpus_per_node: ranks.per_node,
            nics_per_node: ranks.per_node,
            planes: 1,
            local_rate: 400_000_000_000,
            nvls_rate: 400_000_000_000,
            proxy_send: Duration::ZERO,
            proxy_receive: Duration::ZERO,
        },
        calls: vec![Call {
            name: "test".to_string(),
            thread_rates: vec![0; schedule.threads.len()],
            schedule,
            members,
            communicator: 0,
            timing: Timing::default(),
            transport: Transport {
                qps: 1,
                split: false,
                announce_above: None,
                host_copy_rate: None,
                class: 3,
                dscp: 26,
                rate: None,
            },
            may_skip,
        }],
        tasks,
    }
}

fn fabric(workload: Workload, nics: u32, error_rate: f64, recovery: Recovery) -> Fabric<TimeWheel> {
    let link = LinkConfig { error_rate, ..LinkConfig::new(Rate::gbps(GBPS), Duration::from_us(1)) };
    let graph =
        topology::build(&TopologyConfig::SingleSwitch(SingleSwitch { hosts: nics, link, overrides: vec![] }))
            .unwrap();
    let mut config = FabricConfig { seed: 1, congestion: CongestionConfig::None, ..FabricConfig::default() };
    config.nic.recovery = recovery;
    config.nic.mtu = Bytes(4096);
    // Both directions carry data; an ACK a packet would take 2 % of it.
    config.nic.ack_every = 256;
    config.switch.buffer = Bytes(1 << 30);
    Fabric::build_with(graph, vec![], Some(workload), &config, NoRecord).unwrap()
}

/// Runs to the end of all tasks; the time of the last.
fn run(fabric: &mut Fabric<TimeWheel>) -> Duration {
    let all = fabric.task_times().len() as u64;
    let mut until = 0;
    while fabric.tasks_done() < all {
        until += 20_000_000;
        assert!(until < 10_000_000_000_000, "{} of {all} tasks done", fabric.tasks_done());
        fabric.run_until(Time(until));
        fabric.skip_steady_loops();
    }
    fabric.task_times().map(|t| t.finished.unwrap()).max().unwrap().since(Time::ZERO)
}

fn ring(nodes: u32, bytes: u64) -> (CollectiveSchedule, Ranks) {
    let ranks = Ranks { nodes, per_node: 1 };
    let plan = Plan::ring(Operation::AllReduce, ranks, bytes, 1, Protocol::Simple);
    (algorithms::build(&plan).unwrap(), ranks)
}

/// Bytes on the wire for one of payload in full packets.
const WIRE: f64 = 4178.0 / 4096.0;

#[test]
fn every_algorithm_ends_and_moves_the_bytes_its_proof_counts() {
    let mut ran = 0;
    for algorithm in ALGORITHMS {
        for operation in algorithms::operations(algorithm) {
            for (nodes, per_node) in [(2, 1), (5, 1), (2, 4), (3, 2)] {
                let ranks = Ranks { nodes, per_node };
                let plan = Plan::ideal(algorithm, *operation, ranks, 3_000_000, 2, Protocol::Simple);
                let Ok(schedule) = algorithms::build(&plan) else { continue };
                let proof = check::check(&schedule).unwrap();
                let mut fabric =
                    fabric(workload(schedule, ranks, 2, false), ranks.count(), 0.0, Recovery::GoBackN);
                run(&mut fabric);
                fabric.audit().unwrap();
                let moved = fabric.moved();
                let sent = proof.totals.sum();
                let network = sent.network + sent.in_network;
                let writes = moved.network_bytes - 2 * network;
                assert!(
                    writes.is_multiple_of(64) && writes <= 64 * 2 * proof.totals.messages,
                    "{algorithm:?} {operation:?} {ranks:?}: {} moved, 2 × {network} planned",
                    moved.network_bytes,
                );
                assert_eq!(fabric.counters().dropped(), 0);
                ran += 1;
            }
        }
    }
    // 22 of algorithm and operation, on four shapes of which some algorithms do not do all.
    assert!(ran >= 60, "{ran} schedules ran");
}

#[test]
fn ring_time_is_its_closed_form() {
    for nodes in [2, 3, 8] {
        let bytes = 64_000_000;
        let (schedule, ranks) = ring(nodes, bytes);
        let mut fabric = fabric(workload(schedule, ranks, 1, false), nodes, 0.0, Recovery::GoBackN);
        let time = run(&mut fabric).as_us();
        let n = f64::from(nodes);
        let busy = 2.0 * (n - 1.0) / n * bytes as f64 * WIRE / (GBPS as f64 / 8.0) / 1e3;
        // At the end of each loop of n · 2 MiB a thread waits for the last slice: two links and a switch.
        let loops = (bytes as f64 / (n * 2_097_152.0)).ceil();
        let expected = busy + 2.1 * loops;
        assert!((time / expected - 1.0).abs() < 0.005, "{nodes} nodes: {time} us, closed form {expected} us");
        let goodput = 2.0 * (n - 1.0) / n * bytes as f64 * 8e-3 / time;
        assert!(goodput <= GBPS as f64 / WIRE, "{goodput} Gb/s");
    }
}

#[test]
fn tree_time_is_its_closed_form() {
    // Two nodes: each byte goes up once and down once, and chunk follows chunk. Four: node 2 sends each byte up once and
    // down twice; what it sends only up at the beginning, and only down at the end, is at most its slots.
    for (nodes, times) in [(2, 1.0), (4, 3.0)] {
        let bytes = 640_000_000;
        let ranks = Ranks { nodes, per_node: 1 };
        let plan = Plan::ideal(Algorithm::Tree, Operation::AllReduce, ranks, bytes, 1, Protocol::Simple);
        let schedule = algorithms::build(&plan).unwrap();
        let mut fabric = fabric(workload(schedule, ranks, 1, false), nodes, 0.0, Recovery::GoBackN);
        let time = run(&mut fabric).as_us();
        let us = |bytes: f64| bytes * WIRE / (GBPS as f64 / 8.0) / 1e3;
        let expected = us(times * bytes as f64 + 524_288.0);
        assert!((time / expected - 1.0).abs() < 0.005, "{nodes} nodes: {time} us, closed form {expected} us");
    }
}

#[test]
fn steady_loops_left_out_change_the_time_by_less_than_half_a_percent() {
    let (schedule, ranks) = ring(4, 256_000_000);
    let exact = run(&mut fabric(workload(schedule.clone(), ranks, 1, false), 4, 0.0, Recovery::GoBackN));
    let mut shorter = fabric(workload(schedule, ranks, 1, true), 4, 0.0, Recovery::GoBackN);
    let simulated = run(&mut shorter);
    let skipped = shorter.skipped(0);
    assert!(skipped.loops > 10, "{skipped:?}");
    let whole = simulated + skipped.time;
    let off = whole.0 as f64 / exact.0 as f64 - 1.0;
    assert!(off.abs() < 0.005, "{exact} exactly, {whole} extrapolated");
}

#[test]
fn losses_delay_but_never_lose_a_message() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let (schedule, ranks) = ring(4, 4_000_000);
        let mut fabric = fabric(workload(schedule, ranks, 3, false), 4, 1e-3, recovery);
        run(&mut fabric);
        assert!(fabric.counters().retransmissions > 0);
        fabric.audit().unwrap();
    }
}

#[test]
fn messages_over_several_queue_pairs_arrive_whole() {
    for (qps, split, announce) in
        [(4, true, None), (3, false, None), (2, true, Some(8192)), (2, false, Some(8192))]
    {
        let (schedule, ranks) = ring(3, 8_000_000);
        let mut load = workload(schedule, ranks, 2, false);
        load.calls[0].transport.qps = qps;
        load.calls[0].transport.split = split;
        load.calls[0].transport.announce_above = announce;
        let mut fabric = fabric(load, 3, 0.0, Recovery::GoBackN);
        run(&mut fabric);
        let data = 2 * 3 * 2 * 2 * 8_000_000 / 3;
        let moved = fabric.moved().network_bytes;
        assert!(moved > data - 100 && moved < data + 64 * 1000, "{moved} of {data}");
    }
}

#[test]
fn wrong_workloads_are_refused() {
    let (schedule, ranks) = ring(4, 1000);
    let build = |change: fn(&mut Workload)| {
        let mut load = workload(schedule.clone(), ranks, 1, false);
        change(&mut load);
        let graph = topology::build(&TopologyConfig::SingleSwitch(SingleSwitch {
            hosts: 4,
            link: LinkConfig::new(Rate::gbps(GBPS), Duration::from_us(1)),
            overrides: vec![],
        }))
        .unwrap();
        Fabric::<TimeWheel>::build_with(graph, vec![], Some(load), &FabricConfig::default(), NoRecord)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        build(|load| load.machine.nics_per_node = 2),
        "the workload needs 4 nodes with 2 NICs of 1 port(s) each, but the topology has 4 hosts: give it 8 hosts, one a \
         port, or use fewer nodes"
    );
    assert_eq!(
        build(|load| load.calls[0].transport.qps = 17),
        "call \"test\": 17 queue pairs a connection; from 1 to 16 are possible"
    );
    assert_eq!(build(|load| load.tasks[1].gpu = 2), "task 1: GPU 2 is not rank 1 of call 0");
}
