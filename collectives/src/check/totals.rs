//! What a schedule does and sends, counted.

use crate::schedule::{CollectiveSchedule, Path};

/// Bytes of data that a rank sends, by where they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// To GPUs of its node.
    pub local: u64,
    /// Into the NVSwitch, to be added up or copied. A message that is copied counts once.
    pub nvls: u64,
    /// To GPUs of other nodes.
    pub network: u64,
    /// Into the network, to be added up there.
    pub in_network: u64,
}

/// What a schedule does and sends, over all loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Steps done.
    pub steps: u64,
    /// Messages (slices) sent.
    pub messages: u64,
    /// Bytes each rank sends.
    pub sent: Vec<Sent>,
}

impl Totals {
    /// Counts a schedule that is well formed ([`super::validate`]).
    pub fn of(schedule: &CollectiveSchedule) -> Self {
        let mut totals = Self { sent: vec![Sent::default(); schedule.ranks as usize], ..Self::default() };
        for (c, part) in schedule.channels.iter().enumerate() {
            // All loops but the last are alike.
            let sizes = [(0, u64::from(part.loops) - 1), (part.loops - 1, 1)];
            for (index, times) in sizes.into_iter().filter(|(_, times)| *times > 0) {
                let threads = schedule.threads.iter().filter(|t| t.channel as usize == c);
                for thread in threads {
                    totals.add_thread(schedule, thread, index, times);
                }
            }
        }
        totals
    }

    /// Bytes sent by all ranks.
    pub fn sum(&self) -> Sent {
        self.sent.iter().fold(Sent::default(), |a, b| Sent {
            local: a.local + b.local,
            nvls: a.nvls + b.nvls,
            network: a.network + b.network,
            in_network: a.in_network + b.in_network,
        })
    }

    fn add_thread(
        &mut self,
        schedule: &CollectiveSchedule,
        thread: &crate::schedule::Thread,
        index: u32,
        times: u64,
    ) {
        let part = &schedule.channels[thread.channel as usize];
        let sent = &mut self.sent[thread.rank as usize];
        for step in &thread.steps {
            let (mut bytes, mut slices) = (0, 0);
            for k in 0..step.repeat {
                let one = part.step_bytes(index, step, k);
                bytes += one;
                slices += part.slice_count(one);
            }
            self.steps += u64::from(step.repeat) * times;
            self.messages += slices * step.send.len() as u64 * times;
            let mut copied = false;
            for connection in &step.send {
                match schedule.connections[*connection as usize].path {
                    Path::Local => sent.local += bytes * times,
                    Path::Network { .. } => sent.network += bytes * times,
                    Path::NvlsReduce => sent.nvls += bytes * times,
                    Path::NvlsMulticast if copied => {}
                    Path::NvlsMulticast => {
                        copied = true;
                        sent.nvls += bytes * times;
                    }
                    Path::InNetwork { .. } => sent.in_network += bytes * times,
                }
            }
        }
    }
}
