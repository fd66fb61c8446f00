//! Classes of flows: at the NIC, at switches, and what recovery they need.

use std::collections::BTreeMap;

use models::config::{Class, ClassKind, Operation, Recovery};

use super::context::Context;
use super::{note, text, warning};
use crate::finding::{Finding, Severity};

/// Flows that are treated alike: how many, and the first.
struct Group {
    count: usize,
    first: usize,
}

fn group<K: Ord>(context: &Context, key: impl Fn(&models::traffic::Flow) -> Option<K>) -> BTreeMap<K, Group> {
    let mut groups = BTreeMap::new();
    for (index, flow) in context.flows.iter().enumerate() {
        if let Some(key) = key(flow) {
            groups.entry(key).or_insert(Group { count: 0, first: index }).count += 1;
        }
    }
    groups
}

fn place(context: &Context, group: &Group) -> String {
    let flow = &context.flows[group.first];
    let first = text::flow(context.graph, group.first, flow.src, flow.dst);
    match group.count - 1 {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    mismatches(context, findings);
    unprotected(context, findings);
    idealised(context, findings);
}

/// Flows whose class at the NIC is not that of their DSCP at switches.
fn mismatches(context: &Context, findings: &mut Vec<Finding>) {
    let differing = |f: &models::traffic::Flow| {
        let at_switch = context.class(f);
        (f.class != at_switch).then_some((f.class, f.dscp, at_switch))
    };
    for ((nic, dscp, at_switch), flows) in &group(context, differing) {
        let map = format!("class {nic} at the NIC, but DSCP {dscp} is class {at_switch} at switches");
        let remedy = format!(
            "Give the flow dscp {}, or map it: switch.dscp_map [{{\"dscp\": {dscp}, \"class\": {nic}}}].",
            dscp_of(context, *nic),
        );
        let (severity, what) = match (context.lossless(*nic), context.lossless(*at_switch)) {
            (true, false) => (Severity::Warning, "the switches drop what the NIC takes to be lossless"),
            (_, true) => (
                Severity::Error,
                "switches pause a class the NIC does not send in, so the pause has no effect and the buffer overruns",
            ),
            (false, false) => (Severity::Warning, "scheduling and counters differ between NIC and switches"),
        };
        let text = format!("{map}: {what}. {remedy}");
        findings.push(Finding::new(severity, "class-mismatch", place(context, flows), text));
    }
}

/// A DSCP that switches put into `class`.
fn dscp_of(context: &Context, class: Class) -> usize {
    context.class_of_dscp.iter().position(|&c| c == class).unwrap_or(usize::from(class) * 8)
}

/// Flows that may lose packets, by how they recover them.
fn unprotected(context: &Context, findings: &mut Vec<Finding>) {
    let lossy = |f: &models::traffic::Flow| {
        let reliable = match f.operation {
            Operation::Write | Operation::Send | Operation::Read => true,
            Operation::Datagram => false,
        };
        let class = context.class(f);
        let dropped = match context.scenario.switch.kind(class) {
            ClassKind::Lossless => !context.scenario.switch.pfc.enabled,
            ClassKind::Lossy => true,
            ClassKind::Control => false,
        };
        (reliable && dropped).then_some(class)
    };
    for (class, flows) in &group(context, lossy) {
        let named = place(context, flows);
        let why = match context.scenario.switch.kind(*class) {
            ClassKind::Lossless => {
                "is lossless, but switch.pfc.enabled is false, so that it can lose packets"
            }
            ClassKind::Lossy | ClassKind::Control => "is not lossless",
        };
        match context.scenario.nic.recovery {
            Recovery::GoBackN => {
                let text = format!(
                    "class {class} {why}, and go-back-n sends a whole window again for each lost packet. Expect \
                     goodput to fall with loss; nic.recovery selective-repeat sends only what is missing."
                );
                note(findings, "lossy-go-back-n", named, text);
            }
            Recovery::GoBack0 => {
                let text = format!(
                    "class {class} {why}, and go-back-0 starts the message again for each lost packet: a message \
                     longer than the distance between losses never completes. Use go-back-n or selective-repeat."
                );
                warning(findings, "lossy-go-back-0", named, text);
            }
            Recovery::SelectiveRepeat => {}
        }
    }
}

/// Data in a control class.
fn idealised(context: &Context, findings: &mut Vec<Finding>) {
    let control = |f: &models::traffic::Flow| {
        let class = context.class(f);
        (context.scenario.switch.kind(class) == ClassKind::Control).then_some(class)
    };
    for (class, flows) in &group(context, control) {
        let text = format!(
            "data in class {class}, a control class: it takes no buffer and is never dropped, paused or marked, \
             unlike any real switch. Make the class lossless or lossy."
        );
        warning(findings, "data-in-control-class", place(context, flows), text);
    }
}

#[cfg(test)]
mod tests {
    use models::config::{ClassConfig, CongestionConfig, DscpEntry, Scheduler};
    use models::traffic::Flow;
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, scenario, star};
    use super::*;

    #[test]
    fn a_class_that_differs_between_nic_and_switch_is_named() {
        let g = star(3, 100, Duration::from_us(1));
        let s = scenario();
        let lost = [flow(0, 1), Flow { dscp: 0, ..flow(1, 0) }, Flow { dscp: 0, ..flow(2, 0) }];
        let findings = found(&s, &g, &lost, "class-mismatch");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(findings[0].place, "flow 1 (host1 to host0) and 1 more");
        assert_eq!(
            findings[0].text,
            "class 3 at the NIC, but DSCP 0 is class 0 at switches: the switches drop what the NIC takes to be \
             lossless. Give the flow dscp 24, or map it: switch.dscp_map [{\"dscp\": 0, \"class\": 3}]."
        );
        let overrun = [Flow { class: 0, ..flow(0, 1) }];
        assert_eq!(found(&s, &g, &overrun, "class-mismatch")[0].severity, Severity::Error);
        let mut mapped = scenario();
        mapped.switch.dscp_map = vec![DscpEntry { dscp: 0, class: 3 }];
        assert!(found(&mapped, &g, &lost, "class-mismatch").is_empty());
    }

    #[test]
    fn recovery_of_lossy_traffic_is_commented() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.congestion = CongestionConfig::None;
        let lossy = [Flow { class: 0, dscp: 0, ..flow(0, 1) }];
        assert_eq!(found(&s, &g, &lossy, "lossy-go-back-n")[0].severity, Severity::Note);
        assert!(found(&s, &g, &[flow(0, 1)], "lossy-go-back-n").is_empty());
        s.nic.recovery = Recovery::GoBack0;
        assert_eq!(found(&s, &g, &lossy, "lossy-go-back-0").len(), 1);
        s.nic.recovery = Recovery::SelectiveRepeat;
        assert!(super::super::check(&s, &g, &lossy).is_empty());
        s.nic.recovery = Recovery::GoBackN;
        s.switch.pfc.enabled = false;
        let findings = found(&s, &g, &[flow(0, 1)], "lossy-go-back-n");
        assert!(findings[0].text.starts_with("class 3 is lossless, but switch.pfc.enabled is false"));
        let datagram = [Flow { operation: Operation::Datagram, ..lossy[0].clone() }];
        assert!(found(&s, &g, &datagram, "lossy-go-back-n").is_empty());
    }

    #[test]
    fn data_does_not_belong_into_a_control_class() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.classes.push(ClassConfig {
            class: 7,
            kind: ClassKind::Control,
            scheduler: Scheduler::Strict,
        });
        let control = [Flow { class: 7, dscp: 56, ..flow(0, 1) }];
        assert_eq!(found(&s, &g, &control, "data-in-control-class").len(), 1);
    }
}
