//! Drawings of channels: rings as a line through the nodes, trees as trees, everything else as lists of peers.

use std::collections::{BTreeMap, BTreeSet};

use super::Nodes;
use crate::schedule::{Algorithm, CollectiveSchedule, Connection, Operation, Path, Role};

/// Widest line of a drawing, if its parts allow.
const WIDTH: usize = 100;

/// The lines of a channel's drawing.
pub(super) fn draw(schedule: &CollectiveSchedule, nodes: &Nodes, channel: u32) -> Vec<String> {
    let drawing = Drawing { schedule, nodes, channel };
    match schedule.algorithm {
        Algorithm::Ring => drawing.ring(),
        Algorithm::Tree | Algorithm::DoubleTree | Algorithm::NvlsTree | Algorithm::CollnetChain => {
            drawing.trees()
        }
        Algorithm::Nvls | Algorithm::CollnetDirect => drawing.heads(),
        Algorithm::Pat | Algorithm::HalvingDoubling | Algorithm::Pairwise => drawing.peers(),
    }
}

struct Drawing<'a> {
    schedule: &'a CollectiveSchedule,
    nodes: &'a Nodes,
    channel: u32,
}

/// A tree: each rank's parent and by which connection, and its children.
#[derive(Default)]
struct Forest {
    parent: BTreeMap<u32, u32>,
    children: BTreeMap<u32, Vec<u32>>,
}

impl Drawing<'_> {
    fn connections(&self) -> impl Iterator<Item = (u32, &Connection)> {
        let of_channel = |c: &(u32, &Connection)| c.1.channel == self.channel;
        (0u32..).zip(&self.schedule.connections).filter(of_channel)
    }

    fn node(&self, ranks: &[u32]) -> String {
        format!("node {} {}", self.nodes.of_rank(ranks[0]), list(ranks))
    }

    /// Along the ring: nodes, and the NICs between them.
    fn ring(&self) -> Vec<String> {
        let next: BTreeMap<u32, &Connection> = self.connections().map(|(_, c)| (c.from, c)).collect();
        // A line starts where nobody sends to; a ring where it enters a node.
        let network = |c: &&&Connection| matches!(c.path, Path::Network { .. });
        let receives: BTreeSet<u32> = next.values().map(|c| c.to).collect();
        let entered =
            next.values().filter(network).map(|c| c.to).min_by_key(|rank| self.nodes.of_rank(*rank));
        let start = next.keys().copied().find(|rank| !receives.contains(rank));
        let start = start.or(entered).or(next.keys().next().copied());
        let Some(start) = start else { return vec![] };
        let (mut parts, mut here, mut rank) = (vec![], vec![start], start);
        for _ in 0..next.len() {
            let Some(connection) = next.get(&rank) else { break };
            rank = connection.to;
            if let Path::Network { .. } = connection.path {
                parts.push(format!("{} {}", self.node(&here), arrow(connection)));
                here.clear();
            }
            if rank == start {
                break;
            }
            here.push(rank);
        }
        let closed = rank == start;
        match (here.is_empty(), closed) {
            (true, _) => parts.push(format!("node {}", self.nodes.of_rank(start))),
            (false, true) => parts.push(format!("{} → {start}", self.node(&here))),
            (false, false) => parts.push(self.node(&here)),
        }
        wrap(&parts)
    }

    /// Who passes sums on to whom (or, in Broadcast, takes copies from whom).
    fn forest(&self) -> Forest {
        let mut forest = Forest::default();
        for thread in self.schedule.threads.iter().filter(|t| t.channel == self.channel) {
            let Some(step) = thread.steps.first() else { continue };
            let hands_out = || step.send.iter().any(|c| self.path(*c) == Path::NvlsMulticast);
            let sums = match thread.role {
                Role::Up => true,
                // The root of NVLSTree hands out to the NVSwitch at once.
                Role::Reduce if !hands_out() => true,
                Role::Down if self.schedule.operation == Operation::Broadcast => false,
                _ => continue,
            };
            let list = if sums { &step.send } else { &step.receive };
            for index in list {
                let c = &self.schedule.connections[*index as usize];
                let parent = if sums { c.to } else { c.from };
                if parent != thread.rank && matches!(c.path, Path::Local | Path::Network { .. }) {
                    forest.parent.insert(thread.rank, *index);
                    forest.children.entry(parent).or_default().push(thread.rank);
                }
            }
        }
        forest
    }

    fn path(&self, connection: u32) -> Path {
        self.schedule.connections[connection as usize].path
    }

    fn trees(&self) -> Vec<String> {
        let forest = self.forest();
        let all = forest.children.keys().filter(|rank| !forest.parent.contains_key(rank));
        let mut lines = vec![];
        for &root in all {
            self.subtree(&forest, root, &mut lines);
        }
        lines.extend(self.groups());
        lines
    }

    /// The chain that starts at a rank, and below it what hangs on the chain through the network.
    fn subtree(&self, forest: &Forest, top: u32, lines: &mut Vec<String>) {
        // An explicit stack: trees read from files may be deep.
        let mut stack = vec![(top, String::new(), String::new())];
        let mut seen = BTreeSet::new();
        while let Some((top, label, indent)) = stack.pop() {
            let mut chain = vec![];
            let mut below = vec![];
            let mut rank = Some(top);
            while let Some(here) = rank.take() {
                if !seen.insert(here) {
                    break;
                }
                chain.push(here);
                for &child in forest.children.get(&here).into_iter().flatten() {
                    let local = forest.parent.get(&child).is_some_and(|c| self.path(*c) == Path::Local);
                    if local && rank.is_none() { rank = Some(child) } else { below.push((here, child)) }
                }
            }
            if chain.is_empty() {
                continue;
            }
            lines.push(format!("{label}{}", self.node(&chain)));
            let last = below.len();
            for (i, (here, child)) in below.into_iter().enumerate().rev() {
                let (corner, bar) = if i + 1 == last { ("└─", "   ") } else { ("├─", "│  ") };
                let hop = forest.parent.get(&child).map_or(String::new(), |index| {
                    let c = &self.schedule.connections[*index as usize];
                    match c.path {
                        Path::Network { from_nic, to_nic, .. } if c.from == child => {
                            format!(" nic {to_nic}⇄nic {from_nic}")
                        }
                        Path::Network { from_nic, to_nic, .. } => format!(" nic {from_nic}⇄nic {to_nic}"),
                        _ => String::new(),
                    }
                });
                let label = format!("{indent}{corner} {here}⇄{child}{hop} ");
                stack.push((child, label, format!("{indent}{bar}")));
            }
        }
    }

    /// Reductions in the network and who takes part.
    fn groups(&self) -> Vec<String> {
        let mut groups: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (_, c) in self.connections() {
            if let Path::InNetwork { group, nic } = c.path {
                groups.entry(group).or_default().push(format!("{} (nic {nic})", c.from));
            }
        }
        let line = |(group, members): (u32, Vec<String>)| {
            format!("reduction {group} in the network of {}", members.join(", "))
        };
        groups.into_iter().map(line).collect()
    }

    /// Heads and the ranks that feed them.
    fn heads(&self) -> Vec<String> {
        let mut feeds: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut copies: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for thread in self.schedule.threads.iter().filter(|t| t.channel == self.channel) {
            for c in thread.steps.iter().flat_map(|step| &step.send) {
                let c = &self.schedule.connections[*c as usize];
                match (thread.role, c.path) {
                    (Role::Scatter, _) => feeds.entry(c.to).or_default().push(c.from),
                    (_, Path::NvlsMulticast) => copies.entry(c.from).or_default().push(c.to),
                    _ => {}
                }
            }
        }
        let (verb, of) = if feeds.is_empty() { ("copies to", copies) } else { ("sums", feeds) };
        let line = |(head, ranks): (u32, Vec<u32>)| {
            format!("node {} head {head} {verb} {}", self.nodes.of_rank(head), list(&ranks))
        };
        let mut lines: Vec<String> = of.into_iter().map(line).collect();
        lines.extend(self.groups());
        lines
    }

    /// Whom each rank sends to.
    fn peers(&self) -> Vec<String> {
        let mut of: BTreeMap<u32, (Vec<u32>, Vec<String>)> = BTreeMap::new();
        for (_, c) in self.connections() {
            let (local, network) = of.entry(c.from).or_default();
            match c.path {
                Path::Network { .. } => network.push(format!("{} {}", arrow(c), c.to)),
                _ => local.push(c.to),
            }
        }
        let line = |(rank, (local, mut network)): (u32, (Vec<u32>, Vec<String>))| {
            let shown = network.len().min(4);
            let more = network.len() - shown;
            network.truncate(shown);
            if more > 0 {
                network.push(format!("… {more} more"));
            }
            let local = if local.is_empty() { String::new() } else { format!(" → {}", list(&local)) };
            let network = if shown == 0 { String::new() } else { format!("  {}", network.join("  ")) };
            format!("node {} rank {rank}{local}{network}", self.nodes.of_rank(rank))
        };
        of.into_iter().map(line).collect()
    }
}

/// The way of a connection between nodes.
fn arrow(connection: &Connection) -> String {
    match connection.path {
        Path::Network { from_nic, to_nic, relay } => {
            let relay = relay.map_or(String::new(), |relay| format!("{relay}⇒"));
            format!("⇒{relay}nic {from_nic}→nic {to_nic}⇒")
        }
        _ => "→".to_owned(),
    }
}

/// Ranks in brackets: runs of three and more by their ends, where they count up or down by one.
fn list(ranks: &[u32]) -> String {
    let mut parts = vec![];
    let mut i = 0;
    while i < ranks.len() {
        let step = |j: usize| i64::from(ranks[j + 1]) - i64::from(ranks[j]);
        let mut end = i;
        while end + 1 < ranks.len() && step(end).abs() == 1 && step(end) == step(i) {
            end += 1;
        }
        if end >= i + 8 {
            parts.push(format!("{}…{}", ranks[i], ranks[end]));
        } else {
            parts.extend(ranks[i..=end].iter().map(ToString::to_string));
        }
        i = end + 1;
    }
    format!("[{}]", parts.join(" "))
}

/// Joins parts to lines.
fn wrap(parts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + part.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}
