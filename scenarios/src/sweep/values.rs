//! Values of a sweep: what kind of quantity they are, and lists made from ranges.

use serde_json::{Number, Value, json};
use sim_core::{Bytes, Duration, Length, Rate};

use super::spec::{Scale, SweepParameter, SweepRange};

/// Most values of one parameter.
const MOST: u64 = 1_000_000;

/// Kinds of value that can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number without a unit; also the text `"0"`.
    Number,
    /// A time.
    Duration,
    /// A rate.
    Rate,
    /// A size.
    Size,
    /// A length.
    Length,
}

impl Kind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Duration => "duration",
            Self::Rate => "rate",
            Self::Size => "size",
            Self::Length => "length",
        }
    }

    /// A value of this kind: whole base units, or the number.
    fn value(self, amount: f64, whole: bool) -> Value {
        let units = amount.round().max(0.0) as u64;
        match self {
            Self::Number if whole => json!(amount.round() as i64),
            Self::Number => Number::from_f64(tidy(amount)).map_or(Value::Null, Value::Number),
            Self::Duration => json!(Duration(units).to_string()),
            Self::Rate => json!(Rate(units).to_string()),
            Self::Size => json!(Bytes(units).to_string()),
            Self::Length => json!(Length(units).to_string()),
        }
    }
}

/// A number without the last digits that sums of steps get wrong: 0.3 instead of 0.30000000000000004.
fn tidy(amount: f64) -> f64 {
    format!("{amount:.12e}").parse().unwrap_or(amount)
}

/// A value that can be measured: a number, or text with a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// What it is.
    pub kind: Kind,
    /// Base units: ps, bit/s, B, mm; or the number.
    pub amount: f64,
}

impl Quantity {
    /// The quantity of a value; `None` for other text, lists and the like.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self { kind: Kind::Number, amount: number.as_f64()? }),
            Value::String(text) => Self::parse(text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The quantity of a text.
    pub fn parse(text: &str) -> Option<Self> {
        let of = |kind, units: u64| Some(Self { kind, amount: units as f64 });
        if let Ok(amount) = text.parse::<f64>() {
            return amount.is_finite().then_some(Self { kind: Kind::Number, amount });
        }
        if let Ok(Duration(units)) = text.parse() {
            return of(Kind::Duration, units);
        }
        if let Ok(Rate(units)) = text.parse() {
            return of(Kind::Rate, units);
        }
        if let Ok(Bytes(units)) = text.parse() {
            return of(Kind::Size, units);
        }
        match text.parse() {
            Ok(Length(units)) => of(Kind::Length, units),
            Err(_) => None,
        }
    }
}

/// The values of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These.
    List(Vec<Value>),
    /// Any between two, for sampled sweeps.
    Between {
        /// What they are.
        kind: Kind,
        /// The least.
        from: f64,
        /// The largest.
        to: f64,
        /// Whether only whole numbers count.
        whole: bool,
        /// In what places between them are even.
        scale: Scale,
    },
}

impl Values {
    /// The values a parameter of a sweep asks for.
    pub fn of(parameter: &SweepParameter) -> Result<Self, String> {
        match (&parameter.values, &parameter.range) {
            (Some(values), None) if values.is_empty() => {
                Err("it has no values: the grid is empty; give it at least one".to_string())
            }
            (Some(values), None) => {
                duplicate(values)?;
                Ok(Self::List(values.clone()))
            }
            (None, Some(range)) => expand(range),
            (None, None) => Err("it has no values: give it \"values\" or a \"range\"".to_string()),
            (Some(_), Some(_)) => {
                Err("it has both \"values\" and a \"range\": remove one of them".to_string())
            }
        }
    }

    /// Values in all; `None` where there is no end of them.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::List(values) => Some(values.len() as u64),
            Self::Between { .. } => None,
        }
    }

    /// The value at `place`, 0 to 1, between the first and the last. What is between two values has four digits.
    pub fn at(&self, place: f64) -> Value {
        match self {
            Self::List(values) => {
                let index = ((place * values.len() as f64) as usize).min(values.len() - 1);
                values[index].clone()
            }
            // A whole number stands for what is from it to the next.
            Self::Between { kind, from, to, whole: true, scale } => {
                kind.value(scale.between(*from, to + 1.0, place).floor().min(*to), true)
            }
            Self::Between { kind, from, to, whole: false, scale } => {
                let amount = scale.between(*from, *to, place);
                let short: f64 = format!("{amount:.3e}").parse().unwrap_or(amount);
                kind.value(short.clamp(*from, *to), false)
            }
        }
    }
}

impl Scale {
    /// What lies at `place`, 0 to 1, from `from` to `to`.
    fn between(self, from: f64, to: f64, place: f64) -> f64 {
        match self {
            Self::Linear => from + place * (to - from),
            Self::Log => geometric(from, to, place),
        }
    }
}

/// `from · (to/from)^place` for 0 < `from` ≤ `to`, by halving: the middle in the logarithm is the root of the product, so
/// that every binary digit of `place` takes one half. Roots are the same on every machine; powers and logarithms are
/// not. Digits below 2⁻⁵³ change nothing.
fn geometric(from: f64, to: f64, place: f64) -> f64 {
    let (mut low, mut high, mut rest) = (from, to, place);
    for _ in 0..f64::MANTISSA_DIGITS {
        if rest <= 0.0 {
            return low;
        }
        // Two roots do not overflow as a product would.
        let middle = (low.sqrt() * high.sqrt()).clamp(low, high);
        rest *= 2.0;
        if rest >= 1.0 {
            (low, rest) = (middle, rest - 1.0);
        } else {
            high = middle;
        }
    }
    if place >= 1.0 { to } else { low }
}

/// A value as `--set` and a table show it: text without quotes.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether two values mean the same: "100KB" and "0.1MB", 1 and 1.0.
fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((Quantity::of(a), Quantity::of(b)), (Some(a), Some(b)) if a == b)
}

fn duplicate(values: &[Value]) -> Result<(), String> {
    for (index, value) in values.iter().enumerate() {
        if let Some(first) = values[..index].iter().position(|earlier| same(earlier, value)) {
            let (a, b) = (plain(&values[first]), plain(value));
            let also = if a == b { String::new() } else { format!(", which is {a}") };
            return Err(format!(
                "the value {b} at {index} stands at {first} already{also}: the same points would be run twice; remove \
                 one of them"
            ));
        }
    }
    Ok(())
}

fn expand(range: &SweepRange) -> Result<Values, String> {
    let quantity = |name: &str, value: &Value| {
        Quantity::of(value)
            .ok_or_else(|| format!("\"{name}\" is {value}, but a number or text with a unit is due"))
    };
    let (from, to) = (quantity("from", &range.from)?, quantity("to", &range.to)?);
    // "0" is any kind.
    let kind = match (from, to) {
        (a, b) if a.kind == b.kind => a.kind,
        (Quantity { kind: Kind::Number, amount: 0.0 }, b) => b.kind,
        (a, b) => return Err(format!("it goes from a {} to a {}", a.kind.name(), b.kind.name())),
    };
    if from.amount > to.amount {
        let (from, to) = (plain(&range.from), plain(&range.to));
        return Err(format!("it goes from {from} to {to}: the grid is empty; the smaller one comes first"));
    }
    let whole = [&range.from, &range.to].iter().all(|value| value.is_i64() || value.is_u64());
    if range.scale == Scale::Log {
        if range.step.is_some() || range.factor.is_some() {
            return Err("its scale is log, but it has a step or a factor: remove one of them; values a factor apart are \
                        even in the logarithm already"
                .to_string());
        }
        if from.amount <= 0.0 {
            return Err(format!(
                "its scale is log, but it begins at {}: there is no logarithm of it; begin above 0",
                plain(&range.from)
            ));
        }
    }
    match (&range.step, range.factor) {
        (None, None) => {
            Ok(Values::Between { kind, from: from.amount, to: to.amount, whole, scale: range.scale })
        }
        (Some(_), Some(_)) => Err("it has both a step and a factor: remove one of them".to_string()),
        (Some(step), None) => {
            let by = quantity("step", step)?;
            if by.kind != kind || by.amount <= 0.0 {
                return Err(format!("its step is {}, but a {} above 0 is due", plain(step), kind.name()));
            }
            let count = ((to.amount - from.amount) / by.amount * (1.0 + 1e-12) + 1e-9).floor() + 1.0;
            let count = limited(count)?;
            let whole = whole && (step.is_i64() || step.is_u64());
            let value = |k: u64| kind.value(from.amount + k as f64 * by.amount, whole);
            Ok(Values::List((0..count).map(value).collect()))
        }
        (None, Some(factor)) => {
            if factor.is_nan() || factor <= 1.0 || from.amount <= 0.0 {
                return Err("a factor needs to be above 1 and a \"from\" above 0: it multiplies".to_string());
            }
            let mut values = Vec::new();
            let mut amount = from.amount;
            while amount <= to.amount * (1.0 + 1e-9) {
                limited(values.len() as f64)?;
                values.push(kind.value(amount, whole && factor.fract() == 0.0));
                amount *= factor;
            }
            duplicate(&values)?;
            Ok(Values::List(values))
        }
    }
}

fn limited(count: f64) -> Result<u64, String> {
    if count > MOST as f64 {
        return Err(format!("it has more than {MOST} values: take a larger step"));
    }
    Ok(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(from: Value, to: Value, step: Option<Value>, factor: Option<f64>) -> Result<Vec<String>, String> {
        match expand(&SweepRange { from, to, step, factor, scale: Scale::Linear })? {
            Values::List(values) => Ok(values.iter().map(plain).collect()),
            Values::Between { .. } => panic!("no list"),
        }
    }

    fn between(from: Value, to: Value, scale: Scale) -> Result<Values, String> {
        expand(&SweepRange { from, to, step: None, factor: None, scale })
    }

    #[test]
    fn ranges_have_both_ends() {
        let kb = list(json!("20KB"), json!("160KB"), None, Some(2.0)).unwrap();
        assert_eq!(kb, ["20KB", "40KB", "80KB", "160KB"]);
        let kb = list(json!("0"), json!("1MB"), Some(json!("400KB")), None).unwrap();
        assert_eq!(kb, ["0B", "400KB", "800KB"]);
        let tenths = list(json!(0.1), json!(0.5), Some(json!(0.1)), None).unwrap();
        assert_eq!(tenths, ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(list(json!(4), json!(16), Some(json!(4)), None).unwrap(), ["4", "8", "12", "16"]);
        assert_eq!(list(json!(2), json!(2), Some(json!(1)), None).unwrap(), ["2"]);
    }

    #[test]
    fn ranges_that_make_no_sense_say_why() {
        for (result, want) in [
            (list(json!("20KB"), json!("10KB"), None, Some(2.0)), "the grid is empty"),
            (list(json!("20KB"), json!("10us"), None, Some(2.0)), "from a size to a duration"),
            (list(json!("x"), json!("10us"), None, Some(2.0)), "\"from\" is \"x\""),
            (list(json!(0), json!(10), None, Some(2.0)), "a factor needs"),
            (list(json!(0), json!(10), Some(json!("1KB")), None), "a number above 0 is due"),
            (list(json!(0), json!(1e9), Some(json!(1)), None), "more than 1000000 values"),
        ] {
            let error = result.unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn equal_values_are_found_whatever_their_unit() {
        let error = duplicate(&[json!("100KB"), json!("1MB"), json!("0.1MB")]).unwrap_err();
        assert!(error.contains("the value 0.1MB at 2 stands at 0 already, which is 100KB"), "{error}");
        assert!(duplicate(&[json!(1), json!("a"), json!("b"), json!(2)]).is_ok());
        assert!(duplicate(&[json!({"dcqcn": {}}), json!({"dcqcn": {}})]).is_err());
    }

    #[test]
    fn places_between_two_values_have_four_digits() {
        let values = between(json!("10KB"), json!("1MB"), Scale::Linear).unwrap();
        assert_eq!(plain(&values.at(0.0)), "10KB");
        assert_eq!(plain(&values.at(0.123456)), "132.2KB");
        let whole = between(json!(1), json!(4), Scale::Linear).unwrap();
        assert_eq!(whole.at(0.999), json!(4));
        assert_eq!(whole.at(0.0), json!(1));
        let list = Values::List(vec![json!("a"), json!("b")]);
        assert_eq!((list.at(0.49), list.at(0.5), list.at(1.0)), (json!("a"), json!("b"), json!("b")));
    }

    #[test]
    fn a_log_scale_is_even_in_the_logarithm() {
        let values = between(json!("10KB"), json!("10MB"), Scale::Log).unwrap();
        let at = |place: f64| plain(&values.at(place));
        // A third of the way is a decade.
        assert_eq!(
            [0.0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 1.0].map(at),
            ["10KB", "100KB", "316.2KB", "1MB", "10MB"]
        );
        // Golden: the same bits on every machine.
        assert_eq!(geometric(1e4, 1e7, 0.123_456).to_bits(), 0x40d6_e98a_4467_913f);
        let mut last = 0.0;
        for step in 0..=1000 {
            let place = f64::from(step) / 1000.0;
            let amount = geometric(1e-3, 1e9, place);
            assert!(amount > last, "{amount} at {place}");
            assert!((amount / (1e-3 * 1e12f64.powf(place)) - 1.0).abs() < 1e-13, "{amount} at {place}");
            last = amount;
        }
        assert_eq!(geometric(7.0, 7.0, 0.4), 7.0);
        assert!(geometric(1e300, f64::MAX, 0.5).is_finite());
    }

    #[test]
    fn whole_numbers_on_a_log_scale_have_their_share() {
        let values = between(json!(1), json!(7), Scale::Log).unwrap();
        let mut counts = [0; 8];
        for step in 0..3000 {
            counts[values.at((f64::from(step) + 0.5) / 3000.0).as_u64().unwrap() as usize] += 1;
        }
        // 1, 2 to 3 and 4 to 7 are a third each.
        assert_eq!(counts[0], 0);
        for third in [counts[1], counts[2] + counts[3], counts[4..].iter().sum::<i32>()] {
            assert!((third - 1000).abs() <= 1, "{counts:?}");
        }
        let error = between(json!("0"), json!("1MB"), Scale::Log).unwrap_err();
        assert!(error.contains("it begins at 0: there is no logarithm of it; begin above 0"), "{error}");
        let range =
            SweepRange { from: json!(1), to: json!(8), step: None, factor: Some(2.0), scale: Scale::Log };
        assert!(expand(&range).unwrap_err().contains("remove one of them"));
    }
}
