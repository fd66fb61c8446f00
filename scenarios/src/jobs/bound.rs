//! What the hardware allows a call: the most loaded port bounds its time from below, so that its busbw is bounded from above.

use std::collections::BTreeMap;

use collectives::CollectiveSchedule;
use collectives::node::NodeSpec;
use collectives::schedule::{Layout, Path};

/// A port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortOf {
    /// NIC of a node, sending or receiving.
    Nic {
        /// The node.
        node: u32,
        /// The NIC in it.
        nic: u32,
        /// Whether it sends.
        sends: bool,
    },
    /// A GPU's NVLink (or PCIe) port, sending or receiving.
    Gpu {
        /// The GPU.
        gpu: u32,
        /// Whether it sends.
        sends: bool,
    },
}

impl std::fmt::Display for PortOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = |sends: bool| if sends { "sending" } else { "receiving" };
        match *self {
            Self::Nic { node, nic, sends } => write!(f, "NIC {nic} of node {node}, {}", way(sends)),
            Self::Gpu { gpu, sends } => write!(f, "NVLink of GPU {gpu}, {}", way(sends)),
        }
    }
}

/// The bytes a call puts on each port of the nodes, on the wire, and the port that bounds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Bytes by port.
    pub loads: BTreeMap<PortOf, u64>,
    /// The port that takes longest, and its time in microseconds at its full rate, headers not counted.
    pub slowest: Option<(PortOf, f64)>,
    /// Bytes of each of the schedule's connections, on the wire.
    pub connections: Vec<u64>,
}

impl Bound {
    /// The loads of `schedule` between these GPUs of nodes like `node`.
    pub fn new(node: &NodeSpec, members: &[u32], schedule: &CollectiveSchedule) -> Self {
        let connections = connection_bytes(schedule);
        let mut loads: BTreeMap<PortOf, u64> = BTreeMap::new();
        let mut add = |port: PortOf, bytes: u64| *loads.entry(port).or_default() += bytes;
        let place = |rank: u32| members.get(rank as usize).copied().unwrap_or(0);
        for (connection, &bytes) in schedule.connections.iter().zip(&connections) {
            let (from, to) = (place(connection.from), place(connection.to));
            let nic = |gpu: u32, nic: u32, sends: bool| PortOf::Nic { node: gpu / node.gpus, nic, sends };
            let gpu = |gpu: u32, sends: bool| PortOf::Gpu { gpu, sends };
            match connection.path {
                Path::Local => {
                    add(gpu(from, true), bytes);
                    add(gpu(to, false), bytes);
                }
                Path::Network { from_nic, to_nic, relay } => {
                    add(nic(from, from_nic, true), bytes);
                    add(nic(to, to_nic, false), bytes);
                    if let Some(relay) = relay {
                        add(gpu(from, true), bytes);
                        add(gpu(place(relay), false), bytes);
                    }
                }
                // The switch merges what goes in and copies what comes out.
                Path::NvlsReduce => add(gpu(from, true), bytes),
                Path::NvlsMulticast => add(gpu(to, false), bytes),
                Path::InNetwork { nic: port, .. } => {
                    add(nic(from, port, true), bytes);
                    add(nic(to, port, false), bytes);
                }
            }
        }
        let nvlink =
            if node.nvlink_gbytes_per_s > 0.0 { node.nvlink_gbytes_per_s } else { node.pcie_bandwidth() };
        let time = |(port, bytes): (&PortOf, &u64)| {
            let rate = match port {
                PortOf::Nic { .. } => node.nic_bandwidth(),
                PortOf::Gpu { .. } => nvlink,
            };
            (*port, *bytes as f64 / rate / 1e3)
        };
        let slowest = loads.iter().map(time).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        Self { loads, slowest, connections }
    }
}

/// Bytes of each connection, on the wire: those of a whole loop, times the loops' worth of data there is.
fn connection_bytes(schedule: &CollectiveSchedule) -> Vec<u64> {
    let mut bytes = vec![0u64; schedule.connections.len()];
    for thread in &schedule.threads {
        let Some(channel) = schedule.channels.get(thread.channel as usize) else { continue };
        for step in &thread.steps {
            let blocks = u64::from(step.repeat) * u64::from(step.span);
            let moved = match channel.layout {
                Layout::Contiguous => {
                    (u128::from(channel.bytes) * u128::from(blocks) / u128::from(channel.blocks.max(1)))
                        as u64
                }
                Layout::PerRank => channel.bytes * blocks,
            };
            for &connection in &step.send {
                if let Some(sum) = bytes.get_mut(connection as usize) {
                    *sum += schedule.protocol.wire_bytes(moved);
                }
            }
        }
    }
    bytes
}
