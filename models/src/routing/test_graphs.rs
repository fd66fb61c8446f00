//! Small graphs for tests, built link by link.

use sim_core::{Bytes, Duration, Rate, Time};

use crate::config::Operation;
use crate::topology::{Graph, Link, NodeIndex};
use crate::traffic::Flow;

/// A 100 Gb/s, 1 us link.
pub(crate) fn link(a: NodeIndex, b: NodeIndex) -> Link {
    Link { a, b, rate: Rate::gbps(100), delay: Duration::from_us(1), error_rate: 0.0 }
}

/// `leaves` × `per_leaf` hosts, `spines` spines, `parallel` links between each leaf and spine. Links: hosts' first,
/// then leaf by leaf.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, per_leaf: u32, parallel: u32) -> Graph {
    let hosts = leaves * per_leaf;
    let mut names: Vec<String> = (0..hosts).map(|h| format!("host{h}")).collect();
    names.extend((0..leaves).map(|l| format!("leaf{l}")));
    names.extend((0..spines).map(|s| format!("spine{s}")));
    let mut links: Vec<Link> = (0..hosts).map(|h| link(h, hosts + h / per_leaf)).collect();
    for leaf in 0..leaves {
        for spine in 0..spines {
            links.extend((0..parallel).map(|_| link(hosts + leaf, hosts + leaves + spine)));
        }
    }
    Graph::new(hosts, names, links)
}

/// A three-tier tree: `pods` pods of `width` leaves (with `per_leaf` hosts each) and `width` aggregation switches,
/// each of which reaches `cores` cores of its own plane.
pub(crate) fn three_tiers(pods: u32, width: u32, per_leaf: u32, cores: u32, parallel: u32) -> Graph {
    let hosts = pods * width * per_leaf;
    let (leaf0, agg0, core0) = (hosts, hosts + pods * width, hosts + 2 * pods * width);
    let mut names: Vec<String> = (0..hosts).map(|h| format!("host{h}")).collect();
    names.extend((0..pods * width).map(|l| format!("edge{l}")));
    names.extend((0..pods * width).map(|a| format!("agg{a}")));
    names.extend((0..width * cores).map(|c| format!("core{c}")));
    let mut links: Vec<Link> = (0..hosts).map(|h| link(h, leaf0 + h / per_leaf)).collect();
    for pod in 0..pods {
        for agg in 0..width {
            let node = agg0 + pod * width + agg;
            for leaf in 0..width {
                links.extend((0..parallel).map(|_| link(leaf0 + pod * width + leaf, node)));
            }
            for core in 0..cores {
                links.extend((0..parallel).map(|_| link(node, core0 + agg * cores + core)));
            }
        }
    }
    Graph::new(hosts, names, links)
}

/// A ring of `n` switches with one host each.
pub(crate) fn ring(n: u32) -> Graph {
    let mut names: Vec<String> = (0..n).map(|h| format!("host{h}")).collect();
    names.extend((0..n).map(|s| format!("switch{s}")));
    let mut links: Vec<Link> = (0..n).map(|h| link(h, n + h)).collect();
    links.extend((0..n).map(|s| link(n + s, n + (s + 1) % n)));
    Graph::new(n, names, links)
}

/// A lossless write of 1 MB.
pub(crate) fn flow(src: NodeIndex, dst: NodeIndex) -> Flow {
    Flow {
        src,
        dst,
        size: Bytes(1_000_000),
        messages: 1,
        start: Time::ZERO,
        class: 3,
        dscp: 26,
        operation: Operation::Write,
        rate: None,
        ttl: 63,
        paths: Vec::new(),
    }
}
