//! The order in which a channel visits the GPUs of a node.
//!
//! With NVSwitch NCCL's search tries neighbouring numbers first, so orders are rotations of 0 to n − 1 in either
//! direction. Without, they follow the links of the cube mesh.

use super::graphs::{ChannelGraph, View};

/// Rings of the hybrid cube mesh of eight V100, by the NIC they enter and leave by; each ends beside its start.
/// Source: NCCL 2.30's search on DGX-1V.
const MESH: [[u32; 8]; 4] =
    [[0, 3, 2, 6, 7, 4, 5, 1], [2, 1, 0, 4, 6, 5, 7, 3], [4, 7, 6, 2, 3, 0, 1, 5], [6, 5, 4, 0, 2, 1, 3, 7]];

/// All of 0 to `gpus` − 1 from `start` to `end`: downwards where the end lies above the start, else upwards.
fn rotation(gpus: u32, start: u32, end: u32) -> Vec<u32> {
    if gpus == 1 {
        return vec![0];
    }
    let step = if start < end { gpus - 1 } else { 1 };
    let visit = (0..gpus).map(|i| (start + i * step) % gpus);
    let mut order: Vec<u32> = visit.filter(|&gpu| gpu != end).collect();
    order.push(end);
    order
}

/// The mesh order that starts at `start` where there is one.
fn mesh(view: &View, start: u32) -> Option<Vec<u32>> {
    let is_mesh = !view.spec.nvswitch && view.spec.nvlink_gbytes_per_s > 0.0 && view.gpus == 8;
    is_mesh.then(|| MESH.iter().find(|order| order[0] == start).unwrap_or(&MESH[0]).to_vec())
}

/// The two GPUs that a channel on the `index`-th NIC uses to enter and leave: GPUs near the NIC, taking turns between
/// the NICs that share them.
fn ends(view: &View, index: usize) -> (u32, u32) {
    let (_, near) = &view.nics[index];
    let turn = view.nics[..index].iter().filter(|(_, other)| other == near).count();
    let start = near[turn % near.len()];
    let end = near[(turn + 1) % near.len()];
    let neighbour = (start + 1) % view.gpus;
    (start, if end == start { neighbour } else { end })
}

/// NICs in pairs near different GPUs.
fn pairs(view: &View) -> Vec<(usize, usize)> {
    let mut free: Vec<usize> = (0..view.nics.len()).collect();
    let mut pairs = vec![];
    while let Some(first) = (!free.is_empty()).then(|| free.remove(0)) {
        let gpu = view.nics[first].1[0];
        if let Some(position) = free.iter().position(|&other| view.nics[other].1[0] != gpu) {
            pairs.push((first, free.remove(position)));
        }
    }
    pairs
}

/// Rings over several nodes.
pub(super) fn rings_between(view: &View, channels: u32, cross_nic: u32, relayed: bool) -> Vec<ChannelGraph> {
    let nics = view.nics.len();
    let paired = if cross_nic == 2 { pairs(view) } else { vec![] };
    let ring = |c: usize| {
        if let Some(&(a, b)) = paired.get((c / 2) % paired.len().max(1)) {
            let (enter, leave) = if c.is_multiple_of(2) { (a, b) } else { (b, a) };
            let gpus = rotation(view.gpus, view.nics[enter].1[0], view.nics[leave].1[0]);
            return ChannelGraph { gpus, enter: view.nics[enter].0, leave: view.nics[leave].0, relay: None };
        }
        let index = c % nics;
        let (start, mut end) = ends(view, index);
        let mut leave = index;
        if cross_nic == 1 {
            let other = (1..nics).map(|i| (index + i) % nics).find(|&i| !view.nics[i].1.contains(&start));
            leave = other.unwrap_or(index);
            end = other.map_or(end, |i| view.nics[i].1[0]);
        }
        let gpus = match mesh(view, start) {
            Some(order) => order,
            None => descending(view, start, end),
        };
        let relay = (relayed && view.gpus > 1).then_some(start);
        ChannelGraph { gpus, enter: view.nics[index].0, leave: view.nics[leave].0, relay }
    };
    (0..channels as usize).map(ring).collect()
}

/// Downwards from `start` to its upper neighbour, also where that wraps around; else as [`rotation`].
fn descending(view: &View, start: u32, end: u32) -> Vec<u32> {
    let n = view.gpus;
    if end == (start + 1) % n && n > 2 && end < start {
        return (0..n).map(|i| (start + n - i) % n).collect();
    }
    rotation(n, start, end)
}

/// Chains of trees over several nodes: the second GPU is the other one near the NIC, if there is one.
pub(super) fn trees_between(view: &View, channels: u32) -> Vec<ChannelGraph> {
    let chain = |c: usize| {
        let index = c % view.nics.len();
        let (start, second) = ends(view, index);
        let gpus = match mesh(view, start) {
            Some(order) => reversed(&order),
            None if view.gpus == 1 => vec![0],
            None => {
                let n = view.gpus;
                let step = if second == (start + 1) % n { 1 } else { n - 1 };
                (0..n).map(|i| (start + i * step) % n).collect()
            }
        };
        let nic = view.nics[index].0;
        ChannelGraph { gpus, enter: nic, leave: nic, relay: None }
    };
    (0..channels as usize).map(chain).collect()
}

/// The same ring from the same start in the other direction.
fn reversed(order: &[u32]) -> Vec<u32> {
    let (first, rest) = (order[0], &order[1..]);
    std::iter::once(first).chain(rest.iter().rev().copied()).collect()
}

/// Rings in one node: all alike with NVSwitch.
pub(super) fn rings_within(view: &View, channels: u32) -> Vec<ChannelGraph> {
    let ring = |c: u32| {
        let start = MESH[c as usize % MESH.len()][0];
        let gpus = mesh(view, start).unwrap_or_else(|| (0..view.gpus).collect());
        ChannelGraph { gpus, enter: 0, leave: 0, relay: None }
    };
    (0..channels).map(ring).collect()
}

/// Chains in one node: the rings, cut open.
pub(super) fn trees_within(view: &View, channels: u32) -> Vec<ChannelGraph> {
    rings_within(view, channels)
}
