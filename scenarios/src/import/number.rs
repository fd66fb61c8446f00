//! Numbers as the other simulators write them, read exactly.

use sim_core::{Duration, Rate};

/// Most digits of a number.
const MAX_DIGITS: u32 = 24;

/// A non-negative decimal number: `mantissa · 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    mantissa: u128,
    exponent: i32,
}

impl Decimal {
    /// Reads `12`, `0.001`, `5e-06`. The reason of a refusal completes `"text" `.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const NOT: &str = "is no number";
        if let Some(rest) = text.strip_prefix('-') {
            return Err(if rest.starts_with(|c: char| c.is_ascii_digit()) { "is negative" } else { NOT });
        }
        let (base, exponent) = match text.split_once(['e', 'E']) {
            Some((base, e)) => (base, e.parse::<i32>().ok().filter(|e| e.abs() <= 60).ok_or(NOT)?),
            None => (text, 0),
        };
        let (mut mantissa, mut digits, mut point, mut any) = (0u128, 0, None, false);
        for (index, c) in base.strip_prefix('+').unwrap_or(base).chars().enumerate() {
            match c {
                '0'..='9' => {
                    any = true;
                    digits += u32::from(mantissa > 0 || c != '0');
                    if digits > MAX_DIGITS {
                        return Err("has too many digits");
                    }
                    mantissa = mantissa * 10 + u128::from(c as u32 - '0' as u32);
                }
                '.' if point.is_none() => point = Some(index),
                _ => return Err(NOT),
            }
        }
        if !any {
            return Err(NOT);
        }
        let length = base.strip_prefix('+').unwrap_or(base).len();
        let decimals = point.map_or(0, |at| length - at - 1);
        let exponent = exponent - i32::try_from(decimals).map_err(|_| "has too many digits")?;
        Ok(Self { mantissa, exponent })
    }

    /// The number times `unit`, rounded half up. `None` when it does not fit.
    pub fn times(self, unit: u64) -> Option<u64> {
        let product = self.mantissa.checked_mul(u128::from(unit))?;
        if product == 0 {
            return Some(0);
        }
        let value = match u32::try_from(self.exponent) {
            Ok(up) => product.checked_mul(10u128.checked_pow(up)?)?,
            Err(_) => match 10u128.checked_pow(self.exponent.unsigned_abs()) {
                Some(down) => product / down + u128::from(product % down >= down.div_ceil(2)),
                None => 0,
            },
        };
        u64::try_from(value).ok()
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }
}

/// A whole number: no sign, point or exponent.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_err(|_| format!("\"{text}\" is too large"));
    }
    Err(match Decimal::parse(text) {
        Ok(_) => format!("\"{text}\" is no whole number"),
        Err(why) => format!("{} {why}", super::lines::quote(text)),
    })
}

/// Number and unit of a quantity.
fn split(text: &str) -> (&str, &str) {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c| !number(c)).unwrap_or(text.len());
    let rest = text[end..].strip_prefix(['e', 'E']).map(|r| r.strip_prefix(['-', '+']).unwrap_or(r));
    match rest {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            text.split_at(text.len() - rest.len() + digits)
        }
        _ => text.split_at(end),
    }
}

fn quantity(text: &str, units: &[(&str, u64)], example: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let quoted = super::lines::quote(text);
    let Some(&(_, factor)) = units.iter().find(|(u, _)| *u == unit) else {
        return Err(format!("{quoted} has no known unit; write it as {example}"));
    };
    let decimal = Decimal::parse(number).map_err(|why| format!("{quoted} {why}; write it as {example}"))?;
    decimal.times(factor).ok_or_else(|| format!("{quoted} is too large"))
}

/// A rate as ns-3 reads it: `100Gbps`, `50Mb/s`, or a bare number of bit/s. 0 is refused.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("bps", 1),
        ("b/s", 1),
        ("kbps", 1_000),
        ("Kbps", 1_000),
        ("kb/s", 1_000),
        ("Kb/s", 1_000),
        ("Mbps", 1_000_000),
        ("Mb/s", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("Bps", 8),
        ("B/s", 8),
        ("KBps", 8_000),
        ("kBps", 8_000),
        ("MBps", 8_000_000),
        ("MB/s", 8_000_000),
        ("GBps", 8_000_000_000),
        ("GB/s", 8_000_000_000),
    ];
    match quantity(text, UNITS, "100Gbps")? {
        0 => Err(format!("{} is a rate of 0", super::lines::quote(text))),
        bps => Ok(Rate(bps)),
    }
}

/// A time as ns-3 reads it: `1000ns`, `0.001ms`, `5e-06s`, or a bare number of seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1_000_000_000_000),
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ];
    quantity(text, UNITS, "1000ns").map(Duration)
}

/// A probability, 0 to 1.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    let quoted = super::lines::quote(text);
    Decimal::parse(text).map_err(|why| format!("{quoted} {why}"))?;
    let value: f64 = text.parse().map_err(|_| format!("{quoted} is no number"))?;
    if value <= 1.0 { Ok(value) } else { Err(format!("{quoted} is no probability: it is above 1")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_and_times_of_all_dialects() {
        assert_eq!(rate("100Gbps"), Ok(Rate::gbps(100)));
        assert_eq!(rate("25000000000.0"), Ok(Rate::gbps(25)));
        assert_eq!(rate("10.0Mb/s"), Ok(Rate::mbps(10)));
        assert_eq!(rate("1e11"), Ok(Rate::gbps(100)));
        assert_eq!(rate("50GB/s"), Ok(Rate::gbps(400)));
        assert_eq!(time("1000ns"), Ok(Duration::from_us(1)));
        assert_eq!(time("0.001ms"), Ok(Duration::from_us(1)));
        assert_eq!(time("0.000025ms"), Ok(Duration::from_ns(25)));
        assert_eq!(time("0.0125ms"), Ok(Duration::from_ns(12_500)));
        assert_eq!(time("5e-06s"), Ok(Duration::from_us(5)));
        assert_eq!(time("2.5e-3"), Ok(Duration::from_us(2_500)));
        assert_eq!(time("0.13"), Ok(Duration::from_ms(130)));
    }

    #[test]
    fn refusals_say_why() {
        assert_eq!(rate("0Gbps").unwrap_err(), "\"0Gbps\" is a rate of 0");
        assert_eq!(rate("-5Gbps").unwrap_err(), "\"-5Gbps\" is negative; write it as 100Gbps");
        assert_eq!(rate("5Gib").unwrap_err(), "\"5Gib\" has no known unit; write it as 100Gbps");
        assert_eq!(time("4e13").unwrap_err(), "\"4e13\" is too large");
        assert_eq!(whole("2.0").unwrap_err(), "\"2.0\" is no whole number");
        assert_eq!(whole("-3").unwrap_err(), "\"-3\" is negative");
        assert_eq!(whole("x").unwrap_err(), "\"x\" is no number");
        assert_eq!(whole("99999999999999999999").unwrap_err(), "\"99999999999999999999\" is too large");
        assert_eq!(probability("1.5").unwrap_err(), "\"1.5\" is no probability: it is above 1");
        assert!(probability("nan").is_err() && probability("inf").is_err());
        assert_eq!(probability("0.000000"), Ok(0.0));
    }

    #[test]
    fn rounding_is_half_up_and_large_numbers_do_not_wrap() {
        assert_eq!(Decimal::parse("0.5").unwrap().times(1), Some(1));
        assert_eq!(Decimal::parse("0.49").unwrap().times(1), Some(0));
        assert_eq!(Decimal::parse("1e-50").unwrap().times(u64::MAX), Some(0));
        assert_eq!(Decimal::parse("1e30").unwrap().times(1), None);
        assert_eq!(Decimal::parse("0e60").unwrap().times(7), Some(0));
        assert!(Decimal::parse("1e61").is_err());
        assert_eq!(Decimal::parse(".").unwrap_err(), "is no number");
        assert!(Decimal::parse("0.00").unwrap().is_zero());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+0-9.eEGbpsµ/x]{0,12}") {
            let _ = (rate(&text), time(&text), whole(&text), probability(&text));
        }

        #[test]
        fn whole_nanoseconds_are_exact(ns in 0u64..1_000_000_000_000) {
            let seconds = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(time(&seconds), Ok(Duration::from_ns(ns)));
        }
    }
}
