//! Units of the simulation, each a transparent integer newtype, and their text forms.
//!
//! Text always carries a unit: `"400Gbps"`, `"1us"`, `"200KB"`, `"300m"`. `KB` is 1000 bytes and `KiB` 1024.
//! A value with the unit of another quantity (`"400GB"` where a rate is due) is an error that names both.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text has a number but no unit.
    #[error("\"{text}\" has no unit: a {wanted} is due, such as \"{example}\"")]
    NoUnit {
        /// The text as written.
        text: String,
        /// What was due.
        wanted: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// The text is a valid quantity of another kind.
    #[error("\"{text}\" is a {found}, but a {wanted} is due, such as \"{example}\"")]
    WrongKind {
        /// The text as written.
        text: String,
        /// What the unit says it is.
        found: &'static str,
        /// What was due.
        wanted: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// The unit is not known.
    #[error("\"{text}\" is no {wanted}: unknown unit \"{unit}\"; write it as \"{example}\"")]
    UnknownUnit {
        /// The text as written.
        text: String,
        /// The unit found.
        unit: String,
        /// What was due.
        wanted: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// The number cannot be read, is negative, or does not fit.
    #[error("\"{text}\" is no {wanted}: {why}; write it as \"{example}\"")]
    BadNumber {
        /// The text as written.
        text: String,
        /// What is wrong with the number.
        why: &'static str,
        /// What was due.
        wanted: &'static str,
        /// A valid example.
        example: &'static str,
    },
}

/// (unit text, numerator, denominator): one unit is numerator/denominator of the base unit.
type UnitTable = &'static [(&'static str, u64, u64)];

const DURATION_UNITS: UnitTable = &[
    ("ps", 1, 1),
    ("ns", 1_000, 1),
    ("us", 1_000_000, 1),
    ("µs", 1_000_000, 1),
    ("ms", 1_000_000_000, 1),
    ("s", 1_000_000_000_000, 1),
];
const RATE_UNITS: UnitTable = &[
    ("bps", 1, 1),
    ("b/s", 1, 1),
    ("Kbps", 1_000, 1),
    ("kbps", 1_000, 1),
    ("Kb/s", 1_000, 1),
    ("kb/s", 1_000, 1),
    ("Mbps", 1_000_000, 1),
    ("Mb/s", 1_000_000, 1),
    ("Gbps", 1_000_000_000, 1),
    ("Gb/s", 1_000_000_000, 1),
    ("Tbps", 1_000_000_000_000, 1),
    ("Tb/s", 1_000_000_000_000, 1),
];
const BYTES_UNITS: UnitTable = &[
    ("B", 1, 1),
    ("KB", 1_000, 1),
    ("kB", 1_000, 1),
    ("MB", 1_000_000, 1),
    ("GB", 1_000_000_000, 1),
    ("TB", 1_000_000_000_000, 1),
    ("KiB", 1 << 10, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
    ("TiB", 1 << 40, 1),
];
const LENGTH_UNITS: UnitTable = &[("mm", 1, 1), ("cm", 10, 1), ("m", 1_000, 1), ("km", 1_000_000, 1)];

struct Kind {
    name: &'static str,
    units: UnitTable,
    example: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { name: "duration", units: DURATION_UNITS, example: "1us" },
    Kind { name: "rate", units: RATE_UNITS, example: "400Gbps" },
    Kind { name: "size", units: BYTES_UNITS, example: "200KB" },
    Kind { name: "length", units: LENGTH_UNITS, example: "40m" },
];

/// Reads `number unit` exactly: the value in base units must be a whole number after rounding half up.
fn parse_quantity(text: &str, kind: usize) -> Result<u64, UnitError> {
    let Kind { name: wanted, units, example } = KINDS[kind];
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_' || c == '-' || c == '+'))
        .unwrap_or(trimmed.len());
    // An exponent ("1e9bps") belongs to the number when digits follow the e.
    let split = match trimmed[split..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            split + 1 + digits
        }
        _ => split,
    };
    let (number, unit) = (trimmed[..split].trim(), trimmed[split..].trim());
    let bad = |why| UnitError::BadNumber { text: text.to_string(), why, wanted, example };
    if number.is_empty() {
        return Err(bad("it does not start with a number"));
    }
    if unit.is_empty() {
        return if number == "0" {
            Ok(0)
        } else {
            Err(UnitError::NoUnit { text: text.to_string(), wanted, example })
        };
    }
    let Some(&(_, numerator, denominator)) = units.iter().find(|(u, _, _)| *u == unit) else {
        let other = KINDS.iter().find(|k| k.units.iter().any(|(u, _, _)| *u == unit));
        return Err(match other {
            Some(k) => UnitError::WrongKind { text: text.to_string(), found: k.name, wanted, example },
            None => {
                UnitError::UnknownUnit { text: text.to_string(), unit: unit.to_string(), wanted, example }
            }
        });
    };
    let (mantissa, scale) = parse_decimal(number).ok_or_else(|| bad("its number cannot be read"))?;
    let scaled = mantissa
        .checked_mul(u128::from(numerator))
        .ok_or_else(|| bad("it is larger than the simulator can hold"))?;
    let divisor = scale * u128::from(denominator);
    let value = (scaled + divisor / 2) / divisor;
    u64::try_from(value).map_err(|_| bad("it is larger than the simulator can hold"))
}

/// A non-negative decimal number as (mantissa, power of ten it is divided by).
fn parse_decimal(number: &str) -> Option<(u128, u128)> {
    let (base, exponent) = match number.split_once(['e', 'E']) {
        Some((base, exponent)) => (base, exponent.parse::<u32>().ok().filter(|e| *e <= 18)?),
        None => (number, 0),
    };
    let mut mantissa: u128 = 0;
    let mut scale: u128 = 1;
    let (mut digits, mut seen_point) = (0, false);
    for c in base.strip_prefix('+').unwrap_or(base).chars() {
        match c {
            '0'..='9' => {
                digits += 1;
                if digits > 24 {
                    return None;
                }
                mantissa = mantissa * 10 + u128::from(c as u32 - '0' as u32);
                if seen_point {
                    scale *= 10;
                }
            }
            '.' if !seen_point => seen_point = true,
            '_' => {}
            _ => return None,
        }
    }
    (digits > 0).then_some(())?;
    Some((mantissa.checked_mul(10u128.pow(exponent))?, scale))
}

/// Largest unit of `units` that writes `value` with at most three decimals, as exact text.
fn format_quantity(value: u64, units: &[(&'static str, u64)]) -> String {
    for &(unit, size) in units.iter().rev() {
        if value >= size && (u128::from(value) * 1000).is_multiple_of(u128::from(size)) {
            let thousandths = u128::from(value) * 1000 / u128::from(size);
            let (whole, fraction) = (thousandths / 1000, thousandths % 1000);
            return if fraction == 0 {
                format!("{whole}{unit}")
            } else {
                format!("{whole}.{fraction:03}").trim_end_matches('0').to_string() + unit
            };
        }
    }
    format!("{value}{}", units[0].0)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $kind:expr, $display:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0);
            /// The largest value: "never" or "no limit".
            pub const MAX: Self = Self(u64::MAX);
        }
        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse_quantity(text, $kind).map(Self)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format_quantity(self.0, $display))
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a {} with its unit, such as \"{}\"", KINDS[$kind].name, KINDS[$kind].example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_str(Visitor)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "description": concat!("A ", stringify!($name), " with its unit."),
                })
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, by: u64) -> Self {
                Self(self.0 / by)
            }
        }
    };
}

quantity!(
    /// A span of simulated time, in picoseconds.
    Duration,
    0,
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    r"^\s*[0-9][0-9._]*(e[0-9]+)?\s*(ps|ns|us|µs|ms|s)\s*$|^0$"
);
quantity!(
    /// A rate, in bits per second.
    Rate,
    1,
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)],
    r"^\s*[0-9][0-9._]*(e[0-9]+)?\s*[KkMGT]?b(ps|/s)\s*$|^0$"
);
quantity!(
    /// An amount of data, in bytes. `KB` is 1000, `KiB` is 1024.
    Bytes,
    2,
    &[("B", 1), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)],
    r"^\s*[0-9][0-9._]*(e[0-9]+)?\s*([KkMGT]?B|[KMGT]iB)\s*$|^0$"
);
quantity!(
    /// A cable length, in millimetres.
    Length,
    3,
    &[("mm", 1), ("m", 1_000), ("km", 1_000_000)],
    r"^\s*[0-9][0-9._]*(e[0-9]+)?\s*(mm|cm|m|km)\s*$|^0$"
);

/// A point of simulated time: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// The span since `earlier`. `earlier` must not be later than `self`.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

impl Duration {
    /// The span in microseconds, for people and statistics.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The span in whole nanoseconds, rounded down.
    pub fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }
    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
}

impl Rate {
    /// A rate of whole gigabits per second.
    pub const fn gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// A rate of whole megabits per second.
    pub const fn mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// The rate in Gb/s, for people and statistics.
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time to serialise `bytes` at this rate: exact, rounded up to a picosecond. The rate must not be zero.
    #[inline]
    pub fn tx_time(self, bytes: u64) -> Duration {
        const PS_BITS: u64 = 8 * PS_PER_S;
        if let Some(bits) = bytes.checked_mul(PS_BITS) {
            Duration(bits.div_ceil(self.0))
        } else {
            let wide = (u128::from(bytes) * u128::from(PS_BITS)).div_ceil(u128::from(self.0));
            Duration(u64::try_from(wide).unwrap_or(u64::MAX))
        }
    }

    /// Bytes that pass in `span` at this rate, rounded down.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let wide = u128::from(self.0) * u128::from(span.0) / (8 * u128::from(PS_PER_S));
        Bytes(u64::try_from(wide).unwrap_or(u64::MAX))
    }
}

impl Length {
    /// Propagation delay of this length at 5 ns per metre (light in fibre or copper, about 0.66 c).
    pub const fn propagation(self) -> Duration {
        Duration(self.0 * 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_round_trip() {
        for text in ["400Gbps", "1us", "12.5Gbps", "4096B", "200KB", "38912B", "300m", "2.5ms", "83.84ns"] {
            let shown = match text.parse::<Rate>() {
                Ok(rate) => rate.to_string(),
                Err(_) => match text.parse::<Duration>() {
                    Ok(d) => d.to_string(),
                    Err(_) => match text.parse::<Bytes>() {
                        Ok(b) => b.to_string(),
                        Err(_) => text.parse::<Length>().unwrap().to_string(),
                    },
                },
            };
            let expected = if text == "4096B" {
                "4.096KB"
            } else if text == "38912B" {
                "38.912KB"
            } else {
                text
            };
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn kilo_and_kibi_differ() {
        assert_eq!("1KB".parse(), Ok(Bytes(1000)));
        assert_eq!("1KiB".parse(), Ok(Bytes(1024)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes(1536)));
        assert_eq!("1e3B".parse(), Ok(Bytes(1000)));
    }

    #[test]
    fn wrong_kind_names_both() {
        let error = "400GB".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(error, "\"400GB\" is a size, but a rate is due, such as \"400Gbps\"");
        let error = "400".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(error, "\"400\" has no unit: a rate is due, such as \"400Gbps\"");
        let error = "4 parsecs".parse::<Length>().unwrap_err().to_string();
        assert_eq!(error, "\"4 parsecs\" is no length: unknown unit \"parsecs\"; write it as \"40m\"");
        let error = "-4m".parse::<Length>().unwrap_err().to_string();
        assert_eq!(error, "\"-4m\" is no length: its number cannot be read; write it as \"40m\"");
        assert!("99999999999TB".parse::<Bytes>().is_err());
    }

    #[test]
    fn serialisation_time_is_exact_and_rounds_up() {
        assert_eq!(Rate::gbps(400).tx_time(1), Duration(20));
        assert_eq!(Rate::gbps(100).tx_time(1048), Duration(83_840));
        assert_eq!(Rate(3).tx_time(1), Duration(2_666_666_666_667));
        assert_eq!(Rate::gbps(8).tx_time(1 << 40), Duration((1u64 << 40) * 1000));
        assert_eq!(Rate::gbps(100).bytes_in(Duration::from_us(3)), Bytes(37_500));
    }

    #[test]
    fn any_text_is_answered_without_panic() {
        for text in ["", " ", "e9", "1e", "1e999s", "....s", "µs", "1 µs", "１us", "1us2", "+", "1_000B"] {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Bytes>();
        }
        assert_eq!("1 µs".parse(), Ok(Duration::from_us(1)));
    }
}
