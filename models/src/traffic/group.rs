//! What the kinds of traffic share: limits, checked options, and the flows as they are added.

use sim_core::{Bytes, Duration, Rate, Time};

use super::{Flow, TrafficError};
use crate::config::{CLASSES, FlowOptions};
use crate::topology::{Graph, NameIndex, NodeIndex};

/// Most flows of a scenario.
pub const MAX_FLOWS: u64 = 10_000_000;
/// Most bytes of one flow, all its messages together.
pub const MAX_FLOW_BYTES: Bytes = Bytes(1_000_000_000_000_000);
/// Latest start of a flow.
pub const MAX_START: Duration = Duration(1_000_000 * sim_core::units::PS_PER_S);

/// Largest DSCP.
const MAX_DSCP: u8 = 63;
/// TTLs a flow may have.
const TTL: std::ops::RangeInclusive<u8> = 1..=254;

/// One group of flows while it is built.
pub(super) struct Group<'a> {
    /// The hosts.
    pub(super) graph: &'a Graph,
    /// Path in the scenario.
    pub(super) place: String,
    /// All flows of the scenario up to here.
    pub(super) flows: &'a mut Vec<Flow>,
}

impl Group<'_> {
    /// The path of a field of the group.
    pub(super) fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.place)
    }

    /// An error about the value of a field.
    pub(super) fn value(&self, field: &str, value: impl ToString, advice: impl ToString) -> TrafficError {
        let (value, advice) = (value.to_string(), advice.to_string());
        TrafficError::Value { place: self.at(field), value, advice }
    }

    /// Number of hosts: at least 2, or an error.
    pub(super) fn hosts(&self) -> Result<u32, TrafficError> {
        let hosts = self.graph.hosts;
        if hosts < 2 {
            let (place, advice) = (self.place.clone(), "a host does not send to itself, so add hosts");
            return Err(TrafficError::FewHosts { place, needed: 2, hosts, advice });
        }
        Ok(hosts)
    }

    /// Room for `count` more flows, or an error.
    pub(super) fn reserve(&mut self, count: u64, advice: &'static str) -> Result<(), TrafficError> {
        let total = (self.flows.len() as u64).saturating_add(count);
        if total > MAX_FLOWS {
            let place = self.place.clone();
            return Err(TrafficError::TooMany { place, count, total, limit: MAX_FLOWS, advice });
        }
        self.flows.reserve(count as usize);
        Ok(())
    }

    /// The host called `name`, which stands in `field`.
    pub(super) fn host(&self, names: &NameIndex, field: &str, name: &str) -> Result<NodeIndex, TrafficError> {
        let node = self.node(names, field, name)?;
        if self.graph.is_host(node) {
            return Ok(node);
        }
        let (place, name) = (self.at(field), name.to_string());
        Err(TrafficError::WrongNode { place, name, found: "switch", wanted: "host" })
    }

    /// The node called `name`, which stands in `field`.
    pub(super) fn node(&self, names: &NameIndex, field: &str, name: &str) -> Result<NodeIndex, TrafficError> {
        names.find(name).map_err(|unknown| TrafficError::UnknownNode { place: self.at(field), unknown })
    }

    /// A flow of the group's `options`, checked, from node 0 to node 0.
    pub(super) fn template(
        &self,
        size: Bytes,
        start: Duration,
        options: &FlowOptions,
    ) -> Result<Flow, TrafficError> {
        check_options(&self.at("options"), options)?;
        self.flow(size, start, options)
    }

    /// A flow of `options` that are known to be right, from node 0 to node 0.
    pub(super) fn flow(
        &self,
        size: Bytes,
        start: Duration,
        options: &FlowOptions,
    ) -> Result<Flow, TrafficError> {
        let FlowOptions { class, dscp: _, operation, messages, rate, ttl } = *options;
        if size == Bytes::ZERO {
            let advice = "a message has at least 1 byte, so write a size such as \"1MB\"";
            return Err(self.value("size", 0, advice));
        }
        self.check_bytes("size", size, messages)?;
        self.check_start("start", start)?;
        let (start, dscp) = (Time::ZERO + start, options.dscp());
        let (src, dst, paths) = (0, 0, Vec::new());
        Ok(Flow { src, dst, size, messages, start, class, dscp, operation, rate, ttl, paths })
    }

    /// Refuses flows of more bytes than any run would send.
    pub(super) fn check_bytes(&self, field: &str, size: Bytes, messages: u32) -> Result<(), TrafficError> {
        if size.0.checked_mul(u64::from(messages)).is_none_or(|total| total > MAX_FLOW_BYTES.0) {
            let advice =
                format!("with {messages} message(s) a flow has more than {MAX_FLOW_BYTES}: make it smaller");
            return Err(self.value(field, size, advice));
        }
        Ok(())
    }

    /// Refuses times so late that the clock would end.
    pub(super) fn check_start(&self, field: &str, time: Duration) -> Result<(), TrafficError> {
        if time > MAX_START {
            return Err(self.value(field, time, format!("write at most {MAX_START}")));
        }
        Ok(())
    }

    /// Adds a flow like `template` from `src` to `dst`.
    pub(super) fn push(&mut self, template: &Flow, src: NodeIndex, dst: NodeIndex) {
        debug_assert!(src != dst && self.graph.is_host(src) && self.graph.is_host(dst));
        self.flows.push(Flow { src, dst, ..template.clone() });
    }
}

/// Refuses options outside their ranges. They stand at `place`.
pub(super) fn check_options(place: &str, options: &FlowOptions) -> Result<(), TrafficError> {
    let FlowOptions { class, dscp, operation: _, messages, rate, ttl } = options;
    let bad = |field: &str, value: String, advice: &str| {
        let (place, advice) = (format!("{place}.{field}"), advice.to_string());
        Err(TrafficError::Value { place, value, advice })
    };
    if usize::from(*class) >= CLASSES {
        return bad("class", class.to_string(), "write a class from 0 to 7");
    }
    if let Some(dscp) = dscp.filter(|d| *d > MAX_DSCP) {
        return bad("dscp", dscp.to_string(), "write a DSCP from 0 to 63");
    }
    if *messages == 0 {
        return bad("messages", messages.to_string(), "a flow has at least 1 message");
    }
    if *rate == Some(Rate::ZERO) {
        return bad("rate", "0".to_string(), "write a rate such as \"10Gbps\", or leave it out for no cap");
    }
    if !TTL.contains(ttl) {
        return bad("ttl", ttl.to_string(), "write a number from 1 to 254");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_of, leaf_spine};
    use super::*;
    use crate::config::{Permutation, TrafficConfig};

    fn error(size: Bytes, start: Duration, options: FlowOptions) -> String {
        let config = TrafficConfig::Permutation(Permutation { size, shift: Some(1), start, options });
        error_of(&leaf_spine(2, 2), config)
    }

    #[test]
    fn options_outside_their_range_are_named() {
        let error = |options| error(Bytes(1), Duration::ZERO, options);
        let default = FlowOptions::default;
        let cases = [
            (FlowOptions { class: 8, ..default() }, "class is 8: write a class from 0 to 7"),
            (FlowOptions { dscp: Some(64), ..default() }, "dscp is 64: write a DSCP from 0 to 63"),
            (FlowOptions { messages: 0, ..default() }, "messages is 0: a flow has at least 1 message"),
            (
                FlowOptions { rate: Some(Rate::ZERO), ..default() },
                "rate is 0: write a rate such as \"10Gbps\", or leave it out for no cap",
            ),
            (FlowOptions { ttl: 0, ..default() }, "ttl is 0: write a number from 1 to 254"),
            (FlowOptions { ttl: 255, ..default() }, "ttl is 255: write a number from 1 to 254"),
        ];
        for (options, expected) in cases {
            assert_eq!(error(options), format!("traffic[0].permutation.options.{expected}"));
        }
    }

    #[test]
    fn sizes_and_times_beyond_the_limits_are_named() {
        let messages = |messages| FlowOptions { messages, ..FlowOptions::default() };
        assert_eq!(
            error(Bytes(500_000_000_000_000), Duration::ZERO, messages(3)),
            "traffic[0].permutation.size is 500000GB: with 3 message(s) a flow has more than \
             1000000GB: make it smaller"
        );
        assert!(error(Bytes::MAX, Duration::ZERO, messages(u32::MAX)).contains("make it smaller"));
        assert_eq!(
            error(Bytes(1), Duration::MAX, messages(1)),
            "traffic[0].permutation.start is 18446744073709551.615ns: write at most 1000000s"
        );
    }
}
