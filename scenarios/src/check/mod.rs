//! What can be said about a scenario before it runs: each kind of finding has its own file.
//!
//! [`check`] looks at the resolved scenario, the graph its topology builds to and its flows, and says in figures what
//! will not work, what likely is not meant, and what to do. It simulates nothing.

mod carve;
mod classes;
mod context;
mod deadlock;
mod ecn_order;
mod ecn_rates;
mod egress_limits;
mod headroom;
mod oversubscription;
mod pauses;
mod reachability;
mod reordering;
#[cfg(test)]
mod test_scenarios;
pub(crate) mod text;
mod timing;

use models::topology::Graph;
use models::traffic::Flow;

use self::context::Context;
use crate::finding::{Finding, Severity};
use crate::spec::Scenario;

/// Everything found, errors first. `graph` and `flows` are what the scenario's topology and traffic build to.
pub fn check(scenario: &Scenario, graph: &Graph, flows: &[Flow]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let context = Context::new(scenario, graph, flows, &mut findings);
    carve::check(&context, &mut findings);
    headroom::check(&context, &mut findings);
    egress_limits::check(&context, &mut findings);
    ecn_rates::check(&context, &mut findings);
    ecn_order::check(&context, &mut findings);
    classes::check(&context, &mut findings);
    pauses::check(&context, &mut findings);
    oversubscription::check(&context, &mut findings);
    reordering::check(&context, &mut findings);
    reachability::check(&context, &mut findings);
    timing::check(&context, &mut findings);
    deadlock::check(&context, &mut findings);
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    findings
}

/// Collects findings of one severity with less typing.
fn error(findings: &mut Vec<Finding>, code: &str, place: impl Into<String>, text: impl Into<String>) {
    findings.push(Finding::new(Severity::Error, code, place, text));
}

fn warning(findings: &mut Vec<Finding>, code: &str, place: impl Into<String>, text: impl Into<String>) {
    findings.push(Finding::new(Severity::Warning, code, place, text));
}

fn note(findings: &mut Vec<Finding>, code: &str, place: impl Into<String>, text: impl Into<String>) {
    findings.push(Finding::new(Severity::Note, code, place, text));
}

#[cfg(test)]
mod tests {
    use models::config::Headroom;
    use sim_core::{Bytes, Duration};

    use super::test_scenarios::{codes, flow, leaf_spine, scenario};
    use super::*;

    /// The defaults must not cry wolf.
    #[test]
    fn a_sound_scenario_has_no_findings() {
        let graph = leaf_spine(4, 4, 4, 400);
        let flows: Vec<Flow> = (1..16).map(|h| flow(h, 0)).collect();
        assert_eq!(check(&scenario(), &graph, &flows), vec![]);
    }

    #[test]
    fn errors_come_first() {
        let mut s = scenario();
        s.switch.headroom = Headroom::Bytes(Bytes(1000));
        s.switch.pfc.refresh = 0.0;
        s.nic.retransmission_timeout = Duration::from_ns(1);
        let found = check(&s, &leaf_spine(2, 1, 4, 100), &[flow(0, 4)]);
        assert!(found.is_sorted_by(|a, b| a.severity >= b.severity), "{found:#?}");
        let found = codes(&found);
        for code in ["headroom-too-small", "timeout-below-rtt", "pause-expires", "oversubscribed"] {
            assert!(found.contains(&code.to_string()), "{code} in {found:?}");
        }
    }
}
