//! What is simulated, in a few words.

use models::config::{CongestionConfig, DcqcnPreset, RoutingMode, TopologyConfig, TrafficConfig};
use models::topology::Graph;
use sim_core::Rate;

use super::page::trimmed;
use crate::check::text::count;
use crate::spec::Scenario;

/// Name, traffic of so many flows, topology, and protocol with the seed: which never stands alone on a line.
pub fn subject(scenario: &Scenario, graph: &Graph, flows: usize) -> [String; 4] {
    [
        scenario.name.clone(),
        traffic(scenario, flows),
        topology(scenario, graph),
        format!("{} · seed {}", protocol(scenario), scenario.seed),
    ]
}

fn jobs(scenario: &Scenario) -> Option<String> {
    let cluster = scenario.cluster.as_ref()?;
    let name = cluster.node.overrides().preset.clone().unwrap_or_else(|| "node".to_string());
    Some(format!("{} on {} × {name}", count(scenario.jobs.len(), "job"), cluster.nodes,))
}

fn traffic(scenario: &Scenario, number: usize) -> String {
    match (jobs(scenario), number == 0) {
        (Some(jobs), true) => return jobs,
        (Some(jobs), false) => return format!("{jobs}, {}", count(number, "flow")),
        (None, _) => {}
    }
    let flows = count(number, "flow");
    match scenario.traffic.as_slice() {
        [TrafficConfig::Incast(incast)] => {
            format!("{} → 1 receiver, {} each", count(incast.senders as usize, "sender"), incast.size)
        }
        [TrafficConfig::Permutation(p)] => {
            format!("permutation of {} hosts, {} each", number, p.size)
        }
        [TrafficConfig::AllToAll(a)] => format!("all-to-all, {flows} of {}", a.size),
        [TrafficConfig::Flows(_)] => flows,
        [TrafficConfig::Poisson(p)] => format!("Poisson arrivals at load {}, {flows}", p.load),
        groups => format!("{} of traffic, {flows}", count(groups.len(), "group")),
    }
}

fn topology(scenario: &Scenario, graph: &Graph) -> String {
    let shape = match &scenario.topology {
        TopologyConfig::SingleSwitch(_) => format!("1 switch with {} hosts", graph.hosts),
        TopologyConfig::Dumbbell(d) => format!("dumbbell {} + {}", d.left, d.right),
        TopologyConfig::LeafSpine(l) => {
            format!("leaf–spine {} × {}, {} hosts", l.leaves, l.spines, graph.hosts)
        }
        TopologyConfig::FatTree(f) => format!("{}-tier fat tree k = {}, {} hosts", f.tiers, f.k, graph.hosts),
        TopologyConfig::Rail(rail) => {
            let planes = if rail.planes == 2 { ", 2 planes" } else { "" };
            format!("{} nodes on {} rails{planes}", rail.nodes, rail.rails.unwrap_or(rail.nics_per_node))
        }
        TopologyConfig::Edges(_) => {
            format!("{} hosts, {} switches", graph.hosts, graph.nodes() - graph.hosts)
        }
    };
    let mut rates: Vec<Rate> = graph.links.iter().map(|link| link.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let gbps = |rate: &Rate| trimmed(rate.as_gbps(), 2);
    match rates.as_slice() {
        [] => shape,
        [one] => format!("{shape}, {} Gb/s", gbps(one)),
        [least, .., most] => format!("{shape}, {} to {} Gb/s", gbps(least), gbps(most)),
    }
}

fn protocol(scenario: &Scenario) -> String {
    let congestion = match &scenario.congestion {
        CongestionConfig::None => "no congestion control",
        CongestionConfig::Dcqcn(dcqcn) => match dcqcn.preset {
            DcqcnPreset::Sigcomm15 => "DCQCN (sigcomm15)",
            DcqcnPreset::Connectx => "DCQCN (connectx)",
            DcqcnPreset::HpccNs3 => "DCQCN (hpcc-ns3)",
        },
        CongestionConfig::Timely(_) => "TIMELY",
        CongestionConfig::Swift(_) => "Swift",
        CongestionConfig::Hpcc(_) => "HPCC",
    };
    let lossless = scenario.switch.pfc.enabled && !scenario.switch.lossless_classes().is_empty();
    let routing = match scenario.routing.mode {
        RoutingMode::Ecmp => "",
        RoutingMode::Spray => ", packet spraying",
        RoutingMode::Flowlet { .. } => ", flowlets",
        RoutingMode::Adaptive => ", adaptive routing",
    };
    format!("RoCEv2, {congestion}, {}{routing}", if lossless { "PFC" } else { "no PFC" })
}
