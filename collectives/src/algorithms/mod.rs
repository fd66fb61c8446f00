//! The algorithms: how a [`Plan`] becomes a [`CollectiveSchedule`]. One file a family.

mod collnet;
mod direct;
mod error;
mod halving_doubling;
mod node_tree;
mod nvls;
mod pairwise;
mod pat;
mod ring;
mod tree;

pub use error::AlgorithmError;
pub use node_tree::NodeTree;

use crate::plan::Plan;
use crate::schedule::{
    Algorithm, Buffer, Channel, CollectiveSchedule, Connection, Layout, Operation, Path, Role,
    SCHEDULE_VERSION, Step, Thread,
};

/// Writes the schedule of a plan.
///
/// # Errors
/// Names what does not fit: an operation the algorithm does not do, a shape or blocks of another algorithm, ranks or
/// NICs that do not exist, too few slots.
pub fn build(plan: &Plan) -> Result<CollectiveSchedule, AlgorithmError> {
    let ranks = plan.ranks;
    if ranks.nodes == 0 || ranks.per_node == 0 || ranks.nodes.checked_mul(ranks.per_node).is_none() {
        return Err(AlgorithmError::Ranks { nodes: ranks.nodes, per_node: ranks.per_node });
    }
    if plan.root >= ranks.count() {
        return Err(AlgorithmError::Root { root: plan.root, ranks: ranks.count() });
    }
    if plan.channels.is_empty() {
        return Err(AlgorithmError::NoChannels);
    }
    let possible = operations(plan.algorithm);
    if !possible.contains(&plan.operation) {
        return Err(AlgorithmError::unsupported(plan.algorithm, plan.operation));
    }
    let mut writer = Writer::new(plan);
    match plan.algorithm {
        Algorithm::Ring => ring::write(&mut writer)?,
        Algorithm::Tree | Algorithm::DoubleTree => tree::write(&mut writer)?,
        Algorithm::Nvls | Algorithm::NvlsTree => nvls::write(&mut writer)?,
        Algorithm::CollnetDirect | Algorithm::CollnetChain => collnet::write(&mut writer)?,
        Algorithm::Pat => pat::write(&mut writer)?,
        Algorithm::HalvingDoubling => halving_doubling::write(&mut writer)?,
        Algorithm::Pairwise => pairwise::write(&mut writer)?,
    }
    Ok(writer.schedule)
}

/// The operations an algorithm does.
pub const fn operations(algorithm: Algorithm) -> &'static [Operation] {
    use Operation as O;
    match algorithm {
        Algorithm::Ring => &[O::AllReduce, O::AllGather, O::ReduceScatter, O::Broadcast, O::Reduce],
        Algorithm::Tree | Algorithm::DoubleTree => &[O::AllReduce, O::Broadcast, O::Reduce],
        Algorithm::Nvls | Algorithm::HalvingDoubling => &[O::AllReduce, O::AllGather, O::ReduceScatter],
        Algorithm::NvlsTree | Algorithm::CollnetDirect | Algorithm::CollnetChain => &[O::AllReduce],
        Algorithm::Pat => &[O::AllGather, O::ReduceScatter],
        Algorithm::Pairwise => &[O::AllToAll, O::SendRecv],
    }
}

/// All algorithms, in the order of [`Algorithm`].
pub const ALGORITHMS: [Algorithm; 10] = [
    Algorithm::Ring,
    Algorithm::Tree,
    Algorithm::DoubleTree,
    Algorithm::Nvls,
    Algorithm::NvlsTree,
    Algorithm::CollnetDirect,
    Algorithm::CollnetChain,
    Algorithm::Pat,
    Algorithm::HalvingDoubling,
    Algorithm::Pairwise,
];

/// A schedule while it is written.
struct Writer<'a> {
    plan: &'a Plan,
    schedule: CollectiveSchedule,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan) -> Self {
        let schedule = CollectiveSchedule {
            version: SCHEDULE_VERSION,
            operation: plan.operation,
            algorithm: plan.algorithm,
            protocol: plan.protocol,
            ranks: plan.ranks.count(),
            bytes: plan.bytes,
            root: plan.root,
            channels: plan.channels.iter().map(|c| c.part.clone()).collect(),
            connections: vec![],
            threads: vec![],
        };
        Self { plan, schedule }
    }

    /// A new connection of `channel`.
    fn connect(&mut self, channel: usize, from: u32, to: u32, path: Path) -> u32 {
        let slots = self.plan.channels[channel].slots;
        self.schedule.connections.push(Connection { channel: channel as u32, from, to, path, slots });
        self.schedule.connections.len() as u32 - 1
    }

    /// A new thread; steps that are never done are left out, and so is a thread without steps.
    fn thread(&mut self, channel: usize, rank: u32, role: Role, mut steps: Vec<Step>) {
        steps.retain(|step| step.repeat > 0 && step.span > 0);
        if !steps.is_empty() {
            self.schedule.threads.push(Thread { rank, channel: channel as u32, role, steps });
        }
    }

    /// The only rank copies its input.
    fn copy(&mut self, channel: usize, rank: u32) {
        let step = every_block(self.part(channel)).with(Buffer::Input).storing();
        self.thread(channel, rank, Role::All, vec![step]);
    }

    fn part(&self, channel: usize) -> &'a Channel {
        &self.plan.channels[channel].part
    }

    fn channels(&self) -> std::ops::Range<usize> {
        0..self.plan.channels.len()
    }

    /// The error of a channel whose shape is of another algorithm.
    fn wrong_shape(&self, channel: usize, wanted: &'static str) -> AlgorithmError {
        AlgorithmError::Shape { channel, algorithm: self.plan.algorithm, wanted }
    }

    /// Checks that a channel's blocks lie as the algorithm needs them; `blocks` of `None`: any number.
    fn want_blocks(&self, channel: usize, layout: Layout, blocks: Option<u32>) -> Result<(), AlgorithmError> {
        let part = self.part(channel);
        let fits = blocks.map_or(part.blocks > 0, |wanted| part.blocks == wanted);
        if fits && (part.layout == layout || part.blocks == 1) {
            return Ok(());
        }
        let (found, found_layout) = (part.blocks, part.layout);
        Err(AlgorithmError::Blocks { channel, found, found_layout, wanted: blocks, layout })
    }

    /// Checks that a connection has slots for `needed` messages.
    fn want_slots(&self, channel: usize, needed: u32) -> Result<(), AlgorithmError> {
        let slots = self.plan.channels[channel].slots;
        if slots >= needed { Ok(()) } else { Err(AlgorithmError::Slots { channel, slots, needed }) }
    }
}

/// A step about every block of a loop, one after the other.
fn every_block(part: &Channel) -> Step {
    Step::new(0).repeated(part.blocks, 1)
}

/// Checks that `list` names each of `0..count` once.
fn want_permutation(
    channel: usize,
    what: &'static str,
    list: &[u32],
    count: u32,
) -> Result<(), AlgorithmError> {
    want_length(channel, what, list.len(), count as usize)?;
    want_distinct(channel, what, list, count)
}

/// Checks that `list` names some of `0..count`, each at most once.
fn want_distinct(channel: usize, what: &'static str, list: &[u32], count: u32) -> Result<(), AlgorithmError> {
    let mut seen = vec![false; count as usize];
    for &item in list {
        match seen.get_mut(item as usize) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(AlgorithmError::Twice { channel, what, item }),
            None => return Err(AlgorithmError::Range { channel, what, item, count }),
        }
    }
    Ok(())
}

/// Checks the length of a list.
fn want_length(
    channel: usize,
    what: &'static str,
    found: usize,
    wanted: usize,
) -> Result<(), AlgorithmError> {
    if found == wanted { Ok(()) } else { Err(AlgorithmError::Length { channel, what, found, wanted }) }
}
