//! Building a fabric from a topology, flows and configuration.

use sim_core::pool::{List, Pool};
use sim_core::queue::EventQueue;
use sim_core::random::{self, Purpose, stream};
use sim_core::ring::Ring;
use sim_core::{Duration, Time};

use super::collective::{Collectives, WorkloadError, compile};
use super::control::{Action, Control};
use super::nic_receive::{OutOfOrder, ReceiveQp};
use super::nic_send::{SendQp, Turn};
use super::stream::Stream;
use super::switch::FLOWLET_TABLE;
use super::watchdog::Watchdog;
use super::{Fabric, FlowState, Flowlet, HostState, NicRules, SwitchRules, SwitchState, Targets};
use crate::buffer::{BufferPlan, Ingress, Limit, SharedBuffer};
use crate::config::{
    CLASSES, CongestionConfig, EcnPoint, FaultConfig, Forwarding, Headroom, NicConfig, Operation, Recovery,
    RoutingConfig, RoutingMode, SwitchConfig, Window,
};
use crate::congestion::{Allowance, Congestion, Path};
use crate::counters::{Counters, Losses, PauseState};
use crate::ecn::Red;
use crate::headroom;
use crate::link::{LinkFault, TelemetryPool};
use crate::packet::{EXPLICIT, TELEMETRY};
use crate::port::{Dwrr, EgressQueue, Port, compile_schedulers};
use crate::record::Recorder;
use crate::routing::{ExplicitRoutes, RouteTable, RoutingError, walk};
use crate::topology::{Graph, PortIndex};
use crate::traffic::Flow;
use crate::workload::Workload;

/// Everything a fabric is made of besides its topology and flows.
#[derive(Clone, Debug, Default)]
pub struct FabricConfig {
    /// All switches.
    pub switch: SwitchConfig,
    /// All NICs.
    pub nic: NicConfig,
    /// Congestion control of all senders.
    pub congestion: CongestionConfig,
    /// Routing.
    pub routing: RoutingConfig,
    /// What goes wrong.
    pub faults: Vec<FaultConfig>,
    /// Seed of every random stream.
    pub seed: u64,
}

/// Why a fabric cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Reservations and headroom exceed a switch's memory.
    #[error(
        "switch.buffer: {switch} has {ports} ports, whose reservations ({reserved} B) and headroom ({headroom} B) exceed \
         its memory of {buffer} B: enlarge switch.buffer, or lower switch.headroom, switch.reserved or the lossless classes"
    )]
    BufferTooSmall {
        /// The switch.
        switch: String,
        /// Its ports.
        ports: usize,
        /// Bytes reserved.
        reserved: u64,
        /// Bytes of headroom.
        headroom: u64,
        /// Bytes of memory.
        buffer: u64,
    },
    /// No ECN thresholds for a link rate.
    #[error(
        "switch.ecn.per_rate: no Kmin, Kmax and Pmax for {rate} links, first at {port}: add an entry for {rate}, or give \
         switch.ecn.reference_rate to scale the others"
    )]
    NoEcnThresholds {
        /// The link rate.
        rate: String,
        /// The first port with it.
        port: String,
    },
    /// A fault names what is not there.
    #[error("faults: {0}")]
    Fault(String),
    /// A flow has more packets than PSNs.
    #[error(
        "traffic: flow {flow} from {from} to {to} has {packets} packets; a flow may have at most 4294967294: use fewer or smaller messages"
    )]
    TooManyPackets {
        /// Index of the flow.
        flow: usize,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
        /// Its packets.
        packets: u64,
    },
    /// More flows and ports than event targets.
    #[error("the fabric needs {0} event targets; at most 4294967295 are possible: use fewer flows or ports")]
    TooLarge(u64),
    /// Routes cannot be computed.
    #[error("{0}")]
    Routing(#[from] RoutingError),
    /// The GPUs' work does not fit the fabric.
    #[error("{0}")]
    Workload(#[from] WorkloadError),
}

/// A switch port is cut through only when it is not slower than the fastest port of the switch it leads to.
fn cut_through_bytes(config: &SwitchConfig, graph: &Graph, port: PortIndex) -> u16 {
    let end = graph.ports[port as usize];
    match config.forwarding {
        Forwarding::CutThrough { header } if !graph.is_host(end.peer_node) => {
            let fastest = graph.ports_of(end.peer_node).map(|p| graph.link_of(p).rate).max();
            if Some(graph.link_of(port).rate) == fastest {
                header.0.clamp(1, 65_534) as u16
            } else {
                u16::MAX
            }
        }
        Forwarding::CutThrough { .. } | Forwarding::StoreAndForward => u16::MAX,
    }
}

/// Headroom of each (port, lossless class) of a switch, in bytes, as configured. Where automatic headroom would leave
/// nothing to share, it is cut to half of the memory that is not reserved: the switch then loses packets, and says so.
pub fn headroom_limits(switch: &SwitchConfig, nic: &NicConfig, graph: &Graph, node: u32) -> Vec<u64> {
    let lossless = switch.lossless_classes().len() as u64;
    let ports = graph.ports_of(node);
    let count = ports.len() as u64;
    let mut limits: Vec<u64> =
        ports.map(|port| headroom::given(graph.link_of(port), switch, nic).0).collect();
    if switch.headroom == Headroom::Auto && lossless > 0 {
        let room = switch.buffer.0.saturating_sub(switch.reserved.0 * count * lossless);
        let fair = room / 2 / (count * lossless).max(1);
        if limits.iter().sum::<u64>().saturating_mul(lossless) >= room {
            for limit in &mut limits {
                *limit = (*limit).min(fair);
            }
        }
    }
    limits
}

fn compile_switch(config: &SwitchConfig) -> SwitchRules {
    let (strict, weights) = compile_schedulers(|class| config.scheduler(class));
    let ecn_classes = match &config.ecn {
        None => 0,
        Some(ecn) => match &ecn.classes {
            Some(classes) => classes.iter().fold(0, |bits, class| bits | 1 << (class & 7)),
            None => config.lossless_classes().iter().fold(0, |bits, class| bits | 1 << class),
        },
    };
    SwitchRules {
        class_of_dscp: config.dscp_to_class(),
        kind: std::array::from_fn(|class| config.kind(class as u8)),
        strict,
        weights,
        cell: config.cell.0.clamp(1, 16_384) as u16,
        pfc_enabled: config.pfc.enabled,
        lossless_egress: config.lossless_egress.as_ref().map(Limit::new),
        lossy_egress: Limit::new(&config.lossy_egress),
        ecn_classes,
        ecn_at_enqueue: config.ecn.as_ref().is_some_and(|ecn| ecn.at == EcnPoint::Enqueue),
        pfc_frame: config.pfc.frame.0 as u16,
        refresh: config.pfc.refresh,
        drops: false,
    }
}

fn compile_nic(config: &NicConfig, congestion: &CongestionConfig) -> NicRules {
    NicRules {
        mtu: config.mtu.0 as u32,
        header: config.header.0 as u16,
        ack_frame: config.ack_frame.0 as u16,
        reth: config.reth.0 as u16,
        ack_every: config.ack_every,
        recovery: config.recovery,
        reorder_window: config.reorder_window,
        timeout: config.retransmission_timeout.0,
        nak_interval: config.nak_interval.0,
        cnp_interval: config.cnp.interval.0,
        cnp_delay: config.cnp.delay.0,
        cnp_class: config.cnp.class,
        echo_in_ack: config.cnp.echo_in_ack,
        notifies: matches!(congestion, CongestionConfig::Dcqcn(_)),
        drain_rate: config.drain_rate.map(|r| r.0),
        inject_rate: config.inject_rate.map(|r| r.0),
        receive_buffer: config.receive_buffer.0,
        receive_xoff: config.receive_xoff.0,
    }
}

fn build_ports(graph: &Graph, config: &FabricConfig) -> Vec<Port> {
    let index = |node: u32| if graph.is_host(node) { node } else { node - graph.hosts };
    (0..graph.ports.len() as PortIndex)
        .map(|port| {
            let (link, end) = (graph.link_of(port), graph.ports[port as usize]);
            let to_switch = !graph.is_host(end.peer_node);
            let latency = if to_switch { config.switch.latency } else { Duration::ZERO };
            let exact = 8_000_000_000_000u64.is_multiple_of(link.rate.0);
            let ps_per_byte =
                if exact { u32::try_from(8_000_000_000_000 / link.rate.0).unwrap_or(0) } else { 0 };
            Port {
                busy_until: 0,
                delay: (link.delay + latency).0,
                tx_bytes: 0,
                flying: List::default(),
                tx_packets: 0,
                ps_per_byte,
                peer: end.peer,
                node: index(end.peer_node),
                owner: index(end.node),
                local: (end.peer - graph.first_port[end.peer_node as usize]) as u16,
                cut_through: cut_through_bytes(&config.switch, graph, port),
                backlog: 0,
                paused: 0,
                tell: 0,
                closed: 0,
                ready_pending: false,
                up: true,
                to_switch,
                lossy_link: link.error_rate > 0.0,
            }
        })
        .collect()
}

fn build_link_faults(graph: &Graph) -> Vec<LinkFault> {
    (0..graph.ports.len() as PortIndex)
        .map(|port| LinkFault {
            lost: 0,
            error_threshold: (graph.link_of(port).error_rate * 18_446_744_073_709_551_616.0) as u64,
        })
        .collect()
}

fn build_pauses(graph: &Graph, config: &SwitchConfig) -> Vec<PauseState> {
    (0..graph.ports.len() as PortIndex)
        .map(|port| {
            let link = graph.link_of(port);
            let lasts = match config.pfc.quanta {
                0 => u64::MAX,
                quanta => link.rate.tx_time(u64::from(quanta) * 64).0,
            };
            PauseState { frame_delay: (link.delay + config.pfc.reaction).0, lasts, ..PauseState::default() }
        })
        .collect()
}

fn build_red(graph: &Graph, config: &SwitchConfig) -> Result<Vec<Red>, BuildError> {
    (0..graph.ports.len() as PortIndex)
        .map(|port| {
            let Some(ecn) = &config.ecn else { return Ok(Red::OFF) };
            if graph.is_host(graph.ports[port as usize].node) {
                return Ok(Red::OFF);
            }
            let rate = graph.link_of(port).rate;
            ecn.thresholds(rate).map(|t| Red::new(&t)).ok_or_else(|| BuildError::NoEcnThresholds {
                rate: rate.to_string(),
                port: graph.port_name(port),
            })
        })
        .collect()
}

/// The memory of each switch, with the headroom of each ingress.
fn build_memory(
    graph: &Graph,
    config: &FabricConfig,
) -> Result<(Vec<SwitchState>, Vec<Ingress>), BuildError> {
    let switch = &config.switch;
    let lossless = switch.lossless_classes();
    let mut ingress = vec![Ingress::default(); graph.ports.len() * CLASSES];
    let mut switches = Vec::new();
    for node in graph.hosts..graph.nodes() {
        let ports = graph.ports_of(node);
        let limits = headroom_limits(switch, &config.nic, graph, node);
        for (port, &limit) in ports.clone().zip(&limits) {
            for &class in &lossless {
                ingress[port as usize * CLASSES + usize::from(class)].headroom_limit =
                    u32::try_from(limit).unwrap_or(u32::MAX / 4).min(u32::MAX / 4);
            }
        }
        let reserved = switch.reserved.0 * (ports.len() * lossless.len()) as u64;
        let headroom = limits.iter().sum::<u64>() * lossless.len() as u64;
        let shared =
            switch.buffer.0.checked_sub(reserved + headroom).filter(|&shared| shared > 0).ok_or_else(
                || BuildError::BufferTooSmall {
                    switch: graph.names[node as usize].clone(),
                    ports: ports.len(),
                    reserved,
                    headroom,
                    buffer: switch.buffer.0,
                },
            )?;
        let index = node - graph.hosts;
        let mut seed = stream(config.seed, Purpose::EcmpSeed, u64::from(index));
        switches.push(SwitchState {
            buffer: SharedBuffer::new(&BufferPlan {
                shared,
                lossy_shared: switch.lossy_pool.map_or(shared, |b| b.0),
                reserved: switch.reserved.0 as u32,
                xoff: Limit::new(&switch.xoff),
                xon_offset: switch.xon_offset.0,
                lossy: Limit::new(&switch.lossy_ingress),
            }),
            random: stream(config.seed, Purpose::Switch, u64::from(index)),
            hash_seed: random::below(&mut seed, 1 << 32) as u32,
            first_port: graph.first_port[node as usize],
            drop_every: 0,
            rotation: 0,
            flowlets: match config.routing.mode {
                RoutingMode::Flowlet { .. } => vec![Flowlet::default(); FLOWLET_TABLE],
                RoutingMode::Ecmp | RoutingMode::Spray | RoutingMode::Adaptive => Vec::new(),
            },
        });
    }
    Ok((switches, ingress))
}

/// Idle-path properties of each flow, along the first of its equal-cost paths.
fn build_paths(
    graph: &Graph,
    config: &FabricConfig,
    routes: &RouteTable,
    explicit: &ExplicitRoutes,
    flows: &[Flow],
) -> Vec<Path> {
    let nic = &config.nic;
    let mut known = std::collections::HashMap::new();
    flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let line_rate = graph.link_of(graph.first_port[flow.src as usize]).rate.0;
            let attach = |host: u32| graph.ports[graph.first_port[host as usize] as usize].peer_node;
            let key = (
                attach(flow.src),
                attach(flow.dst),
                line_rate,
                graph.link_of(graph.first_port[flow.dst as usize]).rate.0,
            );
            let measure = || {
                let path = walk(graph, routes, explicit, index as u32, flow, |_| 0, 64);
                let (mut there, mut back) = (0, 0);
                let last = path.ports.len().saturating_sub(1);
                for (hop, &port) in path.ports.iter().enumerate() {
                    let link = graph.link_of(port);
                    let latency = if hop == last { 0 } else { config.switch.latency.0 };
                    let cut = u64::from(cut_through_bytes(&config.switch, graph, port));
                    let frame = nic.mtu.0 + nic.header.0 + nic.gap.0;
                    there += link.delay.0 + latency + link.rate.tx_time(frame.min(cut)).0;
                    back += link.delay.0 + latency + link.rate.tx_time(nic.ack_frame.0 + nic.gap.0).0;
                }
                there + back
            };
            let base_rtt =
                if flow.paths.is_empty() { *known.entry(key).or_insert_with(measure) } else { measure() };
            Path { line_rate, base_rtt: base_rtt.max(1), mtu: nic.mtu.0 as u32 }
        })
        .collect()
}

fn build_queue_pairs(
    graph: &Graph,
    config: &FabricConfig,
    (flows, finite): (&[Flow], usize),
    paths: &[Path],
    explicit: &ExplicitRoutes,
) -> Result<(Vec<SendQp>, Vec<ReceiveQp>), BuildError> {
    let nic = &config.nic;
    let mtu = nic.mtu.0;
    let telemetry = matches!(config.congestion, CongestionConfig::Hpcc(_));
    let (mut send, mut receive) = (Vec::with_capacity(flows.len()), Vec::with_capacity(flows.len()));
    for (index, flow) in flows.iter().enumerate() {
        let message_packets = flow.size.0.div_ceil(mtu);
        let packets = message_packets.saturating_mul(u64::from(flow.messages));
        if packets >= u64::from(u32::MAX) {
            return Err(BuildError::TooManyPackets {
                flow: index,
                from: graph.names[flow.src as usize].clone(),
                to: graph.names[flow.dst as usize].clone(),
                packets,
            });
        }
        let max_rate = flow.rate.map_or(paths[index].line_rate, |r| r.0.min(paths[index].line_rate));
        let window_limit = match nic.window {
            None => u32::MAX,
            Some(Window::Bytes(bytes)) => (bytes.0 / mtu).clamp(1, u64::from(u32::MAX)) as u32,
            Some(Window::Bdp) => (paths[index].bdp() / mtu).clamp(1, u64::from(u32::MAX)) as u32,
        };
        let unacknowledged = matches!(flow.operation, Operation::Datagram | Operation::Read);
        let mut flags = if telemetry && !unacknowledged { TELEMETRY } else { 0 };
        if explicit.is_explicit(index as u32) {
            flags |= EXPLICIT;
        }
        let last = flow.size.0 - (message_packets - 1) * mtu;
        let stream = index >= finite;
        send.push(SendQp {
            next: 0,
            acked: 0,
            end: if stream { 0 } else { packets as u32 },
            sent: 0,
            message_packets: message_packets as u32,
            last_payload: last as u16,
            src: flow.src,
            dst: flow.dst,
            window: if unacknowledged { u32::MAX } else { window_limit },
            window_limit: if unacknowledged { u32::MAX } else { window_limit },
            rate: max_rate,
            max_rate,
            pace_at: 0,
            timeout_at: 0,
            class: flow.class,
            dscp: flow.dscp,
            ttl: flow.ttl,
            flags,
            operation: flow.operation,
            turn: if stream { Turn::Idle } else { Turn::Pacing },
            timeout_pending: false,
            started: stream,
            retransmissions: 0,
            adapting: false,
            paced: max_rate < paths[index].line_rate,
            stream,
        });
        let ack_class = nic.ack_class.unwrap_or(flow.class);
        receive.push(ReceiveQp {
            expected: 0,
            unacked: 0,
            end: packets as u32,
            message_packets: message_packets as u32,
            src: flow.src,
            ends_seen: 0,
            operation: flow.operation,
            nak_sent: false,
            echo_due: false,
            ack_dscp: if ack_class == flow.class { flow.dscp } else { 8 * ack_class },
            ack_class,
            cnp_at: 0,
            nak_at: 0,
            timeout_at: 0,
            timeout_pending: false,
            stream,
        });
    }
    Ok((send, receive))
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Builds a fabric that is ready to run.
    pub fn build(
        graph: Graph,
        flows: Vec<Flow>,
        config: &FabricConfig,
        recorder: R,
    ) -> Result<Self, BuildError> {
        Self::build_with(graph, flows, None, config, recorder)
    }

    /// Builds a fabric whose NICs also carry what GPUs send each other.
    pub fn build_with(
        graph: Graph,
        mut flows: Vec<Flow>,
        workload: Option<Workload>,
        config: &FabricConfig,
        recorder: R,
    ) -> Result<Self, BuildError> {
        let finite = flows.len();
        let collectives = match workload {
            None => Collectives::default(),
            Some(_) if config.nic.recovery == Recovery::GoBack0 => Err(WorkloadError::GoBack0)?,
            Some(workload) => compile(workload, graph.hosts, &mut flows)?,
        };
        let down = vec![false; graph.links.len()];
        let routes = RouteTable::build(&graph, &config.routing, &down)?;
        let explicit = ExplicitRoutes::build(&graph, &flows, &down)?;
        let paths = build_paths(&graph, config, &routes, &explicit, &flows);
        let (send, receive) = build_queue_pairs(&graph, config, (&flows, finite), &paths, &explicit)?;
        let (switches, ingress) = build_memory(&graph, config)?;
        let (ports, count) = (graph.ports.len(), flows.len());
        let needed = 5 * ports as u64 + 2 * count as u64 + 2 * u64::from(graph.hosts) + collectives.targets();
        if needed > u64::from(u32::MAX) {
            return Err(BuildError::TooLarge(needed));
        }
        let targets = Targets::new(ports as u32, count as u32, graph.hosts, &collectives);
        let selective = config.nic.recovery == Recovery::SelectiveRepeat;
        let per_flow = |on: bool| if on { count } else { 0 };
        let mut fabric = Self {
            now: Time::ZERO,
            queue: Q::with_targets(targets.end as usize),
            targets,
            warmed: 0,
            hosts_count: graph.hosts,
            ports: build_ports(&graph, config).into(),
            packets: Pool::default(),
            queues: vec![EgressQueue::default(); ports * CLASSES].into(),
            ingress: ingress.into(),
            switches: switches.into(),
            rules: compile_switch(&config.switch),
            red: build_red(&graph, &config.switch)?.into(),
            hosts: (0..graph.hosts).map(|_| HostState::default()).collect::<Vec<_>>().into(),
            nic: compile_nic(&config.nic, &config.congestion),
            send: send.into(),
            receive: receive.into(),
            congestion: Congestion::new(&config.congestion, &paths),
            routes,
            explicit,
            counters: Counters::default(),
            rates: (0..ports as u32).map(|port| graph.link_of(port).rate.0).collect::<Vec<_>>().into(),
            link_faults: build_link_faults(&graph).into(),
            headroom_peaks: vec![0; ports * CLASSES].into(),
            gap: config.nic.gap.0 as u16,
            pauses: build_pauses(&graph, &config.switch).into(),
            pfc_links: vec![Ring::default(); ports],
            dwrr: vec![Dwrr::default(); ports].into(),
            link_random: Vec::new(),
            telemetry: TelemetryPool::default(),
            out_of_order: vec![OutOfOrder::default(); per_flow(selective)],
            resend: vec![Ring::default(); per_flow(selective)],
            seen: Vec::new(),
            losses: Losses::default(),
            results: vec![FlowState::default(); count],
            completed: 0,
            last_delivery: Time::ZERO,
            control: Control::default(),
            watchdog: config
                .switch
                .watchdog
                .as_ref()
                .filter(|w| w.enabled)
                .map(|w| Watchdog::new(w, &graph, &config.switch)),
            routing_mode: config.routing.mode,
            graph,
            flows,
            finite: finite as u32,
            streams: vec![Stream::default(); count - finite].into(),
            collectives,
            paths,
            recorder,
        };
        if fabric.graph.links.iter().any(|link| link.error_rate > 0.0) {
            fabric.link_random =
                (0..ports as u64).map(|port| stream(config.seed, Purpose::Link, port)).collect();
        }
        fabric.schedule_faults(config)?;
        fabric.schedule_starts(config);
        fabric.settle_latencies();
        fabric.start_tasks();
        Ok(fabric)
    }

    fn schedule_starts(&mut self, config: &FabricConfig) {
        for (index, flow) in self.flows.iter().enumerate() {
            let qp = index as u32;
            let jitter = if config.nic.jitter {
                let frame = config.nic.mtu.0 + config.nic.header.0 + config.nic.gap.0;
                let packet = sim_core::Rate(self.paths[index].line_rate).tx_time(frame).0;
                random::below(&mut stream(config.seed, Purpose::FlowStart, index as u64), packet)
            } else {
                0
            };
            let s = &mut self.send[index];
            // What is not acknowledged is not controlled: a window would never open again.
            let initial = match s.operation {
                Operation::Write | Operation::Send => self.congestion.initial(qp, &self.paths[index]),
                Operation::Read | Operation::Datagram => {
                    Allowance { rate: self.paths[index].line_rate, window: u64::MAX }
                }
            };
            s.rate = initial.rate.min(s.max_rate).max(1);
            s.paced = s.rate < self.paths[index].line_rate;
            if initial.window != u64::MAX {
                let packets = (initial.window / config.nic.mtu.0).clamp(1, u64::from(u32::MAX)) as u32;
                s.window = packets.min(s.window_limit);
            }
            if !s.stream {
                self.queue.push(Time(flow.start.0 + jitter), self.targets.pace + qp);
            }
        }
    }

    fn schedule_faults(&mut self, config: &FabricConfig) -> Result<(), BuildError> {
        let node = |graph: &Graph, name: &str| {
            graph.node(name).ok_or_else(|| BuildError::Fault(format!("there is no node \"{name}\"")))
        };
        for fault in &config.faults {
            match fault {
                FaultConfig::LinkDown(f) if f.enabled => {
                    let (a, b) = (node(&self.graph, &f.a)?, node(&self.graph, &f.b)?);
                    let links: Vec<u32> = (0..self.graph.links.len() as u32)
                        .filter(|&l| {
                            let link = self.graph.links[l as usize];
                            (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a)
                        })
                        .collect();
                    if links.is_empty() {
                        let text = format!("there is no link between \"{}\" and \"{}\"", f.a, f.b);
                        return Err(BuildError::Fault(text));
                    }
                    for link in links {
                        let at = Time::ZERO + f.at;
                        self.control.schedule(at, Action::LinkDown(link));
                        self.control.schedule(at + config.routing.convergence, Action::Reroute);
                        if let Some(until) = f.until {
                            let at = Time::ZERO + until;
                            self.control.schedule(at, Action::LinkUp(link));
                            self.control.schedule(at + config.routing.convergence, Action::Reroute);
                        }
                    }
                }
                FaultConfig::PauseStorm(f) if f.enabled => {
                    let host = node(&self.graph, &f.host)?;
                    if !self.graph.is_host(host) {
                        return Err(BuildError::Fault(format!("\"{}\" is no host", f.host)));
                    }
                    let classes = f.classes.iter().fold(0, |bits, class| bits | 1u8 << (class & 7));
                    self.control.schedule(Time::ZERO + f.at, Action::StormStart(host, classes));
                    if let Some(until) = f.until {
                        self.control.schedule(Time::ZERO + until, Action::StormEnd(host));
                    }
                }
                FaultConfig::DropEvery(f) if f.enabled => {
                    let at = node(&self.graph, &f.at)?;
                    if self.graph.is_host(at) {
                        return Err(BuildError::Fault(format!("\"{}\" is a host: name a switch", f.at)));
                    }
                    self.seen = vec![0; self.flows.len()];
                    self.rules.drops = true;
                    self.switches[(at - self.graph.hosts) as usize].drop_every = f.every;
                }
                FaultConfig::LinkDown(_) | FaultConfig::PauseStorm(_) | FaultConfig::DropEvery(_) => {}
            }
        }
        self.control.routing = config.routing.clone();
        Ok(())
    }
}
