//! Parameters of congestion control. Each algorithm's own file under `congestion/` says how they act.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration, Rate};

/// Congestion control of the senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionConfig {
    /// Always line rate.
    None,
    /// DCQCN (Zhu et al., SIGCOMM 2015), rate cuts on CNPs.
    Dcqcn(DcqcnConfig),
    /// TIMELY (Mittal et al., SIGCOMM 2015), rate by the gradient of the round-trip time.
    Timely(TimelyConfig),
    /// Swift (Kumar et al., SIGCOMM 2020), window by delay against a target.
    Swift(SwiftConfig),
    /// HPCC (Li et al., SIGCOMM 2019), window by in-band telemetry.
    Hpcc(HpccConfig),
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Dcqcn(DcqcnConfig::default())
    }
}

/// A named set of DCQCN parameters; single parameters given beside it replace its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnPreset {
    /// The paper: g 1/256, 55 us timers, 10 MB byte counter, F 5, R_AI 40 Mb/s.
    Sigcomm15,
    /// What ConnectX NICs ship: g 5/1024 each us, 4 us between cuts, 300 us timer, 32767 B counter, F 1, 5 Mb/s.
    #[default]
    Connectx,
    /// The ns-3 model of HPCC: cuts on a 4 us grid, 300 us timer, F 1, R_AI 20 Mb/s, R_HAI 200 Mb/s, no byte counter.
    HpccNs3,
}

/// DCQCN. Every parameter left out takes its value from the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DcqcnConfig {
    /// The set of defaults. Default: connectx.
    pub preset: DcqcnPreset,
    /// Gain g of alpha's moving average (ConnectX: 1 − dce_tcp_g / 1024). Range: (0, 1].
    pub gain: Option<f64>,
    /// Interval of alpha's update (τ'; dce_tcp_rtt).
    pub alpha_interval: Option<Duration>,
    /// alpha before the first CNP (initial_alpha_value / 1023). Range: 0–1.
    pub initial_alpha: Option<f64>,
    /// Shortest time between two cuts (rate_reduce_monitor_period); 0 cuts at every CNP.
    pub decrease_interval: Option<Duration>,
    /// Whether cuts happen only on the grid of `decrease_interval` since the first CNP (HPCC's ns-3) or at once.
    pub decrease_on_grid: Option<bool>,
    /// The smallest factor of one cut (rpg_min_dec_fac). Range: 0–1.
    pub min_decrease_factor: Option<f64>,
    /// Interval of increases by time (T; rpg_time_reset).
    pub increase_timer: Option<Duration>,
    /// Bytes between increases by bytes (B; rpg_byte_reset). 0 switches the byte counter off.
    pub byte_counter: Option<Bytes>,
    /// Fast-recovery steps before additive increase (F; rpg_threshold).
    pub fast_recovery: Option<u32>,
    /// Additive increase (R_AI; rpg_ai_rate).
    pub additive_increase: Option<Rate>,
    /// Hyper increase, once both counters are past F (R_HAI; rpg_hai_rate).
    pub hyper_increase: Option<Rate>,
    /// The lowest rate (rpg_min_rate).
    pub min_rate: Option<Rate>,
    /// Whether consecutive cuts lower the target too (clamp_tgt_rate); otherwise only a cut after an increase does.
    pub clamp_target: Option<bool>,
}

/// TIMELY, with the names of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimelyConfig {
    /// Weight of a new RTT difference. Default: 0.875 (HPCC's TIMELY). Range: (0, 1].
    pub ewma_gain: f64,
    /// Multiplicative decrease factor β. Default: 0.8. Range: (0, 1].
    pub beta: f64,
    /// Additive increase step δ. Default: 40 Mb/s.
    pub additive_increase: Rate,
    /// Below this queueing-inclusive RTT the rate always increases. Default: 50 us.
    pub t_low: Duration,
    /// Above this RTT the rate always decreases. Default: 500 us.
    pub t_high: Duration,
    /// Least RTT, for normalising the gradient. `null`: the queue pair's own base RTT. Default: `null`.
    pub min_rtt: Option<Duration>,
    /// Updates with a falling RTT before hyper-active increase. Default: 5.
    pub hai_after: u32,
    /// Acknowledged bytes between two updates (the paper's segment, 16–64 KB). Default: 64 KB.
    pub segment: Bytes,
    /// The lowest rate. Default: 100 Mb/s.
    pub min_rate: Rate,
}

impl Default for TimelyConfig {
    fn default() -> Self {
        Self {
            ewma_gain: 0.875,
            beta: 0.8,
            additive_increase: Rate::mbps(40),
            t_low: Duration::from_us(50),
            t_high: Duration::from_us(500),
            min_rtt: None,
            hai_after: 5,
            segment: Bytes(64_000),
            min_rate: Rate::mbps(100),
        }
    }
}

/// Swift, with the names of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwiftConfig {
    /// Queueing delay allowed above the base RTT. Default: 10 us.
    pub base_target: Duration,
    /// Additive increase a round trip, in packets. Default: 1.
    pub additive_increase: f64,
    /// Multiplicative decrease constant β. Default: 0.8. Range: (0, 1].
    pub beta: f64,
    /// Largest decrease of one round trip. Default: 0.5. Range: (0, 1).
    pub max_decrease: f64,
    /// Range of flow-based target scaling. Default: 50 us; 0 switches it off.
    pub flow_scaling: Duration,
    /// Smallest window of flow scaling, in packets. Default: 0.1.
    pub min_window: f64,
    /// Largest window of flow scaling, in packets. Default: 100.
    pub max_scaling_window: f64,
}

impl Default for SwiftConfig {
    fn default() -> Self {
        Self {
            base_target: Duration::from_us(10),
            additive_increase: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            flow_scaling: Duration::from_us(50),
            min_window: 0.1,
            max_scaling_window: 100.0,
        }
    }
}

/// HPCC, with the names of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HpccConfig {
    /// Target utilisation η. Default: 0.95. Range: (0, 1].
    pub eta: f64,
    /// Additive-increase stages before multiplicative increase (maxStage). Default: 5.
    pub max_stage: u32,
    /// Additive increase W_AI in bytes a round trip. Default: 0, which stands for BDP·(1 − η)/100.
    pub additive_increase: Bytes,
    /// The lowest rate. Default: 100 Mb/s.
    pub min_rate: Rate,
}

impl Default for HpccConfig {
    fn default() -> Self {
        Self { eta: 0.95, max_stage: 5, additive_increase: Bytes(0), min_rate: Rate::mbps(100) }
    }
}
