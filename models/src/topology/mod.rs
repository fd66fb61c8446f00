//! The graph a topology builds to: nodes, ports and links, with names.

use sim_core::{Duration, Rate};

/// Index of a node: hosts first (`0..hosts`), then switches.
pub type NodeIndex = u32;

/// Index of a port in the whole fabric. The ports of a node are consecutive, in the order its links were added.
pub type PortIndex = u32;

/// One direction-less link between two ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: NodeIndex,
    /// The other end.
    pub b: NodeIndex,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on it, each direction.
    pub error_rate: f64,
}

/// A port: one node's end of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortEnd {
    /// The node it belongs to.
    pub node: NodeIndex,
    /// The port at the other end of the link.
    pub peer: PortIndex,
    /// The node at the other end.
    pub peer_node: NodeIndex,
    /// Index of the link.
    pub link: u32,
}

/// A topology as a graph. Hosts are nodes `0..hosts`, each with exactly one port; switches follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Number of hosts.
    pub hosts: u32,
    /// Names of all nodes, unique.
    pub names: Vec<String>,
    /// The links.
    pub links: Vec<Link>,
    /// First port of each node, and one past the last: node n has ports `first_port[n]..first_port[n + 1]`.
    pub first_port: Vec<PortIndex>,
    /// The ports.
    pub ports: Vec<PortEnd>,
}

impl Graph {
    /// Lays out the ports of `links` between `names` (the first `hosts` of them hosts).
    pub fn new(hosts: u32, names: Vec<String>, links: Vec<Link>) -> Self {
        let mut first_port = vec![0; names.len() + 1];
        for link in &links {
            first_port[link.a as usize + 1] += 1;
            first_port[link.b as usize + 1] += 1;
        }
        for n in 0..names.len() {
            first_port[n + 1] += first_port[n];
        }
        let mut next = first_port.clone();
        let unset = PortEnd { node: 0, peer: 0, peer_node: 0, link: 0 };
        let mut ports = vec![unset; links.len() * 2];
        for (index, link) in links.iter().enumerate() {
            let (pa, pb) = (next[link.a as usize], next[link.b as usize] + u32::from(link.a == link.b));
            next[link.a as usize] += 1;
            next[link.b as usize] += 1;
            let link_index = index as u32;
            ports[pa as usize] = PortEnd { node: link.a, peer: pb, peer_node: link.b, link: link_index };
            ports[pb as usize] = PortEnd { node: link.b, peer: pa, peer_node: link.a, link: link_index };
        }
        Self { hosts, names, links, first_port, ports }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.names.len() as u32
    }

    /// Whether `node` is a host.
    pub fn is_host(&self, node: NodeIndex) -> bool {
        node < self.hosts
    }

    /// The ports of `node`.
    pub fn ports_of(&self, node: NodeIndex) -> std::ops::Range<PortIndex> {
        self.first_port[node as usize]..self.first_port[node as usize + 1]
    }

    /// Index of the node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.names.iter().position(|n| n == name).map(|n| n as NodeIndex)
    }

    /// The name of a port: its node and its number there, `leaf0:3`. A host's only port is the host's name.
    pub fn port_name(&self, port: PortIndex) -> String {
        let end = self.ports[port as usize];
        let name = &self.names[end.node as usize];
        if self.is_host(end.node) {
            name.clone()
        } else {
            format!("{name}:{}", port - self.first_port[end.node as usize])
        }
    }

    /// The link of a port.
    pub fn link_of(&self, port: PortIndex) -> &Link {
        &self.links[self.ports[port as usize].link as usize]
    }
}
