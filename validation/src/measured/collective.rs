//! The collectives of nccl-tests and how their bus bandwidth is defined.

use std::fmt;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// Every rank ends with the reduction of all ranks' buffers.
    AllReduce,
    /// Every rank ends with all ranks' blocks.
    AllGather,
    /// Every rank ends with its block of the reduction.
    ReduceScatter,
    /// Every rank sends a block to every rank.
    AllToAll,
    /// One rank's buffer to all.
    Broadcast,
    /// The reduction of all ranks' buffers to one rank.
    Reduce,
    /// Every rank sends to the next and receives from the one before.
    SendRecv,
    /// All ranks' blocks to one rank.
    Gather,
    /// One rank's blocks to all ranks.
    Scatter,
}

impl Collective {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Broadcast,
        Self::Reduce,
        Self::SendRecv,
        Self::Gather,
        Self::Scatter,
    ];

    /// Its name, `all-reduce`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::SendRecv => "send-recv",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
        }
    }

    /// The collective of a test program (`all_reduce_perf`, `/opt/bin/sendrecv_perf_mpi`) or any spelling of a name.
    pub fn from_program(text: &str) -> Option<Self> {
        let base = text.rsplit(['/', '\\']).next().unwrap_or(text).to_ascii_lowercase();
        let base = base.split("_perf").next().unwrap_or(&base);
        let letters: String = base.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match letters.as_str() {
            "allreduce" => Self::AllReduce,
            "allgather" => Self::AllGather,
            "reducescatter" => Self::ReduceScatter,
            "alltoall" => Self::AllToAll,
            "broadcast" | "bcast" => Self::Broadcast,
            "reduce" => Self::Reduce,
            "sendrecv" => Self::SendRecv,
            "gather" => Self::Gather,
            "scatter" => Self::Scatter,
            _ => return None,
        })
    }

    /// Bus bandwidth over algorithm bandwidth with `ranks` ranks, as nccl-tests computes it (`doc/PERFORMANCE.md`):
    /// 2(n−1)/n for AllReduce; (n−1)/n where a rank's own block does not travel; else 1.
    pub fn busbw_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Gather | Self::Scatter => {
                (n - 1.0) / n
            }
            Self::Broadcast | Self::Reduce | Self::SendRecv => 1.0,
        }
    }

    /// The ranks whose factor lies between two factors, least and most; `None` where no number of ranks fits or the
    /// factor does not depend on it.
    pub fn ranks_from_factor(self, low: f64, high: f64) -> Option<(u32, u32)> {
        let scale = match self {
            Self::AllReduce => 2.0,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Gather | Self::Scatter => 1.0,
            Self::Broadcast | Self::Reduce | Self::SendRecv => return None,
        };
        let ranks = |factor: f64| scale / (scale - factor);
        if !(low.is_finite() && high.is_finite()) || low >= scale {
            return None;
        }
        const MOST: f64 = 1e6;
        let most = if high >= scale { MOST } else { ranks(high).min(MOST) };
        let (least, most) = (ranks(low).ceil().max(2.0), most.floor());
        (least <= most).then_some((least as u32, most as u32))
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_collectives() {
        for (text, collective) in [
            ("all_reduce_perf", Some(Collective::AllReduce)),
            ("/opt/nccl-tests/build/sendrecv_perf", Some(Collective::SendRecv)),
            ("alltoall_perf_mpi", Some(Collective::AllToAll)),
            ("reduce_scatter_perf", Some(Collective::ReduceScatter)),
            ("ib_write_bw", None),
        ] {
            assert_eq!(Collective::from_program(text), collective, "{text}");
        }
        for collective in Collective::ALL {
            assert_eq!(Collective::from_program(collective.name()), Some(collective));
        }
    }

    #[test]
    fn factors_give_their_ranks_back() {
        for ranks in 2..300 {
            for collective in [Collective::AllReduce, Collective::AllGather] {
                let factor = collective.busbw_factor(ranks);
                let found = collective.ranks_from_factor(factor - 1e-7, factor + 1e-7);
                assert_eq!(found, Some((ranks, ranks)), "{collective} {ranks}");
            }
        }
        assert_eq!(Collective::SendRecv.ranks_from_factor(1.0, 1.0), None);
        assert_eq!(Collective::AllReduce.ranks_from_factor(2.5, 2.6), None);
    }
}
