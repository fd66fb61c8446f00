//! Conservation laws: what must hold at any instant between events.

use sim_core::queue::EventQueue;

use super::Fabric;
use crate::config::{CLASSES, ClassKind};
use crate::record::Recorder;

/// A conservation law that does not hold: a fault of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// Packets created are not packets delivered, lost, queued and in flight.
    #[error("packets: {created} created, but {delivered} delivered + {dropped} lost + {inside} inside")]
    Packets {
        /// Packets that entered the fabric.
        created: u64,
        /// Packets that reached a host.
        delivered: u64,
        /// Packets lost.
        dropped: u64,
        /// Packets queued or in flight.
        inside: u64,
    },
    /// A switch's memory does not add up.
    #[error("{switch}: the shared memory does not agree with its ingresses")]
    Memory {
        /// The switch.
        switch: String,
    },
    /// Queued bytes are not charged bytes.
    #[error("{switch}: {queued} bytes queued at egress, {charged} charged at ingress")]
    Charges {
        /// The switch.
        switch: String,
        /// Bytes in egress queues.
        queued: u64,
        /// Bytes charged at ingress.
        charged: u64,
    },
    /// Delivered payload exceeds what was posted.
    #[error("flow {flow}: {delivered} bytes delivered of {posted}")]
    Delivered {
        /// The flow.
        flow: u32,
        /// Bytes delivered.
        delivered: u64,
        /// Bytes posted.
        posted: u64,
    },
    /// A PFC state disagrees: pauses told are not resumes told and standing pauses.
    #[error("{port} class {class}: {pauses} pauses and {resumes} resumes told, standing: {standing}")]
    Pauses {
        /// The port.
        port: String,
        /// The class.
        class: u8,
        /// PAUSE frames sent.
        pauses: u32,
        /// Resumes sent.
        resumes: u32,
        /// Whether a pause stands.
        standing: bool,
    },
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Checks all conservation laws. O(ports + packets).
    pub fn audit(&self) -> Result<(), AuditError> {
        self.audit_packets()?;
        for index in 0..self.switches.len() {
            self.audit_memory(index)?;
        }
        for flow in 0..self.finite {
            let f = &self.flows[flow as usize];
            let (delivered, posted) = (self.delivered(flow), f.size.0 * u64::from(f.messages));
            if delivered > posted {
                return Err(AuditError::Delivered { flow, delivered, posted });
            }
        }
        for port in 0..self.ports.len() {
            let (p, state) = (&self.ports[port], &self.pauses[port]);
            for class in 0..CLASSES as u8 {
                let (pauses, resumes) =
                    (state.tx_pause[usize::from(class)], state.tx_resume[usize::from(class)]);
                let standing = state.told & (1 << class) != 0;
                if p.up && ((pauses == 0 && (resumes > 0 || standing)) || resumes > pauses) {
                    let port = self.graph.port_name(port as u32);
                    return Err(AuditError::Pauses { port, class, pauses, resumes, standing });
                }
            }
        }
        Ok(())
    }

    /// Packets queued and in flight, PFC frames excepted.
    pub fn packets_inside(&self) -> u64 {
        self.packets.in_use() as u64
    }

    /// PFC frames in flight, due, or not yet followed by their resume.
    pub fn pauses_outstanding(&self) -> bool {
        self.ports.iter().zip(self.pauses.iter()).any(|(p, state)| p.up && (p.tell | state.told != 0))
            || self.pfc_links.iter().any(|ring| !ring.is_empty())
    }

    fn audit_packets(&self) -> Result<(), AuditError> {
        let (created, delivered) = (self.counters.created, self.counters.delivered);
        let (dropped, inside) = (self.counters.dropped(), self.packets_inside());
        if created != delivered + dropped + inside {
            return Err(AuditError::Packets { created, delivered, dropped, inside });
        }
        Ok(())
    }

    fn audit_memory(&self, index: usize) -> Result<(), AuditError> {
        let node = self.hosts_count + index as u32;
        let name = || self.graph.names[node as usize].clone();
        let ports = self.graph.ports_of(node);
        let of_kind = |kind: ClassKind| {
            ports.clone().flat_map(move |port| {
                (0..CLASSES)
                    .filter(move |&class| self.rules.kind[class] == kind)
                    .map(move |class| &self.ingress[port as usize * CLASSES + class])
            })
        };
        let buffer = &self.switches[index].buffer;
        if !buffer.balances(of_kind(ClassKind::Lossless), of_kind(ClassKind::Lossy)) {
            return Err(AuditError::Memory { switch: name() });
        }
        let charged = buffer.occupied();
        let queued: u64 = ports
            .clone()
            .flat_map(|port| (0..CLASSES).map(move |class| (port, class)))
            .filter(|&(_, class)| self.rules.kind[class] != ClassKind::Control)
            .map(|(port, class)| u64::from(self.queues[port as usize * CLASSES + class].bytes))
            .sum();
        if queued != charged {
            return Err(AuditError::Charges { switch: name(), queued, charged });
        }
        Ok(())
    }
}
