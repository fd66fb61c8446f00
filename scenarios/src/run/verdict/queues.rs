//! Queues that stood above Kmax.

use models::config::CongestionConfig;

use super::super::facts::Facts;
use super::percent;
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Part of the run from which it is worth a word.
const WORTH: f64 = 0.05;
/// Fewest looks that make a figure.
const FEWEST: u64 = 20;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    let looks = facts.watch.looks;
    let Some((&(port, class), &times)) =
        facts.watch.above_kmax.iter().max_by_key(|(place, times)| (**times, std::cmp::Reverse(**place)))
    else {
        return;
    };
    let part = times as f64 / looks.max(1) as f64;
    if looks < FEWEST || part < WORTH {
        return;
    }
    let name = facts.graph.port_name(port);
    let rate = facts.graph.link_of(port).rate;
    let kmax =
        facts.scenario.switch.ecn.as_ref().and_then(|ecn| ecn.thresholds(rate)).map_or(0, |t| t.kmax.0);
    let why = match facts.scenario.congestion {
        CongestionConfig::None => "congestion control is none, so nobody heeds the marks",
        CongestionConfig::Dcqcn(_) if part < 0.5 => "the burst outruns DCQCN's first cuts",
        CongestionConfig::Dcqcn(_) => {
            "every packet is marked and DCQCN's cuts do not bring the senders below the rate of the port"
        }
        CongestionConfig::Timely(_) | CongestionConfig::Swift(_) | CongestionConfig::Hpcc(_) => {
            "this congestion control does not heed marks"
        }
    };
    let others = match facts.watch.above_kmax.len() - 1 {
        0 => String::new(),
        n => format!(" {} had that too.", text::count(n, "more queue")),
    };
    let text = format!(
        "the queue of {name} in class {class} stood above Kmax ({}) for {} of the run: {why}.{others} See queues.csv.",
        text::size(sim_core::Bytes(kmax)),
        percent(part),
    );
    findings.push(Finding::new(Severity::Note, "queue-above-kmax", name, text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::test_runs::{found, incast, only, run, star};

    fn marking(kmax: &str) -> serde_json::Value {
        json!({
            "topology": star(9, 100, 10),
            "switch": { "ecn": { "kmin": "10KB", "kmax": kmax, "reference_rate": null } },
            "congestion": "none",
            "traffic": incast(8, "2MB")
        })
    }

    #[test]
    fn time_above_kmax_is_told() {
        let finding = only(&run(marking("50KB")), "queue-above-kmax");
        assert_eq!(finding.place, "switch0:0");
        let part: f64 =
            finding.text.split("for ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((80.0..=100.0).contains(&part), "{}", finding.text);
        assert!(finding.text.contains("nobody heeds"), "{}", finding.text);
        assert!(found(&run(marking("30MB")), "queue-above-kmax").is_empty());
    }
}
