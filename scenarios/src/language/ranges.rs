//! The documented range of every parameter, where a value outside would make a run crash, hang or mean nothing.
//!
//! The functions below read as a table: one line a parameter. What depends on several parameters together (headroom
//! against cables, names of hosts) is judged by the checks, not here.

use std::collections::BTreeMap;
use std::fmt::Display;

use models::config::{
    CLASSES, CdfPoint, Class, CongestionConfig, FaultConfig, FlowOptions, Forwarding, Headroom, NicConfig,
    RoutingConfig, RoutingMode, Scheduler, SizeDistribution, SwitchConfig, Threshold, TrafficConfig, Window,
};
use sim_core::{Bytes, Duration, Rate};

use super::error::{LanguageError, Place};
use super::ranges_topology::{hosts, topology};
use crate::spec::Scenario;

/// The longest span a scenario may name, about 11 days: sums of a few of them still fit the clock.
pub(super) const LONGEST: Duration = Duration(1_000_000_000_000_000_000);
/// The most bytes a scenario may name in one value.
pub(super) const LARGEST: Bytes = Bytes(1_000_000_000_000_000);
/// The most flows of one group.
const MAX_FLOWS: u64 = 1 << 24;

/// A value outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path of the value, as in the file.
    pub path: String,
    /// What is wrong with it.
    pub text: String,
}

/// Every value outside its range, in the order of the file's sections.
pub fn violations(scenario: &Scenario) -> Vec<Violation> {
    let mut rules = Rules::default();
    scenario_name(&mut rules, &scenario.name);
    topology(&mut rules, &scenario.topology);
    switch(&mut rules, &scenario.switch);
    nic(&mut rules, &scenario.nic);
    congestion(&mut rules, &scenario.congestion);
    routing(&mut rules, &scenario.routing);
    let hosts = hosts(&scenario.topology);
    for (index, group) in scenario.traffic.iter().enumerate() {
        traffic(&mut rules, &format!("traffic.{index}"), group, hosts);
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        faults(&mut rules, &format!("faults.{index}"), fault);
    }
    super::ranges_jobs::check(&mut rules, scenario);
    run(&mut rules, scenario);
    rules.0
}

/// The first value outside its range, as an error. For scenarios that did not come from a text.
pub fn validate_ranges(scenario: &Scenario) -> Result<(), LanguageError> {
    match violations(scenario).into_iter().next() {
        None => Ok(()),
        Some(Violation { path, text }) => Err(LanguageError { place: Place::Scenario, path, text }),
    }
}

/// What was found out of range so far, and the sorts of rule.
#[derive(Default)]
pub(super) struct Rules(Vec<Violation>);

impl Rules {
    pub fn require(&mut self, holds: bool, at: &str, field: &str, text: impl FnOnce() -> String) {
        if !holds {
            let path = if field.is_empty() { at.to_string() } else { format!("{at}.{field}") };
            self.0.push(Violation { path, text: text() });
        }
    }

    /// `low ≤ value ≤ high`.
    pub fn within<T: PartialOrd + Display>(&mut self, at: &str, field: &str, value: T, low: T, high: T) {
        let text = || format!("{value} is out of range: give {low} to {high}");
        self.require(value >= low && value <= high, at, field, text);
    }

    /// `value > 0`, and not absurd.
    pub fn rate(&mut self, at: &str, field: &str, value: impl Into<Option<Rate>>) {
        if let Some(value) = value.into() {
            self.require(value > Rate::ZERO, at, field, || {
                "a rate of 0 never sends: give more than 0".to_string()
            });
        }
    }

    /// `0 ≤ value ≤ LONGEST`.
    pub fn span(&mut self, at: &str, field: &str, value: impl Into<Option<Duration>>) {
        if let Some(value) = value.into() {
            self.within(at, field, value, Duration::ZERO, LONGEST);
        }
    }

    /// `0 < value ≤ LONGEST`.
    pub fn interval(&mut self, at: &str, field: &str, value: impl Into<Option<Duration>>) {
        let value = value.into();
        if let Some(value) = value {
            self.require(value > Duration::ZERO, at, field, || {
                "0 is too short: give more than 0".to_string()
            });
        }
        self.span(at, field, value);
    }

    /// `0 ≤ value ≤ LARGEST`.
    pub fn bytes(&mut self, at: &str, field: &str, value: impl Into<Option<Bytes>>) {
        if let Some(value) = value.into() {
            self.within(at, field, value, Bytes::ZERO, LARGEST);
        }
    }

    /// `1 ≤ value ≤ LARGEST`.
    pub fn some_bytes(&mut self, at: &str, field: &str, value: impl Into<Option<Bytes>>) {
        if let Some(value) = value.into() {
            self.within(at, field, value, Bytes(1), LARGEST);
        }
    }

    /// `[0, 1)`: a chance that leaves the other outcome possible.
    pub fn chance(&mut self, at: &str, field: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into() {
            let text = || format!("{value} is out of range: give a probability from 0 to below 1");
            self.require((0.0..1.0).contains(&value), at, field, text);
        }
    }

    /// `(0, 1]`.
    pub fn share(&mut self, at: &str, field: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into() {
            let text = || format!("{value} is out of range: give more than 0, at most 1");
            self.require(value > 0.0 && value <= 1.0, at, field, text);
        }
    }

    pub fn class(&mut self, at: &str, field: &str, value: impl Into<Option<Class>>) {
        if let Some(value) = value.into() {
            self.within(at, field, value, 0, CLASSES as Class - 1);
        }
    }

    fn classes(&mut self, at: &str, field: &str, values: &[Class]) {
        for (index, &class) in values.iter().enumerate() {
            self.class(&format!("{at}.{field}"), &index.to_string(), class);
        }
    }

    pub fn dscp(&mut self, at: &str, field: &str, value: Option<u8>) {
        if let Some(value) = value {
            self.within(at, field, value, 0, 63);
        }
    }

    /// `until` after `from`.
    fn later(&mut self, at: &str, field: &str, from: Duration, until: Option<Duration>) {
        self.span(at, field, until);
        if let Some(until) = until {
            self.require(until > from, at, field, || {
                format!("{until} is not after the start at {from}: give a later time")
            });
        }
    }

    fn threshold(&mut self, at: &str, field: &str, value: &Threshold) {
        let at = format!("{at}.{field}");
        match *value {
            Threshold::Static(bytes) => self.some_bytes(&at, "static", bytes),
            Threshold::Dynamic { alpha } => {
                self.within(&at, "dynamic.alpha", alpha, 1.0 / 256.0, 128.0);
            }
        }
    }
}

/// Result folders are called after the name.
fn scenario_name(r: &mut Rules, name: &str) {
    let fits = !name.is_empty()
        && name.len() <= 100
        && !name.starts_with('.')
        && !name.chars().any(|c| matches!(c, '/' | '\\') || c.is_control());
    r.require(fits, "name", "", || {
        "result folders are called after the name: give up to 100 letters, digits, - and _".to_string()
    });
}

fn switch(r: &mut Rules, s: &SwitchConfig) {
    let at = "switch";
    r.some_bytes(at, "buffer", s.buffer);
    r.within(at, "cell", s.cell, Bytes(1), Bytes(65_536));
    r.span(at, "latency", s.latency);
    if let Forwarding::CutThrough { header } = s.forwarding {
        r.within(at, "forwarding.cut-through.header", header, Bytes(1), Bytes(9_000));
    }
    let mut seen = BTreeMap::new();
    for (index, class) in s.classes.iter().enumerate() {
        let at = format!("switch.classes.{index}");
        r.class(&at, "class", class.class);
        if let Scheduler::Dwrr(weight) = class.scheduler {
            r.within(&at, "scheduler.dwrr", weight, 1, 100);
        }
        let first = *seen.entry(class.class).or_insert(index);
        r.require(first == index, &at, "class", || {
            format!("class {} is already given by entry {first}: keep one", class.class)
        });
    }
    let mut seen = BTreeMap::new();
    for (index, entry) in s.dscp_map.iter().enumerate() {
        let at = format!("switch.dscp_map.{index}");
        r.dscp(&at, "dscp", Some(entry.dscp));
        r.class(&at, "class", entry.class);
        let first = *seen.entry(entry.dscp).or_insert(index);
        r.require(first == index, &at, "dscp", || {
            format!("DSCP {} is already mapped by entry {first}: keep one", entry.dscp)
        });
    }
    r.bytes(at, "reserved", s.reserved);
    r.threshold(at, "xoff", &s.xoff);
    r.bytes(at, "xon_offset", s.xon_offset);
    match s.headroom {
        Headroom::Auto => {}
        Headroom::Bytes(bytes) => r.bytes(at, "headroom.bytes", bytes),
        Headroom::BdpFactor(factor) => r.within(at, "headroom.bdp-factor", factor, 0.0, 1000.0),
    }
    r.threshold(at, "lossy_ingress", &s.lossy_ingress);
    r.threshold(at, "lossy_egress", &s.lossy_egress);
    if let Some(threshold) = &s.lossless_egress {
        r.threshold(at, "lossless_egress", threshold);
    }
    r.bytes(at, "lossy_pool", s.lossy_pool);
    r.within("switch.pfc", "quanta", s.pfc.quanta, 0, 65_535);
    let refresh = s.pfc.refresh;
    r.require((0.0..1.0).contains(&refresh), "switch.pfc", "refresh", || {
        format!("{refresh} is out of range: give 0 to below 1")
    });
    r.within("switch.pfc", "frame", s.pfc.frame, Bytes(1), Bytes(9_000));
    r.span("switch.pfc", "reaction", s.pfc.reaction);
    ecn(r, s);
    if let Some(watchdog) = &s.watchdog {
        r.interval("switch.watchdog", "detection", watchdog.detection);
        r.interval("switch.watchdog", "restoration", watchdog.restoration);
        r.interval("switch.watchdog", "poll", watchdog.poll);
    }
}

fn ecn(r: &mut Rules, s: &SwitchConfig) {
    let Some(ecn) = &s.ecn else { return };
    let mut curve = |at: &str, kmin: Bytes, kmax: Bytes, pmax: f64| {
        r.bytes(at, "kmin", kmin);
        r.bytes(at, "kmax", kmax);
        r.require(kmin <= kmax, at, "kmin", || {
            format!("kmin {kmin} is above kmax {kmax}: give at most kmax")
        });
        r.within(at, "pmax", pmax, 0.0, 1.0);
    };
    curve("switch.ecn", ecn.kmin, ecn.kmax, ecn.pmax);
    for (index, entry) in ecn.per_rate.iter().enumerate() {
        curve(&format!("switch.ecn.per_rate.{index}"), entry.kmin, entry.kmax, entry.pmax);
    }
    r.rate("switch.ecn", "reference_rate", ecn.reference_rate);
    let mut seen = BTreeMap::new();
    for (index, entry) in ecn.per_rate.iter().enumerate() {
        let at = format!("switch.ecn.per_rate.{index}");
        r.rate(&at, "rate", entry.rate);
        let first = *seen.entry(entry.rate).or_insert(index);
        r.require(first == index, &at, "rate", || {
            format!("{} is already given by entry {first}: keep one", entry.rate)
        });
    }
    if let Some(classes) = &ecn.classes {
        r.classes("switch.ecn", "classes", classes);
    }
}

fn nic(r: &mut Rules, n: &NicConfig) {
    let at = "nic";
    r.within(at, "mtu", n.mtu, Bytes(64), Bytes(9_000));
    r.within(at, "header", n.header, Bytes::ZERO, Bytes(9_000));
    r.within(at, "gap", n.gap, Bytes::ZERO, Bytes(9_000));
    r.within(at, "ack_frame", n.ack_frame, Bytes(1), Bytes(9_000));
    r.within(at, "reth", n.reth, Bytes::ZERO, Bytes(9_000));
    r.within(at, "ack_every", n.ack_every, 1, 1024);
    r.class(at, "ack_class", n.ack_class);
    r.interval(at, "retransmission_timeout", n.retransmission_timeout);
    r.span(at, "nak_interval", n.nak_interval);
    if let Some(Window::Bytes(bytes)) = n.window {
        r.within(at, "window.bytes", bytes, n.mtu, LARGEST);
    }
    r.span("nic.cnp", "interval", n.cnp.interval);
    r.span("nic.cnp", "delay", n.cnp.delay);
    r.class("nic.cnp", "class", n.cnp.class);
    r.rate(at, "drain_rate", n.drain_rate);
    r.rate(at, "inject_rate", n.inject_rate);
    r.some_bytes(at, "receive_buffer", n.receive_buffer);
    r.within(at, "receive_xoff", n.receive_xoff, Bytes(1), n.receive_buffer);
}

fn congestion(r: &mut Rules, config: &CongestionConfig) {
    match config {
        CongestionConfig::None => {}
        CongestionConfig::Dcqcn(c) => {
            let at = "congestion.dcqcn";
            r.share(at, "gain", c.gain);
            r.interval(at, "alpha_interval", c.alpha_interval);
            r.within(at, "initial_alpha", c.initial_alpha.unwrap_or(0.0), 0.0, 1.0);
            r.span(at, "decrease_interval", c.decrease_interval);
            r.within(at, "min_decrease_factor", c.min_decrease_factor.unwrap_or(0.0), 0.0, 1.0);
            r.interval(at, "increase_timer", c.increase_timer);
            r.bytes(at, "byte_counter", c.byte_counter);
            r.rate(at, "min_rate", c.min_rate);
        }
        CongestionConfig::Timely(c) => {
            let at = "congestion.timely";
            r.share(at, "ewma_gain", c.ewma_gain);
            r.share(at, "beta", c.beta);
            r.span(at, "t_low", c.t_low);
            r.span(at, "t_high", c.t_high);
            let text = || format!("t_low {} is above t_high {}: give at most t_high", c.t_low, c.t_high);
            r.require(c.t_low <= c.t_high, at, "t_low", text);
            r.interval(at, "min_rtt", c.min_rtt);
            r.rate(at, "min_rate", c.min_rate);
        }
        CongestionConfig::Swift(c) => {
            let at = "congestion.swift";
            r.interval(at, "base_target", c.base_target);
            r.within(at, "additive_increase", c.additive_increase, 0.0, 1e6);
            r.share(at, "beta", c.beta);
            let text = || format!("{} is out of range: give more than 0, below 1", c.max_decrease);
            r.require(c.max_decrease > 0.0 && c.max_decrease < 1.0, at, "max_decrease", text);
            r.span(at, "flow_scaling", c.flow_scaling);
            r.within(at, "min_window", c.min_window, 1e-6, 1e6);
            r.within(at, "max_scaling_window", c.max_scaling_window, c.min_window, 1e9);
        }
        CongestionConfig::Hpcc(c) => {
            let at = "congestion.hpcc";
            r.share(at, "eta", c.eta);
            r.bytes(at, "additive_increase", c.additive_increase);
            r.rate(at, "min_rate", c.min_rate);
        }
    }
}

fn routing(r: &mut Rules, c: &RoutingConfig) {
    match c.mode {
        RoutingMode::Ecmp | RoutingMode::Spray | RoutingMode::Adaptive => {}
        RoutingMode::Flowlet { gap } => r.interval("routing", "mode.flowlet.gap", gap),
    }
    for (index, route) in c.routes.iter().enumerate() {
        let text = || "the list of next hops is empty: give one neighbour at least".to_string();
        r.require(!route.via.is_empty(), &format!("routing.routes.{index}"), "via", text);
    }
    r.span("routing", "convergence", c.convergence);
}

fn traffic(r: &mut Rules, at: &str, group: &TrafficConfig, hosts: u64) {
    match group {
        TrafficConfig::Incast(c) => {
            let at = format!("{at}.incast");
            r.within(&at, "senders", u64::from(c.senders), 1, MAX_FLOWS);
            message(r, &at, c.size, c.options.messages);
            r.span(&at, "start", c.start);
            options(r, &at, &c.options);
        }
        TrafficConfig::Permutation(c) => {
            let at = format!("{at}.permutation");
            message(r, &at, c.size, c.options.messages);
            r.span(&at, "start", c.start);
            options(r, &at, &c.options);
        }
        TrafficConfig::AllToAll(c) => {
            let at = format!("{at}.all-to-all");
            let (members, field) = match c.hosts {
                Some(few) => (u64::from(few), "hosts"),
                None => (hosts, ""),
            };
            r.within(&at, field, members, 2, 4096);
            message(r, &at, c.size, c.options.messages);
            r.span(&at, "start", c.start);
            options(r, &at, &c.options);
        }
        TrafficConfig::Flows(c) => {
            let at = format!("{at}.flows");
            for (index, flow) in c.list.iter().enumerate() {
                let at = format!("{at}.list.{index}");
                message(r, &at, flow.size, flow.messages.unwrap_or(c.options.messages));
                r.within(&at, "messages", flow.messages.unwrap_or(1), 1, u32::MAX);
                r.span(&at, "start", flow.start);
                r.class(&at, "class", flow.class);
                r.dscp(&at, "dscp", flow.dscp);
                r.rate(&at, "rate", flow.rate);
            }
            options(r, &at, &c.options);
        }
        TrafficConfig::Poisson(c) => {
            let at = format!("{at}.poisson");
            r.share(&at, "load", c.load);
            r.interval(&at, "duration", c.duration);
            r.span(&at, "start", c.start);
            sizes(r, &at, &c.sizes);
            options(r, &at, &c.options);
        }
    }
}

fn options(r: &mut Rules, at: &str, o: &FlowOptions) {
    let at = &format!("{at}.options");
    r.class(at, "class", o.class);
    r.dscp(at, "dscp", o.dscp);
    r.within(at, "messages", o.messages, 1, u32::MAX);
    r.rate(at, "rate", o.rate);
    r.within(at, "ttl", o.ttl, 1, 254);
}

/// A message has a byte at least, and all messages of a flow together can be counted.
fn message(r: &mut Rules, at: &str, size: Bytes, messages: u32) {
    r.some_bytes(at, "size", size);
    let all = u128::from(size.0) * u128::from(messages);
    r.require(size > LARGEST || all <= u128::from(LARGEST.0), at, "size", || {
        format!("{messages} messages of {size} are more than {LARGEST} in all: give fewer or smaller ones")
    });
}

fn sizes(r: &mut Rules, at: &str, sizes: &SizeDistribution) {
    match sizes {
        SizeDistribution::WebSearch | SizeDistribution::Storage => {}
        SizeDistribution::Fixed(size) => r.some_bytes(at, "sizes.fixed", *size),
        SizeDistribution::Exponential(mean) => r.some_bytes(at, "sizes.exponential", *mean),
        SizeDistribution::Cdf(points) => cdf(r, &format!("{at}.sizes.cdf"), points),
    }
}

fn cdf(r: &mut Rules, at: &str, points: &[CdfPoint]) {
    for (index, point) in points.iter().enumerate() {
        let here = format!("{at}.{index}");
        r.some_bytes(&here, "size", point.size);
        r.within(&here, "percent", point.percent, 0.0, 100.0);
        if let Some(last) = index.checked_sub(1).map(|i| points[i]) {
            let text = || format!("{} after {}: sizes have to ascend", point.size, last.size);
            r.require(point.size > last.size, &here, "size", text);
            let text = || format!("{} after {}: percents have to ascend", point.percent, last.percent);
            r.require(point.percent >= last.percent, &here, "percent", text);
        }
    }
    let complete = points.last().is_some_and(|p| p.percent == 100.0);
    r.require(complete, at, "", || {
        "the points end below 100 percent: give the largest size at 100".to_string()
    });
}

fn faults(r: &mut Rules, at: &str, fault: &FaultConfig) {
    match fault {
        FaultConfig::LinkDown(f) => {
            let at = format!("{at}.link-down");
            r.span(&at, "at", f.at);
            r.later(&at, "until", f.at, f.until);
        }
        FaultConfig::PauseStorm(f) => {
            let at = format!("{at}.pause-storm");
            r.classes(&at, "classes", &f.classes);
            r.span(&at, "at", f.at);
            r.later(&at, "until", f.at, f.until);
        }
        FaultConfig::DropEvery(f) => {
            r.within(&format!("{at}.drop-every"), "every", f.every, 2, u32::MAX);
        }
    }
}

fn run(r: &mut Rules, scenario: &Scenario) {
    r.interval("run", "until", scenario.run.until);
    r.interval("run", "stall_limit", scenario.run.stall_limit);
    r.interval("run", "deadlock_interval", scenario.run.deadlock_interval);
    r.span("output", "sample_interval", scenario.output.sample_interval);
}
