//! What a simulation gives for one size: plain data, filled by whoever runs the collective.

/// What the network did while the collective ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkEvidence {
    /// Packets marked by ECN.
    pub marked_packets: u64,
    /// CNPs received by the senders.
    pub cnps: u64,
    /// PFC pause frames.
    pub pause_frames: u64,
    /// Packets lost.
    pub dropped_packets: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// The busiest link of the network and its utilisation, 0 to 1, over the call.
    pub hottest_link: Option<(String, f64)>,
    /// Utilisation of each rail's busiest NIC, 0 to 1, in the order of rails.
    pub rails: Vec<f64>,
    /// Flows that share a link which could be spread, by name; `None` where there are none.
    pub collision: Option<String>,
}

impl NetworkEvidence {
    /// Whether the network held nobody up: no mark, CNP, pause, loss or repeat.
    pub fn is_quiet(&self) -> bool {
        self.marked_packets == 0
            && self.cnps == 0
            && self.pause_frames == 0
            && self.dropped_packets == 0
            && self.retransmissions == 0
    }
}

/// One size of a simulated sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedRow {
    /// Size, in bytes, as nccl-tests defines it for the collective.
    pub bytes: u64,
    /// Time of one call, in us.
    pub time_us: f64,
    /// Bus bandwidth that the busiest link allows, in GB/s.
    pub bound_busbw_gbytes_per_s: Option<f64>,
    /// The link that sets that bound.
    pub bound_by: Option<String>,
    /// Algorithm, `ring`.
    pub algorithm: Option<String>,
    /// Protocol, `simple`.
    pub protocol: Option<String>,
    /// Chunks that one connection sends one after the other, each of which costs the host a step.
    pub steps: Option<u64>,
    /// Whether the steady state was extrapolated instead of simulated to the end.
    pub extrapolated: bool,
    /// What the network did.
    pub network: NetworkEvidence,
}
