//! Flows that arrive as a Poisson process between random pairs of hosts.

use sim_core::random::{Stream, below};
use sim_core::units::PS_PER_S;
use sim_core::{Duration, Time};

use super::exponential::exponential;
use super::group::{Group, MAX_FLOWS};
use super::sizes::Sizes;
use super::{Flow, TrafficError};
use crate::config::Poisson;
use crate::topology::Graph;

/// Flows in the order of their arrival. Each takes, in this order, a gap, a sender, a receiver and a size.
pub(super) fn build(config: &Poisson, group: &mut Group, random: &mut Stream) -> Result<(), TrafficError> {
    let Poisson { load, duration, start, sizes, options } = config;
    let hosts = u64::from(group.hosts()?);
    if !(*load > 0.0 && *load <= 1.0) {
        return Err(group.value("load", load, "write a number above 0, up to 1"));
    }
    if *duration == Duration::ZERO {
        return Err(group.value("duration", 0, "no flow would arrive: write one such as \"10ms\""));
    }
    group.check_start("start", *start)?;
    group.check_start("duration", *duration)?;
    let sizes = Sizes::new(sizes).map_err(|(field, value, advice)| TrafficError::Value {
        place: group.at("sizes") + &field,
        value,
        advice,
    })?;
    group.check_bytes("sizes (its largest)", sizes.largest(), options.messages)?;
    let template = group.template(sizes.largest(), *start, options)?;
    let bytes_per_flow = sizes.mean() * f64::from(options.messages);
    let gap = mean_gap_ps(group.graph, *load, bytes_per_flow);
    let expected = (duration.0 as f64 / gap) as u64;
    let advice = "lower load or duration, or enlarge sizes";
    group.reserve(expected, advice)?;
    let mut at = exponential(random) * gap;
    while at < duration.0 as f64 {
        if group.flows.len() as u64 == MAX_FLOWS {
            group.reserve(1, advice)?;
        }
        let src = below(random, hosts) as u32;
        let other = below(random, hosts - 1) as u32;
        let dst = if other < src { other } else { other + 1 };
        let size = sizes.sample(random);
        let start = Time::ZERO + *start + Duration(at as u64);
        group.push(&Flow { size, start, ..template.clone() }, src, dst);
        at += exponential(random) * gap;
    }
    Ok(())
}

/// Mean time between two arrivals anywhere, in picoseconds: together the hosts send `load` of the sum of their rates.
fn mean_gap_ps(graph: &Graph, load: f64, bytes_per_flow: f64) -> f64 {
    let rates: u64 = (0..graph.hosts).map(|h| graph.link_of(graph.first_port[h as usize]).rate.0).sum();
    bytes_per_flow * 8.0 * PS_PER_S as f64 / (load * rates as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, flows_of, leaf_spine};
    use super::*;
    use crate::config::{CdfPoint, FlowOptions, SizeDistribution, TrafficConfig};
    use sim_core::Bytes;

    fn poisson(load: f64, duration: Duration, sizes: SizeDistribution) -> Poisson {
        let (start, options) = (Duration::ZERO, FlowOptions::default());
        Poisson { load, duration, start, sizes, options }
    }

    /// Payload that arrives over what the host links carry.
    fn achieved(config: Poisson) -> f64 {
        let graph = leaf_spine(4, 4);
        let duration = config.duration;
        let flows = flows_of(&graph, TrafficConfig::Poisson(config));
        let bytes: u64 = flows.iter().map(|f| f.bytes().0).sum();
        let capacity = sim_core::Rate::gbps(100).bytes_in(duration).0 * u64::from(graph.hosts);
        bytes as f64 / capacity as f64
    }

    #[test]
    fn the_load_is_that_asked_for() {
        let cases = [
            (0.8, 4_000, SizeDistribution::WebSearch),
            (0.3, 400, SizeDistribution::Storage),
            (1.0, 100, SizeDistribution::Fixed(Bytes(100_000))),
            (0.05, 1_000, SizeDistribution::Exponential(Bytes(20_000))),
        ];
        for (load, ms, sizes) in cases {
            let name = format!("{sizes:?}");
            let ratio = achieved(poisson(load, Duration::from_ms(ms), sizes)) / load;
            assert!((ratio - 1.0).abs() < 0.03, "{name}: {ratio}");
        }
        let options = FlowOptions { messages: 4, ..FlowOptions::default() };
        let fixed = SizeDistribution::Fixed(Bytes(25_000));
        let messages = Poisson { options, ..poisson(0.5, Duration::from_ms(100), fixed) };
        assert!((achieved(messages) / 0.5 - 1.0).abs() < 0.03);
    }

    #[test]
    fn arrivals_are_ordered_and_pairs_uniform() {
        let graph = leaf_spine(2, 2);
        let sizes = SizeDistribution::Fixed(Bytes(1_000));
        let start = Duration::from_us(30);
        let config = Poisson { start, ..poisson(0.5, Duration::from_ms(5), sizes) };
        let flows = flows_of(&graph, TrafficConfig::Poisson(config));
        assert!(flows.is_sorted_by_key(|f| f.start));
        assert!(flows.iter().all(|f| (30_000_000..5_030_000_000).contains(&f.start.0)));
        let mut pairs = [[0u32; 4]; 4];
        for flow in &flows {
            pairs[flow.src as usize][flow.dst as usize] += 1;
        }
        let expected = flows.len() as f64 / 12.0;
        for (src, row) in pairs.iter().enumerate() {
            for (dst, count) in row.iter().enumerate() {
                let due = if src == dst { 0.0 } else { expected };
                assert!((f64::from(*count) - due).abs() <= due * 0.05, "{pairs:?}");
            }
        }
        // A Poisson process: the variance of the gaps is their mean squared.
        let gaps: Vec<f64> = flows.windows(2).map(|w| w[1].start.since(w[0].start).0 as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((variance / (mean * mean) - 1.0).abs() < 0.03, "{}", variance / (mean * mean));
    }

    #[test]
    fn each_mistake_is_named() {
        let graph = leaf_spine(2, 2);
        let error = |config| error_of(&graph, TrafficConfig::Poisson(config));
        let fixed = || SizeDistribution::Fixed(Bytes(1_000));
        let ms = Duration::from_ms;
        for load in [0.0, 1.5, -1.0] {
            assert_eq!(
                error(poisson(load, ms(1), fixed())),
                format!("traffic[0].poisson.load is {load}: write a number above 0, up to 1")
            );
        }
        assert_eq!(
            error(poisson(0.5, Duration::ZERO, fixed())),
            "traffic[0].poisson.duration is 0: no flow would arrive: write one such as \"10ms\""
        );
        assert_eq!(
            error(poisson(0.5, ms(1_000), fixed())),
            "traffic[0].poisson makes 25000000 flows, 25000000 in all, above the limit of 10000000: \
             lower load or duration, or enlarge sizes"
        );
        let points = vec![CdfPoint { size: Bytes(9), percent: 50.0 }];
        assert_eq!(
            error(poisson(0.5, ms(1), SizeDistribution::Cdf(points))),
            "traffic[0].poisson.sizes.cdf[0].percent is 50: the last point must have 100"
        );
        assert_eq!(
            error(poisson(0.5, ms(1), SizeDistribution::Fixed(Bytes(2_000_000_000_000_000)))),
            "traffic[0].poisson.sizes (its largest) is 2000000GB: with 1 message(s) a flow has more than \
             1000000GB: make it smaller"
        );
    }
}
