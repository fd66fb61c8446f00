//! Every parameter of every model, with meaning, unit, default, source and range.
//!
//! These types are what a scenario file holds, and the JSON Schema and the parameter page are generated from
//! their comments. Models read them once when a fabric is built; the hot path works on compiled forms.

mod congestion;
mod nic;
mod routing;
mod switch;
mod topology;
mod traffic;

pub use congestion::*;
pub use nic::*;
pub use routing::*;
pub use switch::*;
pub use topology::*;
pub use traffic::*;

/// Number of traffic classes (IEEE 802.1Q priorities).
pub const CLASSES: usize = 8;

/// A traffic class (IEEE priority), 0–7.
pub type Class = u8;
