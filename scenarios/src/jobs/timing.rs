//! What moving data costs on a node: from a node's description and NCCL's tuning tables to rates and latencies.
//!
//! NCCL's tables (tuning.cc of 2.30) are the one published source of these numbers. Latencies are taken as they stand; the
//! wire's part of a network hop is simulated and therefore subtracted by the fabric. Rates of threads come from the
//! tables' limits of a channel: what NCCL's own engineers measured a channel to move.

use collectives::nccl::Communicator;
use collectives::node::{GpuGeneration, NetworkKind, NodeSpec, PathClass};
use collectives::schedule::{Algorithm, CollectiveSchedule, Protocol, Role};
use models::config::{FlowOptions, NicConfig};
use models::workload::{Machine, Timing, Transport};
use sim_core::{Duration, Rate};

use super::spec::{ClusterConfig, Costs, JobConfig};

/// GB/s of the host's copies between GPU and NIC memory without GPUDirect: PCIe Gen3 x16.
const HOST_COPY: u64 = 12_000_000_000;

/// The machine of a cluster.
pub fn machine(cluster: &ClusterConfig, node: &NodeSpec) -> Machine {
    let local = if node.nvlink_gbytes_per_s > 0.0 { node.nvlink_gbytes_per_s } else { node.pcie_bandwidth() };
    let preset = if cluster.costs == Costs::None { 0.0 } else { node.host.post_us / 2.0 };
    let step = cluster.host_step.unwrap_or(us(preset));
    Machine {
        gpus: cluster.nodes * node.gpus,
        gpus_per_node: node.gpus,
        nics_per_node: node.nics,
        planes: cluster.planes,
        local_rate: gigabytes(local),
        nvls_rate: gigabytes(nvls_port(node).unwrap_or(local)),
        proxy_send: step,
        proxy_receive: step,
    }
}

/// How the messages of a job travel.
pub fn transport(cluster: &ClusterConfig, job: &JobConfig, node: &NodeSpec) -> Transport {
    let options = FlowOptions { class: job.class, dscp: job.dscp, ..FlowOptions::default() };
    let announced = job.nccl.adaptive_routing.unwrap_or(node.network == NetworkKind::Infiniband);
    let copy = cluster.host_copy_rate.map_or(HOST_COPY, |rate| rate.0 / 8);
    Transport {
        qps: job.nccl.qps_per_connection as u8,
        split: job.nccl.split_data_on_qps,
        announce_above: announced.then_some(job.nccl.adaptive_routing_threshold),
        host_copy_rate: (!node.gpudirect || !job.nccl.gdr).then_some(copy),
        class: job.class,
        dscp: options.dscp(),
        rate: job.rate,
    }
}

/// Latencies of a call.
pub fn timing(of: &Communicator, algorithm: Algorithm, protocol: Protocol, costs: Costs) -> Timing {
    if costs == Costs::None {
        return Timing::default();
    }
    let (node, hop) = (&of.node, of.latencies(algorithm, protocol));
    let mut local = if node.nvlink_gbytes_per_s > 0.0 { hop.nvlink_us } else { hop.pcie_us };
    if matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree) {
        // One figure for both ways through the NVSwitch.
        local /= 2.0;
    }
    let network = hop.network_us + beyond_infiniband(node.network);
    Timing { base: us(hop.base_us), local: us(local), network: us(network) }
}

/// Microseconds a network hop takes beyond what NCCL's tables say, which were made on InfiniBand. EFA: the plugin's own tuner
/// counts 20 us a hop (aws-ofi-nccl, `NET_LATENCY`) where NCCL's Tree with LL has 5.
fn beyond_infiniband(network: NetworkKind) -> f64 {
    match network {
        NetworkKind::Efa => 15.0,
        NetworkKind::Infiniband | NetworkKind::Roce | NetworkKind::TcpLike => 0.0,
    }
}

/// The rate at which a node's NICs can be fed, in bits on the wire, where the path from the GPUs is the narrower one: through a
/// host bridge.
pub fn inject_rate(node: &NodeSpec, nic: &NicConfig) -> Option<Rate> {
    let path = node.nic_path_bandwidth(node.nic_path);
    if !matches!(node.nic_path, PathClass::Phb | PathClass::Sys) || path >= node.nic_bandwidth() {
        return None;
    }
    let frame = nic.mtu.0 + nic.header.0 + nic.gap.0;
    Some(Rate((path * 8e9 * frame as f64 / nic.mtu.0.max(1) as f64) as u64))
}

/// Bytes a second each thread of a schedule moves; 0 for any.
pub fn thread_rates(node: &NodeSpec, nodes: u32, schedule: &CollectiveSchedule, costs: Costs) -> Vec<u64> {
    if costs == Costs::None {
        return vec![0; schedule.threads.len()];
    }
    let block = match schedule.protocol {
        Protocol::Simple => node.host.copy_simple_gbytes_per_s,
        Protocol::Ll128 => node.host.copy_ll128_gbytes_per_s,
        Protocol::Ll => node.host.copy_ll_gbytes_per_s,
    };
    let nvls = nvls_thread(node, nodes, schedule).unwrap_or(block);
    // Of a tree's warps LL128 gives 70 % to the way up; Simple half. A chunk of LL is one pass of all threads or less, so that
    // it is as fast with some of them.
    let (up, down) = match schedule.protocol {
        Protocol::Simple => (0.5, 0.5),
        Protocol::Ll128 => (0.7, 0.3),
        Protocol::Ll => (1.0, 1.0),
    };
    let rate = |role: Role| match role {
        Role::All | Role::Send | Role::Receive => block,
        Role::Up => block * up,
        Role::Down => block * down,
        Role::Scatter | Role::Gather | Role::Reduce | Role::Broadcast => nvls,
    };
    schedule.threads.iter().map(|thread| gigabytes(rate(thread.role))).collect()
}

/// GB/s of a GPU's port into the NVSwitch while it reduces and copies. NCCL's table: 8 heads with 40 GB/s (Hopper) or 80
/// (Blackwell) each, times an efficiency of .85 or .74; each port carries 9/8 of the data.
fn nvls_port(node: &NodeSpec) -> Option<f64> {
    let (head, efficiency) = match node.generation {
        GpuGeneration::Volta | GpuGeneration::Ampere => return None,
        GpuGeneration::Hopper => (40.0, 0.85),
        GpuGeneration::Blackwell => (80.0, 0.74),
    };
    node.nvswitch.then_some(8.0 * head * efficiency * 1.125)
}

/// GB/s of an NVLS thread: NCCL's limit of a head's channel over several nodes (Hopper 57.7 on two nodes, 45.5 on more;
/// Blackwell 96 and 80), shared by the thread blocks that run.
fn nvls_thread(node: &NodeSpec, nodes: u32, schedule: &CollectiveSchedule) -> Option<f64> {
    let port = nvls_port(node)?;
    let blocks = schedule.channels.iter().filter(|channel| channel.bytes > 0).count().max(1) as f64;
    let limit = match (node.generation, nodes) {
        (_, ..=1) => return Some(port / 1.125 / blocks),
        (GpuGeneration::Hopper, 2) => 57.7,
        (GpuGeneration::Hopper, _) => 45.5,
        (GpuGeneration::Blackwell, 2) => 96.0,
        (GpuGeneration::Blackwell, _) => 80.0,
        (GpuGeneration::Volta | GpuGeneration::Ampere, _) => return None,
    };
    let ranks = f64::from(schedule.ranks);
    Some(8.0 * limit * ranks / (2.0 * (ranks - 1.0)) / blocks)
}

fn us(us: f64) -> Duration {
    Duration((us * 1e6) as u64)
}

fn gigabytes(gigabytes: f64) -> u64 {
    (gigabytes * 1e9) as u64
}
