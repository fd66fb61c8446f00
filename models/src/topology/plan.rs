//! What the builders share: limits, checked links, a plan of nodes and links, and overrides.

use std::ops::RangeInclusive;

use sim_core::{Duration, Length, Rate};

use super::{Graph, Link, NameIndex, NodeIndex, TopologyError};
use crate::config::{LinkConfig, LinkOverride};

/// Most hosts of a topology.
pub const MAX_HOSTS: u32 = 65_536;
/// Most links of a topology.
pub const MAX_LINKS: u64 = 1 << 22;
/// Longest propagation delay of a link.
pub const MAX_DELAY: Duration = Duration::from_ms(1_000);

/// What a link is made of, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cable {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    pub(super) error_rate: f64,
}

impl Cable {
    /// The link of `config`, which stands at `place`.
    pub(super) fn new(config: &LinkConfig, place: &str) -> Result<Self, TopologyError> {
        let cable = Self { rate: config.rate, delay: Duration::ZERO, error_rate: config.error_rate };
        let delay = checked_delay(config.delay, config.length, place)?;
        Self { delay: delay.unwrap_or(config.propagation()), ..cable }.checked(place)
    }

    fn checked(self, place: &str) -> Result<Self, TopologyError> {
        let bad =
            |field: &str, why: String| Err(TopologyError::Link { place: format!("{place}.{field}"), why });
        if self.rate == Rate::ZERO {
            return bad("rate", "the rate is 0: write one such as \"400Gbps\"".to_string());
        }
        if !(0.0..1.0).contains(&self.error_rate) {
            let why = format!("{} is no loss probability: write a number from 0 to below 1", self.error_rate);
            return bad("error_rate", why);
        }
        Ok(self)
    }
}

/// The propagation delay that `delay` or `length` gives, if either is there.
fn checked_delay(
    delay: Option<Duration>,
    length: Option<Length>,
    place: &str,
) -> Result<Option<Duration>, TopologyError> {
    let longest = Length(MAX_DELAY.0 / Length(1).propagation().0);
    if let (Some(delay), Some(length)) = (delay, length) {
        let why = format!("both a delay of {delay} and a length of {length} are given: keep one");
        return Err(TopologyError::Link { place: place.to_string(), why });
    }
    if let Some(delay) = delay.filter(|d| *d > MAX_DELAY) {
        let why = format!("{delay} is longer than a link can be: write at most {MAX_DELAY}");
        return Err(TopologyError::Link { place: format!("{place}.delay"), why });
    }
    if let Some(length) = length.filter(|l| *l > longest) {
        let why = format!("{length} is longer than a link can be: write at most {longest}");
        return Err(TopologyError::Link { place: format!("{place}.length"), why });
    }
    Ok(delay.or(length.map(Length::propagation)))
}

/// `value`, which stands at `place.field`, if it is in `range`.
pub(super) fn count(
    place: &str,
    field: &str,
    value: u32,
    range: RangeInclusive<u32>,
) -> Result<u32, TopologyError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (min, max) = (u64::from(*range.start()), u64::from(*range.end()));
    Err(TopologyError::Range { place: format!("{place}.{field}"), value: u64::from(value), min, max })
}

/// Refuses more hosts or links than the limits.
pub(super) fn within_limits(place: &str, hosts: u64, links: u64) -> Result<(), TopologyError> {
    let limits = [("hosts", hosts, u64::from(MAX_HOSTS)), ("links", links, MAX_LINKS)];
    for (what, count, limit) in limits {
        if count > limit {
            return Err(TopologyError::TooLarge { place: place.to_string(), what, count, limit });
        }
    }
    Ok(())
}

/// Nodes and links of a regular topology while it is laid out.
pub(super) struct Plan {
    hosts: u32,
    names: Vec<String>,
    links: Vec<Link>,
}

impl Plan {
    /// Hosts `host0`… and nothing else.
    pub(super) fn new(hosts: u32) -> Self {
        Self { hosts, names: (0..hosts).map(|h| format!("host{h}")).collect(), links: Vec::new() }
    }

    /// Adds `count` switches called `tier0`…, and returns the first.
    pub(super) fn switches(&mut self, tier: &str, count: u32) -> NodeIndex {
        let first = self.names.len() as NodeIndex;
        self.names.extend((0..count).map(|n| format!("{tier}{n}")));
        first
    }

    /// Links the hosts in order to the switches from `first`, `each` to every switch.
    pub(super) fn attach_hosts(&mut self, first: NodeIndex, each: u32, cable: Cable) {
        for host in 0..self.hosts {
            self.link(host, first + host / each, 1, cable);
        }
    }

    /// Adds `parallel` links between `a` and `b`.
    pub(super) fn link(&mut self, a: NodeIndex, b: NodeIndex, parallel: u32, cable: Cable) {
        let Cable { rate, delay, error_rate } = cable;
        for _ in 0..parallel {
            self.links.push(Link { a, b, rate, delay, error_rate });
        }
    }

    /// The graph, with `overrides` (at `place.overrides`) applied in order.
    pub(super) fn finish(self, place: &str, overrides: &[LinkOverride]) -> Result<Graph, TopologyError> {
        let mut graph = Graph::new(self.hosts, self.names, self.links);
        let changes = resolve(&graph, place, overrides)?;
        for (change, links) in overrides.iter().zip(changes) {
            for link in links {
                apply(&mut graph.links[link as usize], change);
            }
        }
        Ok(graph)
    }
}

/// The links each override is for.
fn resolve(graph: &Graph, place: &str, overrides: &[LinkOverride]) -> Result<Vec<Vec<u32>>, TopologyError> {
    if overrides.is_empty() {
        return Ok(Vec::new());
    }
    let names = NameIndex::new(graph);
    overrides
        .iter()
        .enumerate()
        .map(|(i, change)| {
            let place = format!("{place}.overrides[{i}]");
            check_override(change, &place)?;
            let find = |end: &str, name: &str| {
                let unknown =
                    |unknown| TopologyError::UnknownNode { place: format!("{place}.{end}"), unknown };
                names.find(name).map_err(unknown)
            };
            let (a, b) = (find("a", &change.a)?, find("b", &change.b)?);
            if a == b {
                return Err(TopologyError::SelfLink { place, name: change.a.clone() });
            }
            let links = graph.links_between(a, b);
            if links.is_empty() {
                let neighbours = graph.neighbour_names(a);
                let (a, b) = (change.a.clone(), change.b.clone());
                return Err(TopologyError::NotLinked { place, a, b, neighbours });
            }
            Ok(links)
        })
        .collect()
}

fn check_override(change: &LinkOverride, place: &str) -> Result<(), TopologyError> {
    let LinkOverride { a, b, rate, delay, length, error_rate } = change;
    if rate.is_none() && delay.is_none() && length.is_none() && error_rate.is_none() {
        return Err(TopologyError::EmptyOverride { place: place.to_string(), a: a.clone(), b: b.clone() });
    }
    checked_delay(*delay, *length, place)?;
    let (rate, error_rate) = (rate.unwrap_or(Rate::MAX), error_rate.unwrap_or(0.0));
    Cable { rate, delay: Duration::ZERO, error_rate }.checked(place)?;
    Ok(())
}

fn apply(link: &mut Link, change: &LinkOverride) {
    link.rate = change.rate.unwrap_or(link.rate);
    link.delay = change.delay.or(change.length.map(Length::propagation)).unwrap_or(link.delay);
    link.error_rate = change.error_rate.unwrap_or(link.error_rate);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LeafSpine, SingleSwitch, TopologyConfig};
    use crate::topology::build;

    fn link() -> LinkConfig {
        LinkConfig::new(Rate::gbps(100), Duration::from_us(1))
    }

    fn change(a: &str, b: &str) -> LinkOverride {
        let (a, b) = (a.to_string(), b.to_string());
        LinkOverride { a, b, rate: None, delay: None, length: None, error_rate: None }
    }

    fn leaf_spine(overrides: Vec<LinkOverride>) -> Result<Graph, TopologyError> {
        build(&TopologyConfig::LeafSpine(LeafSpine {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 2,
            host_link: link(),
            fabric_link: link(),
            parallel: 2,
            overrides,
        }))
    }

    fn single(link: LinkConfig) -> Result<Graph, TopologyError> {
        build(&TopologyConfig::SingleSwitch(SingleSwitch { hosts: 2, link, overrides: vec![] }))
    }

    #[test]
    fn an_override_changes_all_parallel_links_and_only_what_it_names() {
        let slow = LinkOverride { rate: Some(Rate::gbps(25)), ..change("spine1", "leaf0") };
        let far = LinkOverride { length: Some(Length(40_000)), ..change("leaf0", "spine1") };
        let lossy =
            LinkOverride { error_rate: Some(0.5), delay: Some(Duration(7)), ..change("host3", "leaf1") };
        let plain = leaf_spine(vec![]).unwrap();
        let graph = leaf_spine(vec![slow, far, lossy]).unwrap();
        let (leaf0, spine1) = (graph.node("leaf0").unwrap(), graph.node("spine1").unwrap());
        let mut changed = 0;
        for (link, before) in graph.links.iter().zip(&plain.links) {
            if (link.a, link.b) == (leaf0, spine1) {
                let (rate, delay) = (Rate::gbps(25), Duration::from_ns(200));
                assert_eq!(*link, Link { rate, delay, ..*before });
                changed += 1;
            } else if link.a == 3 {
                assert_eq!(*link, Link { delay: Duration(7), error_rate: 0.5, ..*before });
                changed += 1;
            } else {
                assert_eq!(link, before);
            }
        }
        assert_eq!(changed, 3);
    }

    #[test]
    fn overrides_of_what_is_not_there_are_errors() {
        let rate = Some(Rate::gbps(1));
        let error = |a: &str, b: &str| {
            leaf_spine(vec![LinkOverride { rate, ..change(a, b) }]).unwrap_err().to_string()
        };
        assert_eq!(
            error("leaf0", "spin1"),
            "topology.leaf-spine.overrides[0].b: there is no node \"spin1\"; did you mean \"spine1\"? \
             The nodes are host0…host3, leaf0…leaf1, spine0…spine1"
        );
        assert_eq!(
            error("leaf0", "leaf1"),
            "topology.leaf-spine.overrides[0]: there is no link between \"leaf0\" and \"leaf1\"; \
             \"leaf0\" is linked to host0…host1, spine0…spine1"
        );
        assert_eq!(
            error("leaf0", "leaf0"),
            "topology.leaf-spine.overrides[0] has \"leaf0\" at both ends: a link joins two different nodes"
        );
        assert_eq!(
            leaf_spine(vec![change("host0", "leaf0")]).unwrap_err().to_string(),
            "topology.leaf-spine.overrides[0] changes nothing of the link host0–leaf0: give it a rate, delay, \
             length or error_rate, or remove it"
        );
    }

    #[test]
    fn impossible_links_are_errors() {
        let error = |link: LinkConfig| single(link).unwrap_err().to_string();
        assert_eq!(
            error(LinkConfig { rate: Rate::ZERO, ..link() }),
            "topology.single-switch.link.rate: the rate is 0: write one such as \"400Gbps\""
        );
        assert_eq!(
            error(LinkConfig { error_rate: 1.0, ..link() }),
            "topology.single-switch.link.error_rate: 1 is no loss probability: write a number from 0 to below 1"
        );
        assert!(single(LinkConfig { error_rate: f64::NAN, ..link() }).is_err());
        assert!(single(LinkConfig { error_rate: -0.1, ..link() }).is_err());
        assert_eq!(
            error(LinkConfig { length: Some(Length(300_000)), ..link() }),
            "topology.single-switch.link: both a delay of 1us and a length of 300m are given: keep one"
        );
        assert_eq!(
            error(LinkConfig { delay: None, length: Some(Length::MAX), ..link() }),
            "topology.single-switch.link.length: 18446744073709551.615m is longer than a link can be: \
             write at most 200000km"
        );
        assert_eq!(
            error(LinkConfig { delay: Some(Duration::from_ms(1_001)), ..link() }),
            "topology.single-switch.link.delay: 1.001s is longer than a link can be: write at most 1s"
        );
        let bad = LinkOverride { rate: Some(Rate::ZERO), ..change("leaf0", "spine0") };
        assert_eq!(
            leaf_spine(vec![bad]).unwrap_err().to_string(),
            "topology.leaf-spine.overrides[0].rate: the rate is 0: write one such as \"400Gbps\""
        );
        let (delay, length) = (Some(Duration(1)), Some(Length(1)));
        let both = LinkOverride { delay, length, ..change("leaf0", "spine0") };
        assert_eq!(
            leaf_spine(vec![both]).unwrap_err().to_string(),
            "topology.leaf-spine.overrides[0]: both a delay of 1ps and a length of 1mm are given: keep one"
        );
    }

    #[test]
    fn delays_come_from_delay_length_or_default() {
        let delay = |link: LinkConfig| single(link).unwrap().links[0].delay;
        assert_eq!(delay(link()), Duration::from_us(1));
        assert_eq!(delay(LinkConfig { delay: Some(Duration(3)), ..link() }), Duration(3));
        let none = LinkConfig { delay: None, ..link() };
        assert_eq!(delay(none.clone()), Duration::from_us(1));
        assert_eq!(delay(LinkConfig { length: Some(Length(2_000)), ..none }), Duration::from_ns(10));
    }
}
