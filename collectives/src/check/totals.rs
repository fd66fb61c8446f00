//! What a schedule does and sends, counted.

use crate::schedule::{Channel, CollectiveSchedule, Layout, Path, Step, Thread};

/// Bytes of data that a rank sends, by where they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// To GPUs of its node.
    pub local: u64,
    /// Into the NVSwitch, to be added up or copied. A message that is copied counts once.
    pub nvls: u64,
    /// To GPUs of other nodes, also where PXN relays (what then goes to the relay is not counted in `local`).
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
            local: a.local.saturating_add(b.local),
            nvls: a.nvls.saturating_add(b.nvls),
            network: a.network.saturating_add(b.network),
            in_network: a.in_network.saturating_add(b.in_network),
        })
    }

    fn add_thread(&mut self, schedule: &CollectiveSchedule, thread: &Thread, index: u32, times: u64) {
        let part = &schedule.channels[thread.channel as usize];
        let sent = &mut self.sent[thread.rank as usize];
        for step in &thread.steps {
            let (mut bytes, mut slices) = of_step(part, index, step);
            bytes = bytes.saturating_mul(times);
            slices = slices.saturating_mul(times).saturating_mul(step.send.len() as u64);
            self.steps = self.steps.saturating_add(u64::from(step.repeat) * times);
            self.messages = self.messages.saturating_add(slices);
            let mut copied = false;
            for connection in &step.send {
                let to = match schedule.connections[*connection as usize].path {
                    Path::Local => &mut sent.local,
                    Path::Network { .. } => &mut sent.network,
                    Path::NvlsMulticast if copied => continue,
                    Path::NvlsMulticast => {
                        copied = true;
                        &mut sent.nvls
                    }
                    Path::NvlsReduce => &mut sent.nvls,
                    Path::InNetwork { .. } => &mut sent.in_network,
                };
                *to = to.saturating_add(bytes);
            }
        }
    }
}

/// Bytes and slices of all repetitions of a step in loop `index`.
fn of_step(part: &Channel, index: u32, step: &Step) -> (u64, u64) {
    // Sizes come again after as many repetitions as a loop has blocks, and at once where all blocks are of one size.
    let alike = part.layout == Layout::PerRank || index + 1 < part.loops;
    let period = if alike { 1 } else { part.blocks };
    let of = |repetitions: u32| {
        (0..repetitions).fold((0u64, 0u64), |(bytes, slices), k| {
            let one = part.step_bytes(index, step, k);
            (bytes.saturating_add(one), slices.saturating_add(part.slice_count(one)))
        })
    };
    let (whole, rest) = (u64::from(step.repeat / period), of(step.repeat % period));
    let once = if whole > 0 { of(period) } else { (0, 0) };
    let total = |once: u64, rest: u64| once.saturating_mul(whole).saturating_add(rest);
    (total(once.0, rest.0), total(once.1, rest.1))
}
