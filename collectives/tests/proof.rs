//! Every algorithm does every operation it claims, on any ranks, sizes and channels.

use collectives::algorithms::{ALGORITHMS, AlgorithmError, build, operations};
use collectives::check::{Totals, check};
use collectives::plan::{Plan, Ranks, Shape, TreePattern};
use collectives::schedule::{Algorithm, CollectiveSchedule, Operation, Protocol};
use proptest::prelude::*;

/// The schedule of a plan, proved; `None` where the algorithm says that it needs other nodes.
fn proved(plan: &Plan) -> Option<(CollectiveSchedule, Totals)> {
    let schedule = match build(plan) {
        Ok(schedule) => schedule,
        Err(AlgorithmError::Nodes { .. }) if !suits(plan) => return None,
        Err(error) => panic!("{plan:?}: {error}"),
    };
    assert!(suits(plan), "{plan:?} needs other nodes");
    let proof = check(&schedule).unwrap_or_else(|error| panic!("{plan:?}: {error}"));
    Some((schedule, proof.totals))
}

/// Whether an algorithm can run on a plan's nodes.
fn suits(plan: &Plan) -> bool {
    match (plan.algorithm, plan.operation) {
        (Algorithm::CollnetDirect | Algorithm::CollnetChain, _) => plan.ranks.nodes > 1,
        (Algorithm::Pat, _) => plan.ranks.per_node == 1,
        (Algorithm::Nvls, Operation::AllGather | Operation::ReduceScatter) => plan.ranks.nodes == 1,
        _ => true,
    }
}

/// Every algorithm with every operation that it does.
fn all() -> impl Iterator<Item = (Algorithm, Operation)> {
    ALGORITHMS.iter().flat_map(|a| operations(*a).iter().map(|o| (*a, *o)))
}

#[test]
fn every_algorithm_and_operation_with_any_number_of_ranks_up_to_64() {
    for (algorithm, operation) in all() {
        for ranks in 1..=64 {
            // All splits into nodes: as one node, one rank a node, and all between.
            for per_node in (1..=ranks).filter(|per_node| ranks % per_node == 0) {
                let ranks = Ranks { nodes: ranks / per_node, per_node };
                proved(&Plan::ideal(algorithm, operation, ranks, 1_000_000, 1, Protocol::Simple));
            }
        }
    }
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Ll), Just(Protocol::Ll128), Just(Protocol::Simple)]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..100, 1u64..100_000, 1u64..200_000_000, 1u64..20_000_000_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_size_channels_protocol_and_root(
        what in prop::sample::select(all().collect::<Vec<_>>()),
        nodes in 1u32..=12,
        per_node in prop_oneof![1u32..=8, Just(1)],
        bytes in bytes(),
        channels in 1u32..=9,
        protocol in protocol(),
        root in any::<u32>(),
        pxn in any::<bool>(),
        pattern in prop::sample::select(vec![TreePattern::Balanced, TreePattern::Split, TreePattern::Single]),
    ) {
        let ranks = Ranks { nodes, per_node };
        let plan = Plan::ideal(what.0, what.1, ranks, bytes, channels, protocol);
        let mut plan = plan.rooted(root % ranks.count());
        if pxn {
            plan = plan.with_pxn();
        }
        for channel in &mut plan.channels {
            if let Shape::Tree { pattern: p, .. } = &mut channel.shape {
                *p = pattern;
            }
        }
        proved(&plan);
    }

    #[test]
    fn a_ring_in_any_order(
        order in (2u32..30).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        operation in prop::sample::select(operations(Algorithm::Ring).to_vec()),
        bytes in bytes(),
    ) {
        let n = order.len() as u32;
        let plan = Plan::ring(operation, Ranks { nodes: 1, per_node: n }, bytes, 2, Protocol::Simple);
        let mut plan = plan.rooted(n / 3);
        if let Shape::Ring { order: ring, .. } = &mut plan.channels[0].shape {
            *ring = order;
        }
        proved(&plan);
    }
}

#[test]
fn a_rank_of_a_ring_allreduce_sends_exactly_two_n_minus_one_over_n_of_the_size() {
    for n in [2, 3, 4, 8, 16, 64, 128] {
        for bytes in [n * 16, n * 48_000, n * 7_812_496] {
            let ranks = Ranks { nodes: n as u32, per_node: 1 };
            let plan = Plan::ring(Operation::AllReduce, ranks, bytes, 1, Protocol::Simple);
            let totals = proved(&plan).unwrap().1;
            for sent in totals.sent {
                assert_eq!(sent.network, 2 * (n - 1) * bytes / n, "{n} ranks, {bytes} B");
                assert_eq!((sent.local, sent.nvls, sent.in_network), (0, 0, 0));
            }
        }
    }
}

#[test]
fn each_of_128_ranks_sends_1984_mb_for_1_gb() {
    let ranks = Ranks { nodes: 128, per_node: 1 };
    for channels in [1, 2, 5] {
        let plan = Plan::ring(Operation::AllReduce, ranks, 1_000_000_000, channels, Protocol::Simple);
        let totals = Totals::of(&build(&plan).unwrap());
        let all: u64 = totals.sent.iter().map(|sent| sent.network).sum();
        assert_eq!(all, 2 * 127 * 1_000_000_000, "{channels} channels");
        for sent in totals.sent {
            // 1.984375 GB, but for the last loop's blocks of unequal sizes.
            assert!(sent.network.abs_diff(1_984_375_000) < 8 * 1024, "{} B", sent.network);
        }
    }
}

#[test]
fn what_goes_over_the_network_is_what_the_algorithm_promises() {
    let (ranks, bytes) = (Ranks { nodes: 8, per_node: 4 }, 32 << 20);
    let plan = |algorithm, operation| Plan::ideal(algorithm, operation, ranks, bytes, 4, Protocol::Simple);
    let sum = |algorithm, operation| proved(&plan(algorithm, operation)).unwrap().1.sum();
    // Every hop of a ring between nodes carries 2(n−1)/n of the size.
    let ring = sum(Algorithm::Ring, Operation::AllReduce);
    assert_eq!(ring.network, 8 * 2 * 31 * bytes / 32);
    // A tree over 8 nodes has 7 edges, each carries all data up and down.
    assert_eq!(sum(Algorithm::DoubleTree, Operation::AllReduce).network, 7 * 2 * bytes);
    let tree = sum(Algorithm::NvlsTree, Operation::AllReduce);
    assert_eq!(tree.network, 7 * 2 * bytes);
    // Every GPU feeds all its data to the NVSwitch, and each node's sums go back to it once.
    assert_eq!(tree.nvls, 32 * bytes + 8 * bytes);
    // SHARP: each node's data goes once into the network.
    assert_eq!(sum(Algorithm::Nvls, Operation::AllReduce).in_network, 8 * bytes);
    assert_eq!(sum(Algorithm::CollnetDirect, Operation::AllReduce).in_network, 8 * bytes);
    assert_eq!(sum(Algorithm::CollnetDirect, Operation::AllReduce).local, 2 * 24 * bytes);
    // Halving and doubling between all ranks: the least that any algorithm sends.
    let halving = sum(Algorithm::HalvingDoubling, Operation::AllReduce);
    assert_eq!(halving.network + halving.local, 32 * 2 * 31 * bytes / 32);
    // Every rank sends a block to each of the 28 ranks of other nodes, and to 3 of its own.
    let pairs = sum(Algorithm::Pairwise, Operation::AllToAll);
    assert_eq!((pairs.network, pairs.local), (28 * bytes, 3 * bytes));
}

#[test]
fn small_data_is_aggregated_by_pat() {
    let ranks = Ranks { nodes: 64, per_node: 1 };
    for operation in [Operation::AllGather, Operation::ReduceScatter] {
        let plan = |bytes| Plan::ideal(Algorithm::Pat, operation, ranks, bytes, 1, Protocol::Simple);
        assert_eq!(proved(&plan(64 * 1024)).unwrap().1.messages, 64 * 6, "one message a dimension");
        assert_eq!(proved(&plan(64 << 19)).unwrap().1.messages, 64 * 63, "one message a block");
    }
}

#[test]
fn with_pxn_all_of_alltoall_stays_on_the_receivers_rail() {
    use collectives::schedule::Path;
    let ranks = Ranks { nodes: 3, per_node: 4 };
    let plan = Plan::direct(Operation::AllToAll, ranks, 1 << 20, 4, Protocol::Simple);
    for (plan, pxn) in [(plan.clone(), false), (plan.with_pxn(), true)] {
        let (schedule, _) = proved(&plan).unwrap();
        for connection in &schedule.connections {
            let Path::Network { from_nic, to_nic, relay } = connection.path else { continue };
            let (from, to) = (ranks.local(connection.from), ranks.local(connection.to));
            assert_eq!(to_nic, to);
            assert_eq!(from_nic, if pxn { to } else { from });
            let other = (pxn && from != to).then(|| ranks.rank(ranks.node(connection.from), to));
            assert_eq!(relay, other);
        }
    }
}

#[test]
fn large_schedules_are_compact_and_quick_to_write() {
    let ranks = Ranks { nodes: 128, per_node: 8 };
    for operation in [Operation::AllReduce, Operation::AllGather, Operation::ReduceScatter] {
        let start = std::time::Instant::now();
        let plan = Plan::ring(operation, ranks, 64 << 30, 16, Protocol::Simple);
        let schedule = build(&plan).unwrap();
        let steps: usize = schedule.threads.iter().map(|t| t.steps.len()).sum();
        assert_eq!((schedule.threads.len(), schedule.connections.len()), (16 * 1024, 16 * 1024));
        assert!(steps <= 5 * 16 * 1024);
        assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
    }
    let start = std::time::Instant::now();
    let plan = Plan::direct(Operation::AllToAll, ranks, 1 << 30, 16, Protocol::Simple);
    let schedule = build(&plan).unwrap();
    assert_eq!(schedule.connections.len(), 1024 * 1023);
    assert!(start.elapsed().as_secs_f64() < 10.0, "{:?}", start.elapsed());
}
