//! `queues.csv` and `rates.csv`: samples on a grid of simulated time.

use std::path::Path;

use models::config::CLASSES;
use models::fabric::Fabric;
use models::record::Recorder;
use models::topology::PortIndex;
use sim_core::queue::TimeWheel;

use super::super::facts::rate;
use super::WriteError;
use super::table::{Table, gbps, us};

const QUEUES: [&str; 6] = ["time_us", "port", "class", "queue_bytes", "paused", "switch_buffer_bytes"];
const RATES: [&str; 7] = ["time_us", "flow", "from", "to", "allowed_gbps", "goodput_gbps", "delivered_bytes"];

/// `queues.csv` under way.
pub(super) struct QueueFile {
    table: Table,
    most: usize,
    /// Samples with more queues than are written.
    cut: u64,
}

impl QueueFile {
    pub fn create(folder: &Path, most: u32) -> Result<Self, WriteError> {
        Ok(Self { table: Table::create(folder, "queues.csv", &QUEUES)?, most: most as usize, cut: 0 })
    }

    /// Writes the longest queues of switches that are not empty.
    pub fn sample<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        let graph = fabric.graph();
        let mut queues: Vec<(u64, PortIndex, u8)> = Vec::new();
        for port in graph.first_port[graph.hosts as usize]..graph.ports.len() as PortIndex {
            let backlog = fabric.port(port).backlog;
            for class in (0..CLASSES as u8).filter(|class| backlog & (1 << class) != 0) {
                queues.push((u64::from(fabric.egress_queue(port, class).bytes), port, class));
            }
        }
        if queues.len() > self.most {
            self.cut += 1;
            queues.sort_unstable_by_key(|&(bytes, port, class)| (std::cmp::Reverse(bytes), port, class));
            queues.truncate(self.most);
            queues.sort_unstable_by_key(|&(_, port, class)| (port, class));
        }
        let now = us(fabric.now().0);
        for (bytes, port, class) in queues {
            let switch = graph.ports[port as usize].node - graph.hosts;
            let paused = u8::from(fabric.port(port).paused & (1 << class) != 0);
            let row = [
                now.clone(),
                graph.port_name(port),
                class.to_string(),
                bytes.to_string(),
                paused.to_string(),
                fabric.buffer_occupied(switch).to_string(),
            ];
            self.table.row(&row)?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.table.flush()
    }

    pub fn left_out(&self) -> Option<String> {
        (self.cut > 0).then(|| {
            format!(
                "queues.csv holds the {} longest queues of a sample, {} samples had more: raise output.queue_rows",
                self.most, self.cut
            )
        })
    }
}

/// `rates.csv` under way.
pub(super) struct RateFile {
    table: Table,
    flows: u32,
    all: usize,
    /// Time of the last sample, in picoseconds.
    last: u64,
    /// What each flow had delivered then.
    delivered: Vec<u64>,
    /// Flows whose end is written.
    ended: Vec<bool>,
}

impl RateFile {
    pub fn create(folder: &Path, most: u32, all: usize) -> Result<Self, WriteError> {
        let flows = most.min(all as u32);
        Ok(Self {
            table: Table::create(folder, "rates.csv", &RATES)?,
            flows,
            all,
            last: 0,
            delivered: vec![0; flows as usize],
            ended: vec![false; flows as usize],
        })
    }

    /// Writes the flows under way, and once more each that ended since the last sample.
    pub fn sample<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        let graph = fabric.graph();
        let now = fabric.now().0;
        let name = |node: u32| graph.names[node as usize].clone();
        for flow in 0..self.flows {
            let slot = flow as usize;
            let state = fabric.flow_states()[slot];
            if state.started.is_none() || self.ended[slot] {
                continue;
            }
            self.ended[slot] = state.finished.is_some();
            let delivered = fabric.delivered(flow);
            let new = delivered.saturating_sub(self.delivered[slot]);
            self.delivered[slot] = delivered;
            let row = [
                us(now),
                flow.to_string(),
                name(fabric.flows()[slot].src),
                name(fabric.flows()[slot].dst),
                gbps(fabric.allowed_rate(flow) as f64),
                gbps(rate(new, now - self.last)),
                delivered.to_string(),
            ];
            self.table.row(&row)?;
        }
        self.last = now;
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.table.flush()
    }

    pub fn left_out(&self) -> Option<String> {
        (self.all > self.flows as usize).then(|| {
            format!("rates.csv holds the first {} of {} flows: raise output.rate_flows", self.flows, self.all)
        })
    }
}
