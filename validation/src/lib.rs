//! Oracles, published figures and the harness that holds the simulator to them.
//!
//! Scenarios are JSON text, read as the command line reads a file. The figures measured, and what was expected and
//! why, are in `docs/validation.md`; each row there names its test.

pub mod cases;
pub mod dcqcn;
pub mod fluid;
pub mod harness;
pub mod measured;
pub mod random_scenario;
pub mod routing_loop;
pub mod rows;
pub mod star;
