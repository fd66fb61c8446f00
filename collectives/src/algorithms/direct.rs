//! Ranks that talk to any other rank: which NICs, and PXN.

use super::{AlgorithmError, Writer, want_length};
use crate::plan::{Ranks, Shape};
use crate::schedule::Path;

/// The NICs of a channel with [`Shape::Direct`].
pub(super) struct Direct<'a> {
    send_nic: &'a [u32],
    receive_nic: &'a [u32],
    pxn: Option<&'a [u32]>,
    ranks: Ranks,
}

impl<'a> Direct<'a> {
    /// The shape of a channel; checks that all NICs and relays are given.
    pub fn of(writer: &Writer<'a>, channel: usize) -> Result<Self, AlgorithmError> {
        let ranks = writer.plan.ranks;
        let Shape::Direct { send_nic, receive_nic, pxn } = &writer.plan.channels[channel].shape else {
            return Err(writer.wrong_shape(channel, "NICs of direct exchange"));
        };
        if ranks.nodes > 1 {
            want_length(channel, "the sending NICs", send_nic.len(), ranks.per_node as usize)?;
            want_length(channel, "the receiving NICs", receive_nic.len(), ranks.per_node as usize)?;
            for &nic in pxn.iter().flat_map(|_| receive_nic) {
                let relays = pxn.as_deref().unwrap_or_default();
                let Some(&item) = relays.get(nic as usize) else {
                    let (what, count) =
                        ("the receiving NICs (PXN's relays are given up to a NIC)", relays.len());
                    return Err(AlgorithmError::Range { channel, what, item: nic, count: count as u32 });
                };
                if item >= ranks.per_node {
                    let (what, count) = ("PXN's relays", ranks.per_node);
                    return Err(AlgorithmError::Range { channel, what, item, count });
                }
            }
        }
        Ok(Self { send_nic, receive_nic, pxn: pxn.as_deref(), ranks })
    }

    /// The path between two ranks. With PXN it leaves by the NIC that the receiver receives by.
    pub fn path(&self, from: u32, to: u32) -> Path {
        let (node, ranks) = (self.ranks.node(from), self.ranks);
        if node == ranks.node(to) {
            return Path::Local;
        }
        let to_nic = self.receive_nic[ranks.local(to) as usize];
        match self.pxn {
            None => {
                Path::Network { from_nic: self.send_nic[ranks.local(from) as usize], to_nic, relay: None }
            }
            Some(relays) => {
                let relay = ranks.rank(node, relays[to_nic as usize]);
                Path::Network { from_nic: to_nic, to_nic, relay: (relay != from).then_some(relay) }
            }
        }
    }
}
