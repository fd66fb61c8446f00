//! The discrete-event core of fabsim. It knows nothing about networks: units of time, rate and size, event
//! queues ordered by (time, target), deterministic random streams, ring buffers and statistics.

pub mod pool;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod ring;
pub mod stats;
pub mod table;
pub mod units;

pub use units::{Bytes, Duration, Length, Rate, Time};
