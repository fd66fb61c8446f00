//! Timeouts and windows against the round-trip times of flows.

use models::config::{Forwarding, Operation, Window};
use models::routing::{Walk, WalkOutcome};
use models::traffic::Flow;
use sim_core::{Bytes, Duration, Rate};

use super::context::{Context, Routes};
use super::reachability::slowest_way;
use super::{error, note, text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let Some(routes) = &context.routes else {
        return;
    };
    let timeout = context.scenario.nic.retransmission_timeout;
    let (mut early, mut first_early) = (0, None);
    let (mut queued, mut first_queued) = (0, None);
    let (mut windowed, mut first_windowed) = (0, None);
    for (index, flow) in context.flows.iter().enumerate() {
        let Some(path) = round_trip(context, routes, index, flow) else {
            continue;
        };
        // The timer runs from the last acknowledgement, so a fabric whose queues are empty needs one round trip.
        if timeout <= path.time {
            early += 1;
            first_early.get_or_insert((index, path));
        } else if timeout <= path.time + path.slowest.tx_time(context.scenario.switch.buffer.0) {
            queued += 1;
            first_queued.get_or_insert((index, path));
        }
        if window_rate(context, &path).is_some_and(|rate| rate < path.slowest) {
            windowed += 1;
            first_windowed.get_or_insert((index, path));
        }
    }
    let place = |index: usize, count: usize| {
        let flow = &context.flows[index];
        let named = text::flow(context.graph, index, flow.src, flow.dst);
        if count == 1 { named } else { format!("{named} and {} more", count - 1) }
    };
    if let Some((index, path)) = first_early {
        let text = format!(
            "the retransmission timeout of {} is not above the round trip of {} on an idle path: everything is sent \
             again before its ACK can be there. Raise nic.retransmission_timeout above {}.",
            text::span(timeout),
            text::span(path.time),
            text::span(path.time * 2),
        );
        error(findings, "timeout-below-rtt", place(index, early), text);
    }
    if let Some((index, path)) = first_queued {
        let drain = path.slowest.tx_time(context.scenario.switch.buffer.0);
        let text = format!(
            "the retransmission timeout of {} is above the idle round trip of {}, but a full buffer of {} takes {} to \
             drain at {}: queueing may be taken for loss. Raise nic.retransmission_timeout above {}.",
            text::span(timeout),
            text::span(path.time),
            text::size(context.scenario.switch.buffer),
            text::span(drain),
            path.slowest,
            text::span(path.time + drain),
        );
        warning(findings, "timeout-below-queueing", place(index, queued), text);
    }
    if let Some((index, path)) = first_windowed {
        let rate = window_rate(context, &path).unwrap_or(path.slowest);
        let text = format!(
            "the window allows {:.1} Gb/s over a round trip of {}, less than the path's {}. Raise nic.window to at \
             least {}, or set it to bdp.",
            rate.as_gbps(),
            text::span(path.time),
            path.slowest,
            text::size(path.slowest.bytes_in(path.time)),
        );
        note(findings, "window-below-bdp", place(index, windowed), text);
    }
}

/// The round trip of a flow on an idle fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RoundTrip {
    time: Duration,
    /// Rate of the slowest link of the way there.
    slowest: Rate,
}

/// The rate a fixed window allows.
fn window_rate(context: &Context, path: &RoundTrip) -> Option<Rate> {
    match context.scenario.nic.window? {
        Window::Bytes(bytes) => {
            let bits = u128::from(bytes.0) * 8 * u128::from(sim_core::units::PS_PER_S);
            Some(Rate(u64::try_from(bits / u128::from(path.time.0.max(1))).unwrap_or(u64::MAX)))
        }
        Window::Bdp => None,
    }
}

/// Data there and an ACK back, each by the slowest of equal ways; `None` for flows without ACKs and those that do not
/// arrive (which are found elsewhere).
fn round_trip(context: &Context, routes: &Routes, index: usize, flow: &Flow) -> Option<RoundTrip> {
    match flow.operation {
        Operation::Write | Operation::Send | Operation::Read => {}
        Operation::Datagram => return None,
    }
    let nic = &context.scenario.nic;
    let there = slowest_way(context, routes, index, flow);
    // ACKs return by destination: no flow has this index, so no path of its own.
    let answer = Flow { src: flow.dst, dst: flow.src, paths: Vec::new(), ..flow.clone() };
    let back = slowest_way(context, routes, u32::MAX as usize, &answer);
    let arrived = there.outcome == WalkOutcome::Arrived && back.outcome == WalkOutcome::Arrived;
    let slowest = there.ports.iter().map(|&p| context.graph.link_of(p).rate).min()?;
    let full = Bytes(flow.size.0.min(nic.mtu.0)) + nic.header + nic.gap;
    let time = one_way(context, &there, full) + one_way(context, &back, nic.ack_frame + nic.gap);
    arrived.then_some(RoundTrip { time, slowest })
}

/// Time of a frame of `wire` bytes over a way without queues.
fn one_way(context: &Context, way: &Walk, wire: Bytes) -> Duration {
    let switch = &context.scenario.switch;
    let links = || way.ports.iter().map(|&p| context.graph.link_of(p));
    let flight = links().fold(Duration::ZERO, |sum, l| sum + l.delay);
    let pipelines = switch.latency * (way.ports.len() as u64).saturating_sub(1);
    let sending = match switch.forwarding {
        Forwarding::StoreAndForward => links().fold(Duration::ZERO, |sum, l| sum + l.rate.tx_time(wire.0)),
        Forwarding::CutThrough { header } => {
            let part = header.min(wire).0;
            let slowest = links().map(|l| l.rate.tx_time(wire.0)).max().unwrap_or(Duration::ZERO);
            links().skip(1).fold(slowest, |sum, l| sum + l.rate.tx_time(part))
        }
    };
    flight + pipelines + sending
}

#[cfg(test)]
mod tests {
    use models::topology::Graph;

    use super::super::test_scenarios::{flow, found, leaf_spine, scenario, star};
    use super::*;

    #[test]
    fn the_round_trip_adds_up() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        let rtt = |s: &crate::spec::Scenario| {
            let flows = [flow(0, 1)];
            let context = Context::new(s, &g, &flows, &mut Vec::new());
            round_trip(&context, context.routes.as_ref().unwrap(), 0, &flows[0]).unwrap().time
        };
        // 4 us of cable; 4178 B twice and 86 B twice at 80 ps a byte.
        assert_eq!(rtt(&s), Duration::from_us(4) + Duration(2 * (4178 + 86) * 80));
        s.switch.latency = Duration::from_ns(500);
        assert_eq!(rtt(&s), Duration::from_us(5) + Duration(2 * (4178 + 86) * 80));
        s.switch.forwarding = Forwarding::CutThrough { header: Bytes(64) };
        assert_eq!(rtt(&s), Duration::from_us(5) + Duration((4178 + 64 + 86 + 64) * 80));
    }

    /// SimAI#174: one link of 10 ms; the timeout must exceed 20 ms on flows that cross it.
    #[test]
    fn a_timeout_below_the_round_trip_of_a_long_link_is_an_error() {
        let mut g = leaf_spine(2, 1, 2, 400);
        g.links[4].delay = Duration::from_ms(10);
        let g = Graph::new(g.hosts, g.names, g.links);
        let mut s = scenario();
        s.nic.retransmission_timeout = Duration::from_ms(16);
        let findings = found(&s, &g, &[flow(0, 1), flow(0, 2), flow(3, 0)], "timeout-below-rtt");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "flow 1 (host0 to host2) and 1 more");
        assert!(findings[0].text.contains("16.00 ms is not above the round trip of 20.01 ms"));
        s.nic.retransmission_timeout = Duration::from_ms(67);
        assert!(found(&s, &g, &[flow(0, 2)], "timeout-below-rtt").is_empty());
    }

    #[test]
    fn queueing_may_exceed_a_short_timeout() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.nic.retransmission_timeout = Duration::from_us(500);
        let findings = found(&s, &g, &[flow(0, 1)], "timeout-below-queueing");
        assert!(
            findings[0].text.contains("a full buffer of 32.0 MB takes 2.56 ms to drain"),
            "{}",
            findings[0].text
        );
        s.nic.retransmission_timeout = Duration::from_ms(4);
        assert!(found(&s, &g, &[flow(0, 1)], "timeout-below-queueing").is_empty());
    }

    #[test]
    fn a_small_window_limits_the_rate() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.nic.window = Some(Window::Bytes(Bytes(20_000)));
        let findings = found(&s, &g, &[flow(0, 1)], "window-below-bdp");
        // 160 kb in 4.68 us.
        assert!(findings[0].text.starts_with("the window allows 34.2 Gb/s over"), "{}", findings[0].text);
        s.nic.window = Some(Window::Bdp);
        assert!(found(&s, &g, &[flow(0, 1)], "window-below-bdp").is_empty());
    }
}
