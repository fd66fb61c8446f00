//! The constants of the simulators of the HPCC family.

use models::config::{
    ClassConfig, ClassKind, CnpConfig, CongestionConfig, DcqcnConfig, DcqcnPreset, EcnConfig, EcnPoint,
    Headroom, NicConfig, PfcConfig, Recovery, Scheduler, SwitchConfig, Threshold,
};
use sim_core::{Bytes, Duration, Rate};

/// Frame bytes around a payload: 14 PPP, 20 IPv4, 8 UDP, 6 sequence number and priority group.
pub(super) const HEADER: u64 = 48;

/// Bytes of in-band telemetry in every packet when the congestion control is HPCC: 5 hops of 8 B and a count of 2 B.
pub(super) const INT_TELEMETRY: u64 = 42;

/// Bytes of the timestamp in every packet when the congestion control is TIMELY.
pub(super) const INT_TIMESTAMP: u64 = 8;

/// A class that switches do not charge, pause, drop or mark: queue 0 of the HPCC model.
pub(super) const CONTROL_CLASS: ClassConfig =
    ClassConfig { class: 0, kind: ClassKind::Control, scheduler: Scheduler::Strict };

/// The constants of the ns-3 model of HPCC (alibaba-edu/High-Precision-Congestion-Control), as its `run.py` sets
/// them for DCQCN: 1000 B of payload in 1048 B frames without preamble or gap, ACKs in an uncharged strict class,
/// PAUSE frames that never expire, alpha 1/8, ECN of 100/400 KB per 25 Gb/s at dequeue, marks echoed in ACKs.
pub fn hpcc_defaults() -> (SwitchConfig, NicConfig, CongestionConfig) {
    let switch = SwitchConfig {
        buffer: Bytes(32 << 20),
        classes: vec![
            CONTROL_CLASS,
            ClassConfig { class: 3, kind: ClassKind::Lossless, scheduler: Scheduler::Dwrr(1) },
        ],
        reserved: Bytes(4096),
        xoff: Threshold::Dynamic { alpha: 0.125 },
        xon_offset: Bytes(3072),
        headroom: Headroom::BdpFactor(3.0),
        pfc: PfcConfig { quanta: 0, frame: Bytes(43), ..PfcConfig::default() },
        ecn: Some(EcnConfig {
            kmin: Bytes(100_000),
            kmax: Bytes(400_000),
            pmax: 0.2,
            reference_rate: Some(Rate::gbps(25)),
            per_rate: Vec::new(),
            at: EcnPoint::Dequeue,
            classes: Some(vec![3]),
        }),
        ..SwitchConfig::default()
    };
    let nic = NicConfig {
        mtu: Bytes(1000),
        header: Bytes(HEADER),
        gap: Bytes(0),
        ack_frame: Bytes(60),
        reth: Bytes(0),
        ack_every: 1,
        ack_class: Some(0),
        recovery: Recovery::GoBackN,
        nak_interval: Duration::from_us(500),
        cnp: CnpConfig { interval: Duration::ZERO, delay: Duration::ZERO, class: 0, echo_in_ack: true },
        jitter: false,
        ..NicConfig::default()
    };
    let dcqcn = DcqcnConfig {
        preset: DcqcnPreset::HpccNs3,
        min_rate: Some(Rate::mbps(1000)),
        ..DcqcnConfig::default()
    };
    (switch, nic, CongestionConfig::Dcqcn(dcqcn))
}

/// Bytes of a cell of ns3-rdma's switch, the unit of its thresholds.
pub(super) const NS3_RDMA_CELL: u64 = 1030;

/// The constants of ns3-rdma (bobzhuyb/ns3-rdma), where they differ from HPCC's, which descends from it: frames of
/// 1030 B, 9 MB of buffer, alpha 16, 100 cells of headroom, marking from 60 cells on, and CNPs that are packets,
/// 50 us apart.
pub(super) fn ns3_rdma_defaults() -> (SwitchConfig, NicConfig, CongestionConfig) {
    let (mut switch, mut nic, _) = hpcc_defaults();
    nic.header = Bytes(30);
    switch.buffer = Bytes(9_000_000);
    switch.reserved = Bytes(2 * NS3_RDMA_CELL);
    switch.xoff = Threshold::Dynamic { alpha: 16.0 };
    switch.xon_offset = Bytes(16 * 16);
    switch.headroom = Headroom::Bytes(Bytes(100 * NS3_RDMA_CELL));
    switch.ecn = Some(EcnConfig {
        kmin: Bytes(60 * NS3_RDMA_CELL),
        kmax: Bytes(60 * NS3_RDMA_CELL),
        pmax: 1.0,
        reference_rate: None,
        per_rate: Vec::new(),
        at: EcnPoint::Dequeue,
        classes: Some(vec![3]),
    });
    nic.cnp =
        CnpConfig { interval: Duration::from_us(50), delay: Duration::ZERO, class: 0, echo_in_ack: false };
    let dcqcn = DcqcnConfig { preset: DcqcnPreset::Sigcomm15, ..DcqcnConfig::default() };
    (switch, nic, CongestionConfig::Dcqcn(dcqcn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hpcc_wire_and_thresholds() {
        let (switch, nic, _) = hpcc_defaults();
        // 1048 B a data packet, 83.84 ns at 100 Gb/s (the ns-3 model's own arithmetic, before truncation).
        assert_eq!(Rate::gbps(100).tx_time((nic.mtu + nic.header + nic.gap).0), Duration(83_840));
        let at_400 = switch.ecn.unwrap().thresholds(Rate::gbps(400)).unwrap();
        assert_eq!((at_400.kmin, at_400.kmax), (Bytes(1_600_000), Bytes(6_400_000)));
        assert_eq!(switch.buffer, Bytes(33_554_432));
        assert_eq!(nic.ack_class, Some(0));
        assert!(switch.classes.contains(&CONTROL_CLASS));
        assert!(!nic.jitter && nic.cnp.echo_in_ack);
    }
}
