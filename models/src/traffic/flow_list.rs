//! Flows one by one, with their own options and paths.

use super::group::{Group, check_options};
use super::{Flow, TrafficError};
use crate::config::{FlowConfig, FlowList, FlowOptions};
use crate::topology::{NameIndex, NodeIndex};

/// Flows in the order of the list.
pub(super) fn build(config: &FlowList, group: &mut Group) -> Result<(), TrafficError> {
    let FlowList { list, options } = config;
    if list.is_empty() {
        return Err(group.value("list", "empty", "add a flow, or remove the group"));
    }
    check_options(&group.at("options"), options)?;
    group.reserve(list.len() as u64, "shorten the list")?;
    let names = NameIndex::new(group.graph);
    let place = group.place.clone();
    for (i, flow) in list.iter().enumerate() {
        group.place = format!("{place}.list[{i}]");
        let flow = build_flow(flow, options, &names, group)?;
        group.flows.push(flow);
    }
    Ok(())
}

fn build_flow(
    config: &FlowConfig,
    options: &FlowOptions,
    names: &NameIndex,
    group: &Group,
) -> Result<Flow, TrafficError> {
    let src = group.host(names, "from", &config.from)?;
    let dst = group.host(names, "to", &config.to)?;
    if src == dst {
        return Err(TrafficError::SameHost { place: group.place.clone(), host: config.from.clone() });
    }
    let options = merged(config, options);
    check_options(&group.place, &options)?;
    let template = group.flow(config.size, config.start, &options)?;
    let ends = Ends { src, dst, ttl: template.ttl };
    let paths = config
        .paths
        .iter()
        .enumerate()
        .map(|(i, path)| ends.path(path, &format!("paths[{i}]"), names, group))
        .collect::<Result<Vec<_>, TrafficError>>()?;
    Ok(Flow { src, dst, paths, ..template })
}

/// The options of the list with the flow's own in their place. A class of its own brings the DSCP of that class
/// unless the flow says one.
fn merged(flow: &FlowConfig, options: &FlowOptions) -> FlowOptions {
    FlowOptions {
        class: flow.class.unwrap_or(options.class),
        dscp: if flow.class.is_some() { flow.dscp } else { flow.dscp.or(options.dscp) },
        operation: flow.operation.unwrap_or(options.operation),
        messages: flow.messages.unwrap_or(options.messages),
        rate: flow.rate.or(options.rate),
        ttl: options.ttl,
    }
}

/// What a path must begin and end at, and its longest length.
struct Ends {
    src: NodeIndex,
    dst: NodeIndex,
    ttl: u8,
}

impl Ends {
    /// The switches called `path`, from the sender's to the receiver's, each linked to the next.
    fn path(
        &self,
        path: &[String],
        field: &str,
        names: &NameIndex,
        group: &Group,
    ) -> Result<Vec<NodeIndex>, TrafficError> {
        let graph = group.graph;
        let name = |node: NodeIndex| &graph.names[node as usize];
        let bad = |why: String| Err(TrafficError::Path { place: group.at(field), why });
        let (first, last) = (graph.switch_of(self.src), graph.switch_of(self.dst));
        if path.is_empty() {
            let (from, to) = (name(first), name(last));
            return bad(format!("the path is empty: name its switches, from \"{from}\" to \"{to}\""));
        }
        let mut switches = Vec::with_capacity(path.len());
        for (i, text) in path.iter().enumerate() {
            let field = format!("{field}[{i}]");
            let node = group.node(names, &field, text)?;
            if graph.is_host(node) {
                let (place, name) = (group.at(&field), text.clone());
                return Err(TrafficError::WrongNode { place, name, found: "host", wanted: "switch" });
            }
            switches.push(node);
        }
        let ends =
            [(switches[0], first, self.src, "begins"), (switches[path.len() - 1], last, self.dst, "ends")];
        for (found, due, host, verb) in ends {
            if found != due {
                let (found, due, host) = (name(found), name(due), name(host));
                return bad(format!(
                    "the path {verb} at \"{found}\", but \"{host}\" is on \"{due}\": it {verb} there"
                ));
            }
        }
        for pair in switches.windows(2) {
            if graph.links_between(pair[0], pair[1]).is_empty() {
                let (a, b) = (name(pair[0]), name(pair[1]));
                let linked = graph.neighbour_names(pair[0]);
                return bad(format!(
                    "there is no link between \"{a}\" and \"{b}\"; \"{a}\" is linked to {linked}"
                ));
            }
        }
        let links = path.len() - 1;
        if links > usize::from(self.ttl) {
            let ttl = self.ttl;
            return bad(format!(
                "the path has {links} links between switches, but ttl is {ttl}: raise options.ttl"
            ));
        }
        Ok(switches)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, flows_of, leaf_spine};
    use super::*;
    use crate::config::{Operation, TrafficConfig};
    use crate::topology::Graph;
    use sim_core::{Bytes, Duration, Rate, Time};

    fn flow(from: &str, to: &str) -> FlowConfig {
        FlowConfig {
            from: from.to_string(),
            to: to.to_string(),
            size: Bytes(1_000),
            start: Duration::ZERO,
            class: None,
            dscp: None,
            operation: None,
            messages: None,
            rate: None,
            paths: vec![],
        }
    }

    fn on(path: &[&str]) -> FlowConfig {
        let path = path.iter().map(|n| (*n).to_string()).collect();
        FlowConfig { paths: vec![path], ..flow("host0", "host3") }
    }

    fn list(list: Vec<FlowConfig>, options: FlowOptions) -> TrafficConfig {
        TrafficConfig::Flows(FlowList { list, options })
    }

    fn error(graph: &Graph, config: FlowConfig) -> String {
        error_of(graph, list(vec![flow("host0", "host1"), config], FlowOptions::default()))
    }

    #[test]
    fn own_options_replace_those_of_the_list() {
        let options = FlowOptions {
            class: 4,
            dscp: Some(40),
            operation: Operation::Read,
            messages: 5,
            rate: Some(Rate::gbps(1)),
            ttl: 9,
        };
        let own = FlowConfig {
            dscp: Some(11),
            operation: Some(Operation::Datagram),
            messages: Some(2),
            rate: Some(Rate::gbps(3)),
            start: Duration(12),
            ..flow("host2", "host1")
        };
        let class = |class| FlowConfig { class: Some(class), ..flow("host0", "host1") };
        let both = FlowConfig { dscp: Some(1), ..class(2) };
        let configs = vec![flow("host0", "host3"), own, class(5), class(3), both];
        let flows = flows_of(&leaf_spine(2, 2), list(configs, options));
        let plain = &flows[0];
        assert_eq!((plain.src, plain.dst, plain.class, plain.dscp), (0, 3, 4, 40));
        assert_eq!((plain.operation, plain.messages), (Operation::Read, 5));
        assert_eq!((plain.rate, plain.ttl), (Some(Rate::gbps(1)), 9));
        let own = &flows[1];
        assert_eq!((own.src, own.dst, own.class, own.dscp), (2, 1, 4, 11));
        assert_eq!((own.operation, own.messages), (Operation::Datagram, 2));
        assert_eq!((own.rate, own.ttl, own.start), (Some(Rate::gbps(3)), 9, Time(12)));
        let marks: Vec<(u8, u8)> = flows[2..].iter().map(|f| (f.class, f.dscp)).collect();
        assert_eq!(marks, [(5, 40), (3, 26), (2, 1)]);
    }

    #[test]
    fn paths_become_switches() {
        let graph = leaf_spine(2, 2);
        let node = |name| graph.node(name).unwrap();
        let flows = flows_of(&graph, list(vec![on(&["leaf0", "spine0", "leaf1"])], FlowOptions::default()));
        assert_eq!(flows[0].paths, [[node("leaf0"), node("spine0"), node("leaf1")]]);
        let within = FlowConfig { paths: vec![vec!["leaf0".to_string()]], ..flow("host0", "host1") };
        let flows = flows_of(&graph, list(vec![within], FlowOptions::default()));
        assert_eq!(flows[0].paths, [[node("leaf0")]]);
    }

    #[test]
    fn each_wrong_path_is_named() {
        let graph = leaf_spine(2, 2);
        let error = |config| error(&graph, config);
        assert_eq!(
            error(on(&["leaf0", "leaf1"])),
            "traffic[0].flows.list[1].paths[0]: there is no link between \"leaf0\" and \"leaf1\"; \
             \"leaf0\" is linked to host0…host1, spine0"
        );
        assert_eq!(
            error(on(&["spine0", "leaf1"])),
            "traffic[0].flows.list[1].paths[0]: the path begins at \"spine0\", but \"host0\" is on \"leaf0\": \
             it begins there"
        );
        assert_eq!(
            error(on(&["leaf0", "spine0"])),
            "traffic[0].flows.list[1].paths[0]: the path ends at \"spine0\", but \"host3\" is on \"leaf1\": \
             it ends there"
        );
        assert_eq!(
            error(on(&["leaf0", "spine9", "leaf1"])),
            "traffic[0].flows.list[1].paths[0][1]: there is no node \"spine9\"; did you mean \"spine0\"? \
             The nodes are host0…host3, leaf0…leaf1, spine0"
        );
        assert_eq!(
            error(on(&["host0", "leaf0", "spine0", "leaf1"])),
            "traffic[0].flows.list[1].paths[0][0]: \"host0\" is a host, but a switch is due"
        );
        assert_eq!(
            error(on(&[])),
            "traffic[0].flows.list[1].paths[0]: the path is empty: name its switches, from \"leaf0\" to \"leaf1\""
        );
        let short = FlowOptions { ttl: 1, ..FlowOptions::default() };
        assert_eq!(
            error_of(&graph, list(vec![on(&["leaf0", "spine0", "leaf1"])], short)),
            "traffic[0].flows.list[0].paths[0]: the path has 2 links between switches, but ttl is 1: \
             raise options.ttl"
        );
    }

    #[test]
    fn each_mistake_is_named() {
        let graph = leaf_spine(2, 2);
        assert_eq!(
            error(&graph, flow("host0", "host0")),
            "traffic[0].flows.list[1] sends from \"host0\" to itself: name two different hosts"
        );
        assert_eq!(
            error(&graph, flow("spine0", "host0")),
            "traffic[0].flows.list[1].from: \"spine0\" is a switch, but a host is due"
        );
        assert_eq!(
            error(&graph, flow("host0", "hst1")),
            "traffic[0].flows.list[1].to: there is no node \"hst1\"; did you mean \"host1\"? \
             The nodes are host0…host3, leaf0…leaf1, spine0"
        );
        assert_eq!(
            error(&graph, FlowConfig { size: Bytes(0), ..flow("host0", "host1") }),
            "traffic[0].flows.list[1].size is 0: a message has at least 1 byte, so write a size such as \"1MB\""
        );
        assert_eq!(
            error_of(&graph, list(vec![], FlowOptions::default())),
            "traffic[0].flows.list is empty: add a flow, or remove the group"
        );
    }

    #[test]
    fn an_option_is_blamed_where_it_stands() {
        let graph = leaf_spine(2, 2);
        let own = FlowConfig { class: Some(8), ..flow("host0", "host1") };
        assert_eq!(error(&graph, own), "traffic[0].flows.list[1].class is 8: write a class from 0 to 7");
        let options = FlowOptions { class: 8, ..FlowOptions::default() };
        assert_eq!(
            error_of(&graph, list(vec![flow("host0", "host1")], options)),
            "traffic[0].flows.options.class is 8: write a class from 0 to 7"
        );
    }
}
