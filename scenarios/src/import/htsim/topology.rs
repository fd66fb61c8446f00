//! Fat-tree descriptions (`.topo`): tiers with radix, speed and latency, laid out as htsim does.

use models::config::{Edge, EdgeList};
use sim_core::{Duration, Rate};

use super::super::lines::{Line, lines};
use super::super::number;
use super::super::report::Log;
use super::super::{MAX_LINKS, MAX_NODES};

/// Names of switches of a tier, for 2 and 3 tiers.
const NAMES: [[&str; 3]; 2] = [["tor", "spine", ""], ["tor", "agg", "core"]];

/// One tier: its switches' links downwards, and how many go up.
#[derive(Clone, Debug, Default)]
struct Tier {
    line: usize,
    values: [Option<(u64, usize)>; 7],
}

/// What a tier says, in the order of `KEYS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Speed,
    RadixDown,
    RadixUp,
    Latency,
    SwitchLatency,
    Bundle,
    Oversubscribed,
}

const KEYS: [(&str, Key); 7] = [
    ("downlink_speed_gbps", Key::Speed),
    ("radix_down", Key::RadixDown),
    ("radix_up", Key::RadixUp),
    ("downlink_latency_ns", Key::Latency),
    ("switch_latency_ns", Key::SwitchLatency),
    ("bundle", Key::Bundle),
    ("oversubscribed", Key::Oversubscribed),
];

impl Tier {
    fn get(&self, key: Key) -> Option<u64> {
        self.values[key as usize].map(|(value, _)| value)
    }

    fn or(&self, key: Key, default: u64) -> u64 {
        self.get(key).unwrap_or(default)
    }

    fn line_of(&self, key: Key) -> usize {
        self.values[key as usize].map_or(self.line, |(_, line)| line)
    }
}

/// A topology file as written.
#[derive(Debug, Default)]
struct Description {
    nodes: Option<(u64, usize)>,
    tiers: Option<(u64, usize)>,
    pod: Option<(u64, usize)>,
    tier: [Option<Tier>; 3],
}

/// A laid-out topology.
#[derive(Debug)]
pub(super) struct Topo {
    /// Hosts and the line that says so.
    pub nodes: (u64, usize),
    /// The links.
    pub edges: EdgeList,
    /// Latency of the switches.
    pub switch_latency: Duration,
}

/// Reads and lays out a topology. `None` when it cannot be; `log` then says why.
pub(super) fn parse(log: &mut Log, file: &str, text: &str) -> Option<Topo> {
    let mut description = Description::default();
    let mut current = None;
    for line in lines(log, file, text) {
        if !line.text.starts_with('#') {
            read_line(log, file, line, &mut description, &mut current);
        }
    }
    if log.failed() {
        return None;
    }
    let shape = Shape::of(log, file, &description)?;
    let switch_latency = switch_latency(log, file, &description, shape.tiers);
    let edges = shape.edges();
    (!log.failed()).then_some(Topo { nodes: description.nodes?, edges, switch_latency })
}

fn read_line(
    log: &mut Log,
    file: &str,
    line: Line<'_>,
    description: &mut Description,
    current: &mut Option<usize>,
) {
    let fields = line.fields();
    let key = fields[0].to_ascii_lowercase();
    let value = match fields.get(1).map(|value| number::whole(value)) {
        Some(Ok(value)) => value,
        Some(Err(why)) => return log.error(file, line.number, format!("{} {why}", fields[0])),
        None => return log.error(file, line.number, format!("{} has no value", line.quoted())),
    };
    let slot = match key.as_str() {
        "nodes" => &mut description.nodes,
        "tiers" => &mut description.tiers,
        "podsize" => &mut description.pod,
        "tier" => {
            let Some(slot) = usize::try_from(value).ok().and_then(|tier| description.tier.get_mut(tier))
            else {
                return log.error(file, line.number, format!("tier {value}; tiers are 0, 1 and 2"));
            };
            if slot.is_some() {
                return log.error(file, line.number, format!("tier {value} is given twice"));
            }
            *slot = Some(Tier { line: line.number, ..Tier::default() });
            *current = usize::try_from(value).ok();
            return;
        }
        _ => {
            let Some(&(_, key)) = KEYS.iter().find(|(name, _)| *name == key) else {
                let text = format!("{} is not known", fields[0]);
                return log.contradiction(
                    file,
                    line.number,
                    format!("{text}: remove it, or go without with --lenient"),
                    format!("{text}: no effect here"),
                );
            };
            let tier = current.and_then(|tier| description.tier[tier].as_mut());
            match tier {
                Some(tier) => &mut tier.values[key as usize],
                None => {
                    return log.error(
                        file,
                        line.number,
                        format!("{} stands before the first Tier", fields[0]),
                    );
                }
            }
        }
    };
    if let Some((_, before)) = slot.replace((value, line.number)) {
        log.error(file, line.number, format!("{} is given again, first on line {before}", fields[0]));
    }
}

/// The counts a description works out to.
#[derive(Debug)]
struct Shape {
    nodes: u64,
    tiers: usize,
    pods: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
    /// Core switches of one position in the pod.
    cores_per_position: u64,
    hosts_per_tor: u64,
    bundle: [u64; 3],
    speed: [Rate; 3],
    latency: [Duration; 3],
}

impl Shape {
    /// Works out a description. Figures that contradict each other are errors with both.
    fn of(log: &mut Log, file: &str, description: &Description) -> Option<Self> {
        let required = |log: &mut Log, what: Option<(u64, usize)>, name: &str| match what {
            Some((0, line)) => {
                log.error(file, line, format!("{name} is 0"));
                None
            }
            Some(found) => Some(found),
            None => {
                log.error(file, 0, format!("no {name} line"));
                None
            }
        };
        let (nodes, nodes_line) = required(log, description.nodes, "Nodes")?;
        let (tiers, tiers_line) = required(log, description.tiers, "Tiers")?;
        let (pod, pod_line) = required(log, description.pod, "Podsize")?;
        if !(2..=3).contains(&tiers) {
            log.error(file, tiers_line, format!("{tiers} tiers; htsim builds 2 or 3"));
            return None;
        }
        if nodes > MAX_NODES {
            log.error(file, nodes_line, format!("{nodes} nodes; an import takes at most {MAX_NODES}"));
            return None;
        }
        if pod > nodes || !nodes.is_multiple_of(pod) || (tiers == 2 && pod != nodes) {
            let rule = if tiers == 2 { "2 tiers have one pod" } else { "pods must divide the nodes" };
            log.error(file, pod_line, format!("Podsize {pod} with {nodes} nodes: {rule}"));
            return None;
        }
        let tiers = tiers as usize;
        let mut given = Vec::new();
        for (index, tier) in description.tier.iter().enumerate() {
            match tier {
                Some(tier) if index < tiers => given.push(tier),
                Some(tier) => log.error(file, tier.line, format!("tier {index} of {tiers} tiers")),
                None if index < tiers => {
                    log.error(file, tiers_line, format!("{tiers} tiers, no \"Tier {index}\""))
                }
                None => {}
            }
        }
        if log.failed() {
            return None;
        }
        Self::from_tiers(log, file, nodes, pod, &given)
    }

    fn from_tiers(log: &mut Log, file: &str, nodes: u64, pod: u64, tiers: &[&Tier]) -> Option<Self> {
        let top = tiers.len() - 1;
        for (index, tier) in tiers.iter().enumerate() {
            let mut needed = vec![(Key::Speed, "Downlink_speed_Gbps"), (Key::RadixDown, "Radix_Down")];
            needed.push((Key::Latency, "Downlink_Latency_ns"));
            if index < top {
                needed.push((Key::RadixUp, "Radix_Up"));
            }
            for (key, name) in needed {
                if tier.or(key, 0) == 0 {
                    log.error(file, tier.line_of(key), format!("tier {index} needs {name} above 0"));
                }
            }
            if index == top && tier.get(Key::RadixUp).is_some() {
                log.error(
                    file,
                    tier.line_of(Key::RadixUp),
                    format!("tier {index} is the top: nothing is above it"),
                );
            }
            if tier.get(Key::Bundle) == Some(0) || (index == 0 && tier.or(Key::Bundle, 1) != 1) {
                let text =
                    format!("tier {index} has Bundle {}; hosts have one link", tier.or(Key::Bundle, 1));
                log.error(file, tier.line_of(Key::Bundle), text);
            }
        }
        if log.failed() {
            return None;
        }
        let of = |key, default| -> [u64; 3] {
            std::array::from_fn(|i| tiers.get(i).map_or(default, |t| t.or(key, default)))
        };
        let (down, up, bundle) = (of(Key::RadixDown, 1), of(Key::RadixUp, 1), of(Key::Bundle, 1));
        let speeds = of(Key::Speed, 1);
        let latencies = of(Key::Latency, 0);
        if speeds.iter().any(|s| *s > 1_000_000) || latencies.iter().any(|l| *l > 1_000_000_000) {
            log.error(
                file,
                tiers[0].line,
                "speeds are at most 1000000 Gbps, latencies at most 1000000000 ns",
            );
            return None;
        }
        let mut divides = |value: u64, by: u64, line: usize, what: &str| {
            if !value.is_multiple_of(by) {
                log.error(file, line, format!("{what}: {value} does not divide by {by}"));
            }
        };
        divides(pod, down[0], tiers[0].line_of(Key::RadixDown), "Podsize by Radix_Down of tier 0");
        divides(up[0], bundle[1], tiers[0].line_of(Key::RadixUp), "Radix_Up of tier 0 by Bundle of tier 1");
        if top == 2 {
            divides(
                up[1],
                bundle[2],
                tiers[1].line_of(Key::RadixUp),
                "Radix_Up of tier 1 by Bundle of tier 2",
            );
        }
        if log.failed() {
            return None;
        }
        let shape = Self {
            nodes,
            tiers: tiers.len(),
            pods: nodes / pod,
            tors_per_pod: pod / down[0],
            aggs_per_pod: up[0] / bundle[1],
            cores_per_position: if top == 2 { up[1] / bundle[2] } else { 0 },
            hosts_per_tor: down[0],
            bundle,
            speed: speeds.map(Rate::gbps),
            latency: latencies.map(Duration::from_ns),
        };
        shape.check_downlinks(log, file, tiers, down);
        shape.check_oversubscription(log, file, tiers, [down, up, speeds]);
        shape.check_size(log, file);
        (!log.failed()).then_some(shape)
    }

    /// Switches of upper tiers must have as many ports down as the tier below reaches them with.
    fn check_downlinks(&self, log: &mut Log, file: &str, tiers: &[&Tier], down: [u64; 3]) {
        let mut expected =
            vec![(1, self.tors_per_pod.saturating_mul(self.bundle[1]), "ToR switches of a pod")];
        if self.tiers == 3 {
            expected.push((2, self.pods.saturating_mul(self.bundle[2]), "pods"));
        }
        for (index, expected, of) in expected {
            if down[index] != expected {
                let text = format!(
                    "tier {index} has Radix_Down {}, the {of} need {expected} (Bundle {})",
                    down[index], self.bundle[index]
                );
                log.error(file, tiers[index].line_of(Key::RadixDown), text);
            }
        }
    }

    fn check_oversubscription(
        &self,
        log: &mut Log,
        file: &str,
        tiers: &[&Tier],
        [down, up, speed]: [[u64; 3]; 3],
    ) {
        for (index, tier) in tiers.iter().enumerate().take(self.tiers - 1) {
            let Some(stated) = tier.get(Key::Oversubscribed) else { continue };
            let (below, above) = (
                u128::from(down[index]) * u128::from(speed[index]),
                u128::from(up[index]) * u128::from(speed[index + 1]),
            );
            if below != u128::from(stated) * above {
                let text = format!(
                    "tier {index} says Oversubscribed {stated}, its ports say {below} Gbps down over {above} Gbps up"
                );
                log.contradiction(
                    file,
                    tier.line_of(Key::Oversubscribed),
                    format!("{text}: correct one, or go by the ports with --lenient"),
                    format!("{text}: the ports count"),
                );
            }
        }
    }

    fn check_size(&self, log: &mut Log, file: &str) {
        let tors = self.pods.saturating_mul(self.tors_per_pod);
        let aggs = self.pods.saturating_mul(self.aggs_per_pod);
        let up = tors.saturating_mul(self.aggs_per_pod).saturating_mul(self.bundle[1]);
        let top = aggs.saturating_mul(self.cores_per_position).saturating_mul(self.bundle[2]);
        let links = self.nodes.saturating_add(up).saturating_add(top);
        if links > MAX_LINKS {
            log.error(file, 0, format!("{links} links; an import takes at most {MAX_LINKS}"));
        }
    }

    /// The links as htsim lays them: hosts in order on ToR switches, every ToR to every switch above it in the pod,
    /// aggregation switch at position p to cores p, p + aggs per pod, ….
    fn edges(&self) -> EdgeList {
        let [tor, agg, core] = NAMES[self.tiers - 2];
        let (tors, aggs) = (self.pods * self.tors_per_pod, self.pods * self.aggs_per_pod);
        let edge = |a: String, b: String, tier: usize| Edge {
            a,
            b,
            rate: self.speed[tier],
            delay: Some(self.latency[tier]),
            length: None,
            error_rate: 0.0,
        };
        let mut links = Vec::new();
        for host in 0..self.nodes {
            links.push(edge(format!("host{host}"), format!("{tor}{}", host / self.hosts_per_tor), 0));
        }
        for t in 0..tors {
            let first = t / self.tors_per_pod * self.aggs_per_pod;
            for a in first..first + self.aggs_per_pod {
                for _ in 0..self.bundle[1] {
                    links.push(edge(format!("{tor}{t}"), format!("{agg}{a}"), 1));
                }
            }
        }
        for a in 0..if self.tiers == 3 { aggs } else { 0 } {
            for l in 0..self.cores_per_position {
                let c = a % self.aggs_per_pod + l * self.aggs_per_pod;
                for _ in 0..self.bundle[2] {
                    links.push(edge(format!("{agg}{a}"), format!("{core}{c}"), 2));
                }
            }
        }
        let cores = self.aggs_per_pod * self.cores_per_position;
        let named = |name: &'static str, count: u64| (0..count).map(move |n| format!("{name}{n}"));
        let switches = named(tor, tors).chain(named(agg, aggs)).chain(named(core, cores)).collect();
        EdgeList { hosts: named("host", self.nodes).collect(), switches, links }
    }
}

/// All switches of a scenario have one latency.
fn switch_latency(log: &mut Log, file: &str, description: &Description, tiers: usize) -> Duration {
    let given: Vec<(u64, usize)> = description.tier[..tiers]
        .iter()
        .flatten()
        .map(|tier| (tier.or(Key::SwitchLatency, 0), tier.line_of(Key::SwitchLatency)))
        .collect();
    let first = given.first().map_or(0, |(value, _)| *value);
    if let Some((other, line)) = given.iter().find(|(value, _)| *value != first) {
        let text = format!(
            "Switch_Latency_ns {other} here and {first} in tier 0; all switches here have one latency"
        );
        log.contradiction(
            file,
            *line,
            format!("{text}: make them equal, or take that of tier 0 with --lenient"),
            format!("{text}: that of tier 0 is used"),
        );
    }
    if first > 1_000_000_000 {
        log.error(file, given[0].1, format!("Switch_Latency_ns {first}; at most 1000000000 ns"));
        return Duration::ZERO;
    }
    Duration::from_ns(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, lenient: bool) -> Result<(Topo, Vec<String>), String> {
        let mut log = Log::new(lenient);
        let topo = parse(&mut log, "t", text);
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((topo.unwrap(), notes.into_iter().map(|n| n.to_string()).collect()))
    }

    /// csg-htsim's leaf_spine_tiny.topo.
    const LEAF_SPINE: &str = "Nodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
        Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\nOversubscribed 4\n\nTier 1\n\
        Downlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";

    /// csg-htsim's test.topo: 200 Gb/s below, pairs of 100 Gb/s links to the cores.
    const MIXED: &str = "Nodes 8\nTiers 3\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n\
        Downlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\n\
        Downlink_Latency_ns 1000\nBundle 1\n\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
        Downlink_Latency_ns 1000\nBundle 2\n";

    #[test]
    fn leaf_spine() {
        let (topo, notes) = read(LEAF_SPINE, false).unwrap();
        assert_eq!((topo.edges.hosts.len(), topo.edges.switches.len(), notes.len()), (32, 4 + 2, 0));
        assert_eq!(topo.edges.links.len(), 32 + 4 * 2);
        assert_eq!(topo.edges.switches[4], "spine0");
        assert_eq!((topo.edges.links[9].a.as_str(), topo.edges.links[9].b.as_str()), ("host9", "tor1"));
    }

    #[test]
    fn three_tiers_with_bundles_and_two_speeds() {
        let (topo, _) = read(MIXED, false).unwrap();
        let count = |prefix: &str| topo.edges.switches.iter().filter(|s| s.starts_with(prefix)).count();
        assert_eq!((count("tor"), count("agg"), count("core")), (4, 4, 4));
        assert_eq!(topo.edges.links.len(), 8 + 8 + 16);
        let to_core0: Vec<_> =
            topo.edges.links.iter().filter(|l| l.b == "core0").map(|l| l.a.as_str()).collect();
        assert_eq!(to_core0, ["agg0", "agg0", "agg2", "agg2"]);
        assert!(
            topo.edges.links.iter().filter(|l| l.b.starts_with("core")).all(|l| l.rate == Rate::gbps(100))
        );
    }

    #[test]
    fn contradictions_give_both_figures() {
        let over = LEAF_SPINE.replace("Oversubscribed 4", "Oversubscribed 1");
        assert_eq!(
            read(&over, false).unwrap_err(),
            "t:11: tier 0 says Oversubscribed 1, its ports say 800 Gbps down over 200 Gbps up: correct one, or go by \
             the ports with --lenient"
        );
        assert!(read(&over, true).unwrap().1[0].ends_with("the ports count"));
        let radix = LEAF_SPINE.replace("Radix_Down 4", "Radix_Down 5");
        assert_eq!(
            read(&radix, true).unwrap_err(),
            "t:15: tier 1 has Radix_Down 5, the ToR switches of a pod need 4 (Bundle 1)"
        );
        let latency = LEAF_SPINE.replacen("Switch_Latency_ns 0", "Switch_Latency_ns 500", 1);
        assert!(
            read(&latency, false)
                .unwrap_err()
                .starts_with("t:17: Switch_Latency_ns 0 here and 500 in tier 0")
        );
        assert_eq!(read(&latency, true).unwrap().0.switch_latency, Duration::from_ns(500));
    }

    #[test]
    fn mistakes_name_their_line() {
        let swap = |a: &str, b: &str| read(&LEAF_SPINE.replacen(a, b, 1), true).unwrap_err();
        assert_eq!(swap("Tiers 2", "Tiers 4"), "t:2: 4 tiers; htsim builds 2 or 3");
        assert_eq!(swap("Podsize 32", "Podsize 16"), "t:3: Podsize 16 with 32 nodes: 2 tiers have one pod");
        assert_eq!(
            swap("Tier 1", "Tier 0"),
            "t:13: tier 0 is given twice\nt:14: Downlink_speed_Gbps is given again, first on line 6\nt:15: Radix_Down is given again, first on line 7\nt:16: Downlink_Latency_ns is given again, first on line 9\nt:17: Switch_Latency_ns is given again, first on line 10"
        );
        assert_eq!(
            swap("Tier 1", "Tier 7"),
            "t:13: tier 7; tiers are 0, 1 and 2\nt:14: Downlink_speed_Gbps is given again, first on line 6\nt:15: Radix_Down is given again, first on line 7\nt:16: Downlink_Latency_ns is given again, first on line 9\nt:17: Switch_Latency_ns is given again, first on line 10"
        );
        assert_eq!(swap("Radix_Down 8", "Radix_Down 0"), "t:7: tier 0 needs Radix_Down above 0");
        assert_eq!(swap("Radix_Down 8", "Radix_Down -8"), "t:7: Radix_Down \"-8\" is negative");
        assert_eq!(
            swap("Radix_Down 8", "Radix_Down 7"),
            "t:7: Podsize by Radix_Down of tier 0: 32 does not divide by 7"
        );
        assert_eq!(swap("Nodes 32", "Nodes"), "t:1: \"Nodes\" has no value");
        assert_eq!(swap("Nodes 32\n", "\n"), "t: no Nodes line");
        let unknown = LEAF_SPINE.replace("Oversubscribed 4", "Queue_size 4");
        assert!(read(&unknown, false).unwrap_err().starts_with("t:11: Queue_size is not known"));
        assert!(read(&unknown, true).is_ok());
    }

    #[test]
    fn sizes_are_limited() {
        let huge = LEAF_SPINE.replace("32", "999999999999");
        assert!(read(&huge, true).unwrap_err().contains("an import takes at most"));
        let bundle = LEAF_SPINE.replace("Radix_Up 2", "Radix_Up 18446744073709551615");
        assert!(read(&bundle, true).unwrap_err().contains("links; an import takes at most"));
    }
}
