//! CollNet: one member of each node takes part in a reduction in the network (SHARP). Direct: all GPUs send their blocks
//! to the heads of their node and take the sums from there. Chain: a chain in each node ends at the head.

use super::{AlgorithmError, Writer, every_block, want_distinct, want_length, want_permutation};
use crate::plan::Shape;
use crate::schedule::{Algorithm, Buffer, Layout, Path, Role, Step};

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    let ranks = writer.plan.ranks;
    if ranks.nodes < 2 {
        return Err(AlgorithmError::Nodes {
            algorithm: writer.plan.algorithm,
            operation: writer.plan.operation,
            nodes: ranks.nodes,
            per_node: ranks.per_node,
            wanted: "two nodes or more",
        });
    }
    for channel in writer.channels() {
        let Shape::Collnet { gpus, nics } = &writer.plan.channels[channel].shape else {
            return Err(writer.wrong_shape(channel, "the GPUs of CollNet"));
        };
        if writer.plan.algorithm == Algorithm::CollnetChain {
            want_permutation(channel, "the chain", gpus, ranks.per_node)?;
            want_length(channel, "the NICs of the chain's head", nics.len(), 1)?;
            writer.want_blocks(channel, Layout::Contiguous, None)?;
            (0..ranks.nodes).for_each(|node| chain(writer, channel, node, gpus, nics[0]));
        } else {
            want_distinct(channel, "the heads", gpus, ranks.per_node)?;
            want_length(channel, "the heads' NICs", nics.len(), gpus.len())?;
            writer.want_blocks(channel, Layout::Contiguous, Some(gpus.len() as u32))?;
            (0..ranks.nodes).for_each(|node| direct(writer, channel, node, gpus, nics));
        }
    }
    Ok(())
}

/// The group of head number `head` of a channel.
fn group(writer: &Writer<'_>, channel: usize, head: usize) -> u32 {
    channel as u32 * writer.plan.ranks.per_node + head as u32
}

/// One node of CollnetDirect. A head adds its own block itself; other GPUs' come over NVLink.
fn direct(writer: &mut Writer<'_>, channel: usize, node: u32, heads: &[u32], nics: &[u32]) {
    let ranks = writer.plan.ranks;
    let gpus = || (0..ranks.per_node).map(|local| ranks.rank(node, local));
    let mut scatter = vec![vec![]; ranks.per_node as usize];
    let mut gather = vec![vec![]; ranks.per_node as usize];
    for (h, (&head, &nic)) in heads.iter().zip(nics).enumerate() {
        let head = ranks.rank(node, head);
        let (mut from, mut to) = (vec![], vec![]);
        for gpu in gpus().filter(|gpu| *gpu != head) {
            let feed = writer.connect(channel, gpu, head, Path::Local);
            let take = writer.connect(channel, head, gpu, Path::Local);
            let local = ranks.local(gpu) as usize;
            scatter[local].push(Step::new(h as u32).with(Buffer::Input).sending([feed]));
            gather[local].push(Step::new(h as u32).receiving([take]).storing());
            from.push(feed);
            to.push(take);
        }
        let path = Path::InNetwork { group: group(writer, channel, h), nic };
        let network = writer.connect(channel, head, head, path);
        let sum = Step::new(h as u32).receiving(from).with(Buffer::Input).sending([network]);
        let copy = Step::new(h as u32).receiving([network]).storing().sending(to);
        writer.thread(channel, head, Role::Reduce, vec![sum]);
        writer.thread(channel, head, Role::Broadcast, vec![copy]);
    }
    for ((gpu, scatter), gather) in gpus().zip(scatter).zip(gather) {
        writer.thread(channel, gpu, Role::Scatter, scatter);
        writer.thread(channel, gpu, Role::Gather, gather);
    }
}

/// One node of CollnetChain. The first of the chain is the head.
fn chain(writer: &mut Writer<'_>, channel: usize, node: u32, gpus: &[u32], nic: u32) {
    let ranks = writer.plan.ranks;
    let line: Vec<u32> = gpus.iter().map(|local| ranks.rank(node, *local)).collect();
    let path = Path::InNetwork { group: group(writer, channel, 0), nic };
    let network = writer.connect(channel, line[0], line[0], path);
    let mut ups = vec![network];
    let mut downs = vec![network];
    for pair in line.windows(2) {
        ups.push(writer.connect(channel, pair[1], pair[0], Path::Local));
        downs.push(writer.connect(channel, pair[0], pair[1], Path::Local));
    }
    let part = writer.part(channel);
    for (i, &gpu) in line.iter().enumerate() {
        let sum = every_block(part).receiving(ups.get(i + 1).copied()).with(Buffer::Input);
        let copy = every_block(part).receiving([downs[i]]).storing().sending(downs.get(i + 1).copied());
        writer.thread(channel, gpu, Role::Up, vec![sum.sending([ups[i]])]);
        writer.thread(channel, gpu, Role::Down, vec![copy]);
    }
}
