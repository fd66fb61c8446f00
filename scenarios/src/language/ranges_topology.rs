//! Ranges of topologies and their links.

use models::config::{LinkConfig, LinkOverride, Rail, TopologyConfig};
use sim_core::{Duration, Length, Rate};

use super::ranges::Rules;

/// The most hosts of a topology.
const MAX_HOSTS: u64 = 262_144;
/// The most switches of a topology.
const MAX_SWITCHES: u64 = 262_144;
/// The most links of a topology.
const MAX_LINKS: u64 = 4_194_304;
/// The longest cable, 100 000 km.
const LONGEST_CABLE: Length = Length(100_000_000_000);

/// Hosts, switches and links of a topology; more than fits counts as the largest number.
struct Size {
    hosts: u64,
    switches: u64,
    links: u64,
}

fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor))
}

fn size(config: &TopologyConfig) -> Size {
    match config {
        TopologyConfig::SingleSwitch(t) => {
            let hosts = u64::from(t.hosts);
            Size { hosts, switches: 1, links: hosts }
        }
        TopologyConfig::Dumbbell(t) => {
            let hosts = u64::from(t.left) + u64::from(t.right);
            Size { hosts, switches: 2, links: hosts + 1 }
        }
        TopologyConfig::LeafSpine(t) => {
            let (leaves, spines) = (u64::from(t.leaves), u64::from(t.spines));
            let hosts = product(&[leaves, t.hosts_per_leaf.into()]);
            let fabric = product(&[leaves, spines, t.parallel.into()]);
            Size { hosts, switches: leaves + spines, links: hosts.saturating_add(fabric) }
        }
        TopologyConfig::FatTree(t) => {
            let (k, half) = (u64::from(t.k), u64::from(t.k / 2));
            let pods = t.pods.map_or(k, u64::from);
            let edges = if t.tiers == 2 { pods } else { product(&[pods, half]) };
            let uplinks = product(&[edges, half]);
            let hosts = product(&[uplinks, t.oversubscription.into()]);
            let tiers = if t.tiers == 2 { 1 } else { 2 };
            Size {
                hosts,
                switches: edges.saturating_mul(3),
                links: hosts.saturating_add(product(&[uplinks, tiers])),
            }
        }
        TopologyConfig::Rail(t) => {
            let planes = u64::from(t.planes);
            let hosts = product(&[t.nodes.into(), t.nics_per_node.into(), planes]);
            let groups = rail_groups(t);
            let leaves = product(&[groups, t.rails.unwrap_or(t.nics_per_node).into(), planes]);
            let fabric = product(&[leaves, t.spines.into(), t.parallel.into()]);
            let spines = product(&[t.spines.into(), planes]);
            Size { hosts, switches: leaves.saturating_add(spines), links: hosts.saturating_add(fabric) }
        }
        TopologyConfig::Edges(t) => Size {
            hosts: t.hosts.len() as u64,
            switches: t.switches.len() as u64,
            links: t.links.len() as u64,
        },
    }
}

/// Groups of nodes that share leaves.
fn rail_groups(t: &Rail) -> u64 {
    u64::from(t.nodes).div_ceil(u64::from(t.nodes_per_leaf.unwrap_or(t.nodes)).max(1))
}

/// Number of hosts of a topology.
pub(super) fn hosts(config: &TopologyConfig) -> u64 {
    size(config).hosts
}

pub(super) fn topology(r: &mut Rules, config: &TopologyConfig) {
    let at = match config {
        TopologyConfig::SingleSwitch(t) => {
            let at = "topology.single-switch";
            r.within(at, "hosts", t.hosts, 1, 65_536);
            link(r, &format!("{at}.link"), &t.link);
            overrides(r, at, &t.overrides);
            at
        }
        TopologyConfig::Dumbbell(t) => {
            let at = "topology.dumbbell";
            at_least_one(r, at, &[("left", t.left), ("right", t.right)]);
            link(r, &format!("{at}.host_link"), &t.host_link);
            link(r, &format!("{at}.bottleneck"), &t.bottleneck);
            overrides(r, at, &t.overrides);
            at
        }
        TopologyConfig::LeafSpine(t) => {
            let at = "topology.leaf-spine";
            at_least_one(r, at, &[("leaves", t.leaves), ("spines", t.spines)]);
            at_least_one(r, at, &[("hosts_per_leaf", t.hosts_per_leaf), ("parallel", t.parallel)]);
            link(r, &format!("{at}.host_link"), &t.host_link);
            link(r, &format!("{at}.fabric_link"), &t.fabric_link);
            overrides(r, at, &t.overrides);
            at
        }
        TopologyConfig::FatTree(t) => {
            let at = "topology.fat-tree";
            r.within(at, "tiers", t.tiers, 2, 3);
            let text = || format!("{} is no radix of a fat tree: give an even number from 2", t.k);
            r.require(t.k >= 2 && t.k.is_multiple_of(2), at, "k", text);
            if let Some(pods) = t.pods {
                let text = || format!("{pods} pods do not divide k = {}: give a divisor of k", t.k);
                r.require(pods >= 1 && t.k.is_multiple_of(pods), at, "pods", text);
            }
            at_least_one(r, at, &[("oversubscription", t.oversubscription)]);
            link(r, &format!("{at}.link"), &t.link);
            if let Some(fabric) = &t.fabric_link {
                link(r, &format!("{at}.fabric_link"), fabric);
            }
            overrides(r, at, &t.overrides);
            at
        }
        TopologyConfig::Rail(t) => {
            let at = "topology.rail";
            rail(r, at, t);
            at
        }
        TopologyConfig::Edges(t) => {
            let at = "topology.edges";
            r.require(!t.hosts.is_empty(), at, "hosts", || {
                "there are no hosts: give one at least".to_string()
            });
            for (index, edge) in t.links.iter().enumerate() {
                cable(
                    r,
                    &format!("{at}.links.{index}"),
                    Some(edge.rate),
                    edge.delay,
                    edge.length,
                    Some(edge.error_rate),
                );
            }
            at
        }
    };
    let Size { hosts, switches, links } = size(config);
    for (count, most, what) in
        [(hosts, MAX_HOSTS, "hosts"), (switches, MAX_SWITCHES, "switches"), (links, MAX_LINKS, "links")]
    {
        r.require(count <= most, at, "", || format!("{count} {what} are too many: give at most {most}"));
    }
}

fn rail(r: &mut Rules, at: &str, t: &Rail) {
    at_least_one(r, at, &[("nodes", t.nodes), ("nics_per_node", t.nics_per_node), ("parallel", t.parallel)]);
    r.within(at, "planes", t.planes, 1, 2);
    if let Some(rails) = t.rails {
        let nics = t.nics_per_node;
        let text =
            || format!("{rails} rails do not divide the {nics} NICs of a node: give a divisor of {nics}");
        r.require(rails >= 1 && nics.is_multiple_of(rails), at, "rails", text);
    }
    if let Some(nodes) = t.nodes_per_leaf {
        at_least_one(r, at, &[("nodes_per_leaf", nodes)]);
    }
    let groups = rail_groups(t);
    let text = || format!("without spines nothing joins the {groups} groups of nodes: give 1 spine at least");
    r.require(t.spines >= 1 || groups <= 1, at, "spines", text);
    link(r, &format!("{at}.link"), &t.link);
    if let Some(fabric) = &t.fabric_link {
        link(r, &format!("{at}.fabric_link"), fabric);
    }
    overrides(r, at, &t.overrides);
}

fn at_least_one(r: &mut Rules, at: &str, counts: &[(&str, u32)]) {
    for &(field, count) in counts {
        r.require(count >= 1, at, field, || "0 is out of range: give 1 at least".to_string());
    }
}

fn link(r: &mut Rules, at: &str, link: &LinkConfig) {
    cable(r, at, Some(link.rate), link.delay, link.length, Some(link.error_rate));
}

fn overrides(r: &mut Rules, at: &str, overrides: &[LinkOverride]) {
    for (index, o) in overrides.iter().enumerate() {
        cable(r, &format!("{at}.overrides.{index}"), o.rate, o.delay, o.length, o.error_rate);
    }
}

fn cable(
    r: &mut Rules,
    at: &str,
    rate: Option<Rate>,
    delay: Option<Duration>,
    length: Option<Length>,
    error_rate: Option<f64>,
) {
    r.rate(at, "rate", rate);
    r.span(at, "delay", delay);
    if let Some(length) = length {
        r.within(at, "length", length, Length::ZERO, LONGEST_CABLE);
    }
    let text = || "both a delay and a length are given: keep the one that is meant".to_string();
    r.require(delay.is_none() || length.is_none(), at, "length", text);
    r.chance(at, "error_rate", error_rate);
}
