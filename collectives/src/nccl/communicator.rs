//! A communicator: ranks on nodes, with the graphs and channels that NCCL sets up for them.

use crate::node::{Cpu, NodeSpec};
use crate::plan::Ranks;
use crate::schedule::Algorithm;

use super::channels::ChannelCounts;
use super::environment::NcclConfig;
use super::error::PlanError;
use super::graphs::{self, Graph, Graphs, View};
use super::tables;

/// Ranks on alike nodes, as NCCL sees them after `ncclCommInitRank`.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// The node.
    pub node: NodeSpec,
    /// The settings.
    pub config: NcclConfig,
    /// Nodes.
    pub nodes: u32,
    /// Ranks of a node: its GPUs 0 to this − 1.
    pub per_node: u32,
    /// NICs near the ranks of a node.
    pub nics: u32,
    /// What the topology search found.
    pub graphs: Graphs,
    /// Channels.
    pub counts: ChannelCounts,
}

/// Ranks at most.
const MOST_RANKS: u32 = 1 << 20;

impl Communicator {
    /// `nodes` nodes with `per_node` ranks each.
    pub fn new(node: &NodeSpec, nodes: u32, per_node: u32, config: &NcclConfig) -> Result<Self, PlanError> {
        node.validate()?;
        config.validate()?;
        if per_node == 0 || per_node > node.gpus {
            return Err(PlanError::RanksOfNode { node: node.name.clone(), per_node, gpus: node.gpus });
        }
        match nodes.checked_mul(per_node) {
            Some(2..=MOST_RANKS) => {}
            ranks => return Err(PlanError::Ranks { nodes, per_node, ranks: ranks.unwrap_or(u32::MAX) }),
        }
        let view = View::new(node, config, per_node);
        let graphs = graphs::search(&view, nodes);
        let counts = ChannelCounts::new(node, config, &graphs, nodes, per_node);
        let nics = view.nics.len() as u32;
        Ok(Self { node: node.clone(), config: config.clone(), nodes, per_node, nics, graphs, counts })
    }

    /// Ranks in all.
    pub const fn ranks(&self) -> u32 {
        self.nodes * self.per_node
    }

    /// Ranks on nodes.
    pub const fn layout(&self) -> Ranks {
        Ranks { nodes: self.nodes, per_node: self.per_node }
    }

    /// The graph that an algorithm runs on. CollNet's are taken to be the tree's.
    pub fn graph(&self, algorithm: Algorithm) -> Option<&Graph> {
        match algorithm {
            Algorithm::Ring | Algorithm::Pairwise | Algorithm::HalvingDoubling => Some(&self.graphs.ring),
            Algorithm::Tree
            | Algorithm::DoubleTree
            | Algorithm::CollnetDirect
            | Algorithm::CollnetChain
            | Algorithm::Pat => Some(&self.graphs.tree),
            Algorithm::Nvls | Algorithm::NvlsTree => self.graphs.nvls.as_ref(),
        }
    }

    /// Heads of the algorithm in a node.
    pub fn heads(&self, algorithm: Algorithm) -> u32 {
        match algorithm {
            Algorithm::Nvls | Algorithm::NvlsTree => self.graphs.nvls.as_ref().map_or(1, Graph::count),
            Algorithm::CollnetDirect => (self.graphs.heads.len() as u32).max(1),
            _ => 1,
        }
    }

    /// Bus GB/s of LL at most.
    pub(super) fn ll_most(&self) -> f64 {
        tables::ll_most(self.node.generation, self.nodes, self.node.cpu == Cpu::Amd)
    }
}
