//! k-ary fat trees of two and three tiers (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008), full or with fewer pods.

use super::plan::{Cable, MAX_HOSTS, Plan, count, within_limits};
use super::{Graph, TopologyError};
use crate::config::FatTree;

const PLACE: &str = "topology.fat-tree";

/// Largest radix.
const MAX_K: u32 = 1024;

/// Hosts edge switch by edge switch, edge switches pod by pod. A switch's ports face down first, then up.
pub(super) fn build(config: &FatTree) -> Result<Graph, TopologyError> {
    let k = count(PLACE, "k", config.k, 2..=MAX_K)?;
    if !k.is_multiple_of(2) {
        return Err(TopologyError::OddRadix { place: format!("{PLACE}.k"), k });
    }
    let tiers = count(PLACE, "tiers", config.tiers, 2..=3)?;
    let pods = config.pods.unwrap_or(k);
    if pods == 0 || !k.is_multiple_of(pods) {
        return Err(TopologyError::Pods { place: format!("{PLACE}.pods"), pods, k });
    }
    let half = k / 2;
    let oversubscription = count(PLACE, "oversubscription", config.oversubscription, 1..=MAX_HOSTS)?;
    let edges = if tiers == 2 { pods } else { pods * half };
    let each = u64::from(oversubscription) * u64::from(half);
    let hosts = u64::from(edges) * each;
    within_limits(PLACE, hosts, hosts + u64::from(tiers - 1) * u64::from(edges) * u64::from(half))?;
    let host_link = Cable::new(&config.link, &format!("{PLACE}.link"))?;
    let fabric_link = match &config.fabric_link {
        Some(link) => Cable::new(link, &format!("{PLACE}.fabric_link"))?,
        None => host_link,
    };
    let mut plan = Plan::new(hosts as u32);
    let shape = Shape { half, pods, each: each as u32 };
    if tiers == 2 {
        shape.two_tiers(&mut plan, host_link, fabric_link);
    } else {
        shape.three_tiers(&mut plan, host_link, fabric_link);
    }
    plan.finish(PLACE, &config.overrides)
}

/// The numbers a fat tree is laid out by.
struct Shape {
    /// Half the radix.
    half: u32,
    /// Pods, or leaves with two tiers.
    pods: u32,
    /// Hosts on each edge switch.
    each: u32,
}

impl Shape {
    /// The top switches that `pods` switches with `half` uplinks each share, and the parallel links of each pair.
    ///
    /// A top switch has 2 · `half` ports. An even number of pods fills pods/2 of them; of an odd number, which
    /// divides `half`, each pod has links to `pods` top switches, and half of their ports stay free.
    fn top(&self) -> (u32, u32) {
        let switches = if self.pods.is_multiple_of(2) { self.pods / 2 } else { self.pods };
        (switches, self.half / switches)
    }

    fn two_tiers(&self, plan: &mut Plan, host_link: Cable, fabric_link: Cable) {
        let (spines, parallel) = self.top();
        let (leaf0, spine0) = (plan.switches("leaf", self.pods), plan.switches("spine", spines));
        plan.attach_hosts(leaf0, self.each, host_link);
        for leaf in leaf0..leaf0 + self.pods {
            for spine in spine0..spine0 + spines {
                plan.link(leaf, spine, parallel, fabric_link);
            }
        }
    }

    /// Aggregation switch a of every pod is linked to the cores of group a.
    fn three_tiers(&self, plan: &mut Plan, host_link: Cable, fabric_link: Cable) {
        let half = self.half;
        let (group, parallel) = self.top();
        let edge0 = plan.switches("edge", self.pods * half);
        let agg0 = plan.switches("agg", self.pods * half);
        let core0 = plan.switches("core", half * group);
        plan.attach_hosts(edge0, self.each, host_link);
        for edge in 0..self.pods * half {
            for a in 0..half {
                plan.link(edge0 + edge, agg0 + edge / half * half + a, 1, fabric_link);
            }
        }
        for agg in 0..self.pods * half {
            for core in 0..group {
                plan.link(agg0 + agg, core0 + agg % half * group + core, parallel, fabric_link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use crate::topology::oversubscription;
    use proptest::prelude::*;
    use sim_core::{Duration, Rate};

    fn config(tiers: u32, k: u32, pods: Option<u32>, oversubscription: u32) -> FatTree {
        let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
        FatTree { tiers, k, pods, link, fabric_link: None, oversubscription, overrides: vec![] }
    }

    fn tier(graph: &Graph, name: &str) -> Vec<u32> {
        (graph.hosts..graph.nodes()).filter(|n| graph.names[*n as usize].starts_with(name)).collect()
    }

    fn peers(graph: &Graph, node: u32) -> Vec<&str> {
        graph.ports_of(node).map(|p| &*graph.names[graph.ports[p as usize].peer_node as usize]).collect()
    }

    #[test]
    fn counts_match_the_closed_forms() {
        for (k, hosts) in [(2, 2), (4, 16), (8, 128), (16, 1024), (32, 8192)] {
            let graph = build(&config(3, k, None, 1)).unwrap();
            assert_eq!(graph.hosts, hosts);
            assert_eq!(hosts, k * k * k / 4);
            assert_eq!(graph.nodes() - graph.hosts, 5 * k * k / 4);
            assert_eq!(graph.links.len() as u32, 3 * k * k * k / 4);
            assert_eq!(tier(&graph, "core").len() as u32, k * k / 4);
            for switch in graph.hosts..graph.nodes() {
                assert_eq!(graph.ports_of(switch).len() as u32, k, "{}", graph.names[switch as usize]);
            }
        }
        let graph = build(&config(2, 8, None, 1)).unwrap();
        assert_eq!((graph.hosts, graph.links.len()), (32, 64));
        assert_eq!((tier(&graph, "leaf").len(), tier(&graph, "spine").len()), (8, 4));
    }

    #[test]
    fn ports_face_down_first() {
        let graph = build(&config(3, 4, None, 1)).unwrap();
        let at = |name: &str| peers(&graph, graph.node(name).unwrap());
        assert_eq!(at("edge3"), ["host6", "host7", "agg2", "agg3"]);
        assert_eq!(at("agg2"), ["edge2", "edge3", "core0", "core1"]);
        assert_eq!(at("agg3"), ["edge2", "edge3", "core2", "core3"]);
        assert_eq!(at("core2"), ["agg1", "agg3", "agg5", "agg7"]);
    }

    #[test]
    fn fewer_pods_keep_full_bisection_with_fewer_cores() {
        let graph = build(&config(3, 8, Some(2), 1)).unwrap();
        assert_eq!((graph.hosts, tier(&graph, "core").len()), (32, 4));
        let at = |name: &str| peers(&graph, graph.node(name).unwrap());
        assert_eq!(at("agg1")[4..], ["core1", "core1", "core1", "core1"]);
        assert_eq!(at("core1"), ["agg1", "agg1", "agg1", "agg1", "agg5", "agg5", "agg5", "agg5"]);
        let graph = build(&config(2, 8, Some(4), 1)).unwrap();
        let at = |name: &str| peers(&graph, graph.node(name).unwrap());
        assert_eq!((graph.hosts, tier(&graph, "spine").len()), (16, 2));
        assert_eq!(at("leaf3")[4..], ["spine0", "spine0", "spine1", "spine1"]);
    }

    #[test]
    fn oversubscription_adds_hosts() {
        let graph = build(&config(3, 4, None, 3)).unwrap();
        assert_eq!(graph.hosts, 48);
        let edges = oversubscription(&graph);
        assert_eq!(edges.len(), 8);
        assert!(edges.iter().all(|e| e.down == Rate::gbps(600) && e.up == Rate::gbps(200)));
        assert!(edges.iter().all(|e| e.ratio() == Some(3.0)));
    }

    #[test]
    fn the_fabric_link_is_that_between_switches() {
        let fabric = LinkConfig::new(Rate::gbps(400), Duration::from_us(3));
        let graph = build(&FatTree { fabric_link: Some(fabric), ..config(3, 4, None, 1) }).unwrap();
        for link in &graph.links {
            let of_host = graph.is_host(link.a) || graph.is_host(link.b);
            assert_eq!(link.rate, Rate::gbps(if of_host { 100 } else { 400 }));
            assert_eq!(link.delay, Duration::from_us(if of_host { 1 } else { 3 }));
        }
    }

    #[test]
    fn impossible_trees_are_errors() {
        let error = |config| build(&config).unwrap_err().to_string();
        assert_eq!(
            error(config(3, 5, None, 1)),
            "topology.fat-tree.k is 5, which is odd: half of a switch's ports face up, so write 4 or 6"
        );
        assert_eq!(
            error(config(3, 8, Some(3), 1)),
            "topology.fat-tree.pods is 3, which does not divide k = 8: write one of 1, 2, 4, 8"
        );
        assert!(build(&config(3, 8, Some(0), 1)).is_err());
        assert_eq!(error(config(4, 8, None, 1)), "topology.fat-tree.tiers is 4: write a number from 2 to 3");
        assert_eq!(
            error(config(3, 8, None, 0)),
            "topology.fat-tree.oversubscription is 0: write a number from 1 to 65536"
        );
        assert_eq!(
            error(config(3, 128, None, 1)),
            "topology.fat-tree has 524288 hosts, above the limit of 65536: make it smaller"
        );
    }

    proptest! {
        #[test]
        fn every_uplink_is_kept_and_shared_evenly(half in 1u32..9, pick in 0usize..8, three: bool, o in 1u32..4) {
            let k = half * 2;
            let divisors: Vec<u32> = (1..=k).filter(|d| k.is_multiple_of(*d)).collect();
            let pods = divisors[pick % divisors.len()];
            let graph = build(&config(if three { 3 } else { 2 }, k, Some(pods), o)).unwrap();
            let (edge, top) = if three { ("edge", "core") } else { ("leaf", "spine") };
            prop_assert_eq!(tier(&graph, edge).len() as u32, if three { pods * half } else { pods });
            for switch in tier(&graph, edge) {
                prop_assert_eq!(graph.ports_of(switch).len() as u32, half * o + half);
            }
            for switch in tier(&graph, "agg") {
                prop_assert_eq!(graph.ports_of(switch).len() as u32, k);
            }
            let ports = if pods.is_multiple_of(2) { k } else { half };
            for switch in tier(&graph, top) {
                prop_assert_eq!(graph.ports_of(switch).len() as u32, ports);
            }
        }
    }
}
