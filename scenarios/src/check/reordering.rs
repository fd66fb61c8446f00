//! Multi-path routing against transports that take reordering for loss.

use models::config::{Operation, Recovery, RoutingMode};

use super::context::Context;
use super::{text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let nic = &context.scenario.nic;
    let mode = match context.scenario.routing.mode {
        RoutingMode::Ecmp => return,
        RoutingMode::Spray => "spray",
        RoutingMode::Adaptive => "adaptive",
        // A pause longer than the difference of paths keeps order; a shorter one does not.
        RoutingMode::Flowlet { gap } => return flowlets(context, gap, findings),
    };
    let what = match nic.recovery {
        Recovery::GoBackN => "go-back-n answers every packet that overtook another with a NAK",
        Recovery::GoBack0 => "go-back-0 starts the message again whenever a packet overtakes another",
        Recovery::SelectiveRepeat if nic.reorder_window == 0 => {
            "selective-repeat with reorder_window 0 declares a packet lost as soon as another overtakes it"
        }
        Recovery::SelectiveRepeat => return,
    };
    let affected = multipath_flows(context);
    let Some(&first) = affected.first() else {
        return;
    };
    let flow = &context.flows[first];
    let text = format!(
        "routing {mode} sends packets of one flow over several paths, and {what}: spurious retransmissions in {}, \
         the first {}. Set nic.recovery to selective-repeat and nic.reorder_window to some 64 packets, or \
         routing.mode to ecmp.",
        text::count(affected.len(), "flow"),
        text::flow(context.graph, first, flow.src, flow.dst),
    );
    warning(findings, "reordering-not-tolerated", "routing.mode", text);
}

/// Flowlets keep order only if the gap outlasts the difference of path delays.
fn flowlets(context: &Context, gap: sim_core::Duration, findings: &mut Vec<Finding>) {
    let nic = &context.scenario.nic;
    let tolerant = nic.recovery == Recovery::SelectiveRepeat && nic.reorder_window > 0;
    let delays = context.graph.links.iter().filter(|l| !context.graph.is_host(l.a.min(l.b))).map(|l| l.delay);
    let (Some(least), Some(most)) = (delays.clone().min(), delays.max()) else {
        return;
    };
    if tolerant || gap > (most - least) * 2 || multipath_flows(context).is_empty() {
        return;
    }
    let text = format!(
        "flowlets may change path after {}, no longer than the paths may differ ({} by propagation alone): packets \
         overtake each other and are taken for lost. Raise the gap, or set nic.recovery to selective-repeat with a \
         nic.reorder_window.",
        text::span(gap),
        text::span((most - least) * 2),
    );
    warning(findings, "reordering-not-tolerated", "routing.mode.flowlet.gap", text);
}

/// Flows routed by destination whose first switch has a choice.
fn multipath_flows(context: &Context) -> Vec<usize> {
    let Some(routes) = &context.routes else {
        return Vec::new();
    };
    let several = |index: usize| {
        let flow = &context.flows[index];
        let ordered = match flow.operation {
            Operation::Write | Operation::Send | Operation::Read => true,
            Operation::Datagram => false,
        };
        ordered
            && !routes.explicit.is_explicit(index as u32)
            && context.home(flow.src).is_some_and(|home| {
                routes.table.candidates(routes.table.group(home - context.graph.hosts, flow.dst)).len() > 1
            })
    };
    (0..context.flows.len()).filter(|&index| several(index)).collect()
}

#[cfg(test)]
mod tests {
    use models::topology::Graph;
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, leaf_spine, scenario};
    use super::*;

    #[test]
    fn spraying_needs_a_tolerant_transport() {
        let g = leaf_spine(2, 2, 2, 100);
        let flows = [flow(0, 1), flow(0, 2), flow(1, 3)];
        let mut s = scenario();
        for mode in [RoutingMode::Spray, RoutingMode::Adaptive] {
            s.routing.mode = mode;
            s.nic.recovery = Recovery::GoBackN;
            let findings = found(&s, &g, &flows, "reordering-not-tolerated");
            assert!(findings[0].text.contains("in 2 flows, the first flow 1 (host0 to host2)"), "{mode:?}");
            s.nic.recovery = Recovery::SelectiveRepeat;
            assert_eq!(found(&s, &g, &flows, "reordering-not-tolerated").len(), 1, "window 0");
            s.nic.reorder_window = 64;
            assert!(found(&s, &g, &flows, "reordering-not-tolerated").is_empty());
            s.nic.reorder_window = 0;
        }
        s.routing.mode = RoutingMode::Ecmp;
        assert!(found(&s, &g, &flows, "reordering-not-tolerated").is_empty());
        s.routing.mode = RoutingMode::Spray;
        assert!(
            found(&s, &leaf_spine(2, 1, 2, 100), &flows, "reordering-not-tolerated").is_empty(),
            "one path"
        );
    }

    #[test]
    fn flowlets_need_a_gap_longer_than_paths_differ() {
        let mut g = leaf_spine(2, 2, 2, 100);
        g.links[4].delay = Duration::from_us(6);
        let g = Graph::new(g.hosts, g.names, g.links);
        let mut s = scenario();
        s.routing.mode = RoutingMode::Flowlet { gap: Duration::from_us(10) };
        assert_eq!(found(&s, &g, &[flow(0, 2)], "reordering-not-tolerated").len(), 1);
        s.routing.mode = RoutingMode::Flowlet { gap: Duration::from_us(11) };
        assert!(found(&s, &g, &[flow(0, 2)], "reordering-not-tolerated").is_empty());
    }
}
