//! Deadlock of a lossless fabric: pauses that wait for each other in a circle.

pub mod cbd;
