//! Published cases of slow or strange collectives, and what the diagnosis must say of them. Figures are those of the
//! issues named.

use sim_core::Rate;

use super::*;

/// A log of a run on `nodes` hosts as nccl-tests prints it, from sizes and times (out of place, in place).
fn log(program: &str, nodes: u32, gpus: u32, rows: &[(u64, f64, f64)]) -> MeasuredLog {
    let ranks = nodes * gpus;
    let factor = Collective::from_program(program).unwrap().busbw_factor(ranks);
    let mut text = format!("# Collective test starting: {program}\n");
    text.push_str(&format!(
        "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 1(factor) warmup iters: 5 iters: 20\n",
        rows[0].0,
        rows[rows.len() - 1].0
    ));
    for rank in 0..ranks {
        let (host, device) = (rank / gpus, rank % gpus);
        text.push_str(&format!(
            "#  Rank {rank:2} Group  0 Pid {rank} on node-{host} device {device} [06] GPU\n"
        ));
    }
    text.push_str(
        "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n",
    );
    let mut sum = 0.0;
    for (bytes, out, inside) in rows {
        let half = |us: f64| {
            let algbw = *bytes as f64 / us / 1e3;
            format!("{us:.2} {algbw:.4} {:.4} 0", algbw * factor)
        };
        sum += *bytes as f64 / 2e3 * factor * (1.0 / out + 1.0 / inside);
        text.push_str(&format!("{bytes} {} float sum -1 {} {}\n", bytes / 4, half(*out), half(*inside)));
    }
    text.push_str(&format!(
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:.4}\n",
        sum / rows.len() as f64
    ));
    let mut logs = read("case.log", text.as_bytes()).unwrap();
    let log = logs.remove(0);
    assert!(log.problems.is_empty(), "{:?}", log.problems);
    log
}

fn alike(rows: &[(u64, f64)]) -> Vec<(u64, f64, f64)> {
    rows.iter().map(|(bytes, us)| (*bytes, *us, *us)).collect()
}

/// The time, in us, at which a size has a bus bandwidth in GB/s.
fn time_of(bytes: u64, busbw: f64, factor: f64) -> f64 {
    bytes as f64 * factor / busbw / 1e3
}

fn simulated(log: &MeasuredLog, busbw: f64, bound: f64, network: &NetworkEvidence) -> Vec<SimulatedRow> {
    let factor = log.collective().unwrap().busbw_factor(log.ranks().unwrap());
    let row = |bytes: u64| SimulatedRow {
        bytes,
        time_us: time_of(bytes, busbw, factor),
        bound_busbw_gbytes_per_s: Some(bound),
        steps: Some(bytes / (128 << 10)),
        network: network.clone(),
        ..SimulatedRow::default()
    };
    log.sizes(Mode::OutOfPlace).into_keys().map(row).collect()
}

fn diagnosed(log: &MeasuredLog, rows: &[SimulatedRow], bounds: Option<&Bounds>) -> Vec<Diagnosis> {
    diagnose(log, &compare(log, Mode::OutOfPlace, rows), bounds)
}

fn find<'a>(found: &'a [Diagnosis], code: &str) -> &'a str {
    let one = found.iter().find(|one| one.code == code);
    &one.unwrap_or_else(|| panic!("no {code} in {found:?}")).text
}

fn nics(gbps: u64, nics: u32) -> NetworkRate {
    NetworkRate { rate: Rate(gbps * 1_000_000_000), nics }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// nccl issue 2409: 2 × 8 H100 reach 216 to 231 GB/s where the fabric gives 390.
#[test]
fn a_cost_a_step_is_the_hosts_and_a_rail_cannot_carry_more_than_its_rate() {
    let factor = Collective::AllReduce.busbw_factor(16);
    let rows = [(GIB, time_of(GIB, 216.5, factor)), (8 * GIB, time_of(8 * GIB, 231.0, factor))];
    let log = log("all_reduce_perf", 2, 8, &alike(&rows));
    let network = NetworkEvidence { rails: vec![0.98; 8], ..NetworkEvidence::default() };
    let rows = simulated(&log, 390.0, 392.0, &network);
    let found = diagnosed(&log, &rows, None);
    let text = find(&found, "host-limited");
    assert!(text.contains("all 8 rails are equally busy") && text.contains("of at most 392"), "{text}");
    assert!(text.contains("(0.573 of its bandwidth)"), "{text}");
    assert!(found.iter().all(|one| one.code != "fabric-limited"), "{found:?}");

    // SendRecv on one rail: 128 KiB in 10 to 12 us; and the 87.6 GB/s quoted for chunks of 1 MiB.
    let one_rail = self::log("sendrecv_perf", 2, 8, &alike(&[(128 * MIB, time_of(128 * MIB, 13.1, 1.0))]));
    let rows = simulated(&one_rail, 49.0, 49.0, &network);
    let found = diagnosed(&one_rail, &rows, None);
    let text = find(&found, "host-limited");
    assert!(text.contains("a cost of 7.33 us a step") && text.contains("10.0 us each"), "{text}");

    let quoted = self::log("sendrecv_perf", 2, 8, &alike(&[(MIB, time_of(MIB, 87.6, 1.0))]));
    let bounds = bound::bounds(&quoted, nics(400, 8)).unwrap();
    let text = diagnosed(&quoted, &[], Some(&bounds));
    assert!(find(&text, "impossible").contains("87.6 GB/s, but the NICs of a node allow 50.0"), "{text:?}");
    assert_eq!(diagnosis::above_line_rate(&quoted, &bounds)[0].code, "above-bound");
}

/// nccl issue 1453: three nodes, 32 MiB in 2.2 ms, 64 MiB in 24.4 ms.
#[test]
fn a_change_of_regime_is_one_size_and_a_steady_rate_beyond() {
    let rows = [
        (MIB, 1627.0, 2302.0),
        (2 * MIB, 2325.0, 417.0),
        (32 * MIB, 2180.0, 2180.0),
        (64 * MIB, 24_410.0, 24_410.0),
        (512 * MIB, 193_909.0, 193_909.0),
        (8 * GIB, 3_300_068.0, 3_300_068.0),
    ];
    let log = log("all_reduce_perf", 3, 8, &rows);
    let comparison = compare(&log, Mode::OutOfPlace, &[]);
    let cliff = diagnosis::find_cliff(&comparison).unwrap();
    assert_eq!((cliff.before_bytes, cliff.after_bytes), (32 * MIB, 64 * MIB));
    assert!((cliff.after_ns_per_byte / cliff.before_ns_per_byte - 5.6).abs() < 0.05, "{cliff:?}");
    assert!(
        (cliff.before_ns_per_byte - 0.065).abs() < 5e-4 && (cliff.after_ns_per_byte - 0.364).abs() < 5e-4
    );
    assert!((cliff.beyond_ns_per_byte - 0.37).abs() < 0.01 && cliff.beyond_spread < 1.1, "{cliff:?}");
    let found = diagnose(&log, &comparison, None);
    let text = find(&found, "cliff");
    assert!(text.contains("between 32 MiB and 64 MiB") && text.contains("5.60-fold"), "{text}");
    assert!(text.contains("(5.27 GB/s of busbw)") && text.contains("a steady rate limit"), "{text}");
    assert!(find(&found, "noise").contains("2 MiB 5.58-fold"), "{found:?}");
    // NCCL's own estimate for 8 GiB is 86.07 ms: the log is 38 times slower.
    assert!((3_300_068.0_f64 / 86_070.0 - 38.3).abs() < 0.1);
}

/// nccl-tests issues 196 and 22, nccl issue 812: more than the NIC on two nodes.
#[test]
fn more_than_the_nics_is_legitimate_for_a_tree_on_two_nodes() {
    // 22: 1 GiB in 134 ms as a tree, 268 ms as a ring, over one 100 Gb/s NIC.
    let tree = log("all_reduce_perf", 2, 8, &alike(&[(GIB, 134_000.0)]));
    let bounds = bound::bounds(&tree, nics(100, 1)).unwrap();
    assert!((bounds.ring_gbytes_per_s - 12.5).abs() < 1e-9);
    assert!((bounds.most_gbytes_per_s - 23.4375).abs() < 1e-9, "196: up to 23 GB/s");
    let found = diagnosed(&tree, &[], Some(&bounds));
    assert!(find(&found, "above-ring-bound").contains("legitimate"), "{found:?}");
    assert!(found.iter().all(|one| one.code != "impossible"));
    let ring = log("all_reduce_perf", 2, 8, &alike(&[(GIB, 268_000.0)]));
    assert!(find(&diagnosed(&ring, &[], Some(&bounds)), "below-bound").contains("60 %"));
    // 812: eight NICs of 100 Gb/s and a ring of 60 GB/s.
    let factor = Collective::AllReduce.busbw_factor(16);
    let slow = log("all_reduce_perf", 2, 8, &alike(&[(GIB, time_of(GIB, 60.0, factor))]));
    let bounds = bound::bounds(&slow, nics(100, 8)).unwrap();
    assert!(find(&diagnosed(&slow, &[], Some(&bounds)), "below-bound").contains("60 % of the 100"));
    // From three nodes on the advantage is gone but for reduction in the network.
    let three = log(
        "all_reduce_perf",
        3,
        8,
        &alike(&[(GIB, time_of(GIB, 20.0, Collective::AllReduce.busbw_factor(24)))]),
    );
    let bounds = bound::bounds(&three, nics(100, 1)).unwrap();
    assert!((bounds.hierarchical_gbytes_per_s - 12.5 * (23.0 / 24.0) / (2.0 / 3.0)).abs() < 1e-9);
    find(&diagnosed(&three, &[], Some(&bounds)), "above-host-bound");
}

/// nccl issue 1368: five nodes with four NICs each.
#[test]
fn a_ring_at_its_bound_is_said_to_be() {
    let factor = Collective::AllReduce.busbw_factor(40);
    for (busbw, code) in [(190.0, "near-bound"), (150.0, "below-bound")] {
        let log = log("all_reduce_perf", 5, 8, &alike(&[(GIB, time_of(GIB, busbw, factor))]));
        let bounds = bound::bounds(&log, nics(400, 4)).unwrap();
        find(&diagnosed(&log, &[], Some(&bounds)), code);
    }
}

/// RDMA MTU 256 and 1024 between the same hosts.
#[test]
fn what_changes_between_two_runs_is_seen_by_range() {
    let small = log("all_reduce_perf", 2, 1, &alike(&[(8, 13.97), (4096, 16.93), (512 * MIB, 65_319.0)]));
    let large = log("all_reduce_perf", 2, 1, &alike(&[(8, 13.96), (4096, 17.60), (512 * MIB, 54_959.0)]));
    let pair = paired::pair(&small, &large, Mode::OutOfPlace).unwrap();
    assert!((pair.large_ratio.unwrap() - 0.841).abs() < 5e-4);
    assert!((pair.small_ratio.unwrap() - 1.02).abs() < 0.01);
    let predicted = (256.0 / 338.0) / (1024.0 / 1106.0);
    assert!((pair.large_ratio.unwrap() / predicted - 1.0_f64).abs() < 0.03, "goodput at 82 B a packet");
}

/// CCI-MOC/roce-testing: SendRecv at 13.96 GB/s with one GPU a node, 5.85 with four, on one 400 Gb/s NIC.
#[test]
fn a_slow_send_recv_does_not_slow_the_network_down() {
    for (gpus, busbw, part) in [(1, 13.96, "0.285"), (4, 5.85, "0.119")] {
        let log = log("sendrecv_perf", 2, gpus, &alike(&[(GIB, time_of(GIB, busbw, 1.0))]));
        let bounds = bound::bounds(&log, nics(400, 1)).unwrap();
        assert!((bounds.most_gbytes_per_s - 50.0).abs() < 1e-9, "one flow a direction");
        let rows = simulated(&log, 49.0, 49.0, &NetworkEvidence::default());
        let found = diagnosed(&log, &rows, Some(&bounds));
        let text = find(&found, "host-limited");
        assert!(text.contains(part) && text.contains("do not slow the network down"), "{text}");
    }
}

/// Adaptive routing with an in-order transport: single sizes many times slower.
#[test]
fn outliers_are_listed_and_the_average_is_not_believed() {
    let off = [(MIB, 225.0), (2 * MIB, 387.0), (4 * MIB, 706.0), (8 * MIB, 467.0), (16 * MIB, 839.0)];
    let late =
        [(32 * MIB, 1690.0), (64 * MIB, 3330.0), (128 * MIB, 5854.0), (GIB, 53_915.0), (8 * GIB, 435_186.0)];
    let base = log("all_reduce_perf", 2, 8, &alike(&[off, late].concat()));
    let slower = |bytes: u64, us: f64| match bytes / MIB {
        4 => 4355.0,
        8 => 1008.0,
        16 => 2055.0,
        128 => 8590.0,
        8192 => us * 37.01 / 37.96,
        _ => us,
    };
    let routed: Vec<(u64, f64)> =
        [off, late].concat().into_iter().map(|(bytes, us)| (bytes, slower(bytes, us))).collect();
    let routed = log("all_reduce_perf", 2, 8, &alike(&routed));
    let pair = paired::pair(&base, &routed, Mode::OutOfPlace).unwrap();
    let outliers: Vec<u64> = pair.rows.iter().filter(|row| row.outlier).map(|row| row.bytes / MIB).collect();
    assert_eq!(outliers, [4, 8, 16, 128]);
    assert!((pair.rows.last().unwrap().ratio - 0.975).abs() < 1e-3, "8 GiB is 2.6 % faster");
    let text = find(&pair.diagnosis, "outliers");
    assert!(text.contains("4 MiB 706 → 4355 us (+73.0 ms over 20 calls)"), "{text}");
    assert!(text.contains("do not conclude from \"Avg bus bandwidth\""), "{text}");
}

/// nccl issues 319 and 325: half of 47 GB/s where two flows share an uplink.
#[test]
fn a_collision_in_the_simulation_is_named() {
    let factor = Collective::AllReduce.busbw_factor(64);
    let shared = Some("node0:nic1 and node0:nic3 on leaf0 → spine2".to_string());
    let network = NetworkEvidence { collision: shared, ..NetworkEvidence::default() };
    for busbw in [23.0, 19.53] {
        let log = log("all_reduce_perf", 8, 8, &alike(&[(GIB, time_of(GIB, busbw, factor))]));
        let rows = simulated(&log, 23.5, 47.0, &network);
        let found = diagnosed(&log, &rows, None);
        assert!(find(&found, "collision").contains("leaf0 → spine2"), "{found:?}");
    }
}

/// SimAI issue 105: a figure above the bound of the links.
#[test]
fn a_figure_above_the_simulated_bound_is_impossible() {
    let factor = Collective::AllReduce.busbw_factor(16);
    let log = log("all_reduce_perf", 2, 8, &alike(&[(GIB, time_of(GIB, 480.0, factor))]));
    let rows = simulated(&log, 390.0, 392.0, &NetworkEvidence::default());
    let found = diagnosed(&log, &rows, None);
    assert!(find(&found, "impossible").contains("1 GiB: 480 over 392"), "{found:?}");
}

#[test]
fn agreement_names_the_full_link_and_congestion() {
    let factor = Collective::AllReduce.busbw_factor(16);
    let log = log("all_reduce_perf", 2, 8, &alike(&[(GIB, time_of(GIB, 380.0, factor))]));
    let hottest_link = Some(("leaf0 → spine1".to_string(), 0.97));
    let network = NetworkEvidence { hottest_link, pause_frames: 12, ..NetworkEvidence::default() };
    let rows = simulated(&log, 390.0, 392.0, &network);
    let found = diagnosed(&log, &rows, None);
    let text = find(&found, "fabric-limited");
    assert!(text.contains("leaf0 → spine1 is 97 % busy") && text.contains("12 pause frames"), "{text}");
    let faster = simulated(&log, 190.0, 392.0, &NetworkEvidence::default());
    find(&diagnosed(&log, &faster, None), "faster-than-simulated");
    let congested = simulated(&log, 600.0, 800.0, &network);
    find(&diagnosed(&log, &congested, None), "unexplained");
}

#[test]
fn a_switch_of_algorithm_is_seen_with_and_without_a_simulation() {
    let rows = [(MIB, 225.0), (2 * MIB, 387.0), (4 * MIB, 706.0), (8 * MIB, 467.0), (16 * MIB, 839.0)];
    let falling = log("all_reduce_perf", 2, 8, &alike(&rows));
    let found = diagnosed(&falling, &[], None);
    assert!(find(&found, "algorithm-switch").contains("8 MiB takes 0.661 of the time of 4 MiB"), "{found:?}");
    assert!(found.iter().all(|one| one.code != "noise"), "{found:?}");
    // The time only grows less where the simulation changes.
    let rows = [(MIB, 100.0), (2 * MIB, 200.0), (4 * MIB, 220.0), (8 * MIB, 440.0)];
    let log = log("all_reduce_perf", 2, 8, &alike(&rows));
    let mut simulated = simulated(&log, 30.0, 392.0, &NetworkEvidence::default());
    for row in &mut simulated {
        row.algorithm = Some(if row.bytes < 4 * MIB { "tree" } else { "ring" }.to_string());
        row.protocol = Some("simple".to_string());
    }
    let found = diagnosed(&log, &simulated, None);
    assert!(find(&found, "algorithm-switch").contains("from tree/simple to ring/simple"), "{found:?}");
}

#[test]
fn errors_are_of_their_ranges() {
    let rows: Vec<(u64, f64)> = (0..12).map(|i| (16_384 << i, 100.0)).collect();
    let log = log("all_reduce_perf", 2, 8, &alike(&rows));
    let simulated: Vec<SimulatedRow> = rows
        .iter()
        .map(|(bytes, _)| SimulatedRow {
            bytes: *bytes,
            time_us: if *bytes == 64 << 10 { 130.0 } else { 90.0 },
            ..SimulatedRow::default()
        })
        .collect();
    let found = compare(&log, Mode::OutOfPlace, &simulated);
    // 16, 32 KiB; 64 KiB to 16 MiB; 32 MiB is in none.
    assert_eq!((found.latency.sizes, found.transition.sizes, found.bandwidth.sizes), (2, 9, 0));
    assert!((found.transition.mape_pct.unwrap() - (30.0 + 8.0 * 10.0) / 9.0).abs() < 1e-9);
    assert!((found.transition.median_pct.unwrap() - 10.0).abs() < 1e-9);
    assert_eq!(found.bandwidth, RangeErrors::default());
}
