use crate::algorithms::{ALGORITHMS, AlgorithmError, build, operations};
use crate::check::*;
use crate::plan::{Plan, Ranks};
use crate::schedule::Protocol;

#[test]
fn every_algorithm_and_operation_is_proved_on_small_clusters() {
    for algorithm in ALGORITHMS {
        for &operation in operations(algorithm) {
            for nodes in 1..=9 {
                for per_node in [1, 2, 3, 4, 8] {
                    for (bytes, channels) in [(0, 1), (1, 2), (1000, 1), (70_000, 3), (100_000_000, 4)] {
                        let ranks = Ranks { nodes, per_node };
                        let plan =
                            Plan::ideal(algorithm, operation, ranks, bytes, channels, Protocol::Simple);
                        let plan = plan.rooted(ranks.count() / 2);
                        let what = format!("{algorithm:?} {operation:?} {ranks:?} {bytes} B {channels}");
                        match build(&plan) {
                            Ok(schedule) => {
                                if let Err(error) = check(&schedule) {
                                    panic!("{what}: {error}");
                                }
                            }
                            Err(AlgorithmError::Nodes { .. }) => {}
                            Err(error) => panic!("{what}: {error}"),
                        }
                    }
                }
            }
        }
    }
}
