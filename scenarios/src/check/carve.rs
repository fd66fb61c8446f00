//! Whether the buffer can hold what is set aside of it, and still be paused in time.

use models::config::Threshold;
use sim_core::Bytes;

use super::context::{Carve, Context};
use super::{error, text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    if !context.any_lossless() {
        return;
    }
    for (carve, switches) in context.carves() {
        if carve.ports == 0 {
            continue;
        }
        let place = text::nodes(context.graph, &switches);
        if !one_packet_a_port(context, &carve, &place, findings)
            || super::headroom::hopeless(context, &switches)
        {
            continue;
        }
        if set_aside(context, &carve, &place, findings) {
            static_xoff(context, &carve, &place, findings);
        }
    }
}

/// Whether each port's share of the buffer holds at least a packet.
fn one_packet_a_port(context: &Context, carve: &Carve, place: &str, findings: &mut Vec<Finding>) -> bool {
    let (buffer, frame) = (context.scenario.switch.buffer, context.frame());
    let share = buffer.0 / carve.ports;
    if share >= frame.0 {
        return true;
    }
    let text = format!(
        "the buffer of {} holds {share} B for each of {}, less than one packet of {} B: no class can be lossless. \
         Raise switch.buffer to at least {}, or make the classes lossy.",
        text::size(buffer),
        text::count(carve.ports as usize, "port"),
        frame.0,
        text::size(Bytes(2 * frame.0 * carve.ports)),
    );
    error(findings, "buffer-below-one-packet", place, text);
    false
}

/// Whether something is left to share after reservations and headroom.
fn set_aside(context: &Context, carve: &Carve, place: &str, findings: &mut Vec<Finding>) -> bool {
    let buffer = context.scenario.switch.buffer;
    let aside = carve.headroom.saturating_add(carve.reserved);
    if aside < buffer.0 {
        return true;
    }
    let text = format!(
        "{} x {} set aside {} of headroom and {} reserved, together {} of a buffer of {}: nothing is left to \
         share, so packets are dropped before any PAUSE helps. Raise switch.buffer, shorten links, lower \
         switch.headroom or use fewer lossless classes.",
        text::count(carve.ports as usize, "port"),
        classes(carve.classes),
        text::size(Bytes(carve.headroom)),
        text::size(Bytes(carve.reserved)),
        text::size(Bytes(aside)),
        text::size(buffer),
    );
    error(findings, "headroom-exceeds-buffer", place, text);
    false
}

/// Whether every ingress can reach a static XOFF before the memory is full.
fn static_xoff(context: &Context, carve: &Carve, place: &str, findings: &mut Vec<Finding>) {
    let switch = &context.scenario.switch;
    let xoff = match switch.xoff {
        Threshold::Static(xoff) => xoff,
        Threshold::Dynamic { .. } => return,
    };
    if u128::from(carve.ports * carve.classes) * u128::from(xoff.0) <= u128::from(carve.shared) {
        return;
    }
    let headroom = carve.headroom / (carve.ports * carve.classes);
    let total = u128::from(carve.ports * carve.classes) * u128::from(xoff.0)
        + u128::from(carve.headroom)
        + u128::from(carve.reserved);
    let total = Bytes(u64::try_from(total).unwrap_or(u64::MAX));
    let busy = carve.busy.max(1);
    let certain = u128::from(busy) * u128::from(xoff.0) > u128::from(carve.shared);
    let when = if certain {
        format!("with {} receiving lossless traffic", text::count(busy as usize, "port"))
    } else {
        "once all ports receive lossless traffic".to_string()
    };
    let text = format!(
        "{} x {} x ({} B reserved + {} B XOFF + {headroom} B headroom) = {} > {} of buffer: {when} the buffer is \
         full before any ingress reaches XOFF, packets are dropped and no PAUSE is ever sent. Lower switch.xoff to \
         at most {} B, or use a dynamic threshold.",
        text::count(carve.ports as usize, "port"),
        classes(carve.classes),
        switch.reserved.0,
        xoff.0,
        text::size(total),
        text::size(switch.buffer),
        carve.shared / (carve.ports * carve.classes),
    );
    let report = if certain { error } else { warning };
    report(findings, "buffer-full-before-pause", place, text);
}

fn classes(n: u64) -> String {
    format!("{n} lossless class{}", if n == 1 { "" } else { "es" })
}

#[cfg(test)]
mod tests {
    use models::config::Headroom;
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, scenario, star};
    use super::*;
    use crate::finding::Severity;

    /// ns3-rdma#11: 100 ports, 9 MB, XOFF so large that the pool is full first.
    #[test]
    fn a_static_xoff_that_cannot_be_reached_is_an_error() {
        let graph = star(100, 40, Duration::from_us(1));
        let flows: Vec<_> = (1..100).map(|h| flow(h, 0)).collect();
        let mut s = scenario();
        s.switch.buffer = Bytes(9_000_000);
        s.switch.headroom = Headroom::Bytes(Bytes(20_000));
        s.switch.xoff = Threshold::Static(Bytes(90_000));
        let findings = found(&s, &graph, &flows, "buffer-full-before-pause");
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].severity, findings[0].place.as_str()), (Severity::Error, "switch0"));
        assert_eq!(
            findings[0].text,
            "100 ports x 1 lossless class x (4096 B reserved + 90000 B XOFF + 20000 B headroom) = 11.4 MB > 9.0 MB \
             of buffer: with 100 ports receiving lossless traffic the buffer is full before any ingress reaches \
             XOFF, packets are dropped and no PAUSE is ever sent. Lower switch.xoff to at most 65904 B, or use a \
             dynamic threshold."
        );
        s.switch.xoff = Threshold::Static(Bytes(65_904));
        assert!(found(&s, &graph, &flows, "buffer-full-before-pause").is_empty());
        s.switch.xoff = Threshold::Static(Bytes(90_000));
        let few = found(&s, &graph, &flows[..5], "buffer-full-before-pause");
        assert_eq!(few[0].severity, Severity::Warning, "only 6 ports are used");
    }

    /// ns3-rdma#20: a buffer of 80 × 1450 B on 100 ports.
    #[test]
    fn less_than_a_packet_a_port_refuses_lossless() {
        let graph = star(100, 40, Duration::from_us(1));
        let mut s = scenario();
        s.switch.buffer = Bytes(116_000);
        let findings = found(&s, &graph, &[flow(1, 0)], "buffer-below-one-packet");
        assert!(findings[0].text.starts_with("the buffer of 116.0 KB holds 1160 B for each of 100 ports"));
        s.switch.pfc.enabled = false;
        assert!(found(&s, &graph, &[flow(1, 0)], "buffer-below-one-packet").is_empty());
    }

    #[test]
    fn headroom_of_all_ports_may_not_take_the_whole_buffer() {
        let graph = star(64, 400, Duration::from_us(4));
        let mut s = scenario();
        s.switch.buffer = Bytes(20_000_000);
        let findings = found(&s, &graph, &[flow(1, 0)], "headroom-exceeds-buffer");
        assert_eq!(findings.len(), 1, "64 ports of 0.4 MB");
        s.switch.buffer = Bytes(32_000_000);
        assert!(found(&s, &graph, &[flow(1, 0)], "headroom-exceeds-buffer").is_empty());
    }
}
