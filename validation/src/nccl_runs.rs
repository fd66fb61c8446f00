//! Published nccl-tests runs on known hardware, simulated from presets alone.
//!
//! Each run names a node preset, the number of nodes and NCCL's settings as they are published with it; nothing is fitted to
//! its times. The simulation of every run uses the same fabric: one leaf a rail, 500 ns a link, 16 packets an ACK.

use collectives::node::NodeConfig;
use collectives::schedule::Operation;
use scenarios::jobs::sizes::{SizesObserver, run_sizes};
use scenarios::language;
use scenarios::spec::Scenario;
use serde_json::{Value, json};

/// A published run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its short name.
    pub name: &'static str,
    /// The hardware and where it was published.
    pub source: &'static str,
    /// The operation.
    pub operation: Operation,
    /// The node, as a scenario writes it.
    pub node: Value,
    /// Nodes.
    pub nodes: u32,
    /// Ranks of a node, where not all GPUs.
    pub ranks_per_node: Option<u32>,
    /// NCCL's settings.
    pub nccl: Value,
    /// What is to be said about it: assumptions, faults of the run.
    pub note: &'static str,
    /// Whether its hardware is known and it ran as it should: it counts in the medians.
    pub counts: bool,
    /// Size in bytes and measured microseconds.
    pub rows: &'static [(u64, f64)],
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// All runs.
pub fn runs() -> Vec<Run> {
    let plain = |name, source, operation, node: &str, nodes, rows| Run {
        name,
        source,
        operation,
        node: json!(node),
        nodes,
        ranks_per_node: None,
        nccl: json!({}),
        note: "",
        counts: true,
        rows,
    };
    let all = Operation::AllReduce;
    let rdma = "InfiniBand on the RoCEv2 models at its data rate";
    vec![
        Run {
            note: rdma,
            ..plain(
                "A1",
                "2 × 8 H100, 8 × NDR400, NCCL 2.26.2",
                all,
                "hgx-h100",
                2,
                &[
                    (8, 24.96),
                    (64 * KIB, 33.84),
                    (MIB, 71.93),
                    (4 * MIB, 94.38),
                    (16 * MIB, 185.4),
                    (64 * MIB, 466.1),
                    (256 * MIB, 1282.8),
                    (GIB, 4484.9),
                    (8 * GIB, 34381.0),
                    (16 * GIB, 68652.0),
                ],
            )
        },
        Run {
            note: rdma,
            ..plain(
                "A2",
                "4 × 8 H100, 8 × NDR400, NCCL 2.26.2",
                all,
                "hgx-h100",
                4,
                &[
                    (8, 34.82),
                    (64 * KIB, 50.83),
                    (MIB, 82.17),
                    (16 * MIB, 259.6),
                    (64 * MIB, 579.1),
                    (256 * MIB, 1768.0),
                    (GIB, 5808.8),
                    (16 * GIB, 90986.0),
                ],
            )
        },
        Run {
            note: rdma,
            ..plain(
                "A3",
                "8 × 8 H100, 8 × NDR400, another cluster, default settings",
                all,
                "hgx-h100",
                8,
                &[(MIB, 117.0), (64 * MIB, 718.1), (GIB, 7370.5), (8 * GIB, 52733.0)],
            )
        },
        Run {
            nccl: json!({ "min_channels": 24, "qps_per_connection": 2 }),
            note: rdma,
            ..plain(
                "A4",
                "as A3, NCCL_MIN_CTAS=24, 2 QPs a connection",
                all,
                "hgx-h100",
                8,
                &[(MIB, 127.0), (64 * MIB, 891.7), (GIB, 5640.1), (8 * GIB, 43211.0)],
            )
        },
        Run {
            note: rdma,
            ..plain(
                "A6",
                "4 × 8 H100, 8 × NDR400, the cluster of A3",
                all,
                "hgx-h100",
                4,
                &[(GIB, 6460.4), (8 * GIB, 51285.0)],
            )
        },
        Run {
            note: rdma,
            ..plain(
                "M1",
                "2 DGX H100, small sizes untuned",
                all,
                "dgx-h100",
                2,
                &[(8, 39.09), (GIB, 5961.9), (16 * GIB, 68195.0)],
            )
        },
        Run {
            note: rdma,
            ..plain(
                "M2",
                "2 × 8 H100, NCCL 2.23.4",
                all,
                "hgx-h100",
                2,
                &[
                    (GIB, 4478.8),
                    (2 * GIB, 8722.7),
                    (4 * GIB, 17228.0),
                    (8 * GIB, 34280.0),
                    (16 * GIB, 68359.0),
                ],
            )
        },
        plain(
            "C1",
            "2 AWS p5.48xlarge, EFA 3200 Gb/s",
            all,
            "aws-p5",
            2,
            &[
                (8, 69.12),
                (MIB, 123.2),
                (16 * MIB, 298.1),
                (256 * MIB, 1468.2),
                (GIB, 4607.6),
                (16 * GIB, 66132.0),
            ],
        ),
        plain(
            "F2",
            "8 A100 40 GB in one node (OCI BM.GPU4.8)",
            all,
            "oci-bm-gpu4-8",
            1,
            &[(10_737_418_240, 80922.0)],
        ),
        plain(
            "F1",
            "8 A100 40 GB in one node, all-reduce",
            all,
            "dgx-a100",
            1,
            &[
                (8, 34.66),
                (64 * KIB, 37.82),
                (MIB, 74.78),
                (16 * MIB, 226.0),
                (64 * MIB, 584.5),
                (GIB, 8159.5),
                (8 * GIB, 63896.0),
            ],
        ),
        plain(
            "F3",
            "the same, reduce-scatter",
            Operation::ReduceScatter,
            "dgx-a100",
            1,
            &[
                (64 * KIB, 36.78),
                (MIB, 72.37),
                (16 * MIB, 152.4),
                (64 * MIB, 356.1),
                (GIB, 4203.0),
                (8 * GIB, 32464.0),
            ],
        ),
        plain(
            "F4",
            "the same, all-gather",
            Operation::AllGather,
            "dgx-a100",
            1,
            &[
                (64 * KIB, 87.67),
                (MIB, 87.42),
                (16 * MIB, 160.4),
                (64 * MIB, 396.8),
                (GIB, 4335.5),
                (8 * GIB, 33508.0),
            ],
        ),
        Run {
            nccl: json!({ "algorithm": "ring" }),
            ..plain(
                "H1",
                "2 AWS p3dn (8 V100, EFA 100 Gb/s), NCCL 2.4.8, ring",
                all,
                "aws-p3dn",
                2,
                &[(8, 145.4), (MIB, 709.3), (64 * MIB, 16964.0), (GIB, 228_178.0)],
            )
        },
        Run {
            counts: false,
            note: "hardware inferred from the name of a repository",
            ..plain(
                "D1",
                "2 × 8 H100, GCP A3-Mega",
                all,
                "gcp-a3-mega",
                2,
                &[(8, 135.8), (MIB, 203.2), (64 * MIB, 1261.6), (GIB, 6759.0), (8 * GIB, 47535.0)],
            )
        },
        Run {
            counts: false,
            note: "speed of the NICs not stated, 8 × 400 Gb/s assumed",
            ..plain(
                "I2",
                "2 × 8 B200 (GKE A4), all-gather",
                Operation::AllGather,
                "dgx-b200",
                2,
                &[(KIB, 54.07), (MIB, 79.74), (16 * MIB, 122.9), (256 * MIB, 877.5), (8 * GIB, 24489.0)],
            )
        },
        Run {
            counts: false,
            ranks_per_node: Some(64),
            note: "2 racks × 16 machines × 4; 400 Gb/s a GPU assumed",
            ..plain(
                "J1",
                "128 GB200 in two NVL72 racks, NCCL 2.29.2",
                all,
                "gb200-nvl72",
                2,
                &[(8, 183.82), (MIB, 291.13), (256 * MIB, 1555.75), (32 * GIB, 99744.6)],
            )
        },
        Run {
            counts: false,
            note: "misconfigured: the author found a fixed 10–12 us for each 128 KiB step of the host",
            ..plain(
                "K1",
                "2 × 8 H100, 8 × 400G RoCE, NCCL 2.31.2",
                all,
                "hgx-h100-roce",
                2,
                &[(GIB, 9299.1), (8 * GIB, 69723.5)],
            )
        },
    ]
}

/// A size of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Size in bytes.
    pub bytes: u64,
    /// Measured, in us.
    pub measured_us: f64,
    /// Simulated, in us.
    pub simulated_us: f64,
    /// What NCCL's own cost model predicts, in us.
    pub model_us: f64,
    /// Algorithm and protocol simulated.
    pub how: String,
    /// Whether a steady part was extrapolated.
    pub extrapolated: bool,
}

impl Row {
    /// Simulated over measured − 1.
    pub fn error(&self) -> f64 {
        self.simulated_us / self.measured_us - 1.0
    }

    /// NCCL's model over measured − 1.
    pub fn model_error(&self) -> f64 {
        self.model_us / self.measured_us - 1.0
    }
}

struct Unwatched;

impl SizesObserver for Unwatched {
    fn done(&self, _: usize, _: usize) {}
    fn stop(&self) -> bool {
        false
    }
}

/// The scenario of a run.
pub fn scenario(run: &Run) -> Scenario {
    let node = serde_json::from_value::<NodeConfig>(run.node.clone()).expect("a preset");
    let spec = node.resolve().expect("a preset");
    let rate = format!("{}Gbps", spec.nic_rate_gbps);
    let mut job = json!({
        "nccl": run.nccl,
        "work": { "collective": { "operation": "all-reduce", "size": "1MiB" } }
    });
    if let Some(ranks) = run.ranks_per_node {
        job["ranks_per_node"] = json!(ranks);
    }
    let text = json!({
        "schema_version": 1,
        "name": run.name,
        "topology": { "rail": {
            "nodes": run.nodes, "nics_per_node": spec.nics, "spines": 4,
            "link": { "rate": rate, "delay": "500ns" }
        } },
        "nic": { "mtu": "4096B", "ack_every": 16 },
        "congestion": "none",
        "cluster": { "node": run.node, "nodes": run.nodes },
        "jobs": [job]
    });
    language::load(&text.to_string(), run.name, &[]).unwrap_or_else(|e| panic!("{}: {e}", run.name)).scenario
}

/// Simulates the sizes of a run up to `largest`.
pub fn simulate(run: &Run, largest: u64, threads: usize) -> Vec<Row> {
    let scenario = scenario(run);
    let rows: Vec<(u64, f64)> = run.rows.iter().copied().filter(|(bytes, _)| *bytes <= largest).collect();
    let sizes: Vec<u64> = rows.iter().map(|(bytes, _)| *bytes).collect();
    let results = run_sizes(&scenario, run.operation, &sizes, false, threads, &Unwatched)
        .unwrap_or_else(|e| panic!("{}: {e}", run.name));
    rows.iter()
        .zip(results)
        .map(|(&(bytes, measured_us), result)| {
            let c = result.collective;
            Row {
                bytes,
                measured_us,
                simulated_us: c.step_time_us.map_or(f64::INFINITY, |time| time.mean),
                model_us: c.nccl_model_us,
                how: format!("{}/{}", c.algorithm, c.protocol),
                extrapolated: c.extrapolated_loops > 0,
            }
        })
        .collect()
}

/// Microseconds of its smallest size that the simulation does not have, where that is more than 30 %: what hosts and
/// software of the run took beyond NCCL's tables. All its rows have it.
pub fn host_limited_by(rows: &[Row]) -> Option<f64> {
    let first = rows.iter().filter(|row| row.bytes <= 64 * KIB).min_by_key(|row| row.bytes)?;
    (first.error() < -0.3 / 1.3).then_some(first.measured_us - first.simulated_us)
}

/// Median of absolute values; NaN of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().map(f64::abs).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}
