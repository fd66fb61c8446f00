//! Whether ECN marks before PFC pauses, and marks at all where congestion control needs it.

use std::collections::BTreeSet;

use models::config::{CongestionConfig, EcnConfig};
use models::topology::NodeIndex;
use sim_core::{Bytes, Rate};

use super::context::{Carve, Context};
use super::{text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    match context.scenario.congestion {
        CongestionConfig::Dcqcn(_) => {}
        // These do not listen to ECN.
        CongestionConfig::None
        | CongestionConfig::Timely(_)
        | CongestionConfig::Swift(_)
        | CongestionConfig::Hpcc(_) => return,
    }
    let Some(ecn) = &context.scenario.switch.ecn else {
        if !context.flows.is_empty() {
            let text = "DCQCN cuts its rate only when packets are marked, but switch.ecn is null: every sender stays \
                        at line rate. Set switch.ecn, or congestion to none if that is meant.";
            warning(findings, "dcqcn-without-ecn", "switch.ecn", text);
        }
        return;
    };
    unmarked_classes(context, ecn, findings);
    if !context.any_lossless() {
        return;
    }
    for (carve, switches) in context.carves() {
        let rates: BTreeSet<Rate> = switches
            .iter()
            .flat_map(|&s| context.graph.ports_of(s))
            .map(|port| context.graph.link_of(port).rate)
            .collect();
        for rate in rates {
            order(context, ecn, (&carve, &switches), rate, findings);
        }
    }
}

/// Flows in classes that are never marked.
fn unmarked_classes(context: &Context, ecn: &EcnConfig, findings: &mut Vec<Finding>) {
    let marked = ecn.classes.clone().unwrap_or_else(|| context.scenario.switch.lossless_classes());
    let unmarked: BTreeSet<_> =
        context.flows.iter().map(|f| context.class(f)).filter(|c| !marked.contains(c)).collect();
    for class in unmarked {
        let of_class = |f: &&models::traffic::Flow| context.class(f) == class;
        let text = format!(
            "{} use class {class}, which ECN does not mark, so DCQCN never cuts their rate. Add {class} to \
             switch.ecn.classes.",
            text::count(context.flows.iter().filter(of_class).count(), "flow"),
        );
        warning(findings, "class-not-marked", format!("class {class}"), text);
    }
}

/// Compares the queue at which an ingress pauses with Kmin and Kmax of an egress of `rate`.
fn order(
    context: &Context,
    ecn: &EcnConfig,
    (carve, switches): (&Carve, &[NodeIndex]),
    rate: Rate,
    findings: &mut Vec<Finding>,
) {
    let Some(at) = ecn.thresholds(rate).filter(|_| carve.shared > 0) else {
        return;
    };
    let place = format!("{}, egress of {rate}", text::nodes(context.graph, switches));
    let pause = Bytes(carve.pause_at(context, 1));
    if pause <= at.kmin {
        let text = format!(
            "ECN cannot act before PFC: an ingress pauses its sender at {} ({} B reserved and XOFF of an otherwise \
             empty buffer), before the queue it feeds reaches Kmin {}. Lower Kmin below {}, or raise switch.xoff.",
            text::size(pause),
            context.scenario.switch.reserved.0,
            text::size(at.kmin),
            text::size(pause),
        );
        warning(findings, "pfc-before-ecn", place, text);
    } else if carve.shared < at.kmax.0 {
        let text = format!(
            "Kmax {} is more than the {} of shared memory: the queue is paused before marking is complete, whatever \
             the incast. Lower Kmax.",
            text::size(at.kmax),
            text::size(Bytes(carve.shared)),
        );
        warning(findings, "kmax-beyond-buffer", place, text);
    }
}

#[cfg(test)]
mod tests {
    use models::config::Threshold;
    use sim_core::Duration;

    use super::super::check as all;
    use super::super::test_scenarios::{codes, flow, found, scenario, star};
    use super::*;
    use crate::spec::Scenario;

    fn profile(buffer: u64, kmin: u64, kmax: u64, xoff: Threshold) -> Scenario {
        let mut s = scenario();
        s.switch.buffer = Bytes(buffer);
        s.switch.xoff = xoff;
        s.switch.ecn = Some(EcnConfig {
            kmin: Bytes(kmin),
            kmax: Bytes(kmax),
            reference_rate: None,
            ..EcnConfig::default()
        });
        s
    }

    #[test]
    fn a_kmin_above_the_pause_is_named_with_both_figures() {
        let g = star(4, 100, Duration::from_us(1));
        let flows = [flow(1, 0), flow(2, 0)];
        let s = profile(16_000_000, 2_000_000, 10_000_000, Threshold::Static(Bytes(500_000)));
        let findings = found(&s, &g, &flows, "pfc-before-ecn");
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0]
                .text
                .starts_with("ECN cannot act before PFC: an ingress pauses its sender at 504.1 KB"),
            "{}",
            findings[0].text
        );
        assert!(findings[0].text.contains("Kmin 2.0 MB"));
        let s = profile(16_000_000, 504_095, 1_000_000, Threshold::Static(Bytes(500_000)));
        assert!(found(&s, &g, &flows, "pfc-before-ecn").is_empty());
    }

    /// Kmax 10 MB of a T0 profile on a lossless pool of 3.3 MB.
    #[test]
    fn a_kmax_larger_than_the_pool_is_never_reached() {
        let g = star(4, 100, Duration::from_us(1));
        let s = profile(3_302_912, 184_320, 10_000_000, Threshold::Dynamic { alpha: 128.0 });
        let findings = found(&s, &g, &[flow(1, 0)], "kmax-beyond-buffer");
        assert!(findings[0].text.starts_with("Kmax 10.0 MB is more than the 3.1 MB"), "{}", findings[0].text);
        assert!(found(&s, &g, &[flow(1, 0)], "pfc-before-ecn").is_empty());
    }

    /// The dynamic threshold of an otherwise empty buffer: alpha·S/(1 + alpha) = S/9.
    #[test]
    fn the_dynamic_pause_is_that_of_an_empty_buffer() {
        let g = star(2, 100, Duration::from_us(1));
        let pause = |kmin: u64| {
            let s = profile(9_000_000, kmin, 8_000_000, Threshold::Dynamic { alpha: 0.125 });
            found(&s, &g, &[flow(1, 0)], "pfc-before-ecn").len()
        };
        // 2 ports take 2 × (4096 + about 37 KB): a ninth of what is left is just under 1 MB.
        assert_eq!((pause(980_000), pause(1_010_000)), (0, 1));
    }

    #[test]
    fn dcqcn_needs_marks() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.ecn = None;
        assert_eq!(codes(&all(&s, &g, &[flow(1, 0)])), ["dcqcn-without-ecn"]);
        s.congestion = CongestionConfig::None;
        assert!(all(&s, &g, &[flow(1, 0)]).is_empty());
        let mut s = scenario();
        s.switch.ecn = Some(EcnConfig { classes: Some(vec![4]), ..EcnConfig::default() });
        assert_eq!(codes(&all(&s, &g, &[flow(1, 0)])), ["class-not-marked"]);
    }
}
