//! What can be wrong with a topology, in words that say what, where and what to do.

use super::names::UnknownName;

/// Why a topology cannot be built. Nothing was built; correct the place named and build again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// A number is outside its range.
    #[error("{place} is {value}: write a number from {min} to {max}")]
    Range {
        /// Path in the scenario.
        place: String,
        /// What stands there.
        value: u64,
        /// Least value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// The radix of a fat tree is odd.
    #[error("{place} is {k}, which is odd: half of a switch's ports face up, so write {} or {}", k - 1, k + 1)]
    OddRadix {
        /// Path in the scenario.
        place: String,
        /// The radix.
        k: u32,
    },
    /// The number of pods or leaves of a fat tree does not divide its radix.
    #[error("{place} is {pods}, which does not divide k = {k}: write one of {}", divisors(*k))]
    Pods {
        /// Path in the scenario.
        place: String,
        /// Pods or leaves asked for.
        pods: u32,
        /// The radix.
        k: u32,
    },
    /// The number of rails does not divide the NICs of a node.
    #[error("{place} is {rails}, which does not divide the {nics} NICs of a node: write one of {}", divisors(*nics))]
    Rails {
        /// Path in the scenario.
        place: String,
        /// Rails asked for.
        rails: u32,
        /// NICs of a node.
        nics: u32,
    },
    /// Several groups of nodes, and nothing that joins them.
    #[error("{place} is 0, but nothing else joins the {groups} groups of nodes: write at least 1")]
    NoSpines {
        /// Path in the scenario.
        place: String,
        /// Groups.
        groups: u32,
    },
    /// The topology has more hosts or links than can be simulated.
    #[error("{place} has {count} {what}, above the limit of {limit}: make it smaller")]
    TooLarge {
        /// Path in the scenario.
        place: String,
        /// "hosts" or "links".
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A field of a link is not possible.
    #[error("{place}: {why}")]
    Link {
        /// Path in the scenario.
        place: String,
        /// What is wrong and what to write.
        why: String,
    },
    /// A name is not that of a node.
    #[error("{place}: {unknown}")]
    UnknownNode {
        /// Path in the scenario.
        place: String,
        /// The name, and what may have been meant.
        unknown: UnknownName,
    },
    /// Both ends of a link or of an override are the same node.
    #[error("{place} has \"{name}\" at both ends: a link joins two different nodes")]
    SelfLink {
        /// Path in the scenario.
        place: String,
        /// The node.
        name: String,
    },
    /// An override is for two nodes without a link.
    #[error("{place}: there is no link between \"{a}\" and \"{b}\"; \"{a}\" is linked to {neighbours}")]
    NotLinked {
        /// Path in the scenario.
        place: String,
        /// One node.
        a: String,
        /// The other node.
        b: String,
        /// What `a` is linked to.
        neighbours: String,
    },
    /// An override has no field that changes the link.
    #[error(
        "{place} changes nothing of the link {a}–{b}: give it a rate, delay, length or error_rate, or remove it"
    )]
    EmptyOverride {
        /// Path in the scenario.
        place: String,
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// Two nodes have the same name, or a name is empty.
    #[error("{place}: {why}")]
    Name {
        /// Path in the scenario.
        place: String,
        /// What is wrong and what to write.
        why: String,
    },
    /// A host has no link, or more than one.
    #[error("{place}: host \"{host}\" has {links} links, but a host has exactly one: {advice}")]
    HostLinks {
        /// Path in the scenario.
        place: String,
        /// The host.
        host: String,
        /// How many links it has.
        links: u32,
        /// What to do.
        advice: &'static str,
    },
    /// Two hosts are linked to each other.
    #[error("{place} links the hosts \"{a}\" and \"{b}\" to each other: put a switch between them")]
    HostToHost {
        /// Path in the scenario.
        place: String,
        /// One host.
        a: String,
        /// The other host.
        b: String,
    },
    /// The graph is in more than one piece.
    #[error(
        "{place}: \"{node}\" cannot be reached from \"{from}\" ({count} of {nodes} nodes cannot): \
         add a link between the two parts"
    )]
    Unreachable {
        /// Path in the scenario.
        place: String,
        /// The first node that cannot be reached.
        node: String,
        /// Where the search started.
        from: String,
        /// How many nodes cannot be reached.
        count: u32,
        /// How many nodes there are.
        nodes: u32,
    },
}

fn divisors(k: u32) -> String {
    let all: Vec<String> = (1..=k).filter(|d| k.is_multiple_of(*d)).map(|d| d.to_string()).collect();
    all.join(", ")
}
