//! What a config file means for switches, NICs and the run.

use models::config::{
    CongestionConfig, FaultConfig, LinkDown, NicConfig, Recovery, RoutingConfig, RoutingMode, SwitchConfig,
    Threshold, Window,
};
use sim_core::{Bytes, Duration, Rate};

use super::super::Dialect;
use super::super::number::{self, Decimal};
use super::super::report::Log;
use super::config::Config;
use super::defaults::{NS3_RDMA_CELL, hpcc_defaults, ns3_rdma_defaults};
use super::topology::Topology;
use super::{congestion, ecn};

/// When the HPCC model's `LINK_DOWN` time starts to count.
const LINK_DOWN_FROM: Duration = Duration::from_ms(2000);

/// Everything of a scenario but topology and traffic.
#[derive(Debug)]
pub(super) struct Models {
    pub switch: SwitchConfig,
    pub nic: NicConfig,
    pub congestion: CongestionConfig,
    pub routing: RoutingConfig,
    pub error_rate: f64,
    pub until: Option<Duration>,
    pub faults: Vec<FaultConfig>,
    pub seed: u64,
}

impl Models {
    /// The constants of the simulator.
    pub fn of(dialect: Dialect) -> Self {
        let (switch, nic, congestion) = match dialect {
            Dialect::Ns3Rdma => ns3_rdma_defaults(),
            Dialect::Hpcc
            | Dialect::PowerTcp
            | Dialect::Reverie
            | Dialect::SimAi
            | Dialect::Conweave
            | Dialect::Astra
            | Dialect::M3 => hpcc_defaults(),
        };
        Self {
            switch,
            nic,
            congestion,
            routing: RoutingConfig::default(),
            error_rate: 0.0,
            until: None,
            faults: Vec::new(),
            seed: 1,
        }
    }
}

/// Facts of the other files a config is read against.
pub(super) struct Context<'a> {
    pub dialect: Dialect,
    pub topology: &'a Topology,
    /// Rates of links left out.
    pub nvlinks: &'a [Rate],
    /// When the first flow starts, if there are flows.
    pub earliest: Option<Duration>,
}

/// Payload bytes of a packet, or `default` when the config does not say.
pub(super) fn payload(log: &mut Log, config: &mut Config<'_>, default: Bytes) -> Bytes {
    const KEY: &str = "PACKET_PAYLOAD_SIZE";
    let Some(size) = config.whole(log, KEY) else { return default };
    if !(64..=9000).contains(&size) {
        log.error(config.file, config.line(KEY), format!("{KEY} {size}; payloads are 64 B to 9000 B"));
        return default;
    }
    Bytes(size)
}

/// Applies a config to the constants in `models`.
pub(super) fn apply(log: &mut Log, config: &mut Config<'_>, context: &Context<'_>, models: &mut Models) {
    apply_nic(log, config, models);
    congestion::apply(
        log,
        config,
        context.dialect,
        context.topology,
        &mut models.nic,
        &mut models.congestion,
    );
    apply_switch(log, config, context, models);
    apply_ecn(log, config, context, models);
    apply_routing(log, config, models);
    apply_run(log, config, context, models);
    apply_link_down(log, config, context, models);
    config.note_unused(log);
}

fn apply_nic(log: &mut Log, config: &mut Config<'_>, models: &mut Models) {
    let nic = &mut models.nic;
    nic.mtu = payload(log, config, nic.mtu);
    if let Some(every) = config.whole(log, "L2_ACK_INTERVAL") {
        match u32::try_from(every) {
            Ok(every @ 1..=1024) => nic.ack_every = every,
            _ => {
                let text = format!("L2_ACK_INTERVAL {every}; packets an ACK are 1 to 1024");
                log.error(config.file, config.line("L2_ACK_INTERVAL"), text);
            }
        }
    }
    if config.flag(log, "L2_BACK_TO_ZERO") == Some(true) {
        nic.recovery = Recovery::GoBack0;
        let text = "L2_BACK_TO_ZERO 1: a loss sends the whole message again; the original goes back to the start of a \
                    chunk of L2_CHUNK_SIZE";
        log.note(config.file, config.line("L2_BACK_TO_ZERO"), text);
    }
    match config.flag(log, "ACK_HIGH_PRIO") {
        Some(true) => nic.ack_class = Some(0),
        Some(false) => nic.ack_class = None,
        None => {}
    }
    if config.flag(log, "HAS_WIN") == Some(true) {
        nic.window = match config.whole(log, "FIXED_WIN") {
            Some(bytes) if bytes > 0 => Some(Window::Bytes(Bytes(bytes))),
            Some(_) | None => Some(Window::Bdp),
        };
        if config.peek("GLOBAL_T") == Some("1") && nic.window == Some(Window::Bdp) {
            let text = "HAS_WIN 1: every queue pair's window is its own path's bandwidth-delay product; the original \
                        gives all of them the largest (GLOBAL_T 1)";
            log.note(config.file, config.line("HAS_WIN"), text);
        }
    }
    if config.flag(log, "ENABLE_IRN") == Some(true) {
        nic.recovery = Recovery::SelectiveRepeat;
        log.note(config.file, config.line("ENABLE_IRN"), "ENABLE_IRN 1: recovery by selective repeat");
    }
}

fn apply_switch(log: &mut Log, config: &mut Config<'_>, context: &Context<'_>, models: &mut Models) {
    let switch = &mut models.switch;
    if let Some(buffer) = config.scaled(log, "BUFFER_SIZE", 1 << 20) {
        if buffer == 0 {
            log.error(
                config.file,
                config.line("BUFFER_SIZE"),
                "BUFFER_SIZE is 0; MiB of packet memory are due",
            );
        }
        switch.buffer = Bytes(buffer);
    }
    if let Some(enabled) = config.flag(log, "ENABLE_PFC") {
        switch.pfc.enabled = enabled;
    }
    if config.flag(log, "USE_DYNAMIC_PFC_THRESHOLD") == Some(false) {
        let line = config.line("USE_DYNAMIC_PFC_THRESHOLD");
        if context.dialect == Dialect::Ns3Rdma {
            switch.xoff = Threshold::Static(Bytes(40 * NS3_RDMA_CELL));
            switch.xon_offset = Bytes(2 * NS3_RDMA_CELL);
            let text = format!("USE_DYNAMIC_PFC_THRESHOLD 0: XOFF at 40 cells of {NS3_RDMA_CELL} B");
            log.note(config.file, line, text);
        } else {
            let text = "USE_DYNAMIC_PFC_THRESHOLD 0 has no effect: the HPCC model's switch does not read it";
            log.note(config.file, line, text);
        }
    }
    if let Some(rate) = config.fraction(log, "ERROR_RATE_PER_LINK") {
        if rate >= 1.0 {
            let text = "ERROR_RATE_PER_LINK loses every packet; it must be below 1";
            log.error(config.file, config.line("ERROR_RATE_PER_LINK"), text);
        }
        models.error_rate = rate;
    }
}

fn apply_ecn(log: &mut Log, config: &mut Config<'_>, context: &Context<'_>, models: &mut Models) {
    if config.flag(log, "ENABLE_QCN") == Some(false) {
        models.switch.ecn = None;
        return;
    }
    let Some(ecn) = &mut models.switch.ecn else { return };
    match context.dialect {
        Dialect::Ns3Rdma => ecn::apply_cells(log, config, ecn),
        Dialect::Hpcc
        | Dialect::PowerTcp
        | Dialect::Reverie
        | Dialect::SimAi
        | Dialect::Conweave
        | Dialect::Astra
        | Dialect::M3 => ecn::apply_maps(log, config, context.topology, context.nvlinks, ecn),
    }
}

/// `PACKET_LEVEL_ECMP` of ns3-rdma and `LB_MODE` of conweave.
fn apply_routing(log: &mut Log, config: &mut Config<'_>, models: &mut Models) {
    if config.flag(log, "PACKET_LEVEL_ECMP") == Some(true) {
        models.routing.mode = RoutingMode::Spray;
    }
    let scheme = match config.whole(log, "LB_MODE") {
        None | Some(0) => return,
        Some(2) => "DRILL".to_string(),
        Some(3) => "CONGA".to_string(),
        Some(6) => "LetFlow, whose flowlet gap the config does not hold".to_string(),
        Some(9) => "ConWeave".to_string(),
        Some(other) => format!("load balancing {other}"),
    };
    log.contradiction(
        config.file,
        config.line("LB_MODE"),
        format!(
            "LB_MODE is {scheme}: no counterpart; take 0 (ECMP), or have ECMP in its place with --lenient"
        ),
        format!("LB_MODE is {scheme}: ECMP takes its place; see routing.mode for flowlet and adaptive"),
    );
}

fn apply_run(log: &mut Log, config: &mut Config<'_>, context: &Context<'_>, models: &mut Models) {
    const KEY: &str = "SIMULATOR_STOP_TIME";
    if let Some(seed) = config.whole(log, "RANDOM_SEED") {
        models.seed = seed;
    }
    let line = config.line(KEY);
    let Some(text) = config.values(KEY).map(|values| values[0]) else { return };
    let stop = match Decimal::parse(text) {
        Ok(seconds) => seconds.times(sim_core::units::PS_PER_S).map(Duration),
        Err(why) => {
            log.error(config.file, line, format!("{KEY} \"{text}\" {why}"));
            return;
        }
    };
    match (stop, context.earliest) {
        (None, _) => {
            let text = format!("{KEY} {text} s is longer than the clock holds: the run ends when all flows are done");
            log.note(config.file, line, text);
        }
        (Some(_), None) => {
            log.note(config.file, line, format!("{KEY} has no effect without flows"));
        }
        (Some(stop), Some(earliest)) if stop <= earliest => log.contradiction(
            config.file,
            line,
            format!("the run stops at {stop}, before the first flow starts at {earliest}: correct one, or leave the stop out with --lenient"),
            format!("the run would stop at {stop}, before the first flow starts at {earliest}: it ends when all flows are done"),
        ),
        (Some(stop), Some(earliest)) => models.until = Some(stop - earliest),
    }
}

/// `LINK_DOWN t a b`: the link between a and b fails t us after 2 s; 0 0 0 stands for none.
fn apply_link_down(log: &mut Log, config: &mut Config<'_>, context: &Context<'_>, models: &mut Models) {
    let (file, line) = (config.file, config.line("LINK_DOWN"));
    let Some(values) = config.values("LINK_DOWN") else { return };
    let numbers: Result<Vec<u64>, String> = values.iter().map(|value| number::whole(value)).collect();
    let [at, a, b] = match numbers.as_deref() {
        Ok(&[at, a, b]) => [at, a, b],
        Ok(_) => {
            log.error(file, line, format!("LINK_DOWN is \"time a b\", with {} values here", values.len()));
            return;
        }
        Err(why) => {
            log.error(file, line, format!("LINK_DOWN {why}"));
            return;
        }
    };
    if at == 0 {
        return;
    }
    let topology = context.topology;
    let ends = |x: u64, y: u64| topology.links.iter().any(|l| l.a as u64 == x && l.b as u64 == y);
    if !(ends(a, b) || ends(b, a)) {
        log.error(
            file,
            line,
            format!("LINK_DOWN: there is no link between {a} and {b} in {}", topology.file),
        );
        return;
    }
    let absolute = at.checked_mul(1_000_000).and_then(|ps| ps.checked_add(LINK_DOWN_FROM.0));
    let earliest = context.earliest.unwrap_or(LINK_DOWN_FROM);
    let Some(at) = absolute.map(|ps| Duration(ps.saturating_sub(earliest.0))) else {
        log.error(file, line, format!("LINK_DOWN at {at} us is longer than the clock holds"));
        return;
    };
    let (a, b) = (topology.name(a as usize), topology.name(b as usize));
    log.note(
        file,
        line,
        format!("the link {a}–{b} goes down at {at} of the run (2 s and the given time, less {earliest})"),
    );
    models.faults.push(FaultConfig::LinkDown(LinkDown { a, b, at, until: None, enabled: true }));
}

#[cfg(test)]
mod tests {
    use super::super::topology;
    use super::*;

    fn run(config: &str, dialect: Dialect, lenient: bool) -> Result<(Models, Vec<String>), String> {
        let mut log = Log::new(lenient);
        let text = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
        let topology = topology::parse(&mut log, "topo", text, Dialect::Hpcc).unwrap();
        let mut models = Models::of(dialect);
        let mut config = Config::open(&mut log, "c", config);
        let earliest = Some(Duration::from_ms(2000));
        let context = Context { dialect, topology: &topology, nvlinks: &[], earliest };
        apply(&mut log, &mut config, &context, &mut models);
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((models, notes.into_iter().map(|n| n.to_string()).collect()))
    }

    #[test]
    fn nic_and_switch_keys_act() {
        let config = "PACKET_PAYLOAD_SIZE 9000\nL2_ACK_INTERVAL 4\nL2_BACK_TO_ZERO 1\nACK_HIGH_PRIO 0\nHAS_WIN 1\n\
                      BUFFER_SIZE 16\nENABLE_QCN 0\nENABLE_PFC 0\nERROR_RATE_PER_LINK 0.01\nCC_MODE 1\nRANDOM_SEED 7\n";
        let (models, _) = run(config, Dialect::Hpcc, false).unwrap();
        assert_eq!((models.nic.mtu, models.nic.ack_every), (Bytes(9000), 4));
        assert_eq!((models.nic.recovery, models.nic.ack_class), (Recovery::GoBack0, None));
        assert_eq!(models.nic.window, Some(Window::Bdp));
        assert_eq!((models.switch.buffer, models.switch.pfc.enabled), (Bytes(16 << 20), false));
        assert_eq!((models.switch.ecn, models.error_rate, models.seed), (None, 0.01, 7));
    }

    #[test]
    fn m3_has_a_fixed_window_and_conweave_irn() {
        let (models, _) = run("CC_MODE 1\nHAS_WIN 1\nFIXED_WIN 22879\n", Dialect::M3, false).unwrap();
        assert_eq!(models.nic.window, Some(Window::Bytes(Bytes(22_879))));
        let (models, _) = run("CC_MODE 1\nENABLE_IRN 1\n", Dialect::Conweave, false).unwrap();
        assert_eq!(models.nic.recovery, Recovery::SelectiveRepeat);
    }

    #[test]
    fn the_stop_time_counts_from_the_first_flow() {
        let (models, _) = run("CC_MODE 1\nSIMULATOR_STOP_TIME 4.00\n", Dialect::Hpcc, false).unwrap();
        assert_eq!(models.until, Some(Duration::from_ms(2000)));
        let (models, notes) =
            run("CC_MODE 1\nSIMULATOR_STOP_TIME 40000000000000.00\n", Dialect::SimAi, false).unwrap();
        assert_eq!(models.until, None);
        assert!(notes.iter().any(|n| n.contains("longer than the clock holds")), "{notes:?}");
        let error = run("CC_MODE 1\nSIMULATOR_STOP_TIME 0.2\n", Dialect::Hpcc, false).unwrap_err();
        assert!(
            error.starts_with("c:2: the run stops at 200ms, before the first flow starts at 2s"),
            "{error}"
        );
        assert_eq!(run("CC_MODE 1\nSIMULATOR_STOP_TIME 0.2\n", Dialect::Hpcc, true).unwrap().0.until, None);
    }

    #[test]
    fn a_link_goes_down_after_two_seconds() {
        let (models, _) = run("CC_MODE 1\nLINK_DOWN 10 2 0\n", Dialect::Hpcc, false).unwrap();
        let FaultConfig::LinkDown(down) = &models.faults[0] else { panic!() };
        assert_eq!((down.a.as_str(), down.b.as_str(), down.at), ("switch2", "host0", Duration::from_us(10)));
        assert!(run("CC_MODE 1\nLINK_DOWN 0 0 0\n", Dialect::Hpcc, false).unwrap().0.faults.is_empty());
        let error = run("CC_MODE 1\nLINK_DOWN 10 0 1\n", Dialect::Hpcc, false).unwrap_err();
        assert_eq!(error, "c:2: LINK_DOWN: there is no link between 0 and 1 in topo");
        assert!(
            run("CC_MODE 1\nLINK_DOWN 10 0\n", Dialect::Hpcc, true).unwrap_err().contains("with 2 values")
        );
    }

    #[test]
    fn load_balancing() {
        let mode =
            |config: &str, lenient| run(config, Dialect::Conweave, lenient).map(|(m, _)| m.routing.mode);
        assert_eq!(mode("CC_MODE 1\nLB_MODE 0\n", false), Ok(RoutingMode::Ecmp));
        assert_eq!(mode("PACKET_LEVEL_ECMP 1\nCC_MODE 1\n", false), Ok(RoutingMode::Spray));
        assert_eq!(mode("CC_MODE 1\nLB_MODE 9\n", true), Ok(RoutingMode::Ecmp));
        assert!(mode("CC_MODE 1\nLB_MODE 9\n", false).unwrap_err().starts_with("c:2: LB_MODE is ConWeave"));
    }

    #[test]
    fn static_pfc_only_in_ns3_rdma() {
        let (models, _) = run("USE_DYNAMIC_PFC_THRESHOLD 0\n", Dialect::Ns3Rdma, false).unwrap();
        assert_eq!(models.switch.xoff, Threshold::Static(Bytes(41_200)));
        let (models, notes) = run("USE_DYNAMIC_PFC_THRESHOLD 0\n", Dialect::Hpcc, false).unwrap();
        assert_eq!(models.switch.xoff, Threshold::Dynamic { alpha: 0.125 });
        assert!(notes.iter().any(|n| n.contains("does not read it")));
    }

    #[test]
    fn values_out_of_range_are_errors() {
        let error = |config: &str| run(config, Dialect::Hpcc, true).unwrap_err();
        assert!(error("CC_MODE 1\nBUFFER_SIZE 0\n").starts_with("c:2: BUFFER_SIZE is 0"));
        assert!(error("CC_MODE 1\nPACKET_PAYLOAD_SIZE 99999\n").contains("64 B to 9000 B"));
        assert!(error("CC_MODE 1\nL2_ACK_INTERVAL 0\n").contains("1 to 1024"));
        assert!(error("CC_MODE 1\nERROR_RATE_PER_LINK 1\n").contains("below 1"));
        assert!(error("CC_MODE 1\nSIMULATOR_STOP_TIME x\n").contains("is no number"));
    }
}
