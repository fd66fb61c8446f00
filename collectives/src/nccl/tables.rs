//! The constants of NCCL's cost model. Source: NCCL 2.30 `graph/tuning.cc`.

use crate::node::GpuGeneration;
use crate::schedule::{Algorithm, Protocol};

/// Latencies in microseconds by protocol: LL, LL128, Simple.
type ByProtocol = [f64; 3];

/// The index of a protocol in the tables.
pub(super) const fn column(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Ll => 0,
        Protocol::Ll128 => 1,
        Protocol::Simple => 2,
    }
}

const fn row(generation: GpuGeneration) -> usize {
    match generation {
        GpuGeneration::Volta => 0,
        GpuGeneration::Ampere => 1,
        GpuGeneration::Hopper => 2,
        GpuGeneration::Blackwell => 3,
    }
}

/// The index of a number of nodes: 1, 2, more.
const fn size(nodes: u32) -> usize {
    match nodes {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// `baseLat`: microseconds of any call.
pub(super) const fn base(algorithm: Algorithm) -> ByProtocol {
    match algorithm {
        Algorithm::Tree | Algorithm::DoubleTree => [6.8, 14.0, 8.4],
        // Pairwise and halving–doubling are not of NCCL's model; a ring's figures are taken.
        Algorithm::Ring | Algorithm::Pairwise | Algorithm::HalvingDoubling => [6.6, 14.0, 8.4],
        Algorithm::Pat => [8.0, 8.0, 8.0],
        Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::CollnetDirect | Algorithm::CollnetChain => {
            [0.0; 3]
        }
    }
}

/// `hwLat` of NVLink: microseconds a hop.
pub(super) const fn nvlink(algorithm: Algorithm) -> ByProtocol {
    match algorithm {
        Algorithm::Tree | Algorithm::DoubleTree => [0.6, 1.25, 4.0],
        Algorithm::Ring | Algorithm::Pairwise | Algorithm::HalvingDoubling => [0.6, 1.9, 3.4],
        Algorithm::CollnetDirect => [0.0, 0.0, 3.7],
        Algorithm::CollnetChain => [0.0, 0.0, 2.8],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0, 0.0, 25.0],
        Algorithm::Pat => [0.0, 0.0, 4.0],
    }
}

/// `hwLat` of PCIe: microseconds a hop.
pub(super) const fn pcie(algorithm: Algorithm) -> ByProtocol {
    match algorithm {
        Algorithm::Tree | Algorithm::DoubleTree => [1.0, 1.9, 4.0],
        Algorithm::Ring | Algorithm::Pairwise | Algorithm::HalvingDoubling => [1.0, 2.5, 5.7],
        Algorithm::CollnetDirect => [0.0, 0.0, 3.7],
        Algorithm::CollnetChain => [0.0, 0.0, 2.8],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0; 3],
        Algorithm::Pat => [0.0, 0.0, 4.0],
    }
}

/// `hwLat` of the network: microseconds a hop.
pub(super) const fn network(algorithm: Algorithm) -> ByProtocol {
    match algorithm {
        Algorithm::Tree | Algorithm::DoubleTree => [5.0, 8.5, 14.0],
        Algorithm::Ring | Algorithm::Pairwise | Algorithm::HalvingDoubling => [2.7, 4.0, 14.0],
        Algorithm::CollnetDirect => [0.0, 0.0, 31.0],
        Algorithm::CollnetChain => [0.0, 0.0, 30.0],
        Algorithm::Nvls => [0.0, 0.0, 18.0],
        Algorithm::NvlsTree => [0.0, 0.0, 20.9],
        Algorithm::Pat => [0.0, 0.0, 14.0],
    }
}

/// `llMaxBws`: bus GB/s of LL at most; over several nodes it depends on the CPU alone.
pub(super) const fn ll_most(generation: GpuGeneration, nodes: u32, amd: bool) -> f64 {
    match (size(nodes), amd) {
        (0, _) => [39.0, 87.7, 141.0, 282.0][row(generation)],
        (1, false) => 39.0,
        (1, true) => 22.5,
        (_, false) => 20.4,
        (_, true) => 19.0,
    }
}

/// `perChMaxRingLL128Bws`: GB/s of a ring's search channel with LL128 at most.
pub(super) const fn ring_ll128_most(generation: GpuGeneration) -> f64 {
    [20.0, 20.0, 36.7, 40.0][row(generation)]
}

/// `perChMaxTreeLL128Bws`: GB/s of a tree's search channel with LL128 at most.
pub(super) const fn tree_ll128_most(generation: GpuGeneration, nodes: u32) -> f64 {
    [[20.0; 3], [20.0; 3], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]][row(generation)][size(nodes)]
}

/// `perChMaxTreeBws`: GB/s of a tree's search channel at most.
pub(super) const fn tree_most(generation: GpuGeneration, nodes: u32) -> f64 {
    [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]][row(generation)]
        [size(nodes)]
}

/// `perChMaxNVLSTreeBws`: GB/s of a head of NVLSTree at most.
pub(super) const fn nvls_tree_most(generation: GpuGeneration, nodes: u32) -> f64 {
    [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [0.0, 57.7, 45.5], [0.0, 96.0, 80.0]][row(generation)]
        [size(nodes)]
}

/// `nvlsEfficiency`: the share of NVLink that NVLS turns into bandwidth.
pub(super) const fn nvls_efficiency(generation: GpuGeneration) -> f64 {
    [0.0, 0.0, 0.85, 0.74][row(generation)]
}

/// `treeCorrectionFactor`, by protocol and ⌊log2(bytes / 64)⌋.
const TREE_CORRECTION: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9, 0.9,
    ],
];

/// What a tree's bandwidth is multiplied by at a size, for the first `entries` entries of the table.
pub(super) fn tree_correction(protocol: Protocol, bytes: u64, entries: usize) -> f64 {
    let Some(index) = (bytes / 64).checked_ilog2() else { return 1.0 };
    TREE_CORRECTION[column(protocol)][..entries].get(index as usize).copied().unwrap_or(1.0)
}
