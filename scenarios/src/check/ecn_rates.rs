//! ECN thresholds by link rate: missing, contradictory, or falling while the rate rises.

use models::config::{EcnAtRate, EcnConfig};
use sim_core::{Bytes, Rate};

use super::context::Context;
use super::{error, text, warning};
use crate::finding::Finding;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let Some(ecn) = &context.scenario.switch.ecn else {
        return;
    };
    contradictions(ecn, findings);
    missing(context, ecn, findings);
    let mut sorted = ecn.per_rate.clone();
    sorted.sort_by_key(|e| e.rate);
    not_monotone(&sorted, findings);
    uneven_pmax(&sorted, findings);
}

/// Kmin above Kmax, and rates listed twice.
fn contradictions(ecn: &EcnConfig, findings: &mut Vec<Finding>) {
    let mut pair = |place: String, kmin: Bytes, kmax: Bytes| {
        if kmin > kmax {
            let text = format!(
                "Kmin {} is above Kmax {}: marking must begin before it is complete. Swap them, or set Kmax = Kmin \
                 for a step.",
                text::size(kmin),
                text::size(kmax),
            );
            error(findings, "ecn-kmin-above-kmax", place, text);
        }
    };
    pair("switch.ecn".into(), ecn.kmin, ecn.kmax);
    for (i, entry) in ecn.per_rate.iter().enumerate() {
        pair(format!("switch.ecn.per_rate[{i}] ({})", entry.rate), entry.kmin, entry.kmax);
    }
    for (i, entry) in ecn.per_rate.iter().enumerate() {
        if let Some(first) = ecn.per_rate[..i].iter().position(|e| e.rate == entry.rate) {
            let text = format!(
                "{} is listed in entry {first} already, which is the one used. Remove one.",
                entry.rate
            );
            error(findings, "ecn-rate-twice", format!("switch.ecn.per_rate[{i}]"), text);
        }
    }
}

/// Link rates without thresholds.
fn missing(context: &Context, ecn: &EcnConfig, findings: &mut Vec<Finding>) {
    for (rate, link) in context.rates() {
        if ecn.thresholds(rate).is_some() {
            continue;
        }
        let known = ecn.per_rate.iter().map(|e| e.rate.to_string()).collect::<Vec<_>>().join(", ");
        let proposal = nearest_scaled(ecn, rate).map_or(String::new(), |e| {
            format!(
                "Add {{\"rate\": \"{rate}\", \"kmin\": \"{}\", \"kmax\": \"{}\", \"pmax\": {}}} (the nearest entry, \
                 scaled), or ",
                e.kmin, e.kmax, e.pmax
            )
        });
        let text = format!(
            "there are no kmin, kmax and pmax for {rate}, first used by the link {}; entries exist for {known}. \
             {proposal}set switch.ecn.reference_rate to scale for every rate.",
            context.link_name(link),
        );
        error(findings, "ecn-rate-missing", "switch.ecn.per_rate", text);
    }
}

/// The thresholds of the listed rate closest to `rate` by ratio, in proportion.
fn nearest_scaled(ecn: &EcnConfig, rate: Rate) -> Option<EcnAtRate> {
    let ratio = |e: &&EcnAtRate| {
        let (low, high) = (e.rate.0.min(rate.0).max(1), e.rate.0.max(rate.0));
        high * 1000 / low
    };
    let nearest = ecn.per_rate.iter().min_by_key(ratio)?;
    let scale =
        |b: Bytes| Bytes((u128::from(b.0) * u128::from(rate.0) / u128::from(nearest.rate.0.max(1))) as u64);
    Some(EcnAtRate { rate, kmin: scale(nearest.kmin), kmax: scale(nearest.kmax), pmax: nearest.pmax })
}

/// Thresholds that fall from one rate to the next higher one.
fn not_monotone(sorted: &[EcnAtRate], findings: &mut Vec<Finding>) {
    for pair in sorted.windows(2) {
        let (low, high) = (pair[0], pair[1]);
        let falls: Vec<String> = [("Kmin", low.kmin, high.kmin), ("Kmax", low.kmax, high.kmax)]
            .into_iter()
            .filter(|(_, below, above)| above < below)
            .map(|(name, below, above)| {
                format!(
                    "{name} {} ({}) < {} ({})",
                    text::size(above),
                    text::span(high.rate.tx_time(above.0)),
                    text::size(below),
                    text::span(low.rate.tx_time(below.0)),
                )
            })
            .collect();
        if !falls.is_empty() {
            let text = format!(
                "thresholds fall while the rate rises from {} to {}: {} (in time at line rate). A faster link marks \
                 earlier than a slower one; give it at least the threshold of the slower, usually in proportion to \
                 the rate.",
                low.rate,
                high.rate,
                falls.join(", "),
            );
            let place = format!("switch.ecn.per_rate ({})", high.rate);
            warning(findings, "ecn-not-monotone", place, text);
        }
    }
}

/// Pmax that differs much between rates.
fn uneven_pmax(sorted: &[EcnAtRate], findings: &mut Vec<Finding>) {
    let least = sorted.iter().map(|e| e.pmax).fold(f64::INFINITY, f64::min);
    let most = sorted.iter().map(|e| e.pmax).fold(0.0, f64::max);
    if most >= 2.0 * least && most > 0.0 {
        let all = sorted.iter().map(|e| format!("{} {}", e.rate, e.pmax)).collect::<Vec<_>>().join(", ");
        let text = format!(
            "Pmax differs by {:.1}x between rates ({all}): flows that cross links of both are cut unevenly. Use one \
             Pmax unless this is meant.",
            most / least
        );
        warning(findings, "ecn-pmax-uneven", "switch.ecn.per_rate", text);
    }
}

#[cfg(test)]
mod tests {
    use sim_core::Duration;

    use super::super::test_scenarios::{flow, found, leaf_spine, link, scenario};
    use super::*;
    use crate::spec::Scenario;

    fn with(entries: &[(u64, u64, u64, f64)]) -> Scenario {
        let mut s = scenario();
        let per_rate = entries
            .iter()
            .map(|&(gbps, kmin, kmax, pmax)| EcnAtRate {
                rate: Rate::gbps(gbps),
                kmin: Bytes(kmin * 1000),
                kmax: Bytes(kmax * 1000),
                pmax,
            })
            .collect();
        s.switch.ecn = Some(EcnConfig { per_rate, reference_rate: None, ..EcnConfig::default() });
        s
    }

    /// HPCC#48: maps for 25, 50 and 100 Gb/s, and core links of 400 Gb/s.
    #[test]
    fn a_rate_without_thresholds_is_named_with_its_link_and_the_remedy() {
        let mut g = leaf_spine(2, 1, 1, 100);
        g.links.push(link(2, 4, 400, Duration::from_us(1)));
        let g = models::topology::Graph::new(g.hosts, g.names, g.links);
        let s = with(&[(25, 100, 400, 0.2), (50, 200, 800, 0.2), (100, 400, 1600, 0.2)]);
        let findings = found(&s, &g, &[flow(0, 1)], "ecn-rate-missing");
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].text,
            "there are no kmin, kmax and pmax for 400Gbps, first used by the link leaf0 to spine0; entries exist \
             for 25Gbps, 50Gbps, 100Gbps. Add {\"rate\": \"400Gbps\", \"kmin\": \"1.6MB\", \"kmax\": \"6.4MB\", \
             \"pmax\": 0.2} (the nearest entry, scaled), or set switch.ecn.reference_rate to scale for every rate."
        );
        let mut scaled = s;
        scaled.switch.ecn.as_mut().unwrap().reference_rate = Some(Rate::gbps(25));
        assert!(found(&scaled, &g, &[flow(0, 1)], "ecn-rate-missing").is_empty());
    }

    /// SimAI.conf: Kmin 100, 200, 400, 300, 800, 600 KB and Pmax 0.2 but for 0.8 at 200 Gb/s.
    #[test]
    fn falling_thresholds_and_an_odd_pmax_are_warnings() {
        let s = with(&[
            (25, 100, 400, 0.2),
            (1600, 600, 2400, 0.2),
            (50, 200, 800, 0.2),
            (100, 400, 1600, 0.2),
            (200, 300, 1200, 0.8),
            (400, 800, 3200, 0.2),
        ]);
        let g = leaf_spine(1, 1, 2, 100);
        let findings = found(&s, &g, &[flow(0, 1)], "ecn-not-monotone");
        assert_eq!(findings.len(), 2);
        assert!(
            findings[0]
                .text
                .contains("from 100Gbps to 200Gbps: Kmin 300.0 KB (12.00 us) < 400.0 KB (32.00 us)")
        );
        assert!(
            findings[1].text.contains("Kmin 600.0 KB (3.00 us) < 800.0 KB (16.00 us)"),
            "{}",
            findings[1].text
        );
        let pmax = found(&s, &g, &[flow(0, 1)], "ecn-pmax-uneven");
        assert!(pmax[0].text.starts_with("Pmax differs by 4.0x"), "{}", pmax[0].text);
    }

    #[test]
    fn kmin_above_kmax_is_an_error_and_a_step_is_not() {
        let g = leaf_spine(1, 1, 2, 100);
        let s = with(&[(100, 400, 300, 0.2)]);
        let findings = found(&s, &g, &[flow(0, 1)], "ecn-kmin-above-kmax");
        assert_eq!(findings[0].place, "switch.ecn.per_rate[0] (100Gbps)");
        let s = with(&[(100, 300, 300, 0.2)]);
        assert!(found(&s, &g, &[flow(0, 1)], "ecn-kmin-above-kmax").is_empty());
        let s = with(&[(100, 300, 300, 0.2), (100, 400, 400, 0.2)]);
        assert_eq!(found(&s, &g, &[flow(0, 1)], "ecn-rate-twice").len(), 1);
    }
}
