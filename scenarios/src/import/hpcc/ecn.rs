//! Marking thresholds by link rate: the maps `KMIN_MAP`, `KMAX_MAP`, `PMAX_MAP`, and ns3-rdma's `KMIN`, `KMAX`, `PMAX`.

use std::collections::BTreeMap;

use models::config::{EcnAtRate, EcnConfig};
use sim_core::{Bytes, Rate};

use super::super::number;
use super::super::report::Log;
use super::config::Config;
use super::defaults::NS3_RDMA_CELL;
use super::topology::Topology;

const MAPS: [&str; 3] = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"];

/// Sets thresholds of `ecn` from the config's maps. `nvlinks` are the rates of links left out.
pub(super) fn apply_maps(
    log: &mut Log,
    config: &mut Config<'_>,
    topology: &Topology,
    nvlinks: &[Rate],
    ecn: &mut EcnConfig,
) {
    let absent: Vec<&str> = MAPS.into_iter().filter(|map| !config.has(map)).collect();
    let line = MAPS.into_iter().map(|map| config.line(map)).find(|line| *line > 0).unwrap_or(0);
    if absent.len() == MAPS.len() {
        log.note(
            config.file,
            0,
            "no KMIN_MAP, KMAX_MAP, PMAX_MAP: Kmin 100 KB and Kmax 400 KB per 25Gbps, Pmax 0.2",
        );
        return;
    }
    if !absent.is_empty() {
        log.error(config.file, line, format!("{} missing: the three maps go together", absent.join(" and ")));
        return;
    }
    let kilobytes = |text: &str| -> Result<u64, String> {
        number::whole(text)?.checked_mul(1000).ok_or_else(|| format!("\"{text}\" is too large"))
    };
    let kmin = config.map(log, "KMIN_MAP", kilobytes);
    let kmax = config.map(log, "KMAX_MAP", kilobytes);
    let pmax = config.map(log, "PMAX_MAP", number::probability);
    let (Some(kmin), Some(kmax), Some(pmax)) = (kmin, kmax, pmax) else { return };
    check_rates(log, config, topology, [&keys(&kmin), &keys(&kmax), &keys(&pmax)]);
    note_shape(log, config, [&kmin, &kmax], &pmax);
    note_nvlinks(log, config, line, nvlinks, &kmin);
    ecn.reference_rate = None;
    ecn.per_rate.clear();
    for (&rate, &kmin) in &kmin {
        let (Some(&kmax), Some(&pmax)) = (kmax.get(&rate), pmax.get(&rate)) else { continue };
        if kmin > kmax {
            let text = format!("Kmin {} is above Kmax {} at {rate}", Bytes(kmin), Bytes(kmax));
            log.error(config.file, config.line("KMIN_MAP"), text);
        }
        ecn.per_rate.push(EcnAtRate { rate, kmin: Bytes(kmin), kmax: Bytes(kmax), pmax });
    }
}

fn keys<T>(map: &BTreeMap<Rate, T>) -> Vec<Rate> {
    map.keys().copied().collect()
}

/// Every rate of a link at a switch must be in all three maps.
fn check_rates(log: &mut Log, config: &Config<'_>, topology: &Topology, maps: [&Vec<Rate>; 3]) {
    for (rate, link) in topology.switch_rates() {
        let without: Vec<&str> = MAPS
            .into_iter()
            .zip(maps)
            .filter(|(_, rates)| !rates.contains(&rate))
            .map(|(map, _)| map)
            .collect();
        if !without.is_empty() {
            let (file, line) = (&topology.file, link.line);
            let (a, b) = (topology.name(link.a), topology.name(link.b));
            let text = format!(
                "no entry for {rate} in {}; the first link of that rate is {a}–{b} ({file}:{line}): add {} to these maps",
                without.join(", "),
                rate.0
            );
            log.error(config.file, config.line(without[0]), text);
        }
    }
}

/// Notes steps down in the maps and marking probabilities that differ.
fn note_shape(
    log: &mut Log,
    config: &Config<'_>,
    thresholds: [&BTreeMap<Rate, u64>; 2],
    pmax: &BTreeMap<Rate, f64>,
) {
    let mut falls = false;
    for (map, name) in thresholds.into_iter().zip(MAPS) {
        for ((slow, high), (fast, low)) in map.iter().zip(map.iter().skip(1)).filter(|((_, a), (_, b))| a > b)
        {
            falls = true;
            let text = format!(
                "{name} falls from {} at {slow} to {} at {fast}: the faster link marks earlier",
                Bytes(*high),
                Bytes(*low)
            );
            log.note(config.file, config.line(name), text);
        }
    }
    if falls {
        let in_time = |(rate, kmin): (&Rate, &u64)| format!("{rate} {:.1} us", rate.tx_time(*kmin).as_us());
        let times: Vec<String> = thresholds[0].iter().map(in_time).collect();
        let text = format!("Kmin in time at line rate: {}", times.join(", "));
        log.note(config.file, config.line(MAPS[0]), text);
    }
    let (least, most) = pmax.values().fold((f64::INFINITY, 0.0f64), |(l, m), &p| (l.min(p), m.max(p)));
    if most > least {
        let listed: Vec<String> = pmax.iter().map(|(rate, p)| format!("{rate} {p}")).collect();
        log.note(
            config.file,
            config.line(MAPS[2]),
            format!("PMAX_MAP differs by rate: {}", listed.join(", ")),
        );
    }
}

fn note_nvlinks(
    log: &mut Log,
    config: &Config<'_>,
    line: usize,
    nvlinks: &[Rate],
    kmin: &BTreeMap<Rate, u64>,
) {
    let unmapped: Vec<String> =
        nvlinks.iter().filter(|r| !kmin.contains_key(r)).map(Rate::to_string).collect();
    if !unmapped.is_empty() {
        let text = format!(
            "the maps have no entry for NVLink rates {}: those links are left out",
            unmapped.join(", ")
        );
        log.note(config.file, line, text);
    }
}

/// Sets thresholds of `ecn` from ns3-rdma's `KMIN`, `KMAX` (cells) and `PMAX`, which hold for every link.
pub(super) fn apply_cells(log: &mut Log, config: &mut Config<'_>, ecn: &mut EcnConfig) {
    if let Some(kmin) = config.scaled(log, "KMIN", NS3_RDMA_CELL) {
        ecn.kmin = Bytes(kmin);
    }
    if let Some(kmax) = config.scaled(log, "KMAX", NS3_RDMA_CELL) {
        ecn.kmax = Bytes(kmax);
    }
    if let Some(pmax) = config.fraction(log, "PMAX") {
        ecn.pmax = pmax;
    }
    if ecn.kmin > ecn.kmax {
        let text = format!("KMIN {} is above KMAX {}", ecn.kmin, ecn.kmax);
        log.error(config.file, config.line("KMIN"), text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Dialect;
    use super::super::{defaults, topology};
    use super::*;

    fn run(config: &str, rates: [&str; 2]) -> Result<(EcnConfig, Vec<String>), String> {
        let mut log = Log::new(false);
        let text = format!("3 1 2\n2\n0 2 {} 1us 0\n1 2 {} 1us 0\n", rates[0], rates[1]);
        let topology = topology::parse(&mut log, "topo", &text, Dialect::Hpcc).unwrap();
        let mut ecn = defaults::hpcc_defaults().0.ecn.unwrap();
        let mut config = Config::open(&mut log, "c", config);
        apply_maps(&mut log, &mut config, &topology, &[Rate::gbps(2400)], &mut ecn);
        let notes = log.finish().map_err(|e| e.to_string())?;
        Ok((ecn, notes.into_iter().map(|n| n.to_string()).collect()))
    }

    const HPCC: &str = "KMAX_MAP 3 25000000000 400 50000000000 800 100000000000 1600\n\
                        KMIN_MAP 3 25000000000 100 50000000000 200 100000000000 400\n\
                        PMAX_MAP 3 25000000000 0.2 50000000000 0.2 100000000000 0.2\n";

    #[test]
    fn thresholds_by_rate() {
        let (ecn, notes) = run(HPCC, ["100Gbps", "25Gbps"]).unwrap();
        let at = ecn.thresholds(Rate::gbps(100)).unwrap();
        assert_eq!((at.kmin, at.kmax, at.pmax), (Bytes(400_000), Bytes(1_600_000), 0.2));
        assert_eq!(ecn.thresholds(Rate::gbps(400)), None);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("NVLink rates 2400Gbps"));
    }

    /// The shipped config.txt with the shipped fat.txt, whose core links are 400 Gb/s.
    #[test]
    fn a_rate_without_an_entry_names_link_and_maps() {
        assert_eq!(
            run(HPCC, ["100Gbps", "400Gbps"]).unwrap_err(),
            "c:2: no entry for 400Gbps in KMIN_MAP, KMAX_MAP, PMAX_MAP; the first link of that rate is \
             host1–switch2 (topo:4): add 400000000000 to these maps"
        );
    }

    /// SimAI.conf: Kmin falls twice as rates rise, Pmax is 0.8 at 200 Gb/s.
    #[test]
    fn maps_that_fall_are_noted_in_time() {
        let simai = "KMAX_MAP 4 100000000000 1600 200000000000 1200 400000000000 3200 1600000000000 2400\n\
                     KMIN_MAP 4 100000000000 400 200000000000 300 400000000000 800 1600000000000 600\n\
                     PMAX_MAP 4 100000000000 0.2 200000000000 0.8 400000000000 0.2 1600000000000 0.2\n";
        let (_, notes) = run(simai, ["100Gbps", "400Gbps"]).unwrap();
        assert_eq!(
            notes[0],
            "c:2: KMIN_MAP falls from 400KB at 100Gbps to 300KB at 200Gbps: the faster link marks earlier"
        );
        assert!(notes[1].contains("from 800KB at 400Gbps to 600KB at 1600Gbps"));
        assert!(notes[2].starts_with("c:1: KMAX_MAP falls from 1.6MB"));
        assert_eq!(
            notes[4],
            "c:2: Kmin in time at line rate: 100Gbps 32.0 us, 200Gbps 12.0 us, 400Gbps 16.0 us, 1600Gbps 3.0 us"
        );
        assert!(notes[5].contains("200Gbps 0.8"));
    }

    #[test]
    fn maps_go_together_and_kmin_is_below_kmax() {
        assert_eq!(
            run("KMIN_MAP 1 1000 1\n", ["1Gbps", "1Gbps"]).unwrap_err(),
            "c:1: KMAX_MAP and PMAX_MAP missing: the three maps go together"
        );
        let crossed = "KMIN_MAP 1 1000000000 9\nKMAX_MAP 1 1000000000 4\nPMAX_MAP 1 1000000000 1\n";
        assert_eq!(run(crossed, ["1Gbps", "1Gbps"]).unwrap_err(), "c:1: Kmin 9KB is above Kmax 4KB at 1Gbps");
    }

    #[test]
    fn cells_of_ns3_rdma() {
        let mut log = Log::new(false);
        let mut config = Config::open(&mut log, "c", "KMAX 1000\nKMIN 40\nPMAX 1.0\n");
        let mut ecn = defaults::ns3_rdma_defaults().0.ecn.unwrap();
        apply_cells(&mut log, &mut config, &mut ecn);
        assert_eq!((ecn.kmin, ecn.kmax, ecn.pmax), (Bytes(41_200), Bytes(1_030_000), 1.0));
        assert!(!log.failed());
    }
}
