//! Axes: where a value lies, where ticks stand, in which unit a quantity is told. Arithmetic is + − × ÷ only, so that a
//! drawing has the same bytes on every machine.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Value at its start.
    pub low: f64,
    /// Value at its end; above `low`.
    pub high: f64,
    /// Whether equal factors are equally far apart.
    pub log: bool,
}

impl Scale {
    /// From 0 to a round value not below `most`.
    pub fn from_zero(most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let mut high = step;
        while high < most * 0.999_999 {
            high += step;
        }
        Self { low: 0.0, high, log: false }
    }

    /// From 0 to exactly `most`.
    pub fn up_to(most: f64) -> Self {
        Self { low: 0.0, high: if most > 0.0 { most } else { 1.0 }, log: false }
    }

    /// Between two values with a little room, at round values.
    pub fn around(least: f64, most: f64) -> Self {
        let span = if most > least { most - least } else { (most.abs() * 0.1).max(1e-9) };
        let step = round_step(span / 5.0);
        let low = floor(least / step) * step;
        let mut high = low + step;
        while high < most * (1.0 - 1e-9) {
            high += step;
        }
        Self { low, high, log: false }
    }

    /// Logarithmic, over whole powers of ten. Both are positive.
    pub fn decades(least: f64, most: f64) -> Self {
        let low = power(exponent(least));
        let mut high = power(exponent(most));
        while high < most {
            high *= 10.0;
        }
        Self { low, high: if high > low { high } else { low * 10.0 }, log: true }
    }

    /// Where a value lies: 0 at the start, 1 at the end; beyond them it is held there.
    pub fn part(&self, value: f64) -> f64 {
        let part = if self.log {
            let from = log10(self.low);
            (log10(value.max(self.low)) - from) / (log10(self.high) - from)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// Round values on it, about `about` of them.
    pub fn ticks(&self, about: u32) -> Vec<f64> {
        let mut ticks = Vec::new();
        if self.log {
            let mut at = self.low;
            while at <= self.high * 1.000_001 {
                ticks.push(at);
                at *= 10.0;
            }
            if ticks.len() <= 3 {
                ticks = ticks.iter().flat_map(|t| [*t, t * 2.0, t * 5.0]).collect();
                ticks.retain(|t| *t <= self.high * 1.000_001);
            }
            return ticks;
        }
        let step = round_step((self.high - self.low) / f64::from(about.max(1)));
        let mut number = floor(self.low / step);
        if number * step < self.low - step * 1e-6 {
            number += 1.0;
        }
        while number * step <= self.high + step * 1e-6 {
            ticks.push(number * step);
            number += 1.0;
        }
        ticks
    }
}

/// The least of 1, 2 or 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let base = power(exponent(step));
    [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * base)
        .into_iter()
        .find(|s| *s >= step * 0.999_999)
        .unwrap_or(base * 10.0)
}

fn floor(value: f64) -> f64 {
    let whole = value as i64 as f64;
    if whole > value { whole - 1.0 } else { whole }
}

fn power(exponent: i32) -> f64 {
    let power = (0..exponent.unsigned_abs()).fold(1.0, |power, _| power * 10.0);
    if exponent < 0 { 1.0 / power } else { power }
}

/// The largest power of ten that is not above `value`, which is positive.
fn exponent(value: f64) -> i32 {
    let mut at = 0;
    while at < 300 && power(at + 1) <= value {
        at += 1;
    }
    while at > -300 && power(at) > value {
        at -= 1;
    }
    at
}

/// The logarithm to base 10 of a positive value, to six digits, by halving.
fn log10(value: f64) -> f64 {
    let at = exponent(value);
    let (mut rest, mut part, mut weight) = (value / power(at), 0.0, 0.5);
    for _ in 0..24 {
        rest *= rest;
        if rest >= 10.0 {
            rest /= 10.0;
            part += weight;
        }
        weight /= 2.0;
    }
    f64::from(at) + part
}

/// Cosine and sine of `part` of a full turn, by their series.
pub fn turn(part: f64) -> (f64, f64) {
    let mut x = (part - floor(part)) * std::f64::consts::TAU;
    if x > std::f64::consts::PI {
        x -= std::f64::consts::TAU;
    }
    let (mut cos, mut sin, mut term) = (0.0, 0.0, 1.0);
    for n in 0..28 {
        match n % 4 {
            0 => cos += term,
            1 => sin += term,
            2 => cos -= term,
            _ => sin -= term,
        }
        term *= x / f64::from(n + 1);
    }
    (cos, sin)
}

/// A unit and what a value in the base unit is multiplied by to be told in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its symbol.
    pub name: &'static str,
    /// The factor from the base unit.
    pub factor: f64,
}

impl Unit {
    /// For times up to `most_us` microseconds, from microseconds.
    pub fn of_time(most_us: f64) -> Self {
        let (name, factor) = match most_us {
            t if t < 1.0 => ("ns", 1e3),
            t if t < 2e3 => ("us", 1.0),
            t if t < 2e6 => ("ms", 1e-3),
            _ => ("s", 1e-6),
        };
        Self { name, factor }
    }

    /// For sizes up to `most` bytes, from bytes.
    pub fn of_bytes(most: f64) -> Self {
        let (name, factor) = match most {
            b if b < 2e3 => ("B", 1.0),
            b if b < 2e6 => ("KB", 1e-3),
            b if b < 2e9 => ("MB", 1e-6),
            _ => ("GB", 1e-9),
        };
        Self { name, factor }
    }

    /// A value of the base unit in this one, with the unit's symbol.
    pub fn tell(&self, value: f64) -> String {
        format!("{} {}", figure(value * self.factor), self.name)
    }
}

/// A number of microseconds in its best unit.
pub fn time(us: f64) -> String {
    Unit::of_time(us.abs()).tell(us)
}

/// A number of bytes in its best unit.
pub fn bytes(count: f64) -> String {
    Unit::of_bytes(count.abs()).tell(count)
}

/// A number with about four digits and no trailing zeros.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    let size = value.abs();
    let decimals = match size {
        s if s >= 1000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 || s == 0.0 => 3,
        s => (3 - exponent(s)).clamp(3, 12) as usize,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A whole number with a gap every three digits.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        let scale = Scale::from_zero(6533.1);
        assert_eq!((scale.low, scale.high), (0.0, 8000.0));
        assert_eq!(scale.ticks(5), [0.0, 2000.0, 4000.0, 6000.0, 8000.0]);
        assert_eq!(Scale::from_zero(0.0).high, 1.0);
        let scale = Scale::around(96.2, 103.9);
        assert_eq!((scale.low, scale.high), (96.0, 104.0));
        let scale = Scale::decades(0.03, 250.0);
        assert!((scale.low - 0.01).abs() < 1e-12 && (scale.high - 1000.0).abs() < 1e-9, "{scale:?}");
        assert!((scale.part(1.0) - 0.4).abs() < 1e-6);
    }

    #[test]
    fn turns_are_those_of_the_circle() {
        for (part, cos, sin) in
            [(0.0, 1.0, 0.0), (0.25, 0.0, 1.0), (0.5, -1.0, 0.0), (0.875, 0.5_f64.sqrt(), -0.5_f64.sqrt())]
        {
            let (c, s) = turn(part);
            assert!((c - cos).abs() < 1e-9 && (s - sin).abs() < 1e-9, "{part}: {c} {s}");
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [0.0, 0.012_345, 1.5, 97.654, 12_345.6].map(figure),
            ["0", "0.01235", "1.5", "97.65", "12346"]
        );
        assert_eq!(time(6533.2), "6.533 ms");
        assert_eq!(bytes(458_700.0), "458.7 KB");
        assert_eq!(grouped(1_204_330), "1\u{202f}204\u{202f}330");
    }
}
