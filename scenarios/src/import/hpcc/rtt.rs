//! The base round-trip time the HPCC model computes from a topology.

use std::collections::VecDeque;

use sim_core::Duration;

use super::topology::{NodeKind, Topology};

/// Most (hosts × links) walked; beyond it only the first host's paths count.
const MAX_WORK: usize = 100_000_000;

/// The largest base round-trip time of any pair of hosts, as the HPCC model takes it: twice the propagation delay of a
/// shortest path plus the time to send one payload on every link of it.
pub(super) fn largest_base_rtt(topology: &Topology, payload: u64) -> Duration {
    let mut neighbours: Vec<Vec<(usize, u64, u64)>> = vec![Vec::new(); topology.kinds.len()];
    for link in &topology.links {
        let send = link.rate.tx_time(payload).0;
        neighbours[link.a].push((link.b, link.delay.0, send));
        neighbours[link.b].push((link.a, link.delay.0, send));
    }
    let hosts: Vec<usize> = (0..topology.kinds.len()).filter(|&n| topology.is_host(n)).collect();
    let all = hosts.len().saturating_mul(topology.links.len()) <= MAX_WORK;
    let from = if all { &hosts[..] } else { &hosts[..1] };
    let mut largest = 0;
    let mut span: Vec<Option<u64>> = vec![None; topology.kinds.len()];
    for &host in from {
        span.fill(None);
        span[host] = Some(0);
        let mut queue = VecDeque::from([host]);
        while let Some(now) = queue.pop_front() {
            let so_far = span[now].unwrap_or(0);
            for &(next, delay, send) in &neighbours[now] {
                if span[next].is_none() {
                    let total = so_far.saturating_add(delay.saturating_mul(2)).saturating_add(send);
                    span[next] = Some(total);
                    match topology.kinds[next] {
                        NodeKind::Host => largest = largest.max(total),
                        NodeKind::Switch | NodeKind::NvSwitch => queue.push_back(next),
                    }
                }
            }
        }
    }
    Duration(largest)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Dialect, report::Log};
    use super::*;

    #[test]
    fn twice_the_delay_and_one_payload_a_hop() {
        let text = "5 2 4\n3 4\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 4 100Gbps 2us 0\n3 4 400Gbps 5us 0\n";
        let topology = super::super::topology::parse(&mut Log::new(false), "t", text, Dialect::Hpcc).unwrap();
        // host0 → switch3 → switch4 → host2: 2 · (1 + 5 + 2) us + 80 + 20 + 80 ns.
        assert_eq!(largest_base_rtt(&topology, 1000), Duration::from_ns(16_180));
    }
}
