//! What can be wrong with routes a user wrote.

use thiserror::Error;

/// A mistake in `routing.routes` or in a flow's `paths`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutingError {
    /// A name no node has.
    #[error("{place}: there is no node called \"{name}\"{}", did_you_mean(.nearest))]
    UnknownName {
        /// Where it stands: `routing.routes[0].at`.
        place: String,
        /// The name.
        name: String,
        /// The closest known name.
        nearest: Option<String>,
    },
    /// A route at something that does not forward.
    #[error("{place}: \"{name}\" is a host, and hosts do not forward; name a switch{}", did_you_mean(.nearest))]
    NotASwitch {
        /// Where it stands.
        place: String,
        /// The host.
        name: String,
        /// The switch the host is attached to.
        nearest: Option<String>,
    },
    /// A next hop without a link.
    #[error("{place}: {at} has no link to {name}; its neighbours are {neighbours}")]
    NotNeighbour {
        /// Where it stands.
        place: String,
        /// The switch.
        at: String,
        /// The supposed next hop.
        name: String,
        /// Neighbours of the switch, the closest name first.
        neighbours: String,
    },
    /// A destination switch without hosts.
    #[error(
        "{place}: no host is attached to {name}, so the route would never be used; name a host or a leaf"
    )]
    NoHosts {
        /// Where it stands.
        place: String,
        /// The switch.
        name: String,
    },
    /// A route without next hops.
    #[error("{place}: it is empty; name at least one neighbour of {at}")]
    NoNextHop {
        /// Where it stands.
        place: String,
        /// The switch.
        at: String,
    },
    /// Two routes for the same destination at the same switch.
    #[error(
        "{place}: {at} already has a route to {to} in routing.routes[{first}]; put all next hops into one `via`"
    )]
    Duplicate {
        /// The later one.
        place: String,
        /// The switch.
        at: String,
        /// The destination.
        to: String,
        /// Index of the earlier one.
        first: usize,
    },
    /// A flow's path that is none.
    #[error("path {candidate} of flow {flow} ({src} to {dst}): {what}")]
    BadPath {
        /// Index of the flow.
        flow: usize,
        /// Index of the path among the flow's candidates.
        candidate: usize,
        /// The sender.
        src: String,
        /// The receiver.
        dst: String,
        /// What is wrong and what would be right.
        what: String,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}
