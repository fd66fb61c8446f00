//! Congestion control from the config's `CC_MODE` and its parameters.

use models::config::{CongestionConfig, DcqcnConfig, DcqcnPreset, HpccConfig, NicConfig, TimelyConfig};
use sim_core::{Bytes, Duration};

use super::super::Dialect;
use super::super::report::Log;
use super::config::Config;
use super::defaults::{INT_TELEMETRY, INT_TIMESTAMP};
use super::rtt::largest_base_rtt;
use super::topology::Topology;

/// Sets congestion control, and the header bytes it adds to packets.
pub(super) fn apply(
    log: &mut Log,
    config: &mut Config<'_>,
    dialect: Dialect,
    topology: &Topology,
    nic: &mut NicConfig,
    congestion: &mut CongestionConfig,
) {
    if dialect == Dialect::Ns3Rdma {
        *congestion = CongestionConfig::Dcqcn(dcqcn(log, config, DcqcnPreset::Sigcomm15));
        if let Some(interval) = config.micros(log, "CNP_INTERVAL") {
            nic.cnp.interval = interval;
        }
        return;
    }
    let line = config.line("CC_MODE");
    let Some(mode) = config.whole(log, "CC_MODE") else {
        if line == 0 {
            log.note(config.file, 0, "no CC_MODE: DCQCN (1) as in the reference runs of HPCC");
            *congestion = CongestionConfig::Dcqcn(dcqcn(log, config, DcqcnPreset::HpccNs3));
        }
        return;
    };
    let unsupported = |what: &str| {
        format!("CC_MODE {mode} is {what}, which has no model here: take 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)")
    };
    match mode {
        1 => *congestion = CongestionConfig::Dcqcn(dcqcn(log, config, DcqcnPreset::HpccNs3)),
        3 => {
            *congestion = CongestionConfig::Hpcc(hpcc(log, config, topology, nic.mtu));
            nic.header += Bytes(INT_TELEMETRY);
            // A 46 B ACK carries the telemetry back: 88 B, above the 60 B of the others.
            nic.ack_frame = Bytes(46 + INT_TELEMETRY);
            let text = format!(
                "HPCC adds {INT_TELEMETRY} B of telemetry to every packet: headers of {}",
                nic.header
            );
            log.note(config.file, line, text);
        }
        7 => {
            *congestion = CongestionConfig::Timely(timely(log, config));
            nic.header += Bytes(INT_TIMESTAMP);
            let text = format!(
                "TIMELY adds {INT_TIMESTAMP} B of timestamp to every packet: headers of {}",
                nic.header
            );
            log.note(config.file, line, text);
        }
        8 => log.error(config.file, line, unsupported("DCTCP")),
        10 => log.error(config.file, line, unsupported("HPCC-PINT")),
        12 if dialect == Dialect::Astra => {
            *congestion = CongestionConfig::None;
            let text =
                "CC_MODE 12 has no handler in astra-network-ns3: senders keep the line rate, congestion none";
            log.note(config.file, line, text);
        }
        _ => log.error(config.file, line, unsupported("not known")),
    }
}

fn gain(log: &mut Log, config: &mut Config<'_>, key: &str) -> Option<f64> {
    let gain = config.fraction(log, key)?;
    if gain == 0.0 {
        log.error(config.file, config.line(key), format!("{key} is 0; a gain above 0 is due"));
        return None;
    }
    Some(gain)
}

fn dcqcn(log: &mut Log, config: &mut Config<'_>, preset: DcqcnPreset) -> DcqcnConfig {
    let gain_key = if preset == DcqcnPreset::Sigcomm15 { "DCTCP_GAIN" } else { "EWMA_GAIN" };
    let fast_recovery = config.whole(log, "FAST_RECOVERY_TIMES");
    DcqcnConfig {
        preset,
        gain: gain(log, config, gain_key),
        alpha_interval: config.interval(log, "ALPHA_RESUME_INTERVAL"),
        decrease_interval: config.interval(log, "RATE_DECREASE_INTERVAL"),
        increase_timer: config.interval(log, "RP_TIMER"),
        byte_counter: config.whole(log, "BYTE_COUNTER").map(Bytes),
        fast_recovery: fast_recovery.map(|times| u32::try_from(times).unwrap_or(u32::MAX)),
        additive_increase: config.rate(log, "RATE_AI"),
        hyper_increase: config.rate(log, "RATE_HAI"),
        min_rate: config.rate(log, "MIN_RATE"),
        clamp_target: config.flag(log, "CLAMP_TARGET_RATE"),
        ..DcqcnConfig::default()
    }
}

fn hpcc(log: &mut Log, config: &mut Config<'_>, topology: &Topology, payload: Bytes) -> HpccConfig {
    let mut hpcc = HpccConfig::default();
    if let Some(eta) = config.fraction(log, "U_TARGET") {
        if eta == 0.0 {
            log.error(config.file, config.line("U_TARGET"), "U_TARGET is 0; a utilisation above 0 is due");
        }
        hpcc.eta = eta;
    }
    if let Some(stages) = config.whole(log, "MI_THRESH") {
        hpcc.max_stage = u32::try_from(stages).unwrap_or(u32::MAX);
    }
    if let Some(rate) = config.rate(log, "RATE_AI") {
        let given = config.scaled(log, "BASE_RTT", 1000).map(Duration).filter(|rtt| *rtt > Duration::ZERO);
        let rtt = given.unwrap_or_else(|| largest_base_rtt(topology, payload.0));
        hpcc.additive_increase = Bytes(rate.bytes_in(rtt).0.max(1));
        let text = format!(
            "RATE_AI {rate} over a base round trip of {rtt} is an increase of {} a round trip",
            hpcc.additive_increase
        );
        log.note(config.file, config.line("RATE_AI"), text);
    }
    if let Some(rate) = config.rate(log, "MIN_RATE") {
        hpcc.min_rate = rate;
    }
    hpcc
}

fn timely(log: &mut Log, config: &mut Config<'_>) -> TimelyConfig {
    // TimelyMinRtt of the HPCC model's NIC, which no config key sets.
    let mut timely = TimelyConfig { min_rtt: Some(Duration::from_us(20)), ..TimelyConfig::default() };
    if let Some(low) = config.scaled(log, "TIMELY_T_LOW", 1000) {
        timely.t_low = Duration(low);
    }
    if let Some(high) = config.scaled(log, "TIMELY_T_HIGH", 1000) {
        timely.t_high = Duration(high);
    }
    if timely.t_low >= timely.t_high {
        let text = format!("TIMELY_T_LOW {} is not below TIMELY_T_HIGH {}", timely.t_low, timely.t_high);
        log.error(config.file, config.line("TIMELY_T_LOW"), text);
    }
    if let Some(beta) = gain(log, config, "TIMELY_BETA") {
        timely.beta = beta;
    }
    if let Some(rate) = config.rate(log, "RATE_AI") {
        timely.additive_increase = rate;
    }
    if let Some(rate) = config.rate(log, "MIN_RATE") {
        timely.min_rate = rate;
    }
    timely
}

#[cfg(test)]
mod tests {
    use super::super::{defaults, topology};
    use super::*;
    use sim_core::Rate;

    fn run(config: &str, dialect: Dialect) -> Result<(NicConfig, CongestionConfig, Vec<String>), String> {
        let mut log = Log::new(true);
        let text = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
        let topology = topology::parse(&mut log, "topo", text, Dialect::Hpcc).unwrap();
        let (_, mut nic, mut congestion) = defaults::hpcc_defaults();
        let mut config = Config::open(&mut log, "c", config);
        apply(&mut log, &mut config, dialect, &topology, &mut nic, &mut congestion);
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((nic, congestion, notes.into_iter().map(|n| n.to_string()).collect()))
    }

    #[test]
    fn dcqcn_takes_every_parameter() {
        let config = "CC_MODE 1\nALPHA_RESUME_INTERVAL 50\nRATE_DECREASE_INTERVAL 50\nRP_TIMER 55\nEWMA_GAIN 0.00390625\n\
                      FAST_RECOVERY_TIMES 1\nRATE_AI 20Mb/s\nRATE_HAI 200Mb/s\nMIN_RATE 1000Mb/s\nCLAMP_TARGET_RATE 0\n";
        let (nic, congestion, notes) = run(config, Dialect::Hpcc).unwrap();
        let wanted = DcqcnConfig {
            preset: DcqcnPreset::HpccNs3,
            gain: Some(1.0 / 256.0),
            alpha_interval: Some(Duration::from_us(50)),
            decrease_interval: Some(Duration::from_us(50)),
            increase_timer: Some(Duration::from_us(55)),
            fast_recovery: Some(1),
            additive_increase: Some(Rate::mbps(20)),
            hyper_increase: Some(Rate::mbps(200)),
            min_rate: Some(Rate::mbps(1000)),
            clamp_target: Some(false),
            ..DcqcnConfig::default()
        };
        assert_eq!(congestion, CongestionConfig::Dcqcn(wanted));
        assert_eq!((nic.header, notes.len()), (Bytes(48), 0));
    }

    #[test]
    fn hpcc_increases_by_rate_times_round_trip() {
        let config = "CC_MODE 3\nRATE_AI 50Mb/s\nMIN_RATE 100Mb/s\nU_TARGET 0.95\nMI_THRESH 0\n";
        let (nic, congestion, notes) = run(config, Dialect::Hpcc).unwrap();
        let CongestionConfig::Hpcc(hpcc) = congestion else { panic!("{congestion:?}") };
        // 50 Mb/s over 4 us + 2 · 80 ns.
        assert_eq!((hpcc.additive_increase, hpcc.max_stage, hpcc.eta), (Bytes(26), 0, 0.95));
        assert_eq!((nic.header, nic.ack_frame), (Bytes(90), Bytes(88)));
        assert!(notes[0].contains("base round trip of 4.16us"), "{notes:?}");
    }

    #[test]
    fn timely_of_m3() {
        let config = "CC_MODE 7\nRATE_AI 10.0Mb/s\nMIN_RATE 1000Mb/s\nTIMELY_T_HIGH 121182\nTIMELY_T_LOW 50897\nTIMELY_BETA 0.8\n";
        let (nic, congestion, _) = run(config, Dialect::M3).unwrap();
        let CongestionConfig::Timely(timely) = congestion else { panic!("{congestion:?}") };
        assert_eq!((timely.t_low, timely.t_high), (Duration::from_ns(50_897), Duration::from_ns(121_182)));
        assert_eq!((timely.additive_increase, nic.header), (Rate::mbps(10), Bytes(56)));
    }

    #[test]
    fn ns3_rdma_has_no_mode() {
        let config = "CNP_INTERVAL 50\nALPHA_RESUME_INTERVAL 55\nRP_TIMER 60\nBYTE_COUNTER 300000000\n\
                      DCTCP_GAIN 0.00390625\nFAST_RECOVERY_TIMES 5\nRATE_AI 40Mb/s\n";
        let (nic, congestion, _) = run(config, Dialect::Ns3Rdma).unwrap();
        let CongestionConfig::Dcqcn(dcqcn) = congestion else { panic!("{congestion:?}") };
        assert_eq!((dcqcn.preset, dcqcn.byte_counter), (DcqcnPreset::Sigcomm15, Some(Bytes(300_000_000))));
        assert_eq!(dcqcn.gain, Some(1.0 / 256.0));
        assert_eq!(nic.cnp.interval, Duration::from_us(50));
    }

    #[test]
    fn modes_without_a_model_are_errors_also_when_lenient() {
        let dctcp = run("CC_MODE 8\n", Dialect::Hpcc).unwrap_err();
        assert!(dctcp.starts_with("c:1: CC_MODE 8 is DCTCP, which has no model here"), "{dctcp}");
        assert!(run("CC_MODE 10\n", Dialect::Hpcc).unwrap_err().contains("HPCC-PINT"));
        assert!(run("CC_MODE 12\n", Dialect::Hpcc).unwrap_err().contains("not known"));
        assert_eq!(run("CC_MODE 12\n", Dialect::Astra).unwrap().1, CongestionConfig::None);
        assert!(run("CC_MODE 1\nEWMA_GAIN 0\n", Dialect::Hpcc).unwrap_err().contains("EWMA_GAIN is 0"));
        assert!(run("CC_MODE 7\nTIMELY_T_LOW 600000\n", Dialect::Hpcc).unwrap_err().contains("not below"));
    }
}
