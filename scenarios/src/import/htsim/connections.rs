//! Connection matrices (`.cm`): `Nodes`, `Connections`, then `a->b [id i] start t size s` lines.

use models::config::FlowConfig;
use sim_core::{Bytes, Duration};

use super::super::StartUnit;
use super::super::lines::{Line, lines, quote};
use super::super::number::{self, Decimal};
use super::super::report::{Log, Tally};

/// A connection.
#[derive(Debug)]
struct Connection {
    line: usize,
    from: u64,
    to: u64,
    size: Option<u64>,
    start: Option<(Decimal, bool)>,
    triggered: bool,
    triggers: bool,
    priority: bool,
}

/// A connection matrix.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// Nodes and the line that says so.
    pub nodes: Option<(u64, usize)>,
    connections: Vec<Connection>,
    announced: Option<(u64, usize)>,
    trigger_lines: usize,
    failures: Tally,
}

/// Reads a connection matrix.
pub(super) fn parse(log: &mut Log, file: &str, text: &str) -> Matrix {
    let mut matrix = Matrix::default();
    let mut bad = Tally::default();
    for line in lines(log, file, text) {
        if line.text.starts_with('#') {
            continue;
        }
        if let Err(why) = read_line(line, &mut matrix) {
            bad.add(line.number, || why);
        }
    }
    bad.error(log, file);
    matrix
}

fn read_line(line: Line<'_>, matrix: &mut Matrix) -> Result<(), String> {
    let fields = line.fields();
    if let Some((from, to)) = fields[0].split_once("->") {
        matrix.connections.push(connection(line.number, from, to, &fields[1..])?);
        return Ok(());
    }
    let count = || -> Result<u64, String> {
        let value = fields.get(1).ok_or_else(|| format!("{} has no value", fields[0]))?;
        number::whole(value).map_err(|why| format!("{} {why}", fields[0]))
    };
    match fields[0].to_ascii_lowercase().as_str() {
        "nodes" => matrix.nodes = Some((count()?, line.number)),
        "connections" => matrix.announced = Some((count()?, line.number)),
        "triggers" | "failures" => {
            count()?;
        }
        "trigger" => matrix.trigger_lines += 1,
        "failure" => matrix.failures.add(line.number, || format!("a failed link, {}", line.quoted())),
        _ => return Err(format!("{} is not known; a connection is \"a->b start t size s\"", line.quoted())),
    }
    Ok(())
}

fn connection(line: usize, from: &str, to: &str, fields: &[&str]) -> Result<Connection, String> {
    let mut connection = Connection {
        line,
        from: number::whole(from).map_err(|why| format!("source {why}"))?,
        to: number::whole(to).map_err(|why| format!("destination {why}"))?,
        size: None,
        start: None,
        triggered: false,
        triggers: false,
        priority: false,
    };
    let mut words = fields.iter();
    while let Some(&word) = words.next() {
        if word == "addon" {
            connection.triggered = true;
            continue;
        }
        let value = *words.next().ok_or_else(|| format!("{} has no value", quote(word)))?;
        let whole = || number::whole(value).map_err(|why| format!("{word} {why}"));
        match word {
            "size" => connection.size = Some(whole()?),
            "start" => {
                let start = Decimal::parse(value).map_err(|why| format!("start {} {why}", quote(value)))?;
                connection.start = Some((start, value.contains('.')));
            }
            "id" => {
                whole()?;
            }
            "prio" => {
                whole()?;
                connection.priority = true;
            }
            "trigger" => {
                whole()?;
                connection.triggered = true;
            }
            "send_done_trigger" | "recv_done_trigger" => {
                whole()?;
                connection.triggers = true;
            }
            _ => return Err(format!("{} is not known in a connection", quote(word))),
        }
    }
    Ok(connection)
}

impl Matrix {
    /// The connections as flows between hosts named by `nodes`.
    pub fn flows(mut self, log: &mut Log, file: &str, unit: Option<StartUnit>) -> Vec<FlowConfig> {
        self.check_count(log, file);
        self.check_triggers(log, file);
        self.check_failures(log, file);
        let unit = self.start_unit(log, file, unit);
        let nodes = self.nodes.map_or(0, |(nodes, _)| nodes);
        let (mut endpoint, mut endless, mut bad) = (Tally::default(), Tally::default(), Tally::default());
        let mut flows = Vec::with_capacity(self.connections.len());
        let mut prioritised = 0;
        for connection in &self.connections {
            let (line, from, to) = (connection.line, connection.from, connection.to);
            prioritised += usize::from(connection.priority);
            if from >= nodes || to >= nodes {
                endpoint.add(line, || format!("node {} is not one of the {nodes} nodes", from.max(to)));
            } else if from == to {
                endpoint.add(line, || format!("a connection from node {from} to itself"));
            } else if connection.size == Some(0) {
                endless.add(line, || format!("connection {from}->{to} has size 0: it never ends"));
            } else {
                match timed(connection, unit) {
                    Ok((size, start)) => flows.push(flow(connection, size, start)),
                    Err(why) => bad.add(line, || why),
                }
            }
        }
        endpoint.error(log, file);
        bad.error(log, file);
        if let Some((line, text)) = endless.text() {
            log.contradiction(
                file,
                line,
                format!("{text}; flows here have a size: give one, or leave these out with --lenient"),
                format!("{} connections of size 0, which never end, are left out", endless.count()),
            );
        }
        if prioritised > 0 {
            log.note(file, 0, format!("no effect here: prio of {prioritised} connections"));
        }
        flows
    }

    fn check_count(&mut self, log: &mut Log, file: &str) {
        let found = self.connections.len();
        let Some((announced, line)) = self.announced else {
            log.contradiction(
                file,
                0,
                "no Connections line: add \"Connections N\", or go without with --lenient".to_string(),
                format!("no Connections line: all {found} are used"),
            );
            return;
        };
        let wanted = usize::try_from(announced).unwrap_or(usize::MAX);
        if found == wanted {
            return;
        }
        let used = found.min(wanted);
        log.contradiction(
            file,
            line,
            format!(
                "{announced} connections announced, {found} follow: correct this line, or take {used} of them with --lenient"
            ),
            format!("{announced} connections announced, {found} follow: {} ignored", found - used),
        );
        if log.lenient {
            self.connections.truncate(wanted);
        }
    }

    /// Connections that start when others end cannot be held by a scenario, so nothing sensible can be made of them.
    fn check_triggers(&self, log: &mut Log, file: &str) {
        let mut involved = self.connections.iter().filter(|c| c.triggered || c.triggers);
        let first = involved.next().map(|connection| connection.line);
        let waiting = self.connections.iter().filter(|c| c.triggered).count();
        if first.is_some() || self.trigger_lines > 0 {
            let text = format!(
                "{waiting} of {} connections start when others are done ({} triggers): a scenario's flows start at \
                 times, so this matrix cannot be imported; give each connection a start",
                self.connections.len(),
                self.trigger_lines
            );
            log.error(file, first.unwrap_or(0), text);
        }
    }

    fn check_failures(&self, log: &mut Log, file: &str) {
        if let Some((line, text)) = self.failures.text() {
            log.contradiction(
                file,
                line,
                format!("{text}: not imported; remove it and add a link-down fault, or leave it out with --lenient"),
                format!("{text}: left out; add a link-down fault to the scenario"),
            );
        }
    }

    /// The unit of the start times: as told, else microseconds where htsim's own writer left its decimals.
    fn start_unit(&self, log: &mut Log, file: &str, told: Option<StartUnit>) -> StartUnit {
        let starts = || self.connections.iter().filter_map(|c| c.start);
        let decimals = starts().any(|(_, decimals)| decimals);
        let (unit, why) = match (told, decimals) {
            (Some(unit), _) => (unit, "as told"),
            (None, true) => (
                StartUnit::Microseconds,
                "as htsim writes them, with decimals; --start-unit ps reads them otherwise",
            ),
            (None, false) => (
                StartUnit::Picoseconds,
                "whole numbers, as current loaders read them; --start-unit us reads them otherwise",
            ),
        };
        let name = match unit {
            StartUnit::Picoseconds => "picoseconds",
            StartUnit::Microseconds => "microseconds",
        };
        if starts().all(|(start, _)| start.is_zero()) {
            log.note(file, 0, "every connection starts at 0");
        } else {
            log.note(file, 0, format!("starts are in {name}: {why}"));
        }
        unit
    }
}

fn timed(connection: &Connection, unit: StartUnit) -> Result<(u64, Duration), String> {
    let (from, to) = (connection.from, connection.to);
    let size = connection.size.ok_or_else(|| format!("connection {from}->{to} has no size"))?;
    let (start, _) = match connection.start {
        Some(start) => start,
        None if connection.triggered => return Ok((size, Duration::ZERO)),
        None => return Err(format!("connection {from}->{to} has no start")),
    };
    let picoseconds = match unit {
        StartUnit::Picoseconds => start.times(1),
        StartUnit::Microseconds => start.times(1_000_000),
    };
    let start =
        picoseconds.ok_or_else(|| format!("connection {from}->{to} starts later than the clock holds"))?;
    Ok((size, Duration(start)))
}

fn flow(connection: &Connection, size: u64, start: Duration) -> FlowConfig {
    FlowConfig {
        from: format!("host{}", connection.from),
        to: format!("host{}", connection.to),
        size: Bytes(size),
        start,
        class: None,
        dscp: None,
        operation: None,
        messages: None,
        rate: None,
        paths: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        text: &str,
        unit: Option<StartUnit>,
        lenient: bool,
    ) -> Result<(Vec<FlowConfig>, Vec<String>), String> {
        let mut log = Log::new(lenient);
        let flows = parse(&mut log, "m", text).flows(&mut log, "m", unit);
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((flows, notes.into_iter().map(|n| n.to_string()).collect()))
    }

    /// Lines in the forms of csg-htsim's one.cm, outcast_incast.cm and ATLAHS' test.cm.
    #[test]
    fn connections_with_and_without_id() {
        let (flows, notes) = read(
            "# x\nNodes 16\nConnections 2\n0->13 start 0 size 2000000\n7->5 id 1 start 0 size 5\n\n",
            None,
            false,
        )
        .unwrap();
        assert_eq!((flows[0].from.as_str(), flows[0].to.as_str()), ("host0", "host13"));
        assert_eq!((flows[0].size, flows[1].size), (Bytes(2_000_000), Bytes(5)));
        assert_eq!(notes, ["m: every connection starts at 0"]);
    }

    #[test]
    fn starts_are_picoseconds_unless_written_with_decimals() {
        let whole = "Nodes 2\nConnections 1\n0->1 id 2 start 62004000 size 1048576\n";
        let (flows, notes) = read(whole, None, false).unwrap();
        assert_eq!(flows[0].start, Duration(62_004_000));
        assert!(notes[0].starts_with("m: starts are in picoseconds: whole numbers"), "{notes:?}");
        let told = read(whole, Some(StartUnit::Microseconds), false).unwrap();
        assert_eq!(told.0[0].start, Duration(62_004_000_000_000));
        let (flows, notes) =
            read("Nodes 2\nConnections 1\n0->1 start 1.500000 size 1\n", None, false).unwrap();
        assert_eq!(flows[0].start, Duration(1_500_000));
        assert!(notes[0].starts_with("m: starts are in microseconds: as htsim writes them"));
    }

    #[test]
    fn counts_and_nodes_are_checked() {
        let text = "Nodes 4\nConnections 1\n0->1 start 0 size 1\n0->9 start 0 size 1\n2->2 start 0 size 1\n";
        assert_eq!(
            read(text, None, false).unwrap_err(),
            "m:2: 1 connections announced, 3 follow: correct this line, or take 1 of them with --lenient\n\
             m:4: node 9 is not one of the 4 nodes (and 1 more line like it)"
        );
        let (flows, notes) = read(text, None, true).unwrap();
        assert_eq!(
            (flows.len(), notes[0].as_str()),
            (1, "m:2: 1 connections announced, 3 follow: 2 ignored")
        );
    }

    #[test]
    fn size_0_never_ends() {
        let text = "Nodes 4\nConnections 2\n3->0 start 0.000000 size 0\n2->0 start 0.000000 size 7\n";
        let error = read(text, None, false).unwrap_err();
        assert!(error.starts_with("m:3: connection 3->0 has size 0: it never ends"), "{error}");
        let (flows, notes) = read(text, None, true).unwrap();
        assert_eq!(flows.len(), 1);
        assert!(notes[1].contains("1 connections of size 0"), "{notes:?}");
    }

    /// The form of uet-htsim's foo2.cm.
    #[test]
    fn triggers_are_refused_also_when_lenient() {
        let text = "Nodes 9\nConnections 2\nTriggers 1\n1->2 id 1 start 0 size 9 send_done_trigger 1\n\
                    1->3 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n";
        let error = read(text, None, true).unwrap_err();
        assert!(
            error.starts_with("m:4: 1 of 2 connections start when others are done (1 triggers)"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        let row = |row: &str| read(&format!("Nodes 4\nConnections 1\n{row}\n"), None, true).unwrap_err();
        assert_eq!(row("0->1 start 0 size -5"), "m:3: size \"-5\" is negative");
        assert_eq!(row("0->1 start -1 size 5"), "m:3: start \"-1\" is negative");
        assert_eq!(row("0->1 start 0 size"), "m:3: \"size\" has no value");
        assert_eq!(row("0->1 begin 0 size 5"), "m:3: \"begin\" is not known in a connection");
        assert_eq!(row("0->x start 0 size 5"), "m:3: destination \"x\" is no number");
        assert_eq!(row("0->1 size 5"), "m:3: connection 0->1 has no start");
        assert_eq!(row("0->1 start 0"), "m:3: connection 0->1 has no size");
        assert!(row("hello").starts_with("m:3: \"hello\" is not known"));
        assert!(row("0->1 start 1e30 size 5").contains("later than the clock holds"));
        let failure = "Nodes 4\nConnections 0\nfailure switch_type AGG switch_id 0 link_id 1\n";
        assert!(read(failure, None, false).unwrap_err().contains("a failed link"));
        assert!(read(failure, None, true).is_ok());
    }
}
