//! How fast flows could be: alone on their path, and when only the links of hosts are shared.

use std::collections::BTreeMap;

use models::config::{Forwarding, NicConfig, Operation};
use models::congestion::Path;
use models::routing::{ExplicitRoutes, RouteTable, walk};
use models::topology::{Graph, NodeIndex};
use models::traffic::Flow;
use sim_core::Rate;

use crate::spec::Scenario;

/// Most links of a path that is looked at.
const MAX_HOPS: usize = 64;

/// Lower bounds of completion times, and upper bounds of goodput.
#[derive(Clone, Debug, Default)]
pub struct Ideal {
    /// Completion time of each flow alone on its path, in picoseconds.
    pub fct: Vec<u64>,
    /// Goodput of each flow when the flows of a host's link share it evenly, in bit/s of payload.
    pub share: Vec<f64>,
    /// Rate at which each flow may enter the fabric when the flows of its sender share the link evenly, in bit/s on the
    /// wire.
    pub sends: Vec<f64>,
    /// Time in which the busiest link of a host carries all its flows, round trip included, in picoseconds.
    pub floor: u64,
}

impl Ideal {
    /// The bounds of all flows.
    pub fn new(scenario: &Scenario, graph: &Graph, flows: &[Flow], paths: &[Path]) -> Self {
        let nic = &scenario.nic;
        let mut routes = Hops::new(scenario, graph, flows);
        let mut sent = vec![Load::default(); graph.hosts as usize];
        let mut received = sent.clone();
        let mut ideal = Self::default();
        for (index, flow) in flows.iter().enumerate() {
            let wire = wire_bytes(flow, nic);
            sent[flow.src as usize].add(wire);
            received[flow.dst as usize].add(wire);
            let hops = routes.of(index, flow);
            ideal.fct.push(alone(scenario, flow, wire, &hops, &paths[index]));
        }
        for flow in flows {
            let out = host_rate(graph, flow.src).0 as f64 / sent[flow.src as usize].flows as f64;
            let into = host_rate(graph, flow.dst).0 as f64 / received[flow.dst as usize].flows as f64;
            let cap = flow.rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
            ideal.sends.push(out.min(cap));
            ideal.share.push(out.min(into).min(cap) / wire_factor(flow, nic));
        }
        let busiest = (0..graph.hosts)
            .flat_map(|host| [(host, sent[host as usize]), (host, received[host as usize])])
            .map(|(host, load)| host_rate(graph, host).tx_time(load.wire).0)
            .max()
            .unwrap_or(0);
        ideal.floor = busiest + paths.iter().map(|path| path.base_rtt).min().unwrap_or(0);
        ideal
    }
}

/// What a host's link carries in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    wire: u64,
    flows: u64,
}

impl Load {
    fn add(&mut self, wire: u64) {
        self.wire += wire;
        self.flows += 1;
    }
}

fn host_rate(graph: &Graph, host: NodeIndex) -> Rate {
    graph.link_of(graph.first_port[host as usize]).rate
}

/// Bytes on the wire of all data packets of a flow, each sent once.
pub(super) fn wire_bytes(flow: &Flow, nic: &NicConfig) -> u64 {
    let reth = if flow.operation == Operation::Write { nic.reth.0 * u64::from(flow.messages) } else { 0 };
    flow.bytes().0 + flow.packets(nic.mtu.0) * (nic.header.0 + nic.gap.0) + reth
}

/// Bytes on the wire for a byte of payload.
pub(super) fn wire_factor(flow: &Flow, nic: &NicConfig) -> f64 {
    wire_bytes(flow, nic) as f64 / flow.bytes().0 as f64
}

/// The time a flow takes alone, in picoseconds.
fn alone(scenario: &Scenario, flow: &Flow, wire: u64, hops: &[Rate], path: &Path) -> u64 {
    let nic = &scenario.nic;
    let narrow =
        hops.iter().copied().chain(flow.rate).chain(nic.inject_rate).min().unwrap_or(Rate(path.line_rate));
    let around = nic.header.0 + nic.gap.0;
    if flow.operation == Operation::Datagram {
        return narrow.tx_time(wire).0;
    }
    let reth = if flow.operation == Operation::Write { nic.reth.0 } else { 0 };
    let full = nic.mtu.0 + around;
    let first = flow.size.0.min(nic.mtu.0) + around + reth;
    // The base round-trip time holds one full packet on every hop; that of this flow may be another.
    let on_hops = |bytes: u64| -> u64 {
        match scenario.switch.forwarding {
            Forwarding::StoreAndForward => hops.iter().map(|rate| rate.tx_time(bytes).0).sum(),
            Forwarding::CutThrough { .. } => hops.last().map_or(0, |rate| rate.tx_time(bytes).0),
        }
    };
    let rest = narrow.tx_time(wire.saturating_sub(first)).0;
    (path.base_rtt + on_hops(first)).saturating_sub(on_hops(full)) + rest
}

/// Rates of the links of flows' paths.
struct Hops<'a> {
    graph: &'a Graph,
    routes: Option<(RouteTable, ExplicitRoutes)>,
    known: BTreeMap<(NodeIndex, NodeIndex, Rate, Rate), Vec<Rate>>,
}

impl<'a> Hops<'a> {
    fn new(scenario: &Scenario, graph: &'a Graph, flows: &[Flow]) -> Self {
        let down = vec![false; graph.links.len()];
        let table = RouteTable::build(graph, &scenario.routing, &down).ok();
        let explicit = ExplicitRoutes::build(graph, flows, &down).ok();
        Self { graph, routes: table.zip(explicit), known: BTreeMap::new() }
    }

    fn of(&mut self, index: usize, flow: &Flow) -> Vec<Rate> {
        let graph = self.graph;
        let ends = (host_rate(graph, flow.src), host_rate(graph, flow.dst));
        let Some((table, explicit)) = &self.routes else { return vec![ends.0, ends.1] };
        let measure = || {
            let way = walk(graph, table, explicit, index as u32, flow, |_| 0, MAX_HOPS);
            way.ports.iter().map(|&port| graph.link_of(port).rate).collect::<Vec<Rate>>()
        };
        if !flow.paths.is_empty() {
            return measure();
        }
        let key = (graph.switch_of(flow.src), graph.switch_of(flow.dst), ends.0, ends.1);
        self.known.entry(key).or_insert_with(measure).clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test_runs::{flows, leaf_spine, run, scenario, star};
    use super::super::{Silent, execute, prepare};

    /// A flow alone takes exactly its ideal time: on every size around a packet, and across slower links.
    #[test]
    fn a_lone_flow_takes_its_ideal_time() {
        let folder = tempfile::tempdir().unwrap();
        let narrow = json!({ "dumbbell": {
            "left": 1, "right": 1,
            "host_link": { "rate": "100Gbps", "delay": "1us" },
            "bottleneck": { "rate": "25Gbps", "delay": "3us" }
        } });
        for (topology, far) in
            [(star(2, 100, 10), "host1"), (leaf_spine(2, 1, 1), "host1"), (narrow, "host1")]
        {
            for size in ["1B", "100B", "4096B", "4097B", "1MB"] {
                let object = json!({
                    "topology": topology, "congestion": "none", "traffic": flows(&[("host0", far, size)])
                });
                let prepared = prepare(&scenario(object)).unwrap();
                execute(prepared, Some(folder.path()), &mut Silent).unwrap();
                let text = std::fs::read_to_string(folder.path().join("flows.csv")).unwrap();
                let slowdown: f64 = text.lines().nth(1).unwrap().split(',').nth(11).unwrap().parse().unwrap();
                assert!((0.995..1.005).contains(&slowdown), "{size} over {topology}: {slowdown}");
            }
        }
    }

    #[test]
    fn goodput_of_one_flow_is_that_of_the_frame() {
        // 25 Gb/s · 1024 / (1024 + 82); measured on NICs as 23.15 (perftest#219: "about 23").
        let outcome = run(json!({
            "topology": star(2, 25, 10),
            "nic": { "mtu": "1024B" },
            "congestion": "none",
            "traffic": flows(&[("host0", "host1", "100MB")])
        }));
        let goodput = outcome.summary.flows.goodput_gbps.unwrap().mean;
        assert!((goodput - 23.15).abs() < 0.05, "{goodput}");
    }
}
