//! Parameters of routing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Duration;

/// How packets choose among equal-cost shortest paths, and what departs from shortest paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoutingConfig {
    /// Choice among equal-cost next hops. Default: ecmp.
    pub mode: RoutingMode,
    /// Explicit next hops, which replace the shortest path at a switch: detours, loops, mistakes.
    pub routes: Vec<RouteOverride>,
    /// What switches do about a failed link. Default: global.
    pub on_failure: OnFailure,
    /// Time from a link's failure to the new routes. Default: 0.
    pub convergence: Duration,
}

/// Choice among equal-cost next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RoutingMode {
    /// By a hash of the flow, seeded per switch.
    #[default]
    Ecmp,
    /// Each packet by chance.
    Spray,
    /// A flow moves to a random next hop after a gap of `gap` (LetFlow).
    Flowlet {
        /// The idle time that ends a flowlet.
        gap: Duration,
    },
    /// Each packet to the next hop with the least bytes queued.
    Adaptive,
}

/// An explicit route of one switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteOverride {
    /// The switch whose table is set.
    pub at: String,
    /// The destination: a host, or a switch for all hosts attached to it.
    pub to: String,
    /// The next hops (neighbours of `at`).
    pub via: Vec<String>,
}

/// What switches do about a failed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Nothing: packets for the dead link are dropped.
    None,
    /// The two ends of the link route around it on the shortest remaining path; other switches do not know of it.
    Local,
    /// All switches compute new shortest paths.
    #[default]
    Global,
}
