//! NVLS: the NVSwitch adds up and copies. Every GPU feeds the heads, head h sums block h, and hands it to all GPUs of its
//! node. Over several nodes heads of one number are joined by a double binary tree (NVLSTree) or by in-network reduction.

use super::{AlgorithmError, NodeTree, Writer, want_distinct, want_length};
use crate::plan::Shape;
use crate::schedule::{Algorithm, Buffer, Layout, Operation, Path, Role, Step};

/// The shape of a channel.
struct Nvls<'a> {
    heads: &'a [u32],
    nics: &'a [u32],
    tree: u32,
}

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    for channel in writer.channels() {
        let Shape::Nvls { heads, nics, tree } = &writer.plan.channels[channel].shape else {
            return Err(writer.wrong_shape(channel, "the heads of NVLS"));
        };
        want_distinct(channel, "the heads", heads, writer.plan.ranks.per_node)?;
        want_length(channel, "the heads' NICs", nics.len(), heads.len())?;
        let shape = Nvls { heads, nics, tree: *tree };
        match writer.plan.operation {
            Operation::AllReduce => all_reduce(writer, channel, &shape)?,
            Operation::AllGather => all_gather(writer, channel)?,
            Operation::ReduceScatter => reduce_scatter(writer, channel)?,
            operation @ (Operation::Broadcast
            | Operation::Reduce
            | Operation::AllToAll
            | Operation::SendRecv) => {
                return Err(AlgorithmError::unsupported(writer.plan.algorithm, operation));
            }
        }
    }
    Ok(())
}

/// Connections of the NVSwitch of one node, `[head][GPU]`.
struct Switch {
    reduce: Vec<Vec<u32>>,
    multicast: Vec<Vec<u32>>,
}

/// Connects all GPUs of `node` with `heads` through the NVSwitch, both ways.
fn connect(writer: &mut Writer<'_>, channel: usize, node: u32, heads: &[u32]) -> Switch {
    let ranks = writer.plan.ranks;
    let (mut reduce, mut multicast) = (vec![], vec![]);
    for &head in heads {
        let head = ranks.rank(node, head);
        let gpus = (0..ranks.per_node).map(|local| ranks.rank(node, local));
        let feed = gpus.clone().map(|gpu| writer.connect(channel, gpu, head, Path::NvlsReduce));
        reduce.push(feed.collect());
        multicast.push(gpus.map(|gpu| writer.connect(channel, head, gpu, Path::NvlsMulticast)).collect());
    }
    Switch { reduce, multicast }
}

/// Connections of the heads of one number, one entry a node.
struct Between {
    /// To the parent, or into the network.
    out: Vec<Option<u32>>,
    /// From the parent, or out of the network.
    back: Vec<Option<u32>>,
    /// From the children.
    from_below: Vec<Vec<u32>>,
    /// To the children.
    below: Vec<Vec<u32>>,
}

impl Between {
    fn new(writer: &mut Writer<'_>, channel: usize, shape: &Nvls<'_>, head: usize) -> Self {
        let nodes = writer.plan.ranks.nodes as usize;
        let none = || vec![None; nodes];
        let mut between =
            Self { out: none(), back: none(), from_below: vec![vec![]; nodes], below: vec![vec![]; nodes] };
        if nodes > 1 && writer.plan.algorithm == Algorithm::Nvls {
            between.join_in_network(writer, channel, shape, head);
        } else {
            between.join_by_tree(writer, channel, shape, head);
        }
        between
    }

    fn join_by_tree(&mut self, writer: &mut Writer<'_>, channel: usize, shape: &Nvls<'_>, head: usize) {
        let ranks = writer.plan.ranks;
        let nic = shape.nics[head];
        let path = Path::Network { from_nic: nic, to_nic: nic, relay: None };
        for node in 0..ranks.nodes {
            let here = ranks.rank(node, shape.heads[head]);
            for child in NodeTree::new(shape.tree, node, ranks.nodes).children.into_iter().flatten() {
                let there = ranks.rank(child, shape.heads[head]);
                let up = writer.connect(channel, there, here, path);
                let down = writer.connect(channel, here, there, path);
                self.from_below[node as usize].push(up);
                self.below[node as usize].push(down);
                self.out[child as usize] = Some(up);
                self.back[child as usize] = Some(down);
            }
        }
    }

    fn join_in_network(&mut self, writer: &mut Writer<'_>, channel: usize, shape: &Nvls<'_>, head: usize) {
        let ranks = writer.plan.ranks;
        let group = channel as u32 * ranks.per_node + head as u32;
        for node in 0..ranks.nodes {
            let here = ranks.rank(node, shape.heads[head]);
            let path = Path::InNetwork { group, nic: shape.nics[head] };
            let connection = Some(writer.connect(channel, here, here, path));
            self.out[node as usize] = connection;
            self.back[node as usize] = connection;
        }
    }
}

fn all_reduce(writer: &mut Writer<'_>, channel: usize, shape: &Nvls<'_>) -> Result<(), AlgorithmError> {
    let heads = shape.heads.len();
    writer.want_blocks(channel, Layout::Contiguous, Some(heads as u32))?;
    let between: Vec<Between> = (0..heads).map(|h| Between::new(writer, channel, shape, h)).collect();
    let ranks = writer.plan.ranks;
    for node in 0..ranks.nodes {
        let switch = connect(writer, channel, node, shape.heads);
        for local in 0..ranks.per_node {
            let gpu = local as usize;
            let feed =
                (0..heads).map(|h| Step::new(h as u32).with(Buffer::Input).sending([switch.reduce[h][gpu]]));
            let take =
                (0..heads).map(|h| Step::new(h as u32).receiving([switch.multicast[h][gpu]]).storing());
            writer.thread(channel, ranks.rank(node, local), Role::Scatter, feed.collect());
            writer.thread(channel, ranks.rank(node, local), Role::Gather, take.collect());
        }
        for (h, between) in between.iter().enumerate() {
            let (head, at) = (ranks.rank(node, shape.heads[h]), node as usize);
            let from = switch.reduce[h].iter().chain(&between.from_below[at]).copied();
            let sum = Step::new(h as u32).receiving(from);
            let to = switch.multicast[h].iter().chain(&between.below[at]).copied();
            match (between.out[at], between.back[at]) {
                (Some(out), Some(back)) => {
                    let copy = Step::new(h as u32).receiving([back]).sending(to);
                    writer.thread(channel, head, Role::Reduce, vec![sum.sending([out])]);
                    writer.thread(channel, head, Role::Broadcast, vec![copy]);
                }
                _ => writer.thread(channel, head, Role::Reduce, vec![sum.sending(to)]),
            }
        }
    }
    Ok(())
}

/// AllGather and ReduceScatter are of one node, whose GPUs are all heads.
fn single_node(writer: &mut Writer<'_>, channel: usize) -> Result<Vec<u32>, AlgorithmError> {
    let ranks = writer.plan.ranks;
    if ranks.nodes > 1 {
        return Err(AlgorithmError::Nodes {
            algorithm: writer.plan.algorithm,
            operation: writer.plan.operation,
            nodes: ranks.nodes,
            per_node: ranks.per_node,
            wanted: "one node (or Ring, over several)",
        });
    }
    writer.want_blocks(channel, Layout::PerRank, Some(ranks.count()))?;
    writer.schedule.channels[channel].layout = Layout::PerRank;
    Ok((0..ranks.count()).collect())
}

/// Each GPU copies its block to all through the NVSwitch.
fn all_gather(writer: &mut Writer<'_>, channel: usize) -> Result<(), AlgorithmError> {
    let gpus = single_node(writer, channel)?;
    let mut multicast = vec![];
    for &from in &gpus {
        let to = gpus.iter().map(|to| writer.connect(channel, from, *to, Path::NvlsMulticast));
        multicast.push(to.collect::<Vec<u32>>());
    }
    for &gpu in &gpus {
        let send = Step::new(gpu).with(Buffer::Input).sending(multicast[gpu as usize].iter().copied());
        let take =
            gpus.iter().map(|g| Step::new(*g).receiving([multicast[*g as usize][gpu as usize]]).storing());
        writer.thread(channel, gpu, Role::Broadcast, vec![send]);
        writer.thread(channel, gpu, Role::Gather, take.collect());
    }
    Ok(())
}

/// Each GPU sums its block of all in the NVSwitch.
fn reduce_scatter(writer: &mut Writer<'_>, channel: usize) -> Result<(), AlgorithmError> {
    let gpus = single_node(writer, channel)?;
    let mut reduce = vec![];
    for &to in &gpus {
        let from = gpus.iter().map(|from| writer.connect(channel, *from, to, Path::NvlsReduce));
        reduce.push(from.collect::<Vec<u32>>());
    }
    for &gpu in &gpus {
        let feed = gpus
            .iter()
            .map(|to| Step::new(*to).with(Buffer::Input).sending([reduce[*to as usize][gpu as usize]]));
        let sum = Step::new(gpu).receiving(reduce[gpu as usize].iter().copied()).storing();
        writer.thread(channel, gpu, Role::Scatter, feed.collect());
        writer.thread(channel, gpu, Role::Reduce, vec![sum]);
    }
    Ok(())
}
