//! Congestion that spreads: pauses that began at a congested egress and hold up flows that do not use it.

use models::deadlock::storm::PauseCause;
use models::topology::PortIndex;
use sim_core::Time;

use super::super::facts::Facts;
use super::super::watch::TreeWatch;
use super::storm::{order, victims};
use super::{flow_names, percent, slowdown};
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Trees that are reported, those with most victims first.
const MOST: usize = 3;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.watch.deadlock.is_some() {
        // The queues of a deadlock look like trees too; the cycle says all.
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
        order(facts, tree),
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
        "{spread} {} that cross a paused port but not {name} were held up: {}; the worst took {worst}. {advice}, or put \
         them into another class.",
        text::count(victims.len(), "flow"),
        flow_names(facts, victims),
    );
    debug_assert!(tree.first > Time::ZERO);
    findings.push(Finding::new(Severity::Warning, "pause-tree", name, text));
}
