//! Topology files: a header, switch ids, `src dst rate delay error-rate` rows.

use models::config::{Edge, EdgeList};
use sim_core::{Duration, Rate};

use super::super::lines::{Line, lines, quote};
use super::super::report::{Log, Tally};
use super::super::{Dialect, MAX_LINKS, MAX_NODES, number};
use super::table::table;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Host,
    Switch,
    NvSwitch,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TopologyLink {
    pub line: usize,
    pub a: usize,
    pub b: usize,
    pub rate: Rate,
    pub delay: Duration,
    pub error_rate: f64,
}

/// A topology as its file gives it.
#[derive(Debug)]
pub(super) struct Topology {
    pub file: String,
    pub kinds: Vec<NodeKind>,
    pub links: Vec<TopologyLink>,
}

/// The figures of a header, in the meaning of its dialect.
#[derive(Debug)]
struct Header {
    nodes: u64,
    switches: u64,
    nvswitches: u64,
    links: u64,
}

/// The dialect a header's shape tells, or `None` when several share it.
pub(super) fn dialect_of_header(line: Line<'_>) -> Option<Dialect> {
    let fields = line.fields();
    let last_is_text = fields.last().is_some_and(|last| number::whole(last).is_err());
    match (fields.len(), last_is_text) {
        (4, _) => Some(Dialect::PowerTcp),
        (5, _) | (6, true) => Some(Dialect::SimAi),
        (6, false) => Some(Dialect::Reverie),
        _ => None,
    }
}

fn header(log: &mut Log, file: &str, line: Line<'_>, dialect: Dialect) -> Option<Header> {
    let fields = line.fields();
    let expected = match dialect {
        Dialect::Hpcc | Dialect::Ns3Rdma | Dialect::Conweave | Dialect::Astra | Dialect::M3 => 3..=3,
        Dialect::PowerTcp => 4..=4,
        Dialect::Reverie => 6..=6,
        Dialect::SimAi => 5..=6,
    };
    let numeric = fields.len().min(if dialect == Dialect::SimAi { 5 } else { 6 });
    let values: Result<Vec<u64>, String> = fields[..numeric].iter().map(|f| number::whole(f)).collect();
    let values = match values {
        Ok(values) if expected.contains(&fields.len()) => values,
        Ok(_) => {
            let text = format!(
                "a header of {} fields; dialect {} has \"{}\": choose another with --dialect",
                fields.len(),
                dialect.name(),
                dialect.header()
            );
            log.error(file, line.number, text);
            return None;
        }
        Err(why) => {
            log.error(file, line.number, format!("{why} in the header \"{}\"", dialect.header()));
            return None;
        }
    };
    let (header, unused) = match dialect {
        Dialect::Hpcc | Dialect::Ns3Rdma | Dialect::Conweave | Dialect::Astra | Dialect::M3 => {
            (Header { nodes: values[0], switches: values[1], nvswitches: 0, links: values[2] }, String::new())
        }
        Dialect::PowerTcp => (
            Header { nodes: values[0], switches: values[1], nvswitches: 0, links: values[3] },
            format!("{} ToR switches", values[2]),
        ),
        Dialect::Reverie => (
            Header { nodes: values[0], switches: values[1], nvswitches: 0, links: values[3] },
            format!("{} ToR switches, capacities {} and {} bit/s", values[2], values[4], values[5]),
        ),
        Dialect::SimAi => (
            Header { nodes: values[0], nvswitches: values[2], switches: values[3], links: values[4] },
            format!("{} GPUs a server, GPU type {}", values[1], fields.get(5).unwrap_or(&"not given")),
        ),
    };
    if !unused.is_empty() {
        log.note(file, line.number, format!("no effect here: {unused}"));
    }
    if header.nodes > MAX_NODES || header.links > MAX_LINKS {
        let text = format!(
            "{} nodes and {} links; an import takes at most {MAX_NODES} and {MAX_LINKS}",
            header.nodes, header.links
        );
        log.error(file, line.number, text);
        return None;
    }
    Some(header)
}

/// Reads a topology file. `None` when it cannot be read on; `log` then says why.
pub(super) fn parse(log: &mut Log, file: &str, text: &str, dialect: Dialect) -> Option<Topology> {
    let all = lines(log, file, text);
    let all: Vec<_> = all.into_iter().filter(|line| !line.text.starts_with('#')).collect();
    let (&first, rest) = all.split_first()?;
    let header = header(log, file, first, dialect)?;
    let (kinds, rest) = switch_ids(log, file, first.number, &header, rest)?;
    let mut table = table(rest);
    table.reconcile(log, file, first.number, header.links, "link");
    let links = link_rows(log, file, &table.rows, kinds.len());
    Some(Topology { file: file.to_string(), kinds, links })
}

/// The ids of NVSwitches and switches, on one line or several, and the lines after them.
fn switch_ids<'l, 'a>(
    log: &mut Log,
    file: &str,
    header_line: usize,
    header: &Header,
    lines: &'l [Line<'a>],
) -> Option<(Vec<NodeKind>, &'l [Line<'a>])> {
    let announced = header.switches.checked_add(header.nvswitches).filter(|sum| *sum <= header.nodes);
    let Some(announced) = announced else {
        let text = format!(
            "{} switches of {} nodes: correct this line",
            header.switches.saturating_add(header.nvswitches),
            header.nodes
        );
        log.error(file, header_line, text);
        return None;
    };
    let mut kinds = vec![NodeKind::Host; header.nodes as usize];
    let (mut found, mut used) = (0u64, 0);
    while found < announced {
        let line = lines.get(used).filter(|line| line.fields().iter().all(|f| number::whole(f).is_ok()));
        let Some(line) = line else {
            let at = lines.get(used).map_or(header_line, |line| line.number);
            log.error(file, at, format!("{announced} switch ids announced, {found} found before this line"));
            return None;
        };
        for field in line.fields() {
            let id = number::whole(field).ok().and_then(|id| usize::try_from(id).ok());
            let Some(kind) = id.and_then(|id| kinds.get_mut(id)) else {
                log.error(
                    file,
                    line.number,
                    format!("switch {field} is not one of the {} nodes", header.nodes),
                );
                return None;
            };
            if *kind != NodeKind::Host {
                log.error(file, line.number, format!("switch {field} is listed twice"));
                return None;
            }
            *kind = if found < header.nvswitches { NodeKind::NvSwitch } else { NodeKind::Switch };
            found += 1;
        }
        used += 1;
        if found > announced {
            log.error(file, line.number, format!("{announced} switch ids announced, {found} found"));
            return None;
        }
    }
    Some((kinds, &lines[used..]))
}

fn link_rows(log: &mut Log, file: &str, rows: &[Line<'_>], nodes: usize) -> Vec<TopologyLink> {
    let (mut unknown, mut bad, mut own) = (Tally::default(), Tally::default(), Tally::default());
    let mut links = Vec::with_capacity(rows.len());
    for row in rows {
        match link_row(*row) {
            Ok(link) if link.a >= nodes || link.b >= nodes => {
                let node = link.a.max(link.b);
                unknown
                    .add(row.number, || format!("node {node} is not one of the {nodes} nodes of the header"));
            }
            Ok(link) if link.a == link.b => {
                own.add(row.number, || format!("a link of node {} to itself", link.a));
            }
            Ok(link) => links.push(link),
            Err(why) => bad.add(row.number, || why),
        }
    }
    for tally in [bad, unknown, own] {
        tally.error(log, file);
    }
    links
}

fn link_row(row: Line<'_>) -> Result<TopologyLink, String> {
    let fields = row.fields();
    if fields.len() != 5 {
        return Err(format!(
            "{} fields; a link row is \"src dst rate delay error-rate\": {}",
            fields.len(),
            row.quoted()
        ));
    }
    let node = |text: &str| -> Result<usize, String> {
        let id = number::whole(text).map_err(|why| format!("node {why}"))?;
        usize::try_from(id).map_err(|_| format!("node {} is too large", quote(text)))
    };
    let error_rate = number::probability(fields[4]).map_err(|why| format!("error rate {why}"))?;
    if error_rate >= 1.0 {
        return Err(format!("error rate {} loses every packet; it must be below 1", fields[4]));
    }
    Ok(TopologyLink {
        line: row.number,
        a: node(fields[0])?,
        b: node(fields[1])?,
        rate: number::rate(fields[2]).map_err(|why| format!("rate {why}"))?,
        delay: number::time(fields[3]).map_err(|why| format!("delay {why}"))?,
        error_rate,
    })
}

impl Topology {
    /// The name of a node in the scenario.
    pub fn name(&self, node: usize) -> String {
        match self.kinds[node] {
            NodeKind::Host => format!("host{node}"),
            NodeKind::Switch | NodeKind::NvSwitch => format!("switch{node}"),
        }
    }

    /// Whether `node` is a host.
    pub fn is_host(&self, node: usize) -> bool {
        self.kinds.get(node) == Some(&NodeKind::Host)
    }

    fn is_nvlink(&self, link: &TopologyLink) -> bool {
        [link.a, link.b].iter().any(|&n| self.kinds[n] == NodeKind::NvSwitch)
    }

    /// Takes NVSwitches and their links out, and returns the rates of those links, ascending.
    pub fn drop_nvlinks(&mut self, log: &mut Log) -> Vec<Rate> {
        let nvswitches = self.kinds.iter().filter(|k| **k == NodeKind::NvSwitch).count();
        let (dropped, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.links).into_iter().partition(|link| self.is_nvlink(link));
        self.links = kept;
        let mut rates: Vec<Rate> = dropped.iter().map(|link| link.rate).collect();
        rates.sort();
        rates.dedup();
        if nvswitches > 0 {
            let listed: Vec<_> = rates.iter().map(Rate::to_string).collect();
            let line = dropped.first().map_or(0, |link| link.line);
            let text = format!(
                "{nvswitches} NVSwitches and their {} links ({}) are left out: the scenario holds the network only",
                dropped.len(),
                listed.join(", ")
            );
            log.note(&self.file, line, text);
        }
        rates
    }

    /// Reports hosts without exactly one link, which a scenario cannot hold.
    pub fn check_hosts(&self, log: &mut Log) {
        let mut lines_of: Vec<(usize, usize, u32)> = vec![(0, 0, 0); self.kinds.len()];
        for link in &self.links {
            for node in [link.a, link.b] {
                let entry = &mut lines_of[node];
                match entry.2 {
                    0 => entry.0 = link.line,
                    1 => entry.1 = link.line,
                    _ => {}
                }
                entry.2 += 1;
            }
        }
        let (mut none, mut many) = (Tally::default(), Tally::default());
        for (node, &(first, second, degree)) in lines_of.iter().enumerate() {
            match degree {
                _ if !self.is_host(node) => {}
                0 => none.add(0, || format!("host {node} has no link")),
                1 => {}
                _ => many.add(second, || {
                    format!(
                        "host {node} has {degree} links, the first on line {first}; hosts here have one: give each NIC a node of its own, or remove the others"
                    )
                }),
            }
        }
        none.error(log, &self.file);
        many.error(log, &self.file);
        if !self.kinds.contains(&NodeKind::Host) {
            log.error(&self.file, 0, "no hosts: every node is a switch");
        }
    }

    /// The rate of the first host's link: what the HPCC model takes for the NIC rate.
    pub fn nic_rate(&self) -> Option<Rate> {
        let first = (0..self.kinds.len()).find(|&n| self.is_host(n))?;
        self.links.iter().find(|link| link.a == first || link.b == first).map(|link| link.rate)
    }

    /// The first link that ends at a switch, for each rate, ascending.
    pub fn switch_rates(&self) -> Vec<(Rate, &TopologyLink)> {
        let at_switch = |l: &&TopologyLink| [l.a, l.b].iter().any(|&n| self.kinds[n] == NodeKind::Switch);
        let mut first = std::collections::BTreeMap::new();
        for link in self.links.iter().filter(at_switch) {
            first.entry(link.rate).or_insert(link);
        }
        first.into_iter().collect()
    }

    /// The topology of the scenario. Links without an error rate of their own get `error_rate`.
    pub fn edges(&self, error_rate: f64) -> EdgeList {
        let of = |kind| (0..self.kinds.len()).filter(move |&n| self.kinds[n] == kind).map(|n| self.name(n));
        let edge = |link: &TopologyLink| Edge {
            a: self.name(link.a),
            b: self.name(link.b),
            rate: link.rate,
            delay: Some(link.delay),
            length: None,
            error_rate: if link.error_rate > 0.0 { link.error_rate } else { error_rate },
        };
        EdgeList {
            hosts: of(NodeKind::Host).collect(),
            switches: of(NodeKind::Switch).collect(),
            links: self.links.iter().map(edge).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::report::ImportError;

    fn read(
        text: &str,
        dialect: Dialect,
        lenient: bool,
    ) -> (Option<Topology>, Result<Vec<String>, ImportError>) {
        let mut log = Log::new(lenient);
        let mut topology = parse(&mut log, "t", text, dialect);
        if let Some(topology) = &mut topology {
            topology.drop_nvlinks(&mut log);
            topology.check_hosts(&mut log);
        }
        (topology, log.finish().map(|notes| notes.into_iter().map(|n| n.to_string()).collect()))
    }

    fn error(text: &str, dialect: Dialect) -> String {
        read(text, dialect, false).1.unwrap_err().to_string()
    }

    /// Rows in the forms of HPCC's fat.txt, its topology.txt, PowerTCP's topology.txt and astra-network-ns3's.
    #[test]
    fn all_headers_and_row_forms() {
        let hpcc = "3 1 2\n2 \n0 2 100Gbps 1000ns 0.000000\n1 2 25Gbps 0.001ms 0\n";
        let (topology, notes) = read(hpcc, Dialect::Hpcc, false);
        assert_eq!(notes.unwrap(), Vec::<String>::new());
        let edges = topology.unwrap().edges(0.0);
        assert_eq!(
            (edges.hosts, edges.switches),
            (vec!["host0".into(), "host1".into()], vec!["switch2".into()])
        );
        assert_eq!(edges.links[1].rate, Rate::gbps(25));
        assert_eq!(edges.links[1].delay, Some(Duration::from_us(1)));

        let power = "3 1 1 2\n2\n0 2 25000000000.0 1us 0\n1 2 25000000000.0 5us 0.25\n";
        let edges = read(power, Dialect::PowerTcp, false).0.unwrap().edges(0.001);
        assert_eq!((edges.links[0].error_rate, edges.links[1].error_rate), (0.001, 0.25));
        assert_eq!(edges.links[1].delay, Some(Duration::from_us(5)));

        let reverie = "3 1 1 2 25000000000 25000000000\n2\n0 2 25000000000 2us 0\n1 2 25000000000 2us 0\n";
        assert_eq!(read(reverie, Dialect::Reverie, false).0.unwrap().links.len(), 2);

        let astra = "3 1 2\n0\n0 1 400Gbps 0.0005ms 0\n0 2 400Gbps 0.0005ms 0\n";
        assert_eq!(read(astra, Dialect::Astra, false).0.unwrap().edges(0.0).hosts, ["host1", "host2"]);
    }

    #[test]
    fn headers_tell_their_dialect() {
        let of = |text| dialect_of_header(Line { number: 1, text });
        assert_eq!(of("66 1 65"), None);
        assert_eq!(of("138 10 4 144"), Some(Dialect::PowerTcp));
        assert_eq!(of("38 6 2 40 25000000000 25000000000"), Some(Dialect::Reverie));
        assert_eq!(of("216 8 16 72 768 A100"), Some(Dialect::SimAi));
        assert_eq!(of("216 8 16 72 768"), Some(Dialect::SimAi));
        assert_eq!(
            error("138 10 4 144\n", Dialect::Hpcc),
            "t:1: a header of 4 fields; dialect hpcc has \"nodes switches links\": choose another with --dialect"
        );
    }

    #[test]
    fn no_switches_leave_the_second_line_empty() {
        let (topology, notes) = read("2 0 1\n\n0 1 10Gbps 1us 0\n", Dialect::Hpcc, false);
        assert!(notes.is_ok());
        let edges = topology.unwrap().edges(0.0);
        assert_eq!((edges.hosts.len(), edges.switches.len(), edges.links.len()), (2, 0, 1));
    }

    #[test]
    fn nvswitches_are_left_out_and_counted() {
        let text = "5 2 1 2 5 A100\n2 3 4\n0 2 2400Gbps 0.000025ms 0\n0 3 100Gbps 0.0005ms 0\n\
                    1 2 2400Gbps 0.000025ms 0\n1 3 100Gbps 0.0005ms 0\n3 4 400Gbps 0.0005ms 0\n";
        let (topology, notes) = read(text, Dialect::SimAi, false);
        let notes = notes.unwrap();
        assert_eq!(notes[0], "t:1: no effect here: 2 GPUs a server, GPU type A100");
        assert_eq!(
            notes[1],
            "t:3: 1 NVSwitches and their 2 links (2400Gbps) are left out: the scenario holds the network only"
        );
        let topology = topology.unwrap();
        assert_eq!(topology.nic_rate(), Some(Rate::gbps(100)));
        assert_eq!(topology.edges(0.0).switches, ["switch3", "switch4"]);
        assert_eq!(topology.switch_rates().len(), 2);
    }

    #[test]
    fn what_a_scenario_cannot_hold_is_an_error() {
        let two = "3 2 2\n1 2\n0 1 25Gbps 1us 0\n0 2 25Gbps 1us 0\n";
        let text = error(two, Dialect::Hpcc);
        assert!(text.starts_with("t:4: host 0 has 2 links, the first on line 3"), "{text}");
        assert_eq!(error("3 1 1\n2\n0 2 1Gbps 1us 0\n", Dialect::Hpcc), "t: host 1 has no link");
    }

    #[test]
    fn mistakes_name_their_line() {
        let row = |row: &str| error(&format!("2 1 1\n1\n{row}\n"), Dialect::Hpcc);
        assert!(row("0 1 0Gbps 1us 0").starts_with("t:3: rate \"0Gbps\" is a rate of 0"));
        assert!(row("0 1 1Gbps -1us 0").starts_with("t:3: delay \"-1us\" is negative"));
        assert!(row("0 1 1Gbps 1us 1.0").starts_with("t:3: error rate 1.0 loses every packet"));
        assert!(row("0 1 1Gbps 1us").starts_with("t:3: 4 fields; a link row is"));
        assert!(row("-1 1 1Gbps 1us 0").starts_with("t:3: node \"-1\" is negative"));
        assert!(row("0 0 1Gbps 1us 0").starts_with("t:3: a link of node 0 to itself"));
        assert!(row("0 7 1Gbps 1us 0").starts_with("t:3: node 7 is not one of the 2 nodes of the header"));
        assert_eq!(error("2 3 1\n", Dialect::Hpcc), "t:1: 3 switches of 2 nodes: correct this line");
        assert_eq!(
            error("3 2 1\n1\n0 1 1Gbps 1us 0\n", Dialect::Hpcc),
            "t:3: 2 switch ids announced, 1 found before this line"
        );
        assert_eq!(
            error("3 1 1\n1 2\n0 1 1Gbps 1us 0\n", Dialect::Hpcc),
            "t:2: 1 switch ids announced, 2 found"
        );
        assert_eq!(error("3 1 1\n9\n", Dialect::Hpcc), "t:2: switch 9 is not one of the 3 nodes");
        assert_eq!(error("3 2 1\n1 1\n", Dialect::Hpcc), "t:2: switch 1 is listed twice");
        assert!(error("99999999 1 1\n", Dialect::Hpcc).starts_with("t:1: 99999999 nodes and 1 links"));
    }

    /// The shape of HPCC's shipped topology.txt: 65 links announced, more follow, then help text.
    #[test]
    fn a_header_that_contradicts_its_rows() {
        let text = "3 1 2\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 25Gbps 0.001ms 0\n0 4 25Gbps 0.001ms 0\n\
                    \nFirst line: total node #, switch node #, link #\n...\n";
        let strict = error(text, Dialect::Hpcc);
        assert_eq!(
            strict,
            "t:1: 2 links announced, 4 rows follow: correct this line, or take the first 2 with --lenient\n\
             t:5: node 3 is not one of the 3 nodes of the header (and 1 more line like it)"
        );
        let (topology, notes) = read(text, Dialect::Hpcc, true);
        assert_eq!(topology.unwrap().links.len(), 2);
        assert_eq!(
            notes.unwrap(),
            [
                "t:1: 2 link rows ignored (lines 5 to 6): 2 announced",
                "t:8: 2 lines of text after the link rows not read, from \"First line: total node #, switch node #,…\""
            ]
        );
    }
}
