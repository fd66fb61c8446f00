//! Tests against what NCCL 2.30 finds, sets up and predicts.

use super::*;
use crate::node::{NodeConfig, NodeOverrides, NodeSpec};

mod graphs;
mod model;
mod plans;

/// A preset.
fn node(name: &str) -> NodeSpec {
    NodeSpec::preset(name).unwrap()
}

/// A preset with other NICs.
fn with_nics(preset: &str, nics: u32, rate: u32, affinity: Vec<Vec<u32>>) -> NodeSpec {
    NodeConfig::new(NodeOverrides {
        preset: Some(preset.into()),
        nics: Some(nics),
        nic_rate_gbps: Some(rate),
        affinity: Some(affinity),
        ..NodeOverrides::default()
    })
    .resolve()
    .unwrap()
}

/// A communicator with default settings and eight ranks a node.
fn eight(node: &NodeSpec, nodes: u32) -> Communicator {
    Communicator::new(node, nodes, 8, &NcclConfig::default()).unwrap()
}
