//! The way the packets of a flow take now.

use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::RoutingMode;
use crate::record::Recorder;
use crate::routing::{Walk, ecmp_index, walk};

/// Most links of a way that is followed.
const MAX_HOPS: usize = 64;

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// The egress ports that a flow's packets take under the routes of now. `None` where it is not the same for all of
    /// them, because the routing mode chooses packet by packet.
    pub fn way(&self, flow: u32) -> Option<Walk> {
        let mut fixed = true;
        let way = walk(
            &self.graph,
            &self.routes,
            &self.explicit,
            flow,
            &self.flows[flow as usize],
            |candidates| {
                fixed &= self.routing_mode == RoutingMode::Ecmp;
                let switch = self.graph.ports[candidates[0] as usize].node - self.hosts_count;
                let seed = self.switches[switch as usize].hash_seed;
                ecmp_index(flow, seed, candidates.len() as u32) as usize
            },
            MAX_HOPS,
        );
        fixed.then_some(way)
    }
}

#[cfg(test)]
mod tests {
    use sim_core::queue::TimeWheel;
    use sim_core::{Bytes, Duration, Rate, Time};

    use super::*;
    use crate::config::{LeafSpine, LinkConfig, Operation, TopologyConfig};
    use crate::fabric::FabricConfig;
    use crate::record::NoRecord;
    use crate::topology;
    use crate::traffic::Flow;

    fn fabric(mode: RoutingMode) -> Fabric<TimeWheel> {
        let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
        let config = LeafSpine {
            leaves: 2,
            spines: 4,
            hosts_per_leaf: 8,
            host_link: link.clone(),
            fabric_link: link,
            parallel: 1,
            overrides: vec![],
        };
        let graph = topology::build(&TopologyConfig::LeafSpine(config)).unwrap();
        let flow = |src: u32| Flow {
            src,
            dst: src + 8,
            size: Bytes(10_000),
            messages: 1,
            start: Time::ZERO,
            class: 3,
            dscp: 26,
            operation: Operation::Write,
            rate: None,
            ttl: 63,
            paths: vec![],
        };
        let mut config = FabricConfig { seed: 1, ..FabricConfig::default() };
        config.routing.mode = mode;
        Fabric::build(graph, (0..8).map(flow).collect(), &config, NoRecord).unwrap()
    }

    /// What is foretold is what the packets do: data crosses exactly the ports of the ways.
    #[test]
    fn packets_take_the_way_foretold() {
        let mut fabric = fabric(RoutingMode::Ecmp);
        let mut expected = vec![0u64; fabric.graph().ports.len()];
        for flow in 0..8 {
            for port in fabric.way(flow).unwrap().ports {
                expected[port as usize] += 10_000;
            }
        }
        fabric.run_until(Time(1_000_000_000));
        assert_eq!(fabric.completed(), 8);
        for (port, &bytes) in expected.iter().enumerate() {
            let sent = fabric.port(port as u32).tx_bytes;
            // Headers, and the ACKs of the other direction.
            assert_eq!(sent >= bytes && bytes > 0, sent > 2000, "{}", fabric.graph().port_name(port as u32));
        }
    }

    #[test]
    fn sprayed_packets_have_no_single_way() {
        assert_eq!(fabric(RoutingMode::Spray).way(0), None);
    }
}
