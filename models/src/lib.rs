//! Network models of fabsim: packets, links, switches, NICs, congestion control, routing and topologies.
//!
//! Models never print, read files, clocks or the environment. Everything they need is in their configuration;
//! everything they find is in their counters and records.

pub mod buffer;
pub mod config;
pub mod congestion;
pub mod counters;
pub mod deadlock;
pub mod ecn;
pub mod fabric;
pub mod headroom;
pub mod link;
pub mod packet;
pub mod port;
pub mod record;
pub mod routing;
pub mod topology;
pub mod traffic;
pub mod workload;
