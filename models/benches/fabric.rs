//! Speed of whole fabrics, in packet-hops a second: one flow through one switch (the cost of an idle hop), and the two
//! permutations that other simulators are measured on (k-ary fat tree, 400 Gb/s, 1 us links, 4096 B packets, PFC, ECN
//! and DCQCN on, an ACK a packet).

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use models::config::{FatTree, LinkConfig, Permutation, SingleSwitch, TopologyConfig, TrafficConfig};
use models::fabric::{Fabric, FabricConfig};
use models::record::NoRecord;
use models::topology::{self, Graph};
use models::traffic::{self, Flow};
use sim_core::queue::TimeWheel;
use sim_core::{Bytes, Duration, Rate, Time};

type Simulation = Fabric<TimeWheel, NoRecord>;

const SEED: u64 = 1;

fn link() -> LinkConfig {
    LinkConfig::new(Rate::gbps(400), Duration::from_us(1))
}

fn permutation(graph: &Graph, size: u64, shift: Option<u32>) -> Vec<Flow> {
    let group = Permutation { size: Bytes(size), shift, start: Duration::ZERO, options: Default::default() };
    traffic::build(&[TrafficConfig::Permutation(group)], graph, SEED).expect("a valid permutation")
}

fn fat_tree(k: u32) -> Graph {
    let config = FatTree {
        tiers: 3,
        k,
        pods: None,
        link: link(),
        fabric_link: None,
        oversubscription: 1,
        overrides: vec![],
    };
    topology::build(&TopologyConfig::FatTree(config)).expect("a valid fat tree")
}

fn build(graph: &Graph, flows: &[Flow]) -> Simulation {
    let config = FabricConfig { seed: SEED, ..FabricConfig::default() };
    Simulation::build(graph.clone(), flows.to_vec(), &config, NoRecord).expect("a valid fabric")
}

fn run(mut fabric: Simulation) -> u64 {
    let mut until = Time::ZERO;
    while fabric.completed() < fabric.flows().len() as u64 {
        until = until + Duration::from_us(20);
        fabric.run_until(until);
    }
    fabric.counters().packet_hops
}

fn bench(c: &mut Criterion, name: &str, graph: &Graph, flows: &[Flow]) {
    let mut group = c.benchmark_group("fabric");
    group.sample_size(10).throughput(Throughput::Elements(run(build(graph, flows))));
    group.bench_function(name, |b| {
        b.iter_batched(|| build(graph, flows), run, BatchSize::PerIteration);
    });
    group.finish();
}

fn fabrics(c: &mut Criterion) {
    let star = SingleSwitch { hosts: 2, link: link(), overrides: vec![] };
    let star = topology::build(&TopologyConfig::SingleSwitch(star)).expect("a valid star");
    let one = permutation(&star, 100_000_000, Some(1))[..1].to_vec();
    bench(c, "switch hop: one flow of 100 MB through one switch", &star, &one);
    let (small, large) = (fat_tree(8), fat_tree(16));
    bench(c, "permutation of 128 hosts, 16 MB", &small, &permutation(&small, 16_000_000, None));
    bench(c, "permutation of 1024 hosts, 2 MB", &large, &permutation(&large, 2_000_000, None));
}

criterion_group!(benches, fabrics);
criterion_main!(benches);
