//! Two switches with hosts on both sides of one bottleneck.

use super::plan::{Cable, MAX_HOSTS, Plan, count, within_limits};
use super::{Graph, TopologyError};
use crate::config::Dumbbell;

const PLACE: &str = "topology.dumbbell";

/// Hosts on ports 0… of `left0` and `right0`; the last port of each is the bottleneck.
pub(super) fn build(config: &Dumbbell) -> Result<Graph, TopologyError> {
    let left = count(PLACE, "left", config.left, 1..=MAX_HOSTS - 1)?;
    let right = count(PLACE, "right", config.right, 1..=MAX_HOSTS - 1)?;
    let hosts = left + right;
    within_limits(PLACE, u64::from(hosts), 0)?;
    let cable = Cable::new(&config.host_link, &format!("{PLACE}.host_link"))?;
    let bottleneck = Cable::new(&config.bottleneck, &format!("{PLACE}.bottleneck"))?;
    let mut plan = Plan::new(hosts);
    let (left0, right0) = (plan.switches("left", 1), plan.switches("right", 1));
    for host in 0..hosts {
        plan.link(host, if host < left { left0 } else { right0 }, 1, cable);
    }
    plan.link(left0, right0, 1, bottleneck);
    plan.finish(PLACE, &config.overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use crate::topology::oversubscription;
    use sim_core::{Duration, Rate};

    fn config(left: u32, right: u32) -> Dumbbell {
        Dumbbell {
            left,
            right,
            host_link: LinkConfig::new(Rate::gbps(100), Duration::from_us(1)),
            bottleneck: LinkConfig::new(Rate::gbps(40), Duration::from_us(5)),
            overrides: vec![],
        }
    }

    #[test]
    fn the_bottleneck_is_the_last_port() {
        let graph = build(&config(2, 3)).unwrap();
        assert_eq!(graph.names[5..], ["left0", "right0"]);
        let peers = |n: u32| graph.ports_of(n).map(|p| graph.ports[p as usize].peer_node).collect::<Vec<_>>();
        assert_eq!(peers(5), [0, 1, 6]);
        assert_eq!(peers(6), [2, 3, 4, 5]);
        let link = graph.link_of(graph.ports_of(5).end - 1);
        assert_eq!((link.rate, link.delay), (Rate::gbps(40), Duration::from_us(5)));
        let sides: Vec<(Rate, Rate)> = oversubscription(&graph).iter().map(|s| (s.down, s.up)).collect();
        assert_eq!(sides, [(Rate::gbps(200), Rate::gbps(40)), (Rate::gbps(300), Rate::gbps(40))]);
    }

    #[test]
    fn both_sides_need_hosts_and_not_too_many() {
        assert_eq!(
            build(&config(1, 0)).unwrap_err().to_string(),
            "topology.dumbbell.right is 0: write a number from 1 to 65535"
        );
        assert_eq!(
            build(&config(40_000, 40_000)).unwrap_err().to_string(),
            "topology.dumbbell has 80000 hosts, above the limit of 65536: make it smaller"
        );
    }
}
