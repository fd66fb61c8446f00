//! What can be wrong with traffic, in words that say what, where and what to do.

use crate::topology::UnknownName;

/// Why traffic cannot be built. Nothing was built; correct the place named and build again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrafficError {
    /// A value cannot be used.
    #[error("{place} is {value}: {advice}")]
    Value {
        /// Path in the scenario.
        place: String,
        /// What stands there.
        value: String,
        /// What to write.
        advice: String,
    },
    /// A name is not that of a node.
    #[error("{place}: {unknown}")]
    UnknownNode {
        /// Path in the scenario.
        place: String,
        /// The name, and what may have been meant.
        unknown: UnknownName,
    },
    /// A switch stands where a host is due, or the reverse.
    #[error("{place}: \"{name}\" is a {found}, but a {wanted} is due")]
    WrongNode {
        /// Path in the scenario.
        place: String,
        /// The name.
        name: String,
        /// "host" or "switch".
        found: &'static str,
        /// "switch" or "host".
        wanted: &'static str,
    },
    /// A flow would go from a host to itself.
    #[error("{place} sends from \"{host}\" to itself: name two different hosts")]
    SameHost {
        /// Path in the scenario.
        place: String,
        /// The host.
        host: String,
    },
    /// The topology has too few hosts.
    #[error("{place} needs {needed} hosts, but the topology has {hosts}: {advice}")]
    FewHosts {
        /// Path in the scenario.
        place: String,
        /// Hosts needed.
        needed: u64,
        /// Hosts there are.
        hosts: u32,
        /// What to do.
        advice: &'static str,
    },
    /// There would be more flows than can be simulated.
    #[error("{place} makes {count} flows, {total} in all, above the limit of {limit}: {advice}")]
    TooMany {
        /// Path in the scenario.
        place: String,
        /// Flows of the group.
        count: u64,
        /// Flows with the groups before.
        total: u64,
        /// The limit.
        limit: u64,
        /// What to do.
        advice: &'static str,
    },
    /// A path does not lead from the sender to the receiver over links that exist.
    #[error("{place}: {why}")]
    Path {
        /// Path in the scenario.
        place: String,
        /// What is wrong and what to write.
        why: String,
    },
}
