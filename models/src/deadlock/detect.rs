//! Run-time deadlock detection.
//!
//! A paused egress queue (p, c) waits for the ingress at the other end of its link to fall to XON. That ingress falls
//! as its packets leave the egress queues they wait in. A set of paused queues is deadlocked when, for each of them,
//! the packets that its ingress holds *in queues of the set* alone keep the ingress above XON, whatever else leaves:
//! then no queue of the set can ever be the first to move. The largest such set is found by starting from all paused
//! queues and taking away, until nothing changes, every queue whose ingress could fall to XON. It is exact for pauses
//! that do not expire, and for those that are refreshed: there are no false alarms by congestion, however heavy.
//! What can still break a deadlock is a watchdog, a link that fails, or a pause that runs out of quanta unrefreshed.

use std::collections::BTreeMap;

use sim_core::Time;
use sim_core::queue::EventQueue;

use crate::config::CLASSES;
use crate::fabric::Fabric;
use crate::record::Recorder;
use crate::topology::PortIndex;

/// One queue of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The paused egress port; its link leads to the switch of the next wait in the cycle.
    pub port: PortIndex,
    /// The class.
    pub class: u8,
    /// Bytes stuck in its queue.
    pub bytes: u64,
    /// When it was paused for the last time.
    pub since: Time,
}

/// A cycle of paused queues none of which can move first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When its last pause began.
    pub closed_at: Time,
    /// The cycle: each wait's link leads to the switch that holds the next one.
    pub cycle: Vec<Wait>,
    /// All (port, class) queues that are stuck for good: the cycle and what waits for it.
    pub stuck: Vec<(PortIndex, u8)>,
}

/// Looks for deadlocks on a grid of simulated time.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    /// Queues that were already paused at the last scan, with the start of that pause.
    suspects: BTreeMap<(PortIndex, u8), u64>,
}

impl Detector {
    /// Looks at the fabric now. A queue counts only when the same pause stood at the last scan too, so that a resume
    /// in flight is not mistaken for a standing pause.
    pub fn scan<Q: EventQueue, R: Recorder>(&mut self, fabric: &Fabric<Q, R>) -> Option<Deadlock> {
        let mut now = BTreeMap::new();
        let graph = fabric.graph();
        for port in graph.first_port[graph.hosts as usize]..graph.ports.len() as PortIndex {
            let p = fabric.port(port);
            if p.paused == 0 || !p.to_switch || !p.up {
                continue;
            }
            for class in 0..CLASSES as u8 {
                if p.paused & p.backlog & (1 << class) != 0 {
                    now.insert((port, class), fabric.pause_state(port).since[usize::from(class)]);
                }
            }
        }
        let standing: Vec<(PortIndex, u8)> = now
            .iter()
            .filter(|(queue, since)| self.suspects.get(queue) == Some(since))
            .map(|(queue, _)| *queue)
            .collect();
        self.suspects = now;
        if standing.is_empty() {
            return None;
        }
        let stuck = stuck_set(fabric, standing);
        cycle_of(fabric, &stuck)
    }
}

/// Bytes of ingress `port`, class `class`, that wait in the given egress queues of its switch.
fn held_in<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    ingress: PortIndex,
    class: u8,
    queues: &BTreeMap<(PortIndex, u8), ()>,
) -> Vec<(PortIndex, u64)> {
    let graph = fabric.graph();
    let node = graph.ports[ingress as usize].node;
    let local = (ingress - graph.first_port[node as usize]) as u16;
    graph
        .ports_of(node)
        .filter(|&out| queues.contains_key(&(out, class)))
        .map(|out| {
            let bytes = fabric
                .queued(out, class)
                .filter(|packet| packet.in_port == local)
                .map(|packet| fabric.charge_of(packet))
                .sum();
            (out, bytes)
        })
        .filter(|&(_, bytes)| bytes > 0)
        .collect()
}

/// The largest set of queues none of which can move first.
fn stuck_set<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    standing: Vec<(PortIndex, u8)>,
) -> BTreeMap<(PortIndex, u8), ()> {
    let mut set: BTreeMap<(PortIndex, u8), ()> = standing.into_iter().map(|queue| (queue, ())).collect();
    loop {
        // Shared memory that can never become free: what the set holds, by switch.
        let mut held: BTreeMap<(PortIndex, u8), u64> = BTreeMap::new();
        let mut by_switch: BTreeMap<u32, u64> = BTreeMap::new();
        for &(port, class) in set.keys() {
            let ingress = fabric.graph().ports[port as usize].peer;
            let bytes: u64 = held_in(fabric, ingress, class, &set).iter().map(|(_, bytes)| bytes).sum();
            held.insert((port, class), bytes);
            let node = fabric.graph().ports[ingress as usize].node;
            *by_switch.entry(node).or_default() += fabric.shared_part(bytes);
        }
        let movable: Vec<(PortIndex, u8)> = held
            .iter()
            .filter(|&(&(port, class), &bytes)| {
                let ingress = fabric.graph().ports[port as usize].peer;
                let node = fabric.graph().ports[ingress as usize].node;
                let wanted = fabric.pause_state(ingress).xoff & (1 << class) != 0;
                !wanted || fabric.could_resume(node, bytes, by_switch[&node])
            })
            .map(|(&queue, _)| queue)
            .collect();
        if movable.is_empty() {
            return set;
        }
        for queue in movable {
            set.remove(&queue);
        }
    }
}

/// A cycle within a stuck set.
fn cycle_of<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    stuck: &BTreeMap<(PortIndex, u8), ()>,
) -> Option<Deadlock> {
    let mut path: Vec<(PortIndex, u8)> = vec![*stuck.keys().next()?];
    let cycle = loop {
        let &(port, class) = path.last()?;
        let ingress = fabric.graph().ports[port as usize].peer;
        // On along the queue that holds most; the lower port where they hold the same.
        let (next, _) = held_in(fabric, ingress, class, stuck)
            .into_iter()
            .max_by_key(|&(port, bytes)| (bytes, std::cmp::Reverse(port)))?;
        if let Some(start) = path.iter().position(|&queue| queue == (next, class)) {
            break path.split_off(start);
        }
        path.push((next, class));
    };
    let cycle: Vec<Wait> = cycle
        .into_iter()
        .map(|(port, class)| Wait {
            port,
            class,
            bytes: u64::from(fabric.egress_queue(port, class).bytes),
            since: Time(fabric.pause_state(port).since[usize::from(class)]),
        })
        .collect();
    let closed_at = cycle.iter().map(|wait| wait.since).max()?;
    Some(Deadlock { closed_at, cycle, stuck: stuck.keys().copied().collect() })
}
