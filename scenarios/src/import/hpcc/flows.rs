//! Flow files: a count, then a row a flow, in the four forms of the family.

use models::config::FlowConfig;
use sim_core::{Bytes, Duration};

use super::super::lines::{Line, lines};
use super::super::report::{Log, Tally};
use super::super::{Dialect, number};
use super::table::{Table, table};
use super::topology::Topology;

/// What the columns of a row mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowShape {
    /// `src dst pg dport bytes start`.
    Bytes,
    /// `src dst pg packets start stop`.
    Packets,
    /// `src dst pg bytes start`.
    NoPort,
    /// `id src dst pg dport bytes start`.
    WithId,
}

impl RowShape {
    /// The shape of the flow files of `dialect`.
    pub fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Hpcc | Dialect::PowerTcp | Dialect::Reverie | Dialect::SimAi | Dialect::Astra => {
                Self::Bytes
            }
            Dialect::Ns3Rdma => Self::Packets,
            Dialect::Conweave => Self::NoPort,
            Dialect::M3 => Self::WithId,
        }
    }

    fn fields(self) -> usize {
        match self {
            Self::Bytes | Self::Packets => 6,
            Self::NoPort => 5,
            Self::WithId => 7,
        }
    }

    /// Columns of (src, dst, pg, size, start).
    fn columns(self) -> [usize; 5] {
        match self {
            Self::Bytes => [0, 1, 2, 4, 5],
            Self::Packets | Self::NoPort => [0, 1, 2, 3, 4],
            Self::WithId => [1, 2, 3, 5, 6],
        }
    }
}

/// What one row looks like on its own. A fourth column too large for a port, or a fifth that is no whole number,
/// is a packet count and a start time.
fn shape_of_row(row: Line<'_>) -> Option<RowShape> {
    let fields = row.fields();
    match fields.len() {
        5 => Some(RowShape::NoPort),
        7 => Some(RowShape::WithId),
        6 => {
            let port = number::whole(fields[3]).is_ok_and(|port| port <= 65_535);
            let size = number::whole(fields[4]).is_ok();
            Some(if port && size { RowShape::Bytes } else { RowShape::Packets })
        }
        _ => None,
    }
}

/// The lines of a flow file.
#[derive(Debug)]
pub(super) struct FlowFile<'a> {
    file: &'a str,
    header: Line<'a>,
    announced: u64,
    table: Table<'a>,
}

impl<'a> FlowFile<'a> {
    /// Splits a flow file into header, rows and text.
    pub fn open(log: &mut Log, file: &'a str, text: &'a str) -> Option<Self> {
        let all = lines(log, file, text);
        let all: Vec<_> = all.into_iter().filter(|line| !line.text.starts_with('#')).collect();
        let (&header, rest) = all.split_first()?;
        let announced = match number::whole(header.text) {
            Ok(announced) => announced,
            Err(why) => {
                log.error(file, header.number, format!("the number of flows is due: {why}"));
                return None;
            }
        };
        Some(Self { file, header, announced, table: table(rest) })
    }

    /// The shape all rows agree on, or `None` without rows. Rows that disagree are an error.
    pub fn shape(&self, log: &mut Log) -> Option<RowShape> {
        let announced = usize::try_from(self.announced).unwrap_or(usize::MAX);
        let rows = &self.table.rows[..self.table.rows.len().min(announced)];
        let mut shapes = rows.iter().filter_map(|row| Some((row.number, shape_of_row(*row)?)));
        let (line, first) = shapes.next()?;
        if let Some((other, _)) = shapes.find(|(_, shape)| *shape != first) {
            let text = format!(
                "this row and that on line {line} read as different dialects (a packet count or a port in column 4): \
                 choose one with --dialect"
            );
            log.error(self.file, other, text);
        }
        Some(first)
    }

    /// Reads the rows. Sizes in packets are packets of `payload` bytes. Starts are relative to the first, which is
    /// returned beside the flows.
    pub fn read(
        mut self,
        log: &mut Log,
        dialect: Dialect,
        payload: u64,
        topology: &Topology,
    ) -> (Vec<FlowConfig>, Duration) {
        self.table.reconcile(log, self.file, self.header.number, self.announced, "flow");
        let shape = RowShape::of(dialect);
        let mut faults = Faults::default();
        let mut flows = Vec::with_capacity(self.table.rows.len());
        let mut unordered = Tally::default();
        let mut previous = Duration::ZERO;
        for row in &self.table.rows {
            let Some(flow) = read_row(*row, dialect, shape, payload, topology, &mut faults) else { continue };
            if flow.start < previous {
                unordered.add(row.number, || "starts before the flow above it".to_string());
            }
            previous = flow.start;
            flows.push(flow);
        }
        faults.report(log, self.file);
        let earliest = flows.iter().map(|flow| flow.start).min().unwrap_or_default();
        for flow in &mut flows {
            flow.start -= earliest;
        }
        self.notes(log, shape, payload, earliest, &unordered);
        (flows, earliest)
    }

    fn notes(&self, log: &mut Log, shape: RowShape, payload: u64, earliest: Duration, unordered: &Tally) {
        if earliest > Duration::ZERO {
            let text = format!(
                "flows start from {earliest} on: {earliest} is taken off, so that the run starts at 0"
            );
            log.note(self.file, self.header.number, text);
        }
        if let Some((line, text)) = unordered.text() {
            log.note(self.file, line, format!("{text}: fine here, but the original needs ascending starts"));
        }
        match shape {
            RowShape::Packets => {
                let text = format!(
                    "column 4 is read as packets of {payload} B; stop times (column 6) have no effect here"
                );
                log.note(self.file, self.header.number, text);
            }
            RowShape::Bytes | RowShape::WithId if !self.table.rows.is_empty() => {
                let text =
                    "ports have no effect here: equal-cost paths are chosen by a hash of the flow itself";
                log.note(self.file, self.header.number, text);
            }
            RowShape::Bytes | RowShape::WithId | RowShape::NoPort => {}
        }
    }
}

/// Faults of rows, by kind.
#[derive(Default)]
struct Faults {
    bad: Tally,
    shape: Tally,
    endpoint: Tally,
    class: Tally,
    size: Tally,
}

impl Faults {
    fn report(self, log: &mut Log, file: &str) {
        for tally in [self.shape, self.bad, self.endpoint, self.class, self.size] {
            tally.error(log, file);
        }
    }
}

fn read_row(
    row: Line<'_>,
    dialect: Dialect,
    shape: RowShape,
    payload: u64,
    topology: &Topology,
    faults: &mut Faults,
) -> Option<FlowConfig> {
    let fields = row.fields();
    if fields.len() != shape.fields() {
        faults.shape.add(row.number, || {
            format!(
                "{} fields; dialect {} has \"{}\": {}",
                fields.len(),
                dialect.name(),
                dialect.flow_row(),
                row.quoted()
            )
        });
        return None;
    }
    let values = match columns(&fields, shape) {
        Ok(values) => values,
        Err(why) => {
            faults.bad.add(row.number, || why);
            return None;
        }
    };
    let (src, dst) = (endpoint(values.src, topology), endpoint(values.dst, topology));
    let (from, to) = match (src, dst) {
        (Ok(src), Ok(dst)) if src != dst => (topology.name(src), topology.name(dst)),
        (Ok(src), Ok(_)) => {
            faults.endpoint.add(row.number, || format!("a flow from host {src} to itself"));
            return None;
        }
        (Err(why), _) | (_, Err(why)) => {
            faults.endpoint.add(row.number, || why);
            return None;
        }
    };
    if values.class > 7 {
        faults.class.add(row.number, || format!("priority group {}; classes are 0 to 7", values.class));
        return None;
    }
    let per_unit = if shape == RowShape::Packets { payload } else { 1 };
    let Some(size) = values.size.checked_mul(per_unit).filter(|size| *size > 0) else {
        let what = if values.size == 0 { "a flow without data" } else { "a flow too large to hold" };
        faults.size.add(row.number, || format!("{what}: size {}", values.size));
        return None;
    };
    let class = (values.class != 3).then_some(values.class as u8);
    Some(FlowConfig {
        from,
        to,
        size: Bytes(size),
        start: values.start,
        class,
        dscp: None,
        operation: None,
        messages: None,
        rate: None,
        paths: Vec::new(),
    })
}

struct Values {
    src: u64,
    dst: u64,
    class: u64,
    size: u64,
    start: Duration,
}

fn columns(fields: &[&str], shape: RowShape) -> Result<Values, String> {
    let [src, dst, class, size, start] = shape.columns();
    let whole = |column: usize, what: &str| {
        number::whole(fields[column]).map_err(|why| format!("{what} (column {}) {why}", column + 1))
    };
    let values = Values {
        src: whole(src, "source")?,
        dst: whole(dst, "destination")?,
        class: whole(class, "priority group")?,
        size: whole(size, if shape == RowShape::Packets { "packets" } else { "bytes" })?,
        start: number::time(fields[start]).map_err(|why| format!("start (column {}) {why}", start + 1))?,
    };
    match shape {
        RowShape::Bytes | RowShape::WithId => {
            let port = whole(size - 1, "port")?;
            if port > 65_535 {
                return Err(format!(
                    "port {port} (column {size}) is above 65535; if it counts packets, the dialect is ns3-rdma"
                ));
            }
        }
        RowShape::Packets => {
            let stop = number::time(fields[5]).map_err(|why| format!("stop (column 6) {why}"))?;
            if stop <= values.start {
                return Err(format!(
                    "the flow stops at {stop} before it starts at {}; if column 5 is a size, the dialect is hpcc",
                    values.start
                ));
            }
        }
        RowShape::NoPort => {}
    }
    Ok(values)
}

fn endpoint(id: u64, topology: &Topology) -> Result<usize, String> {
    let nodes = topology.kinds.len();
    match usize::try_from(id).ok().filter(|id| *id < nodes) {
        Some(id) if topology.is_host(id) => Ok(id),
        Some(id) => Err(format!("node {id} is a switch ({}), not a host", topology.file)),
        None => Err(format!("node {id} is not one of the {nodes} nodes of {}", topology.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::topology;
    use super::*;

    fn read(text: &str, dialect: Dialect, lenient: bool) -> Result<(Vec<FlowConfig>, Vec<String>), String> {
        let mut log = Log::new(lenient);
        let star = "5 1 4\n4\n0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 4 1Gbps 1us 0\n";
        let star = topology::parse(&mut log, "topo", star, Dialect::Hpcc).unwrap();
        let flows = FlowFile::open(&mut log, "f", text);
        let flows = flows.map(|file| file.read(&mut log, dialect, 1000, &star).0).unwrap_or_default();
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((flows, notes.into_iter().map(|n| n.to_string()).collect()))
    }

    fn shape(text: &str) -> (Option<RowShape>, bool) {
        let mut log = Log::new(false);
        let shape = FlowFile::open(&mut log, "f", text).unwrap().shape(&mut log);
        (shape, log.failed())
    }

    #[test]
    fn shapes_from_rows() {
        assert_eq!(shape("2\n2 1 3 100 200000000 2\n3 1 3 100 5 2\n"), (Some(RowShape::Bytes), false));
        assert_eq!(shape("1\n2 1 3 10000000 2.0 9.5\n"), (Some(RowShape::Packets), false));
        assert_eq!(shape("1\n2 1 3 10000000 2 9\n"), (Some(RowShape::Packets), false));
        assert_eq!(shape("1\n0 1 3 2000 2.000001\n"), (Some(RowShape::NoPort), false));
        assert_eq!(shape("1\n0 0 1 3 100 2000 2.000001\n"), (Some(RowShape::WithId), false));
        assert_eq!(shape("0\n"), (None, false));
        assert_eq!(shape("2\n2 1 3 100 200000000 2\n3 1 3 100000 2.0 3.0\n"), (Some(RowShape::Bytes), true));
    }

    #[test]
    fn bytes_and_starts() {
        let (flows, notes) =
            read("2\n2 1 3 100 200000000 2\n3 1 1 10001 5 2.5\n", Dialect::Hpcc, false).unwrap();
        assert_eq!((flows[0].from.as_str(), flows[0].to.as_str()), ("host2", "host1"));
        assert_eq!(
            (flows[0].size, flows[0].start, flows[0].class),
            (Bytes(200_000_000), Duration::ZERO, None)
        );
        assert_eq!((flows[1].start, flows[1].class), (Duration::from_ms(500), Some(1)));
        assert_eq!(notes[0], "f:1: flows start from 2s on: 2s is taken off, so that the run starts at 0");
    }

    /// Ten million packets of 1000 B are 10 GB, not port 10000000.
    #[test]
    fn packets_are_no_port() {
        let text = "2\n2 1 3 10000000 2.0 9.5\n3 1 3 10000000 2.0 9.5\n";
        let (flows, notes) = read(text, Dialect::Ns3Rdma, false).unwrap();
        assert_eq!(flows[1].size, Bytes(10_000_000_000));
        assert!(notes[1].contains("packets of 1000 B"), "{notes:?}");
        let error = read("1\n2 1 3 10000000 200 2\n", Dialect::Hpcc, false).unwrap_err();
        assert_eq!(
            error,
            "f:2: port 10000000 (column 4) is above 65535; if it counts packets, the dialect is ns3-rdma"
        );
        let error = read("1\n2 1 3 100 200000000 2\n", Dialect::Ns3Rdma, false).unwrap_err();
        assert!(
            error.starts_with("f:2: start (column 5) \"200000000\" is too large")
                || error.contains("is hpcc")
        );
    }

    #[test]
    fn other_columns() {
        let (flows, notes) = read("1\n0 1 3 2000 0\n", Dialect::Conweave, false).unwrap();
        assert_eq!((flows[0].size, notes.len()), (Bytes(2000), 0));
        let (flows, _) = read("1\n0 2 1 3 100 2000 1\n", Dialect::M3, false).unwrap();
        assert_eq!((flows[0].from.as_str(), flows[0].size), ("host2", Bytes(2000)));
    }

    #[test]
    fn mistakes_name_their_line() {
        let row = |row: &str| read(&format!("1\n{row}\n"), Dialect::Hpcc, true).unwrap_err();
        assert_eq!(row("9 1 3 100 5 2"), "f:2: node 9 is not one of the 5 nodes of topo");
        assert_eq!(row("4 1 3 100 5 2"), "f:2: node 4 is a switch (topo), not a host");
        assert_eq!(row("1 1 3 100 5 2"), "f:2: a flow from host 1 to itself");
        assert_eq!(row("0 1 8 100 5 2"), "f:2: priority group 8; classes are 0 to 7");
        assert_eq!(row("0 1 3 100 0 2"), "f:2: a flow without data: size 0");
        assert_eq!(row("0 1 3 100 -5 2"), "f:2: bytes (column 5) \"-5\" is negative");
        assert_eq!(row("0 1 3 100 5 -2"), "f:2: start (column 6) \"-2\" is negative; write it as 1000ns");
        assert!(row("0 1 3 100 5").starts_with("f:2: 5 fields; dialect hpcc has"));
        assert!(read("x\n", Dialect::Hpcc, true).unwrap_err().contains("the number of flows is due"));
        let huge = read("1\n0 1 3 18446744073709551615 1 2\n", Dialect::Ns3Rdma, true).unwrap_err();
        assert_eq!(huge, "f:2: a flow too large to hold: size 18446744073709551615");
    }

    /// The shape of HPCC's shipped flow.txt: 2 flows announced, more follow, some from nodes that do not exist.
    #[test]
    fn a_header_that_contradicts_its_rows() {
        let text =
            "2\n2 1 3 100 5 2\n3 1 3 100 5 2\n7 1 3 100 5 2\n8 1 3 100 5 2\n\nFirst line: # of flows\n";
        assert_eq!(
            read(text, Dialect::Hpcc, false).unwrap_err(),
            "f:1: 2 flows announced, 4 rows follow: correct this line, or take the first 2 with --lenient\n\
             f:4: node 7 is not one of the 5 nodes of topo (and 1 more line like it)"
        );
        let (flows, notes) = read(text, Dialect::Hpcc, true).unwrap();
        assert_eq!(flows.len(), 2);
        assert_eq!(notes[0], "f:1: 2 flow rows ignored (lines 4 to 5): 2 announced");
        assert!(notes[1].starts_with("f:7: 1 line of text after the flow rows not read"));
    }
}
