//! Recursive halving, then doubling. With p the largest power of two of ranks, p members exchange halves of what they
//! hold with the member at distance 1, 2, 4 …: the most bytes go the shortest way. Surplus ranks fold into a neighbour
//! before and get the result from it after.
//!
//! Member v (surplus ranks aside) ends the halving with slot v, bits reversed: so all that is exchanged is contiguous.

use super::direct::Direct;
use super::{AlgorithmError, Writer};
use crate::schedule::{Buffer, Layout, Operation, Role, Step};

/// Members, their slots and the blocks of each slot.
struct Members {
    ranks: u32,
    /// Members: the largest power of two of ranks.
    count: u32,
    /// Exchanges: its logarithm.
    exchanges: u32,
    /// First block of each slot, and the number of blocks at the end.
    starts: Vec<u32>,
    /// Data block of each block, where blocks are the ranks'.
    order: Vec<u32>,
}

impl Members {
    fn new(ranks: u32, per_rank: bool) -> Self {
        let exchanges = ranks.ilog2();
        let mut members = Self { ranks, count: 1 << exchanges, exchanges, starts: vec![], order: vec![] };
        for slot in 0..members.count {
            members.starts.push(members.order.len() as u32);
            let member = members.slot(slot);
            match members.surplus(member) {
                Some(surplus) if per_rank => members.order.extend([surplus, members.rank(member)]),
                _ => members.order.push(members.rank(member)),
            }
        }
        members.starts.push(members.order.len() as u32);
        members
    }

    /// The slot of a member, and the member of a slot.
    fn slot(&self, member: u32) -> u32 {
        if self.exchanges == 0 { 0 } else { member.reverse_bits() >> (32 - self.exchanges) }
    }

    /// The rank of a member.
    fn rank(&self, member: u32) -> u32 {
        let surplus = self.ranks - self.count;
        if member < surplus { 2 * member + 1 } else { member + surplus }
    }

    /// The rank that folds into a member.
    fn surplus(&self, member: u32) -> Option<u32> {
        (member < self.ranks - self.count).then_some(2 * member)
    }

    /// A step about all blocks of `count` slots from `first`.
    fn step(&self, first: u32, count: u32) -> Step {
        let start = self.starts[first as usize];
        Step::new(start).spanning(self.starts[(first + count) as usize] - start)
    }

    /// A step about all blocks.
    fn all(&self) -> Step {
        self.step(0, self.count)
    }

    /// The slots that a member holds after `exchange` halvings.
    fn held(&self, member: u32, exchange: u32) -> (u32, u32) {
        let count = self.count >> exchange;
        (self.slot(member) / count * count, count)
    }
}

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    let (n, operation) = (writer.plan.ranks.count(), writer.plan.operation);
    let per_rank = operation != Operation::AllReduce;
    let members = Members::new(n, per_rank);
    for channel in writer.channels() {
        let direct = Direct::of(writer, channel)?;
        let layout = if per_rank { Layout::PerRank } else { Layout::Contiguous };
        writer.want_blocks(channel, layout, Some(members.order.len() as u32))?;
        if n == 1 {
            writer.copy(channel, 0);
            continue;
        }
        // Both of a pair send before they receive.
        writer.want_slots(channel, writer.part(channel).slices)?;
        if per_rank {
            let part = &mut writer.schedule.channels[channel];
            part.layout = layout;
            part.order = members.order.clone();
        }
        exchange(writer, channel, &members, &direct);
    }
    Ok(())
}

/// All threads of a channel.
fn exchange(writer: &mut Writer<'_>, channel: usize, members: &Members, direct: &Direct<'_>) {
    let link = |writer: &mut Writer<'_>, from, to| writer.connect(channel, from, to, direct.path(from, to));
    let sends: Vec<Vec<u32>> = (0..members.exchanges)
        .map(|t| {
            let pairs = (0..members.count).map(|v| (members.rank(v), members.rank(v ^ (1 << t))));
            pairs.map(|(from, to)| link(writer, from, to)).collect()
        })
        .collect();
    for member in 0..members.count {
        let rank = members.rank(member);
        let folds = members.surplus(member).map(|surplus| {
            // AllGather and ReduceScatter need both ways too: data in, result out.
            (surplus, link(writer, surplus, rank), link(writer, rank, surplus))
        });
        let fold = folds.map(|(_, to, from)| (to, from));
        let steps = member_steps(members, writer.plan.operation, member, fold, &sends);
        writer.thread(channel, rank, Role::All, steps);
        if let Some((surplus, to, from)) = folds {
            let steps = surplus_steps(members, writer.plan.operation, member, to, from);
            writer.thread(channel, surplus, Role::All, steps);
        }
    }
}

/// What a member does; `fold`: connections from and to the rank that folds into it.
fn member_steps(
    members: &Members,
    operation: Operation,
    member: u32,
    fold: Option<(u32, u32)>,
    sends: &[Vec<u32>],
) -> Vec<Step> {
    let mut steps = vec![];
    let own = members.step(members.slot(member), 1);
    let last = own.block + own.span - 1;
    let gathers = operation == Operation::AllGather;
    if let Some((from, _)) = fold {
        steps.push(if gathers {
            Step::new(own.block).receiving([from]).storing()
        } else {
            members.all().receiving([from]).with(Buffer::Input).storing()
        });
    }
    if gathers {
        steps.push(Step::new(last).with(Buffer::Input).storing());
    } else {
        let first = if fold.is_some() { Buffer::Output } else { Buffer::Input };
        for (t, connections) in sends.iter().enumerate() {
            let peer = member ^ (1 << t);
            let held = if t == 0 { first } else { Buffer::Output };
            let half = |v| {
                let (first, count) = members.held(v, t as u32 + 1);
                members.step(first, count)
            };
            steps.push(half(peer).with(held).sending([connections[member as usize]]));
            steps.push(half(member).receiving([connections[peer as usize]]).with(held).storing());
        }
    }
    if operation != Operation::ReduceScatter {
        for (t, connections) in sends.iter().enumerate().rev() {
            let peer = member ^ (1 << t);
            let part = |v| {
                let (first, count) = members.held(v, t as u32 + 1);
                members.step(first, count)
            };
            steps.push(part(member).with(Buffer::Output).sending([connections[member as usize]]));
            steps.push(part(peer).receiving([connections[peer as usize]]).storing());
        }
    }
    if let Some((_, to)) = fold {
        let result = match operation {
            Operation::ReduceScatter => Step::new(own.block),
            Operation::AllGather => others(members, own.block),
            _ => members.all(),
        };
        steps.push(result.with(Buffer::Output).sending([to]));
    }
    steps
}

/// What the surplus rank does that folds into `member`.
fn surplus_steps(members: &Members, operation: Operation, member: u32, to: u32, from: u32) -> Vec<Step> {
    let own = members.starts[members.slot(member) as usize];
    match operation {
        Operation::AllGather => vec![
            Step::new(own).with(Buffer::Input).storing().sending([to]),
            others(members, own).receiving([from]).storing(),
        ],
        Operation::ReduceScatter => {
            vec![members.all().with(Buffer::Input).sending([to]), Step::new(own).receiving([from]).storing()]
        }
        _ => vec![members.all().with(Buffer::Input).sending([to]), members.all().receiving([from]).storing()],
    }
}

/// A step about all blocks but one.
fn others(members: &Members, own: u32) -> Step {
    let blocks = members.order.len() as u32;
    Step::new((own + 1) % blocks).spanning(blocks - 1)
}
