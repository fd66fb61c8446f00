//! Parameters of a shared-buffer switch: memory, PFC, ECN, scheduling and the PFC watchdog.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::{Bytes, Duration, Rate};

use super::{CLASSES, Class};

/// A shared-memory, output-queued Ethernet switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchConfig {
    /// Packet memory of one switch. Default: 32 MB (HPCC presets). Range: > 0.
    pub buffer: Bytes,
    /// Allocation unit of the memory: a packet occupies whole cells. Default: 1 B, exact bytes. Spectrum-1 has
    /// 96 B, Spectrum-2/-3 144 B, Spectrum-4/-5 192 B, Trident/Tomahawk 208–256 B.
    pub cell: Bytes,
    /// Pipeline latency a packet spends between its arrival and its egress queue. Default: 0. Typical: 300–600 ns.
    pub latency: Duration,
    /// When a packet may be forwarded. Default: store-and-forward.
    pub forwarding: Forwarding,
    /// The traffic classes in use; a class not listed is lossy, DWRR weight 1. Default: 3 lossless, 6 strict lossy
    /// (CNPs), the rest lossy.
    pub classes: Vec<ClassConfig>,
    /// DSCP → class, for codepoints that differ from the default class = DSCP / 8 (26 → 3, 48 → 6).
    pub dscp_map: Vec<DscpEntry>,
    /// Memory guaranteed to each ingress (port, class) of a lossless class before shared memory is used.
    /// Default: 4096 B. Source: HPCC ns-3 model.
    pub reserved: Bytes,
    /// When the ingress (port, class) of a lossless class pauses its sender. Default: dynamic, alpha 1/8.
    pub xoff: Threshold,
    /// How far below XOFF an ingress must fall before it resumes its sender (hysteresis). Default: 3072 B.
    pub xon_offset: Bytes,
    /// Memory per ingress port for what arrives after XOFF. Default: auto, what the port's rate, delay, MTU and
    /// reaction time require.
    pub headroom: Headroom,
    /// The most an ingress (port, class) of a lossy class may hold. Default: dynamic, alpha 1.
    pub lossy_ingress: Threshold,
    /// The most an egress (port, class) queue of a lossy class may hold. Default: dynamic, alpha 1.
    /// Source: Broadcom model, egress alpha 1.
    pub lossy_egress: Threshold,
    /// The most an egress (port, class) queue of a lossless class may hold; beyond it packets are dropped even
    /// though the class is lossless (a common misconfiguration). Default: none.
    pub lossless_egress: Option<Threshold>,
    /// The part of the shared memory that lossy classes may use together. Default: all of it.
    pub lossy_pool: Option<Bytes>,
    /// PFC: generation of PAUSE frames and reaction to them.
    pub pfc: PfcConfig,
    /// ECN marking. `null` marks nothing. Default: Kmin 100 KB and Kmax 400 KB per 25 Gb/s, Pmax 0.2.
    pub ecn: Option<EcnConfig>,
    /// PFC watchdog. Default: none.
    pub watchdog: Option<WatchdogConfig>,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            buffer: Bytes(32_000_000),
            cell: Bytes(1),
            latency: Duration::ZERO,
            forwarding: Forwarding::StoreAndForward,
            classes: vec![
                ClassConfig { class: 3, kind: ClassKind::Lossless, scheduler: Scheduler::Dwrr(1) },
                ClassConfig { class: 6, kind: ClassKind::Lossy, scheduler: Scheduler::Strict },
            ],
            dscp_map: Vec::new(),
            reserved: Bytes(4096),
            xoff: Threshold::Dynamic { alpha: 0.125 },
            xon_offset: Bytes(3072),
            headroom: Headroom::Auto,
            lossy_ingress: Threshold::Dynamic { alpha: 1.0 },
            lossy_egress: Threshold::Dynamic { alpha: 1.0 },
            lossless_egress: None,
            lossy_pool: None,
            pfc: PfcConfig::default(),
            ecn: Some(EcnConfig::default()),
            watchdog: None,
        }
    }
}

impl SwitchConfig {
    /// What kind of class `class` is.
    pub fn kind(&self, class: Class) -> ClassKind {
        self.classes.iter().find(|c| c.class == class).map_or(ClassKind::Lossy, |c| c.kind)
    }

    /// How `class` is scheduled.
    pub fn scheduler(&self, class: Class) -> Scheduler {
        self.classes.iter().find(|c| c.class == class).map_or(Scheduler::Dwrr(1), |c| c.scheduler)
    }

    /// The lossless classes, ascending.
    pub fn lossless_classes(&self) -> Vec<Class> {
        (0..CLASSES as Class).filter(|&c| self.kind(c) == ClassKind::Lossless).collect()
    }

    /// Class of each DSCP codepoint.
    pub fn dscp_to_class(&self) -> [Class; 64] {
        let mut map = std::array::from_fn(|dscp| (dscp / 8) as Class);
        for entry in &self.dscp_map {
            map[usize::from(entry.dscp & 63)] = entry.class & 7;
        }
        map
    }
}

/// When a switch may start to send a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Forwarding {
    /// After its last byte has arrived.
    StoreAndForward,
    /// After its first `header` bytes have arrived. A port faster than the one the packet came in by still waits
    /// long enough not to run dry.
    CutThrough {
        /// Bytes that must have arrived. Typical: 64 B–128 B.
        header: Bytes,
    },
}

/// One traffic class of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassConfig {
    /// The class (priority). Range: 0–7.
    pub class: Class,
    /// Lossless, lossy or control.
    pub kind: ClassKind,
    /// How egress ports schedule it. Default: DWRR weight 1.
    #[serde(default)]
    pub scheduler: Scheduler,
}

/// What a switch does when a class congests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassKind {
    /// Protected by PFC.
    Lossless,
    /// Dropped above its thresholds.
    Lossy,
    /// Not charged to the buffer, never paused, dropped or marked: how HPCC's ns-3 treats ACKs. An idealisation.
    Control,
}

/// Egress scheduling of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Before every DWRR class; the higher class first among strict ones.
    Strict,
    /// Deficit weighted round robin with this weight (share of what strict classes leave). Range: 1–100.
    Dwrr(u8),
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::Dwrr(1)
    }
}

/// One entry of a DSCP map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DscpEntry {
    /// The codepoint. Range: 0–63.
    pub dscp: u8,
    /// The class it maps to. Range: 0–7.
    pub class: Class,
}

/// A limit on the shared memory one queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Threshold {
    /// A fixed number of bytes.
    Static(Bytes),
    /// `alpha` times the shared memory that is free now. Source: Choudhury & Hahne (1998).
    Dynamic {
        /// The factor. SONiC's `dynamic_th` n means 2^n. Range: 2^-8 … 2^7; held as a multiple of 1/65536.
        alpha: f64,
    },
}

/// Headroom memory of a port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Headroom {
    /// What the link requires: see `fabsim check`.
    Auto,
    /// This many bytes for each (port, lossless class).
    Bytes(Bytes),
    /// This multiple of rate × one-way delay (HPCC's ns-3 uses 3).
    BdpFactor(f64),
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PfcConfig {
    /// Whether PAUSE frames are sent. Default: true.
    pub enabled: bool,
    /// Quanta of 512 bit times a PAUSE asks for; the pause ends by itself after them. `0` stands for a pause that
    /// never expires (as in HPCC's ns-3). Default: 65535. Range: 0–65535.
    pub quanta: u32,
    /// A standing PAUSE is sent again after this fraction of its quanta. Default: 0.5. Range: (0, 1); 0 sends it
    /// once only, so that it expires under a standing congestion.
    pub refresh: f64,
    /// Size of a PFC frame without preamble and gap. Default: 64 B.
    pub frame: Bytes,
    /// Time from the arrival of a PAUSE to its effect on the sender's queue. Default: 0. IEEE allows 394 quanta at
    /// 100 Gb/s (2.0 us) and 905 at 400 Gb/s (1.2 us).
    pub reaction: Duration,
}

impl Default for PfcConfig {
    fn default() -> Self {
        Self { enabled: true, quanta: 65_535, refresh: 0.5, frame: Bytes(64), reaction: Duration::ZERO }
    }
}

/// ECN marking by queue length (RED on the egress queue of a class).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EcnConfig {
    /// Queue length below which nothing is marked, for a link of `reference_rate`. Default: 100 KB.
    pub kmin: Bytes,
    /// Queue length from which everything is marked. Default: 400 KB.
    pub kmax: Bytes,
    /// Marking probability just below Kmax. Default: 0.2. Range: 0–1.
    pub pmax: f64,
    /// The link rate `kmin` and `kmax` are given for: other links scale them in proportion. `null` uses them for
    /// every link unscaled. Default: 25 Gb/s (HPCC presets).
    pub reference_rate: Option<Rate>,
    /// Thresholds for particular link rates, instead of scaling. With any entry here, a link whose rate is not
    /// listed is an error, unless `reference_rate` is given.
    pub per_rate: Vec<EcnAtRate>,
    /// Whether the queue is looked at when a packet leaves it or joins it. Default: dequeue.
    pub at: EcnPoint,
    /// The classes marked. Default: every lossless class.
    pub classes: Option<Vec<Class>>,
}

impl Default for EcnConfig {
    fn default() -> Self {
        Self {
            kmin: Bytes(100_000),
            kmax: Bytes(400_000),
            pmax: 0.2,
            reference_rate: Some(Rate::gbps(25)),
            per_rate: Vec::new(),
            at: EcnPoint::Dequeue,
            classes: None,
        }
    }
}

/// ECN thresholds of links of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnAtRate {
    /// The link rate.
    pub rate: Rate,
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length from which everything is marked.
    pub kmax: Bytes,
    /// Marking probability just below Kmax. Range: 0–1.
    pub pmax: f64,
}

impl EcnConfig {
    /// The thresholds of a link of `rate`, or `None` when none are given for it.
    pub fn thresholds(&self, rate: Rate) -> Option<EcnAtRate> {
        if let Some(found) = self.per_rate.iter().find(|e| e.rate == rate) {
            return Some(*found);
        }
        let scale = |bytes: Bytes, reference: Rate| {
            Bytes((u128::from(bytes.0) * u128::from(rate.0) / u128::from(reference.0.max(1))) as u64)
        };
        match self.reference_rate {
            Some(reference) => Some(EcnAtRate {
                rate,
                kmin: scale(self.kmin, reference),
                kmax: scale(self.kmax, reference),
                pmax: self.pmax,
            }),
            None if self.per_rate.is_empty() => {
                Some(EcnAtRate { rate, kmin: self.kmin, kmax: self.kmax, pmax: self.pmax })
            }
            None => None,
        }
    }
}

/// Where ECN looks at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPoint {
    /// When the packet leaves: the queue behind it counts. Feedback is one queueing delay fresher.
    Dequeue,
    /// When the packet joins: the queue before it counts.
    Enqueue,
}

/// PFC watchdog of a switch: finds a (port, class) that is paused for too long and breaks the pause.
/// Source: SONiC PFC watchdog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WatchdogConfig {
    /// Whether there is a watchdog at all: a switch for `params`. Default: true.
    pub enabled: bool,
    /// Time paused without progress before a storm is declared. Default: 200 ms.
    pub detection: Duration,
    /// Time without received PAUSE frames before the queue is restored. Default: 200 ms.
    pub restoration: Duration,
    /// Interval at which counters are read. Default: 200 ms.
    pub poll: Duration,
    /// What to do with the queue while the storm lasts. Default: drop.
    pub action: WatchdogAction,
    /// The ports watched. Default: host-facing, so that a storm is charged to the NIC that causes it and not to
    /// every port that its pauses reach.
    pub ports: WatchdogPorts,
    /// Reproduces a known fault (sonic-buildimage#29203): the mitigation itself freezes the received-pause counter,
    /// so that restoration follows although the storm lasts. Default: false.
    pub frozen_counter_bug: bool,
}

impl Default for WatchdogConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            detection: Duration::from_ms(200),
            restoration: Duration::from_ms(200),
            poll: Duration::from_ms(200),
            action: WatchdogAction::Drop,
            ports: WatchdogPorts::HostFacing,
            frozen_counter_bug: false,
        }
    }
}

/// What the watchdog does with a stormed queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogAction {
    /// Drop what is queued and what arrives for it.
    Drop,
    /// Ignore the pause and send.
    Forward,
    /// Only count and report.
    Alert,
}

/// The ports a watchdog watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogPorts {
    /// Ports that lead to hosts.
    HostFacing,
    /// Ports that lead to switches.
    SwitchFacing,
    /// All ports.
    All,
}
