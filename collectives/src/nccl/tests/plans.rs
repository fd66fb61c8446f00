//! Whole plans.

use std::collections::BTreeSet;

use super::*;
use crate::plan::{Shape, TreePattern};
use crate::schedule::Layout;

fn forced(algorithm: AlgorithmChoice) -> NcclConfig {
    NcclConfig { algorithm, ..NcclConfig::default() }
}

/// The parts of a plan follow each other and make up the whole.
fn covers(plan: &Plan) {
    let blocks = plan.channels.first().is_some_and(|c| c.part.layout == Layout::PerRank);
    let data = if blocks { plan.bytes / u64::from(plan.ranks.count()) } else { plan.bytes };
    let mut end = 0;
    for channel in &plan.channels {
        // Channels of sends repeat the parts.
        let next = if end == data && plan.operation == Operation::AllToAll { 0 } else { end };
        assert_eq!(channel.part.offset, next, "a gap in {:?}", plan.operation);
        assert!(channel.part.bytes > 0 && channel.slots > 0);
        end = next + channel.part.bytes;
    }
    assert_eq!(end, data, "{:?} of {} B", plan.operation, plan.bytes);
}

#[test]
fn hops_between_h100_nodes_stay_on_a_rail() {
    let h100 = node("hgx-h100");
    for nodes in [2, 4, 8] {
        let (plan, _) =
            plan(&h100, nodes, 8, &forced(AlgorithmChoice::Ring), Operation::AllReduce, 1 << 30, 0).unwrap();
        assert_eq!(plan.channels.len(), 16);
        for channel in &plan.channels {
            let Shape::Ring { order, leave, enter, relay } = &channel.shape else { panic!("no ring") };
            let ranks: BTreeSet<u32> = order.iter().copied().collect();
            assert_eq!(ranks.len() as u32, 8 * nodes);
            for (i, &nic) in leave.iter().enumerate() {
                assert_eq!(nic, enter[(i + 1) % enter.len()]);
            }
            assert!(relay.iter().all(Option::is_none));
        }
    }
}

#[test]
fn sizes_are_cut_as_nccl_cuts_them() {
    let h100 = node("hgx-h100");
    let of =
        |config: &NcclConfig, operation, bytes| plan(&h100, 2, 8, config, operation, bytes, 0).unwrap().0;
    // 1 GiB by a ring with Simple: 64 MiB a channel, in 2 loops of 16 chunks of 2 MiB, in slices of 1 MiB.
    let ring = NcclConfig { protocol: ProtocolChoice::Simple, ..forced(AlgorithmChoice::Ring) };
    let plan = of(&ring, Operation::AllReduce, 1 << 30);
    let channel = &plan.channels[3];
    assert_eq!((channel.part.bytes, channel.part.chunk, channel.part.loops), (64 << 20, 2 << 20, 2));
    assert_eq!((channel.part.slices, channel.part.slice_bytes(2 << 20), channel.slots), (2, 1 << 20, 4));
    // 1 MiB by trees with LL128: 64 KiB a channel, in 4 chunks of 17280 B.
    let tree = of(&NcclConfig::default(), Operation::AllReduce, 1 << 20);
    let part = &tree.channels[0].part;
    assert_eq!((tree.channels.len(), part.bytes, part.chunk, part.loops), (16, 64 << 10, 17_280, 4));
    // 8 B use one channel.
    let least = of(&NcclConfig::default(), Operation::AllReduce, 8);
    assert_eq!((least.channels.len(), least.channels[0].part.bytes), (1, 8));
    // 64 MiB by NVLSTree: 128 KiB chunks for each of 8 heads.
    let nvls = of(&NcclConfig::default(), Operation::AllReduce, 64 << 20);
    assert_eq!(
        (nvls.channels[0].part.chunk, nvls.channels[0].part.blocks, nvls.channels.len()),
        (128 << 10, 8, 16)
    );
    let Shape::Nvls { heads, nics, tree } = &nvls.channels[1].shape else { panic!("no heads") };
    assert_eq!((heads, nics, tree), (&(0..8).collect(), &(0..8).collect(), &1));
}

#[test]
fn trees_take_halves_of_the_channels() {
    let h100 = node("hgx-h100");
    let shapes = |algorithm| {
        let (plan, _) = plan(&h100, 4, 8, &forced(algorithm), Operation::AllReduce, 1 << 26, 0).unwrap();
        plan.channels.into_iter().map(|c| c.shape).collect::<Vec<_>>()
    };
    for (c, shape) in shapes(AlgorithmChoice::DoubleTree).iter().enumerate() {
        let Shape::Tree { chain, tree, nics, pattern } = shape else { panic!("no tree") };
        assert_eq!((chain[0], *tree), (c as u32 % 8, c as u32 / 8));
        assert_eq!((nics, *pattern), (&[c as u32 % 8; 2], TreePattern::Single));
    }
    let single = shapes(AlgorithmChoice::Tree);
    assert!(single.iter().all(|shape| matches!(shape, Shape::Tree { tree: 0, .. })));
}

#[test]
fn channels_can_be_raised_and_lowered() {
    let h100 = node("hgx-h100");
    let of = |config: &NcclConfig, algorithm| {
        let config = NcclConfig { algorithm, ..config.clone() };
        plan(&h100, 8, 8, &config, Operation::AllReduce, 1 << 30, 0).unwrap().0.channels
    };
    let raised = NcclConfig { min_channels: 24, ..NcclConfig::default() };
    let rings = of(&raised, AlgorithmChoice::Ring);
    assert_eq!(rings.len(), 24);
    assert_eq!(rings[16].shape, rings[0].shape);
    assert_eq!(of(&raised, AlgorithmChoice::NvlsTree).len(), 24);
    let one = NcclConfig { max_channels: 1, ..NcclConfig::default() };
    assert_eq!(of(&one, AlgorithmChoice::Ring).len(), 1);
    assert_eq!(of(&one, AlgorithmChoice::NvlsTree).len(), 1);
}

#[test]
fn sends_use_as_many_channels_as_nccl() {
    let each = |name: &str, nodes| eight(&node(name), nodes).counts.p2p_each;
    assert_eq!([2, 4, 8, 16].map(|nodes| each("hgx-h100", nodes)), [4, 4, 2, 1]);
    assert_eq!(each("dgx-a100", 2), 2);
    assert_eq!(eight(&node("hgx-h100"), 2).counts.p2p, 16);
    let h100 = node("hgx-h100");
    let of = |config: &NcclConfig, bytes| plan(&h100, 2, 8, config, Operation::AllToAll, bytes, 0).unwrap().0;
    let large = of(&NcclConfig::default(), 1 << 30);
    // 4 parts of a message, on 16 channels, in messages of 128 KiB.
    let parts: BTreeSet<u64> = large.channels.iter().map(|c| c.part.offset).collect();
    assert_eq!((large.channels.len(), parts.len()), (16, 4));
    assert_eq!(large.channels[0].part.slice_bytes(large.channels[0].part.chunk), 128 << 10);
    let small = of(&NcclConfig::default(), 1 << 20);
    assert_eq!((small.channels.len(), small.channels[0].part.min_slice), (16, 32 << 10));
    let Shape::Direct { send_nic, receive_nic, pxn } = &large.channels[0].shape else { panic!("not direct") };
    assert_eq!((send_nic, receive_nic), (&(0..8).collect(), &(0..8).collect()));
    assert_eq!(pxn, &Some((0..8).collect()));
    let without = of(&NcclConfig { pxn: false, ..NcclConfig::default() }, 1 << 30);
    assert!(matches!(&without.channels[0].shape, Shape::Direct { pxn: None, .. }));
}

#[test]
fn every_operation_is_covered_on_every_preset() {
    use Operation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendRecv};
    for name in crate::node::PRESETS {
        let node = node(name);
        for (nodes, per_node) in [(1, 2), (1, node.gpus), (2, 1), (3, 2), (5, node.gpus), (8, 3)] {
            for operation in [AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, SendRecv] {
                for bytes in [8 * 1024, 1_000_003, 64 << 20, (1 << 30) + 12] {
                    let planned = plan(&node, nodes, per_node, &NcclConfig::default(), operation, bytes, 0);
                    let (plan, choice) = planned.unwrap_or_else(|e| panic!("{name}: {e}"));
                    covers(&plan);
                    assert!(
                        choice.predicted_us.is_finite() && choice.predicted_us > 0.0,
                        "{name} {choice:?}"
                    );
                    assert_eq!(choice.channels as usize, plan.channels.len());
                }
            }
        }
    }
}

#[test]
fn ideal_hosts_run_one_ring() {
    let config = NodeConfig::new(NodeOverrides {
        gpus: Some(1),
        nics: Some(1),
        nic_rate_gbps: Some(100),
        ..NodeOverrides::default()
    });
    let node = config.resolve().unwrap();
    let settings = NcclConfig { max_channels: 1, ..forced(AlgorithmChoice::Ring) };
    let (plan, _) = plan(&node, 8, 1, &settings, Operation::AllReduce, 1 << 20, 0).unwrap();
    assert_eq!(plan.channels.len(), 1);
    let Shape::Ring { order, leave, enter, .. } = &plan.channels[0].shape else { panic!("no ring") };
    assert_eq!((order, leave, enter), (&(0..8).collect(), &vec![0; 8], &vec![0; 8]));
}

#[test]
fn pat_is_for_one_rank_a_node() {
    let h100 = node("hgx-h100");
    let config = forced(AlgorithmChoice::Pat);
    let (plan, _) = plan(&h100, 16, 1, &config, Operation::AllGather, 64 << 20, 0).unwrap();
    assert!(matches!(plan.channels[0].shape, Shape::Direct { pxn: None, .. }));
    let error = super::plan(&h100, 16, 8, &config, Operation::AllGather, 64 << 20, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Pat cannot do AllGather here: it needs one rank a node; leave algorithm at auto, or force another"
    );
}

#[test]
fn what_cannot_be_is_said() {
    let h100 = node("hgx-h100");
    let error = |config: &NcclConfig, nodes, per_node, operation, bytes, root| {
        plan(&h100, nodes, per_node, config, operation, bytes, root).unwrap_err().to_string()
    };
    let auto = NcclConfig::default();
    assert_eq!(
        error(&forced(AlgorithmChoice::Nvls), 2, 8, Operation::AllReduce, 1024, 0),
        "Nvls cannot do AllReduce here: over several nodes its heads reduce in the network, and collnet is false; set \
         collnet to true if the network reduces (SHARP), or force another algorithm"
    );
    assert_eq!(
        error(&forced(AlgorithmChoice::DoubleTree), 2, 8, Operation::Broadcast, 1024, 0),
        "DoubleTree cannot do Broadcast here: it does AllReduce only; leave algorithm at auto, or force another"
    );
    assert_eq!(
        error(&auto, 2, 9, Operation::AllReduce, 1024, 0),
        "9 ranks on a node of hgx-h100, which has 8 GPUs; use 1 to 8"
    );
    assert_eq!(
        error(&auto, 1, 1, Operation::AllReduce, 1024, 0),
        "1 nodes with 1 ranks each are 1 ranks; use 2 to 1048576 ranks in all"
    );
    assert_eq!(
        error(&auto, 2, 8, Operation::Broadcast, 1024, 16),
        "root 16 is no rank: there are 16; use 0 to 15"
    );
    assert_eq!(
        error(&auto, 2, 8, Operation::AllGather, 8, 0),
        "AllGather of 8 B over 16 ranks leaves no 16 B for each, which nccl-tests rounds to 0; use at least 256 B"
    );
    let ll = NcclConfig { protocol: ProtocolChoice::Ll, ..forced(AlgorithmChoice::NvlsTree) };
    assert_eq!(
        error(&ll, 2, 8, Operation::AllReduce, 1024, 0),
        "NvlsTree cannot do AllReduce here: it does not run with LL; leave protocol at auto, or force another algorithm"
    );
    let cross = NcclConfig { cross_nic: 3, ..NcclConfig::default() };
    assert_eq!(
        error(&cross, 2, 8, Operation::AllReduce, 1024, 0),
        "nccl: cross_nic is 3, outside of 0–2; set cross_nic within it"
    );
}

#[test]
fn thousands_of_nodes_are_planned() {
    let h100 = node("hgx-h100");
    let (plan, _) =
        plan(&h100, 2048, 8, &forced(AlgorithmChoice::Ring), Operation::AllReduce, 1 << 30, 0).unwrap();
    let Shape::Ring { order, .. } = &plan.channels[15].shape else { panic!("no ring") };
    assert_eq!(order.len(), 16_384);
}

/// Plans are written as schedules, and proved.
#[test]
fn plans_become_schedules_that_are_proved() {
    use AlgorithmChoice as C;
    use Operation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendRecv};
    let sharp = NcclConfig { collnet: true, ..NcclConfig::default() };
    let runs: [(&str, u32, u32, NcclConfig); 16] = [
        ("hgx-h100", 2, 8, NcclConfig::default()),
        ("hgx-h100", 3, 8, NcclConfig { cross_nic: 0, ..NcclConfig::default() }),
        ("hgx-h100", 3, 4, NcclConfig { cross_nic: 1, ..NcclConfig::default() }),
        ("hgx-h100", 1, 8, NcclConfig::default()),
        ("hgx-h100", 2, 8, sharp.clone()),
        ("hgx-h100", 4, 8, NcclConfig { algorithm: C::CollnetDirect, ..sharp.clone() }),
        ("hgx-h100", 3, 8, NcclConfig { algorithm: C::CollnetChain, ..sharp.clone() }),
        ("hgx-h100", 3, 8, NcclConfig { algorithm: C::Nvls, ..sharp }),
        ("hgx-h100", 5, 8, forced(C::NvlsTree)),
        ("hgx-h100", 3, 8, forced(C::HalvingDoubling)),
        ("hgx-h100", 5, 1, forced(C::Pat)),
        ("dgx-a100", 3, 8, forced(C::DoubleTree)),
        ("dgx-a100", 2, 8, forced(C::Tree)),
        ("dgx-1v", 2, 8, forced(C::Ring)),
        ("dgx-b200", 3, 8, NcclConfig { min_channels: 24, ..NcclConfig::default() }),
        ("gb200-nvl72", 2, 12, NcclConfig::default()),
    ];
    for (name, nodes, per_node, config) in runs {
        let node = node(name);
        let mut proved = 0;
        for operation in [AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, SendRecv] {
            for bytes in [3000, 1 << 20, (64 << 20) + 4096] {
                let planned = plan(&node, nodes, per_node, &config, operation, bytes, 1);
                let (plan, choice) = match planned {
                    Ok(planned) => planned,
                    Err(PlanError::Unavailable { .. }) if config.algorithm != C::Auto => continue,
                    Err(error) => panic!("{name}, {operation:?} of {bytes} B: {error}"),
                };
                let what =
                    format!("{nodes} × {per_node} of {name}, {operation:?} of {bytes} B, {}", choice.why);
                let schedule = crate::algorithms::build(&plan).unwrap_or_else(|e| panic!("{what}: {e}"));
                crate::check::check(&schedule).unwrap_or_else(|e| panic!("{what}: {e}"));
                proved += 1;
            }
        }
        assert!(proved > 0, "{name} with {:?}", config.algorithm);
    }
}
