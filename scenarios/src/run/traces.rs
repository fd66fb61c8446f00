//! What is written of a run beside its files, if asked for: a trace, a packet capture.

use std::path::Path;

use models::fabric::Fabric;
use models::record::{FrameRecord, PfcRecord, Recorder};
use models::topology::PortIndex;
use sim_core::queue::TimeWheel;

use super::capture::{Capture, CaptureOptions, ports_of};
use super::facts::Facts;
use super::files::WriteError;
use super::prepare::{Prepared, RunError};
use super::trace::{Trace, TraceOptions};

/// What a run writes.
#[derive(Clone, Debug, Default)]
pub struct Outputs<'a> {
    /// The folder of its files; without it nothing is sampled.
    pub folder: Option<&'a Path>,
    /// A trace.
    pub trace: Option<TraceOptions>,
    /// A packet capture.
    pub capture: Option<CaptureOptions>,
}

/// The trace and the capture of a run under way.
#[derive(Default)]
pub(super) struct Traces {
    trace: Option<Trace>,
    capture: Option<Capture>,
    /// Ports whose frames are captured.
    pub ports: Vec<PortIndex>,
}

impl Traces {
    /// Opens what is asked for.
    pub fn create(outputs: &Outputs, prepared: &Prepared) -> Result<Self, RunError> {
        let failed = |error: WriteError| RunError::Trace(format!("{error}: name another file"));
        let mut traces = Self::default();
        if let Some(options) = &outputs.trace {
            traces.trace = Some(Trace::create(options, prepared.flows.len()).map_err(failed)?);
        }
        if let Some(options) = &outputs.capture {
            let ports = ports_of(&prepared.graph, &options.at);
            traces.ports = ports.map_err(|why| RunError::Trace(format!("--pcap-at {why}")))?;
            let ports = traces.ports.clone();
            traces.capture = Some(Capture::create(options, ports, prepared).map_err(failed)?);
        }
        Ok(traces)
    }

    /// Whether queues and flows are looked at on a grid.
    pub fn samples(&self) -> bool {
        self.trace.is_some()
    }

    /// Looks at queues and flows.
    pub fn sample<R: Recorder>(&mut self, fabric: &Fabric<TimeWheel, R>) -> Result<(), WriteError> {
        self.trace.as_mut().map_or(Ok(()), |trace| trace.sample(fabric))
    }

    /// Writes what was recorded.
    pub fn write<R: Recorder>(
        &mut self,
        fabric: &Fabric<TimeWheel, R>,
        records: &[PfcRecord],
        frames: &[FrameRecord],
    ) -> Result<(), WriteError> {
        if let Some(trace) = &mut self.trace {
            trace.pfc(fabric.graph(), records)?;
        }
        self.capture.as_mut().map_or(Ok(()), |capture| capture.write(fabric, frames))
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if let Some(trace) = &mut self.trace {
            trace.flush()?;
        }
        self.capture.as_mut().map_or(Ok(()), Capture::flush)
    }

    /// Writes what the end of the run tells.
    pub fn finish<R: Recorder>(
        &mut self,
        fabric: &Fabric<TimeWheel, R>,
        facts: &Facts,
    ) -> Result<(), WriteError> {
        if let Some(trace) = &mut self.trace {
            trace.finish(fabric, facts)?;
        }
        self.capture.as_mut().map_or(Ok(()), Capture::flush)
    }

    /// What was left out because of limits; of frames, `skipped`.
    pub fn told(&self, skipped: u64) -> Vec<String> {
        let mut told: Vec<String> = self.trace.as_ref().and_then(Trace::told).into_iter().collect();
        told.extend(self.capture.iter().flat_map(|capture| capture.told(skipped)));
        told
    }
}
