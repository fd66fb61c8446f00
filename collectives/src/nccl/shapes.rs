//! How the channels of a call run through all ranks: the graphs of a node, laid over the nodes.

use crate::plan::{Shape, TreePattern};
use crate::schedule::{Algorithm, Operation};

use super::communicator::Communicator;
use super::graphs::{ChannelGraph, View};

/// The shape of channel `index`.
pub(super) fn shape(of: &Communicator, algorithm: Algorithm, operation: Operation, index: u32) -> Shape {
    match algorithm {
        Algorithm::Ring => ring(of, index),
        Algorithm::Tree => tree(of, index, 0),
        Algorithm::DoubleTree => tree(of, index, (index / of.graphs.tree.count()) % 2),
        Algorithm::Nvls | Algorithm::NvlsTree => {
            let (heads, nics) = heads(of, algorithm);
            Shape::Nvls { heads, nics, tree: index % 2 }
        }
        Algorithm::CollnetDirect => {
            let (gpus, nics) = heads(of, algorithm);
            Shape::Collnet { gpus, nics }
        }
        Algorithm::CollnetChain => {
            let graph = &of.graphs.tree.channels[(index % of.graphs.tree.count()) as usize];
            Shape::Collnet { gpus: graph.gpus.clone(), nics: vec![graph.enter] }
        }
        Algorithm::Pat | Algorithm::HalvingDoubling | Algorithm::Pairwise => direct(of, operation, index),
    }
}

/// The ring of a search channel over all nodes. Where channels cross NICs in pairs, odd nodes swap the two of a pair,
/// so that each hop stays on one rail.
fn ring(of: &Communicator, index: u32) -> Shape {
    let graph = &of.graphs.ring;
    let count = graph.count();
    let channel = index % count;
    let swaps = graph.cross_nic == 2 && count.is_multiple_of(2);
    let of_node = |node: u32| -> &ChannelGraph {
        let channel = if swaps && !node.is_multiple_of(2) { channel ^ 1 } else { channel };
        &graph.channels[channel as usize]
    };
    let ranks = of.layout();
    let nodes = || (0..of.nodes).map(|node| (node, of_node(node)));
    Shape::Ring {
        order: nodes()
            .flat_map(|(node, graph)| graph.gpus.iter().map(move |&gpu| ranks.rank(node, gpu)))
            .collect(),
        leave: nodes().map(|(_, graph)| graph.leave).collect(),
        enter: nodes().map(|(_, graph)| graph.enter).collect(),
        relay: nodes().map(|(node, graph)| graph.relay.map(|gpu| ranks.rank(node, gpu))).collect(),
    }
}

fn tree(of: &Communicator, index: u32, tree: u32) -> Shape {
    let graph = &of.graphs.tree;
    let channel = &graph.channels[(index % graph.count()) as usize];
    let pattern = if of.per_node == 1 { TreePattern::Single } else { graph.pattern };
    Shape::Tree { chain: channel.gpus.clone(), tree, nics: [channel.enter, channel.leave], pattern }
}

/// Heads and their NICs.
fn heads(of: &Communicator, algorithm: Algorithm) -> (Vec<u32>, Vec<u32>) {
    match (&of.graphs.nvls, algorithm) {
        (Some(graph), Algorithm::Nvls | Algorithm::NvlsTree) => {
            graph.channels.iter().map(|head| (head.gpus[0], head.enter)).unzip()
        }
        _ => of.graphs.heads.iter().copied().unzip(),
    }
}

/// Every rank with every other. AllToAll and SendRecv use PXN, collectives do not.
fn direct(of: &Communicator, operation: Operation, index: u32) -> Shape {
    let view = View::new(&of.node, &of.config, of.per_node);
    let own: Vec<u32> = (0..of.per_node).map(|gpu| of.node.nic_of(gpu, index)).collect();
    let sends = matches!(operation, Operation::AllToAll | Operation::SendRecv);
    let pxn = (sends && of.nodes > 1 && of.per_node > 1 && view.has_pxn()).then(|| {
        let owner = |nic: u32| {
            let mut users = own.iter().enumerate().filter(|&(_, &used)| used == nic);
            let near = || of.node.affinity[nic as usize].iter().copied().find(|&gpu| gpu < of.per_node);
            users.next().map(|(gpu, _)| gpu as u32).or_else(near).unwrap_or(0)
        };
        (0..of.node.nics).map(owner).collect()
    });
    Shape::Direct { send_nic: own.clone(), receive_nic: own, pxn }
}
