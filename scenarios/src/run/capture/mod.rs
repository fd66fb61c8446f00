//! A packet capture of some ports as pcapng (draft-ietf-opsawg-pcapng), written while the run goes on.

mod frame;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use models::fabric::Fabric;
use models::record::{FrameRecord, Recorder};
use models::topology::{Graph, NameIndex, PortIndex};
use sim_core::queue::TimeWheel;

use self::frame::Context;
use super::files::WriteError;
use super::prepare::Prepared;

/// Bytes of a frame that are kept: every header, and control packets whole.
const SNAP: usize = 128;

/// What to capture and where to.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// The file, pcapng.
    pub file: PathBuf,
    /// A port (`leaf0:3`), or a node, all of whose ports are captured.
    pub at: String,
    /// Most frames that are written.
    pub most: u64,
}

/// The ports that a name stands for.
///
/// # Errors
/// There is no such port or node; in words, with the nearest name.
pub fn ports_of(graph: &Graph, name: &str) -> Result<Vec<PortIndex>, String> {
    let (node, number) = match name.rsplit_once(':') {
        Some((node, number)) => (node, Some(number)),
        None => (name, None),
    };
    let index = NameIndex::new(graph).find(node).map_err(|error| format!("\"{name}\": {error}"))?;
    let ports = graph.ports_of(index);
    let Some(number) = number else { return Ok(ports.collect()) };
    let count = ports.len();
    let found =
        number.parse::<u32>().ok().filter(|number| (*number as usize) < count && !graph.is_host(index));
    match found {
        Some(number) => Ok(vec![ports.start + number]),
        None if graph.is_host(index) => {
            Err(format!("\"{name}\": a host has one port, which has its name: \"{node}\""))
        }
        None => Err(format!("\"{name}\": {node} has the ports {node}:0 to {node}:{}", count - 1)),
    }
}

/// A capture under way.
pub(super) struct Capture {
    path: PathBuf,
    out: BufWriter<File>,
    /// The interface of each port in the file.
    ports: Vec<PortIndex>,
    quanta: u16,
    pfc_frame: usize,
    mtu: u64,
    written: u64,
    buffer: Vec<u8>,
}

impl Capture {
    /// Opens the file and writes what stands before the frames.
    pub fn create(
        options: &CaptureOptions,
        ports: Vec<PortIndex>,
        prepared: &Prepared,
    ) -> Result<Self, WriteError> {
        let path = options.file.clone();
        let file = File::create(&path).map_err(|source| WriteError { path: path.clone(), source })?;
        let scenario = &prepared.scenario;
        let mut capture = Self {
            path,
            out: BufWriter::with_capacity(1 << 16, file),
            ports,
            quanta: u16::try_from(scenario.switch.pfc.quanta).unwrap_or(u16::MAX),
            pfc_frame: scenario.switch.pfc.frame.0 as usize,
            mtu: scenario.nic.mtu.0,
            written: 0,
            buffer: Vec::new(),
        };
        capture.head(&prepared.graph).map_err(|source| capture.failed(source))?;
        Ok(capture)
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }

    fn head(&mut self, graph: &Graph) -> io::Result<()> {
        let mut section = Vec::new();
        section.extend(0x1a2b_3c4d_u32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        option(&mut section, 4, b"fabsim");
        option(&mut section, 0, &[]);
        block(&mut self.out, 0x0a0d_0d0a, &section)?;
        for &port in &self.ports {
            let mut interface = vec![1, 0, 0, 0];
            interface.extend((SNAP as u32).to_le_bytes());
            option(&mut interface, 2, graph.port_name(port).as_bytes());
            let end = graph.ports[port as usize];
            option(&mut interface, 3, format!("to {}", graph.port_name(end.peer)).as_bytes());
            option(&mut interface, 8, &graph.link_of(port).rate.0.to_le_bytes());
            // Nanoseconds.
            option(&mut interface, 9, &[9]);
            option(&mut interface, 0, &[]);
            block(&mut self.out, 1, &interface)?;
        }
        Ok(())
    }

    /// Writes frames.
    pub fn write<R: Recorder>(
        &mut self,
        fabric: &Fabric<TimeWheel, R>,
        frames: &[FrameRecord],
    ) -> Result<(), WriteError> {
        let context = Context {
            graph: fabric.graph(),
            flows: fabric.flows(),
            streams: fabric.streams(),
            quanta: self.quanta,
            pfc_frame: self.pfc_frame,
            mtu: self.mtu,
        };
        for record in frames {
            self.frame(&context, record).map_err(|source| self.failed(source))?;
        }
        self.written += frames.len() as u64;
        Ok(())
    }

    fn frame(&mut self, context: &Context, record: &FrameRecord) -> io::Result<()> {
        let length = context.write(record, SNAP, &mut self.buffer);
        let interface = self.ports.binary_search(&record.port).unwrap_or(0) as u32;
        let ns = record.at.0 / 1000;
        let mut body = Vec::with_capacity(SNAP + 40);
        for word in [interface, (ns >> 32) as u32, ns as u32, self.buffer.len() as u32, length as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&self.buffer);
        body.resize(body.len().next_multiple_of(4), 0);
        let direction: u32 = if record.sent { 2 } else { 1 };
        option(&mut body, 2, &direction.to_le_bytes());
        option(&mut body, 0, &[]);
        block(&mut self.out, 6, &body)
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush().map_err(|source| self.failed(source))
    }

    /// What was written, and what was left out because of the limit.
    pub fn told(&self, skipped: u64) -> Vec<String> {
        let path = self.path.display();
        if skipped > 0 {
            return vec![format!(
                "{path} holds the first {} frames, {skipped} more are not in it: raise --pcap-limit",
                self.written
            )];
        }
        match self.written {
            0 => vec![format!("{path} is empty: no frame passed there")],
            _ => Vec::new(),
        }
    }
}

/// A block of a type: its length stands before and after it.
fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() + 12) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&length.to_le_bytes())
}

/// An option: code, length, value, padded to four bytes.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ports_or_nodes() {
        let topology = serde_json::json!({ "single-switch": { "hosts": 3, "link": { "rate": "100Gbps", "delay": "1us" } } });
        let graph = models::topology::build(&serde_json::from_value(topology).unwrap()).unwrap();
        assert_eq!(ports_of(&graph, "host1"), Ok(vec![1]));
        assert_eq!(ports_of(&graph, "switch0:2"), Ok(vec![5]));
        assert_eq!(ports_of(&graph, "switch0"), Ok(vec![3, 4, 5]));
        assert!(ports_of(&graph, "swich0:2").unwrap_err().contains("did you mean \"switch0\"?"));
        assert!(ports_of(&graph, "switch0:3").unwrap_err().contains("switch0:0 to switch0:2"));
        assert!(ports_of(&graph, "host1:0").unwrap_err().contains("a host has one port"));
    }

    #[test]
    fn blocks_and_options_are_padded() {
        let mut body = Vec::new();
        option(&mut body, 2, b"leaf0");
        let mut out = Vec::new();
        block(&mut out, 1, &body).unwrap();
        assert_eq!(
            out,
            [&[1, 0, 0, 0, 24, 0, 0, 0, 2, 0, 5, 0][..], b"leaf0\0\0\0", &[24, 0, 0, 0]].concat()
        );
    }
}
