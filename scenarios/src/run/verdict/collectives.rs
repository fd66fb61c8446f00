//! Collectives whose streams share links to their loss.

use super::super::facts::Facts;
use crate::check::text;
use crate::finding::{Finding, Severity};

/// Streams of a link that are listed.
const LISTED: usize = 4;

pub(super) fn find(facts: &Facts, findings: &mut Vec<Finding>) {
    for (job, collisions) in &facts.collisions {
        let Some(worst) = collisions.first() else { continue };
        let more = match collisions.len() - 1 {
            0 => String::new(),
            n => format!(" {} more links are shared so.", n),
        };
        let streams = text::list(worst.streams.iter().take(LISTED).cloned().collect::<Vec<_>>().into_iter());
        let others = worst.streams.len().saturating_sub(LISTED);
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        let text = format!(
            "{} is busy {:.1} times as long as any NIC of {job}, because {} streams chose it: {streams}{others}. A ring runs at the \
             rate of its slowest hop.{more} Give connections more queue pairs (nccl.qps_per_connection with \
             nccl.split_data_on_qps), or route by packet. `fabsim explain` lists them.",
            worst.link,
            worst.slowdown,
            worst.streams.len(),
        );
        findings.push(Finding::new(Severity::Warning, "stream-collision", job.as_str(), text));
    }
}
