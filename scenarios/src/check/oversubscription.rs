//! How much more hosts can send than the uplinks of their switch carry.

use std::collections::{BTreeMap, BTreeSet};

use models::topology::NodeIndex;
use sim_core::Rate;

use super::context::Context;
use super::{note, text};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    // Switches whose hosts exchange anything with hosts of others.
    let crossing: BTreeSet<NodeIndex> = context
        .flows
        .iter()
        .map(|f| (context.home(f.src), context.home(f.dst)))
        .filter(|(a, b)| a != b)
        .flat_map(|(a, b)| [a, b])
        .flatten()
        .collect();
    let mut alike: BTreeMap<(u64, u64, u64), Vec<NodeIndex>> = BTreeMap::new();
    for switch in crossing {
        let (mut hosts, mut down, mut up) = (0, 0u64, 0u64);
        for port in context.graph.ports_of(switch) {
            let rate = context.graph.link_of(port).rate.0;
            if context.graph.is_host(context.graph.ports[port as usize].peer_node) {
                hosts += 1;
                down += rate;
            } else {
                up += rate;
            }
        }
        if down > up && up > 0 {
            alike.entry((hosts, down, up)).or_default().push(switch);
        }
    }
    for ((hosts, down, up), switches) in alike {
        let text = format!(
            "{:.2}:1 oversubscribed: {} with {} in all share {} of links to other switches, so that each gets {:.1} \
             Gb/s when all of them send out of the switch.",
            down as f64 / up as f64,
            text::count(hosts as usize, "host"),
            Rate(down),
            Rate(up),
            up as f64 / 1e9 / hosts as f64,
        );
        note(findings, "oversubscribed", text::nodes(context.graph, &switches), text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_scenarios::{flow, found, leaf_spine, scenario};

    #[test]
    fn the_ratio_is_hosts_over_uplinks_of_leaves_in_use() {
        let g = leaf_spine(4, 2, 8, 100);
        let flows = [flow(0, 8), flow(16, 17)];
        let findings = found(&scenario(), &g, &flows, "oversubscribed");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "leaf0, leaf1", "leaf2's flow stays inside");
        assert_eq!(
            findings[0].text,
            "4.00:1 oversubscribed: 8 hosts with 800Gbps in all share 200Gbps of links to other switches, so that \
             each gets 25.0 Gb/s when all of them send out of the switch."
        );
        assert!(found(&scenario(), &leaf_spine(4, 8, 8, 100), &flows, "oversubscribed").is_empty());
    }
}
