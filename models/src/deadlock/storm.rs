//! Pause trees: how pauses spread through a fabric, and from where.
//!
//! A paused egress port waits for the switch at its other end; that switch pauses because packets of that ingress wait
//! in egress queues, which may be paused themselves. Following the waits downstream leads to roots: a queue that is
//! paused by a host (the host has stopped, or is slow), or a queue that is not paused and simply has more to send than
//! its link carries (congestion).

use std::collections::{BTreeSet, VecDeque};

use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use crate::config::CLASSES;
use crate::fabric::Fabric;
use crate::record::Recorder;
use crate::topology::{NodeIndex, PortIndex};

/// What is at the root of a pause tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// The host at the other end of the root port pauses it: it has stopped receiving, or receives slowly.
    Host,
    /// The root port is not paused: more arrives for it than its link carries.
    Congestion {
        /// Bytes that wait for it.
        queued: u64,
    },
}

/// A paused port somewhere in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseBranch {
    /// The paused egress port.
    pub port: PortIndex,
    /// The class.
    pub class: u8,
    /// Links between it and the root port's switch.
    pub depth: u32,
    /// When it was paused for the last time.
    pub since: Time,
}

/// The ports that wait for one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseTree {
    /// The root: an egress port whose pauses are received while its own switch owes nothing, or a congested one.
    pub root: PortIndex,
    /// The class.
    pub class: u8,
    /// Why the root does not drain.
    pub cause: PauseCause,
    /// How long the root was paused in all; zero for congestion.
    pub paused: Duration,
    /// When the root was paused for the last time; now for congestion.
    pub since: Time,
    /// The ports that wait for it, in the order in which the pause reached them.
    pub branches: Vec<PauseBranch>,
}

/// The pause trees that stand now: those of hosts first, then by number of branches, then by port.
pub fn pause_trees<Q: EventQueue, R: Recorder>(fabric: &Fabric<Q, R>) -> Vec<PauseTree> {
    let graph = fabric.graph();
    let mut trees = Vec::new();
    for port in graph.first_port[graph.hosts as usize]..graph.ports.len() as PortIndex {
        for class in 0..CLASSES as u8 {
            let p = fabric.port(port);
            let paused = p.paused & (1 << class) != 0;
            let queue = fabric.egress_queue(port, class);
            let cause = match (paused, p.to_switch) {
                (true, false) => PauseCause::Host,
                (false, _) if queue.bytes > 0 => PauseCause::Congestion { queued: u64::from(queue.bytes) },
                (true, true) | (false, _) => continue,
            };
            let branches = branches_of(fabric, port, class);
            if branches.is_empty() && cause != PauseCause::Host {
                continue;
            }
            let since =
                if paused { Time(fabric.pause_state(port).since[usize::from(class)]) } else { fabric.now() };
            let paused = Duration(if cause == PauseCause::Host { fabric.paused_for(port, class) } else { 0 });
            trees.push(PauseTree { root: port, class, cause, paused, since, branches });
        }
    }
    trees.sort_by_key(|tree| {
        (tree.cause != PauseCause::Host, std::cmp::Reverse(tree.branches.len()), tree.root, tree.class)
    });
    trees
}

/// The ports of `node` that pause their peers for `class`, as (local index, upstream port), where the peer obeys now.
fn pausing<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    node: NodeIndex,
    class: u8,
) -> Vec<(u16, PortIndex)> {
    let graph = fabric.graph();
    let bit = 1u8 << class;
    let ports = graph.ports_of(node);
    let first = ports.start;
    ports
        .filter(|&ingress| fabric.ingress(ingress, class).xoff)
        .map(|ingress| ((ingress - first) as u16, graph.ports[ingress as usize].peer))
        .filter(|&(_, upstream)| fabric.port(upstream).paused & bit != 0)
        .collect()
}

/// The paused ports upstream of a queue, breadth first.
fn branches_of<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    root: PortIndex,
    class: u8,
) -> Vec<PauseBranch> {
    let graph = fabric.graph();
    let mut seen: BTreeSet<PortIndex> = BTreeSet::from([root]);
    let mut waiting = VecDeque::from([(root, 0)]);
    let mut branches = Vec::new();
    while let Some((out, depth)) = waiting.pop_front() {
        let node = graph.ports[out as usize].node;
        if graph.is_host(node) {
            continue;
        }
        // Which of the pausing ingresses have a packet in the queue: the walk ends when all are found.
        let mut missing = pausing(fabric, node, class);
        missing.retain(|(_, upstream)| !seen.contains(upstream));
        for packet in fabric.queued(out, class) {
            if missing.is_empty() {
                break;
            }
            if let Some(found) = missing.iter().position(|&(local, _)| local == packet.in_port) {
                let (_, upstream) = missing.swap_remove(found);
                seen.insert(upstream);
                let since = Time(fabric.pause_state(upstream).since[usize::from(class)]);
                branches.push(PauseBranch { port: upstream, class, depth: depth + 1, since });
                waiting.push_back((upstream, depth + 1));
            }
        }
    }
    branches.sort_by_key(|branch| (branch.since, branch.depth, branch.port));
    branches
}
