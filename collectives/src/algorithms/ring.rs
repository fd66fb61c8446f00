//! Rings: every rank sends to the next. AllReduce goes around twice (reduce-scatter, then all-gather), AllGather and
//! ReduceScatter once, Broadcast and Reduce are pipelines of chunks from and to the root.

use super::{AlgorithmError, Writer, every_block, want_length, want_permutation};
use crate::plan::{Ranks, Shape};
use crate::schedule::{Buffer, Layout, Operation, Path, Role, Step};

/// How a channel's ring runs.
struct Ring<'a> {
    order: &'a [u32],
    leave: &'a [u32],
    enter: &'a [u32],
    relay: &'a [Option<u32>],
    ranks: Ranks,
}

impl Ring<'_> {
    /// The path from one rank to the next.
    fn path(&self, from: u32, to: u32) -> Path {
        let (a, b) = (self.ranks.node(from), self.ranks.node(to));
        if a == b {
            return Path::Local;
        }
        Path::Network {
            from_nic: self.leave[a as usize],
            to_nic: self.enter[b as usize],
            relay: self.relay[a as usize].filter(|relay| *relay != from),
        }
    }
}

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    for channel in writer.channels() {
        let ring = shape(writer, channel)?;
        match writer.plan.operation {
            Operation::AllReduce => {
                writer.want_blocks(channel, Layout::Contiguous, Some(ring.ranks.count()))?;
                around(writer, channel, &ring, all_reduce)?;
            }
            Operation::AllGather => {
                per_rank(writer, channel, &ring)?;
                around(writer, channel, &ring, all_gather)?;
            }
            Operation::ReduceScatter => {
                per_rank(writer, channel, &ring)?;
                around(writer, channel, &ring, reduce_scatter)?;
            }
            Operation::Broadcast => broadcast(writer, channel, &ring)?,
            Operation::Reduce => reduce(writer, channel, &ring)?,
            operation @ (Operation::AllToAll | Operation::SendRecv) => {
                return Err(AlgorithmError::unsupported(writer.plan.algorithm, operation));
            }
        }
    }
    Ok(())
}

/// The ring of a channel.
fn shape<'a>(writer: &Writer<'a>, channel: usize) -> Result<Ring<'a>, AlgorithmError> {
    let ranks = writer.plan.ranks;
    let Shape::Ring { order, leave, enter, relay } = &writer.plan.channels[channel].shape else {
        return Err(writer.wrong_shape(channel, "a ring"));
    };
    want_permutation(channel, "the ring's order", order, ranks.count())?;
    if ranks.nodes > 1 {
        let nodes = ranks.nodes as usize;
        want_length(channel, "the ring's leaving NICs", leave.len(), nodes)?;
        want_length(channel, "the ring's entering NICs", enter.len(), nodes)?;
        want_length(channel, "the ring's relays", relay.len(), nodes)?;
        for (node, relay) in relay.iter().enumerate() {
            if let Some(item) = *relay
                && (item >= ranks.count() || ranks.node(item) as usize != node)
            {
                return Err(AlgorithmError::Range {
                    channel,
                    what: "the ring's relays",
                    item,
                    count: ranks.count(),
                });
            }
        }
    }
    Ok(Ring { order, leave, enter, relay, ranks })
}

/// Blocks are the ranks', and steps number them along the ring.
fn per_rank(writer: &mut Writer<'_>, channel: usize, ring: &Ring<'_>) -> Result<(), AlgorithmError> {
    writer.want_blocks(channel, Layout::PerRank, Some(ring.ranks.count()))?;
    let part = &mut writer.schedule.channels[channel];
    let natural = ring.order.iter().enumerate().all(|(i, rank)| i as u32 == *rank);
    part.layout = Layout::PerRank;
    part.order = if natural { vec![] } else { ring.order.to_vec() };
    Ok(())
}

/// The steps of the rank at a position of the ring of `n` ranks, receiving and sending on the given connections.
type Steps = fn(position: u32, n: u32, receive: u32, send: u32) -> Vec<Step>;

/// Threads that all do `steps`, each at its position.
fn around(
    writer: &mut Writer<'_>,
    channel: usize,
    ring: &Ring<'_>,
    steps: Steps,
) -> Result<(), AlgorithmError> {
    let n = ring.order.len();
    if n == 1 {
        writer.copy(channel, ring.order[0]);
        return Ok(());
    }
    // All send a step before they receive one, and then need a free slot to go on.
    writer.want_slots(channel, writer.part(channel).slices + 1)?;
    let next = |i: usize| ring.order[(i + 1) % n];
    let sends: Vec<u32> = (0..n)
        .map(|i| writer.connect(channel, ring.order[i], next(i), ring.path(ring.order[i], next(i))))
        .collect();
    for (i, &rank) in ring.order.iter().enumerate() {
        let receive = sends[(i + n - 1) % n];
        writer.thread(channel, rank, Role::All, steps(i as u32, n as u32, receive, sends[i]));
    }
    Ok(())
}

/// NCCL's order of AllReduce at position i, block numbers modulo n: send i−1; n−2 times receive, add, pass on; receive i,
/// add, keep, pass on; n−2 times receive, keep, pass on; receive i+1, keep.
fn all_reduce(i: u32, n: u32, receive: u32, send: u32) -> Vec<Step> {
    let block = |back: u32| (i + 2 * n - back) % n;
    vec![
        Step::new(block(1)).with(Buffer::Input).sending([send]),
        Step::new(block(2)).repeated(n - 2, -1).receiving([receive]).with(Buffer::Input).sending([send]),
        Step::new(i).receiving([receive]).with(Buffer::Input).storing().sending([send]),
        Step::new(block(1)).repeated(n - 2, -1).receiving([receive]).storing().sending([send]),
        Step::new(block(n - 1)).receiving([receive]).storing(),
    ]
}

/// Own block first, then what comes, to the block of the next rank.
fn all_gather(i: u32, n: u32, receive: u32, send: u32) -> Vec<Step> {
    let block = |back: u32| (i + n - back) % n;
    vec![
        Step::new(i).with(Buffer::Input).storing().sending([send]),
        Step::new(block(1)).repeated(n - 2, -1).receiving([receive]).storing().sending([send]),
        Step::new(block(n - 1)).receiving([receive]).storing(),
    ]
}

/// The previous rank's block first, own block last.
fn reduce_scatter(i: u32, n: u32, receive: u32, send: u32) -> Vec<Step> {
    let block = |back: u32| (i + 2 * n - back) % n;
    vec![
        Step::new(block(1)).with(Buffer::Input).sending([send]),
        Step::new(block(2)).repeated(n - 2, -1).receiving([receive]).with(Buffer::Input).sending([send]),
        Step::new(i).receiving([receive]).with(Buffer::Input).storing(),
    ]
}

/// The ring's ranks from the one `after` the root's position on, and the connections from each to the next but the last.
fn line(
    writer: &mut Writer<'_>,
    channel: usize,
    ring: &Ring<'_>,
    after: usize,
) -> Result<(Vec<u32>, Vec<u32>), AlgorithmError> {
    writer.want_blocks(channel, Layout::Contiguous, None)?;
    let root = ring.order.iter().position(|rank| *rank == writer.plan.root).unwrap_or(0);
    let mut ranks = ring.order.to_vec();
    let n = ranks.len();
    ranks.rotate_left((root + after) % n);
    let connections =
        ranks.windows(2).map(|w| writer.connect(channel, w[0], w[1], ring.path(w[0], w[1]))).collect();
    Ok((ranks, connections))
}

/// From the root along the ring.
fn broadcast(writer: &mut Writer<'_>, channel: usize, ring: &Ring<'_>) -> Result<(), AlgorithmError> {
    let (ranks, connections) = line(writer, channel, ring, 0)?;
    for (i, &rank) in ranks.iter().enumerate() {
        let step = every_block(writer.part(channel)).storing();
        let step = match i {
            0 => step.with(Buffer::Input),
            _ => step.receiving([connections[i - 1]]),
        };
        writer.thread(channel, rank, Role::All, vec![step.sending(connections.get(i).copied())]);
    }
    Ok(())
}

/// From the rank after the root along the ring to the root.
fn reduce(writer: &mut Writer<'_>, channel: usize, ring: &Ring<'_>) -> Result<(), AlgorithmError> {
    let (ranks, connections) = line(writer, channel, ring, 1)?;
    for (i, &rank) in ranks.iter().enumerate() {
        let mut step = every_block(writer.part(channel)).with(Buffer::Input);
        step.receive = i.checked_sub(1).map(|i| connections[i]).into_iter().collect();
        step.store = i + 1 == ranks.len();
        writer.thread(channel, rank, Role::All, vec![step.sending(connections.get(i).copied())]);
    }
    Ok(())
}
