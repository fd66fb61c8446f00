//! PAUSE frames: whether they hold as long as they must, and come and go as meant.

use models::config::Threshold;
use sim_core::{Bytes, Duration, Rate};

use super::context::Context;
use super::{error, note, text, warning};
use crate::finding::Finding;

/// Bits of a pause quantum (IEEE 802.3 annex 31B).
const QUANTUM_BITS: u64 = 512;

pub(super) fn check(context: &Context, findings: &mut Vec<Finding>) {
    let switch = &context.scenario.switch;
    if !switch.pfc.enabled {
        let unprotected = switch.lossless_classes();
        if context.flows.iter().any(|f| unprotected.contains(&context.class(f))) {
            let text = "classes are configured lossless and carry traffic, but switch.pfc.enabled is false: no PAUSE \
                        is sent and packets can be lost. Enable PFC, or make the classes lossy.";
            note(findings, "lossless-without-pfc", "switch.pfc", text);
        }
        return;
    }
    if !context.any_lossless() {
        return;
    }
    refresh(context, findings);
    resume(context, findings);
    line_errors(context, findings);
}

/// How long a pause lasts at `rate` unless refreshed.
fn pause_time(quanta: u32, rate: Rate) -> Duration {
    rate.tx_time(u64::from(quanta) * QUANTUM_BITS / 8)
}

/// Whether a standing PAUSE is renewed before it expires.
fn refresh(context: &Context, findings: &mut Vec<Finding>) {
    let pfc = &context.scenario.switch.pfc;
    let rates = context.rates();
    let (Some((&slowest, _)), Some((&fastest, &link))) = (rates.first_key_value(), rates.last_key_value())
    else {
        return;
    };
    if pfc.quanta == 0 {
        return; // A pause that never expires.
    }
    if pfc.refresh == 0.0 {
        let range = if slowest == fastest {
            format!("{} at {fastest}", text::span(pause_time(pfc.quanta, fastest)))
        } else {
            format!(
                "{} at {fastest}, {} at {slowest}",
                text::span(pause_time(pfc.quanta, fastest)),
                text::span(pause_time(pfc.quanta, slowest))
            )
        };
        let text = format!(
            "a PAUSE is sent once and expires after {} quanta ({range}) although the congestion may stand: the sender \
             goes on into a full buffer and packets are dropped. Set switch.pfc.refresh to 0.5.",
            pfc.quanta
        );
        warning(findings, "pause-expires", "switch.pfc.refresh", text);
        return;
    }
    let nic = &context.scenario.nic;
    // A refresh may wait for a full frame and takes its own time: both scale with the rate as the pause does.
    let lasts = pause_time(pfc.quanta, fastest);
    let late = fastest.tx_time((nic.mtu + nic.header + nic.reth + nic.gap + pfc.frame + nic.gap).0);
    let slack = Duration((lasts.0 as f64 * (1.0 - pfc.refresh)) as u64);
    if slack <= late {
        let text = format!(
            "a PAUSE of {} quanta lasts {} at {fastest} ({}), and its refresh after {} of that may come {} later, \
             behind a full frame: the pause ends in between and headroom overruns. Raise switch.pfc.quanta to at \
             least {}, or lower switch.pfc.refresh.",
            pfc.quanta,
            text::span(lasts),
            context.link_name(link),
            pfc.refresh,
            text::span(late),
            quanta_for(late, fastest, pfc.refresh),
        );
        error(findings, "pause-refresh-too-late", "switch.pfc", text);
    }
}

/// Quanta with which the time left after a refresh is due exceeds `late`.
fn quanta_for(late: Duration, rate: Rate, refresh: f64) -> u64 {
    let bits = rate.bytes_in(late).0 as f64 * 8.0;
    (bits / (1.0 - refresh) / QUANTUM_BITS as f64) as u64 + 2
}

/// Whether a paused ingress can resume while it still holds something.
fn resume(context: &Context, findings: &mut Vec<Finding>) {
    let switch = &context.scenario.switch;
    let xoff = match switch.xoff {
        Threshold::Static(xoff) => xoff,
        Threshold::Dynamic { .. } => return,
    };
    if switch.xon_offset >= xoff && xoff > Bytes::ZERO {
        let text = format!(
            "xon_offset {} is not below XOFF {}: an ingress resumes its sender only when it is empty, so the link \
             idles for a round trip after each pause. Lower switch.xon_offset, to a frame or two.",
            text::size(switch.xon_offset),
            text::size(xoff),
        );
        note(findings, "resume-only-when-empty", "switch.xon_offset", text);
    }
}

/// Lossless classes on links that lose packets.
fn line_errors(context: &Context, findings: &mut Vec<Finding>) {
    let bad: Vec<u32> =
        (0..).zip(&context.graph.links).filter(|(_, l)| l.error_rate > 0.0).map(|(i, _)| i).collect();
    let carried = context.flows.iter().any(|f| context.lossless(context.class(f)));
    let Some(worst) =
        bad.iter().map(|&i| context.graph.links[i as usize].error_rate).reduce(f64::max).filter(|_| carried)
    else {
        return;
    };
    let text = format!(
        "{} up to {worst} of packets to errors, which PFC does not prevent: expect retransmissions, and a lost PAUSE \
         overruns headroom until the next one.",
        if bad.len() == 1 { "the link loses" } else { "these links lose" },
    );
    let place = text::list(bad.iter().map(|&i| context.link_name(i)).collect::<Vec<_>>().into_iter());
    note(findings, "link-errors-in-lossless-fabric", place, text);
}

#[cfg(test)]
mod tests {
    use super::super::test_scenarios::{flow, found, scenario, star};
    use super::*;

    #[test]
    fn pause_times_are_those_of_the_standard() {
        // 65535 quanta: 838.8 us at 40G, 335.5 at 100G, 83.9 at 400G.
        let us = |gbps| pause_time(65_535, Rate::gbps(gbps)).as_us();
        assert!((us(40) - 838.848).abs() < 0.001 && (us(100) - 335.539).abs() < 0.001);
        assert!((us(400) - 83.885).abs() < 0.001);
    }

    #[test]
    fn a_pause_sent_once_expires() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.pfc.refresh = 0.0;
        let findings = found(&s, &g, &[flow(0, 1)], "pause-expires");
        assert!(
            findings[0].text.contains("after 65535 quanta (335.54 us at 100Gbps)"),
            "{}",
            findings[0].text
        );
        s.switch.pfc.quanta = 0;
        assert!(found(&s, &g, &[flow(0, 1)], "pause-expires").is_empty(), "0 never expires");
    }

    #[test]
    fn a_refresh_behind_a_full_frame_may_be_late() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.pfc.quanta = 100;
        let findings = found(&s, &g, &[flow(0, 1)], "pause-refresh-too-late");
        assert!(findings[0].text.contains("lasts 512 ns"), "{}", findings[0].text);
        // Half of the pause must exceed 4278 B: 134 quanta are 8576 B.
        assert!(findings[0].text.contains("switch.pfc.quanta to at least 135"), "{}", findings[0].text);
        s.switch.pfc.quanta = 133;
        assert_eq!(found(&s, &g, &[flow(0, 1)], "pause-refresh-too-late").len(), 1);
        s.switch.pfc.quanta = 135;
        assert!(found(&s, &g, &[flow(0, 1)], "pause-refresh-too-late").is_empty());
    }

    #[test]
    fn lossless_without_pfc_and_resume_at_empty_are_notes() {
        let g = star(2, 100, Duration::from_us(1));
        let mut s = scenario();
        s.switch.xoff = Threshold::Static(Bytes(3000));
        assert_eq!(found(&s, &g, &[flow(0, 1)], "resume-only-when-empty").len(), 1);
        s.switch.xoff = Threshold::Static(Bytes(30_000));
        assert!(found(&s, &g, &[flow(0, 1)], "resume-only-when-empty").is_empty());
        s.switch.pfc.enabled = false;
        assert_eq!(found(&s, &g, &[flow(0, 1)], "lossless-without-pfc").len(), 1);
        assert!(found(&s, &g, &[], "lossless-without-pfc").is_empty());
    }

    #[test]
    fn lossy_links_are_named() {
        let mut g = star(3, 100, Duration::from_us(1));
        assert!(found(&scenario(), &g, &[flow(0, 1)], "link-errors-in-lossless-fabric").is_empty());
        g.links[1].error_rate = 0.001;
        let findings = found(&scenario(), &g, &[flow(0, 1)], "link-errors-in-lossless-fabric");
        assert_eq!(findings[0].place, "host1 to switch0");
        assert!(
            findings[0].text.starts_with("the link loses up to 0.001 of packets"),
            "{}",
            findings[0].text
        );
    }
}
