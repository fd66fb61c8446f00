//! What several checks need: routes, classes and the sharing of the buffer.

use std::collections::{BTreeMap, BTreeSet};

use models::config::{Class, ClassKind, FaultConfig, Operation, Threshold};
use models::headroom;
use models::routing::{ExplicitRoutes, RouteTable};
use models::topology::{Graph, NodeIndex, PortIndex};
use models::traffic::Flow;
use sim_core::{Bytes, Rate};

use super::error;
use crate::finding::Finding;
use crate::spec::Scenario;

/// The scenario and what follows from it.
pub(super) struct Context<'a> {
    pub scenario: &'a Scenario,
    pub graph: &'a Graph,
    pub flows: &'a [Flow],
    /// Class at switches of each DSCP.
    pub class_of_dscp: [Class; 64],
    /// Routes at the start; `None` when they cannot be built.
    pub routes: Option<Routes>,
}

/// Routes under one set of failed links.
pub(super) struct Routes {
    pub table: RouteTable,
    pub explicit: ExplicitRoutes,
}

impl Routes {
    pub fn build(scenario: &Scenario, graph: &Graph, flows: &[Flow], down: &[bool]) -> Result<Self, String> {
        let table = RouteTable::build(graph, &scenario.routing, down).map_err(|e| e.to_string())?;
        let explicit = ExplicitRoutes::build(graph, flows, down).map_err(|e| e.to_string())?;
        Ok(Self { table, explicit })
    }
}

impl<'a> Context<'a> {
    /// Gathers everything; routes that cannot be built are a finding.
    pub fn new(
        scenario: &'a Scenario,
        graph: &'a Graph,
        flows: &'a [Flow],
        findings: &mut Vec<Finding>,
    ) -> Self {
        let down = links_down(scenario, graph, 0);
        let routes = Routes::build(scenario, graph, flows, &down)
            .map_err(|text| error(findings, "bad-route", "routing", text))
            .ok();
        Self { scenario, graph, flows, class_of_dscp: scenario.switch.dscp_to_class(), routes }
    }

    /// The switches.
    pub fn switches(&self) -> std::ops::Range<NodeIndex> {
        self.graph.hosts..self.graph.nodes()
    }

    /// The ports of all switches.
    pub fn switch_ports(&self) -> std::ops::Range<PortIndex> {
        self.graph.first_port[self.graph.hosts as usize]..self.graph.ports.len() as PortIndex
    }

    /// Class of a flow's data at switches.
    pub fn class(&self, flow: &Flow) -> Class {
        self.class_of_dscp[usize::from(flow.dscp & 63)]
    }

    /// Whether PFC protects the class.
    pub fn lossless(&self, class: Class) -> bool {
        self.scenario.switch.pfc.enabled && self.scenario.switch.kind(class) == ClassKind::Lossless
    }

    /// Whether any class is protected by PFC.
    pub fn any_lossless(&self) -> bool {
        self.scenario.switch.pfc.enabled && !self.scenario.switch.lossless_classes().is_empty()
    }

    /// The switch a host is attached to.
    pub fn home(&self, host: NodeIndex) -> Option<NodeIndex> {
        let port = self.graph.ports_of(host).next()?;
        Some(self.graph.ports[port as usize].peer_node).filter(|&node| !self.graph.is_host(node))
    }

    /// The largest data frame without RETH: what people call the MTU of the port.
    pub fn frame(&self) -> Bytes {
        self.scenario.nic.mtu + self.scenario.nic.header
    }

    /// The rates of all links, ascending, each with its first link.
    pub fn rates(&self) -> BTreeMap<Rate, u32> {
        let mut rates = BTreeMap::new();
        for (index, link) in self.graph.links.iter().enumerate() {
            rates.entry(link.rate).or_insert(index as u32);
        }
        rates
    }

    /// A link by its ends.
    pub fn link_name(&self, link: u32) -> String {
        let link = &self.graph.links[link as usize];
        format!("{} to {}", self.graph.names[link.a as usize], self.graph.names[link.b as usize])
    }

    /// How each switch shares its buffer, switches that do alike taken together.
    pub fn carves(&self) -> BTreeMap<Carve, Vec<NodeIndex>> {
        let senders = self.lossless_senders();
        let mut alike: BTreeMap<Carve, Vec<NodeIndex>> = BTreeMap::new();
        for switch in self.switches() {
            alike.entry(self.carve(switch, &senders)).or_default().push(switch);
        }
        alike
    }

    fn carve(&self, switch: NodeIndex, senders: &BTreeSet<NodeIndex>) -> Carve {
        let config = &self.scenario.switch;
        let classes = config.lossless_classes().len() as u64;
        let mut carve = Carve { classes, ..Carve::default() };
        for port in self.graph.ports_of(switch) {
            let end = self.graph.ports[port as usize];
            carve.ports += 1;
            carve.busy += u64::from(!self.graph.is_host(end.peer_node) || senders.contains(&end.peer_node));
            if self.any_lossless() {
                let each = headroom::given(self.graph.link_of(port), config, &self.scenario.nic).0;
                carve.headroom = carve.headroom.saturating_add(each.saturating_mul(classes));
            }
        }
        carve.reserved = config.reserved.0 * classes * carve.ports;
        carve.shared = config.buffer.0.saturating_sub(carve.headroom.saturating_add(carve.reserved));
        carve
    }

    /// Hosts that send anything, ACKs included, in a lossless class.
    fn lossless_senders(&self) -> BTreeSet<NodeIndex> {
        let mut senders = BTreeSet::new();
        for flow in self.flows {
            let class = self.class(flow);
            if self.lossless(class) {
                senders.insert(flow.src);
            }
            let acked = match flow.operation {
                Operation::Write | Operation::Send | Operation::Read => true,
                Operation::Datagram => false,
            };
            if acked && self.lossless(self.scenario.nic.ack_class.unwrap_or(class)) {
                senders.insert(flow.dst);
            }
        }
        senders
    }
}

/// How a switch shares its buffer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Carve {
    /// Ports.
    pub ports: u64,
    /// Ports by which lossless packets may enter: those to other switches and to hosts that send them.
    pub busy: u64,
    /// Lossless classes.
    pub classes: u64,
    /// Reserved for all ingress (port, class).
    pub reserved: u64,
    /// Headroom of all of them.
    pub headroom: u64,
    /// What is left to share.
    pub shared: u64,
}

impl Carve {
    /// What an ingress (port, class) holds when it pauses its sender, with `n` of them filling alike and an otherwise
    /// empty buffer.
    pub fn pause_at(&self, context: &Context, n: u64) -> u64 {
        let reserved = context.scenario.switch.reserved.0;
        reserved + limit(context.scenario.switch.xoff, self.shared, n)
    }
}

/// What each of `n` queues that fill alike may hold of `shared` bytes under `threshold`.
pub(super) fn limit(threshold: Threshold, shared: u64, n: u64) -> u64 {
    match threshold {
        Threshold::Static(bytes) => bytes.0,
        // x = alpha · (shared − n·x)
        Threshold::Dynamic { alpha } => (alpha * shared as f64 / (1.0 + n as f64 * alpha)) as u64,
    }
}

/// Which links are down at `at` picoseconds.
pub(super) fn links_down(scenario: &Scenario, graph: &Graph, at: u64) -> Vec<bool> {
    let mut down = vec![false; graph.links.len()];
    for fault in &scenario.faults {
        match fault {
            FaultConfig::LinkDown(fault) => {
                if fault.enabled && fault.at.0 <= at && fault.until.is_none_or(|until| until.0 > at) {
                    let (a, b) = (graph.node(&fault.a), graph.node(&fault.b));
                    for (link, down) in graph.links.iter().zip(&mut down) {
                        let ends = (Some(link.a), Some(link.b));
                        *down |= ends == (a, b) || ends == (b, a);
                    }
                }
            }
            FaultConfig::PauseStorm(_) | FaultConfig::DropEvery(_) => {}
        }
    }
    down
}
