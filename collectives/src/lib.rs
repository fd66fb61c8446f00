//! Collective communication as data.
//!
//! A [`CollectiveSchedule`] says who sends which block of which buffer to whom, over what, and in which order. It is
//! executed by the simulator and by a replay over RDMA verbs alike, and proved by [`check`]: every rank ends with every
//! contribution exactly once. [`algorithms`] writes schedules, [`nccl`] chooses among them as NCCL does, and [`node`]
//! describes the machines that run them. Nothing here knows of a network or a clock.

pub mod algorithms;
pub mod check;
pub mod describe;
pub mod nccl;
pub mod node;
pub mod plan;
pub mod schedule;

pub use describe::describe;
pub use schedule::CollectiveSchedule;
