//! Collectives held to closed forms, published runs and users' problems.

use std::collections::BTreeSet;

use collectives::schedule::Path;
use models::fabric::Fabric;
use models::record::NoRecord;
use scenarios::jobs::bound::PortOf;
use scenarios::jobs::loads;
use scenarios::jobs::results::{CollectiveSummary, impossible};
use scenarios::language;
use scenarios::run::{self, Outcome, Silent};
use serde_json::{Value, json};
use sim_core::queue::TimeWheel;
use validation::nccl_runs::{Row, host_limited_by, median, runs, simulate};

/// A scenario of one job.
fn scenario(topology: Value, cluster: Value, job: Value) -> Value {
    json!({
        "schema_version": 1, "name": "case", "topology": topology, "congestion": "none",
        "nic": { "mtu": "4096B", "ack_every": 16 }, "cluster": cluster, "jobs": [job]
    })
}

fn collective(operation: &str, size: &str) -> Value {
    json!({ "collective": { "operation": operation, "size": size } })
}

fn switch(hosts: u32, rate: &str) -> Value {
    json!({ "single-switch": { "hosts": hosts, "link": { "rate": rate, "delay": "500ns" } } })
}

fn outcome(object: &Value) -> Outcome {
    let scenario = language::load(&object.to_string(), "case", &[]).unwrap().scenario;
    run::execute(run::prepare(&scenario).unwrap(), None, &mut Silent).unwrap()
}

fn first(object: &Value) -> CollectiveSummary {
    outcome(object).summary.collectives.remove(0)
}

fn us(c: &CollectiveSummary) -> f64 {
    c.step_time_us.unwrap().mean
}

/// Published runs up to 256 MiB that are not limited by their hosts: nearer than NCCL's own model, and near.
#[test]
fn published_runs_are_met_from_presets_alone() {
    let rows: Vec<Row> = runs()
        .iter()
        .filter(|run| run.counts && ["A1", "A2", "A3", "C1", "F1"].contains(&run.name))
        .map(|run| simulate(run, 256 << 20, 2))
        .filter(|rows| host_limited_by(rows).is_none())
        .flatten()
        .collect();
    let errors = |least: u64, most: u64, of: fn(&Row) -> f64| {
        rows.iter().filter(move |r| r.bytes >= least && r.bytes <= most).map(of).collect::<Vec<f64>>()
    };
    let mean = |errors: &[f64]| errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64;
    let middle = errors(64 << 10, 16 << 20, Row::error);
    let large = errors(64 << 20, 256 << 20, Row::error);
    assert!(middle.len() >= 8 && large.len() >= 5, "{rows:?}");
    assert!(median(middle.iter().copied()) < 0.12, "64 KiB to 16 MiB: {middle:?}");
    assert!(median(large.iter().copied()) < 0.05, "64 MiB and more: {large:?}");
    let (ours, models) =
        (errors(16 << 20, 256 << 20, Row::error), errors(16 << 20, 256 << 20, Row::model_error));
    // 11 % against 24 % when this was written.
    assert!(mean(&ours) < 0.6 * mean(&models), "{} against {}", mean(&ours), mean(&models));
}

/// Case 22: the fabric allows 385 to 392 GB/s of ring busbw; a fixed cost of each 128 KiB step explains 0.55 to 0.59 of it.
#[test]
fn hosts_explain_what_the_fabric_does_not() {
    let job = |nccl: Value| json!({ "nccl": nccl, "work": collective("all-reduce", "512MiB") });
    let ring = json!({ "algorithm": "ring", "protocol": "simple" });
    let free = json!({ "node": "hgx-h100-roce", "nodes": 2, "costs": "none" });
    let fabric = first(&scenario(switch(16, "400Gbps"), free, job(ring.clone())));
    let busbw = fabric.busbw_gbytes_per_s.unwrap();
    assert!((380.0..392.0).contains(&busbw), "{busbw}");
    // Slices of 128 KiB; each GPU's proxy sends and receives one of each of its two channels in turn, 4 × 2.4 us.
    let slow = json!({ "node": "hgx-h100-roce", "nodes": 2, "host_step": "2.4us" });
    let small = json!({ "algorithm": "ring", "protocol": "simple", "buffer_bytes": 524_288 });
    let limited = first(&scenario(switch(16, "400Gbps"), slow, job(small)));
    let part = limited.busbw_gbytes_per_s.unwrap() / busbw;
    assert!((0.54..0.60).contains(&part), "{part}");
    // Without GPUDirect the same hosts also copy.
    let staged = json!({ "algorithm": "ring", "protocol": "simple", "gdr": false });
    let node = json!({ "node": "hgx-h100-roce", "nodes": 2 });
    let staged = first(&scenario(switch(16, "400Gbps"), node, job(staged))).busbw_gbytes_per_s.unwrap();
    assert!(staged < 0.3 * busbw, "{staged}");
}

/// Case 24: four streams on U uplinks do not collide with probability 0.094, 0.41, 0.67 for U = 4, 8, 16; a collision
/// halves the ring.
#[test]
fn streams_collide_as_often_as_chance_has_it_and_halve_the_ring() {
    let object = |uplinks: u32, seed: u64| {
        let topology = json!({ "leaf-spine": {
            "leaves": 2, "spines": uplinks, "hosts_per_leaf": 16,
            "host_link": { "rate": "100Gbps", "delay": "300ns" },
            "fabric_link": { "rate": "100Gbps", "delay": "300ns" }
        } });
        let cluster = json!({ "node": "dgx-1v", "nodes": 8, "costs": "none" });
        let job = json!({
            "nccl": { "algorithm": "ring", "protocol": "simple", "max_channels": 4 },
            "work": collective("all-reduce", "32MB")
        });
        let mut object = scenario(topology, cluster, job);
        object["seed"] = json!(seed);
        object
    };
    // Uplinks that the streams of each of the two hops between racks choose.
    let uplinks = |object: &Value| -> Vec<BTreeSet<u32>> {
        let scenario = language::load(&object.to_string(), "case", &[]).unwrap().scenario;
        let mut prepared = run::prepare(&scenario).unwrap();
        let jobs = prepared.jobs.take().unwrap();
        let graph = std::mem::take(&mut prepared.graph);
        let workload = Some(jobs.workload.clone());
        let fabric: Fabric<TimeWheel> =
            Fabric::build_with(graph, vec![], workload, &prepared.config, NoRecord).unwrap();
        let graph = fabric.graph();
        let mut chosen = vec![Vec::new(); 2];
        for stream in loads::streams(&fabric, &jobs, 0) {
            for port in stream.way.unwrap() {
                let end = graph.ports[port as usize];
                if !graph.is_host(end.node) && graph.names[end.peer_node as usize].starts_with("spine") {
                    chosen[(end.node - graph.hosts) as usize].push(port);
                }
            }
        }
        assert!(chosen.iter().all(|ports| ports.len() == 4), "{chosen:?}");
        chosen.into_iter().map(|ports| ports.into_iter().collect()).collect()
    };
    for (count, expected) in [(4, 0.09375), (8, 0.41015625), (16, 0.66650390625)] {
        let (mut free, mut all) = (0.0f64, 0.0f64);
        for seed in 1..=300 {
            for hop in uplinks(&object(count, seed)) {
                free += f64::from(u8::from(hop.len() == 4));
                all += 1.0;
            }
        }
        let part: f64 = free / all;
        // Three standard errors of a fraction.
        let margin = 3.0 * (expected * (1.0 - expected) / all).sqrt();
        assert!((part - expected).abs() < margin, "{count} uplinks: {part} ± {margin}, expected {expected}");
    }
    let seed_with = |free: bool| {
        (1..200)
            .find(|&seed| {
                let hops = uplinks(&object(8, seed));
                if free {
                    hops.iter().all(|h| h.len() == 4)
                } else {
                    hops[0].len() == 3 && hops[1].len() == 4
                }
            })
            .unwrap()
    };
    let clear = first(&object(8, seed_with(true)));
    let collided = first(&object(8, seed_with(false)));
    // Four NICs with 12.25 GB/s of goodput each.
    let busbw = clear.busbw_gbytes_per_s.unwrap();
    assert!((46.0..49.1).contains(&busbw), "{busbw}");
    let part = collided.busbw_gbytes_per_s.unwrap() / busbw;
    assert!((0.48..0.54).contains(&part), "{part}");
    assert!(collided.bound_by.unwrap().starts_with("leaf0:"));
}

/// Case 25: a node with half of its NICs at half speed halves every pair it is in.
#[test]
fn a_node_with_slow_nics_halves_its_pairs() {
    let pair = |slow: bool| {
        let overrides: Vec<Value> = (0..if slow { 4 } else { 0 })
            .map(|nic| json!({ "a": format!("host{}", 8 + nic), "b": format!("leaf{nic}"), "rate": "200Gbps" }))
            .collect();
        let topology = json!({ "rail": {
            "nodes": 2, "nics_per_node": 8, "spines": 0, "link": { "rate": "400Gbps", "delay": "500ns" },
            "overrides": overrides
        } });
        let cluster = json!({ "node": "hgx-h100", "nodes": 2, "costs": "none" });
        let nccl = json!({ "algorithm": "ring", "protocol": "simple" });
        first(&scenario(
            topology,
            cluster,
            json!({ "nccl": nccl, "work": collective("all-reduce", "256MiB") }),
        ))
        .busbw_gbytes_per_s
        .unwrap()
    };
    let part = pair(true) / pair(false);
    assert!((0.45..0.56).contains(&part), "{part}");
}

/// Case 27: over one NIC a node, a ring moves 1.875 S and a tree of two nodes S.
#[test]
fn rings_load_nics_more_than_trees_of_two_nodes() {
    let load = |algorithm: &str| {
        let cluster =
            json!({ "node": { "preset": "hgx-h100", "nics": 1, "nic_rate_gbps": 100 }, "nodes": 2 });
        let nccl = json!({ "algorithm": algorithm, "protocol": "simple" });
        let job = json!({ "nccl": nccl, "work": collective("all-reduce", "1GiB") });
        let object = scenario(switch(2, "100Gbps"), cluster, job);
        let scenario = language::load(&object.to_string(), "case", &[]).unwrap().scenario;
        let jobs = run::prepare(&scenario).unwrap().jobs.unwrap();
        let bound = &jobs.calls[0].bound;
        bound.loads[&PortOf::Nic { node: 0, nic: 0, sends: true }] as f64 / f64::from(1u32 << 30)
    };
    assert!((load("ring") - 1.875).abs() < 0.001, "{}", load("ring"));
    assert!((load("double-tree") - 1.0).abs() < 0.001, "{}", load("double-tree"));
}

/// Case 28: five nodes with four NICs: the ring comes near its bound of 196 GB/s, the tree to 140 to 191.
#[test]
fn rings_beat_trees_on_five_nodes() {
    let busbw = |algorithm: &str| {
        let cluster = json!({ "node": { "preset": "hgx-h100", "nics": 4 }, "nodes": 5 });
        let nccl = json!({ "algorithm": algorithm, "protocol": "simple", "qps_per_connection": 2 });
        let job = json!({ "nccl": nccl, "work": collective("all-reduce", "1GiB") });
        first(&scenario(switch(20, "400Gbps"), cluster, job)).busbw_gbytes_per_s.unwrap()
    };
    let (ring, tree) = (busbw("ring"), busbw("double-tree"));
    assert!((180.0..196.1).contains(&ring), "ring {ring}");
    assert!((140.0..191.0).contains(&tree) && tree < ring, "tree {tree}");
}

/// Case 30: an RDMA MTU of 256 instead of 1024 B costs a factor 0.818.
#[test]
fn small_mtus_cost_what_their_headers_cost() {
    let time = |mtu: &str| {
        let cluster = json!({ "node": { "preset": "hgx-h100-roce", "gpus": 1, "nics": 1 }, "nodes": 2, "costs": "none" });
        let job = json!({ "nccl": { "algorithm": "ring", "protocol": "simple" }, "work": collective("all-reduce", "64MiB") });
        let mut object = scenario(switch(2, "100Gbps"), cluster, job);
        object["nic"] = json!({ "mtu": mtu, "ack_every": 64 });
        us(&first(&object))
    };
    let ratio = time("1024B") / time("256B");
    assert!((ratio - 0.818).abs() < 0.01, "{ratio}");
}

/// Case 32: a ring of sends over two nodes crosses the network with one stream each way, however many GPUs there are: the
/// fabric allows the NIC's rate in both cases.
#[test]
fn sends_around_two_nodes_need_one_stream_each_way() {
    let run = |gpus: u32| {
        let cluster = json!({ "node": { "preset": "hgx-h100-roce", "gpus": gpus, "nics": 1 }, "nodes": 2, "costs": "none" });
        let job = json!({ "work": collective("send-recv", "256MiB") });
        let object = scenario(switch(2, "400Gbps"), cluster, job);
        let scenario = language::load(&object.to_string(), "case", &[]).unwrap().scenario;
        let jobs = run::prepare(&scenario).unwrap().jobs.unwrap();
        let schedule = &jobs.workload.calls[0].schedule;
        let pairs: BTreeSet<(u32, u32)> = schedule
            .connections
            .iter()
            .filter(|c| matches!(c.path, Path::Network { .. }))
            .map(|c| (c.from, c.to))
            .collect();
        assert_eq!(pairs, BTreeSet::from([(gpus - 1, gpus), (2 * gpus - 1, 0)]));
        first(&object).busbw_gbytes_per_s.unwrap()
    };
    for gpus in [1, 4] {
        let busbw = run(gpus);
        assert!((47.0..49.1).contains(&busbw), "{gpus} GPUs: {busbw}");
    }
}

/// Case 35: packets sprayed over paths onto a transport that wants order are sent again though none is lost; with
/// out-of-order placement none is.
#[test]
fn spraying_needs_out_of_order_placement() {
    let run = |recovery: Value| {
        let topology = json!({ "leaf-spine": {
            "leaves": 2, "spines": 4, "hosts_per_leaf": 8,
            "host_link": { "rate": "400Gbps", "delay": "300ns" },
            "fabric_link": { "rate": "400Gbps", "delay": "300ns" }
        } });
        let cluster = json!({ "node": "hgx-h100", "nodes": 2, "costs": "none" });
        let nccl = json!({ "algorithm": "ring", "protocol": "simple" });
        let mut object =
            scenario(topology, cluster, json!({ "nccl": nccl, "work": collective("all-reduce", "64MiB") }));
        object["routing"] = json!({ "mode": "spray" });
        object["nic"] = recovery;
        let summary = outcome(&object).summary;
        assert_eq!(summary.drops.total, 0);
        (summary.retransmissions, us(&summary.collectives[0]))
    };
    let (in_order, slow) = run(json!({ "mtu": "4096B", "recovery": "go-back-n" }));
    let (placed, fast) =
        run(json!({ "mtu": "4096B", "recovery": "selective-repeat", "reorder_window": 1_000_000 }));
    assert!(in_order > 0 && placed == 0, "{in_order} {placed}");
    assert!(slow > fast, "{slow} {fast}");
}

/// Case 41: no result above its bound, and one that were would stop the run.
#[test]
fn results_above_their_bound_are_faults() {
    for operation in
        ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all", "send-recv"]
    {
        let cluster = json!({ "node": "hgx-h100", "nodes": 2, "costs": "none" });
        let object =
            scenario(switch(16, "400Gbps"), cluster, json!({ "work": collective(operation, "64MiB") }));
        let mut c = first(&object);
        let (busbw, bound) = (c.busbw_gbytes_per_s.unwrap(), c.bound_busbw_gbytes_per_s.unwrap());
        assert!(busbw <= bound, "{operation}: {busbw} of {bound}");
        assert!(busbw > 0.3 * bound, "{operation}: {busbw} of {bound}");
        assert!(c.bound_by.is_some());
        assert_eq!(impossible(std::slice::from_ref(&c)), None);
        c.busbw_gbytes_per_s = Some(bound * 1.01);
        assert!(impossible(&[c]).unwrap().contains("allows"));
    }
}

/// What runs in a steady state is extrapolated to within half a percent of every packet simulated, and marked.
#[test]
fn extrapolation_agrees_with_every_packet() {
    for (algorithm, size) in [("ring", "1GiB"), ("nvls-tree", "512MiB"), ("double-tree", "512MiB")] {
        let cluster = json!({ "node": "hgx-h100", "nodes": 2 });
        let nccl = json!({ "algorithm": algorithm, "protocol": "simple", "buffer_bytes": 524_288 });
        let mut object = scenario(
            switch(16, "400Gbps"),
            cluster,
            json!({ "nccl": nccl, "work": collective("all-reduce", size) }),
        );
        let short = first(&object);
        object["run"] = json!({ "exact": true });
        let exact = first(&object);
        assert!(short.extrapolated_loops > 0 && exact.extrapolated_loops == 0, "{algorithm}");
        let off = us(&short) / us(&exact) - 1.0;
        assert!(off.abs() < 0.005, "{algorithm}: {off}");
    }
}

fn training(gpus: u32, nodes: u32, step: Value) -> scenarios::jobs::results::TrainingSummary {
    let cluster =
        json!({ "node": { "preset": "hgx-h100", "gpus": gpus, "nics": 1 }, "nodes": nodes, "costs": "none" });
    let job = json!({ "work": { "training-step": step } });
    outcome(&scenario(switch(nodes, "400Gbps"), cluster, job)).summary.training.remove(0)
}

/// A pipeline of p stages and m micro-batches takes (m + p − 1) / m of the computation, when messages are small.
#[test]
fn pipelines_have_their_bubble() {
    let step = training(
        1,
        4,
        json!({
            "parameters": 1000, "layers": 8, "forward": "500us", "backward": "1ms", "activation": "4KiB",
            "pipeline_parallel": 4, "micro_batches": 4, "iterations": 2
        }),
    );
    let expected = f64::from(4 + 3) * 2.0 * 1500.0;
    let time = step.step_time_us.unwrap().mean;
    assert!((time / expected - 1.0).abs() < 0.005, "{time} us, expected {expected} us");
    assert!((step.compute_us - 4.0 * 2.0 * 1500.0).abs() < 1.0, "{}", step.compute_us);
    assert!((step.gpu_idle_share - 3.0 / 7.0).abs() < 0.005, "{}", step.gpu_idle_share);
    assert_eq!(step.steps, 2);
}

/// Gradients that are reduced behind the backward pass are exposed by their last bucket only; after it, whole.
#[test]
fn overlap_hides_gradients() {
    let run = |overlap: bool| {
        training(
            1,
            4,
            json!({
                "parameters": 50_000_000, "layers": 20, "forward": "500us", "overlap": overlap, "bucket": "5MB"
            }),
        )
    };
    let (hidden, shown) = (run(true), run(false));
    // 100 MB over four ranks at 400 Gb/s: 3 ms of communication against 20 ms of backward pass.
    let whole = 1.5 * 100e6 / 49.0e3;
    let exposed = shown.exposed_communication_us;
    assert!((exposed / whole - 1.0).abs() < 0.1, "{exposed} of {whole}");
    assert!(hidden.exposed_communication_us < 0.15 * exposed, "{}", hidden.exposed_communication_us);
    assert_eq!(hidden.compute_us, 20.0 * 1500.0);
}

/// The same scenario twice gives the same figures; operations and sizes from one byte on end.
#[test]
fn runs_repeat_and_small_sizes_end() {
    for size in ["1B", "8B", "4KiB", "100KB"] {
        let cluster = json!({ "node": "dgx-a100", "nodes": 2 });
        let object =
            scenario(switch(16, "200Gbps"), cluster, json!({ "work": collective("all-reduce", size) }));
        assert_eq!(outcome(&object).summary, outcome(&object).summary);
        assert!(us(&first(&object)) > 20.0);
    }
}
