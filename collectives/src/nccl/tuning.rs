//! NCCL's cost model: microseconds of an algorithm with a protocol at a size. Source: NCCL 2.30 `graph/tuning.cc`.
//!
//! time = latency + bytes / bandwidth.

use crate::node::{Cpu, GpuGeneration, PathClass};
use crate::plan::TreePattern;
use crate::schedule::{Algorithm, Operation, Protocol};

use super::communicator::Communicator;
use super::graphs::Graph;
use super::tables;

/// Latency and bandwidth that the model gives, before what depends on the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Microseconds of a call without data.
    pub latency_us: f64,
    /// Bytes of the call over this, in GB/s (1e9 B/s), are added.
    pub bandwidth: f64,
}

/// What the model takes one hop to cost, for an executor to build latencies from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopLatency {
    /// Microseconds of any call.
    pub base_us: f64,
    /// Microseconds of a hop over NVLink.
    pub nvlink_us: f64,
    /// Microseconds of a hop over PCIe.
    pub pcie_us: f64,
    /// Microseconds of a hop over the network.
    pub network_us: f64,
    /// Microseconds of posting a message, the least that a step of a ring over several nodes takes.
    pub network_overhead_us: f64,
}

/// The cost of hops. With one rank a node nothing hides the network, and every algorithm has a tree's hop.
pub(super) fn hops(of: &Communicator, algorithm: Algorithm, protocol: Protocol) -> HopLatency {
    let p = tables::column(protocol);
    let post = of.config.net_overhead_us.unwrap_or(of.node.host.post_us);
    let network = if of.per_node == 1 { Algorithm::Tree } else { algorithm };
    HopLatency {
        base_us: tables::base(algorithm)[p],
        nvlink_us: tables::nvlink(algorithm)[p],
        pcie_us: tables::pcie(algorithm)[p],
        network_us: tables::network(network)[p],
        network_overhead_us: if protocol == Protocol::Simple { 3.0 * post } else { post },
    }
}

/// Steps of a ring.
fn steps(of: &Communicator, operation: Operation) -> f64 {
    let n = f64::from(of.ranks());
    match operation {
        Operation::AllReduce => 2.0 * (n - 1.0),
        Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => n - 1.0,
        Operation::Broadcast | Operation::Reduce => n,
        Operation::SendRecv => 1.0,
    }
}

/// The cost of an algorithm and a protocol, were it available.
pub(super) fn cost(
    of: &Communicator,
    operation: Operation,
    algorithm: Algorithm,
    protocol: Protocol,
) -> Cost {
    Cost {
        latency_us: latency(of, operation, algorithm, protocol),
        bandwidth: bandwidth(of, operation, algorithm, protocol),
    }
}

fn latency(of: &Communicator, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> f64 {
    let hop = hops(of, algorithm, protocol);
    let graph = of.graph(algorithm);
    let local = if graph.is_some_and(|graph| graph.nvlink) { hop.nvlink_us } else { hop.pcie_us };
    let network = hop.network_us;
    let (nodes, per_node, n) = (of.nodes, f64::from(of.per_node), f64::from(of.ranks()));
    let depth = f64::from(nodes.ilog2());
    let several = nodes > 1;
    let one = if several { network } else { local };
    hop.base_us
        + match algorithm {
            Algorithm::Ring if matches!(operation, Operation::Broadcast | Operation::Reduce) => {
                let tree = hops(of, Algorithm::Tree, protocol);
                let same = graph.is_some_and(|graph| graph.same_channels);
                let each = match (protocol, several) {
                    (Protocol::Simple, true) if !same => tree.network_us,
                    (Protocol::Simple, false) if !same => tree.nvlink_us,
                    _ => one,
                };
                if same { each } else { n * each }
            }
            Algorithm::Ring => {
                let steps = steps(of, operation);
                let twice = if operation == Operation::AllReduce { 2.0 } else { 1.0 };
                let over = if several { twice * f64::from(nodes - 1) } else { 0.0 };
                let least = if several { hop.network_overhead_us } else { 0.0 };
                (steps - over) * local.max(least) + over * network
            }
            Algorithm::Tree | Algorithm::DoubleTree => 2.0 * ((per_node - 1.0) * local + depth * network),
            Algorithm::Nvls => local + if several { network } else { 0.0 },
            Algorithm::NvlsTree => local + 2.0 * depth * network,
            Algorithm::CollnetDirect => {
                2.0 * ((per_node - 1.0).min(1.0) * local + 0.4 * (per_node - 1.0)) + network
            }
            Algorithm::CollnetChain => 2.0 * (per_node - 1.0) * local + network,
            Algorithm::Pat => depth * network / 3.5 + 2.8 * n,
            // Not of NCCL: hops that follow each other.
            Algorithm::HalvingDoubling => {
                let rounds = if operation == Operation::AllReduce { 2.0 } else { 1.0 };
                let within = f64::from(of.per_node.next_power_of_two().ilog2());
                let between = f64::from(nodes.next_power_of_two().ilog2());
                rounds * (within * local + between * network)
            }
            // Not of NCCL: one hop, and a post for each peer.
            Algorithm::Pairwise => {
                let peers = if operation == Operation::AllToAll { n - per_node } else { 0.0 };
                one + peers / f64::from(of.counts.p2p) * hop.network_overhead_us
            }
        }
}

fn bandwidth(of: &Communicator, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> f64 {
    let n = f64::from(of.ranks());
    match algorithm {
        Algorithm::Pairwise => return pairwise(of, operation),
        Algorithm::HalvingDoubling => return halving_doubling(of, operation),
        _ => {}
    }
    let Some(graph) = of.graph(algorithm) else { return 0.0 };
    let (generation, nodes) = (of.node.generation, of.nodes);
    let channels = f64::from(graph.count());
    let collnet = matches!(algorithm, Algorithm::CollnetDirect | Algorithm::CollnetChain);
    let each = match algorithm {
        Algorithm::Nvls | Algorithm::NvlsTree => nvls(of, graph, operation, algorithm),
        _ if nodes <= 2 || collnet => graph.bw_intra,
        _ => graph.bw_inter,
    };
    let mut bus = channels * each;
    match (algorithm, protocol) {
        (Algorithm::Ring, Protocol::Ll) => bus = (bus / 2.0).min(of.ll_most()),
        (Algorithm::Ring, Protocol::Ll128) => {
            bus = (0.92 * bus).min(channels * tables::ring_ll128_most(generation));
        }
        (Algorithm::Tree | Algorithm::DoubleTree, _) => {
            bus = (0.92 * bus).min(channels * tables::tree_most(generation, nodes));
            let share = if nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
            match protocol {
                Protocol::Ll => bus = (bus / 3.8).min(of.ll_most()),
                Protocol::Ll128 => {
                    bus = (bus * share).min(channels * tables::tree_ll128_most(generation, nodes));
                }
                Protocol::Simple => {}
            }
            if graph.pattern == TreePattern::Single {
                bus *= 0.85;
            }
        }
        (Algorithm::Pat, _) => bus *= 0.75,
        (Algorithm::CollnetDirect, _) if operation == Operation::AllReduce => {
            let spread = f64::from(of.per_node) / channels;
            bus /= spread - (spread - 1.0) / 2.0;
            if generation >= GpuGeneration::Hopper {
                bus *= 0.85;
            }
        }
        (Algorithm::CollnetDirect, _) => {
            bus = f64::from(of.per_node) * graph.bw_intra.min(0.9 * graph.bw_inter);
        }
        _ => {}
    }
    match (algorithm, operation) {
        (Algorithm::Ring, _) | (Algorithm::Nvls | Algorithm::NvlsTree, Operation::AllReduce) => {
            bus * n / steps(of, operation)
        }
        (_, Operation::AllGather | Operation::ReduceScatter) => bus,
        _ => bus / 2.0,
    }
}

/// GB/s of a head.
fn nvls(of: &Communicator, graph: &Graph, operation: Operation, algorithm: Algorithm) -> f64 {
    let (generation, heads) = (of.node.generation, f64::from(graph.count()));
    let feed = graph.bw_intra * tables::nvls_efficiency(generation) * (heads - 1.0) / heads;
    let per_node = f64::from(of.per_node);
    let intra =
        if operation == Operation::AllReduce { 2.0 * feed } else { feed * (per_node - 1.0) / per_node };
    if of.nodes == 1 {
        return intra;
    }
    let tree = algorithm == Algorithm::NvlsTree;
    let inter = if tree && of.nodes == 2 { 2.0 * graph.bw_inter } else { graph.bw_inter };
    let most = if tree { tables::nvls_tree_most(generation, of.nodes) } else { f64::INFINITY };
    intra.min(inter).min(most)
}

/// Not of NCCL, which has no model of sends: what all NICs (in one node, NVLink) of a node carry of its traffic.
fn pairwise(of: &Communicator, operation: Operation) -> f64 {
    let nics = f64::from(of.nics) * of.node.nic_bandwidth().min(of.node.pcie_bandwidth());
    let (per_node, n) = (f64::from(of.per_node), f64::from(of.ranks()));
    let local = if of.node.nvlink_gbytes_per_s > 0.0 {
        of.node.nvlink_gbytes_per_s
    } else {
        of.node.pcie_bandwidth()
    };
    match (operation, of.nodes) {
        (Operation::AllToAll, 1) => local * n / (n - 1.0),
        (Operation::AllToAll, _) => nics * n / (per_node * (n - per_node)),
        (_, 1) => local,
        // The message to the next node uses one NIC.
        _ => of.node.nic_bandwidth().min(of.node.pcie_bandwidth()),
    }
}

/// Not of NCCL: 2 (N − 1) / N of the data pass a node's NICs for each of its ranks.
fn halving_doubling(of: &Communicator, operation: Operation) -> f64 {
    let twice = if operation == Operation::AllReduce { 2.0 } else { 1.0 };
    let alone = pairwise(of, Operation::AllToAll);
    alone / twice
}

/// Microseconds of a call of `bytes`, with the corrections that depend on the size.
pub(super) fn time_us(
    of: &Communicator,
    operation: Operation,
    algorithm: Algorithm,
    protocol: Protocol,
    bytes: u64,
) -> f64 {
    let Cost { mut latency_us, mut bandwidth } = cost(of, operation, algorithm, protocol);
    let reduces = operation == Operation::AllReduce;
    let tree = matches!(algorithm, Algorithm::Tree | Algorithm::DoubleTree);
    let blackwell = of.node.generation >= GpuGeneration::Blackwell && of.node.cpu != Cpu::Arm;
    if tree && reduces {
        bandwidth *= tables::tree_correction(protocol, bytes, 23);
    } else if algorithm == Algorithm::NvlsTree && reduces && blackwell {
        bandwidth *= tables::tree_correction(protocol, bytes, 24);
    }
    let share = bytes / (u64::from(of.counts.collective) * u64::from(of.ranks()));
    let plateau = algorithm == Algorithm::Ring && protocol == Protocol::Simple && reduces && of.nodes > 1;
    if plateau && share >= 64 {
        latency_us *= if of.node.generation < GpuGeneration::Ampere { 1.9 } else { 1.4 };
    }
    let joined = if algorithm == Algorithm::Ring { of.config.aggregated_operations } else { 1 };
    latency_us * f64::from(joined.max(1)) + bytes as f64 / (1000.0 * bandwidth)
}

/// Whether NCCL enables LL128 by itself: GPUs near the NICs, NVLink between GPUs.
pub(super) fn ll128_enabled(of: &Communicator, graph: &Graph) -> bool {
    let hopper = of.node.generation >= GpuGeneration::Hopper;
    let farthest = if hopper { PathClass::Pxn } else { PathClass::Pxb };
    let near = of.nodes == 1 || graph.nic_path <= farthest;
    near && (graph.nvlink || of.per_node == 1)
}
