//! Congestion that spreads: pauses that began at a congested egress and hold up flows that do not use it.

use models::deadlock::storm::PauseCause;
use models::topology::PortIndex;

use super::super::facts::Facts;
use super::super::watch::TreeWatch;
use super::storm::{order, victims};
use super::{flow_names, percent, slowdown};
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Trees that are reported, those with most victims first.
const MOST: usize = 3;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    // Around a deadlock or a storm everything is congested; the cycle or the root says all.
    if facts.watch.deadlock.is_some() || findings.iter().any(|finding| finding.code == "pfc-storm") {
        return;
    }
    let mut trees: Vec<(Vec<usize>, PortIndex, u8, &TreeWatch)> = facts
        .watch
        .trees
        .iter()
        .filter(|(_, tree)| tree.cause != PauseCause::Host && !tree.reached.is_empty())
        .map(|(&(root, class), tree)| (victims(facts, root, tree), root, class, tree))
        .collect();
    trees.sort_by_key(|(victims, root, class, tree)| {
        (std::cmp::Reverse((victims.len(), tree.scans, tree.reached.len())), *root, *class)
    });
    let with_victims = trees.iter().filter(|(victims, ..)| !victims.is_empty()).count();
    for (victims, root, class, tree) in trees.iter().take(with_victims.clamp(1, MOST)) {
        report(facts, *root, *class, tree, victims, findings);
    }
}

fn report(
    facts: &Facts,
    root: PortIndex,
    class: u8,
    tree: &TreeWatch,
    victims: &[usize],
    findings: &mut Vec<Finding>,
) {
    let name = facts.graph.port_name(root);
    let stood =
        tree.scans as f64 * facts.scenario.run.deadlock_interval.0 as f64 / facts.drained.0.max(1) as f64;
    let spread = format!(
        "the queue of {name} in class {class} paused {} (up to {} at once, at {} of the run): {}.",
        text::count(tree.reached.len(), "port"),
        tree.most,
        percent(stood.min(1.0)),
        order(facts, tree, false),
    );
    if victims.is_empty() {
        let text =
            format!("{spread} No flow that does not use {name} was held up: back-pressure hit its cause.");
        findings.push(Finding::new(Severity::Note, "pause-tree", name, text));
        return;
    }
    let worst = victims.iter().filter_map(|&flow| slowdown(facts, flow)).fold(0.0, f64::max);
    let worst =
        if worst.is_finite() { format!("{worst:.1} times as long as alone") } else { "for ever".to_string() };
    let advice = match facts.scenario.congestion {
        models::config::CongestionConfig::None => "Switch congestion control on (congestion: dcqcn)",
        models::config::CongestionConfig::Dcqcn(_) => "Mark earlier (switch.ecn.kmin)",
        models::config::CongestionConfig::Timely(_)
        | models::config::CongestionConfig::Swift(_)
        | models::config::CongestionConfig::Hpcc(_) => "Lower the target of congestion control",
    };
    let text = format!(
        "{spread} {} held up that cross a paused port but not {name}: {}; the worst took {worst}. {advice}, or put such \
         flows into another class.",
        text::count(victims.len(), "flow"),
        flow_names(facts, victims),
    );
    findings.push(Finding::new(Severity::Warning, "pause-tree", name, text));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::test_runs::{found, leaf_spine, only, run};
    use crate::finding::Severity;

    /// Five hosts send to host6, one of them from leaf 0, and host1 of leaf 0 sends to host7: it meets them only on the
    /// way, where there is room for both.
    fn victim(congestion: Value) -> Value {
        let flow = |from: &str, to: &str| {
            let rate =
                if from < "host2" && from != "host10" && from != "host11" { "40Gbps" } else { "100Gbps" };
            json!({ "from": from, "to": to, "size": "4MB", "rate": rate })
        };
        json!({
            "topology": leaf_spine(2, 1, 6),
            "switch": { "buffer": "4MB", "ecn": { "kmin": "20KB", "kmax": "80KB" } },
            "congestion": congestion,
            "traffic": [{ "flows": { "list": [
                flow("host8", "host6"), flow("host9", "host6"), flow("host10", "host6"), flow("host11", "host6"),
                flow("host0", "host6"), flow("host1", "host7")
            ] } }]
        })
    }

    #[test]
    fn a_flow_that_only_meets_the_pauses_is_a_victim() {
        let outcome = run(victim(json!("none")));
        let finding = only(&outcome, "pause-tree");
        assert_eq!((finding.severity, finding.place.as_str()), (Severity::Warning, "leaf1:0"));
        assert!(finding.text.contains("flow 5 (host1 to host7)"), "{}", finding.text);
        assert!(found(&outcome, "pfc-storm").is_empty());
        assert!(!outcome.summary.verdict.healthy);
    }

    #[test]
    fn back_pressure_without_victims_is_a_note() {
        let mut object = victim(json!("none"));
        object["traffic"][0]["flows"]["list"].as_array_mut().unwrap().pop();
        let outcome = run(object);
        assert_eq!(only(&outcome, "pause-tree").severity, Severity::Note);
        assert!(outcome.summary.verdict.healthy);
    }
}
