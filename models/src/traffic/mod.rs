//! Traffic as the fabric takes it: a list of flows.

use sim_core::{Bytes, Rate, Time};

use crate::config::{Class, Operation};
use crate::topology::NodeIndex;

/// One flow: a queue pair from `src` to `dst` with `messages` messages of `size` bytes, posted back to back.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The sending host.
    pub src: NodeIndex,
    /// The receiving host.
    pub dst: NodeIndex,
    /// Bytes of each message, at least 1.
    pub size: Bytes,
    /// Messages posted back to back, at least 1.
    pub messages: u32,
    /// When it starts, before jitter.
    pub start: Time,
    /// Traffic class at the NIC.
    pub class: Class,
    /// DSCP the packets carry.
    pub dscp: u8,
    /// The RDMA operation.
    pub operation: Operation,
    /// Cap on the rate in bits on the wire.
    pub rate: Option<Rate>,
    /// Links between switches a packet may cross.
    pub ttl: u8,
    /// Candidate paths by preference, as lists of switches.
    pub paths: Vec<Vec<NodeIndex>>,
}
