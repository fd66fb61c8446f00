//! Runs a scenario text and keeps the fabric, so that a test can look at everything in it.

use models::deadlock::detect::{Deadlock, Detector};
use models::fabric::{Fabric, FabricConfig};
use models::record::{NoRecord, Recorder};
use models::topology::{self, Graph};
use models::traffic::{self, Flow};
use scenarios::check;
use scenarios::finding::Finding;
use scenarios::language::{self, Override};
use scenarios::spec::Scenario;
use sim_core::queue::TimeWheel;
use sim_core::{Duration, Time};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All flows are done.
    Completed,
    /// `run.until` was reached first.
    Until,
    /// A deadlock was found and `run.stop_on_deadlock` is set.
    Deadlock,
    /// Nothing was delivered for `run.stall_limit` while flows waited.
    Stalled,
}

/// A scenario being simulated.
#[derive(Debug)]
pub struct Simulation<R: Recorder = NoRecord> {
    /// The resolved scenario.
    pub scenario: Scenario,
    /// Its fabric.
    pub fabric: Fabric<TimeWheel, R>,
    /// The first deadlock found by `run`.
    pub deadlock: Option<Deadlock>,
    detector: Detector,
}

fn resolve(json: &str, sets: &[&str]) -> Result<(Scenario, Graph, Vec<Flow>), String> {
    let overrides: Vec<Override> =
        sets.iter().map(|set| set.parse().map_err(|e| format!("{e}"))).collect::<Result<_, String>>()?;
    let scenario = language::load(json, "scenario.json", &overrides).map_err(|e| e.to_string())?.scenario;
    let graph = topology::build(&scenario.topology).map_err(|e| e.to_string())?;
    let flows = traffic::build(&scenario.traffic, &graph, scenario.seed).map_err(|e| e.to_string())?;
    Ok((scenario, graph, flows))
}

/// What `fabsim check` finds in a scenario text.
pub fn findings(json: &str, sets: &[&str]) -> Result<Vec<Finding>, String> {
    let (scenario, graph, flows) = resolve(json, sets)?;
    Ok(check::check(&scenario, &graph, &flows))
}

impl Simulation<NoRecord> {
    /// Builds a scenario text with overrides (`path=value`).
    pub fn new(json: &str, sets: &[&str]) -> Result<Self, String> {
        Self::recorded(json, sets, NoRecord)
    }
}

impl<R: Recorder> Simulation<R> {
    /// Builds a scenario text with overrides and takes records.
    pub fn recorded(json: &str, sets: &[&str], recorder: R) -> Result<Self, String> {
        let (scenario, graph, flows) = resolve(json, sets)?;
        let config = FabricConfig {
            switch: scenario.switch.clone(),
            nic: scenario.nic.clone(),
            congestion: scenario.congestion.clone(),
            routing: scenario.routing.clone(),
            faults: scenario.faults.clone(),
            seed: scenario.seed,
        };
        let fabric = Fabric::build(graph, flows, &config, recorder).map_err(|e| e.to_string())?;
        Ok(Self { scenario, fabric, deadlock: None, detector: Detector::default() })
    }

    /// Runs to the end, on the grid of `run.deadlock_interval`.
    pub fn run(&mut self) -> End {
        let step = self.scenario.run.deadlock_interval;
        self.run_watching(step, |_| false).unwrap_or(End::Until)
    }

    /// Runs to the end and calls `look` after every `step`; `None` when `look` stops it.
    pub fn run_watching(
        &mut self,
        step: Duration,
        mut look: impl FnMut(&mut Fabric<TimeWheel, R>) -> bool,
    ) -> Option<End> {
        let until = self.scenario.run.until.map(|d| Time::ZERO + d);
        let flows = self.fabric.flows().len() as u64;
        let mut now = self.fabric.now();
        loop {
            now = now + step;
            if let Some(until) = until {
                now = now.min(until);
            }
            self.fabric.run_until(now);
            if look(&mut self.fabric) {
                return None;
            }
            if self.deadlock.is_none() {
                self.deadlock = self.detector.scan(&self.fabric);
                if self.deadlock.is_some() && self.scenario.run.stop_on_deadlock {
                    return Some(End::Deadlock);
                }
            }
            if until == Some(now) {
                return Some(if self.fabric.completed() == flows { End::Completed } else { End::Until });
            }
            if until.is_none() && self.fabric.completed() == flows {
                return Some(End::Completed);
            }
            let quiet = now.0.saturating_sub(self.fabric.last_delivery().0);
            if until.is_none() && quiet > self.scenario.run.stall_limit.0 && self.waiting(now) {
                return Some(End::Stalled);
            }
        }
    }

    /// Whether a flow that has begun is not done.
    fn waiting(&self, now: Time) -> bool {
        let states = self.fabric.flow_states();
        self.fabric.flows().iter().zip(states).any(|(f, s)| f.start <= now && s.finished.is_none())
    }

    /// Completion times of the flows that are done, in microseconds.
    pub fn fct_us(&self) -> Vec<f64> {
        self.fabric.flow_states().iter().filter_map(|s| s.fct()).map(Duration::as_us).collect()
    }

    /// Goodput of the flows that are done, in Gb/s: payload over completion time.
    pub fn goodput_gbps(&self) -> Vec<f64> {
        let flows = self.fabric.flows().iter().zip(self.fabric.flow_states());
        flows.filter_map(|(f, s)| Some(f.bytes().0 as f64 * 8e3 / s.fct()?.0 as f64)).collect()
    }

    /// The egress port of `node` that leads to `peer`.
    pub fn port(&self, node: &str, peer: &str) -> u32 {
        let graph = self.fabric.graph();
        let (node, peer) = (graph.node(node).expect("a node"), graph.node(peer).expect("a node"));
        let mut ports = graph.ports_of(node);
        ports.find(|&p| graph.ports[p as usize].peer_node == peer).expect("a link")
    }
}

/// Runs a scenario text to its end.
pub fn simulate(json: &str, sets: &[&str]) -> (Simulation, End) {
    let mut simulation = Simulation::new(json, sets).unwrap_or_else(|e| panic!("{e}\n{json}"));
    let end = simulation.run();
    (simulation, end)
}

/// Smallest, mean and largest.
pub fn spread(values: &[f64]) -> (f64, f64, f64) {
    let sum: f64 = values.iter().sum();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, sum / values.len() as f64, most)
}
