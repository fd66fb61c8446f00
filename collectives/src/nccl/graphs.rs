//! What NCCL's topology search finds: how many channels of which bandwidth, and how each runs through a node.
//!
//! NCCL searches by placing channels on links with what is left of their bandwidth (NCCL 2.30 `graph/search.cc`). On
//! nodes whose GPUs are all alike the outcome follows from a few capacities, and this module computes it from them:
//! channels a NIC can carry at a speed, channels NVLink can carry, whether a NIC has two near GPUs to enter and leave by.
//! It reproduces NCCL's result on the machines of the presets; irregular machines are approximated.

use crate::node::{GpuGeneration, NodeSpec, PathClass};
use crate::plan::TreePattern;

use super::environment::NcclConfig;
use super::{orders, speeds};

/// Channels that the ring search allows at most. Source: NCCL 2.30, `MAXCHANNELS / 2`.
const MOST_RING_CHANNELS: u32 = 32;
/// Heads of NVLS at most. Source: NCCL 2.30, `NCCL_MAX_NVLS_ARITY`.
const MOST_HEADS: u32 = 32;
/// A lower speed is tried only while it is above this share of the best speed found.
const SPEED_SHARE: f64 = 0.49;

/// How a search channel runs through a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelGraph {
    /// Local GPUs in order: of a ring from where it enters, of a tree from its root's side. One head for NVLS.
    pub gpus: Vec<u32>,
    /// NIC it enters by (trees, NVLS: its only NIC).
    pub enter: u32,
    /// NIC it leaves by.
    pub leave: u32,
    /// Local GPU whose host thread and PCIe carry what leaves, where that is not the last GPU (PXN).
    pub relay: Option<u32>,
}

/// The result of the search for one algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// GB/s of a channel within the node.
    pub bw_intra: f64,
    /// GB/s of a channel between nodes; in one node the same as within.
    pub bw_inter: f64,
    /// Whether GPUs of the node talk over NVLink.
    pub nvlink: bool,
    /// The worst path between the NICs and GPUs it uses.
    pub nic_path: PathClass,
    /// `NCCL_CROSS_NIC` variant the result needed: 0, 1 or 2.
    pub cross_nic: u32,
    /// Whether all channels visit GPUs in the same order.
    pub same_channels: bool,
    /// Which GPUs of a tree talk to other nodes.
    pub pattern: TreePattern,
    /// The search channels.
    pub channels: Vec<ChannelGraph>,
}

impl Graph {
    /// Search channels.
    pub fn count(&self) -> u32 {
        self.channels.len() as u32
    }
}

/// The results for all algorithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Graphs {
    /// Rings.
    pub ring: Graph,
    /// Chains in nodes, trees between them.
    pub tree: Graph,
    /// Heads of NVLS, one a channel; `None` without NVSwitch, before Hopper, or with fewer than two heads.
    pub nvls: Option<Graph>,
    /// Heads of a node, each with its NIC: a GPU for each NIC while there are GPUs near it that are none yet.
    pub heads: Vec<(u32, u32)>,
}

/// A node as one communicator sees it: the GPUs that take part and the NICs near them.
pub(super) struct View<'a> {
    pub spec: &'a NodeSpec,
    pub config: &'a NcclConfig,
    /// Ranks of a node; they are GPUs 0 to this − 1.
    pub gpus: u32,
    /// NICs, and the GPUs of the communicator near each.
    pub nics: Vec<(u32, Vec<u32>)>,
    /// Path between NICs and the GPUs near them.
    pub nic_path: PathClass,
}

impl<'a> View<'a> {
    pub fn new(spec: &'a NodeSpec, config: &'a NcclConfig, gpus: u32) -> Self {
        let near: Vec<(u32, Vec<u32>)> = (0..spec.nics)
            .map(|nic| {
                let near = &spec.affinity[nic as usize];
                (nic, near.iter().copied().filter(|&gpu| gpu < gpus).collect())
            })
            .filter(|(_, near): &(u32, Vec<u32>)| !near.is_empty())
            .collect();
        if near.is_empty() {
            let nics = (0..spec.nics).map(|nic| (nic, (0..gpus).collect())).collect();
            return Self { spec, config, gpus, nics, nic_path: PathClass::Sys };
        }
        Self { spec, config, gpus, nics: near, nic_path: spec.nic_path }
    }

    /// A GPU for each NIC, as long as there are GPUs near it that are none yet.
    fn heads(&self) -> Vec<(u32, u32)> {
        let mut heads: Vec<(u32, u32)> = vec![];
        for (nic, near) in &self.nics {
            if let Some(&gpu) = near.iter().find(|&&gpu| heads.iter().all(|&(head, _)| head != gpu)) {
                heads.push((gpu, *nic));
            }
        }
        heads
    }

    /// GB/s of PCIe on a path; Intel's host bridge costs a fifth more.
    fn pcie(&self, path: PathClass) -> f64 {
        self.spec.nic_path_bandwidth(path)
    }

    /// GB/s between a NIC and its GPUs.
    fn nic_bandwidth(&self, path: PathClass) -> f64 {
        self.pcie(path).min(self.spec.nic_bandwidth())
    }

    /// Channels of `speed` that the NICs carry.
    fn nic_channels(&self, speed: f64, path: PathClass) -> u32 {
        let each = whole(self.nic_bandwidth(path) / speed);
        let mut near: Vec<u32> = self.nics.iter().flat_map(|(_, near)| near.iter().copied()).collect();
        near.sort_unstable();
        near.dedup();
        let by_gpu = near.len() as u32 * whole(self.pcie(path) / speed);
        (each * self.nics.len() as u32).min(by_gpu)
    }

    /// Channels of `speed` between the node's GPUs; `part` of the GPUs send in each.
    fn local_channels(&self, speed: f64, part: f64) -> u32 {
        let spec = self.spec;
        if self.gpus == 1 {
            return u32::MAX;
        }
        if spec.nvlink_gbytes_per_s == 0.0 {
            return whole(self.pcie(PathClass::Phb) / speed).min(1);
        }
        if !spec.nvswitch && speed > spec.generation.nvlink_link() {
            return 0;
        }
        whole(spec.nvlink_gbytes_per_s / (speed * part))
    }

    /// GB/s of a GPU to the others.
    fn local_bandwidth(&self) -> f64 {
        match self.spec.nvlink_gbytes_per_s {
            0.0 => self.spec.pcie_bandwidth(),
            nvlink => nvlink,
        }
    }

    /// GPUs that send in a channel that leaves the node by its last GPU.
    fn open_part(&self) -> f64 {
        f64::from(self.gpus - 1) / f64::from(self.gpus)
    }

    pub fn has_pxn(&self) -> bool {
        self.config.pxn && self.config.gdr && self.spec.gpudirect && self.spec.nvlink_gbytes_per_s > 0.0
    }

    fn has_nvlink(&self) -> bool {
        self.spec.nvlink_gbytes_per_s > 0.0
    }
}

/// The whole part of a count, forgiving rounding.
fn whole(count: f64) -> u32 {
    (count + 1e-9) as u32
}

/// A way to place ring channels: how they leave, by what path, at what speed.
#[derive(Clone, Copy)]
struct Placed {
    channels: u32,
    speed: f64,
    path: PathClass,
    cross_nic: u32,
}

/// NCCL's graphs for `nodes` nodes with `gpus` ranks each.
pub(super) fn search(view: &View, nodes: u32) -> Graphs {
    let (mut ring, mut tree) =
        if nodes > 1 { (ring_between(view), tree_between(view)) } else { within(view) };
    let both = ring.count().min(tree.count()) as usize;
    ring.channels.truncate(both);
    tree.channels.truncate(both);
    Graphs { ring, tree, nvls: nvls(view, nodes), heads: view.heads() }
}

/// Channels doubled at half the speed where NCCL does (`ncclTopoDupChannels`).
fn doubled(generation: GpuGeneration, channels: u32, speed: f64, most: u32) -> (u32, f64) {
    let many = generation.compute_capability() > 80 && speed < 50.0 && channels > 4;
    if speed < 25.0 || many || 2 * channels > most { (channels, speed) } else { (2 * channels, speed / 2.0) }
}

fn ring_between(view: &View) -> Graph {
    let whole_node = view.local_bandwidth();
    let single = view.gpus == 1;
    let two_near = single || view.nics.iter().all(|(_, near)| near.len() > 1);
    let pairs = view.nics.len() > 1 && !two_near;
    let mut best: Option<Placed> = None;
    for &speed in speeds::inter(view.spec.generation) {
        if best
            .is_some_and(|b| speed / b.speed <= SPEED_SHARE || f64::from(b.channels) * b.speed >= whole_node)
        {
            break;
        }
        let mut offer = |local: u32, path: PathClass, cross_nic: u32| {
            let mut channels = view.nic_channels(speed, path).min(local).min(MOST_RING_CHANNELS);
            // Beyond the bandwidth of a GPU the search stops adding channels.
            while channels > 1 && f64::from(channels - 1) * speed >= whole_node && !single {
                channels -= 1;
            }
            if cross_nic == 2 {
                channels -= channels % 2;
            }
            let gain = f64::from(channels) * speed;
            if channels > 0 && best.is_none_or(|b| gain > f64::from(b.channels) * b.speed + 1e-9) {
                best = Some(Placed { channels, speed, path, cross_nic });
            }
        };
        let open = view.local_channels(speed, view.open_part());
        if two_near {
            offer(open, view.nic_path, 0);
        }
        if pairs && view.config.cross_nic == 1 {
            offer(open, view.nic_path, 1);
        }
        if !two_near && view.has_pxn() {
            offer(view.local_channels(speed, 1.0), PathClass::Pxn.max(view.nic_path), 0);
        }
        if !two_near {
            offer(open, PathClass::Phb, 0);
        }
        if pairs && view.config.cross_nic == 2 {
            offer(open, view.nic_path, 2);
        }
    }
    let placed = best.unwrap_or(Placed { channels: 1, speed: 0.12, path: PathClass::Sys, cross_nic: 0 });
    let found = placed.channels;
    let (channels, speed) = doubled(view.spec.generation, found, placed.speed, MOST_RING_CHANNELS);
    let relayed = placed.path == PathClass::Pxn && !two_near;
    let orders = orders::rings_between(view, found, placed.cross_nic, relayed);
    Graph {
        bw_intra: speed,
        bw_inter: speed,
        nvlink: view.has_nvlink() && !single,
        nic_path: placed.path,
        cross_nic: placed.cross_nic,
        same_channels: orders.windows(2).all(|pair| pair[0].gpus == pair[1].gpus),
        pattern: TreePattern::Balanced,
        channels: orders.iter().cycle().take(channels as usize).cloned().collect(),
    }
}

fn tree_between(view: &View) -> Graph {
    let generation = view.spec.generation;
    let two_near = view.nics.iter().all(|(_, near)| near.len() > 1);
    // A balanced tree needs a second GPU near the NIC; from Hopper on NCCL rather uses one GPU for all.
    let (pattern, path) = match (view.gpus, two_near) {
        (1, _) => (TreePattern::Single, view.nic_path),
        (_, true) => (TreePattern::Balanced, view.nic_path),
        _ if generation >= GpuGeneration::Hopper => (TreePattern::Single, view.nic_path),
        _ if view.has_pxn() => (TreePattern::Balanced, PathClass::Pxn.max(view.nic_path)),
        _ => (TreePattern::Balanced, PathClass::Phb.max(view.nic_path)),
    };
    let list = speeds::inter(generation);
    let local = |speed: f64| view.local_channels(speed, view.open_part());
    let mut best = (0, 0.12);
    for &speed in list {
        let gain = f64::from(best.0) * best.1;
        if best.0 > 0 && (speed / best.1 <= SPEED_SHARE || gain >= view.local_bandwidth()) {
            break;
        }
        let mut channels = view.nic_channels(speed, path).min(local(speed)).min(MOST_RING_CHANNELS);
        while channels > 1 && f64::from(channels - 1) * speed >= view.local_bandwidth() && view.gpus > 1 {
            channels -= 1;
        }
        if channels > 0 && f64::from(channels) * speed > gain + 1e-9 {
            best = (channels, speed);
        }
    }
    let found = best.0.max(1);
    let (channels, inter) = doubled(generation, found, best.1, MOST_RING_CHANNELS);
    // The second pass raises what a channel has in the node, up to twice what it has between nodes.
    let fits = |speed: f64| speed <= 2.0 * inter && local(speed) >= channels;
    let intra = if view.gpus == 1 {
        inter
    } else {
        list.iter().copied().find(|&speed| speed > inter && fits(speed)).unwrap_or(inter)
    };
    let orders = orders::trees_between(view, found);
    Graph {
        bw_intra: intra,
        bw_inter: inter,
        nvlink: view.has_nvlink() && view.gpus > 1,
        nic_path: path,
        cross_nic: 0,
        same_channels: false,
        pattern,
        channels: orders.iter().cycle().take(channels as usize).cloned().collect(),
    }
}

/// Rings and trees in one node: as many channels as the GPUs' links carry.
fn within(view: &View) -> (Graph, Graph) {
    let generation = view.spec.generation;
    let mut best = (0, 3.0);
    for &speed in speeds::intra(generation) {
        let gain = f64::from(best.0) * best.1;
        if best.0 > 0 && (speed / best.1 <= SPEED_SHARE || gain >= view.local_bandwidth()) {
            break;
        }
        let channels = view.local_channels(speed, 1.0).min(MOST_RING_CHANNELS);
        if channels > 0 && f64::from(channels) * speed > gain + 1e-9 {
            best = (channels, speed);
        }
    }
    let (channels, speed) = doubled(generation, best.0.max(1), best.1, MOST_RING_CHANNELS);
    let graph = |orders: Vec<ChannelGraph>| Graph {
        bw_intra: speed,
        bw_inter: speed,
        nvlink: view.has_nvlink(),
        nic_path: PathClass::Pix,
        cross_nic: 0,
        same_channels: orders.windows(2).all(|pair| pair[0].gpus == pair[1].gpus),
        pattern: TreePattern::Balanced,
        channels: orders,
    };
    (graph(orders::rings_within(view, channels)), graph(orders::trees_within(view, channels)))
}

/// The heads of NVLS and what each carries: a GPU feeds every head and multicasts as one, so (heads + 1) × speed must
/// fit in its NVLink.
fn nvls(view: &View, nodes: u32) -> Option<Graph> {
    let spec = view.spec;
    if !spec.nvswitch || spec.generation < GpuGeneration::Hopper || view.gpus < 2 {
        return None;
    }
    let heads: Vec<(u32, u32)> =
        if nodes > 1 { view.heads() } else { (0..view.gpus).map(|gpu| (gpu, 0)).collect() };
    let heads = &heads[..heads.len().min(MOST_HEADS as usize)];
    if heads.len() < 2 {
        return None;
    }
    let nic = if nodes > 1 { view.nic_bandwidth(view.nic_path) } else { f64::INFINITY };
    let nvlink = spec.nvlink_gbytes_per_s + 1e-9;
    let list = if nodes > 1 { speeds::inter(spec.generation) } else { speeds::intra(spec.generation) };
    let feeds = (heads.len() + 1) as f64;
    let bw_intra = list.iter().copied().find(|&speed| speed <= nic && feeds * speed <= nvlink)?;
    let bw_inter = if nodes > 1 {
        list.iter().copied().find(|&speed| speed <= nic).unwrap_or(bw_intra)
    } else {
        bw_intra
    };
    let channels =
        heads.iter().map(|&(gpu, nic)| ChannelGraph { gpus: vec![gpu], enter: nic, leave: nic, relay: None });
    Some(Graph {
        bw_intra,
        bw_inter,
        nvlink: true,
        nic_path: view.nic_path,
        cross_nic: 0,
        same_channels: true,
        pattern: TreePattern::Single,
        channels: channels.collect(),
    })
}
