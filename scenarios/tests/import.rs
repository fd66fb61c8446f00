//! Imports as a whole: several files, the scenario they give, and texts that are broken in every way.

use models::config::{CongestionConfig, TopologyConfig, TrafficConfig};
use proptest::prelude::*;
use scenarios::import::{Dialect, ImportError, Imported, Options, import_hpcc, import_htsim};
use scenarios::spec::Scenario;
use sim_core::{Bytes, Duration, Rate};

/// Four hosts on one switch; rows in the form of HPCC's topology.txt.
const STAR: &str = "5 1 4\r\n4\r\n0 4 100Gbps 0.001ms 0\r\n1 4 100Gbps 0.001ms 0\r\n2 4 100Gbps 0.001ms 0\r\n\
                    3 4 100Gbps 0.001ms 0.000001\r\n\r\nFirst line: total node #, switch node #, link #\r\n...\r\n";

/// Rows in the form of HPCC's flow.txt.
const FLOWS: &str = "2\n2 1 3 100 200000000 2\n3 1 3 100 5000000 2.5\n\nFirst line: # of flows\n";

/// Lines of HPCC's config_doc.txt, with another CC_MODE.
const CONFIG: &str = "ENABLE_QCN 1 {0: disable, 1: enable}\n\nPACKET_PAYLOAD_SIZE 1000 {packet size (bytes)}\n\
    FLOW_FILE mix/flow.txt {input file: flow to generate}\nSIMULATOR_STOP_TIME 4.00 {simulation stop time}\n\n\
    CC_MODE 1 {Specifying different CC. 1: DCQCN, 3: HPCC, 7: TIMELY, 8: DCTCP, 10: HPCC-PINT}\n\
    ALPHA_RESUME_INTERVAL 1 {for DCQCN: the interval of update alpha}\nRP_TIMER 900  {for DCQCN}\n\
    EWMA_GAIN 0.00390625\nRATE_AI 50Mb/s {Additive increase (not for DCTCP)}\nHAS_WIN 1\nGLOBAL_T 1\n\
    LINK_DOWN 0 0 0 {a b c: take down link}\nACK_HIGH_PRIO 1\nBUFFER_SIZE 32\n\
    KMAX_MAP 3 25000000000 400 50000000000 800 100000000000 1600\n\
    KMIN_MAP 3 25000000000 100 50000000000 200 100000000000 400\n\
    PMAX_MAP 3 25000000000 0.2 50000000000 0.2 100000000000 0.2\n";

const TRACE: &str = "3\n0 1 4\n\nFirst line: tracing node #\n";

const MATRIX: &str = "Nodes 16\nConnections 3\n0->15 id 1 start 0 size 33554432\n1->6 start 62004000 size 5\n\
                      10->14 id 3 start 0 size 33554432\n";

const TOPO: &str = "Nodes 16\nTiers 2\nPodsize 16\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 1\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nOversubscribed 4\n\nTier 1\nDownlink_speed_Gbps 100\n\
    Radix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";

fn named(texts: &[&str]) -> Vec<(String, String)> {
    texts.iter().enumerate().map(|(i, text)| (format!("file{i}"), text.to_string())).collect()
}

fn hpcc(texts: &[&str], options: &Options) -> Result<Imported, ImportError> {
    import_hpcc(&named(texts), options)
}

fn notes(imported: &Imported) -> String {
    imported.notes.iter().map(|note| format!("{note}\n")).collect()
}

#[test]
fn files_come_in_any_order() {
    let forward = hpcc(&[STAR, FLOWS, CONFIG, TRACE], &Options::default()).unwrap().scenario;
    let files = named(&[STAR, FLOWS, CONFIG, TRACE]).into_iter().rev().collect::<Vec<_>>();
    assert_eq!(import_hpcc(&files, &Options::default()).unwrap().scenario, forward);
}

#[test]
fn a_whole_scenario() {
    let imported = hpcc(&[STAR, FLOWS, CONFIG, TRACE], &Options::default()).unwrap();
    assert_eq!(imported.dialect, "hpcc");
    let scenario = &imported.scenario;
    assert_eq!(scenario.name, "file0");
    let TopologyConfig::Edges(edges) = &scenario.topology else { panic!() };
    assert_eq!(edges.hosts, ["host0", "host1", "host2", "host3"]);
    assert_eq!((edges.links[0].error_rate, edges.links[3].error_rate), (0.0, 0.000_001));
    let [TrafficConfig::Flows(flows)] = &scenario.traffic[..] else { panic!() };
    assert_eq!(flows.list[0].size, Bytes(200_000_000));
    assert_eq!(flows.list[1].start, Duration::from_ms(500));
    assert_eq!(scenario.run.until, Some(Duration::from_ms(2000)));
    let CongestionConfig::Dcqcn(dcqcn) = &scenario.congestion else { panic!() };
    assert_eq!(dcqcn.increase_timer, Some(Duration::from_us(900)));
    let ecn = scenario.switch.ecn.as_ref().unwrap();
    assert_eq!(ecn.thresholds(Rate::gbps(100)).unwrap().kmin, Bytes(400_000));
    assert_eq!(ecn.classes, Some(vec![3]));
    let said = notes(&imported);
    for text in [
        "file0:1: read as hpcc",
        "file0:8: 2 lines of text after the link rows not read",
        "file1:1: flows start from 2s on",
        "file1:5: 1 line of text after the flow rows not read",
        "file2: no effect here: FLOW_FILE",
        "file3: no effect here: trace files",
    ] {
        assert!(said.contains(text), "no \"{text}\" in\n{said}");
    }
}

#[test]
fn scenarios_read_back_as_they_were_written() {
    let mut imported = vec![hpcc(&[STAR, FLOWS, CONFIG], &Options::default()).unwrap()];
    imported.push(hpcc(&[STAR, "1\n0 1 3 10000000 2.0 9.5\n"], &Options::default()).unwrap());
    imported
        .push(hpcc(&[STAR, FLOWS, &CONFIG.replace("CC_MODE 1", "CC_MODE 3")], &Options::default()).unwrap());
    imported
        .push(hpcc(&[STAR, FLOWS, &CONFIG.replace("CC_MODE 1", "CC_MODE 7")], &Options::default()).unwrap());
    imported.push(import_htsim(&named(&[MATRIX, TOPO]), &Options::default()).unwrap());
    imported.push(import_htsim(&named(&[MATRIX]), &Options::default()).unwrap());
    for one in imported {
        let text = serde_json::to_string_pretty(&one.scenario).unwrap();
        let back: Scenario = serde_json::from_str(&text).unwrap();
        assert_eq!(back, one.scenario);
    }
}

#[test]
fn the_dialect_is_found_and_can_be_forced() {
    let dialect = |texts: &[&str]| hpcc(texts, &Options::default()).unwrap().dialect;
    assert_eq!(dialect(&[STAR]), "hpcc");
    assert_eq!(dialect(&[STAR, "1\n0 1 3 10000000 2.0 9.5\n"]), "ns3-rdma");
    assert_eq!(dialect(&[STAR, "1\n0 1 3 1000 2.0\n"]), "conweave");
    assert_eq!(dialect(&[STAR, "1\n7 0 1 3 100 1000 2.0\n"]), "m3");
    assert_eq!(dialect(&["2 1 1 1\n1\n0 1 25000000000.0 1us 0\n"]), "powertcp");
    assert_eq!(dialect(&["3 2 1 1 2 A100\n1 2\n0 1 2400Gbps 1us 0\n0 2 100Gbps 1us 0\n"]), "simai");
    assert_eq!(
        dialect(&[STAR, &CONFIG.replace("HAS_WIN", "NIC_TOTAL_PAUSE_TIME 0\nHAS_WIN")]),
        "astra-network-ns3"
    );
    let forced = Options { dialect: Some(Dialect::Ns3Rdma), ..Options::default() };
    let error = hpcc(&[STAR, FLOWS], &forced).unwrap_err().to_string();
    assert!(error.contains("file1:2: start (column 5)") || error.contains("the dialect is hpcc"), "{error}");
    let error = hpcc(&["2 1 1 1\n1\n0 1 1Gbps 1us 0\n"], &forced).unwrap_err().to_string();
    assert!(error.starts_with("file0:1: a header of 4 fields; dialect ns3-rdma has"), "{error}");
}

#[test]
fn the_shape_of_shipped_files_that_contradict_themselves() {
    let topology = STAR.replace("5 1 4", "4 1 2").replace("\r\n4\r\n", "\r\n0\r\n");
    let topology = topology.replace(" 4 100Gbps", " 0 100Gbps").replace("0 0 100Gbps", "1 0 100Gbps");
    let flows = "1\n2 1 3 100 9 2\n9 1 3 100 9 2\n";
    let error = hpcc(&[&topology, flows], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("file0:1: 2 links announced, 4 rows follow"), "{error}");
    assert!(error.contains("file1:1: 1 flow announced, 2 rows follow"), "{error}");
    assert!(error.contains("file1:3: node 9 is not one of the 4 nodes of file0"), "{error}");
}

#[test]
fn files_that_do_not_belong_are_named() {
    let refusal = |texts: &[&str]| {
        hpcc(texts, &Options { lenient: true, ..Options::default() }).unwrap_err().to_string()
    };
    assert!(refusal(&[FLOWS]).starts_with("no topology file"));
    assert!(refusal(&[]).starts_with("no topology file"));
    assert_eq!(refusal(&[STAR, STAR]), "file1: a second topology file; file0 is one already");
    assert!(
        refusal(&[STAR, "hello\n"]).starts_with("file1: neither a topology, flow, config nor trace file")
    );
    assert!(
        refusal(&[STAR, "0 0\n10000 15\n30000000 100\n"]).starts_with("file1: a distribution of flow sizes")
    );
    assert!(refusal(&[STAR, &"x\n".repeat(1_000_001)]).contains("an import reads at most 1000000"));
    assert!(refusal(&[STAR, MATRIX]).starts_with("file1: neither"));
}

#[test]
fn faster_links_and_names_that_promise_more_are_noted() {
    let text = "4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 400Gbps 1us 0\n";
    let files = [("Spectrum-X_400Gbps_A100".to_string(), text.to_string())];
    let said = notes(&import_hpcc(&files, &Options::default()).unwrap());
    assert!(said.contains("a larger alpha (1/2 at 400Gbps); here 1/8 holds for all"), "{said}");
    assert!(said.contains("the name says 400Gbps, the links of the hosts are 100Gbps"), "{said}");
}

fn mutated(sources: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let odd = prop_oneof![
        Just("-1"),
        Just("0"),
        Just("18446744073709551615"),
        Just("1e60"),
        Just("1e-60"),
        Just("."),
        Just("x"),
        Just("->"),
        Just("nan"),
        Just(""),
        Just("\n"),
        Just("99999999999999999999999999"),
        Just("µs"),
        Just("{"),
        Just("4294967296"),
        Just("Tier 2"),
    ];
    let edit = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), odd, 0..4u8);
    prop::collection::vec(edit, 1..6).prop_map(move |edits| {
        let mut texts: Vec<String> = sources.iter().map(|s| s.to_string()).collect();
        for (which, at, odd, how) in edits {
            let text = &mut texts[which.index(sources.len())];
            let mut words: Vec<String> = text.split(' ').map(str::to_string).collect();
            let at = at.index(words.len());
            match how {
                0 => words[at] = odd.to_string(),
                1 => words.insert(at, odd.to_string()),
                2 => {
                    words.remove(at);
                }
                _ => words.truncate(at + 1),
            }
            *text = words.join(" ");
        }
        texts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes_of_any_kind_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), lenient: bool) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let options = Options { lenient, ..Options::default() };
        let _ = hpcc(&[&text], &options);
        let _ = hpcc(&[STAR, &text], &options);
        let _ = import_htsim(&named(&[&text]), &options);
        let _ = import_htsim(&named(&[MATRIX, &text]), &options);
    }

    #[test]
    fn broken_hpcc_files_do_not_panic(
        texts in mutated(&[STAR, FLOWS, CONFIG, TRACE]),
        lenient: bool,
        forced in prop::option::of(prop::sample::select(Dialect::ALL.to_vec())),
    ) {
        let options = Options { lenient, dialect: forced, ..Options::default() };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match hpcc(&texts, &options) {
            Ok(imported) => {
                let text = serde_json::to_string(&imported.scenario).unwrap();
                prop_assert_eq!(serde_json::from_str::<Scenario>(&text).unwrap(), imported.scenario);
            }
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }

    #[test]
    fn broken_htsim_files_do_not_panic(texts in mutated(&[MATRIX, TOPO]), lenient: bool) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match import_htsim(&named(&texts), &Options { lenient, ..Options::default() }) {
            Ok(imported) => prop_assert!(!imported.dialect.is_empty()),
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }
}
