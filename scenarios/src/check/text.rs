//! How figures and lists are written in findings.

use models::topology::{Graph, NodeIndex, PortIndex};
use sim_core::{Bytes, Duration};

/// Names shown of a list.
const SHOWN: usize = 3;

/// `items` as "a, b, c and 13 more".
pub(crate) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(SHOWN);
    let shown = items.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Ports by name, the first three.
pub(crate) fn ports(graph: &Graph, ports: &[PortIndex]) -> String {
    list(ports.iter().map(|&p| graph.port_name(p)))
}

/// Nodes by name, the first three.
pub(crate) fn nodes(graph: &Graph, nodes: &[NodeIndex]) -> String {
    list(nodes.iter().map(|&n| graph.names[n as usize].clone()))
}

/// A flow as "flow 3 (host0 to host5)".
pub(crate) fn flow(graph: &Graph, index: usize, src: NodeIndex, dst: NodeIndex) -> String {
    format!("flow {index} ({} to {})", graph.names[src as usize], graph.names[dst as usize])
}

/// A size: exact bytes below 100 KB, else with one decimal.
pub(crate) fn size(bytes: Bytes) -> String {
    let b = bytes.0 as f64;
    match bytes.0 {
        0..100_000 => format!("{} B", bytes.0),
        100_000..1_000_000 => format!("{:.1} KB", b / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", b / 1e6),
        1_000_000_000.. => format!("{:.1} GB", b / 1e9),
    }
}

/// A span with up to two decimals.
pub(crate) fn span(time: Duration) -> String {
    let t = time.0 as f64;
    match time.0 {
        0..1_000_000 => format!("{:.0} ns", t / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} us", t / 1e6),
        1_000_000_000.. => format!("{:.2} ms", t / 1e9),
    }
}

/// A propagation delay and the cable it stands for.
pub(crate) fn distance(delay: Duration) -> String {
    format!("{} ({} m)", span(delay), delay.0 / 5000)
}

/// "1 port", "3 ports".
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_lists_are_cut() {
        assert_eq!(size(Bytes(38_912)), "38912 B");
        assert_eq!(size(Bytes(104_448)), "104.4 KB");
        assert_eq!(size(Bytes(1_000_018_432)), "1.0 GB");
        assert_eq!(span(Duration::from_ns(1500)), "1.50 us");
        assert_eq!(distance(Duration::from_ns(1500)), "1.50 us (300 m)");
        assert_eq!(list(["a", "b", "c", "d", "e"].map(String::from).into_iter()), "a, b, c and 2 more");
        assert_eq!(list(["a"].map(String::from).into_iter()), "a");
        assert_eq!((count(1, "port"), count(2, "port")), ("1 port".into(), "2 ports".into()));
    }
}
