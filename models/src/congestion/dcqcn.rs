//! DCQCN: rate cuts on congestion notification packets, recovery by timer and byte counter.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3 and
//! figure 7; parameter names in brackets are ConnectX's. Three variants differ in when a cut happens and when
//! alpha moves:
//! - `sigcomm15`: every CNP cuts; alpha rises with the CNP and decays each alpha interval without one.
//! - `connectx`: a CNP cuts unless the last cut is less than a monitor period ago; alpha is averaged each interval.
//! - `hpcc-ns3`: as connectx, but cuts happen only on a grid of monitor periods since the first CNP.
//!
//! Nothing here has a pending event: timers are applied when the state is next looked at (`advance`), and alpha
//! decays in closed form.

use sim_core::Time;

use super::{Allowance, Path};
use crate::config::{DcqcnConfig, DcqcnPreset};

/// Parameters of DCQCN with the preset applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnParams {
    gain: f64,
    alpha_interval: u64,
    alpha_on_cnp: bool,
    initial_alpha: f64,
    decrease_interval: u64,
    decrease_on_grid: bool,
    min_decrease_factor: f64,
    increase_timer: u64,
    byte_counter: u64,
    fast_recovery: u32,
    additive_increase: u64,
    hyper_increase: u64,
    min_rate: u64,
    clamp_target: bool,
}

impl DcqcnParams {
    /// The preset's values, replaced where the configuration gives its own.
    pub fn resolve(config: &DcqcnConfig) -> Self {
        let preset = Self::preset(config.preset);
        Self {
            gain: config.gain.unwrap_or(preset.gain),
            alpha_interval: config.alpha_interval.map_or(preset.alpha_interval, |d| d.0).max(1),
            alpha_on_cnp: preset.alpha_on_cnp,
            initial_alpha: config.initial_alpha.unwrap_or(preset.initial_alpha),
            decrease_interval: config.decrease_interval.map_or(preset.decrease_interval, |d| d.0),
            decrease_on_grid: config.decrease_on_grid.unwrap_or(preset.decrease_on_grid),
            min_decrease_factor: config.min_decrease_factor.unwrap_or(preset.min_decrease_factor),
            increase_timer: config.increase_timer.map_or(preset.increase_timer, |d| d.0).max(1),
            byte_counter: config.byte_counter.map_or(preset.byte_counter, |b| b.0),
            fast_recovery: config.fast_recovery.unwrap_or(preset.fast_recovery),
            additive_increase: config.additive_increase.map_or(preset.additive_increase, |r| r.0),
            hyper_increase: config.hyper_increase.map_or(preset.hyper_increase, |r| r.0),
            min_rate: config.min_rate.map_or(preset.min_rate, |r| r.0).max(1),
            clamp_target: config.clamp_target.unwrap_or(preset.clamp_target),
        }
    }

    /// The values of a preset. Sources: SIGCOMM'15 section 5 and the parameters of "ECN or Delay" (CoNEXT'16);
    /// the ConnectX defaults (mlxconfig / sysfs `ecn/roce_rp`); HPCC's ns-3 `run.py --cc dcqcn`.
    fn preset(preset: DcqcnPreset) -> Self {
        const US: u64 = 1_000_000;
        const MBPS: u64 = 1_000_000;
        match preset {
            DcqcnPreset::Sigcomm15 => Self {
                gain: 1.0 / 256.0,
                alpha_interval: 55 * US,
                alpha_on_cnp: true,
                initial_alpha: 1.0,
                decrease_interval: 0,
                decrease_on_grid: false,
                min_decrease_factor: 0.5,
                increase_timer: 55 * US,
                byte_counter: 10_000_000,
                fast_recovery: 5,
                additive_increase: 40 * MBPS,
                hyper_increase: 400 * MBPS,
                min_rate: 10 * MBPS,
                clamp_target: true,
            },
            DcqcnPreset::Connectx => Self {
                gain: 5.0 / 1024.0,
                alpha_interval: US,
                alpha_on_cnp: false,
                initial_alpha: 1.0,
                decrease_interval: 4 * US,
                decrease_on_grid: false,
                min_decrease_factor: 0.5,
                increase_timer: 300 * US,
                byte_counter: 32_767,
                fast_recovery: 1,
                additive_increase: 5 * MBPS,
                hyper_increase: 50 * MBPS,
                min_rate: MBPS,
                clamp_target: false,
            },
            DcqcnPreset::HpccNs3 => Self {
                gain: 1.0 / 256.0,
                alpha_interval: US,
                alpha_on_cnp: false,
                initial_alpha: 1.0,
                decrease_interval: 4 * US,
                decrease_on_grid: true,
                min_decrease_factor: 0.5,
                increase_timer: 300 * US,
                byte_counter: 0,
                fast_recovery: 1,
                additive_increase: 20 * MBPS,
                hyper_increase: 200 * MBPS,
                min_rate: 1000 * MBPS,
                clamp_target: false,
            },
        }
    }

    /// Writes every value back into a configuration, so that a resolved scenario shows what acted.
    pub fn to_config(&self, preset: DcqcnPreset) -> DcqcnConfig {
        use sim_core::{Bytes, Duration, Rate};
        DcqcnConfig {
            preset,
            gain: Some(self.gain),
            alpha_interval: Some(Duration(self.alpha_interval)),
            initial_alpha: Some(self.initial_alpha),
            decrease_interval: Some(Duration(self.decrease_interval)),
            decrease_on_grid: Some(self.decrease_on_grid),
            min_decrease_factor: Some(self.min_decrease_factor),
            increase_timer: Some(Duration(self.increase_timer)),
            byte_counter: Some(Bytes(self.byte_counter)),
            fast_recovery: Some(self.fast_recovery),
            additive_increase: Some(Rate(self.additive_increase)),
            hyper_increase: Some(Rate(self.hyper_increase)),
            min_rate: Some(Rate(self.min_rate)),
            clamp_target: Some(self.clamp_target),
        }
    }
}

/// The rate machine of one queue pair (the reaction point).
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// Highest rate, bit/s.
    line: u64,
    /// Current rate R_C, bit/s.
    current: u64,
    /// Target rate R_T, bit/s.
    target: u64,
    /// Estimate of congestion, 0–1, as of `alpha_at`.
    alpha: f64,
    /// Last update of alpha.
    alpha_at: u64,
    /// First CNP: the origin of the cut grid.
    origin: u64,
    /// Last cut.
    last_cut: u64,
    /// When a cut that waits for the grid happens; `u64::MAX` none.
    cut_at: u64,
    /// When the timer next increases the rate; `u64::MAX` while at line rate.
    increase_at: u64,
    /// Bytes until the byte counter next increases the rate.
    bytes_left: u64,
    /// Increases by time since the last cut.
    time_stage: u32,
    /// Increases by bytes since the last cut.
    byte_stage: u32,
    /// Cuts so far.
    cuts: u32,
    /// A CNP came since the last update of alpha.
    cnp_seen: bool,
    /// A CNP came at all.
    started: bool,
}

impl Dcqcn {
    /// At line rate, before any CNP.
    pub fn new(path: &Path) -> Self {
        Self {
            line: path.line_rate,
            current: path.line_rate,
            target: path.line_rate,
            alpha: 1.0,
            alpha_at: 0,
            origin: 0,
            last_cut: 0,
            cut_at: u64::MAX,
            increase_at: u64::MAX,
            bytes_left: 0,
            time_stage: 0,
            byte_stage: 0,
            cuts: 0,
            cnp_seen: false,
            started: false,
        }
    }

    /// Current rate, bit/s, as of the last look.
    pub fn rate(&self) -> u64 {
        self.current
    }

    /// Target rate, bit/s, as of the last look.
    pub fn target(&self) -> u64 {
        self.target
    }

    /// Rate cuts so far.
    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    fn allowance(&self) -> Allowance {
        Allowance { rate: self.current, window: u64::MAX }
    }

    /// Takes alpha to `now`: each whole interval since the last update decays it by 1 − g, and the first of them
    /// counts the CNPs since.
    fn update_alpha(&mut self, p: &DcqcnParams, now: u64) {
        let intervals = (now - self.alpha_at) / p.alpha_interval;
        if intervals == 0 {
            return;
        }
        let keep = 1.0 - p.gain;
        let mut decays = intervals;
        if self.cnp_seen && !p.alpha_on_cnp {
            self.alpha = keep * self.alpha + p.gain;
            decays -= 1;
        }
        self.cnp_seen = false;
        self.alpha *= power(keep, decays);
        self.alpha_at += intervals * p.alpha_interval;
    }

    fn cut(&mut self, p: &DcqcnParams, now: u64) {
        self.update_alpha(p, now);
        if p.clamp_target || self.time_stage + self.byte_stage > 0 || self.cuts == 0 {
            self.target = self.current;
        }
        let factor = (1.0 - self.alpha / 2.0).max(p.min_decrease_factor);
        self.current = ((self.current as f64 * factor) as u64).clamp(p.min_rate.min(self.line), self.line);
        self.cuts += 1;
        self.last_cut = now;
        self.cut_at = u64::MAX;
        self.time_stage = 0;
        self.byte_stage = 0;
        self.bytes_left = p.byte_counter;
        self.increase_at = now + p.increase_timer;
    }

    /// One increase (figure 7): fast recovery until a counter reaches F, hyper increase once both are past it,
    /// additive increase between. Without a byte counter the timer's stage alone decides.
    fn increase(&mut self, p: &DcqcnParams) {
        let (time, bytes) = (self.time_stage, self.byte_stage);
        let (most, least) =
            if p.byte_counter == 0 { (time, time) } else { (time.max(bytes), time.min(bytes)) };
        if most >= p.fast_recovery {
            let step = if least > p.fast_recovery { p.hyper_increase } else { p.additive_increase };
            self.target = (self.target + step).min(self.line);
        }
        self.current = (self.current + self.target).div_ceil(2).min(self.line);
        if self.current == self.line {
            self.increase_at = u64::MAX;
        }
    }

    /// Applies all timers that were due by `now`. Returns the new allowance if the rate changed.
    pub fn advance(&mut self, p: &DcqcnParams, now: Time) -> Option<Allowance> {
        let due = self.cut_at.min(self.increase_at);
        if due > now.0 {
            return None;
        }
        while self.cut_at.min(self.increase_at) <= now.0 {
            if self.cut_at <= self.increase_at {
                self.cut(p, self.cut_at);
            } else {
                let at = self.increase_at;
                self.increase_at = at + p.increase_timer;
                self.increase(p);
                self.time_stage += 1;
            }
        }
        Some(self.allowance())
    }

    /// When the rate next changes by itself.
    pub fn next_change(&self) -> Time {
        Time(self.cut_at.min(self.increase_at))
    }

    /// A CNP arrived.
    pub fn on_cnp(&mut self, p: &DcqcnParams, now: Time) -> Allowance {
        self.advance(p, now);
        if !self.started {
            self.started = true;
            self.alpha = p.initial_alpha;
            self.alpha_at = now.0;
            self.origin = now.0;
        }
        if p.decrease_on_grid {
            if self.cut_at == u64::MAX {
                let periods = (now.0 - self.origin) / p.decrease_interval.max(1) + 1;
                self.cut_at = self.origin + periods * p.decrease_interval.max(1);
            }
        } else if self.cuts == 0 || now.0 - self.last_cut >= p.decrease_interval {
            self.cut(p, now.0);
        }
        if p.alpha_on_cnp {
            self.update_alpha(p, now.0);
            self.alpha = (1.0 - p.gain) * self.alpha + p.gain;
            self.alpha_at = now.0;
        } else {
            self.update_alpha(p, now.0);
            // The first CNP only starts the machine in HPCC's ns-3; its own interval does not count it.
            self.cnp_seen = self.origin != now.0 || !p.decrease_on_grid;
        }
        self.allowance()
    }

    /// `bytes` were sent: the byte counter.
    #[inline]
    pub fn on_sent(&mut self, p: &DcqcnParams, now: Time, bytes: u32) -> Option<Allowance> {
        if self.increase_at == u64::MAX && self.cut_at == u64::MAX {
            return None;
        }
        let mut changed = self.advance(p, now);
        if p.byte_counter != 0 && self.increase_at != u64::MAX {
            if self.bytes_left > u64::from(bytes) {
                self.bytes_left -= u64::from(bytes);
            } else {
                self.bytes_left = p.byte_counter;
                self.increase(p);
                self.byte_stage += 1;
                changed = Some(self.allowance());
            }
        }
        changed
    }
}

/// `base` to a whole power, by squaring: IEEE products only, the same on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Duration;

    const PATH: Path = Path { line_rate: 40_000_000_000, base_rtt: 4_000_000, mtu: 1000 };

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn params(preset: DcqcnPreset) -> DcqcnParams {
        DcqcnParams::resolve(&DcqcnConfig { preset, ..DcqcnConfig::default() })
    }

    #[test]
    fn the_first_cnp_halves_and_fast_recovery_halves_the_gap() {
        let p = params(DcqcnPreset::Sigcomm15);
        let mut qp = Dcqcn::new(&PATH);
        assert_eq!(qp.on_cnp(&p, at(100)).rate, 20_000_000_000);
        assert_eq!(qp.target(), 40_000_000_000);
        let mut rates = Vec::new();
        for step in 1..=5 {
            rates.push(qp.advance(&p, at(100 + 55 * step)).unwrap().rate / 1_000_000);
        }
        assert_eq!(rates, [30_000, 35_000, 37_500, 38_750, 39_375]);
    }

    #[test]
    fn additive_increase_follows_fast_recovery() {
        let p = params(DcqcnPreset::Sigcomm15);
        let mut qp = Dcqcn::new(&PATH);
        qp.on_cnp(&p, at(0));
        let halved = qp.on_cnp(&p, at(50)).rate;
        assert!((10_000_000_000..10_100_000_000).contains(&halved), "alpha stays near 1: {halved}");
        assert_eq!(qp.target(), 20_000_000_000, "a clamped target follows every cut");
        qp.advance(&p, at(50 + 55 * 5));
        assert_eq!(qp.target(), 20_000_000_000);
        qp.advance(&p, at(50 + 55 * 6));
        assert_eq!(qp.target(), 20_040_000_000, "R_AI after F = 5 steps");
    }

    #[test]
    fn alpha_decays_in_closed_form_as_it_does_step_by_step() {
        let p = params(DcqcnPreset::Connectx);
        let (mut lazy, mut eager) = (Dcqcn::new(&PATH), Dcqcn::new(&PATH));
        lazy.on_cnp(&p, at(10));
        eager.on_cnp(&p, at(10));
        for us in 11..500 {
            eager.update_alpha(&p, at(us).0);
        }
        lazy.update_alpha(&p, at(499).0);
        assert!((lazy.alpha / eager.alpha - 1.0).abs() < 1e-12);
        assert!((0.05..0.12).contains(&lazy.alpha), "(1 - 5/1024)^489: {}", lazy.alpha);
    }

    #[test]
    fn connectx_cuts_once_a_monitor_period() {
        let p = params(DcqcnPreset::Connectx);
        let mut qp = Dcqcn::new(&PATH);
        qp.on_cnp(&p, at(10));
        qp.on_cnp(&p, at(12));
        assert_eq!(qp.cuts(), 1);
        qp.on_cnp(&p, at(14));
        assert_eq!(qp.cuts(), 2);
        assert_eq!(qp.target(), 40_000_000_000, "consecutive cuts leave the target");
    }

    #[test]
    fn the_grid_variant_cuts_at_the_next_grid_point() {
        let p = params(DcqcnPreset::HpccNs3);
        let mut qp = Dcqcn::new(&PATH);
        assert_eq!(qp.on_cnp(&p, at(10)).rate, 40_000_000_000);
        qp.on_cnp(&p, at(11));
        assert_eq!(qp.next_change(), at(14));
        assert_eq!(qp.cuts(), 0);
        qp.advance(&p, at(14));
        assert_eq!(qp.cuts(), 1);
        assert!(qp.rate() < 20_400_000_000, "alpha near 1: {}", qp.rate());
    }

    #[test]
    fn the_byte_counter_increases_too_and_line_rate_ends_it() {
        let p = params(DcqcnPreset::Connectx);
        let mut qp = Dcqcn::new(&PATH);
        qp.on_cnp(&p, at(0));
        let before = qp.rate();
        for _ in 0..33 {
            qp.on_sent(&p, at(1), 1000);
        }
        assert!(qp.rate() > before, "32767 B passed");
        qp.advance(&p, at(10_000_000));
        assert_eq!(qp.rate(), 40_000_000_000);
        assert_eq!(qp.next_change(), Time::NEVER);
        assert_eq!(qp.on_sent(&p, at(10_000_001), 1000), None);
    }

    #[test]
    fn the_floor_holds() {
        let p = params(DcqcnPreset::HpccNs3);
        let mut qp = Dcqcn::new(&PATH);
        for us in 0..400 {
            qp.on_cnp(&p, at(us));
        }
        qp.advance(&p, at(400));
        assert_eq!(qp.rate(), 1_000_000_000);
    }
}
