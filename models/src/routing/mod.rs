//! Where packets go: tables by destination, paths of single flows, and the choice among equal next hops.
//!
//! - [`RouteTable`]: for each switch and destination host, the group of egress ports on shortest paths, with the
//!   explicit routes of a scenario in their place. One call builds the table for one set of failed links; a run
//!   builds it again when a failure has been noticed.
//! - [`ExplicitRoutes`]: the candidate paths of single flows, which stand above the table.
//! - [`ecmp_index`]: the hash by which a flow keeps to one port of a group.
//! - [`walk`] and [`possible_edges`]: what a packet does, or may do, under them, without simulating anything.
//!
//! Hosts do not forward. All links cost the same, whatever their rate.

mod ecmp;
mod error;
mod explicit;
mod names;
mod table;
#[cfg(test)]
pub(crate) mod test_graphs;
mod walk;

pub use ecmp::ecmp_index;
pub use error::RoutingError;
pub use explicit::ExplicitRoutes;
pub use table::{RouteTable, UNREACHABLE};
pub use walk::{PortPair, Walk, WalkOutcome, possible_edges, walk};
