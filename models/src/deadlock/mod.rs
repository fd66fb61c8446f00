//! Deadlock and storms of a lossless fabric.
//!
//! - [`cbd`]: which cycles of buffers the routes allow, before any run.
//! - [`detect`]: pauses that wait for each other in a circle, during a run.
//! - [`storm`]: pauses that spread from one port like a tree, and what is at its root.

pub mod cbd;
pub mod detect;
pub mod storm;
