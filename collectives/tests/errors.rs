//! Plans that have no schedule, and what is said about them.

use collectives::algorithms::build;
use collectives::plan::{Plan, Ranks, Shape};
use collectives::schedule::{Algorithm, Operation, Protocol};

fn plan(algorithm: Algorithm, operation: Operation, nodes: u32, per_node: u32) -> Plan {
    Plan::ideal(algorithm, operation, Ranks { nodes, per_node }, 1 << 20, 2, Protocol::Simple)
}

fn error(plan: &Plan) -> String {
    build(plan).expect_err("the plan has a schedule").to_string()
}

#[test]
fn an_operation_that_the_algorithm_does_not_do() {
    assert_eq!(
        error(&plan(Algorithm::DoubleTree, Operation::AllGather, 2, 4)),
        "DoubleTree does not do AllGather: it does AllReduce, Broadcast, Reduce; AllGather is done by Ring, Nvls, Pat, \
         HalvingDoubling"
    );
}

#[test]
fn nodes_that_the_algorithm_cannot_use() {
    assert_eq!(
        error(&plan(Algorithm::Pat, Operation::AllGather, 2, 4)),
        "Pat with AllGather needs one rank a node: the plan has 2 × 4 ranks (nodes × ranks each)"
    );
    assert_eq!(
        error(&plan(Algorithm::CollnetChain, Operation::AllReduce, 1, 4)),
        "CollnetChain with AllReduce needs two nodes or more: the plan has 1 × 4 ranks (nodes × ranks each)"
    );
    assert_eq!(
        error(&plan(Algorithm::Nvls, Operation::ReduceScatter, 2, 4)),
        "Nvls with ReduceScatter needs one node (or Ring, over several): the plan has 2 × 4 ranks (nodes × ranks each)"
    );
}

#[test]
fn a_plan_that_contradicts_itself() {
    let good = plan(Algorithm::Ring, Operation::AllReduce, 2, 4);
    let changed = |change: fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        error(&plan)
    };
    let order = |plan: &mut Plan, to: u32| {
        if let Shape::Ring { order, .. } = &mut plan.channels[1].shape {
            order[3] = to;
        }
    };
    let mut twice = good.clone();
    order(&mut twice, 1);
    assert_eq!(error(&twice), "channel 1: the ring's order has 1 twice: name each once");
    let mut outside = good.clone();
    order(&mut outside, 8);
    assert_eq!(error(&outside), "channel 1: the ring's order has 8, of 8: count from 0 to 7");
    assert_eq!(
        changed(|p| p.channels[0].part.blocks = 4),
        "channel 0 has 4 blocks, Contiguous: the algorithm needs 8, Contiguous"
    );
    assert_eq!(
        changed(|p| p.channels[0].slots = 2),
        "channel 0: 2 slots a connection, 3 needed: give more slots or fewer slices"
    );
    assert_eq!(changed(|p| p.algorithm = Algorithm::Tree), "channel 0: Tree needs a tree");
    assert_eq!(changed(|p| p.root = 8), "root 8 is not a rank: ranks are 0 to 7");
    assert_eq!(changed(|p| p.channels.clear()), "the plan has no channels: give at least one");
    assert_eq!(
        changed(|p| p.ranks.nodes = 0),
        "0 nodes with 4 ranks each: give at least one of both and fewer than 2^32 ranks in all"
    );
}
