//! The ns-3 RDMA simulators that descend from ns3-rdma and HPCC: topology, flow, config and trace files.

mod apply;
mod classify;
mod config;
mod congestion;
mod defaults;
mod ecn;
mod flows;
mod rtt;
mod table;
mod topology;
mod trace;

use std::collections::BTreeSet;

use models::config::{
    Class, ClassConfig, ClassKind, FlowConfig, FlowList, FlowOptions, Scheduler, TopologyConfig,
    TrafficConfig,
};
use sim_core::Rate;

pub use defaults::hpcc_defaults;

use super::lines::{lines, quote};
use super::report::Log;
use super::{Dialect, ImportError, Imported, Options, scenario_name};
use crate::spec::{OutputConfig, RunConfig, SCHEMA_VERSION, Scenario};
use apply::{Context, Models};
use classify::{Kind, classify};
use config::Config;
use flows::{FlowFile, RowShape};
use topology::Topology;

/// A file: its name for messages and its text.
type File = (String, String);

/// The files of an import, by kind.
#[derive(Default)]
struct Files<'a> {
    topology: Option<&'a File>,
    flows: Option<&'a File>,
    trace: Option<&'a File>,
    config: Option<&'a File>,
}

/// Imports files of the HPCC family: a topology, and as there are flows, a config and a trace file, recognised by
/// content. Each file is (name for messages, text).
///
/// # Errors
/// Every mistake and contradiction found, with file and line; see [`Options::lenient`].
pub fn import_hpcc(files: &[File], options: &Options) -> Result<Imported, ImportError> {
    let mut log = Log::new(options.lenient);
    let scenario = build(&mut log, files, options);
    if scenario.is_none() && !log.failed() {
        log.error("", 0, "nothing to import");
    }
    let notes = log.finish()?;
    let imported =
        scenario.map(|(scenario, dialect)| Imported { scenario, notes, dialect: dialect.name().to_string() });
    imported.ok_or(ImportError { problems: Vec::new() })
}

fn build(log: &mut Log, files: &[File], options: &Options) -> Option<(Scenario, Dialect)> {
    let files = sort(log, files);
    let Some(topology_file) = files.topology else {
        log.error("", 0, "no topology file: its first line is \"nodes switches links\" in numbers");
        return None;
    };
    let mut config = files.config.map(|(name, text)| Config::open(log, name, text));
    let flow_file = files.flows.and_then(|(name, text)| FlowFile::open(log, name, text));
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => detect(log, topology_file, config.as_ref(), flow_file.as_ref())?,
    };
    let (name, text) = topology_file;
    let mut topology = topology::parse(log, name, text, dialect)?;
    let nvlinks = topology.drop_nvlinks(log);
    topology.check_hosts(log);
    let mut models = Models::of(dialect);
    let payload = config.as_mut().map_or(models.nic.mtu, |c| apply::payload(log, c, models.nic.mtu));
    let flows = flow_file.map(|file| file.read(log, dialect, payload.0, &topology));
    let earliest = flows.as_ref().map(|(_, earliest)| *earliest);
    if let Some((name, text)) = files.trace {
        trace::check(log, name, text, &topology);
    }
    match &mut config {
        Some(config) => {
            let context = Context { dialect, topology: &topology, nvlinks: &nvlinks, earliest };
            apply::apply(log, config, &context, &mut models);
        }
        None => {
            log.note("", 0, format!("no config file: the constants of {} are used", constants_of(dialect)))
        }
    }
    let list = flows.map(|(list, _)| list).unwrap_or_default();
    if list.is_empty() {
        log.note("", 0, "no flows: add traffic to the scenario before running it");
    }
    note_rates(log, &topology, options.name.as_deref().unwrap_or(name), &models);
    set_classes(log, &list, &mut models);
    if log.failed() {
        return None;
    }
    Some((scenario(options, &files, dialect, &topology, models, list), dialect))
}

fn constants_of(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Ns3Rdma { "ns3-rdma" } else { "HPCC's ns-3 model, with DCQCN" }
}

/// Sorts the files by kind. Unknown files and two of a kind are errors.
fn sort<'a>(log: &mut Log, files: &'a [File]) -> Files<'a> {
    let mut sorted = Files::default();
    for file in files {
        let all = lines(log, &file.0, &file.1);
        let Some(kind) = classify(&all) else {
            let start = all.first().map_or("nothing".to_string(), |line| quote(line.text));
            let text = format!(
                "neither a topology, flow, config nor trace file of the HPCC family: it starts with {start}"
            );
            log.error(&file.0, 0, text);
            continue;
        };
        let slot = match kind {
            Kind::Topology => &mut sorted.topology,
            Kind::Flows => &mut sorted.flows,
            Kind::Trace => &mut sorted.trace,
            Kind::Config => &mut sorted.config,
            Kind::Sizes => {
                let text = "a distribution of flow sizes, not flows: give its points to a poisson group of the \
                            scenario, as sizes: cdf";
                log.error(&file.0, 0, text);
                continue;
            }
        };
        if let Some(other) = slot.replace(file) {
            log.error(&file.0, 0, format!("a second {} file; {} is one already", kind.name(), other.0));
        }
    }
    sorted
}

/// Finds the dialect from what the files have that others do not, and says from what.
fn detect(
    log: &mut Log,
    topology: &File,
    config: Option<&Config<'_>>,
    flows: Option<&FlowFile<'_>>,
) -> Option<Dialect> {
    let header = lines(log, &topology.0, &topology.1).into_iter().find(|line| !line.text.starts_with('#'))?;
    let from_header = topology::dialect_of_header(header);
    let from_config = config.and_then(dialect_of_config);
    let shape = flows.and_then(|file| file.shape(log));
    let from_flows = match shape {
        None | Some(RowShape::Bytes) => None,
        Some(RowShape::Packets) => Some(Dialect::Ns3Rdma),
        Some(RowShape::NoPort) => Some(Dialect::Conweave),
        Some(RowShape::WithId) => Some(Dialect::M3),
    };
    let (dialect, because) = match (from_flows, from_header, from_config) {
        (Some(dialect), _, _) => (dialect, "the columns of the flow rows"),
        (None, Some(dialect), _) => (dialect, "the fields of the topology header"),
        (None, None, Some(dialect)) => (dialect, "the keys of the config"),
        (None, None, None) => {
            (Dialect::Hpcc, "a three-field topology header, which conweave, astra-network-ns3 and m3 share")
        }
    };
    log.note(&topology.0, header.number, format!("read as {}, told by {because}", dialect.name()));
    Some(dialect)
}

/// The dialect of which only its own configs have certain keys.
fn dialect_of_config(config: &Config<'_>) -> Option<Dialect> {
    let any = |keys: &[&str]| keys.iter().any(|key| config.has(key));
    if any(&["BYTE_COUNTER", "NP_SAMPLING_INTERVAL", "DCTCP_GAIN", "TCP_FLOW_FILE"]) {
        Some(Dialect::Ns3Rdma)
    } else if any(&["FLOW_ON_PATH_FILE", "FIXED_WIN", "FLOW_PATH_MAP_FILE"]) {
        Some(Dialect::M3)
    } else if any(&["LB_MODE", "ENABLE_IRN", "FLOWGEN_START_TIME"]) {
        Some(Dialect::Conweave)
    } else if any(&["NIC_TOTAL_PAUSE_TIME"]) {
        Some(Dialect::Astra)
    } else if any(&["BW_MON_FILE", "RATE_MON_FILE", "CNP_MON_FILE"]) {
        Some(Dialect::SimAi)
    } else {
        None
    }
}

/// Notes what links faster than the NIC's mean in the original, and a name that promises another rate.
fn note_rates(log: &mut Log, topology: &Topology, name: &str, models: &Models) {
    let Some(nic) = topology.nic_rate() else { return };
    let faster: Vec<String> = topology
        .switch_rates()
        .into_iter()
        .filter(|(rate, _)| *rate > nic)
        .map(|(rate, _)| {
            let (mut shift, mut left) = (3, rate.0);
            while left > nic.0 && shift > 0 {
                left /= 2;
                shift -= 1;
            }
            format!("1/{} at {rate}", 1 << shift)
        })
        .collect();
    if !faster.is_empty()
        && matches!(models.switch.xoff, models::config::Threshold::Dynamic { alpha } if alpha < 1.0)
    {
        let text = format!(
            "the original gives ports faster than the NICs ({nic}) a larger alpha ({}); here 1/8 holds for all",
            faster.join(", ")
        );
        log.note(&topology.file, 0, text);
    }
    if let Some(named) = rate_in_name(name).filter(|named| *named != nic) {
        let text = format!("the name says {named}, the links of the hosts are {nic}");
        log.note(&topology.file, 0, text);
    }
}

/// A rate written in a name, as in `Spectrum-X_128g_8gps_400Gbps_A100`.
fn rate_in_name(name: &str) -> Option<Rate> {
    let end = name.find("Gbps")?;
    let digits = name[..end].bytes().rev().take_while(u8::is_ascii_digit).count();
    let gbps: u64 = name[end - digits..end].parse().ok().filter(|gbps| *gbps <= 1_000_000)?;
    Some(Rate::gbps(gbps))
}

/// Every priority group but 0 is lossless and marked; 0 is the class switches do not charge.
fn set_classes(log: &mut Log, flows: &[FlowConfig], models: &mut Models) {
    let mut used: BTreeSet<Class> = flows.iter().map(|flow| flow.class.unwrap_or(3)).collect();
    if used.remove(&0) {
        let text = "flows of priority group 0 are in the class switches do not charge, pause or mark";
        log.note("", 0, text);
    }
    if used.is_empty() {
        used.insert(3);
    }
    let lossless = |class| ClassConfig { class, kind: ClassKind::Lossless, scheduler: Scheduler::Dwrr(1) };
    models.switch.classes = vec![defaults::CONTROL_CLASS];
    models.switch.classes.extend(used.iter().copied().map(lossless));
    if let Some(ecn) = &mut models.switch.ecn {
        ecn.classes = Some(used.into_iter().collect());
    }
}

fn scenario(
    options: &Options,
    files: &Files<'_>,
    dialect: Dialect,
    topology: &Topology,
    models: Models,
    list: Vec<FlowConfig>,
) -> Scenario {
    let named = [files.topology, files.flows, files.config];
    let sources: Vec<&str> = named.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let traffic = if list.is_empty() {
        Vec::new()
    } else {
        vec![TrafficConfig::Flows(FlowList { list, options: FlowOptions::default() })]
    };
    Scenario {
        schema_version: SCHEMA_VERSION,
        name: scenario_name(options.name.as_deref(), sources[0]),
        description: format!("Imported from {} ({}).", sources.join(", "), dialect.name()),
        params: Default::default(),
        seed: models.seed,
        topology: TopologyConfig::Edges(topology.edges(models.error_rate)),
        switch: models.switch,
        nic: models.nic,
        congestion: models.congestion,
        routing: models.routing,
        traffic,
        cluster: None,
        jobs: Vec::new(),
        faults: models.faults,
        run: RunConfig { until: models.until, ..RunConfig::default() },
        output: OutputConfig::default(),
        sweep: None,
    }
}
