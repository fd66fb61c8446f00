//! What the NICs of a node allow, whatever the algorithm.

use sim_core::Rate;

use super::collective::Collective;
use super::log::MeasuredLog;

/// The network of a node: the line rate of a NIC, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkRate {
    /// Line rate of one NIC.
    pub rate: Rate,
    /// NICs a node.
    pub nics: u32,
}

/// Bus bandwidths that the NICs of a node allow, in GB/s. Headers are not counted, so that reaching one is already
/// impossible.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// With a ring, where each byte enters and leaves every node.
    pub ring_gbytes_per_s: f64,
    /// With the least traffic that reduces in the hosts: 2(N−1)/N of the size in and out of each of N nodes for
    /// AllReduce. On two nodes a tree reaches it.
    pub hierarchical_gbytes_per_s: f64,
    /// With reduction in the network: for AllReduce the size in and out of each node.
    pub most_gbytes_per_s: f64,
    /// Whether the nodes of the log are known; if not, two are assumed, which allows the most.
    pub nodes_known: bool,
}

/// The bounds of a log; `None` on one node, or where collective or ranks are not known.
///
/// For n ranks on N nodes: ring AllReduce moves 2(n−1)/n of the size through each node, which is what bus bandwidth
/// counts, so that its bound is the NICs' rate.
pub fn bounds(log: &MeasuredLog, network: NetworkRate) -> Option<Bounds> {
    let (collective, ranks) = (log.collective()?, log.ranks()?);
    let nodes = log.nodes.unwrap_or(2);
    if nodes < 2 || ranks < nodes {
        return None;
    }
    let nics = f64::from(network.nics.max(1));
    let nic = network.rate.0 as f64 / 8e9;
    let node = nic * nics;
    let (n, big_n) = (f64::from(ranks), f64::from(nodes));
    let per_node = n / big_n;
    let saved = ((n - 1.0) / n) / ((big_n - 1.0) / big_n);
    let (ring, hierarchical, most) = match collective {
        Collective::AllReduce => (node, node * saved, node * (2.0 * (n - 1.0) / n).max(saved)),
        Collective::AllGather | Collective::ReduceScatter => (node, node * saved, node * saved),
        // Each node's ranks send the (n − g)/n of their buffers that leave it.
        Collective::AllToAll => {
            let bound = node / per_node * (n - 1.0) / (n - per_node);
            (bound, bound, bound)
        }
        // One flow a direction crosses between nodes, through the NICs next to its GPU.
        Collective::SendRecv => {
            let bound = nic * (nics / per_node).max(1.0);
            (bound, bound, bound)
        }
        Collective::Broadcast | Collective::Reduce => (node, node, node),
        Collective::Gather | Collective::Scatter => (node * saved, node * saved, node * saved),
    };
    Some(Bounds {
        ring_gbytes_per_s: ring,
        hierarchical_gbytes_per_s: hierarchical,
        most_gbytes_per_s: most,
        nodes_known: log.nodes.is_some(),
    })
}
