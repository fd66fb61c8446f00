//! Laws that hold in every scenario. A thousand random ones by default, ten thousand with FABSIM_LONG=1.

use std::panic::{AssertUnwindSafe, catch_unwind};

use models::counters::DropReason;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use sim_core::{Duration, Time};
use validation::harness::{Simulation, findings};
use validation::random_scenario::{RandomScenario, scenario};

/// Findings that say that a lossless class will lose packets.
const LOSES: [&str; 10] = [
    "class-mismatch",
    "headroom-too-small",
    "headroom-below-worst-case",
    "headroom-exceeds-buffer",
    "cannot-be-lossless",
    "buffer-below-one-packet",
    "buffer-full-before-pause",
    "pause-refresh-too-late",
    "pause-expires",
    "lossless-without-pfc",
];

/// Findings that say that flows may never finish.
const STOPS: [&str; 4] = ["cyclic-buffer-dependency", "routing-loop", "timeout-below-rtt", "class-mismatch"];

/// How often the laws had something to say: a generator that only makes idle fabrics tests nothing.
#[derive(Debug, Default)]
struct Seen {
    simulated: u32,
    events: u64,
    paused: u32,
    lost: u32,
    cut: u32,
    lossless: u32,
    lossless_paused: u32,
    completed: u32,
    /// Scenarios that were given up with flows still going.
    undecided: u32,
}

/// Events after which a scenario is given up.
const MOST_EVENTS: u64 = 2_000_000;

fn law(case: &RandomScenario, seen: &mut Seen) -> Result<(), String> {
    let found = findings(&case.json, &[])?;
    let says = |codes: &[&str]| found.iter().any(|f| codes.contains(&f.code.as_str()));
    let mut first = match Simulation::new(&case.json, &[]) {
        Ok(simulation) => simulation,
        // A buffer too small for its reservations is refused, not simulated.
        Err(text) if text.contains("switch.buffer") => return Ok(()),
        Err(text) => return Err(text),
    };
    let until = first.scenario.run.until.map_or(0, |d| d.0);
    for part in [1, 2, 3, 5] {
        first.fabric.run_until(Time(until * part / 5));
        first.fabric.audit().map_err(|e| format!("after {part}/5: {e}"))?;
    }
    let mut second = Simulation::new(&case.json, &[])?;
    second.fabric.run_until(Time(until));
    if first.fabric.counters() != second.fabric.counters()
        || first.fabric.flow_states() != second.fabric.flow_states()
    {
        return Err(format!(
            "the same seed twice, on another grid: {:?} and {:?}",
            first.fabric.counters(),
            second.fabric.counters()
        ));
    }
    let f = &mut first.fabric;
    let c = f.counters().clone();
    seen.simulated += 1;
    seen.events += c.events;
    seen.paused += u32::from(c.pause_frames > 0);
    seen.lost += u32::from(c.dropped() > 0);
    seen.cut += u32::from(f.rate_cuts() > 0);
    for (flow, state) in f.flow_states().iter().enumerate() {
        let operation = f.flows()[flow].operation;
        let all = f.flows()[flow].bytes().0;
        if state.finished.is_some()
            && operation != models::config::Operation::Datagram
            && f.delivered(flow as u32) != all
        {
            return Err(format!("flow {flow} is done with {} of {all} bytes", f.delivered(flow as u32)));
        }
    }
    if case.lossless && !says(&LOSES) {
        seen.lossless += 1;
        seen.lossless_paused += u32::from(c.pause_frames > 0);
        let drops = c.drops;
        if drops[DropReason::Headroom as usize] > 0 {
            return Err(format!("lossless, but {:?}", f.losses()));
        }
    }
    if case.completes && !says(&STOPS) {
        seen.completed += 1;
        // Sized so that every flow has time for its share many times over.
        for step in 1..200 {
            let done = f.completed() == f.flows().len() as u64;
            if done && f.packets_inside() == 0 && !f.pauses_outstanding() || f.counters().events > MOST_EVENTS
            {
                break;
            }
            f.run_until(Time(until) + Duration::from_ms(200 * step));
        }
        f.audit().map_err(|e| format!("at the end: {e}"))?;
        if f.counters().events > MOST_EVENTS {
            seen.undecided += 1;
            return Ok(());
        }
        if f.completed() != f.flows().len() as u64 {
            return Err(format!("{} of {} flows done; {:?}", f.completed(), f.flows().len(), f.counters()));
        }
        if f.packets_inside() != 0 || f.pauses_outstanding() {
            return Err(format!("{} packets and pauses left behind", f.packets_inside()));
        }
        let switches = f.graph().nodes() - f.graph().hosts;
        if (0..switches).any(|s| f.buffer_occupied(s) != 0) {
            return Err("memory is charged for nothing".to_string());
        }
    }
    Ok(())
}

#[test]
fn random_scenarios_keep_the_laws() {
    let cases = if std::env::var_os("FABSIM_LONG").is_some() { 10_000 } else { 1000 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    // Always the same scenarios, unless FABSIM_SEED asks for others.
    let mut seed = [7u8; 32];
    if let Some(other) = std::env::var_os("FABSIM_SEED") {
        let other = other.to_string_lossy().parse::<u64>().expect("FABSIM_SEED is a number");
        seed[..8].copy_from_slice(&other.to_le_bytes());
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, rng);
    // Where the scenario being run is written, to find one that does not end.
    let current = std::env::var_os("FABSIM_CURRENT");
    let seen = std::cell::RefCell::new(Seen::default());
    let outcome = runner.run(&vec(any::<u16>(), 100), |choices| {
        let case = scenario(choices);
        if let Some(path) = &current {
            std::fs::write(path, &case.json).expect("FABSIM_CURRENT names a file that can be written");
        }
        let judged = catch_unwind(AssertUnwindSafe(|| law(&case, &mut seen.borrow_mut())));
        let judged = judged.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
        });
        judged.map_err(|text| TestCaseError::fail(format!("{text}\n{}", case.json)))
    });
    match outcome {
        Ok(()) => {
            let seen = seen.borrow();
            println!("{seen:?}");
            assert!(seen.undecided * 50 <= seen.completed, "{seen:?}");
            assert!(seen.lossless_paused * 30 > cases && seen.completed * 3 > cases, "{seen:?}");
        }
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}
