//! Where the bytes of a call go in the fabric: by link, under the routes of now.

use collectives::schedule::{Connection, Path};
use models::fabric::Fabric;
use models::record::Recorder;
use models::topology::PortIndex;
use sim_core::queue::EventQueue;

use super::plan::PlannedJobs;

/// A data stream of a call across the fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamLoad {
    /// Its flow number: what ECMP hashes.
    pub flow: u32,
    /// The connection of the schedule it belongs to.
    pub connection: Connection,
    /// Bytes of one execution.
    pub bytes: u64,
    /// The egress ports it crosses; `None` where packets of a stream part ways.
    pub way: Option<Vec<PortIndex>>,
}

/// The data streams of call `call`.
pub fn streams<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    jobs: &PlannedJobs,
    call: usize,
) -> Vec<StreamLoad> {
    let schedule = &jobs.workload.calls[call].schedule;
    let bytes = &jobs.calls[call].bound.connections;
    let mut out = Vec::new();
    let flows = fabric.data_streams(call as u32);
    for ((connection, &bytes), flows) in schedule.connections.iter().zip(bytes).zip(flows) {
        let Some(flows) = flows else { continue };
        if !matches!(connection.path, Path::Network { .. } | Path::InNetwork { .. }) || bytes == 0 {
            continue;
        }
        let count = u64::from(flows.end - flows.start).max(1);
        for flow in flows {
            let way = fabric.way(flow).map(|way| way.ports);
            out.push(StreamLoad { flow, connection: *connection, bytes: bytes / count, way });
        }
    }
    out
}

/// A port and what one execution of a call puts on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortLoad {
    /// The egress port.
    pub port: PortIndex,
    /// Bytes, headers not counted.
    pub bytes: u64,
    /// Streams.
    pub streams: u32,
    /// Time at the port's full rate, in microseconds.
    pub us: f64,
}

/// Ports that carry the streams, the longest busy first; `None` where a stream has no single way.
pub fn by_port<Q: EventQueue, R: Recorder>(
    fabric: &Fabric<Q, R>,
    streams: &[StreamLoad],
) -> Option<Vec<PortLoad>> {
    let graph = fabric.graph();
    let mut loads = vec![(0u64, 0u32); graph.ports.len()];
    for stream in streams {
        for &port in stream.way.as_ref()? {
            loads[port as usize].0 += stream.bytes;
            loads[port as usize].1 += 1;
        }
    }
    let mut out: Vec<PortLoad> = loads
        .iter()
        .enumerate()
        .filter(|(_, (bytes, _))| *bytes > 0)
        .map(|(port, &(bytes, streams))| {
            let rate = graph.link_of(port as PortIndex).rate.0 as f64 / 8.0;
            PortLoad { port: port as PortIndex, bytes, streams, us: bytes as f64 / rate * 1e6 }
        })
        .collect();
    out.sort_by(|a, b| b.us.total_cmp(&a.us).then(a.port.cmp(&b.port)));
    Some(out)
}
