//! NCCL's decisions: which algorithm and protocol do a call, over which channels, rings and trees, in which chunks.
//!
//! Rules and constants are those of NCCL 2.30.7; each file names the source files it follows. [`plan()`] is the whole;
//! [`Communicator`] holds what does not depend on the call.

mod channels;
mod choice;
mod chunks;
mod communicator;
mod environment;
mod error;
mod graphs;
mod orders;
mod parts;
mod shapes;
mod speeds;
mod tables;
mod tuning;

pub use channels::{ChannelCounts, MOST_CHANNELS};
pub use choice::{Choice, algorithm_name, protocol_name};
pub use chunks::{ChunkRule, even_parts, grain, step_bytes};
pub use communicator::Communicator;
pub use environment::{AlgorithmChoice, NcclConfig, ProtocolChoice};
pub use error::PlanError;
pub use graphs::{ChannelGraph, Graph, Graphs};
pub use tuning::{Cost, HopLatency};

use crate::node::NodeSpec;
use crate::plan::Plan;
use crate::schedule::{Algorithm, Operation, Protocol};

/// Bytes of a call at most.
const MOST_BYTES: u64 = 1 << 40;

/// Plans a call on `nodes` nodes with `per_node_ranks` ranks each.
///
/// `bytes` is the size as nccl-tests counts it. AllGather, ReduceScatter and AllToAll have a block a rank, rounded down
/// to 16 B as nccl-tests does; the plan's `bytes` are what remains. `root` counts for Broadcast and Reduce only.
pub fn plan(
    node: &NodeSpec,
    nodes: u32,
    per_node_ranks: u32,
    config: &NcclConfig,
    operation: Operation,
    bytes: u64,
    root: u32,
) -> Result<(Plan, Choice), PlanError> {
    Communicator::new(node, nodes, per_node_ranks, config)?.plan(operation, bytes, root)
}

/// Microseconds that NCCL's cost model predicts for a call done in a given way, available or not. AllToAll, SendRecv and
/// halving–doubling, which NCCL has no model of, are bounded by the NICs of a node. Infinite without a bandwidth.
pub fn predict(
    node: &NodeSpec,
    nodes: u32,
    per_node_ranks: u32,
    config: &NcclConfig,
    operation: Operation,
    bytes: u64,
    algorithm: Algorithm,
    protocol: Protocol,
) -> Result<f64, PlanError> {
    Ok(Communicator::new(node, nodes, per_node_ranks, config)?.predict(operation, bytes, algorithm, protocol))
}

/// What NCCL's cost model takes one hop to cost. Source: NCCL 2.30 `graph/tuning.cc`, `baseLat` and `hwLat`.
pub fn latencies(
    node: &NodeSpec,
    nodes: u32,
    per_node_ranks: u32,
    config: &NcclConfig,
    algorithm: Algorithm,
    protocol: Protocol,
) -> Result<HopLatency, PlanError> {
    Ok(Communicator::new(node, nodes, per_node_ranks, config)?.latencies(algorithm, protocol))
}

impl Communicator {
    /// Plans a call; see [`plan()`].
    pub fn plan(&self, operation: Operation, bytes: u64, root: u32) -> Result<(Plan, Choice), PlanError> {
        let n = self.ranks();
        let rooted = matches!(operation, Operation::Broadcast | Operation::Reduce);
        if rooted && root >= n {
            return Err(PlanError::Root { root, ranks: n });
        }
        let bytes = self.whole_blocks(operation, bytes)?;
        let candidates = choice::candidates(self, operation, bytes)?;
        let (algorithm, protocol, predicted_us) = candidates[0];
        let work = parts::Work { operation, algorithm, protocol, bytes };
        let channels = parts::channels(self, work);
        let choice = Choice {
            algorithm,
            protocol,
            predicted_us,
            why: choice::why(self, &candidates),
            candidates,
            channels: channels.len() as u32,
        };
        let root = if rooted { root } else { 0 };
        let plan = Plan { operation, algorithm, protocol, ranks: self.layout(), bytes, root, channels };
        Ok((plan, choice))
    }

    /// What can do a call, with predicted microseconds, best first.
    pub fn candidates(
        &self,
        operation: Operation,
        bytes: u64,
    ) -> Result<Vec<(Algorithm, Protocol, f64)>, PlanError> {
        choice::candidates(self, operation, self.whole_blocks(operation, bytes)?)
    }

    /// Microseconds by the cost model; see [`predict`].
    pub fn predict(&self, operation: Operation, bytes: u64, algorithm: Algorithm, protocol: Protocol) -> f64 {
        tuning::time_us(self, operation, algorithm, protocol, bytes)
    }

    /// Latency and bandwidth of the cost model, before corrections by size.
    pub fn cost(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> Cost {
        tuning::cost(self, operation, algorithm, protocol)
    }

    /// What one hop costs; see [`latencies`].
    pub fn latencies(&self, algorithm: Algorithm, protocol: Protocol) -> HopLatency {
        tuning::hops(self, algorithm, protocol)
    }

    /// The bytes of whole blocks of 16 B a rank, where the operation has blocks.
    fn whole_blocks(&self, operation: Operation, bytes: u64) -> Result<u64, PlanError> {
        if bytes > MOST_BYTES {
            return Err(PlanError::TooLarge { bytes });
        }
        let unit = match operation {
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => {
                16 * u64::from(self.ranks())
            }
            Operation::AllReduce | Operation::Broadcast | Operation::Reduce | Operation::SendRecv => 1,
        };
        let whole = bytes / unit * unit;
        if whole == 0 {
            return Err(PlanError::TooSmall { operation, bytes, ranks: self.ranks(), least: unit });
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests;
