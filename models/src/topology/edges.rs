//! Topologies written out link by link.

use super::plan::{Cable, MAX_HOSTS, within_limits};
use super::{Graph, Link, NameIndex, NodeIndex, TopologyError};
use crate::config::{Edge, EdgeList, LinkConfig};

const PLACE: &str = "topology.edges";

/// Hosts and switches in the order given; ports in the order of the links.
pub(super) fn build(config: &EdgeList) -> Result<Graph, TopologyError> {
    let hosts = config.hosts.len() as u64;
    if hosts == 0 {
        let (place, min, max) = (format!("{PLACE}.hosts (its length)"), 1, u64::from(MAX_HOSTS));
        return Err(TopologyError::Range { place, value: 0, min, max });
    }
    within_limits(PLACE, hosts, config.links.len() as u64)?;
    let names: Vec<String> = config.hosts.iter().chain(&config.switches).cloned().collect();
    let index = NameIndex::of(&names);
    check_names(config, &index)?;
    let links = config
        .links
        .iter()
        .enumerate()
        .map(|(i, edge)| link(edge, &format!("{PLACE}.links[{i}]"), &index, hosts as u32))
        .collect::<Result<Vec<Link>, TopologyError>>()?;
    let graph = Graph::new(hosts as u32, names, links);
    check_hosts(&graph)?;
    check_connected(&graph)?;
    Ok(graph)
}

/// Names are not empty, and each stands once. `index` knows the last place of each.
fn check_names(config: &EdgeList, index: &NameIndex) -> Result<(), TopologyError> {
    let hosts = config.hosts.len();
    let place_of = |n: usize| {
        if n < hosts { format!("{PLACE}.hosts[{n}]") } else { format!("{PLACE}.switches[{}]", n - hosts) }
    };
    for (n, name) in config.hosts.iter().chain(&config.switches).enumerate() {
        let why = if name.trim().is_empty() {
            "the name is empty: write one such as \"gpu0\"".to_string()
        } else {
            match index.find(name) {
                Ok(last) if last as usize != n => {
                    format!(
                        "\"{name}\" stands at {} too: give each node its own name",
                        place_of(last as usize)
                    )
                }
                Ok(_) | Err(_) => continue,
            }
        };
        return Err(TopologyError::Name { place: place_of(n), why });
    }
    Ok(())
}

fn link(edge: &Edge, place: &str, index: &NameIndex, hosts: u32) -> Result<Link, TopologyError> {
    let Edge { a, b, rate, delay, length, error_rate } = edge;
    let find = |end: &str, name: &str| -> Result<NodeIndex, TopologyError> {
        let unknown = |unknown| TopologyError::UnknownNode { place: format!("{place}.{end}"), unknown };
        index.find(name).map_err(unknown)
    };
    let (na, nb) = (find("a", a)?, find("b", b)?);
    if na == nb {
        return Err(TopologyError::SelfLink { place: place.to_string(), name: a.clone() });
    }
    if na < hosts && nb < hosts {
        return Err(TopologyError::HostToHost { place: place.to_string(), a: a.clone(), b: b.clone() });
    }
    let config = LinkConfig { rate: *rate, delay: *delay, length: *length, error_rate: *error_rate };
    let Cable { rate, delay, error_rate } = Cable::new(&config, place)?;
    Ok(Link { a: na, b: nb, rate, delay, error_rate })
}

fn check_hosts(graph: &Graph) -> Result<(), TopologyError> {
    for host in 0..graph.hosts {
        let links = graph.ports_of(host).len() as u32;
        let advice = match links {
            1 => continue,
            0 => "add the link to its switch",
            2.. => "give every NIC of a server its own host",
        };
        let place = format!("{PLACE}.hosts[{host}]");
        let host = graph.names[host as usize].clone();
        return Err(TopologyError::HostLinks { place, host, links, advice });
    }
    Ok(())
}

fn check_connected(graph: &Graph) -> Result<(), TopologyError> {
    let missing = graph.unreachable();
    let Some(first) = missing.first() else { return Ok(()) };
    Err(TopologyError::Unreachable {
        place: PLACE.to_string(),
        node: graph.names[*first as usize].clone(),
        from: graph.names[0].clone(),
        count: missing.len() as u32,
        nodes: graph.nodes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::{Duration, Length, Rate};

    fn edge(a: &str, b: &str) -> Edge {
        let (a, b, rate) = (a.to_string(), b.to_string(), Rate::gbps(100));
        Edge { a, b, rate, delay: None, length: None, error_rate: 0.0 }
    }

    fn list(hosts: &[&str], switches: &[&str], links: Vec<Edge>) -> EdgeList {
        let texts = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
        EdgeList { hosts: texts(hosts), switches: texts(switches), links }
    }

    fn error(hosts: &[&str], switches: &[&str], links: Vec<Edge>) -> String {
        build(&list(hosts, switches, links)).unwrap_err().to_string()
    }

    #[test]
    fn nodes_and_ports_keep_the_order_of_the_list() {
        let far = Edge { length: Some(Length(10_000)), error_rate: 0.25, ..edge("s", "t") };
        let links = vec![far, edge("b", "t"), edge("s", "a")];
        let graph = build(&list(&["a", "b"], &["s", "t"], links)).unwrap();
        assert_eq!(graph.names, ["a", "b", "s", "t"]);
        let peers = |n: u32| graph.ports_of(n).map(|p| graph.ports[p as usize].peer_node).collect::<Vec<_>>();
        assert_eq!((peers(2), peers(3)), (vec![3, 0], vec![2, 1]));
        let Link { delay, error_rate, .. } = graph.links[0];
        assert_eq!((delay, error_rate), (Duration::from_ns(50), 0.25));
        assert_eq!(graph.links[1].delay, Duration::from_us(1));
    }

    #[test]
    fn each_mistake_is_named() {
        let fine = || vec![edge("a", "s"), edge("b", "s")];
        let with = |extra: Edge| [fine(), vec![extra]].concat();
        let ab = ["a", "b"];
        assert_eq!(
            error(&[], &["s"], vec![]),
            "topology.edges.hosts (its length) is 0: write a number from 1 to 65536"
        );
        assert_eq!(
            error(&["a", "b", "c"], &["s"], fine()),
            "topology.edges.hosts[2]: host \"c\" has 0 links, but a host has exactly one: add the link to its switch"
        );
        assert_eq!(
            error(&ab, &["s"], with(edge("b", "s"))),
            "topology.edges.hosts[1]: host \"b\" has 2 links, but a host has exactly one: \
             give every NIC of a server its own host"
        );
        assert_eq!(
            error(&ab, &["s", "a"], fine()),
            "topology.edges.hosts[0]: \"a\" stands at topology.edges.switches[1] too: give each node its own name"
        );
        assert_eq!(
            error(&ab, &["s", " "], fine()),
            "topology.edges.switches[1]: the name is empty: write one such as \"gpu0\""
        );
        assert_eq!(
            error(&["gpu0", "gpu1"], &["tor"], vec![edge("gpu0", "tor"), edge("gpu1", "torr")]),
            "topology.edges.links[1].b: there is no node \"torr\"; did you mean \"tor\"? The nodes are gpu0…gpu1, tor"
        );
        assert_eq!(
            error(&ab, &["s"], with(edge("s", "s"))),
            "topology.edges.links[2] has \"s\" at both ends: a link joins two different nodes"
        );
        assert_eq!(
            error(&ab, &["s"], with(edge("a", "b"))),
            "topology.edges.links[2] links the hosts \"a\" and \"b\" to each other: put a switch between them"
        );
        assert_eq!(
            error(&ab, &["s", "t", "u"], with(edge("t", "u"))),
            "topology.edges: \"t\" cannot be reached from \"a\" (2 of 5 nodes cannot): \
             add a link between the two parts"
        );
        assert_eq!(
            error(&ab, &["s"], with(Edge { rate: Rate::ZERO, ..edge("s", "a") })),
            "topology.edges.links[2].rate: the rate is 0: write one such as \"400Gbps\""
        );
    }
}
