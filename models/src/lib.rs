//! Network models of fabsim: packets, links, switches, NICs, congestion control, routing and topologies.
//!
//! Models never print, read files, clocks or the environment. Everything they need is in their configuration;
//! everything they find is in their counters and records.

pub mod config;
pub mod deadlock;
pub mod headroom;
pub mod routing;
pub mod topology;
pub mod traffic;
