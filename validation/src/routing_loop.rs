//! A routing loop: packets circle between switches until their TTL is spent, and past a load the loop deadlocks.
//!
//! Source: Hu et al., "Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them", HotNets 2016: with
//! n switches, links of rate B and packets that cross TTL loop links, the loop is offered r · TTL and carries n · B, so
//! that it deadlocks if and only if r > n · B / TTL.

use serde_json::json;
use sim_core::{Duration, Rate};

use models::deadlock::detect::Deadlock;

use crate::harness::Simulation;

/// A loop of switches and what is sent into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Switches in the loop.
    pub switches: u32,
    /// Rate of each link.
    pub link: Rate,
    /// Loop links a packet crosses before it dies.
    pub ttl: u8,
}

impl Loop {
    /// The rate above which it deadlocks: n · B / TTL.
    pub fn threshold(&self) -> Rate {
        Rate(self.link.0 * u64::from(self.switches) / u64::from(self.ttl))
    }

    /// The scenario with `rate` (bits on the wire) sent into the loop for at most `until`.
    pub fn scenario(&self, rate: Rate, until: Duration) -> String {
        let n = self.switches;
        let switch = |i: u32| format!("s{}", i % n);
        // Two switches are a loop on the two directions of one link.
        let loop_links = if n == 2 { 1 } else { n };
        let mut links: Vec<_> = (0..loop_links)
            .map(|i| json!({"a": switch(i), "b": switch(i + 1), "rate": self.link, "delay": "1us"}))
            .collect();
        links.push(json!({"a": "source", "b": "s0", "rate": self.link, "delay": "1us"}));
        links.push(json!({"a": "sink", "b": switch(n - 1), "rate": self.link, "delay": "1us"}));
        let routes: Vec<_> =
            (0..n).map(|i| json!({"at": switch(i), "to": "sink", "via": [switch(i + 1)]})).collect();
        json!({
            "schema_version": 1,
            "name": "routing-loop",
            "topology": {"edges": {
                "hosts": ["source", "sink"],
                "switches": (0..n).map(switch).collect::<Vec<_>>(),
                "links": links,
            }},
            "switch": {"xoff": {"static": "100KB"}, "ecn": null},
            "nic": {"mtu": "1024B"},
            "congestion": "none",
            "routing": {"routes": routes},
            "traffic": [{"flows": {
                "list": [{"from": "source", "to": "sink", "size": "100GB"}],
                "options": {"operation": "datagram", "rate": rate, "ttl": self.ttl},
            }}],
            "run": {"until": until},
        })
        .to_string()
    }

    /// Runs it; the deadlock if one forms.
    pub fn probe(&self, rate: Rate, until: Duration) -> (Simulation, Option<Deadlock>) {
        let json = self.scenario(rate, until);
        let mut simulation = Simulation::new(&json, &[]).unwrap_or_else(|e| panic!("{e}\n{json}"));
        simulation.run();
        let deadlock = simulation.deadlock.clone();
        (simulation, deadlock)
    }

    /// The lowest rate that deadlocks within `until`, between 90 and 110 % of the threshold, to 0.1 % of it.
    pub fn measured_threshold(&self, until: Duration) -> Rate {
        let expected = self.threshold().0;
        let (mut below, mut above) = (expected * 9 / 10, expected * 11 / 10);
        while above - below > expected / 1000 {
            let middle = below + (above - below) / 2;
            if self.probe(Rate(middle), until).1.is_some() { above = middle } else { below = middle }
        }
        Rate(above)
    }
}
