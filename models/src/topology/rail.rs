//! Rail-optimised GPU nodes: NIC j of every node of a group on the group's leaf of rail j, leaves on spines, in one plane
//! or two.

use super::plan::{Cable, MAX_HOSTS, Plan, count, within_limits};
use super::{Graph, TopologyError};
use crate::config::Rail;

const PLACE: &str = "topology.rail";

/// Hosts node by node, NIC by NIC, port by port; a leaf's ports are its hosts, then its plane's spines, parallel links
/// side by side.
pub(super) fn build(config: &Rail) -> Result<Graph, TopologyError> {
    let nodes = count(PLACE, "nodes", config.nodes, 1..=MAX_HOSTS)?;
    let nics = count(PLACE, "nics_per_node", config.nics_per_node, 1..=MAX_HOSTS)?;
    let rails = config.rails.unwrap_or(nics);
    if rails == 0 || !nics.is_multiple_of(rails) {
        return Err(TopologyError::Rails { place: format!("{PLACE}.rails"), rails, nics });
    }
    let group = count(PLACE, "nodes_per_leaf", config.nodes_per_leaf.unwrap_or(nodes), 1..=MAX_HOSTS)?;
    let spines = count(PLACE, "spines", config.spines, 0..=MAX_HOSTS)?;
    let planes = count(PLACE, "planes", config.planes, 1..=2)?;
    let parallel = count(PLACE, "parallel", config.parallel, 1..=MAX_HOSTS)?;
    let groups = nodes.div_ceil(group);
    if spines == 0 && groups > 1 {
        return Err(TopologyError::NoSpines { place: format!("{PLACE}.spines"), groups });
    }
    let hosts = u64::from(nodes) * u64::from(nics) * u64::from(planes);
    let leaves = u64::from(groups) * u64::from(rails) * u64::from(planes);
    let uplinks = leaves.saturating_mul(u64::from(spines)).saturating_mul(u64::from(parallel));
    within_limits(PLACE, hosts, hosts.saturating_add(uplinks))?;
    let host_link = Cable::new(&config.link, &format!("{PLACE}.link"))?;
    let fabric_link = match &config.fabric_link {
        Some(link) => Cable::new(link, &format!("{PLACE}.fabric_link"))?,
        None => host_link,
    };
    let mut plan = Plan::new(hosts as u32);
    let (leaf0, spine0) = (plan.switches("leaf", leaves as u32), plan.switches("spine", spines * planes));
    let plane_leaves = groups * rails;
    for host in 0..hosts as u32 {
        let (port, plane) = (host / planes, host % planes);
        let (node, nic) = (port / nics, port % nics);
        let rail = nic / (nics / rails);
        plan.link(host, leaf0 + plane * plane_leaves + node / group * rails + rail, 1, host_link);
    }
    for leaf in 0..leaves as u32 {
        let plane = leaf / plane_leaves;
        for spine in 0..spines {
            plan.link(leaf0 + leaf, spine0 + plane * spines + spine, parallel, fabric_link);
        }
    }
    plan.finish(PLACE, &config.overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use sim_core::{Duration, Rate};

    fn config(nodes: u32, nics_per_node: u32, nodes_per_leaf: u32, spines: u32) -> Rail {
        Rail {
            nodes,
            nics_per_node,
            rails: None,
            nodes_per_leaf: Some(nodes_per_leaf),
            spines,
            planes: 1,
            link: LinkConfig::new(Rate::gbps(400), Duration::from_ns(500)),
            fabric_link: Some(LinkConfig::new(Rate::gbps(800), Duration::from_us(2))),
            parallel: 1,
            overrides: vec![],
        }
    }

    fn peers(graph: &Graph, name: &str) -> Vec<String> {
        let node = graph.node(name).unwrap();
        let peer = |port: u32| graph.names[graph.ports[port as usize].peer_node as usize].clone();
        graph.ports_of(node).map(peer).collect()
    }

    #[test]
    fn a_nic_is_on_the_leaf_of_its_rail_and_group() {
        let graph = build(&Rail { parallel: 2, ..config(4, 2, 2, 1) }).unwrap();
        assert_eq!(graph.names[8..], ["leaf0", "leaf1", "leaf2", "leaf3", "spine0"]);
        assert_eq!(peers(&graph, "leaf0"), ["host0", "host2", "spine0", "spine0"]);
        assert_eq!(peers(&graph, "leaf1"), ["host1", "host3", "spine0", "spine0"]);
        assert_eq!(peers(&graph, "leaf2"), ["host4", "host6", "spine0", "spine0"]);
        let (host, uplink) = (graph.link_of(0), graph.link_of(graph.ports_of(8).end - 1));
        assert_eq!((host.rate, host.delay), (Rate::gbps(400), Duration::from_ns(500)));
        assert_eq!((uplink.rate, uplink.delay), (Rate::gbps(800), Duration::from_us(2)));
    }

    #[test]
    fn a_last_group_may_be_smaller() {
        let graph = build(&config(3, 2, 2, 2)).unwrap();
        assert_eq!(peers(&graph, "leaf3"), ["host5", "spine0", "spine1"]);
    }

    #[test]
    fn fewer_rails_join_neighbouring_nics() {
        let graph = build(&Rail { rails: Some(2), ..config(2, 4, 2, 1) }).unwrap();
        assert_eq!(peers(&graph, "leaf0"), ["host0", "host1", "host4", "host5", "spine0"]);
        let one = build(&Rail { rails: Some(1), ..config(2, 4, 1, 1) }).unwrap();
        assert_eq!(peers(&one, "leaf1"), ["host4", "host5", "host6", "host7", "spine0"]);
    }

    #[test]
    fn planes_share_no_switch() {
        let graph = build(&Rail { planes: 2, ..config(2, 2, 1, 1) }).unwrap();
        assert_eq!(graph.hosts, 8);
        // Host 2 is the first port of NIC 1 of node 0, host 3 the second.
        assert_eq!(peers(&graph, "leaf1"), ["host2", "spine0"]);
        assert_eq!(peers(&graph, "leaf5"), ["host3", "spine1"]);
        assert_eq!(peers(&graph, "spine1"), ["leaf4", "leaf5", "leaf6", "leaf7"]);
        let apart = graph.unreachable();
        assert!(apart.contains(&1) && !apart.contains(&6), "{apart:?}");
    }

    #[test]
    fn rails_without_spines_are_apart() {
        let graph = build(&Rail { nodes_per_leaf: None, ..config(4, 2, 1, 0) }).unwrap();
        assert_eq!(peers(&graph, "leaf1"), ["host1", "host3", "host5", "host7"]);
        assert_eq!(graph.nodes(), 10);
    }

    #[test]
    fn impossible_rails_are_errors() {
        let error = |config| build(&config).unwrap_err().to_string();
        assert_eq!(error(config(0, 1, 1, 1)), "topology.rail.nodes is 0: write a number from 1 to 65536");
        assert_eq!(
            error(Rail { rails: Some(3), ..config(2, 8, 1, 1) }),
            "topology.rail.rails is 3, which does not divide the 8 NICs of a node: write one of 1, 2, 4, 8"
        );
        assert_eq!(
            error(config(4, 8, 2, 0)),
            "topology.rail.spines is 0, but nothing else joins the 2 groups of nodes: write at least 1"
        );
        assert_eq!(
            error(Rail { planes: 3, ..config(4, 8, 2, 1) }),
            "topology.rail.planes is 3: write a number from 1 to 2"
        );
        assert_eq!(
            error(config(10_000, 8, 32, 1)),
            "topology.rail has 80000 hosts, above the limit of 65536: make it smaller"
        );
    }

    #[test]
    fn sixteen_thousand_gpus_build() {
        let graph = build(&Rail { planes: 2, ..config(2048, 8, 32, 16) }).unwrap();
        assert_eq!((graph.hosts, graph.links.len()), (32_768, 32_768 + 1024 * 16));
    }
}
