//! Trace files: the nodes to trace. They choose what is recorded, so they are only checked.

use super::super::lines::lines;
use super::super::number;
use super::super::report::{Log, Tally};
use super::topology::Topology;

/// Checks a trace file against the topology.
pub(super) fn check(log: &mut Log, file: &str, text: &str, topology: &Topology) {
    let all = lines(log, file, text);
    let Some((header, rest)) = all.split_first() else { return };
    let announced = match number::whole(header.text) {
        Ok(announced) => announced,
        Err(why) => return log.error(file, header.number, format!("the number of nodes is due: {why}")),
    };
    let ids = rest.iter().take_while(|line| line.text.starts_with(|c: char| c.is_ascii_digit()));
    let nodes = topology.kinds.len() as u64;
    let (mut count, mut used, mut unknown) = (0u64, 0, Tally::default());
    for line in ids {
        used += 1;
        for field in line.fields() {
            count += 1;
            if !number::whole(field).is_ok_and(|id| id < nodes) {
                unknown.add(line.number, || {
                    format!("node {field} is not one of the {nodes} nodes of {}", topology.file)
                });
            }
        }
    }
    if count != announced {
        log.contradiction(
            file,
            header.number,
            format!("{announced} nodes to trace announced, {count} follow: correct this line, or pass over it with --lenient"),
            format!("{announced} nodes to trace announced, {count} follow"),
        );
    }
    if let Some((line, _)) = unknown.text() {
        let unknown = unknown.count();
        log.contradiction(
            file,
            line,
            format!(
                "{unknown} of {count} nodes to trace are not among the {nodes} nodes of {}: the files do not belong \
                 together; leave this one out, or pass over it with --lenient",
                topology.file
            ),
            format!("{unknown} of {count} nodes to trace are not among the {nodes} nodes of {}", topology.file),
        );
    }
    if let Some(text) = rest.get(used) {
        let count = rest.len() - used;
        log.note(
            file,
            text.number,
            format!("{count} lines of text after the ids not read, from {}", text.quoted()),
        );
    }
    log.note(file, 0, "no effect here: trace files choose nodes to record, and every node is recorded");
}

#[cfg(test)]
mod tests {
    use super::super::super::Dialect;
    use super::super::topology;
    use super::*;

    fn run(text: &str, lenient: bool) -> Result<Vec<String>, String> {
        let mut log = Log::new(lenient);
        let topology =
            topology::parse(&mut log, "topo", "2 1 1\n1\n0 1 1Gbps 1us 0\n", Dialect::Hpcc).unwrap();
        check(&mut log, "tr", text, &topology);
        Ok(log.finish().map_err(|e| e.to_string())?.into_iter().map(|n| n.to_string()).collect())
    }

    #[test]
    fn counts_and_nodes_are_checked() {
        assert_eq!(
            run("2\n0 1\n\nFirst line: tracing node #\n...\n", false).unwrap()[0],
            "tr:4: 2 lines of text after the ids not read, from \"First line: tracing node #\""
        );
        let error = run("4\n0 1 2 3\n", false).unwrap_err();
        assert!(
            error.starts_with("tr:2: 2 of 4 nodes to trace are not among the 2 nodes of topo"),
            "{error}"
        );
        assert!(
            run("4\n0 1\n", false).unwrap_err().starts_with("tr:1: 4 nodes to trace announced, 2 follow")
        );
        assert_eq!(run("4\n0 9\n", true).unwrap().len(), 3);
    }
}
