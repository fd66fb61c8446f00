//! Leaves with hosts, each linked to every spine.

use super::plan::{Cable, MAX_HOSTS, Plan, count, within_limits};
use super::{Graph, TopologyError};
use crate::config::LeafSpine;

const PLACE: &str = "topology.leaf-spine";

/// Hosts leaf by leaf; a leaf's ports are its hosts, then `spine0`…, parallel links side by side.
pub(super) fn build(config: &LeafSpine) -> Result<Graph, TopologyError> {
    let leaves = count(PLACE, "leaves", config.leaves, 1..=MAX_HOSTS)?;
    let spines = count(PLACE, "spines", config.spines, 1..=MAX_HOSTS)?;
    let each = count(PLACE, "hosts_per_leaf", config.hosts_per_leaf, 1..=MAX_HOSTS)?;
    let parallel = count(PLACE, "parallel", config.parallel, 1..=MAX_HOSTS)?;
    let hosts = u64::from(leaves) * u64::from(each);
    let uplinks = (u64::from(leaves) * u64::from(spines)).saturating_mul(u64::from(parallel));
    within_limits(PLACE, hosts, hosts + uplinks)?;
    let host_link = Cable::new(&config.host_link, &format!("{PLACE}.host_link"))?;
    let fabric_link = Cable::new(&config.fabric_link, &format!("{PLACE}.fabric_link"))?;
    let mut plan = Plan::new(hosts as u32);
    let (leaf0, spine0) = (plan.switches("leaf", leaves), plan.switches("spine", spines));
    plan.attach_hosts(leaf0, each, host_link);
    for leaf in leaf0..leaf0 + leaves {
        for spine in spine0..spine0 + spines {
            plan.link(leaf, spine, parallel, fabric_link);
        }
    }
    plan.finish(PLACE, &config.overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use sim_core::{Duration, Rate};

    fn config(leaves: u32, spines: u32, hosts_per_leaf: u32, parallel: u32) -> LeafSpine {
        LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            host_link: LinkConfig::new(Rate::gbps(100), Duration::from_ns(500)),
            fabric_link: LinkConfig::new(Rate::gbps(400), Duration::from_us(2)),
            parallel,
            overrides: vec![],
        }
    }

    #[test]
    fn hosts_then_spines_on_a_leaf() {
        let graph = build(&config(2, 2, 2, 2)).unwrap();
        assert_eq!(graph.names[4..], ["leaf0", "leaf1", "spine0", "spine1"]);
        let peers = |n: u32| graph.ports_of(n).map(|p| graph.ports[p as usize].peer_node).collect::<Vec<_>>();
        assert_eq!(peers(5), [2, 3, 6, 6, 7, 7]);
        assert_eq!(peers(6), [4, 4, 5, 5]);
        let (host, uplink) = (graph.link_of(0), graph.link_of(graph.ports_of(4).end - 1));
        assert_eq!((host.rate, host.delay), (Rate::gbps(100), Duration::from_ns(500)));
        assert_eq!((uplink.rate, uplink.delay), (Rate::gbps(400), Duration::from_us(2)));
    }

    #[test]
    fn sizes_beyond_the_limits_are_errors() {
        assert_eq!(
            build(&config(0, 1, 1, 1)).unwrap_err().to_string(),
            "topology.leaf-spine.leaves is 0: write a number from 1 to 65536"
        );
        assert_eq!(
            build(&config(1000, 4, 100, 1)).unwrap_err().to_string(),
            "topology.leaf-spine has 100000 hosts, above the limit of 65536: make it smaller"
        );
        assert_eq!(
            build(&config(4096, 4096, 1, 65_536)).unwrap_err().to_string(),
            "topology.leaf-spine has 1099511631872 links, above the limit of 4194304: make it smaller"
        );
    }
}
