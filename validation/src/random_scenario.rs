//! Scenarios from a list of choices: every model, small fabrics, short runs. The first option of every choice is the
//! plainest, so that a list that shrinks towards zeros shrinks towards a plain scenario.

use serde_json::{Map, Value, json};

/// A list of choices being used up; what is missing is 0.
#[derive(Clone, Debug)]
pub struct Choices {
    values: Vec<u16>,
    next: usize,
    mood: Mood,
}

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Anything.
    Wild,
    /// Nothing that loses or stops packets.
    Calm,
    /// As calm, but links have errors, from which everything recovers.
    Rough,
}

impl Choices {
    /// Choices to be used in order.
    pub fn new(values: Vec<u16>) -> Self {
        Self { values, next: 0, mood: Mood::Wild }
    }

    fn below(&mut self, count: usize) -> usize {
        let value = self.values.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(value) % count
    }

    fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())].clone()
    }

    /// True once in `n`, only in a wild scenario.
    fn trouble(&mut self, n: usize) -> bool {
        let chosen = self.one_in(n);
        chosen && self.mood == Mood::Wild
    }

    /// One of both in a wild scenario, else of `calm`.
    fn pick_calm<T: Clone>(&mut self, calm: &[T], wild: &[T]) -> T {
        let all = if self.mood == Mood::Wild { [calm, wild].concat() } else { calm.to_vec() };
        self.pick(&all)
    }

    /// True once in `n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

/// A scenario and what its choices promise.
#[derive(Clone, Debug)]
pub struct RandomScenario {
    /// The text.
    pub json: String,
    /// Nothing in it makes a lossless class lossy: no errors, failures, watchdog or expiring pauses, and automatic
    /// headroom.
    pub lossless: bool,
    /// Every flow is recovered where it is lost, and nothing stops it: all flows must complete.
    pub completes: bool,
    /// Names of its hosts.
    pub hosts: Vec<String>,
}

struct Shape {
    topology: Value,
    hosts: Vec<String>,
    links: Vec<(String, String)>,
    switches: Vec<String>,
    errors: bool,
}

/// The scenario of a list of choices.
pub fn scenario(values: Vec<u16>) -> RandomScenario {
    let c = &mut Choices::new(values);
    c.mood = c.pick(&[Mood::Wild, Mood::Calm, Mood::Rough]);
    let shape = topology(c);
    let (switch, switch_sound) = switch(c);
    let (nic, nic_reliable) = nic(c);
    let congestion = congestion(c);
    let (routing, ordered) = routing(c);
    let (traffic, all_reliable) = traffic(c, &shape.hosts);
    let (faults, failing, stopping) = faults(c, &shape);
    let lossless = switch_sound && !failing && !shape.errors;
    let json = json!({
        "schema_version": 1,
        "name": "random",
        "seed": c.below(1000),
        "topology": shape.topology,
        "switch": switch,
        "nic": nic,
        "congestion": congestion,
        "routing": routing,
        "traffic": traffic,
        "faults": faults,
        "run": {"until": c.pick(&["200us", "50us", "1ms"])},
    });
    let completes = c.mood != Mood::Wild && nic_reliable && all_reliable && ordered && !stopping;
    RandomScenario { json: json.to_string(), lossless, completes, hosts: shape.hosts }
}

fn link(c: &mut Choices, errors: &mut bool) -> Value {
    let mut link = json!({
        "rate": c.pick(&["100Gbps", "25Gbps", "400Gbps", "40Gbps", "10Gbps", "3333Mbps"]),
        "delay": c.pick(&["1us", "100ns", "0ns", "5us", "333ps"]),
    });
    if c.trouble(6) {
        *errors = true;
        link["error_rate"] = c.pick(&[json!(1e-4), json!(1e-2), json!(0.3)]);
    } else if c.mood == Mood::Rough {
        *errors = true;
        link["error_rate"] = c.pick(&[json!(1e-3), json!(1e-2), json!(1e-4)]);
    }
    link
}

/// A topology, its hosts, some of its links and some of its switches.
type Parts = (Value, Vec<String>, Vec<(&'static str, &'static str)>, Vec<&'static str>);

fn topology(c: &mut Choices) -> Shape {
    let mut errors = false;
    let host_link = link(c, &mut errors);
    let fabric_link = link(c, &mut errors);
    let names = |n: usize| (0..n).map(|i| format!("host{i}")).collect::<Vec<_>>();
    let (topology, hosts, links, switches): Parts = match c.below(5) {
        0 => {
            let hosts = c.pick(&[3, 2, 5, 8]);
            (
                json!({"single-switch": {"hosts": hosts, "link": host_link}}),
                names(hosts),
                vec![("host0", "switch0"), ("host1", "switch0")],
                vec!["switch0"],
            )
        }
        1 => {
            let (left, right) = (c.pick(&[2, 1, 3]), c.pick(&[2, 1, 3]));
            (
                json!({"dumbbell": {"left": left, "right": right, "host_link": host_link, "bottleneck": fabric_link}}),
                names(left + right),
                vec![("left0", "right0"), ("host0", "left0")],
                vec!["left0", "right0"],
            )
        }
        2 => {
            let (leaves, spines, hosts) = (c.pick(&[2, 3]), c.pick(&[2, 1, 3]), c.pick(&[2, 1, 3]));
            let parallel = c.pick(&[1, 2]);
            (
                json!({"leaf-spine": {
                    "leaves": leaves, "spines": spines, "hosts_per_leaf": hosts, "parallel": parallel,
                    "host_link": host_link, "fabric_link": fabric_link,
                }}),
                names(leaves * hosts),
                vec![("leaf0", "spine0"), ("leaf1", "spine0"), ("host0", "leaf0")],
                vec!["leaf0", "spine0"],
            )
        }
        3 => (
            json!({"fat-tree": {"k": 4, "pods": 2, "link": host_link, "fabric_link": fabric_link}}),
            names(8),
            vec![("edge0", "agg0"), ("agg0", "core0"), ("host0", "edge0")],
            vec!["edge0", "agg0", "core0"],
        ),
        _ => {
            let edge = |a: &str, b: &str, link: &Value| {
                let mut edge = link.clone();
                edge["a"] = json!(a);
                edge["b"] = json!(b);
                edge
            };
            (
                json!({"edges": {
                    "hosts": ["host0", "host1", "host2"],
                    "switches": ["s0", "s1", "s2"],
                    "links": [
                        edge("s0", "s1", &fabric_link), edge("s1", "s2", &fabric_link), edge("s2", "s0", &fabric_link),
                        edge("host0", "s0", &host_link), edge("host1", "s1", &host_link), edge("host2", "s2", &host_link),
                    ],
                }}),
                names(3),
                vec![("s0", "s1"), ("s1", "s2"), ("host0", "s0")],
                vec!["s0", "s1"],
            )
        }
    };
    let own = |list: Vec<(&str, &str)>| list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let switches = switches.iter().map(|s| s.to_string()).collect();
    Shape { topology, hosts, links: own(links), switches, errors }
}

/// The switch, and whether its lossless classes are lossless.
fn switch(c: &mut Choices) -> (Value, bool) {
    let mut sound = true;
    let mut s = Map::new();
    s.insert("buffer".into(), json!(c.pick(&["32MB", "4MB", "12MB"])));
    s.insert("cell".into(), json!(c.pick(&["1B", "80B", "208B"])));
    s.insert("latency".into(), json!(c.pick(&["0ns", "500ns"])));
    if c.one_in(3) {
        s.insert("forwarding".into(), json!({"cut-through": {"header": c.pick(&["64B", "128B", "1B"])}}));
    }
    match c.pick_calm(&[0, 1, 2, 4], &[3]) {
        0 => {}
        1 => {
            s.insert(
                "classes".into(),
                json!([
                    {"class": 0, "kind": "control", "scheduler": "strict"}, {"class": 3, "kind": "lossless"}
                ]),
            );
        }
        2 => {
            s.insert("classes".into(), json!([
                {"class": 1, "kind": "lossless", "scheduler": {"dwrr": 3}}, {"class": 3, "kind": "lossless"},
                {"class": 6, "kind": "lossy", "scheduler": "strict"}
            ]));
        }
        3 => {
            s.insert("classes".into(), json!([{"class": 3, "kind": "lossy"}]));
        }
        _ => {
            s.insert(
                "classes".into(),
                json!([{"class": 3, "kind": "lossless", "scheduler": "strict"},
                {"class": 6, "kind": "lossless", "scheduler": "strict"}]),
            );
        }
    }
    if c.trouble(4) {
        s.insert("dscp_map".into(), json!([{"dscp": 26, "class": 1}, {"dscp": 8, "class": 3}]));
    }
    s.insert("reserved".into(), json!(c.pick(&["4096B", "0B", "9000B"])));
    s.insert(
        "xoff".into(),
        c.pick(&[
            json!({"dynamic": {"alpha": 0.125}}),
            json!({"static": "20KB"}),
            json!({"static": "1B"}),
            json!({"dynamic": {"alpha": 8.0}}),
            json!({"static": "5MB"}),
        ]),
    );
    s.insert("xon_offset".into(), json!(c.pick(&["3072B", "0B", "30KB"])));
    match c.pick_calm(&[0], &[1, 3, 4]) {
        0..3 => {}
        3 => {
            sound = false;
            s.insert("headroom".into(), json!({"bytes": c.pick(&["0B", "5KB", "50KB"])}));
        }
        _ => {
            sound = false;
            s.insert("headroom".into(), json!({"bdp-factor": 1.5}));
        }
    }
    s.insert(
        "lossy_ingress".into(),
        c.pick(&[json!({"dynamic": {"alpha": 1.0}}), json!({"static": "10KB"})]),
    );
    s.insert(
        "lossy_egress".into(),
        c.pick(&[
            json!({"dynamic": {"alpha": 1.0}}),
            json!({"static": "20KB"}),
            json!({"dynamic": {"alpha": 0.0625}}),
        ]),
    );
    if c.trouble(8) {
        sound = false;
        s.insert("lossless_egress".into(), json!({"static": "60KB"}));
    }
    if c.one_in(4) {
        s.insert("lossy_pool".into(), json!("50KB"));
    }
    let (pfc, holds) = pfc(c);
    sound &= holds;
    s.insert("pfc".into(), pfc);
    s.insert(
        "ecn".into(),
        c.pick(&[
            json!({}),
            json!(null),
            json!({"kmin": "5KB", "kmax": "20KB", "pmax": 0.5, "reference_rate": null, "at": "enqueue"}),
            json!({"kmin": "10KB", "kmax": "40KB", "pmax": 0.2, "reference_rate": null}),
            json!({"kmin": "3KB", "kmax": "100KB", "pmax": 0.2, "reference_rate": null}),
            json!({"kmin": "0B", "kmax": "0B", "pmax": 1.0, "reference_rate": null, "classes": [1, 3]}),
        ]),
    );
    if c.trouble(6) {
        sound = false;
        s.insert(
            "watchdog".into(),
            json!({
                "detection": "60us", "restoration": "60us", "poll": "20us",
                "action": c.pick(&["drop", "forward", "alert"]),
                "ports": c.pick(&["host-facing", "all", "switch-facing"]),
                "frozen_counter_bug": c.pick(&[false, true]),
            }),
        );
    }
    (Value::Object(s), sound)
}

/// PFC, and whether its pauses hold.
fn pfc(c: &mut Choices) -> (Value, bool) {
    let mut pfc = json!({"reaction": c.pick(&["0ns", "500ns"]), "frame": c.pick(&["64B", "43B"])});
    let endless = if c.mood == Mood::Rough { 0 } else { 2 };
    let holds = match c.pick_calm(&[0, endless], &[1, 3, 4, 5]) {
        0..2 => true,
        2 => {
            pfc["quanta"] = json!(0);
            true
        }
        3 => {
            pfc["enabled"] = json!(false);
            false
        }
        4 => {
            pfc["quanta"] = json!(c.pick(&[1, 40, 2000]));
            false
        }
        _ => {
            pfc["quanta"] = json!(500);
            pfc["refresh"] = json!(0.0);
            false
        }
    };
    (pfc, holds)
}

/// The NIC, and whether it recovers what a lossy class may lose in time.
fn nic(c: &mut Choices) -> (Value, bool) {
    let recovery = match c.mood {
        Mood::Wild | Mood::Calm => c.pick(&["go-back-n", "selective-repeat", "go-back-0"]),
        Mood::Rough => c.pick(&["go-back-n", "selective-repeat"]),
    };
    let timeout = match c.mood {
        Mood::Wild => c.pick(&["200us", "30us", "1ms"]),
        // Longer than any queue: who sends again what still waits in a queue may never end.
        Mood::Calm => "50ms",
        Mood::Rough => c.pick(&["10ms", "50ms"]),
    };
    let mut reliable = true;
    let mut n = json!({
        "mtu": c.pick(&["1024B", "4096B", "256B", "9000B"]),
        "ack_every": c.pick(&[1, 4, 64]),
        "recovery": recovery,
        "retransmission_timeout": timeout,
        "jitter": c.pick(&[true, false]),
        "cnp": {
            "interval": c.pick(&["50us", "4us", "0us"]), "delay": c.pick(&["0us", "55us", "3us"]),
            "class": c.pick(&[6, 3, 0]), "echo_in_ack": c.pick(&[false, true]),
        },
    });
    if c.one_in(3) {
        n["ack_class"] = json!(c.pick(&[0, 6, 3]));
    }
    if c.one_in(3) {
        n["reorder_window"] = json!(c.pick(&[64, 3]));
    }
    if c.one_in(3) {
        n["nak_interval"] = json!(c.pick(&["10us", "1us"]));
    }
    if c.one_in(3) {
        n["window"] = c.pick(&[json!("bdp"), json!({"bytes": "10KB"}), json!({"bytes": "100KB"})]);
    }
    if c.trouble(4) {
        reliable = false;
        n["drain_rate"] = json!(c.pick(&["20Gbps", "1Gbps"]));
        let (buffer, xoff) = c.pick(&[("1MB", "100KB"), ("20KB", "10KB")]);
        n["receive_buffer"] = json!(buffer);
        n["receive_xoff"] = json!(xoff);
    }
    if c.one_in(4) {
        n["inject_rate"] = json!(c.pick(&["30Gbps", "200Gbps"]));
    }
    if c.one_in(4) {
        n["header"] = json!(c.pick(&["48B", "100B"]));
        n["gap"] = json!(c.pick(&["0B", "12B"]));
        n["reth"] = json!("0B");
        n["ack_frame"] = json!("60B");
    }
    (n, reliable)
}

fn congestion(c: &mut Choices) -> Value {
    c.pick(&[
        json!("none"),
        json!({"dcqcn": {"preset": "connectx"}}),
        json!({"dcqcn": {"preset": "sigcomm15"}}),
        json!({"dcqcn": {"preset": "hpcc-ns3"}}),
        json!({"timely": {}}),
        json!({"swift": {}}),
        json!({"hpcc": {}}),
        json!({"dcqcn": {"preset": "sigcomm15", "byte_counter": "0B", "min_rate": "1Gbps", "increase_timer": "5us"}}),
        json!({"timely": {"t_low": "1us", "t_high": "20us", "segment": "16KB"}}),
    ])
}

/// Routing, and whether it keeps the order of a flow's packets.
fn routing(c: &mut Choices) -> (Value, bool) {
    let (mode, ordered) = c.pick_calm(
        &[(json!("ecmp"), true)],
        &[(json!("spray"), false), (json!({"flowlet": {"gap": "2us"}}), false), (json!("adaptive"), false)],
    );
    let routing = json!({
        "mode": mode,
        "on_failure": c.pick(&["global", "local", "none"]),
        "convergence": c.pick(&["0us", "20us"]),
    });
    (routing, ordered)
}

/// The traffic, and whether all of it is acknowledged and may reach its destination.
fn traffic(c: &mut Choices, hosts: &[String]) -> (Value, bool) {
    let mut reliable = true;
    let groups = 1 + c.below(2);
    let mut list = Vec::new();
    for _ in 0..groups {
        let size = c.pick(&["20KB", "1B", "300KB", "4097B", "64KB", "500KB"]);
        let class = c.pick_calm(&[3], &[1, 0, 6]);
        let operation = c.pick(&["write", "send", "read", "datagram"]);
        let mut options = json!({"class": class, "operation": operation, "messages": c.pick(&[1, 3])});
        if c.one_in(4) {
            options["rate"] = json!(c.pick(&["5Gbps", "900Mbps"]));
        }
        if c.trouble(8) {
            options["ttl"] = json!(c.pick(&[4, 1]));
            reliable = false;
        }
        // A lossy class may lose a long flow again and again; only lossless ones must complete.
        reliable &= class == 3;
        let start = c.pick(&["0us", "10us"]);
        list.push(match c.below(5) {
            0 => json!({"incast": {
                "senders": c.pick(&[hosts.len() as u32 - 1, 1, 2 * hosts.len() as u32]),
                "size": size, "options": options, "start": start,
            }}),
            1 => json!({"permutation": {"size": size, "options": options, "start": start}}),
            2 => json!({"all-to-all": {"size": size, "options": options, "start": start}}),
            3 => json!({"flows": {
                "list": [
                    {"from": hosts[0], "to": hosts[1], "size": size, "start": start},
                    {"from": hosts[1], "to": hosts[0], "size": "8KB", "class": 3},
                ],
                "options": options,
            }}),
            _ => json!({"poisson": {
                "load": c.pick(&[0.3, 0.9]), "duration": "20us",
                "sizes": c.pick(&[json!({"fixed": "10KB"}), json!({"exponential": "20KB"})]), "options": options,
            }}),
        });
    }
    (json!(list), reliable)
}

/// Faults, whether one loses packets, and whether one stops a flow.
fn faults(c: &mut Choices, shape: &Shape) -> (Value, bool, bool) {
    let (mut list, mut failing, mut stopping) = (Vec::new(), false, false);
    if c.trouble(6) {
        failing = true;
        let (a, b) = c.pick(&shape.links);
        let until = c.pick(&[json!("60us"), json!(null), json!("21us")]);
        list.push(json!({"link-down": {"a": a, "b": b, "at": c.pick(&["20us", "0us"]), "until": until}}));
    }
    if c.trouble(6) {
        stopping = true;
        let until = c.pick(&[json!("150us"), json!(null)]);
        let classes = c.pick(&[json!([3]), json!([1, 3])]);
        list.push(json!({"pause-storm": {"host": c.pick(&shape.hosts), "classes": classes, "at": "15us", "until": until}}));
    }
    if c.trouble(6) {
        failing = true;
        list.push(json!({"drop-every": {"at": c.pick(&shape.switches), "every": c.pick(&[100, 7, 2])}}));
    }
    // What passes: everything must recover from it.
    if c.mood == Mood::Rough && c.one_in(3) {
        failing = true;
        let (a, b) = c.pick(&shape.links);
        let until = c.pick(&["60us", "21us", "20500ns"]);
        list.push(json!({"link-down": {"a": a, "b": b, "at": "20us", "until": until}}));
    }
    if c.mood == Mood::Rough && c.one_in(4) {
        list.push(json!({"pause-storm": {"host": c.pick(&shape.hosts), "at": "15us", "until": "150us"}}));
    }
    (json!(list), failing, stopping)
}
