//! htsim: connection matrices (`.cm`) and fat-tree descriptions (`.topo`).

mod connections;
mod topology;

use models::config::{
    CongestionConfig, FatTree, FlowConfig, FlowList, FlowOptions, LeafSpine, LinkConfig, NicConfig,
    SingleSwitch, SwitchConfig, Threshold, TopologyConfig, TrafficConfig,
};
use sim_core::{Bytes, Duration, Rate};

use super::lines::{Line, lines, quote};
use super::report::Log;
use super::{ImportError, Imported, MAX_NODES, Options, scenario_name};
use crate::spec::{OutputConfig, RunConfig, SCHEMA_VERSION, Scenario};

/// A file: its name for messages and its text.
type File = (String, String);

/// Payload of a full packet.
const MTU: u64 = 4096;

/// Bytes htsim adds to a payload, and the size of its ACKs.
const HEADER: u64 = 64;

/// Most hosts on a leaf of a leaf–spine that is made up for a node count.
const LEAF_HOSTS: u64 = 32;

/// What htsim's RoCE program runs with: 4096 B of payload in frames 64 B larger, ACKs of 64 B, no congestion control,
/// no marking, and PFC that pauses an ingress at 15 packets and resumes it at 12.
pub fn htsim_defaults() -> (SwitchConfig, NicConfig, CongestionConfig) {
    let frame = MTU + HEADER;
    let switch = SwitchConfig {
        reserved: Bytes(0),
        xoff: Threshold::Static(Bytes(15 * frame)),
        xon_offset: Bytes(3 * frame),
        ecn: None,
        ..SwitchConfig::default()
    };
    let nic = NicConfig {
        mtu: Bytes(MTU),
        header: Bytes(HEADER),
        gap: Bytes(0),
        ack_frame: Bytes(HEADER),
        reth: Bytes(0),
        ..NicConfig::default()
    };
    (switch, nic, CongestionConfig::None)
}

/// Imports htsim's files: a connection matrix, a topology, or both, recognised by content. Each file is (name for
/// messages, text). Without a topology htsim's default for the node count is assumed, and a note says which.
///
/// # Errors
/// Every mistake and contradiction found, with file and line; see [`Options::lenient`].
pub fn import_htsim(files: &[File], options: &Options) -> Result<Imported, ImportError> {
    let mut log = Log::new(options.lenient);
    let scenario = build(&mut log, files, options);
    if scenario.is_none() && !log.failed() {
        log.error("", 0, "nothing to import");
    }
    let notes = log.finish()?;
    let imported = scenario.map(|scenario| Imported { scenario, notes, dialect: "htsim".to_string() });
    imported.ok_or(ImportError { problems: Vec::new() })
}

fn build(log: &mut Log, files: &[File], options: &Options) -> Option<Scenario> {
    if let Some(dialect) = options.dialect {
        log.error("", 0, format!("dialect {} is one of the HPCC family; htsim has none", dialect.name()));
    }
    let (matrix_file, topo_file) = sort(log, files);
    let first = topo_file.or(matrix_file)?;
    let topo = match topo_file {
        Some((name, text)) => Some(topology::parse(log, name, text)?),
        None => None,
    };
    let mut nodes = topo.as_ref().map(|topo| topo.nodes.0);
    let mut list = Vec::new();
    if let Some((name, text)) = matrix_file {
        let matrix = connections::parse(log, name, text);
        match (matrix.nodes, &topo, topo_file) {
            (None, _, _) => log.error(name, 0, "no Nodes line"),
            (Some((of_matrix, line)), Some(topo), Some((other, _))) if of_matrix != topo.nodes.0 => {
                let text = format!("{of_matrix} nodes, but {} in {other}:{}", topo.nodes.0, topo.nodes.1);
                log.error(name, line, text);
            }
            (Some((of_matrix, _)), _, _) => nodes = Some(of_matrix),
        }
        if nodes.is_some() {
            list = matrix.flows(log, name, options.start_unit);
        }
    }
    let (mut switch, nic, congestion) = htsim_defaults();
    let topology = match topo {
        Some(topo) => {
            switch.latency = topo.switch_latency;
            TopologyConfig::Edges(topo.edges)
        }
        None => assumed(log, &first.0, nodes?)?,
    };
    log.note("", 0, "the constants of htsim's RoCE are used: 4096 B in frames of 4160 B, PFC at 15 packets, no ECN, congestion none; paths by ECMP");
    if list.is_empty() {
        log.note("", 0, "no flows: add traffic to the scenario before running it");
    }
    if log.failed() {
        return None;
    }
    let named = [topo_file, matrix_file];
    let sources: Vec<&str> = named.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let name_from = matrix_file.unwrap_or(first);
    Some(Scenario {
        schema_version: SCHEMA_VERSION,
        name: scenario_name(options.name.as_deref(), &name_from.0),
        description: format!("Imported from {} (htsim).", sources.join(", ")),
        params: Default::default(),
        seed: 1,
        topology,
        switch,
        nic,
        congestion,
        routing: Default::default(),
        traffic: traffic(list),
        cluster: None,
        jobs: Vec::new(),
        faults: Vec::new(),
        run: RunConfig::default(),
        output: OutputConfig::default(),
        sweep: None,
    })
}

fn traffic(list: Vec<FlowConfig>) -> Vec<TrafficConfig> {
    if list.is_empty() {
        return Vec::new();
    }
    vec![TrafficConfig::Flows(FlowList { list, options: FlowOptions::default() })]
}

/// Sorts the files into (connection matrix, topology).
fn sort<'a>(log: &mut Log, files: &'a [File]) -> (Option<&'a File>, Option<&'a File>) {
    let (mut matrix, mut topo): (Option<&File>, Option<&File>) = (None, None);
    for file in files {
        let all = lines(log, &file.0, &file.1);
        let starts = |word: &str| all.iter().any(|line| first_word(*line).eq_ignore_ascii_case(word));
        let is_matrix = starts("connections") || all.iter().any(|line| line.text.contains("->"));
        let (slot, kind) = if starts("tiers") || starts("podsize") {
            (&mut topo, "topology")
        } else if is_matrix {
            (&mut matrix, "connection matrix")
        } else {
            let start = all.first().map_or("nothing".to_string(), |line| quote(line.text));
            let text = format!("neither an htsim connection matrix nor a topology: it starts with {start}");
            log.error(&file.0, 0, text);
            continue;
        };
        if let Some(other) = slot.replace(file) {
            log.error(&file.0, 0, format!("a second {kind}; {} is one already", other.0));
        }
    }
    if files.is_empty() {
        log.error("", 0, "no files: give a connection matrix (.cm), a topology (.topo) or both");
    }
    (matrix, topo)
}

fn first_word<'a>(line: Line<'a>) -> &'a str {
    line.text.split_whitespace().next().unwrap_or_default()
}

/// htsim's topology for a node count: a 3-tier fat tree where there is one with so many hosts, else a 2-tier one;
/// htsim refuses other counts, for which a leaf–spine of full bisection is taken.
fn assumed(log: &mut Log, file: &str, nodes: u64) -> Option<TopologyConfig> {
    if !(2..=MAX_NODES).contains(&nodes) {
        log.error(file, 0, format!("{nodes} nodes; an import takes 2 to {MAX_NODES}"));
        return None;
    }
    let link = LinkConfig::new(Rate::gbps(100), Duration::from_us(1));
    let even = || (2..=2000u64).step_by(2);
    let tree = |tiers, k: u64| {
        let (link, fabric_link, overrides) = (link.clone(), None, Vec::new());
        TopologyConfig::FatTree(FatTree {
            tiers,
            k: k as u32,
            pods: None,
            link,
            fabric_link,
            oversubscription: 1,
            overrides,
        })
    };
    let (topology, what) = if let Some(k) = even().find(|k| k * k * k / 4 == nodes) {
        (tree(3, k), format!("htsim's default, a 3-tier fat tree of {k}-port switches"))
    } else if let Some(k) = even().find(|k| k * k / 2 == nodes) {
        (tree(2, k), format!("a 2-tier fat tree of {k}-port switches (htsim's with -tiers 2)"))
    } else if let Some(hosts) =
        (2..=LEAF_HOSTS).rev().find(|hosts| nodes.is_multiple_of(*hosts) && nodes > *hosts)
    {
        let leaves = nodes / hosts;
        let leaf_spine = LeafSpine {
            leaves: leaves as u32,
            spines: hosts as u32,
            hosts_per_leaf: hosts as u32,
            host_link: link.clone(),
            fabric_link: link.clone(),
            parallel: 1,
            overrides: Vec::new(),
        };
        let what = format!(
            "{leaves} leaves of {hosts} hosts and {hosts} spines (htsim's default fat tree has no such size)"
        );
        (TopologyConfig::LeafSpine(leaf_spine), what)
    } else {
        let single = SingleSwitch { hosts: nodes as u32, link: link.clone(), overrides: Vec::new() };
        let what = "one switch (htsim's default fat tree has no such size)".to_string();
        (TopologyConfig::SingleSwitch(single), what)
    };
    log.note(
        file,
        0,
        format!("no topology file: {nodes} nodes are taken as {what}, links of 100Gbps and 1us"),
    );
    Some(topology)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(files: &[(&str, &str)], lenient: bool) -> Result<Imported, String> {
        let files: Vec<File> = files.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect();
        import_htsim(&files, &Options { lenient, ..Options::default() }).map_err(|e| e.to_string())
    }

    fn only(nodes: u64) -> Result<Imported, String> {
        import(&[("x.cm", &format!("Nodes {nodes}\nConnections 1\n0->1 start 0 size 9\n"))], false)
    }

    #[test]
    fn node_counts_without_a_topology() {
        let topology = |nodes| only(nodes).unwrap().scenario.topology;
        assert!(matches!(topology(16), TopologyConfig::FatTree(FatTree { tiers: 3, k: 4, .. })));
        assert!(matches!(topology(432), TopologyConfig::FatTree(FatTree { tiers: 3, k: 12, .. })));
        assert!(matches!(topology(32), TopologyConfig::FatTree(FatTree { tiers: 2, k: 8, .. })));
        let TopologyConfig::LeafSpine(leaf_spine) = topology(48) else { panic!() };
        assert_eq!((leaf_spine.leaves, leaf_spine.hosts_per_leaf, leaf_spine.spines), (2, 24, 24));
        assert!(matches!(topology(37), TopologyConfig::SingleSwitch(SingleSwitch { hosts: 37, .. })));
        let notes = only(16).unwrap().notes;
        assert!(
            notes[1].text.contains("16 nodes are taken as htsim's default, a 3-tier fat tree"),
            "{notes:?}"
        );
        assert!(only(0).is_err() && only(99_999_999).is_err());
    }

    #[test]
    fn matrix_and_topology_go_together() {
        let topo = "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
                    Downlink_Latency_ns 1000\nSwitch_Latency_ns 300\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
                    Downlink_Latency_ns 1000\nSwitch_Latency_ns 300\n";
        let matrix = "Nodes 4\nConnections 1\n0->3 start 0 size 2000000\n";
        let imported = import(&[("a/x.cm", matrix), ("y.topo", topo)], false).unwrap();
        assert_eq!(imported.scenario.name, "x");
        assert_eq!(imported.scenario.switch.latency, Duration::from_ns(300));
        assert_eq!(imported.scenario.congestion, CongestionConfig::None);
        assert_eq!(imported.scenario.nic.mtu + imported.scenario.nic.header, Bytes(4160));
        let TopologyConfig::Edges(edges) = &imported.scenario.topology else { panic!() };
        assert_eq!(edges.links.len(), 4 + 4);
        let other = matrix.replace("Nodes 4", "Nodes 8");
        let error = import(&[("y.topo", topo), ("x.cm", &other)], true).unwrap_err();
        assert_eq!(error, "x.cm:1: 8 nodes, but 4 in y.topo:1");
        assert!(import(&[("y.topo", topo)], false).unwrap().scenario.traffic.is_empty());
    }

    #[test]
    fn other_files_are_refused() {
        let list = "connection_matrices/one.cm\n!Param -end 1000\n";
        let error = import(&[("v", list)], true).unwrap_err();
        assert!(
            error.starts_with("v: neither an htsim connection matrix nor a topology: it starts with"),
            "{error}"
        );
        assert!(import(&[], true).unwrap_err().starts_with("no files"));
        let one = "Nodes 2\nConnections 0\n";
        assert_eq!(
            import(&[("a", one), ("b", one)], true).unwrap_err(),
            "b: a second connection matrix; a is one already"
        );
    }
}
