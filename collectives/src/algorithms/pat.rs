//! PAT (parallel aggregated trees): AllGather and ReduceScatter with one rank a node. Each rank's block takes a binomial
//! tree of its own, all trees alike but for the rank they start from, the longest edges first. What goes over one edge in
//! all trees is aggregated into messages of up to a step's buffer.
//!
//! With x the distance of a rank from a block's owner, the block comes to x from x − (lowest bit of x).

use super::{AlgorithmError, Writer, want_length};
use crate::plan::Shape;
use crate::schedule::{Buffer, Channel, Layout, Operation, Path, Role, Step};

/// Most bytes aggregated into one message: a step of NCCL's buffer.
const STEP_BYTES: u64 = 512 * 1024;

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    let ranks = writer.plan.ranks;
    if ranks.per_node != 1 {
        return Err(AlgorithmError::Nodes {
            algorithm: writer.plan.algorithm,
            operation: writer.plan.operation,
            nodes: ranks.nodes,
            per_node: ranks.per_node,
            wanted: "one rank a node",
        });
    }
    for channel in writer.channels() {
        let Shape::Direct { send_nic, receive_nic, .. } = &writer.plan.channels[channel].shape else {
            return Err(writer.wrong_shape(channel, "NICs of direct exchange"));
        };
        want_length(channel, "the sending NICs", send_nic.len(), 1)?;
        want_length(channel, "the receiving NICs", receive_nic.len(), 1)?;
        writer.want_blocks(channel, Layout::PerRank, Some(ranks.count()))?;
        writer.schedule.channels[channel].layout = Layout::PerRank;
        if ranks.count() == 1 {
            writer.copy(channel, 0);
            continue;
        }
        writer.want_slots(channel, writer.part(channel).slices)?;
        let path = Path::Network { from_nic: send_nic[0], to_nic: receive_nic[0], relay: None };
        trees(writer, channel, path);
    }
    Ok(())
}

/// All trees of a channel.
fn trees(writer: &mut Writer<'_>, channel: usize, path: Path) {
    let n = writer.plan.ranks.count();
    let gathers = writer.plan.operation == Operation::AllGather;
    // Connections [dimension][rank]: AllGather to the rank 2^d after, ReduceScatter to the rank 2^d before.
    let dimensions = n.next_power_of_two().trailing_zeros();
    let mut connections = vec![];
    for d in 0..dimensions {
        let peer = |r: u32| if gathers { (r + (1 << d)) % n } else { (r + n - (1 << d)) % n };
        connections.push((0..n).map(|r| writer.connect(channel, r, peer(r), path)).collect::<Vec<u32>>());
    }
    let exchange = Exchange::new(writer.part(channel), writer.plan.channels[channel].slots, n);
    for rank in 0..n {
        let steps = if gathers {
            all_gather(&exchange, rank, &connections)
        } else {
            reduce_scatter(&exchange, rank, &connections)
        };
        writer.thread(channel, rank, Role::All, steps);
    }
}

/// How a rank exchanges the blocks of one dimension.
struct Exchange {
    n: u32,
    /// Blocks of a message.
    aggregate: u32,
    /// Messages sent before as many are received: no more than a connection holds.
    batch: u32,
}

impl Exchange {
    fn new(part: &Channel, slots: u32, n: u32) -> Self {
        let bytes = if part.loops > 1 { part.chunk } else { part.last_chunk.min(part.bytes) };
        let aggregate = (STEP_BYTES / bytes.max(1)).clamp(1, u64::from(n)) as u32;
        Self { n, aggregate, batch: (slots / part.slices.max(1)).max(1) }
    }

    /// Of `items` at distances `first + i · stride` from their owners, steps of `rank` about items `from..to`, aggregated.
    fn steps(&self, rank: u32, first: u32, stride: u32, from: u32, to: u32) -> Vec<Step> {
        let block = |item: u32| {
            let distance = u64::from(first) + u64::from(item) * u64::from(stride);
            ((u64::from(rank) + u64::from(self.n) - distance % u64::from(self.n)) % u64::from(self.n)) as u32
        };
        let a = self.aggregate;
        let (whole, rest) = ((to - from) / a, (to - from) % a);
        let mut steps = vec![];
        if whole > 0 {
            let back = -(i64::from(a) * i64::from(stride) % i64::from(self.n)) as i32;
            steps.push(Step::new(block(from + a - 1)).repeated(whole, back).spread(a, stride));
        }
        if rest > 0 {
            steps.push(Step::new(block(to - 1)).spread(rest, stride));
        }
        steps
    }

    /// Items `0..sends` sent and `0..receives` received in turns.
    fn turns(
        &self,
        sends: u32,
        receives: u32,
        mut send: impl FnMut(u32, u32) -> Vec<Step>,
        mut receive: impl FnMut(u32, u32) -> Vec<Step>,
    ) -> Vec<Step> {
        let turn = self.batch.saturating_mul(self.aggregate);
        let mut steps = vec![];
        let mut from = 0;
        while from < sends.max(receives) {
            let to = from.saturating_add(turn);
            steps.extend(send(from.min(sends), to.min(sends)));
            steps.extend(receive(from.min(receives), to.min(receives)));
            from = to;
        }
        steps
    }
}

/// From the longest edges to the shortest: distances x that are multiples of 2^(d+1) send to x + 2^d.
fn all_gather(exchange: &Exchange, rank: u32, connections: &[Vec<u32>]) -> Vec<Step> {
    let n = exchange.n;
    let mut steps = vec![Step::new(rank).with(Buffer::Input).storing()];
    for (d, connections) in connections.iter().enumerate().rev() {
        let (edge, stride) = (1u32 << d, 2u32 << d);
        let count = (n - edge).div_ceil(stride);
        let (send, receive) = (connections[rank as usize], connections[((rank + n - edge) % n) as usize]);
        steps.extend(exchange.turns(
            count,
            count,
            |from, to| {
                let all = exchange.steps(rank, 0, stride, from, to);
                all.into_iter().map(|s| s.with(Buffer::Output).sending([send])).collect()
            },
            |from, to| {
                let all = exchange.steps(rank, edge, stride, from, to);
                all.into_iter().map(|s| s.receiving([receive]).storing()).collect()
            },
        ));
    }
    steps
}

/// The same trees the other way, from the shortest edges to the longest.
fn reduce_scatter(exchange: &Exchange, rank: u32, connections: &[Vec<u32>]) -> Vec<Step> {
    let n = exchange.n;
    let mut steps = vec![];
    for (d, connections) in connections.iter().enumerate() {
        let (edge, stride) = (1u32 << d, 2u32 << d);
        let count = (n - edge).div_ceil(stride);
        let (send, receive) = (connections[rank as usize], connections[((rank + edge) % n) as usize]);
        // The last rank of a tree is a leaf whatever its distance: it has nothing but its input. A message of its own.
        let leaf = d > 0 && edge + (count - 1) * stride == n - 1;
        let inner = count - u32::from(leaf);
        let held = if d == 0 { Buffer::Input } else { Buffer::Output };
        steps.extend(exchange.turns(
            count,
            count,
            |from, to| {
                let partial = exchange.steps(rank, edge, stride, from.min(inner), to.min(inner));
                let own = exchange.steps(rank, edge, stride, from.max(inner).min(to), to);
                let partial = partial.into_iter().map(|s| s.with(held).sending([send]));
                partial.chain(own.into_iter().map(|s| s.with(Buffer::Input).sending([send]))).collect()
            },
            |from, to| {
                let mut all = exchange.steps(rank, 0, stride, from.min(inner), to.min(inner));
                all.extend(exchange.steps(rank, 0, stride, from.max(inner).min(to), to));
                all.into_iter().map(|s| s.receiving([receive]).with(held).storing()).collect()
            },
        ));
    }
    steps
}
