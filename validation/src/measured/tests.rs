//! Logs read, derived and doubted.

use proptest::prelude::*;

use super::log::{Format, Origin};
use super::samples::*;
use super::*;

fn one(text: &str) -> MeasuredLog {
    let mut logs = read("run.log", text.as_bytes()).unwrap();
    assert_eq!(logs.len(), 1);
    logs.remove(0)
}

fn codes(log: &MeasuredLog) -> Vec<&'static str> {
    log.problems.iter().map(|problem| problem.code).collect()
}

fn facts(log: &MeasuredLog) -> (Option<Collective>, Option<u32>, Option<u32>, usize) {
    (log.collective(), log.ranks(), log.nodes, log.rows.len())
}

#[test]
fn every_layout_is_read() {
    use Collective::{AllGather, AllReduce, SendRecv};
    for (name, text, expected) in [
        ("old error column", OLD_ERROR_COLUMN, (Some(AllReduce), Some(8), Some(1), 4)),
        ("old all-gather", OLD_ALL_GATHER, (Some(AllGather), Some(8), None, 3)),
        ("srun", SRUN_LABELS, (Some(AllReduce), Some(16), None, 4)),
        ("mpirun", MPIRUN_TAGS, (Some(AllReduce), Some(4), Some(2), 2)),
        ("time stamps", TIME_STAMPS, (Some(AllReduce), Some(40), None, 1)),
        ("rccl", RCCL, (Some(AllReduce), Some(16), Some(2), 2)),
        ("send-recv", SEND_RECV, (Some(SendRecv), Some(8), Some(2), 3)),
        ("no header", NO_HEADER_FAILED, (Some(AllReduce), Some(2), None, 2)),
        ("middle left out", MIDDLE_LEFT_OUT, (Some(AllReduce), Some(128), None, 3)),
    ] {
        assert_eq!(facts(&one(text)), expected, "{name}");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(facts(&one(&crlf)), expected, "{name} with CRLF");
    }
}

#[test]
fn both_halves_of_a_row_are_read() {
    let log = one(SRUN_LABELS);
    let row = &log.rows[3];
    assert_eq!((row.line, row.bytes, row.count), (6, 17_179_869_184, 4_294_967_296));
    assert_eq!((row.datatype.as_str(), row.op.as_deref(), row.root), ("float", Some("sum"), None));
    let (out, inside) = (row.out_of_place.unwrap(), row.in_place.unwrap());
    assert_eq!((out.time_us, out.algbw_gbytes_per_s, out.wrong), (66132.0, Some(259.78), Some(0)));
    assert_eq!((inside.time_us, inside.busbw_gbytes_per_s), (66109.0, Some(487.26)));
    let log = one(OLD_ERROR_COLUMN);
    assert_eq!(log.rows[1].out_of_place.unwrap().wrong, None);
    let log = one(MPIRUN_TAGS);
    assert_eq!(log.rows[1].out_of_place.unwrap().max_error, Some(5e-7));
}

#[test]
fn the_surroundings_are_kept() {
    let log = one(RCCL);
    assert_eq!(log.collective, Some((Collective::AllReduce, Origin::Printed)));
    assert_eq!(log.library_version.as_deref(), Some("2.27.7"));
    assert_eq!(log.tests_version.as_deref(), Some("2.17.9-develop:4a65e8d"));
    assert_eq!((log.gpu.as_deref(), log.gpus_per_node), (Some("AMD Radeon Graphics"), Some(8)));
    assert_eq!((log.iterations, log.warmup_iterations), (Some(20), Some(5)));
    assert_eq!(codes(&log), ["ranks"], "14 of 16 rank lines are missing");
    let log = one(MPIRUN_TAGS);
    assert_eq!(log.environment["NCCL_IB_GID_INDEX"], "3");
    assert_eq!(log.library_version.as_deref(), Some("2.9.9+cuda11.2"));
    let log = one(SEND_RECV);
    assert_eq!(log.ranks, Some((8, Origin::Surroundings)));
    assert_eq!(log.environment.len(), 2);
}

#[test]
fn contradictions_are_said() {
    assert_eq!(codes(&one(MIDDLE_LEFT_OUT)), ["collective-derived", "ranks-derived", "warm-up", "average"]);
    let several = one(TIME_STAMPS).problems.remove(1).text;
    assert!(several.contains("39 to 44; 40 is taken"), "{several}");
    for (code, from, to) in [
        ("algbw", "601.5  111.57  209.19", "701.5  111.57  209.19"),
        ("busbw-factor", "259.78  487.09", "259.78  454.62"),
        ("not-finite", "439.7   76.31", "  nan   76.31"),
        ("size-order", "0:     67108864      16777216", "0:      1048576        262144"),
        ("duplicate-size", "0:     67108864      16777216", "0:     33554432      8388608"),
        ("cut-row", "66132  259.78  487.09      0    66109  259.87  487.26      0", "66132  259.78"),
        ("wrong-results", "487.09      0", "487.09     17"),
    ] {
        assert!(SRUN_LABELS.contains(from), "{from}");
        let log = one(&SRUN_LABELS.replace(from, to));
        assert!(codes(&log).contains(&code), "{code}: {:?}", log.problems);
    }
    for (code, from, to) in [
        ("ranks", "nGpus 1", "nGpus 2"),
        ("average", ": 160.548", ": 161.548"),
        ("rows-missing", "minBytes 8388608", "minBytes 1024"),
        ("parameters", "maxBytes 16777216", "maxBytes 8388608"),
        ("busbw-factor", "all_reduce_perf", "all_gather_perf"),
        ("out-of-bounds", "values : 0 OK", "values : 3 OK"),
    ] {
        let whole: String = (0..16)
            .map(|i| format!("#  Rank {i:2} Group  0 Pid {i} on node-{} device {} [06] GPU\n", i / 8, i % 8))
            .collect();
        let rest: String =
            RCCL.lines().filter(|line| !line.contains("Rank")).map(|line| format!("{line}\n")).collect();
        let text = rest.replace("RCCL version", &format!("{whole}RCCL version"));
        assert_eq!(codes(&one(&text)), [""; 0], "sound");
        assert!(text.contains(from), "{from}");
        let log = one(&text.replace(from, to));
        assert!(codes(&log).contains(&code), "{code}: {:?}", log.problems);
    }
}

#[test]
fn failed_runs_are_no_calibration() {
    let log = one(NO_HEADER_FAILED);
    let reason = log.failed.clone().unwrap();
    assert_eq!(
        reason,
        "Out of bounds values : 4 FAILED; line 8: .. gpu-a pid 662195: Test failure common.cu:1189"
    );
    assert!(!log.fit_for_calibration());
    let log = one(WRONG_RESULTS);
    assert!(log.failed.is_some() && codes(&log).contains(&"wrong-results"));
    let simulated = SimulatedRow { bytes: 1_048_576, time_us: 100.0, ..SimulatedRow::default() };
    let comparison = compare(&log, Mode::OutOfPlace, &[simulated]);
    assert!(comparison.rows[0].error_pct.is_some());
    assert_eq!((comparison.transition.sizes, comparison.transition.mape_pct), (0, None));
    assert_eq!(diagnose(&log, &comparison, None)[0].code, "failed");
}

#[test]
fn a_row_that_a_message_parts_is_joined_and_one_without_end_is_named() {
    let log = one(BROKEN_ROWS);
    assert_eq!(log.rows.len(), 2);
    assert_eq!((log.rows[0].bytes, log.rows[0].in_place.unwrap().time_us), (1_048_576, 121.3));
    assert_eq!((log.rows[1].bytes, log.rows[1].in_place), (2_097_152, None));
    let cut: Vec<usize> =
        log.problems.iter().filter(|problem| problem.code == "cut-row").map(|problem| problem.line).collect();
    assert_eq!(cut, [4, 5]);
}

#[test]
fn several_tables_are_several_logs() {
    let command = "$ mpirun -np 2 -x NCCL_ALGO=Tree ./build/reduce_scatter_perf -b 8 -e 8G -g 8\n";
    let scattered = SRUN_LABELS.replace("0: ", "");
    let second = scattered.replace("143.09", "71.54").replace("209.19", "104.60").replace("487.09", "243.54");
    let second = second.replace("150.62", "75.31").replace("208.26", "104.13").replace("487.26", "243.63");
    let text = format!("{RCCL}{command}{second}");
    let logs = read("two.log", text.as_bytes()).unwrap();
    assert_eq!(logs.len(), 2);
    assert_eq!((logs[0].collective(), logs[0].table), (Some(Collective::AllReduce), 1));
    assert_eq!(logs[0].environment.len(), 0);
    assert_eq!(logs[1].collective, Some((Collective::ReduceScatter, Origin::Surroundings)));
    assert_eq!((logs[1].ranks(), logs[1].environment["NCCL_ALGO"].as_str()), (Some(16), "Tree"));
    assert_eq!(codes(&logs[1]), ["no-average"]);
    // Several types in one table.
    let half = SRUN_LABELS.lines().last().unwrap().replace("float", " half");
    let logs = read("types.log", format!("{SRUN_LABELS}{half}\n").as_bytes()).unwrap();
    assert_eq!(logs.iter().map(|log| log.datatype.as_str()).collect::<Vec<_>>(), ["float", "half"]);
}

#[test]
fn a_test_without_mpi_prints_a_table_a_process() {
    let rows: String = (0..2)
        .map(|rank| {
            SRUN_LABELS.lines().map(|line| format!("[1,{rank}]<stdout>:{}\n", &line[2..])).collect::<String>()
        })
        .collect();
    let logs = read("nompi.log", rows.as_bytes()).unwrap();
    assert_eq!(logs.len(), 2);
    assert!(codes(&logs[0]).contains(&"separate-processes"), "{:?}", logs[0].problems);
}

#[test]
fn one_half_alone_is_read() {
    let only_out = "\
#       size         count      type   redop    root     time   algbw   busbw #wrong
    67108864      16777216     float     sum      -1    601.5  111.57  209.19      0
";
    let log = one(only_out);
    assert!(log.rows[0].out_of_place.is_some() && log.rows[0].in_place.is_none());
    assert!(!codes(&log).contains(&"cut-row"));
    let only_in = format!(
        "{}\n    67108864      16777216     float     sum      -1{:32}    604.2  111.07  208.26      0\n",
        SRUN_LABELS.lines().next().unwrap().replace("0: ", ""),
        ""
    );
    let log = one(&only_in);
    assert!(log.rows[0].out_of_place.is_none());
    assert_eq!(log.sizes(Mode::OutOfPlace)[&67_108_864].1.time_us, 604.2);
}

#[test]
fn more_columns_are_passed_over() {
    let half = "time   algbw   busbw  #wrong  #bitdiff  i_min  i_max  i_p99  i_cv%";
    let text = format!(
        "#  size  count  type  redop  root  {half}  {half}  timestamp
    67108864      16777216     float     sum      -1    601.5  111.57  209.19      0  0  590.1  612.3  610.0  1.2    604.2  111.07  208.26      3  0  590.1  612.3  610.0  1.2  2026-01-02 03:04:05
"
    );
    let log = one(&text);
    let row = &log.rows[0];
    assert_eq!((row.out_of_place.unwrap().time_us, row.in_place.unwrap().time_us), (601.5, 604.2));
    assert_eq!(row.in_place.unwrap().wrong, Some(3));
    let text = SRUN_LABELS
        .replace("busbw #wrong\n", "busbw #wrong      algo     proto  nchannels\n")
        .replace("208.26      0", "208.26      0      Ring    Simple          16");
    assert_eq!(one(&text).rows, one(SRUN_LABELS).rows);
    let cpu = SRUN_LABELS.replace("    time   algbw", " cputime   algbw");
    assert_eq!(one(&cpu).rows, one(SRUN_LABELS).rows);
}

#[test]
fn the_json_report_is_read() {
    let log = one(JSON_V3);
    assert_eq!((log.format, log.ranks, log.nodes), (Format::Json, Some((2, Origin::Printed)), Some(2)));
    assert_eq!(log.collective, Some((Collective::AllReduce, Origin::Printed)));
    assert_eq!(log.library_version.as_deref(), Some("2.28.7"));
    assert_eq!(log.environment.len(), 2, "only variables of NCCL");
    assert_eq!((log.rows[0].line, log.rows[0].root), (1, None));
    assert_eq!(log.rows[0].in_place.unwrap().wrong, None);
    assert_eq!(log.rows[1].in_place.unwrap().time_us, 2317.3);
    assert_eq!(log.place(2), "run.log results[1]");
    assert!(log.failed.is_none());
    assert_eq!(codes(&log), ["not-finite"]);
    let error = read("r.json", &JSON_V3.as_bytes()[..700]).unwrap_err().to_string();
    assert!(error.contains("r.json is no JSON report") && error.contains("line"), "{error}");
    let error = read("r.json", b"{\"a\": 1}").unwrap_err().to_string();
    assert!(error.contains("no key \"results\""), "{error}");
    let error = read("r.json", b"{\"results\": []}").unwrap_err().to_string();
    assert!(error.contains("no row in \"results\""), "{error}");
}

#[test]
fn files_without_rows_are_refused_with_what_is_in_them() {
    for (text, words) in [
        ("", "none of its 0 lines"),
        (
            "bash: all_reduce_perf: command not found\n",
            "Line 1 says: \"bash: all_reduce_perf: command not found\"",
        ),
        (
            "#\nnode-0: Test NCCL failure common.cu:954 'unhandled system error'\n",
            "Line 2 says: \"node-0: Test NCCL",
        ),
        ("#  size  count  type  redop  root  time  algbw  busbw #wrong\n", "though a header is there"),
        ("8 2 float sum -1\n", "1 rows are cut"),
    ] {
        let error = read("run.log", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("run.log holds no row") && error.contains(words), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        through(&bytes);
    }

    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec(prop::sample::select(WORDS.to_vec()), 0..120)) {
        through(words.join(" ").as_bytes());
    }

    #[test]
    fn no_damage_makes_it_panic(
        sample in prop::sample::select(vec![OLD_ERROR_COLUMN, MPIRUN_TAGS, RCCL, SEND_RECV, BROKEN_ROWS, JSON_V3]),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..40usize), 1..12),
    ) {
        let mut bytes = sample.as_bytes().to_vec();
        for (at, byte, cut) in damage {
            let at = at.index(bytes.len());
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, [byte]);
            if bytes.is_empty() {
                break;
            }
        }
        through(&bytes);
    }
}

const WORDS: [&str; 34] = [
    "\n",
    "\n",
    "\n",
    "\n",
    "8",
    "67108864",
    "18446744073709551615",
    "float",
    "half",
    "sum",
    "none",
    "-1",
    "0",
    "12.90",
    "1e400",
    "1e-99999999999",
    "1e-2147483648",
    "nan",
    "-inf",
    "N/A",
    "#",
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
    "Rank 4294967295 Pid 1 on host device 4294967295 [0] GPU",
    "nThread 4294967295 nGpus 4294967295 minBytes 0 maxBytes 18446744073709551615 step: 0(factor)",
    "# Avg bus bandwidth : inf",
    "# Out of bounds values : 99999999999999999999 FAILED",
    "[1,0]<stdout>:",
    "0: ",
    "NCCL INFO nranks 0 nNodes 0",
    "NCCL_",
    "NCCL_ALGO=",
    "_perf -np 4294967295",
    "é<stdout>:8",
    "Test failure",
];

/// Everything that is done with a log.
fn through(bytes: &[u8]) {
    let Ok(logs) = read("any.log", bytes) else { return };
    for log in &logs {
        for mode in [Mode::OutOfPlace, Mode::InPlace] {
            let sizes: Vec<u64> = log.sizes(mode).into_keys().collect();
            let simulated: Vec<SimulatedRow> = sizes
                .iter()
                .map(|&bytes| SimulatedRow { bytes, time_us: 1.0, ..SimulatedRow::default() })
                .collect();
            let network = NetworkRate { rate: sim_core::Rate(400_000_000_000), nics: 8 };
            let bounds = bound::bounds(log, network);
            for rows in [&simulated[..], &[]] {
                let comparison = compare(log, mode, rows);
                let _ = diagnose(log, &comparison, bounds.as_ref());
                let _ = chart::of_comparison("any", &comparison, false).svg();
            }
            let _ = paired::pair(&logs[0], log, mode);
        }
    }
}
