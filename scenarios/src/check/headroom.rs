//! Headroom given against headroom needed, port by port.

use std::collections::BTreeMap;

use models::headroom::{Inputs, given, minimum, required};
use models::topology::{Link, NodeIndex, PortIndex};
use sim_core::{Bytes, Duration, Rate};

use super::context::Context;
use super::{error, text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    if !context.any_lossless() {
        return;
    }
    let mut alike: BTreeMap<(Rate, Duration), Vec<PortIndex>> = BTreeMap::new();
    for port in context.switch_ports() {
        let link = context.graph.link_of(port);
        alike.entry((link.rate, link.delay)).or_default().push(port);
    }
    for ports in alike.values() {
        one_kind(context, ports, findings);
    }
    receive_buffers(context, findings);
}

/// Whether a link of one of the switches needs more headroom than a switch has memory.
pub(super) fn hopeless(context: &Context, switches: &[NodeIndex]) -> bool {
    let ports = switches.iter().flat_map(|&s| context.graph.ports_of(s));
    ports.map(|port| least(context, context.graph.link_of(port))).any(|b| b > context.scenario.switch.buffer)
}

fn least(context: &Context, link: &Link) -> Bytes {
    minimum(link.rate, link.delay, context.frame())
}

/// Ports with equal links.
fn one_kind(context: &Context, ports: &[PortIndex], findings: &mut Vec<Finding>) {
    let (switch, nic) = (&context.scenario.switch, &context.scenario.nic);
    let link = context.graph.link_of(ports[0]);
    let (least, given) = (least(context, link), given(link, switch, nic));
    let bound = required(&Inputs::new(link, switch, nic));
    let place = format!("{} ({})", text::ports(context.graph, ports), text::count(ports.len(), "port"));
    let what = format!("{}, {}, frames of {} B", text::distance(link.delay), link.rate, context.frame().0);
    if least > switch.buffer {
        let text = format!(
            "cannot be lossless: {what} needs {} of headroom for what is in flight, against a buffer of {}. Put \
             what crosses this link into a lossy class with selective repeat, or give the switch more memory.",
            text::size(least),
            text::size(switch.buffer),
        );
        error(findings, "cannot-be-lossless", place, text);
    } else if given < least {
        let lost = least - given;
        let text = format!(
            "xoff headroom {} < required {} for {what} (in flight both ways, one frame being sent, one arriving): \
             about {} ({}) are lost at each pause of a busy link. Set switch.headroom to auto, or to at least {} B, \
             which covers the worst case: {bound}.",
            given.0,
            least.0,
            text::size(lost),
            text::count(lost.0.div_ceil(context.frame().0) as usize, "packet"),
            bound.total.0,
        );
        error(findings, "headroom-too-small", place, text);
    } else if given < bound.total {
        let text = format!(
            "headroom {} covers {} in flight for {what}, but not the worst case: {bound}. Set switch.headroom to \
             auto, or to at least {} B.",
            given.0, least.0, bound.total.0,
        );
        warning(findings, "headroom-below-worst-case", place, text);
    }
}

/// Receive buffers of NIC that drain slowly need headroom as well.
fn receive_buffers(context: &Context, findings: &mut Vec<Finding>) {
    let nic = &context.scenario.nic;
    if nic.drain_rate.is_none() {
        return;
    }
    let room = nic.receive_buffer.0.saturating_sub(nic.receive_xoff.0);
    let needed = (0..context.graph.hosts)
        .flat_map(|host| context.graph.ports_of(host))
        .map(|port| (required(&receiver_inputs(context, context.graph.link_of(port))).total, port))
        .max();
    let Some((needed, port)) = needed.filter(|(needed, _)| needed.0 > room) else {
        return;
    };
    let text = format!(
        "the NIC has {} above receive_xoff for what arrives after its PAUSE, but its link needs {}: received \
         packets are dropped although the class is lossless. Raise nic.receive_buffer to at least {}, or lower \
         nic.receive_xoff.",
        text::size(Bytes(room)),
        text::size(needed),
        text::size(nic.receive_xoff + needed),
    );
    warning(findings, "receive-buffer-too-small", context.graph.port_name(port), text);
}

/// A NIC has no pipeline before its receive buffer and counts exact bytes.
fn receiver_inputs(context: &Context, link: &Link) -> Inputs {
    let inputs = Inputs::new(link, &context.scenario.switch, &context.scenario.nic);
    Inputs { latency: Duration::ZERO, cell: Bytes(1), ..inputs }
}

#[cfg(test)]
mod tests {
    use models::config::Headroom;
    use models::topology::Graph;
    use sim_core::Length;

    use super::super::test_scenarios::{flow, found, leaf_spine, link, scenario, star};
    use super::*;
    use crate::finding::Severity;

    /// MSN2700: the profile of 40 m on a cable of 300 m, 9216 B frames.
    #[test]
    fn the_profile_of_a_shorter_cable_is_too_small() {
        let mut s = scenario();
        s.nic.mtu = Bytes(9000);
        s.nic.header = Bytes(216);
        s.switch.headroom = Headroom::Bytes(Bytes(38_912));
        let long = star(8, 100, Length(300_000).propagation());
        let findings = found(&s, &long, &[flow(1, 0)], "headroom-too-small");
        assert_eq!(findings.len(), 1, "equal ports are one finding");
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(findings[0].place, "switch0:0, switch0:1, switch0:2 and 5 more (8 ports)");
        let expected = "xoff headroom 38912 < required 55932 for 1.50 us (300 m), 100Gbps, frames of 9216 B (in \
                        flight both ways, one frame being sent, one arriving): about 17020 B (2 packets) are lost";
        assert!(findings[0].text.starts_with(expected), "{}", findings[0].text);

        s.switch.headroom = Headroom::Bytes(Bytes(104_448));
        assert!(found(&s, &long, &[flow(1, 0)], "headroom-too-small").is_empty());
        assert!(found(&s, &long, &[flow(1, 0)], "headroom-below-worst-case").is_empty());
        s.switch.headroom = Headroom::Bytes(Bytes(56_000));
        assert_eq!(found(&s, &long, &[flow(1, 0)], "headroom-below-worst-case").len(), 1);
        s.switch.headroom = Headroom::Bytes(Bytes(38_912));
        let short = star(8, 100, Length(40_000).propagation());
        assert!(found(&s, &short, &[flow(1, 0)], "headroom-too-small").is_empty());
        s.switch.headroom = Headroom::Auto;
        assert!(found(&s, &long, &[flow(1, 0)], "headroom-below-worst-case").is_empty());
    }

    /// SimAI#174: one 10 ms link of 400 Gb/s among short ones.
    #[test]
    fn a_link_longer_than_the_buffer_cannot_be_lossless() {
        let mut g = leaf_spine(2, 2, 2, 400);
        g.links[5].delay = Duration::from_ms(10);
        let g = Graph::new(g.hosts, g.names, g.links);
        let findings = found(&scenario(), &g, &[flow(0, 3)], "cannot-be-lossless");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "leaf0:3, spine1:0 (2 ports)");
        assert!(findings[0].text.contains("needs 1.0 GB of headroom"), "{}", findings[0].text);
        assert!(findings[0].text.contains("against a buffer of 32.0 MB"), "{}", findings[0].text);
        assert!(found(&scenario(), &g, &[flow(0, 3)], "headroom-exceeds-buffer").is_empty(), "said once");
    }

    #[test]
    fn links_of_different_kinds_are_apart() {
        let names = ["host0", "host1", "switch0"].map(String::from).to_vec();
        let g = Graph::new(
            2,
            names,
            vec![link(0, 2, 100, Duration::from_us(1)), link(1, 2, 100, Duration::from_us(9))],
        );
        let mut s = scenario();
        s.switch.headroom = Headroom::BdpFactor(2.0);
        assert_eq!(found(&s, &g, &[flow(1, 0)], "headroom-too-small").len(), 2);
    }

    #[test]
    fn a_slow_receiver_needs_room_above_its_xoff() {
        let mut s = scenario();
        s.nic.receive_buffer = Bytes(1_010_000);
        let g = star(2, 100, Duration::from_us(1));
        assert!(
            found(&s, &g, &[flow(1, 0)], "receive-buffer-too-small").is_empty(),
            "it drains at line rate"
        );
        s.nic.drain_rate = Some(Rate::gbps(10));
        assert_eq!(found(&s, &g, &[flow(1, 0)], "receive-buffer-too-small").len(), 1);
        s.nic.receive_buffer = Bytes(2_000_000);
        assert!(found(&s, &g, &[flow(1, 0)], "receive-buffer-too-small").is_empty());
    }
}
