//! The text and the JSON of schedules, as kept in `tests/golden`. `UPDATE_GOLDEN=1` writes them anew.

use std::path::Path;

use collectives::algorithms::{ALGORITHMS, build, operations};
use collectives::plan::{Plan, Ranks};
use collectives::schedule::{Algorithm, CollectiveSchedule, Operation, Protocol};

fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, kept, "{name} differs: check it, then run this test with UPDATE_GOLDEN=1");
}

fn schedule(algorithm: Algorithm, operation: Operation, nodes: u32, per_node: u32) -> CollectiveSchedule {
    let ranks = Ranks { nodes, per_node };
    build(&Plan::ideal(algorithm, operation, ranks, 96 << 20, 2, Protocol::Simple).with_pxn()).unwrap()
}

#[test]
fn text() {
    let cases = [
        (Algorithm::Ring, Operation::AllReduce, 4, 8),
        (Algorithm::Ring, Operation::AllGather, 2, 4),
        (Algorithm::Ring, Operation::Reduce, 3, 3),
        (Algorithm::DoubleTree, Operation::AllReduce, 6, 4),
        (Algorithm::DoubleTree, Operation::Broadcast, 3, 2),
        (Algorithm::NvlsTree, Operation::AllReduce, 3, 2),
        (Algorithm::Nvls, Operation::AllReduce, 2, 4),
        (Algorithm::Nvls, Operation::AllGather, 1, 4),
        (Algorithm::CollnetDirect, Operation::AllReduce, 2, 2),
        (Algorithm::CollnetChain, Operation::AllReduce, 3, 4),
        (Algorithm::Pat, Operation::AllGather, 6, 1),
        (Algorithm::HalvingDoubling, Operation::AllReduce, 3, 2),
        (Algorithm::Pairwise, Operation::AllToAll, 2, 4),
        (Algorithm::Pairwise, Operation::SendRecv, 2, 2),
    ];
    let all = cases.map(|(a, o, nodes, per)| collectives::describe(&schedule(a, o, nodes, per), 12));
    golden("schedules.txt", &all.join("\n════════\n\n"));
}

#[test]
fn json() {
    let ranks = Ranks { nodes: 2, per_node: 2 };
    let plan = Plan::ring(Operation::AllReduce, ranks, 1 << 20, 1, Protocol::Simple);
    let text = serde_json::to_string_pretty(&build(&plan).unwrap()).unwrap();
    golden("ring.json", &(text + "\n"));
}

#[test]
fn a_schedule_read_back_is_the_same() {
    for algorithm in ALGORITHMS {
        for operation in operations(algorithm) {
            let (nodes, per_node) = match algorithm {
                Algorithm::Pat => (6, 1),
                Algorithm::Nvls => (1, 4),
                _ => (3, 2),
            };
            let written = schedule(algorithm, *operation, nodes, per_node);
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<CollectiveSchedule>(&text).unwrap(), written);
        }
    }
}
