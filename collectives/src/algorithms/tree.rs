//! Trees: a chain in each node, binary trees over the nodes. AllReduce sums towards the root and copies away from it at
//! the same time; Broadcast and Reduce use the same edges, turned so that the operation's root is the tree's.

use super::{AlgorithmError, NodeTree, Writer, every_block, want_permutation};
use crate::plan::{Ranks, Shape, TreePattern};
use crate::schedule::{Buffer, Layout, Operation, Path, Role};

/// A tree over ranks.
struct Tree {
    root: u32,
    /// For each rank, its parent, with the NIC of both ends (the rank's first) where they are on different nodes.
    parent: Vec<Option<Edge>>,
    /// For each rank, its children in order: along the chain, then first and second child node.
    children: Vec<Vec<u32>>,
}

/// What joins a rank to its parent.
#[derive(Clone, Copy)]
struct Edge {
    parent: u32,
    /// NIC of the rank and of its parent.
    nics: Option<(u32, u32)>,
}

impl Edge {
    fn up(&self) -> Path {
        self.nics.map_or(Path::Local, |(from_nic, to_nic)| Path::Network { from_nic, to_nic, relay: None })
    }

    fn down(&self) -> Path {
        self.nics.map_or(Path::Local, |(to_nic, from_nic)| Path::Network { from_nic, to_nic, relay: None })
    }
}

pub(super) fn write(writer: &mut Writer<'_>) -> Result<(), AlgorithmError> {
    for channel in writer.channels() {
        writer.want_blocks(channel, Layout::Contiguous, None)?;
        let mut tree = shape(writer, channel)?;
        match writer.plan.operation {
            Operation::AllReduce => all_reduce(writer, channel, &tree),
            Operation::Broadcast => {
                tree.turn(writer.plan.root);
                broadcast(writer, channel, &tree);
            }
            Operation::Reduce => {
                tree.turn(writer.plan.root);
                reduce(writer, channel, &tree);
            }
            operation @ (Operation::AllGather
            | Operation::ReduceScatter
            | Operation::AllToAll
            | Operation::SendRecv) => {
                return Err(AlgorithmError::unsupported(writer.plan.algorithm, operation));
            }
        }
    }
    Ok(())
}

/// The tree of a channel.
fn shape(writer: &Writer<'_>, channel: usize) -> Result<Tree, AlgorithmError> {
    let ranks = writer.plan.ranks;
    let Shape::Tree { chain, tree, nics, pattern } = &writer.plan.channels[channel].shape else {
        return Err(writer.wrong_shape(channel, "a tree"));
    };
    want_permutation(channel, "the tree's chain", chain, ranks.per_node)?;
    Ok(Tree::new(ranks, chain, *tree, *nics, *pattern))
}

impl Tree {
    fn new(ranks: Ranks, chain: &[u32], tree: u32, nics: [u32; 2], pattern: TreePattern) -> Self {
        let n = ranks.count() as usize;
        let (mut parent, mut children) = (vec![None; n], vec![vec![]; n]);
        let second = 1.min(chain.len() - 1);
        // Where in the chain a node meets its first and its second child.
        let meets = match pattern {
            TreePattern::Balanced => [second, 0],
            TreePattern::Split => [second, second],
            TreePattern::Single => [0, 0],
        };
        for node in 0..ranks.nodes {
            let rank = |index: usize| ranks.rank(node, chain[index]);
            for index in 1..chain.len() {
                parent[rank(index) as usize] = Some(Edge { parent: rank(index - 1), nics: None });
                children[rank(index - 1) as usize].push(rank(index));
            }
            for (child, at) in NodeTree::new(tree, node, ranks.nodes).children.into_iter().zip(meets) {
                let Some(child) = child else { continue };
                let below = ranks.rank(child, chain[0]);
                let nics = Some((nics[0], nics[usize::from(at != 0)]));
                parent[below as usize] = Some(Edge { parent: rank(at), nics });
                children[rank(at) as usize].push(below);
            }
        }
        Self { root: ranks.rank(NodeTree::root(tree, ranks.nodes), chain[0]), parent, children }
    }

    /// Makes `root` the root: turns the edges between it and the old root.
    fn turn(&mut self, root: u32) {
        let (mut rank, mut above) = (root, self.parent[root as usize].take());
        while let Some(edge) = above {
            let turned = Edge { parent: rank, nics: edge.nics.map(|(a, b)| (b, a)) };
            above = self.parent[edge.parent as usize].replace(turned);
            self.children[edge.parent as usize].retain(|child| *child != rank);
            self.children[rank as usize].push(edge.parent);
            rank = edge.parent;
        }
        self.root = root;
    }

    /// New connections from each rank to its parent.
    fn connect_up(&self, writer: &mut Writer<'_>, channel: usize) -> Vec<Option<u32>> {
        let edges = self.parent.iter().enumerate();
        edges.map(|(r, e)| e.map(|e| writer.connect(channel, r as u32, e.parent, e.up()))).collect()
    }

    /// New connections to each rank from its parent.
    fn connect_down(&self, writer: &mut Writer<'_>, channel: usize) -> Vec<Option<u32>> {
        let edges = self.parent.iter().enumerate();
        edges.map(|(r, e)| e.map(|e| writer.connect(channel, e.parent, r as u32, e.down()))).collect()
    }

    /// Of a list with one connection a rank, those of the children of `rank`.
    fn of_children(&self, rank: usize, connections: &[Option<u32>]) -> Vec<u32> {
        self.children[rank].iter().filter_map(|child| connections[*child as usize]).collect()
    }
}

/// The root adds and hands out in one; all others have one thread for each direction.
fn all_reduce(writer: &mut Writer<'_>, channel: usize, tree: &Tree) {
    let up = tree.connect_up(writer, channel);
    let down = tree.connect_down(writer, channel);
    let part = writer.part(channel);
    let block = || every_block(part);
    for rank in 0..up.len() {
        let below = tree.of_children(rank, &up);
        let copies = tree.of_children(rank, &down);
        let sum = block().receiving(below).with(Buffer::Input);
        match (up[rank], down[rank]) {
            (Some(up), Some(down)) => {
                let copy = block().receiving([down]).storing().sending(copies);
                writer.thread(channel, rank as u32, Role::Up, vec![sum.sending([up])]);
                writer.thread(channel, rank as u32, Role::Down, vec![copy]);
            }
            _ => writer.thread(channel, rank as u32, Role::All, vec![sum.storing().sending(copies)]),
        }
    }
}

/// Away from the root.
fn broadcast(writer: &mut Writer<'_>, channel: usize, tree: &Tree) {
    let down = tree.connect_down(writer, channel);
    for rank in 0..down.len() {
        let mut step = every_block(writer.part(channel)).storing().sending(tree.of_children(rank, &down));
        step.receive = down[rank].into_iter().collect();
        step.source = (rank as u32 == tree.root).then_some(Buffer::Input);
        writer.thread(channel, rank as u32, Role::Down, vec![step]);
    }
}

/// Towards the root.
fn reduce(writer: &mut Writer<'_>, channel: usize, tree: &Tree) {
    let up = tree.connect_up(writer, channel);
    for rank in 0..up.len() {
        let step = every_block(writer.part(channel)).receiving(tree.of_children(rank, &up));
        let mut step = step.with(Buffer::Input).sending(up[rank]);
        step.store = rank as u32 == tree.root;
        writer.thread(channel, rank as u32, Role::Up, vec![step]);
    }
}
