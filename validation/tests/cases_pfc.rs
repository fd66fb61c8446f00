//! Problem reports about PFC: storms, watchdogs, headroom, and buffers that are too small.

use models::config::CLASSES;
use models::counters::DropReason;
use models::deadlock::storm::{PauseCause, pause_trees};
use models::record::{PfcAction, PfcTrace};
use scenarios::finding::Severity;
use serde_json::{Value, json};
use sim_core::{Duration, Time};
use validation::cases::incast;
use validation::harness::{End, Simulation, findings, simulate, spread};
use validation::rows::Table;

/// A 3-tier fat tree of 16 hosts at 10 Gb/s, every host sending to every other, slowly enough that nothing pauses by
/// itself; host5 pauses from 1 ms on.
fn storm(watchdog: &Value) -> Simulation {
    let scenario = json!({
        "schema_version": 1,
        "name": "case-07",
        "topology": {"fat-tree": {"k": 4, "link": {"rate": "10Gbps", "delay": "1us"}}},
        "switch": {"buffer": "1MB", "watchdog": watchdog},
        "nic": {"ack_every": 16},
        "congestion": "none",
        "traffic": [
            {"all-to-all": {"size": "1GB", "options": {"rate": "300Mbps"}}},
            {"flows": {"list": [
                {"from": "host0", "to": "host15", "size": "1GB", "class": 1, "start": "5ms", "rate": "4Gbps"}
            ]}},
        ],
        "faults": [{"pause-storm": {"host": "host5", "at": "1ms"}}],
    });
    Simulation::new(&scenario.to_string(), &[]).unwrap()
}

fn delivered(s: &Simulation) -> Vec<u64> {
    (0..s.fabric.flows().len() as u32).map(|f| s.fabric.delivered(f)).collect()
}

/// One NIC that pauses for ever stops the whole Clos; the tree grows away from it and its root is named; a watchdog on the
/// root port frees everyone else.
#[test]
fn case_07_one_pausing_nic_stops_the_clos() {
    let mut table = Table::new("case 07: pause storm");
    let mut s = storm(&json!({"detection": "100ms", "poll": "20ms", "restoration": "200ms"}));
    let at = |ms: u64| Time::ZERO + Duration::from_ms(ms);
    s.fabric.run_until(at(20));
    let before = delivered(&s);
    let trees = pause_trees(&s.fabric);
    let root = s.fabric.graph().port_name(trees[0].root);
    let host_port = s.port("edge2", "host5");
    table.holds(
        "root of the tree",
        &root,
        trees[0].root == host_port && trees[0].cause == PauseCause::Host,
        "the port to host5",
    );
    let first: Vec<(u32, u64)> = (1..=5)
        .filter_map(|depth| {
            let branches = trees[0].branches.iter().filter(|b| b.depth == depth);
            branches.map(|b| b.since.0).min().map(|since| (depth, since))
        })
        .collect();
    let ordered = first.len() == 5 && first.is_sorted_by(|a, b| a.1 < b.1);
    table.holds("first pause at each depth, ps", &first, ordered, "ToR, agg, core, agg, ToR, hosts");
    s.fabric.run_until(at(40));
    let after = delivered(&s);
    let lossless = before.len() - 1;
    let flows = s.fabric.flows();
    let host5 = 5;
    let moving = (0..lossless).filter(|&f| flows[f].src != host5 && after[f] > before[f]).count();
    table.holds(
        "lossless flows that still move",
        moving,
        moving == 0,
        "all but those of host5 itself share a queue with what waits for host5",
    );
    let other = (after[lossless] - before[lossless]) as f64 * 8.0 / 20e-3 / 1e9;
    table.near("class 1 keeps, Gb/s", other, 4.0 * 4096.0 / 4178.0, 0.01, "its full rate");
    // The storm begins at 1 ms; polls at 20 ms agree from 40 ms on and charge 100 ms by 120 ms.
    s.fabric.run_until(at(160));
    let before = delivered(&s);
    s.fabric.run_until(at(180));
    let after = delivered(&s);
    let flows = s.fabric.flows();
    let stuck = (0..lossless)
        .filter(|&f| flows[f].src != host5 && flows[f].dst != host5 && after[f] == before[f])
        .count();
    table.holds("flows still stuck after the watchdog", stuck, stuck == 0, "one detection interval");
    let c = s.fabric.counters();
    table.holds(
        "storms, restores",
        (c.watchdog_storms, c.watchdog_restores),
        (c.watchdog_storms, c.watchdog_restores) == (1, 0),
        "one storm",
    );
    let places: Vec<String> = s
        .fabric
        .losses()
        .by_port
        .keys()
        .map(|&(port, reason)| format!("{} {}", s.fabric.graph().port_name(port), reason.name()))
        .collect();
    table.holds("places of drops", &places, places == ["edge2:1 watchdog"], "only at the stormed port");
    s.fabric.audit().unwrap();
    table.finish();
}

fn watchdog(bug: bool) -> PfcTrace {
    let scenario = json!({
        "schema_version": 1,
        "name": "case-08",
        "topology": {"single-switch": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {
            "classes": [{"class": 3, "kind": "lossless"}, {"class": 4, "kind": "lossless"}],
            "watchdog": {"detection": "200ms", "restoration": "200ms", "poll": "200ms", "frozen_counter_bug": bug},
        },
        "congestion": "none",
        "traffic": [{"flows": {"list": [
            {"from": "host0", "to": "host1", "size": "100KB", "class": 3},
            {"from": "host0", "to": "host1", "size": "100KB", "class": 4},
        ]}}],
        "faults": [{"pause-storm": {"host": "host1", "classes": [3, 4], "at": "100ms", "until": "3s"}}],
        "run": {"until": "5s"},
    });
    let mut s = Simulation::recorded(&scenario.to_string(), &[], PfcTrace::default()).unwrap();
    s.fabric.run_until(Time::ZERO + Duration::from_ms(5000));
    std::mem::take(s.fabric.recorder_mut())
}

/// sonic-buildimage#29203: while the storm lasts there is one storm and no restore. The model of the fault flaps.
#[test]
fn case_08_a_watchdog_reports_one_storm() {
    let mut table = Table::new("case 08: watchdog");
    let count = |trace: &PfcTrace, class: u8, action: PfcAction| {
        trace.records.iter().filter(|r| r.class == class && r.action == action).count()
    };
    let times = |trace: &PfcTrace, action: PfcAction| -> Vec<f64> {
        trace
            .records
            .iter()
            .filter(|r| r.class == 3 && r.action == action)
            .map(|r| r.at.0 as f64 / 1e9)
            .collect()
    };
    let right = watchdog(false);
    for class in [3, 4] {
        let seen = (count(&right, class, PfcAction::Storm), count(&right, class, PfcAction::Restore));
        table.holds(&format!("class {class}: storms, restores"), seen, seen == (1, 1), "the state machine");
    }
    let restored = times(&right, PfcAction::Restore)[0];
    table.within("restored at, ms", restored, 3200.0..=3400.0, "200 ms after the storm, on a grid of 200 ms");
    let wrong = watchdog(true);
    let storms = times(&wrong, PfcAction::Storm);
    table.at_least("with the fault: storms", storms.len() as f64, 3.0, "it flaps");
    let cycle = storms[1] - storms[0];
    // Restoration takes one poll; then one poll sees the pause again and two more agree. The report gives 624 ms a cycle,
    // and 170 cycles in 20 minutes, which are 7060 ms each: its two figures contradict each other.
    table.near("with the fault: cycle, ms", cycle, 800.0, 0.001, "four polls of 200 ms");
    table.finish();
}

fn cable(length: &str, payload: u32, header: u32, headroom: &str) -> String {
    incast(
        8,
        "2MB",
        &json!({
            "topology": {"single-switch": {"link": {"rate": "100Gbps", "delay": null, "length": length}}},
            "switch": {"headroom": {"bytes": headroom}, "xoff": {"static": "100KB"}, "ecn": null},
            "nic": {"mtu": format!("{payload}B"), "header": format!("{header}B"), "retransmission_timeout": "1ms"},
            "congestion": "none",
            "run": {"until": "1ms"},
        }),
    )
}

/// MSN2700's profiles: the headroom of a 40 m cable on 300 m drops, that of 300 m does not.
#[test]
fn case_11_headroom_of_40_m_on_300_m() {
    let mut table = Table::new("case 11: cable length and headroom, 100 Gb/s");
    let run = |scenario: &str| {
        let (s, _) = simulate(scenario, &[]);
        s.fabric.audit().unwrap();
        let c = s.fabric.counters();
        assert!(c.pause_frames > 0);
        assert_eq!(c.dropped(), c.drops[DropReason::Headroom as usize]);
        (c.dropped(), s.fabric.losses().headroom.values().map(|l| l.missing).max().unwrap_or(0))
    };
    let short = cable("300m", 9000, 216, "38912B");
    let (drops, missing) = run(&short);
    table.at_least("300 m, 9216 B frames, 38912 B: drops", drops as f64, 1.0, "about 2 packets a pause");
    table.within("  missing, B", missing as f64, 9216.0..=27_648.0, "deficit about 17 KB, in whole frames");
    let found = findings(&short, &[]).unwrap();
    let text = found.iter().find(|f| f.code == "headroom-too-small").map(|f| f.text.clone());
    let said = text.as_ref().is_some_and(|t| t.contains("38912 < required 55932"));
    table.holds("  check", &text, said, "\"xoff 38912 < required 55932\"");
    let (drops, missing) = run(&cable("300m", 1008, 78, "38912B"));
    table.at_least("300 m, 1086 B frames, 38912 B: drops", drops as f64, 1.0, "0.8 KB over");
    table.within("  missing, B", missing as f64, 1086.0..=5430.0, "deficit about 0.8 KB, in whole frames");
    for (name, scenario) in [
        ("300 m, 9216 B frames, 104448 B", cable("300m", 9000, 216, "104448B")),
        ("300 m, 1086 B frames, 104448 B", cable("300m", 1008, 78, "104448B")),
        ("40 m, 9216 B frames, 38912 B", cable("40m", 9000, 216, "38912B")),
    ] {
        let (drops, _) = run(&scenario);
        table.holds(&format!("{name}: drops"), drops, drops == 0, "the profile fits");
    }
    table.finish();
}

fn thousand(headroom: &Value) -> String {
    json!({
        "schema_version": 1,
        "name": "case-12",
        "topology": {"leaf-spine": {
            "leaves": 9, "spines": 4, "hosts_per_leaf": 16,
            "host_link": {"rate": "10Gbps", "delay": "1us"},
            "fabric_link": {"rate": "40Gbps", "delay": "1us"},
        }},
        "switch": {"buffer": "8MB", "headroom": headroom, "ecn": null},
        "nic": {"mtu": "1000B"},
        "congestion": "none",
        "traffic": [{"incast": {"senders": 1000, "size": "8000B"}}],
    })
    .to_string()
}

/// HPCC#15: 1000 flows of eight packets to one 10 Gb/s host and a buffer of 8 MB.
#[test]
fn case_12_a_thousand_flows_to_one_host() {
    let mut table = Table::new("case 12: 1000:1, 8 MB, buffer 8 MB");
    let (s, end) = simulate(&thousand(&json!("auto")), &[]);
    assert_eq!(end, End::Completed);
    let c = s.fabric.counters();
    table.holds(
        "drops, pauses",
        (c.dropped(), c.pause_frames),
        c.dropped() == 0 && c.pause_frames > 0,
        "valid headroom",
    );
    let last = s.fabric.flow_states().iter().filter_map(|f| f.finished).max().unwrap();
    table.within("last FCT, ms", last.0 as f64 / 1e9, 6.4..=7.0, "the receiver's link");
    s.fabric.audit().unwrap();
    let (s, _) = simulate(&thousand(&json!({"bytes": "2KB"})), &["nic.retransmission_timeout=1ms"]);
    let worst = s.fabric.losses().headroom.iter().max_by_key(|(_, l)| l.missing);
    let named = worst.map(|(&(port, class), l)| (s.fabric.graph().port_name(port), class, l.missing));
    table.holds(
        "headroom of 2 KB: port, class, missing B",
        &named,
        named.as_ref().is_some_and(|n| n.2 > 0),
        "named, with bytes",
    );
    table.finish();
}

fn hundred(more: &Value) -> String {
    let mut all = json!({"switch": {"buffer": "9MB", "ecn": null}, "congestion": "none",
                         "nic": {"mtu": "1024B", "retransmission_timeout": "1ms"}, "run": {"until": "2ms"}});
    validation::cases::overlay(&mut all, more);
    incast(100, "500KB", &all)
}

/// ns3-rdma#11 and #20: with a static XOFF that the buffer cannot honour at every port, it is full before any PAUSE.
#[test]
fn case_13_a_buffer_that_is_full_before_any_pause() {
    let mut table = Table::new("case 13: 100:1, 9 MB");
    let bad = hundred(&json!({"switch": {"xoff": {"static": "200KB"}, "headroom": {"bytes": "0B"}}}));
    let found = findings(&bad, &[]).unwrap();
    let text =
        found.iter().find(|f| f.code == "buffer-full-before-pause").map(|f| (f.severity, f.text.clone()));
    let said = text.as_ref().is_some_and(|(severity, _)| *severity == Severity::Error);
    table.holds("check", &text, said, "N · XOFF > buffer");
    let (s, _) = simulate(&bad, &[]);
    let c = s.fabric.counters();
    table.holds(
        "XOFF 200 KB: drops, pauses",
        (c.dropped(), c.pause_frames),
        c.dropped() > 0 && c.pause_frames == 0,
        "the report",
    );
    for (name, more) in
        [("XOFF 30 KB", json!({"switch": {"xoff": {"static": "30KB"}}})), ("dynamic XOFF", json!({}))]
    {
        let (s, _) = simulate(&hundred(&more), &[]);
        let c = s.fabric.counters();
        table.holds(
            &format!("{name}: drops, pauses"),
            (c.dropped(), c.pause_frames),
            c.dropped() == 0 && c.pause_frames > 0,
            "valid",
        );
    }
    let tiny = hundred(&json!({"switch": {"buffer": "116000B"}, "nic": {"mtu": "1400B"}}));
    let found = findings(&tiny, &[]).unwrap();
    let refused = found.iter().find(|f| f.code == "buffer-below-one-packet").map(|f| f.text.clone());
    table.holds("80 · 1450 B of buffer", &refused, refused.is_some(), "refused: 1160 B a port");
    table.finish();
}

/// SimAI#286: pause and resume at NICs with one, two and three queue pairs.
#[test]
fn case_45_pauses_and_resumes_at_nics_with_few_queue_pairs() {
    let mut table = Table::new("case 45: pause and resume on priority 3");
    for queue_pairs in 1..=3u32 {
        let list: Vec<Value> = (0..2 * queue_pairs)
            .map(|f| json!({"from": format!("host{}", 1 + f % 2), "to": "host0", "size": "300KB"}))
            .collect();
        let scenario = json!({
            "schema_version": 1,
            "name": "case-45",
            "topology": {"single-switch": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "switch": {"buffer": "9MB", "xoff": {"static": "50KB"}, "ecn": null},
            "nic": {"mtu": "1000B"},
            "congestion": "none",
            "traffic": [{"flows": {"list": list}}],
        });
        let (s, end) = simulate(&scenario.to_string(), &[]);
        let c = s.fabric.counters();
        let seen = (end, c.pause_frames, c.resume_frames, c.dropped());
        let fits = end == End::Completed
            && c.pause_frames > 0
            && c.pause_frames == c.resume_frames
            && c.dropped() == 0;
        table.holds(
            &format!("{queue_pairs} queue pairs: end, pauses, resumes, drops"),
            seen,
            fits,
            "finishes",
        );
        for port in 0..s.fabric.graph().ports.len() as u32 {
            let state = s.fabric.pause_state(port);
            for class in (0..CLASSES).filter(|&class| class != 3) {
                assert_eq!((state.tx_pause[class], state.rx_pause[class]), (0, 0), "class {class} untouched");
            }
        }
        assert!(!s.fabric.pauses_outstanding());
        let (_, _, last) = spread(&s.fct_us());
        assert!(last > f64::from(queue_pairs) * 48.0, "600 KB a queue pair at 100 Gb/s");
        s.fabric.audit().unwrap();
    }
    table.finish();
}
