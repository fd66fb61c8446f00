//! Many senders to one receiver.

use super::group::Group;
use super::{Flow, TrafficError};
use crate::config::Incast;
use crate::topology::NameIndex;

/// Senders by their distance after the receiver, spread evenly over all other hosts.
pub(super) fn build(config: &Incast, group: &mut Group) -> Result<(), TrafficError> {
    let Incast { senders, receiver, size, start, options } = config;
    let hosts = group.hosts()?;
    let receiver = match receiver {
        Some(name) => group.host(&NameIndex::new(group.graph), "receiver", name)?,
        None => 0,
    };
    if *senders == 0 {
        return Err(group.value("senders", 0, "an incast has at least 1 sender"));
    }
    let template: Flow = group.template(*size, *start, options)?;
    group.reserve(u64::from(*senders), "lower senders")?;
    for offset in offsets(*senders, hosts - 1) {
        group.push(&template, (receiver + offset) % hosts, receiver);
    }
    Ok(())
}

/// Distances of the senders after the receiver, each in 1..=`others`: whole rounds over all other hosts, then the
/// remaining r senders at 1 + ⌊j · others / r⌋.
fn offsets(senders: u32, others: u32) -> impl Iterator<Item = u32> {
    let (rounds, rest) = (senders / others, senders % others);
    let whole = (0..rounds).flat_map(move |_| 1..=others);
    whole.chain((0..rest).map(move |j| 1 + (u64::from(j) * u64::from(others) / u64::from(rest)) as u32))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, flows_of, leaf_spine, names_of};
    use super::*;
    use crate::config::{FlowOptions, TrafficConfig};
    use proptest::prelude::*;
    use sim_core::{Bytes, Duration, Time};

    fn incast(senders: u32) -> Incast {
        let (size, start, options) = (Bytes(1_000), Duration::ZERO, FlowOptions::default());
        Incast { senders, receiver: None, size, start, options }
    }

    #[test]
    fn a_partial_incast_comes_from_all_leaves() {
        // 4 leaves of 4 hosts; host 0 receives.
        let graph = leaf_spine(4, 4);
        let sources = |config: Incast| -> Vec<u32> {
            flows_of(&graph, TrafficConfig::Incast(config)).iter().map(|f| f.src).collect()
        };
        assert_eq!(sources(incast(5)), [1, 4, 7, 10, 13]);
        assert_eq!(sources(incast(15)), (1..16).collect::<Vec<u32>>());
        let wrapped = Incast { receiver: Some("host14".to_string()), ..incast(3) };
        assert_eq!(sources(wrapped), [15, 4, 9]);
        assert_eq!(sources(incast(17))[15..], [1, 8]);
    }

    #[test]
    fn start_size_and_receiver_are_those_asked_for() {
        let graph = leaf_spine(2, 2);
        let config =
            Incast { receiver: Some("host2".to_string()), start: Duration(7), size: Bytes(9), ..incast(3) };
        for flow in flows_of(&graph, TrafficConfig::Incast(config)) {
            assert_eq!((flow.dst, flow.start, flow.size), (2, Time(7), Bytes(9)));
        }
        assert_eq!(names_of(&graph, &flows_of(&graph, TrafficConfig::Incast(incast(1)))), ["host1→host0"]);
    }

    #[test]
    fn each_mistake_is_named() {
        let graph = leaf_spine(2, 2);
        let error = |config| error_of(&graph, TrafficConfig::Incast(config));
        assert_eq!(error(incast(0)), "traffic[0].incast.senders is 0: an incast has at least 1 sender");
        assert_eq!(
            error(incast(10_000_001)),
            "traffic[0].incast makes 10000001 flows, 10000001 in all, above the limit of 10000000: lower senders"
        );
        assert_eq!(
            error(Incast { receiver: Some("hots3".to_string()), ..incast(1) }),
            "traffic[0].incast.receiver: there is no node \"hots3\"; did you mean \"host3\"? \
             The nodes are host0…host3, leaf0…leaf1, spine0"
        );
        assert_eq!(
            error(Incast { receiver: Some("leaf1".to_string()), ..incast(1) }),
            "traffic[0].incast.receiver: \"leaf1\" is a switch, but a host is due"
        );
        assert_eq!(
            error(Incast { size: Bytes(0), ..incast(1) }),
            "traffic[0].incast.size is 0: a message has at least 1 byte, so write a size such as \"1MB\""
        );
        assert_eq!(
            error_of(&leaf_spine(1, 1), TrafficConfig::Incast(incast(1))),
            "traffic[0].incast needs 2 hosts, but the topology has 1: a host does not send to itself, so add hosts"
        );
    }

    proptest! {
        #[test]
        fn senders_are_spread_as_evenly_as_they_can_be(senders in 1u32..500, others in 1u32..200) {
            let all: Vec<u32> = offsets(senders, others).collect();
            prop_assert_eq!(all.len() as u32, senders);
            let mut count = vec![0u32; others as usize + 1];
            for offset in &all {
                prop_assert!((1..=others).contains(offset));
                count[*offset as usize] += 1;
            }
            let (least, most) = (senders / others, senders.div_ceil(others));
            prop_assert!(count[1..].iter().all(|c| (least..=most).contains(c)));
            if senders <= others {
                let gap = others / senders;
                prop_assert!(all.windows(2).all(|w| (gap..=gap + 1).contains(&(w[1] - w[0]))));
            }
        }
    }
}
