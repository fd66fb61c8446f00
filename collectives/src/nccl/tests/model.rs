//! The cost model: latencies, bandwidths, choice by size, and predictions.

use super::*;
use Algorithm::{DoubleTree as Tree, NvlsTree, Ring};
use Protocol::{Ll, Ll128, Simple};

/// Latency (us) and bandwidth (GB/s) agree to the digits of the table.
fn agrees(of: &Communicator, algorithm: Algorithm, protocol: Protocol, latency: f64, bandwidth: f64) {
    let cost = of.cost(Operation::AllReduce, algorithm, protocol);
    let what = format!("{algorithm:?}/{protocol:?} on {} nodes of {}: {cost:?}", of.nodes, of.node.name);
    assert!((cost.latency_us - latency).abs() <= 0.05 + 5e-4 * latency, "latency {latency}: {what}");
    assert!((cost.bandwidth - bandwidth).abs() <= 0.06 + 1e-9 * bandwidth, "bandwidth {bandwidth}: {what}");
}

const SIX: [(Algorithm, Protocol); 6] =
    [(Tree, Ll), (Tree, Ll128), (Tree, Simple), (Ring, Ll), (Ring, Ll128), (Ring, Simple)];

#[test]
fn latency_and_bandwidth_on_h100_are_those_of_nccl() {
    let node = node("hgx-h100");
    // Tree LL, LL128, Simple; Ring LL, LL128, Simple; NVLSTree. NCCL 2.30's tables for 8 × 400 Gb/s, Intel.
    let table: [(u32, [(f64, f64); 7]); 4] = [
        (
            2,
            [
                (25.2, 16.6),
                (48.5, 124.8),
                (92.4, 140.8),
                (40.0, 20.8),
                (75.2, 156.6),
                (131.6, 204.8),
                (66.8, 246.2),
            ],
        ),
        (
            4,
            [
                (35.2, 8.7),
                (65.5, 98.6),
                (120.4, 122.4),
                (78.8, 10.5),
                (144.4, 151.5),
                (282.8, 198.2),
                (108.6, 187.9),
            ],
        ),
        (
            8,
            [
                (45.2, 8.7),
                (82.5, 98.6),
                (148.4, 122.4),
                (156.4, 10.4),
                (282.8, 149.1),
                (585.2, 195.0),
                (150.4, 184.9),
            ],
        ),
        (
            16,
            [
                (55.2, 8.7),
                (99.5, 98.6),
                (176.4, 122.4),
                (311.6, 10.3),
                (559.6, 148.0),
                (1190.0, 193.5),
                (192.2, 183.4),
            ],
        ),
    ];
    for (nodes, row) in table {
        let of = eight(&node, nodes);
        for ((algorithm, protocol), (latency, bandwidth)) in
            SIX.into_iter().chain([(NvlsTree, Simple)]).zip(row)
        {
            agrees(&of, algorithm, protocol, latency, bandwidth);
        }
    }
    let one = eight(&node, 1);
    let row = [(15.2, 43.6), (31.5, 128.8), (64.4, 165.6), (15.0, 80.6), (40.6, 189.3), (56.0, 205.7)];
    for ((algorithm, protocol), (latency, bandwidth)) in SIX.into_iter().zip(row) {
        agrees(&one, algorithm, protocol, latency, bandwidth);
    }
    agrees(&one, Algorithm::Nvls, Simple, 25.0, 272.0);
}

#[test]
fn latency_and_bandwidth_on_a100_are_those_of_nccl() {
    let of = eight(&node("dgx-a100"), 2);
    let row = [(25.2, 11.2), (48.5, 80.0), (92.4, 94.4), (68.0, 12.0), (78.0, 85.3), (204.4, 102.4)];
    for ((algorithm, protocol), (latency, bandwidth)) in SIX.into_iter().zip(row) {
        agrees(&of, algorithm, protocol, latency, bandwidth);
    }
}

/// The winner of each power of two from 8 B to 16 GiB, as the sizes from which it changes.
fn changes(node: &NodeSpec, nodes: u32, operation: Operation, from: u64) -> Vec<(Algorithm, Protocol, u64)> {
    let of = eight(node, nodes);
    let mut changes: Vec<(Algorithm, Protocol, u64)> = vec![];
    for shift in from.ilog2()..=34 {
        let (algorithm, protocol, _) = of.candidates(operation, 1 << shift).unwrap()[0];
        if changes.last().is_none_or(|&(a, p, _)| (a, p) != (algorithm, protocol)) {
            changes.push((algorithm, protocol, 1 << shift));
        }
    }
    changes
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[test]
fn the_choice_by_size_is_that_of_nccl() {
    let h100 = node("hgx-h100");
    let of = |nodes| changes(&h100, nodes, Operation::AllReduce, 8);
    let tree = [(Tree, Ll, 8), (Tree, Ll128, 256 * KIB)];
    assert_eq!(of(2), [tree[0], tree[1], (NvlsTree, Simple, 2 * MIB)]);
    for (nodes, nvls, ring) in
        [(4, 8 * MIB, GIB), (8, 16 * MIB, 4 * GIB), (16, 16 * MIB, 8 * GIB), (32, 32 * MIB, 16 * GIB)]
    {
        assert_eq!(
            of(nodes),
            [tree[0], tree[1], (NvlsTree, Simple, nvls), (Ring, Simple, ring)],
            "{nodes} nodes"
        );
    }
    let a100 = node("dgx-a100");
    for (nodes, ll128, simple) in [(2, 16, 128), (4, 32, 256), (8, 64, 512)] {
        let expected = [tree[0], tree[1], (Ring, Ll128, ll128 * MIB), (Ring, Simple, simple * MIB)];
        assert_eq!(changes(&a100, nodes, Operation::AllReduce, 8), expected, "{nodes} nodes");
    }
    for (nodes, ll128, simple) in [(2, 1, 64), (4, 1, 128), (8, 2, 256), (16, 4, 512)] {
        let expected = [(Ring, Ll, 4 * KIB), (Ring, Ll128, ll128 * MIB), (Ring, Simple, simple * MIB)];
        assert_eq!(changes(&h100, nodes, Operation::AllGather, 4 * KIB), expected, "{nodes} nodes");
    }
}

/// The model's choice and its microseconds.
fn predicts(
    of: &Communicator,
    operation: Operation,
    bytes: u64,
    (algorithm, protocol, us): (Algorithm, Protocol, f64),
) {
    let (a, p, time) = of.candidates(operation, bytes).unwrap()[0];
    assert_eq!((a, p), (algorithm, protocol), "{bytes} B on {} nodes: {time} us", of.nodes);
    assert!((time - us).abs() <= 0.06, "{bytes} B on {} nodes: {time}, not {us} us", of.nodes);
}

#[test]
fn predictions_for_h100_are_those_of_nccl() {
    let node = node("hgx-h100");
    let rows: [(u32, u64, Algorithm, Protocol, f64); 20] = [
        (2, 8, Tree, Ll, 25.2),
        (2, 64 * KIB, Tree, Ll, 31.8),
        (2, MIB, Tree, Ll128, 62.5),
        (2, 4 * MIB, NvlsTree, Simple, 83.8),
        (2, 16 * MIB, NvlsTree, Simple, 134.9),
        (2, 64 * MIB, NvlsTree, Simple, 339.4),
        (2, 256 * MIB, NvlsTree, Simple, 1157.2),
        (2, GIB, NvlsTree, Simple, 4428.3),
        (2, 8 * GIB, NvlsTree, Simple, 34958.8),
        (4, 8, Tree, Ll, 35.2),
        (4, 64 * KIB, Tree, Ll, 47.8),
        (4, MIB, Tree, Ll128, 83.2),
        (4, 16 * MIB, NvlsTree, Simple, 197.9),
        (4, 64 * MIB, NvlsTree, Simple, 465.8),
        (4, 256 * MIB, NvlsTree, Simple, 1537.4),
        (4, GIB, Ring, Simple, 5813.6),
        (8, MIB, Tree, Ll128, 100.2),
        (8, 64 * MIB, NvlsTree, Simple, 513.4),
        (8, GIB, NvlsTree, Simple, 5957.9),
        (8, 8 * GIB, Ring, Simple, 44859.5),
    ];
    for (nodes, bytes, algorithm, protocol, us) in rows {
        predicts(&eight(&node, nodes), Operation::AllReduce, bytes, (algorithm, protocol, us));
    }
    predicts(&eight(&node, 2), Operation::AllReduce, 16 * GIB, (NvlsTree, Simple, 69850.7));
    predicts(&eight(&node, 4), Operation::AllReduce, 16 * GIB, (Ring, Simple, 87078.2));
    predicts(&eight(&node, 4), Operation::AllReduce, 8 * GIB, (Ring, Simple, 43737.1));
    // A 64 KiB call on 8 nodes is Tree/LL at 57.8 us.
    predicts(&eight(&node, 8), Operation::AllReduce, 64 * KIB, (Tree, Ll, 57.8));
}

#[test]
fn predictions_for_other_nodes_are_those_of_nccl() {
    let a100 = eight(&node("oci-bm-gpu4-8"), 1);
    predicts(&a100, Operation::AllReduce, 10 * GIB, (Ring, Simple, 78349.7));
    let b200 = eight(&node("dgx-b200"), 2);
    for (bytes, protocol, us) in [
        (KIB, Ll, 23.3),
        (MIB, Ll128, 47.7),
        (16 * MIB, Ll128, 93.8),
        (64 * MIB, Simple, 233.8),
        (256 * MIB, Simple, 725.4),
        (GIB, Simple, 2691.4),
        (8 * GIB, Simple, 21041.5),
    ] {
        predicts(&b200, Operation::AllGather, bytes, (Ring, protocol, us));
    }
    // AWS p3dn with rings forced: one NIC behind the host bridge, so no LL128.
    let config = NcclConfig { algorithm: AlgorithmChoice::Ring, ..NcclConfig::default() };
    let p3dn = Communicator::new(&node("aws-p3dn"), 2, 8, &config).unwrap();
    for (bytes, protocol, us) in
        [(8, Ll, 40.0), (MIB, Ll, 433.2), (64 * MIB, Simple, 12833.0), (GIB, Simple, 201_576.6)]
    {
        predicts(&p3dn, Operation::AllReduce, bytes, (Ring, protocol, us));
    }
}

#[test]
fn settings_act_on_the_model() {
    let node = node("hgx-h100");
    let with = |config: NcclConfig| Communicator::new(&node, 4, 8, &config).unwrap();
    let plain = with(NcclConfig::default());
    let ring = |of: &Communicator| of.predict(Operation::AllReduce, GIB, Ring, Simple);
    let slow = with(NcclConfig { net_overhead_us: Some(4.0), ..NcclConfig::default() });
    assert!(ring(&slow) > ring(&plain));
    let joined = with(NcclConfig { aggregated_operations: 8, ..NcclConfig::default() });
    assert!(ring(&joined) > ring(&plain));
    let without = with(NcclConfig { nvls: false, ..NcclConfig::default() });
    assert!(without.candidates(Operation::AllReduce, GIB).unwrap().iter().all(|c| c.0 != NvlsTree));
    let sharp = with(NcclConfig { collnet: true, ..NcclConfig::default() });
    let found = sharp.candidates(Operation::AllReduce, GIB).unwrap();
    for algorithm in [Algorithm::Nvls, Algorithm::CollnetDirect, Algorithm::CollnetChain] {
        assert!(found.iter().any(|c| c.0 == algorithm), "{algorithm:?} is missing in {found:?}");
    }
    let hop = plain.latencies(NvlsTree, Simple);
    assert_eq!((hop.base_us, hop.nvlink_us, hop.network_us), (0.0, 25.0, 20.9));
}
