//! Streams: queue pairs whose messages are posted while the fabric runs. They carry collectives.
//!
//! A stream is a flow behind the finite ones. Its PSNs run over all its messages; the sender keeps the bounds of those
//! not yet acknowledged, the receiver counts last packets.

use std::collections::VecDeque;

use sim_core::queue::EventQueue;

use super::Fabric;
use super::nic_send::Turn;
use crate::record::Recorder;

/// A posted message: where it ends and what its last packet carries.
#[derive(Clone, Copy, Debug)]
struct Posted {
    /// Its first PSN.
    start: u32,
    /// One past its last PSN.
    end: u32,
    last_payload: u16,
}

/// The sending end of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// Messages not acknowledged.
    posted: VecDeque<Posted>,
    /// The message that was sent from last.
    cursor: usize,
    /// Payload bytes posted.
    pub bytes: u64,
}

impl Stream {
    /// Payload of the packet `psn`, whether it is the first and whether it is the last of its message; `None` for the
    /// payload stands for a full packet.
    #[inline]
    pub fn packet(&mut self, psn: u32) -> (Option<u16>, bool) {
        while self.posted[self.cursor].end <= psn {
            self.cursor += 1;
        }
        while self.posted[self.cursor].start > psn {
            self.cursor -= 1;
        }
        let message = self.posted[self.cursor];
        ((psn + 1 == message.end).then_some(message.last_payload), psn == message.start)
    }

    /// Takes off the messages acknowledged before `acked`; how many.
    fn settle(&mut self, acked: u32) -> u32 {
        let mut done = 0;
        while self.posted.front().is_some_and(|message| message.end <= acked) {
            self.posted.pop_front();
            done += 1;
        }
        self.cursor = self.cursor.saturating_sub(done as usize);
        done
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Index of the stream of queue pair `qp`.
    #[inline]
    pub(super) fn stream_of(&self, qp: u32) -> usize {
        (qp - self.finite) as usize
    }

    /// Posts a message of `bytes` on stream `qp`; one of 0 bytes is a packet without payload.
    pub(super) fn post(&mut self, qp: u32, bytes: u64) {
        let mtu = u64::from(self.nic.mtu);
        let packets = bytes.div_ceil(mtu).max(1) as u32;
        let index = self.stream_of(qp);
        let stream = &mut self.streams[index];
        let s = &mut self.send[qp as usize];
        let start = s.end;
        s.end += packets;
        let last_payload = (bytes - u64::from(packets - 1) * mtu) as u16;
        stream.posted.push_back(Posted { start, end: s.end, last_payload });
        stream.bytes += bytes;
        if s.turn == Turn::Idle {
            self.offer(qp);
        }
    }

    /// Everything before `acked` of stream `qp` is acknowledged.
    #[inline]
    pub(super) fn settle(&mut self, qp: u32, acked: u32) {
        let index = self.stream_of(qp);
        let done = self.streams[index].settle(acked);
        for _ in 0..done {
            self.on_message_acked(qp);
        }
    }
}
