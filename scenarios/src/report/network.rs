//! The fabric as `ports.csv` tells it: nodes in tiers, links with their load, and groups of nodes where there are too many
//! to draw.

use std::collections::BTreeMap;

use models::topology::families;

use super::read::{Table, number};

/// Most nodes of a tier that are drawn one by one.
const HOSTS: usize = 96;
const SWITCHES: usize = 32;
/// Most groups that stand side by side.
const GROUPS: usize = 32;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// The port that sends.
    pub port: String,
    /// The port at the other end.
    pub peer: String,
    /// The node that sends.
    pub from: usize,
    /// The node at the other end.
    pub to: usize,
    /// Rate in Gb/s.
    pub rate: f64,
    /// Part of the run it was sending, 0 to 1.
    pub load: f64,
    /// Frame bytes sent.
    pub bytes: f64,
    /// Time its classes were paused, added up, in microseconds.
    pub paused: f64,
    /// Packets lost at the port.
    pub drops: f64,
    /// Whether the link is up at the end.
    pub up: bool,
}

/// Nodes and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Names of the nodes, in the order of the file.
    pub nodes: Vec<String>,
    /// The tier of each: 0 for hosts, 1 for their switches, and so on.
    pub tiers: Vec<usize>,
    /// Every port.
    pub directions: Vec<Direction>,
}

impl Network {
    /// Reads the fabric; `None` where columns are missing.
    pub fn new(ports: &Table) -> Option<Self> {
        let rows = || ports.columns(["port", "node", "peer", "rate_gbps", "tx_bytes", "utilisation", "up"]);
        let mut nodes: Vec<String> = Vec::new();
        let mut index: BTreeMap<&str, usize> = BTreeMap::new();
        let mut node_of: BTreeMap<&str, usize> = BTreeMap::new();
        let mut hosts: Vec<usize> = Vec::new();
        for [port, node, ..] in rows()? {
            let number = *index.entry(node).or_insert_with(|| {
                nodes.push(node.to_string());
                nodes.len() - 1
            });
            node_of.insert(port, number);
            if port == node {
                hosts.push(number);
            }
        }
        let named = |with: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..ports.header.len()).filter(|&column| with(&ports.header[column])).collect()
        };
        let paused = named(&|name| name.starts_with("rx_prio") && name.ends_with("_pause_duration_us"));
        let drops = named(&|name| name.starts_with("drops_"));
        let sum = |row: &Vec<String>, columns: &[usize]| -> f64 {
            columns.iter().map(|&column| number(&row[column])).filter(|value| value.is_finite()).sum()
        };
        let finite = |text: &str| Some(number(text)).filter(|value| value.is_finite()).unwrap_or(0.0);
        let directions: Vec<Direction> = rows()?
            .zip(&ports.rows)
            .filter_map(|([port, node, peer, rate, bytes, load, up], row)| {
                Some(Direction {
                    port: port.to_string(),
                    peer: peer.to_string(),
                    from: index[node],
                    to: *node_of.get(peer)?,
                    rate: finite(rate),
                    load: finite(load).clamp(0.0, 1.0),
                    bytes: finite(bytes),
                    paused: sum(row, &paused),
                    drops: sum(row, &drops),
                    up: up != "0",
                })
            })
            .collect();
        let tiers = tiers(nodes.len(), &hosts, &directions);
        Some(Self { nodes, tiers, directions })
    }

    /// The number of tiers.
    pub fn height(&self) -> usize {
        self.tiers.iter().max().map_or(0, |most| most + 1)
    }

    /// The nodes of a tier, in order.
    pub fn tier(&self, tier: usize) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| self.tiers[node] == tier).collect()
    }
}

/// The distance of each node from the nearest host.
fn tiers(nodes: usize, hosts: &[usize], directions: &[Direction]) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); nodes];
    for direction in directions {
        neighbours[direction.from].push(direction.to);
    }
    let mut tiers = vec![usize::MAX; nodes];
    let mut open: std::collections::VecDeque<usize> = hosts.iter().copied().collect();
    hosts.iter().for_each(|&host| tiers[host] = 0);
    while let Some(node) = open.pop_front() {
        for &next in &neighbours[node] {
            if tiers[next] == usize::MAX {
                tiers[next] = tiers[node] + 1;
                open.push_back(next);
            }
        }
    }
    let top = tiers.iter().filter(|tier| **tier != usize::MAX).max().copied().unwrap_or(0);
    tiers.iter().map(|&tier| if tier == usize::MAX { top } else { tier }).collect()
}

/// Nodes that are drawn as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<usize>,
    /// Its tier.
    pub tier: usize,
}

/// Links from one group to another, one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The sending group.
    pub from: usize,
    /// The other.
    pub to: usize,
    /// The links in it, by their place in [`Network::directions`].
    pub links: Vec<usize>,
}

/// A fabric as groups and bundles.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The groups, tier by tier from the hosts upwards, each tier from left to right.
    pub groups: Vec<Group>,
    /// The bundles, in order.
    pub bundles: Vec<Bundle>,
    /// Whether any group has more than one node.
    pub grouped: bool,
}

impl Drawn {
    /// Groups a fabric as far as it needs it.
    pub fn new(network: &Network) -> Self {
        let height = network.height();
        let small = (0..height).all(|t| network.tier(t).len() <= if t == 0 { HOSTS } else { SWITCHES });
        let keys = if small { (0..network.nodes.len()).collect() } else { pods(network) };
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![0; network.nodes.len()];
        for tier in 0..height {
            let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for node in network.tier(tier) {
                members.entry(keys[node]).or_default().push(node);
            }
            for nodes in members.into_values() {
                nodes.iter().for_each(|&node| group_of[node] = groups.len());
                let names: Vec<String> = nodes.iter().map(|&node| network.nodes[node].clone()).collect();
                groups.push(Group { name: families(&names), nodes, tier });
            }
        }
        let mut bundles: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (link, direction) in network.directions.iter().enumerate() {
            let ends = (group_of[direction.from], group_of[direction.to]);
            bundles.entry(ends).or_default().push(link);
        }
        let bundles = bundles.into_iter().map(|((from, to), links)| Bundle { from, to, links }).collect();
        Self { groups, bundles, grouped: !small }
    }
}

/// A key for each node, equal for those that are drawn together: what hangs together below the top tier is a pod.
fn pods(network: &Network) -> Vec<usize> {
    let top = network.height().saturating_sub(1).max(1);
    let mut parent: Vec<usize> = (0..network.nodes.len()).collect();
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    for direction in &network.directions {
        if network.tiers[direction.from] < top && network.tiers[direction.to] < top {
            let (a, b) = (root(&mut parent, direction.from), root(&mut parent, direction.to));
            parent[a.max(b)] = a.min(b);
        }
    }
    let roots: Vec<usize> = (0..network.nodes.len()).map(|node| root(&mut parent, node)).collect();
    let below = |node: &usize| network.tiers[*node] < top;
    let mut distinct: Vec<usize> = (0..network.nodes.len()).filter(below).map(|node| roots[node]).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // Pods that are too many are taken together, neighbours first.
    let together = distinct.len().div_ceil(GROUPS).max(1);
    let above = network.nodes.len() - (0..network.nodes.len()).filter(below).count();
    (0..network.nodes.len())
        .map(|node| {
            if below(&node) {
                distinct.binary_search(&roots[node]).unwrap_or(0) / together
            } else if above <= SWITCHES {
                node
            } else {
                usize::MAX
            }
        })
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// `ports.csv` of a leaf–spine.
    pub fn leaf_spine(leaves: usize, spines: usize, hosts: usize) -> Table {
        let mut table = Table::new(&["port", "node", "peer", "rate_gbps", "up", "tx_bytes", "utilisation"]);
        let mut add = |port: String, peer: String, load: f64| {
            let node = port.split(':').next().unwrap().to_string();
            table.rows.push(vec![
                port,
                node,
                peer,
                "100".into(),
                "1".into(),
                "1000".into(),
                load.to_string(),
            ]);
        };
        for host in 0..leaves * hosts {
            add(format!("host{host}"), format!("leaf{}:{}", host / hosts, host % hosts), 0.5);
            add(format!("leaf{}:{}", host / hosts, host % hosts), format!("host{host}"), 0.25);
        }
        for leaf in 0..leaves {
            for spine in 0..spines {
                add(format!("leaf{leaf}:{}", hosts + spine), format!("spine{spine}:{leaf}"), 1.0);
                add(format!("spine{spine}:{leaf}"), format!("leaf{leaf}:{}", hosts + spine), 0.0);
            }
        }
        table
    }

    #[test]
    fn tiers_are_distances_from_hosts() {
        let network = Network::new(&leaf_spine(4, 2, 2)).unwrap();
        assert_eq!((0..3).map(|tier| network.tier(tier).len()).collect::<Vec<_>>(), [8, 4, 2]);
        let drawn = Drawn::new(&network);
        assert!(
            !drawn.grouped && drawn.groups.len() == 14 && drawn.bundles.len() == network.directions.len()
        );
    }

    #[test]
    fn large_fabrics_are_grouped_by_what_hangs_together() {
        let network = Network::new(&leaf_spine(16, 4, 32)).unwrap();
        let drawn = Drawn::new(&network);
        assert!(drawn.grouped);
        assert_eq!(drawn.groups.len(), 16 + 16 + 4);
        assert_eq!((drawn.groups[0].name.as_str(), drawn.groups[0].nodes.len()), ("host0…host31", 32));
        assert_eq!(drawn.bundles.len(), 2 * 16 + 2 * 16 * 4);
        let network = Network::new(&leaf_spine(128, 64, 16)).unwrap();
        assert_eq!(Drawn::new(&network).groups.len(), 32 + 32 + 1);
    }
}
