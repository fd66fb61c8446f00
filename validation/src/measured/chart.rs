//! A chart of sizes and bus bandwidths or times, as an SVG by itself: both axes logarithmic, light and dark by the
//! reader's setting.

use std::fmt::Write;

use super::comparison::Comparison;
use super::figures::size;

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Size in bytes and value; what is not positive is left out.
    pub points: Vec<(u64, f64)>,
    /// Dashed, for what is not measured.
    pub dashed: bool,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// What the values are, with their unit.
    pub quantity: String,
    /// Its lines.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 58.0;

const STYLE: &str = "\
svg{--ink:#1b1f24;--faint:#5b6570;--grid:#dfe3e8;--paper:#fff;--a:#0b62b8;--b:#c2500a;--c:#1a7f4b;--d:#7a3fb5;--e:#8a6d00;--f:#b3225f}
@media(prefers-color-scheme:dark){svg{--ink:#e8ebee;--faint:#a0aab4;--grid:#333a42;--paper:#14181d;--a:#6cb2ff;--b:#ff9d5c;--c:#5fd39a;--d:#c39bff;--e:#e6c84d;--f:#ff86b5}}
text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--ink)}
.title{font-size:15px;font-weight:600}.tick{fill:var(--faint)}
.grid{stroke:var(--grid);stroke-width:1}.frame{fill:none;stroke:var(--faint)}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
";
const COLOURS: [&str; 6] = ["--a", "--b", "--c", "--d", "--e", "--f"];

/// The measured and simulated bus bandwidths of a comparison, or times where the bus bandwidth is not known.
pub fn of_comparison(title: &str, comparison: &Comparison, time: bool) -> Chart {
    let factor = |row: &super::comparison::ComparedRow| {
        Some(row.measured_busbw_gbytes_per_s? / row.measured_algbw_gbytes_per_s)
    };
    let busbw = !time && comparison.rows.iter().all(|row| factor(row).is_some());
    let value = |row: &super::comparison::ComparedRow, time_us: f64| match factor(row) {
        Some(factor) if busbw => row.bytes as f64 / time_us / 1e3 * factor,
        _ => time_us,
    };
    let (mode, other) = (comparison.mode, comparison.mode.other());
    let mut series = vec![Series {
        name: format!("measured, {}", mode.name()),
        points: comparison.rows.iter().map(|row| (row.bytes, value(row, row.measured_us))).collect(),
        dashed: false,
    }];
    let mut add = |name: String, points: Vec<(u64, f64)>, dashed: bool| {
        if !points.is_empty() {
            series.push(Series { name, points, dashed });
        }
    };
    let others =
        comparison.rows.iter().filter_map(|row| Some((row.bytes, value(row, row.measured_other_us?))));
    add(format!("measured, {}", other.name()), others.collect(), false);
    let rows = || comparison.rows.iter().filter_map(|row| Some((row, row.simulated.as_ref()?)));
    add("simulated".to_string(), rows().map(|(row, s)| (row.bytes, value(row, s.time_us))).collect(), true);
    if busbw {
        let bounds = rows().filter_map(|(row, s)| Some((row.bytes, s.bound_busbw_gbytes_per_s?)));
        add("bound of the links".to_string(), bounds.collect(), true);
    }
    let quantity = if busbw { "bus bandwidth (GB/s)" } else { "time of a call (us)" };
    Chart { title: title.to_string(), quantity: quantity.to_string(), series }
}

impl Chart {
    /// The chart as an SVG document; `None` where there is no point to draw.
    pub fn svg(&self) -> Option<String> {
        let points =
            || self.series.iter().flat_map(|series| series.points.iter()).filter(|point| drawn(point));
        let plane = Plane {
            x: Axis::of(points().map(|(bytes, _)| *bytes as f64), 2.0)?,
            y: Axis::of(points().map(|(_, value)| *value), 10.0)?,
        };
        let title = escape(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"var(--paper)\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"24\">{title}</text>\n"
        );
        self.frame(&mut out, &plane);
        let mut legend = LEFT;
        let mut layers = Vec::new();
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            layers.push(series.layer(&plane, colour, legend));
            legend += 46.0 + 6.6 * series.name.chars().count() as f64;
        }
        // The first series lies on top.
        out.extend(layers.into_iter().rev());
        out.push_str("</svg>\n");
        Some(out)
    }

    /// Grid, ticks and the names of the axes.
    fn frame(&self, out: &mut String, plane: &Plane) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in plane.x.ticks(10) {
            let at = plane.at_x(value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                size(value as u64)
            );
        }
        for value in plane.y.ticks(8) {
            let at = plane.at_y(value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{value}</text>",
                LEFT - 8.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            out,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">size</text>\n\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            right - LEFT,
            bottom - TOP,
            (LEFT + right) / 2.0,
            HEIGHT - 14.0,
            (TOP + bottom) / 2.0,
            escape(&self.quantity)
        );
    }
}

impl Series {
    /// Its line, points and entry in the legend.
    fn layer(&self, plane: &Plane, colour: &str, legend: f64) -> String {
        let dash = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let places: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter(|point| drawn(point))
            .map(|(bytes, value)| (plane.at_x(*bytes as f64), plane.at_y(*value)))
            .collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let mut out = String::new();
        if !path.is_empty() {
            let _ = writeln!(
                out,
                "<path class=\"line\" stroke=\"var({colour})\"{dash} d=\"M{}\"/>",
                path.join("L")
            );
        }
        if !self.dashed {
            for (x, y) in &places {
                let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"var({colour})\"/>");
            }
            out.push('\n');
        }
        let _ = writeln!(
            out,
            "<path class=\"line\" stroke=\"var({colour})\"{dash} d=\"M{legend:.1} 44h24\"/>\
             <text x=\"{:.1}\" y=\"48\">{}</text>",
            legend + 30.0,
            escape(&self.name)
        );
        out
    }
}

/// Whether a point has a place on logarithmic axes.
fn drawn((bytes, value): &(u64, f64)) -> bool {
    *bytes > 0 && value.is_finite() && *value > 0.0
}

/// Both axes and where they lie.
struct Plane {
    x: Axis,
    y: Axis,
}

impl Plane {
    fn at_x(&self, value: f64) -> f64 {
        LEFT + self.x.part(value) * (WIDTH - LEFT - RIGHT)
    }

    fn at_y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.part(value) * (HEIGHT - TOP - BOTTOM)
    }
}

/// A logarithmic axis from one power of its base to another.
struct Axis {
    base: f64,
    low: i32,
    high: i32,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, base: f64) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values {
            least = least.min(value);
            most = most.max(value);
        }
        if least > most {
            return None;
        }
        let low = exponent(least, base);
        let mut high = exponent(most, base);
        if power(base, high) < most {
            high += 1;
        }
        Some(Self { base, low, high: high.max(low + 1) })
    }

    /// Where a value lies, 0 to 1.
    fn part(&self, value: f64) -> f64 {
        // Inside its power linearly in the logarithm, by halving: the same on every machine.
        let at = exponent(value, self.base);
        let (mut rest, mut part, mut weight) = (value / power(self.base, at), 0.0, 0.5);
        for _ in 0..20 {
            rest *= rest;
            if rest >= self.base {
                rest /= self.base;
                part += weight;
            }
            weight /= 2.0;
        }
        (f64::from(at - self.low) + part) / f64::from(self.high - self.low)
    }

    fn ticks(&self, most: i32) -> impl Iterator<Item = f64> {
        let step = ((self.high - self.low) + most - 1) / most;
        (self.low..=self.high).step_by(step.max(1) as usize).map(|at| power(self.base, at))
    }
}

fn power(base: f64, exponent: i32) -> f64 {
    let power = (0..exponent.unsigned_abs()).fold(1.0, |power, _| power * base);
    if exponent < 0 { 1.0 / power } else { power }
}

/// The largest power of `base` that is not above `value`.
fn exponent(value: f64, base: f64) -> i32 {
    let mut at = 0;
    while at < 1000 && power(base, at + 1) <= value {
        at += 1;
    }
    while at > -1000 && power(base, at) > value {
        at -= 1;
    }
    at
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_logarithmic() {
        let axis = Axis::of([0.01, 500.0].into_iter(), 10.0).unwrap();
        assert_eq!((axis.low, axis.high), (-2, 3));
        for (value, part) in [(0.01, 0.0), (1.0, 0.4), (31.622_776_6, 0.7), (1000.0, 1.0)] {
            assert!((axis.part(value) - part).abs() < 1e-5, "{value}: {}", axis.part(value));
        }
        assert!(Axis::of(std::iter::empty(), 2.0).is_none());
        assert_eq!(Axis::of([8.0, 8.0].into_iter(), 2.0).unwrap().high, 4);
    }

    #[test]
    fn charts_are_whole_documents_or_none() {
        let series = |points: Vec<(u64, f64)>| Series { name: "a<b".to_string(), points, dashed: false };
        let chart = |points| Chart {
            title: "t&u".to_string(),
            quantity: "q".to_string(),
            series: vec![series(points)],
        };
        let svg = chart(vec![(8, 0.02), (1 << 30, 300.0), (0, 1.0), (4, f64::NAN)]).svg().unwrap();
        assert!(
            svg.starts_with("<svg ")
                && svg.ends_with("</svg>\n")
                && svg.contains("t&amp;u")
                && svg.contains("a&lt;b")
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(chart(vec![(0, 1.0)]).svg(), None);
    }
}
