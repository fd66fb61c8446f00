//! Every host sends to one other host and receives from one.

use sim_core::random::{Stream, below};

use super::TrafficError;
use super::group::Group;
use crate::config::Permutation;

/// Flows in the order of their senders.
pub(super) fn build(
    config: &Permutation,
    group: &mut Group,
    random: &mut Stream,
) -> Result<(), TrafficError> {
    let Permutation { size, shift, start, options } = config;
    let hosts = group.hosts()?;
    let template = group.template(*size, *start, options)?;
    let receivers: Vec<u32> = match shift {
        Some(shift) if shift.is_multiple_of(hosts) => {
            let advice = format!("with {hosts} hosts each would send to itself: write 1 to {}", hosts - 1);
            return Err(group.value("shift", shift, advice));
        }
        Some(shift) => (0..hosts).map(|host| (host + shift % hosts) % hosts).collect(),
        None => derangement(hosts, random),
    };
    group.reserve(u64::from(hosts), "lower the number of hosts")?;
    for (host, receiver) in receivers.into_iter().enumerate() {
        group.push(&template, host as u32, receiver);
    }
    Ok(())
}

/// A uniformly random permutation of `0..n` without fixed points: whole shuffles (Fisher–Yates) until one has none.
/// Each is accepted with a probability near 1/e, and of those all are equally likely; Sattolo's shuffle, which never
/// needs a second try, makes only those of a single cycle. `n` is at least 2.
fn derangement(n: u32, random: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    loop {
        for i in (1..order.len()).rev() {
            order.swap(i, below(random, i as u64 + 1) as usize);
        }
        if order.iter().enumerate().all(|(i, to)| i as u32 != *to) {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, flows_of, leaf_spine, names_of};
    use super::*;
    use crate::config::{FlowOptions, TrafficConfig};
    use proptest::prelude::*;
    use sim_core::random::{Purpose, stream};
    use sim_core::{Bytes, Duration};
    use std::collections::BTreeMap;

    fn permutation(shift: Option<u32>) -> TrafficConfig {
        let (size, start, options) = (Bytes(1_000), Duration::ZERO, FlowOptions::default());
        TrafficConfig::Permutation(Permutation { size, shift, start, options })
    }

    #[test]
    fn a_shift_is_modulo_the_hosts() {
        let graph = leaf_spine(2, 2);
        let expected = ["host0→host3", "host1→host0", "host2→host1", "host3→host2"];
        assert_eq!(names_of(&graph, &flows_of(&graph, permutation(Some(3)))), expected);
        assert_eq!(names_of(&graph, &flows_of(&graph, permutation(Some(7)))), expected);
        assert_eq!(names_of(&graph, &flows_of(&graph, permutation(Some(u32::MAX)))), expected);
        assert_eq!(
            error_of(&graph, permutation(Some(8))),
            "traffic[0].permutation.shift is 8: with 4 hosts each would send to itself: write 1 to 3"
        );
    }

    #[test]
    fn all_derangements_are_equally_likely() {
        // 4 elements have 9 derangements: 6 of one cycle, 3 of two.
        let mut random = stream(3, Purpose::Test, 0);
        let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for _ in 0..9_000 {
            *seen.entry(derangement(4, &mut random)).or_default() += 1;
        }
        assert_eq!(seen.len(), 9);
        // Standard deviation of each count is about 30.
        assert!(seen.values().all(|count| (880..1120).contains(count)), "{seen:?}");
    }

    proptest! {
        #[test]
        fn everyone_sends_and_receives_once(seed: u64, n in 2u32..200) {
            let order = derangement(n, &mut stream(seed, Purpose::Test, 0));
            prop_assert!(order.iter().enumerate().all(|(i, to)| i as u32 != *to));
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..n).collect::<Vec<u32>>());
        }
    }
}
