//! Direct exchange: AllToAll in NCCL's order of peers, and SendRecv with the neighbours.
//!
//! Channels of the same part of the data share out the peers: with P different parts, channel c carries part c mod P, and
//! the P parts of a message take P channels that follow each other. Sends and receives of a channel have up to eight
//! threads each, as NCCL serves up to eight peers of a channel at once.

use super::direct::Direct;
use super::{AlgorithmError, Writer};
use crate::schedule::{Buffer, Channel, Layout, Operation, Role, Step};

/// Peers that a channel serves at once, each way.
const AT_ONCE: usize = 8;

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    let n = writer.plan.ranks.count();
    for channel in writer.channels() {
        let direct = Direct::of(writer, channel)?;
        if writer.plan.operation == Operation::SendRecv {
            writer.want_blocks(channel, Layout::Contiguous, Some(1))?;
            neighbours(writer, channel, n, &direct);
        } else {
            writer.want_blocks(channel, Layout::PerRank, Some(n))?;
            writer.schedule.channels[channel].layout = Layout::PerRank;
        }
    }
    if writer.plan.operation == Operation::AllToAll { all_to_all(writer) } else { Ok(()) }
}

/// Each rank sends to the next.
fn neighbours(writer: &mut Writer<'_>, channel: usize, n: u32, direct: &Direct<'_>) {
    if n == 1 {
        return writer.copy(channel, 0);
    }
    let next = |r: u32| (r + 1) % n;
    let connections: Vec<u32> =
        (0..n).map(|r| writer.connect(channel, r, next(r), direct.path(r, next(r)))).collect();
    for rank in 0..n {
        let (send, receive) = (connections[rank as usize], connections[((rank + n - 1) % n) as usize]);
        let sends = Step::new(0).with(Buffer::Input).sending([send]);
        writer.thread(channel, rank, Role::Send, vec![sends]);
        writer.thread(channel, rank, Role::Receive, vec![Step::new(0).receiving([receive]).storing()]);
    }
}

/// A round of AllToAll: each rank sends to the rank `groups` groups and `locals` places on, and receives from the rank as
/// far back.
#[derive(Clone, Copy, Debug)]
struct Round {
    groups: u32,
    locals: u32,
}

/// Ranks in groups: nodes, or parts of a node of at most eight.
struct Groups {
    size: u32,
    count: u32,
}

impl Groups {
    fn new(ranks: u32, per_node: u32) -> Self {
        let size = (1..=per_node.min(8)).rev().find(|size| per_node.is_multiple_of(*size)).unwrap_or(1);
        Self { size, count: ranks / size }
    }

    /// All rounds in order: distances of groups are triangular numbers, and within them all distances of places.
    fn rounds(&self) -> Vec<Round> {
        let mask = self.count.next_power_of_two() - 1;
        let (mut rounds, mut groups) = (vec![], 0u32);
        for step in 1..=mask + 1 {
            if groups < self.count {
                rounds.extend((0..self.size).map(|locals| Round { groups, locals }));
            }
            groups = groups.wrapping_add(step) & mask;
        }
        rounds
    }

    fn to(&self, rank: u32, round: Round) -> u32 {
        let (group, local) = (rank / self.size, rank % self.size);
        (group + round.groups) % self.count * self.size + (local + round.locals) % self.size
    }

    fn from(&self, rank: u32, round: Round) -> u32 {
        let back = Round { groups: self.count - round.groups, locals: self.size - round.locals };
        self.to(rank, back)
    }
}

/// The number of different parts, after checking that channel c carries part c mod it.
fn parts(writer: &Writer<'_>) -> Result<usize, AlgorithmError> {
    let data = |part: &Channel| (part.offset, part.bytes);
    let all: Vec<(u64, u64)> = writer.plan.channels.iter().map(|c| data(&c.part)).collect();
    let parts = (1..all.len()).find(|p| all[*p] == all[0]).unwrap_or(all.len());
    let fits = all.len().is_multiple_of(parts);
    let other = all.iter().enumerate().position(|(c, part)| *part != all[c % parts]);
    match other.or((!fits).then_some(all.len() - 1)) {
        Some(channel) => {
            Err(writer.wrong_shape(channel, "channels that repeat the same parts of the data in turn"))
        }
        None => Ok(parts),
    }
}

fn all_to_all(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    let ranks = writer.plan.ranks;
    let groups = Groups::new(ranks.count(), ranks.per_node);
    let rounds = groups.rounds();
    let parts = parts(writer)?;
    let bases = writer.plan.channels.len() / parts;
    let mut of_base: Vec<Vec<Round>> = vec![vec![]; bases];
    for (i, round) in rounds.into_iter().enumerate() {
        // All peers of a remote group share a channel; in one node peers are spread over channels.
        let number = if ranks.nodes > 1 { i / groups.size as usize } else { i };
        of_base[spread(number, bases)].push(round);
    }
    for (base, rounds) in of_base.iter().enumerate() {
        for part in 0..parts {
            exchange(writer, base * parts + part, &groups, rounds)?;
        }
    }
    Ok(())
}

/// Bits of `number` reversed, of as many as number `bases`.
fn spread(number: usize, bases: usize) -> usize {
    let bits = bases.next_power_of_two().trailing_zeros();
    if bits == 0 {
        return 0;
    }
    let low = number % (1 << bits);
    (low.reverse_bits() >> (usize::BITS - bits)) % bases
}

/// The threads of a channel that serves `rounds`.
fn exchange(
    writer: &mut Writer<'_>,
    channel: usize,
    groups: &Groups,
    rounds: &[Round],
) -> Result<(), AlgorithmError> {
    let direct = Direct::of(writer, channel)?;
    let n = writer.plan.ranks.count();
    // Connections [round][sender].
    let mut connections: Vec<Vec<u32>> = vec![];
    for round in rounds {
        let mut of_round = vec![];
        for from in (0..n).filter(|_| round.groups > 0 || round.locals > 0) {
            let to = groups.to(from, *round);
            of_round.push(writer.connect(channel, from, to, direct.path(from, to)));
        }
        connections.push(of_round);
    }
    for rank in 0..n {
        for thread in 0..AT_ONCE.min(rounds.len()) {
            let mine = || rounds.iter().zip(&connections).skip(thread).step_by(AT_ONCE);
            let send = mine().map(|(round, connections)| match connections.get(rank as usize) {
                Some(connection) => {
                    Step::new(groups.to(rank, *round)).with(Buffer::Input).sending([*connection])
                }
                None => Step::new(rank).with(Buffer::Input).storing(),
            });
            let receive = mine().filter(|(_, connections)| !connections.is_empty());
            let receive = receive.map(|(round, connections)| {
                let from = groups.from(rank, *round);
                Step::new(from).receiving([connections[from as usize]]).storing()
            });
            writer.thread(channel, rank, Role::Send, send.collect());
            writer.thread(channel, rank, Role::Receive, receive.collect());
        }
    }
    Ok(())
}
