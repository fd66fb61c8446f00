//! Every host of a set sends to every other.

use super::TrafficError;
use super::group::Group;
use crate::config::AllToAll;

/// Flows by sender; a sender's flows go to the hosts after it in order, wrapping around, so that no receiver is the
/// first of all.
pub(super) fn build(config: &AllToAll, group: &mut Group) -> Result<(), TrafficError> {
    let AllToAll { size, hosts, start, options } = config;
    let all = group.hosts()?;
    let hosts = hosts.unwrap_or(all);
    if hosts < 2 {
        return Err(group.value("hosts", hosts, "at least 2 hosts send to each other"));
    }
    if hosts > all {
        let (place, advice) = (group.place.clone(), "lower its hosts or enlarge the topology");
        return Err(TrafficError::FewHosts { place, needed: u64::from(hosts), hosts: all, advice });
    }
    let template = group.template(*size, *start, options)?;
    group.reserve(u64::from(hosts) * u64::from(hosts - 1), "lower its hosts")?;
    for src in 0..hosts {
        for offset in 1..hosts {
            group.push(&template, src, (src + offset) % hosts);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, flows_of, leaf_spine, names_of};
    use super::*;
    use crate::config::{FlowOptions, TrafficConfig};
    use crate::topology::Graph;
    use sim_core::{Bytes, Duration};
    use std::collections::BTreeSet;

    fn all_to_all(hosts: Option<u32>) -> TrafficConfig {
        let (size, start, options) = (Bytes(1_000), Duration::ZERO, FlowOptions::default());
        TrafficConfig::AllToAll(AllToAll { size, hosts, start, options })
    }

    #[test]
    fn every_pair_once() {
        let graph = leaf_spine(4, 4);
        let flows = flows_of(&graph, all_to_all(None));
        let pairs: BTreeSet<(u32, u32)> = flows.iter().map(|f| (f.src, f.dst)).collect();
        assert_eq!((flows.len(), pairs.len()), (240, 240));
        assert!(pairs.iter().all(|(a, b)| a != b));
        assert_eq!(
            names_of(&graph, &flows_of(&graph, all_to_all(Some(3)))),
            ["host0→host1", "host0→host2", "host1→host2", "host1→host0", "host2→host0", "host2→host1"]
        );
    }

    #[test]
    fn each_mistake_is_named() {
        let graph = leaf_spine(2, 2);
        assert_eq!(
            error_of(&graph, all_to_all(Some(1))),
            "traffic[0].all-to-all.hosts is 1: at least 2 hosts send to each other"
        );
        assert_eq!(
            error_of(&graph, all_to_all(Some(5))),
            "traffic[0].all-to-all needs 5 hosts, but the topology has 4: lower its hosts or enlarge the topology"
        );
        let large = Graph { hosts: 4_000, ..Graph::default() };
        assert_eq!(
            error_of(&large, all_to_all(None)),
            "traffic[0].all-to-all makes 15996000 flows, 15996000 in all, above the limit of 10000000: lower its hosts"
        );
    }
}
