//! Jobs: what the GPUs of a scenario do, from the file to the work of each GPU, and from its times to results.
//!
//! [`spec`] is the file, [`plan`] chooses algorithms and writes schedules, [`training`] lays out a training step,
//! [`timing`] says what moving data costs, [`bound`] what the hardware allows, [`results`] what came out.

pub mod bound;
pub mod explain;
pub mod loads;
pub mod plan;
pub mod results;
pub mod spec;
pub mod timing;
pub mod training;

pub use plan::{JobError, PlannedCall, PlannedJobs};
pub use spec::{ClusterConfig, CollectiveWork, Costs, JobConfig, JobWork, NcclTestsWork};
