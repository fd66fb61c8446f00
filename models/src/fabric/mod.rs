//! The fabric: all nodes, ports and links of a run, and the engine that moves packets through them.
//!
//! State lies in flat arrays indexed by port, host, switch or queue pair. Every element belongs to one node, and
//! a node touches only its own elements, its outgoing links and the event queue, so that a partition of nodes can
//! run by itself. Events are (time, target); each target has at most one pending event:
//!
//! | target | fires when |
//! |---|---|
//! | arrival of link p | the first packet in flight from port p arrives |
//! | ready of port p | the frame being sent ends and something waits |
//! | PFC arrival of link p | the first PFC frame in flight from port p takes effect |
//! | expiry of port p | a received pause may have run out |
//! | refresh of port p | a standing pause must be told again |
//! | pace of queue pair q | it starts, or its rate lets it send again |
//! | timeout of queue pair q | its retransmission timer may have run out |
//! | CNP of host h | the first delayed CNP is due |
//! | drain of host h | a slow receiver's buffer has fallen to XON |
//! | thread t, post c, compute g | see `collective` |
//!
//! A deadline that moves later is a field: the pending event re-posts itself when it fires early. At equal times
//! events run in the order of this table, then by index.

mod audit;
mod build;
mod collective;
mod control;
mod engine;
mod nic_receive;
mod nic_send;
mod pfc;
mod stream;
mod switch;
#[cfg(test)]
mod tests;
mod warm;
mod watchdog;
mod way;

pub use audit::AuditError;
pub use build::{BuildError, FabricConfig};
pub use collective::{Moved, Skipped, WorkloadError};
pub use control::Action;
pub use nic_send::FlowState;

use sim_core::Time;
use sim_core::pool::Pool;
use sim_core::queue::EventQueue;
use sim_core::random;
use sim_core::ring::Ring;
use sim_core::table::Table;

use crate::buffer::{Ingress, Limit, SharedBuffer};
use crate::config::{CLASSES, ClassKind, Recovery};
use crate::congestion::{Congestion, Path};
use crate::counters::{Counters, Losses, PauseState};
use crate::ecn::Red;
use crate::link::{Held, LinkFault, PfcFrame, TelemetryPool};
use crate::packet::Packet;
use crate::port::{Dwrr, EgressQueue, Port};
use crate::record::{NoRecord, Recorder};
use crate::routing::{ExplicitRoutes, RouteTable};
use crate::topology::{Graph, PortIndex};
use crate::traffic::Flow;

use collective::Collectives;
use nic_receive::{OutOfOrder, ReceiveQp};
use nic_send::SendQp;
use stream::Stream;

/// First target of each kind, in the order of the table in the module's documentation.
#[derive(Clone, Copy, Debug, Default)]
struct Targets {
    ready: u32,
    pfc: u32,
    expire: u32,
    refresh: u32,
    pace: u32,
    timeout: u32,
    cnp: u32,
    drain: u32,
    thread: u32,
    post: u32,
    compute: u32,
    end: u32,
}

impl Targets {
    fn new(ports: u32, flows: u32, hosts: u32, collectives: &Collectives) -> Self {
        let ready = ports;
        let pace = 5 * ports;
        let cnp = pace + 2 * flows;
        let thread = cnp + 2 * hosts;
        let post = thread + collectives.threads.len() as u32;
        let compute = post + collectives.posts.len() as u32;
        Self {
            ready,
            pfc: 2 * ports,
            expire: 3 * ports,
            refresh: 4 * ports,
            pace,
            timeout: pace + flows,
            cnp,
            drain: cnp + hosts,
            thread,
            post,
            compute,
            end: compute + collectives.gpus.len() as u32,
        }
    }
}

/// The switch configuration, compiled; the same for all switches.
#[derive(Clone, Debug)]
struct SwitchRules {
    class_of_dscp: [u8; 64],
    kind: [ClassKind; CLASSES],
    /// Strict-priority classes, as bits.
    strict: u8,
    weights: [u8; CLASSES],
    cell: u16,
    pfc_enabled: bool,
    /// Limit on an egress queue of a lossless class.
    lossless_egress: Option<Limit>,
    /// Limit on an egress queue of a lossy class.
    lossy_egress: Limit,
    /// Classes marked, as bits.
    ecn_classes: u8,
    ecn_at_enqueue: bool,
    /// Whether some switch has a DropEvery fault.
    drops: bool,
    /// Frame bytes of a PFC frame.
    pfc_frame: u16,
    /// Time after which a standing pause is told again, as a fraction of how long it lasts; 0 never.
    refresh: f64,
}

impl SwitchRules {
    /// Bytes a packet is charged for: whole cells.
    #[inline]
    fn charge(&self, size: u16) -> u32 {
        let size = u32::from(size);
        if self.cell == 1 { size } else { size.div_ceil(u32::from(self.cell)) * u32::from(self.cell) }
    }
}

/// State of one switch that is not per port.
#[derive(Debug)]
struct SwitchState {
    buffer: SharedBuffer,
    random: random::Stream,
    hash_seed: u32,
    first_port: PortIndex,
    /// Drops every n-th data packet of each flow; 0 none.
    drop_every: u32,
    /// Adaptive routing: where the search for the shortest queue starts, so that ties rotate.
    rotation: u32,
    flowlets: Vec<Flowlet>,
}

/// A flowlet's last packet and its next hop.
#[derive(Clone, Copy, Debug, Default)]
struct Flowlet {
    last: u64,
    choice: u32,
    known: bool,
}

/// State of one host that is not per queue pair.
#[derive(Debug, Default)]
struct HostState {
    /// Queue pairs that may send now, per class, in round-robin order.
    ready: [Ring<u32>; CLASSES],
    /// Classes with queue pairs that may send, as bits.
    ready_classes: u8,
    /// The class whose turn it is.
    turn: u8,
    /// CNPs that wait for their delay: (due, flow).
    cnps: Ring<(u64, u32)>,
    /// Bytes in the receive buffer as of `drained_at`.
    received: u64,
    drained_at: u64,
    drain_pending: bool,
    /// The NIC has stopped receiving and pauses these classes, as bits.
    storm: u8,
}

/// The NIC configuration, compiled; the same for all NICs.
#[derive(Clone, Debug)]
struct NicRules {
    mtu: u32,
    header: u16,
    ack_frame: u16,
    reth: u16,
    ack_every: u32,
    recovery: Recovery,
    reorder_window: u32,
    timeout: u64,
    nak_interval: u64,
    cnp_interval: u64,
    cnp_delay: u64,
    cnp_class: u8,
    echo_in_ack: bool,
    /// Whether CNPs (or echoes) are sent at all: only DCQCN listens.
    notifies: bool,
    drain_rate: Option<u64>,
    inject_rate: Option<u64>,
    receive_buffer: u64,
    receive_xoff: u64,
}

/// A fabric with its traffic, ready to run.
///
/// `Q` is the event queue, `R` takes records; with [`NoRecord`] recording costs nothing.
#[derive(Debug)]
pub struct Fabric<Q: EventQueue, R: Recorder = NoRecord> {
    now: Time,
    queue: Q,
    targets: Targets,
    /// Events ahead whose state was fetched into the cache.
    warmed: u32,
    hosts_count: u32,
    ports: Table<Port>,
    /// Every packet on a link or in a queue.
    packets: Pool<Held>,
    queues: Table<EgressQueue>,
    ingress: Table<Ingress>,
    switches: Table<SwitchState>,
    rules: SwitchRules,
    red: Table<Red>,
    hosts: Table<HostState>,
    nic: NicRules,
    send: Table<SendQp>,
    receive: Table<ReceiveQp>,
    congestion: Congestion,
    routes: RouteTable,
    explicit: ExplicitRoutes,
    counters: Counters,
    /// Rate of each port, in bit/s.
    rates: Table<u64>,
    link_faults: Table<LinkFault>,
    /// Most headroom bytes each ingress (port, class) ever held.
    headroom_peaks: Table<u32>,
    /// Preamble and gap of each frame, in bytes.
    gap: u16,
    pauses: Table<PauseState>,
    pfc_links: Vec<Ring<PfcFrame>>,
    dwrr: Table<Dwrr>,
    link_random: Vec<random::Stream>,
    telemetry: TelemetryPool,
    /// Selective repeat: what each receiver holds out of order; empty otherwise.
    out_of_order: Vec<OutOfOrder>,
    /// Selective repeat: PSNs each sender must send again; empty otherwise.
    resend: Vec<Ring<u32>>,
    /// DropEvery faults: data packets seen, by flow; empty without the fault.
    seen: Vec<u32>,
    losses: Losses,
    results: Vec<FlowState>,
    completed: u64,
    last_delivery: Time,
    control: control::Control,
    watchdog: Option<watchdog::Watchdog>,
    routing_mode: crate::config::RoutingMode,
    graph: Graph,
    /// Finite flows, then streams.
    flows: Vec<Flow>,
    /// Finite flows.
    finite: u32,
    streams: Table<Stream>,
    collectives: Collectives,
    paths: Vec<Path>,
    recorder: R,
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Simulated time: the time of the last event handled, or the limit of the last `run_until`.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Counters of the whole fabric.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Losses by place.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The topology.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The finite flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows[..self.finite as usize]
    }

    /// The streams that carry collectives, as flows; they follow the finite flows in every count of flows.
    pub fn streams(&self) -> &[Flow] {
        &self.flows[self.finite as usize..]
    }

    /// When each finite flow started and finished.
    pub fn flow_states(&self) -> &[FlowState] {
        &self.results[..self.finite as usize]
    }

    /// Payload bytes of a flow that arrived: in order, or for datagrams in any order.
    pub fn delivered(&self, flow: u32) -> u64 {
        let size = self.flows[flow as usize].size.0;
        self.receive.checked(flow as usize).delivered(size, u64::from(self.nic.mtu))
    }

    /// Packets a flow sent again.
    pub fn retransmissions(&self, flow: u32) -> u32 {
        self.send.checked(flow as usize).retransmissions
    }

    /// Flows that are done.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// When payload last reached a host in order.
    pub fn last_delivery(&self) -> Time {
        self.last_delivery
    }

    /// The takes-records end.
    pub fn recorder_mut(&mut self) -> &mut R {
        &mut self.recorder
    }

    /// The egress port's state.
    pub fn port(&self, port: PortIndex) -> &Port {
        self.ports.checked(port as usize)
    }

    /// PFC state and counters of a port.
    pub fn pause_state(&self, port: PortIndex) -> &PauseState {
        self.pauses.checked(port as usize)
    }

    /// Egress queue of a (port, class).
    pub fn egress_queue(&self, port: PortIndex, class: u8) -> &EgressQueue {
        self.queues.checked(port as usize * CLASSES + usize::from(class))
    }

    /// The packets that wait in an egress queue, in order.
    pub fn queued(&self, port: PortIndex, class: u8) -> impl Iterator<Item = &Packet> {
        self.packets.iter(&self.egress_queue(port, class).list).map(|held| &held.packet)
    }

    /// Packets sent by a port, PFC frames excepted.
    pub fn tx_packets(&self, port: PortIndex) -> u64 {
        (self.pause_state(port).tx_packet_wraps << 32) + u64::from(self.port(port).tx_packets)
    }

    /// Most headroom bytes an ingress (port, class) ever held.
    pub fn headroom_peak(&self, port: PortIndex, class: u8) -> u32 {
        *self.headroom_peaks.checked(port as usize * CLASSES + usize::from(class))
    }

    /// Ingress memory of a (port, class).
    pub fn ingress(&self, port: PortIndex, class: u8) -> &Ingress {
        self.ingress.checked(port as usize * CLASSES + usize::from(class))
    }

    /// Most bytes the shared buffer of switch `index` ever held.
    pub fn buffer_peak(&self, index: u32) -> u64 {
        self.switches.checked(index as usize).buffer.peak()
    }

    /// Bytes the shared buffer of switch `index` holds.
    pub fn buffer_occupied(&self, index: u32) -> u64 {
        self.switches.checked(index as usize).buffer.occupied()
    }

    /// Idle-path properties of each flow and stream: line rate, base round-trip time, MTU.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Rate cuts of all queue pairs.
    pub fn rate_cuts(&self) -> u64 {
        self.congestion.cuts()
    }

    /// Rate a queue pair is allowed, in bit/s on the wire.
    pub fn allowed_rate(&self, flow: u32) -> u64 {
        self.send.checked(flow as usize).rate
    }

    /// Time class `class` of `port` was paused in all, a standing pause up to now included, in picoseconds.
    pub fn paused_for(&self, port: PortIndex, class: u8) -> u64 {
        let pause = self.pauses.checked(port as usize);
        let standing = if self.ports.checked(port as usize).paused & (1 << class) != 0 {
            self.now.0 - pause.since[usize::from(class)]
        } else {
            0
        };
        pause.total[usize::from(class)] + standing
    }

    /// Bytes a packet is charged for at a switch.
    pub fn charge_of(&self, packet: &Packet) -> u64 {
        u64::from(self.rules.charge(packet.size))
    }

    /// The part of a lossless ingress's `bytes` that is not reserved.
    pub fn shared_part(&self, bytes: u64) -> u64 {
        self.switches.first().map_or(bytes, |s| bytes.saturating_sub(s.buffer.reserved()))
    }

    /// Whether a lossless ingress of switch `node` that holds `bytes` could resume its sender if nothing but
    /// `shared` bytes of the switch's shared memory were in use.
    pub fn could_resume(&self, node: u32, bytes: u64, shared: u64) -> bool {
        let buffer = &self.switches.checked((node - self.hosts_count) as usize).buffer;
        bytes == 0 || buffer.could_resume(bytes, shared)
    }
}
