//! Limits on lossless egress queues that drop before PFC acts.

use sim_core::Bytes;

use super::context::{Context, limit};
use super::{error, text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let Some(threshold) = context.scenario.switch.lossless_egress.filter(|_| context.any_lossless()) else {
        return;
    };
    for (carve, switches) in context.carves() {
        if carve.shared == 0 || carve.ports < 2 {
            continue;
        }
        let place = format!("{}, switch.lossless_egress", text::nodes(context.graph, &switches));
        let most = limit(threshold, carve.shared, 1);
        // Each of n senders may fill its ingress to XOFF and its headroom on top before it stops.
        let headroom = carve.headroom / (carve.ports * carve.classes);
        let held = |n: u64| n.saturating_mul(carve.pause_at(context, n).saturating_add(headroom));
        if most <= carve.pause_at(context, 1) {
            let text = format!(
                "a lossless egress queue may hold {}, but an ingress pauses its sender only at {}: packets of \
                 lossless classes are dropped before PFC acts. Remove switch.lossless_egress, or raise it above {}.",
                text::size(Bytes(most)),
                text::size(Bytes(carve.pause_at(context, 1))),
                text::size(Bytes(held(carve.ports - 1))),
            );
            error(findings, "egress-drops-before-pause", place, text);
        } else if let Some(n) = (1..carve.ports).find(|&n| held(n) > most) {
            let text = format!(
                "a lossless egress queue may hold {}; an incast of {n} senders may fill it to {} before all of them \
                 are paused, and what exceeds the limit is dropped. Remove switch.lossless_egress, or raise it above \
                 {}.",
                text::size(Bytes(most)),
                text::size(Bytes(held(n))),
                text::size(Bytes((1..carve.ports).map(held).max().unwrap_or(0))),
            );
            warning(findings, "egress-drops-under-incast", place, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use models::config::Threshold;
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, scenario, star};
    use super::*;

    #[test]
    fn an_egress_limit_below_the_pause_is_an_error() {
        let g = star(8, 100, Duration::from_us(1));
        let mut s = scenario();
        let flows = [flow(1, 0)];
        assert!(found(&s, &g, &flows, "egress-drops-before-pause").is_empty(), "no limit");
        s.switch.xoff = Threshold::Static(Bytes(200_000));
        s.switch.lossless_egress = Some(Threshold::Static(Bytes(204_096)));
        let findings = found(&s, &g, &flows, "egress-drops-before-pause");
        assert!(
            findings[0].text.contains("may hold 204.1 KB, but an ingress pauses its sender only at 204.1 KB")
        );
        s.switch.lossless_egress = Some(Threshold::Static(Bytes(600_000)));
        assert!(found(&s, &g, &flows, "egress-drops-before-pause").is_empty());
        let findings = found(&s, &g, &flows, "egress-drops-under-incast");
        assert!(findings[0].text.contains("an incast of 3 senders"), "{}", findings[0].text);
        s.switch.lossless_egress = Some(Threshold::Static(Bytes(5_000_000)));
        assert!(found(&s, &g, &flows, "egress-drops-under-incast").is_empty());
    }

    #[test]
    fn dynamic_limits_are_compared_at_an_empty_buffer() {
        let g = star(8, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.lossless_egress = Some(Threshold::Dynamic { alpha: 0.0625 });
        assert_eq!(found(&s, &g, &[flow(1, 0)], "egress-drops-before-pause").len(), 1);
        s.switch.lossless_egress = Some(Threshold::Dynamic { alpha: 8.0 });
        assert!(found(&s, &g, &[flow(1, 0)], "egress-drops-before-pause").is_empty());
    }
}
