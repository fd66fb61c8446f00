//! One switch with every host on it.

use super::plan::{Cable, MAX_HOSTS, Plan, count};
use super::{Graph, TopologyError};
use crate::config::SingleSwitch;

const PLACE: &str = "topology.single-switch";

/// Hosts `host0`… on ports 0… of `switch0`.
pub(super) fn build(config: &SingleSwitch) -> Result<Graph, TopologyError> {
    let hosts = count(PLACE, "hosts", config.hosts, 1..=MAX_HOSTS)?;
    let cable = Cable::new(&config.link, &format!("{PLACE}.link"))?;
    let mut plan = Plan::new(hosts);
    let switch = plan.switches("switch", 1);
    plan.attach_hosts(switch, hosts, cable);
    plan.finish(PLACE, &config.overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkConfig;
    use sim_core::{Duration, Rate};

    fn config(hosts: u32) -> SingleSwitch {
        SingleSwitch {
            hosts,
            link: LinkConfig::new(Rate::gbps(400), Duration::from_us(1)),
            overrides: vec![],
        }
    }

    #[test]
    fn port_i_is_host_i() {
        let graph = build(&config(3)).unwrap();
        assert_eq!(graph.names, ["host0", "host1", "host2", "switch0"]);
        assert_eq!((graph.hosts, graph.links.len()), (3, 3));
        let peers: Vec<u32> = graph.ports_of(3).map(|p| graph.ports[p as usize].peer_node).collect();
        assert_eq!(peers, [0, 1, 2]);
    }

    #[test]
    fn a_switch_without_hosts_is_an_error() {
        assert_eq!(
            build(&config(0)).unwrap_err().to_string(),
            "topology.single-switch.hosts is 0: write a number from 1 to 65536"
        );
        assert!(build(&config(65_537)).is_err());
    }
}
