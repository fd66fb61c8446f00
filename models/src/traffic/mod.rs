//! Traffic as the fabric takes it: a list of flows.

mod all_to_all;
mod error;
mod exponential;
mod flow_list;
mod group;
mod incast;
mod permutation;
mod poisson;
mod sizes;

use sim_core::random::{Purpose, stream};
use sim_core::{Bytes, Rate, Time};

use crate::config::{Class, Operation, TrafficConfig};
use crate::topology::{Graph, NodeIndex};

pub use error::TrafficError;
pub use group::{MAX_FLOW_BYTES, MAX_FLOWS, MAX_START};
pub use sizes::Sizes;

/// The flows of all groups, group by group. Each group draws from its own random stream, named by `seed` and its
/// place in the list.
pub fn build(traffic: &[TrafficConfig], graph: &Graph, seed: u64) -> Result<Vec<Flow>, TrafficError> {
    let mut flows = Vec::new();
    for (i, config) in traffic.iter().enumerate() {
        let mut random = stream(seed, Purpose::Traffic, i as u64);
        let kind = match config {
            TrafficConfig::Incast(_) => "incast",
            TrafficConfig::Permutation(_) => "permutation",
            TrafficConfig::AllToAll(_) => "all-to-all",
            TrafficConfig::Flows(_) => "flows",
            TrafficConfig::Poisson(_) => "poisson",
        };
        let mut group = group::Group { graph, place: format!("traffic[{i}].{kind}"), flows: &mut flows };
        match config {
            TrafficConfig::Incast(config) => incast::build(config, &mut group)?,
            TrafficConfig::Permutation(config) => permutation::build(config, &mut group, &mut random)?,
            TrafficConfig::AllToAll(config) => all_to_all::build(config, &mut group)?,
            TrafficConfig::Flows(config) => flow_list::build(config, &mut group)?,
            TrafficConfig::Poisson(config) => poisson::build(config, &mut group, &mut random)?,
        }
    }
    Ok(flows)
}

/// One flow: a queue pair from `src` to `dst` with `messages` messages of `size` bytes, posted back to back.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The sending host.
    pub src: NodeIndex,
    /// The receiving host.
    pub dst: NodeIndex,
    /// Bytes of each message, at least 1.
    pub size: Bytes,
    /// Messages posted back to back, at least 1.
    pub messages: u32,
    /// When it starts, before jitter.
    pub start: Time,
    /// Traffic class at the NIC.
    pub class: Class,
    /// DSCP the packets carry.
    pub dscp: u8,
    /// The RDMA operation.
    pub operation: Operation,
    /// Cap on the rate in bits on the wire.
    pub rate: Option<Rate>,
    /// Links between switches a packet may cross.
    pub ttl: u8,
    /// Candidate paths by preference, as lists of switches.
    pub paths: Vec<Vec<NodeIndex>>,
}

impl Flow {
    /// Payload bytes of all messages.
    pub fn bytes(&self) -> Bytes {
        self.size * u64::from(self.messages)
    }

    /// Packets of one message at `mtu` payload bytes each, the last as long as what is left. `mtu` must not be 0.
    pub fn packets_per_message(&self, mtu: u64) -> u64 {
        self.size.0.div_ceil(mtu)
    }

    /// Packets of all messages.
    pub fn packets(&self, mtu: u64) -> u64 {
        self.packets_per_message(mtu) * u64::from(self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        FlowOptions, LeafSpine, LinkConfig, Permutation, Poisson, SizeDistribution, TopologyConfig,
    };
    use sim_core::Duration;

    /// Leaves with hosts at 100 Gb/s, and one spine.
    pub(super) fn leaf_spine(leaves: u32, hosts_per_leaf: u32) -> Graph {
        let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
        let (host_link, fabric_link, overrides) = (link.clone(), link, vec![]);
        let config =
            LeafSpine { leaves, spines: 1, hosts_per_leaf, host_link, fabric_link, parallel: 1, overrides };
        crate::topology::build(&TopologyConfig::LeafSpine(config)).unwrap()
    }

    pub(super) fn flows_of(graph: &Graph, config: TrafficConfig) -> Vec<Flow> {
        build(&[config], graph, 1).unwrap()
    }

    pub(super) fn error_of(graph: &Graph, config: TrafficConfig) -> String {
        build(&[config], graph, 1).unwrap_err().to_string()
    }

    pub(super) fn names_of(graph: &Graph, flows: &[Flow]) -> Vec<String> {
        let name = |node: NodeIndex| &graph.names[node as usize];
        flows.iter().map(|f| format!("{}→{}", name(f.src), name(f.dst))).collect()
    }

    fn permutation() -> TrafficConfig {
        let (size, start, options) = (Bytes(1_000), Duration::ZERO, FlowOptions::default());
        TrafficConfig::Permutation(Permutation { size, shift: None, start, options })
    }

    fn poisson(load: f64) -> TrafficConfig {
        let (start, duration, options) = (Duration::ZERO, Duration::from_ms(1), FlowOptions::default());
        let sizes = SizeDistribution::WebSearch;
        TrafficConfig::Poisson(Poisson { load, duration, start, sizes, options })
    }

    #[test]
    fn groups_and_seeds_are_independent() {
        let graph = leaf_spine(4, 16);
        let both = |load, seed| build(&[poisson(load), permutation()], &graph, seed).unwrap();
        let last = |flows: &[Flow]| flows[flows.len() - 64..].to_vec();
        assert_eq!(both(0.3, 1), both(0.3, 1));
        assert_ne!(both(0.3, 1).len(), both(0.9, 1).len());
        assert_eq!(last(&both(0.3, 1)), last(&both(0.9, 1)));
        assert_ne!(last(&both(0.3, 1)), last(&both(0.3, 2)));
        let twice = build(&[permutation(), permutation()], &graph, 1).unwrap();
        assert_ne!(twice[..64], twice[64..]);
    }

    #[test]
    fn random_traffic_is_portable() {
        // Golden: a change of these numbers changes every scenario with random traffic and belongs in the changelog.
        let graph = leaf_spine(2, 4);
        let flows = build(&[poisson(0.9), permutation()], &graph, 1).unwrap();
        let first: Vec<(u32, u32, u64, u64)> =
            flows[..3].iter().map(|f| (f.src, f.dst, f.size.0, f.start.0)).collect();
        assert_eq!(first, [(5, 4, 1871396, 3973119), (0, 3, 5627, 45078983), (1, 0, 32096, 67699691)]);
        let order: Vec<u32> = flows[flows.len() - 8..].iter().map(|f| f.dst).collect();
        assert_eq!(order, [1, 4, 5, 0, 3, 2, 7, 6]);
    }

    #[test]
    fn all_groups_count_towards_the_limit() {
        let many = || {
            TrafficConfig::Incast(crate::config::Incast {
                senders: 6_000_000,
                receiver: None,
                size: Bytes(1),
                start: Duration::ZERO,
                options: FlowOptions::default(),
            })
        };
        assert_eq!(
            build(&[many(), many()], &leaf_spine(2, 2), 1).unwrap_err().to_string(),
            "traffic[1].incast makes 6000000 flows, 12000000 in all, above the limit of 10000000: lower senders"
        );
    }

    #[test]
    fn packets_are_those_of_each_message() {
        let flow = |size, messages| {
            let flow = flows_of(&leaf_spine(2, 2), permutation()).remove(0);
            Flow { size: Bytes(size), messages, ..flow }
        };
        assert_eq!((flow(4_097, 3).packets_per_message(4_096), flow(4_097, 3).packets(4_096)), (2, 6));
        assert_eq!((flow(1, 1).packets(1_024), flow(2_048, 1).packets(1_024)), (1, 2));
        assert_eq!(flow(5, 7).bytes(), Bytes(35));
    }
}
