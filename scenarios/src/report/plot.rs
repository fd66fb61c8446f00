//! Line charts: axes with units, lines, bands and levels. A page finds the values back from the drawing: `data-plot` says
//! where the axes lie.

use super::scale::{Scale, figure};
use super::svg::{Svg, WIDTH, at, width_of};

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity.
    pub name: String,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// How values are spread.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub fn new(name: &str, unit: &'static str, scale: Scale) -> Self {
        Self { name: name.to_string(), unit, scale }
    }

    /// Its name and unit.
    pub fn label(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in order of x.
    pub points: Vec<(f64, f64)>,
    /// Dashed, for what is no result.
    pub dashed: bool,
}

/// An area: the index of the line whose colour it has, and (x, low, high).
pub type Band = (usize, Vec<(f64, f64, f64)>);

/// A line chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines, at most eight that can be told apart.
    pub lines: Vec<Line>,
    /// Areas between two values at each x.
    pub bands: Vec<Band>,
    /// Horizontal lines with their names.
    pub levels: Vec<(String, f64)>,
}

const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
const PLANE: f64 = 270.0;
const COLOURS: usize = 8;

impl Plot {
    /// Where a value lies in the drawing of a chart without lines.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let bottom = 24.0 + PLANE;
        (LEFT + self.x.scale.part(x) * (WIDTH - RIGHT - LEFT), bottom - self.y.scale.part(y) * PLANE)
    }

    /// The drawing.
    pub fn draw(&self) -> Svg {
        let mut svg = Svg::new(&self.title, WIDTH, 0.0);
        let legend = self.legend(&mut svg); // 16 at least: a chart without lines has room for a legend of its own.
        let (top, bottom) = (legend + 8.0, legend + 8.0 + PLANE);
        svg.set_height(bottom + 46.0);
        self.axes(&mut svg, top, bottom);
        let right = WIDTH - RIGHT;
        let x = |value: f64| LEFT + self.x.scale.part(value) * (right - LEFT);
        let y = |value: f64| bottom - self.y.scale.part(value) * PLANE;
        for (line, band) in &self.bands {
            let up = band.iter().map(|(t, _, high)| format!("{} {}", at(x(*t)), at(y(*high))));
            let down = band.iter().rev().map(|(t, low, _)| format!("{} {}", at(x(*t)), at(y(*low))));
            let d: Vec<String> = up.chain(down).collect();
            if !d.is_empty() {
                svg.path(&format!("M{}Z", d.join("L")), &format!("band c{}", line % COLOURS), "");
            }
        }
        for (name, value) in &self.levels {
            svg.path(&format!("M{} {}H{}", at(LEFT), at(y(*value)), at(right)), "level", "");
            svg.text(right - 4.0, y(*value) - 3.0, "tick small e halo", name);
        }
        // The first line lies on top.
        for (index, line) in self.lines.iter().enumerate().rev() {
            let d: Vec<String> =
                line.points.iter().map(|(a, b)| format!("{} {}", at(x(*a)), at(y(*b)))).collect();
            if d.is_empty() {
                continue;
            }
            let dash = if line.dashed { " dash" } else { "" };
            svg.raw(&format!(
                "<path class=\"line c{}{dash}\" data-n=\"{}\" d=\"M{}\"/>",
                index % COLOURS,
                super::svg::escape(&line.name),
                d.join("L")
            ));
        }
        svg
    }

    /// The names of the lines above the plane; how far down they reach.
    fn legend(&self, svg: &mut Svg) -> f64 {
        let (mut x, mut y) = (LEFT, 16.0);
        for (index, line) in self.lines.iter().enumerate() {
            let width = 40.0 + width_of(&line.name);
            if x > LEFT && x + width > WIDTH - RIGHT {
                (x, y) = (LEFT, y + 18.0);
            }
            let dash = if line.dashed { " dash" } else { "" };
            svg.path(
                &format!("M{} {}h22", at(x), at(y - 4.0)),
                &format!("stroke grid c{}{dash}", index % COLOURS),
                "",
            );
            svg.raw(&format!(
                "<path class=\"line c{}{dash} key\" d=\"M{} {}h22\"/>",
                index % COLOURS,
                at(x),
                at(y - 4.0)
            ));
            svg.text(x + 27.0, y, "", &line.name);
            x += width;
        }
        y
    }

    fn axes(&self, svg: &mut Svg, top: f64, bottom: f64) {
        let right = WIDTH - RIGHT;
        for tick in self.x.scale.ticks(10) {
            let x = LEFT + self.x.scale.part(tick) * (right - LEFT);
            svg.path(&format!("M{} {}V{}", at(x), at(top), at(bottom)), "grid", "");
            svg.text(x, bottom + 17.0, "tick m", &figure(tick));
        }
        for tick in self.y.scale.ticks(7) {
            let y = bottom - self.y.scale.part(tick) * (bottom - top);
            svg.path(&format!("M{} {}H{}", at(LEFT), at(y), at(right)), "grid", "");
            svg.text(LEFT - 8.0, y + 4.0, "tick e", &figure(tick));
        }
        svg.rect((LEFT, top, right - LEFT, bottom - top), "frame", "");
        svg.text((LEFT + right) / 2.0, bottom + 37.0, "m", &self.x.label());
        svg.raw(&format!(
            "<text class=\"m\" transform=\"translate(14 {}) rotate(-90)\">{}</text>",
            at((top + bottom) / 2.0),
            super::svg::escape(&self.y.label())
        ));
        let axis = |axis: &Axis, from: f64, to: f64| {
            format!(
                "[{},{},{},{},{},\"{}\",\"{}\"]",
                at(from),
                at(to),
                axis.scale.low,
                axis.scale.high,
                u8::from(axis.scale.log),
                axis.name,
                axis.unit
            )
        };
        svg.attribute(
            "data-plot",
            &format!("[{},{}]", axis(&self.x, LEFT, right), axis(&self.y, bottom, top)),
        );
    }
}

/// A series as at most `most` spans of equal length, of each its first, lowest, highest and last point, so that no peak
/// is lost.
pub fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= most * 2 || last.0 <= first.0 {
        return points.to_vec();
    }
    let slot = |x: f64| (((x - first.0) / (last.0 - first.0) * most as f64) as usize).min(most - 1);
    let mut kept = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let here = slot(points[start].0);
        let end = start + points[start..].iter().take_while(|point| slot(point.0) == here).count();
        let by = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let low = (start..end).min_by(by).unwrap_or(start);
        let high = (start..end).max_by(by).unwrap_or(start);
        let mut chosen = [start, low, high, end - 1];
        chosen.sort_unstable();
        let mut before = None;
        for index in chosen {
            if before != Some(index) {
                kept.push(points[index]);
            }
            before = Some(index);
        }
        start = end;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_ends_and_extremes() {
        let points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        let mut peaked = points.clone();
        peaked[4321].1 = 99.0;
        peaked[8765].1 = -5.0;
        let kept = thinned(&peaked, 100);
        assert!(kept.len() <= 400, "{}", kept.len());
        assert!(kept.contains(&(4321.0, 99.0)) && kept.contains(&(8765.0, -5.0)));
        assert_eq!((kept[0], kept[kept.len() - 1]), (peaked[0], peaked[9999]));
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thinned(&points[..50], 100).len(), 50);
    }

    #[test]
    fn a_chart_tells_its_axes_with_units() {
        let plot = Plot {
            title: "t".into(),
            x: Axis::new("time", "us", Scale::from_zero(10.0)),
            y: Axis::new("queue", "KB", Scale::from_zero(100.0)),
            lines: vec![Line {
                name: "leaf0:0".into(),
                points: vec![(0.0, 0.0), (10.0, 80.0)],
                dashed: false,
            }],
            bands: Vec::new(),
            levels: vec![("Kmin".into(), 50.0)],
        };
        let svg = plot.draw().element();
        assert!(
            svg.contains(">time (us)</text>") && svg.contains(">queue (KB)</text>") && svg.contains(">Kmin<")
        );
        assert!(svg.contains("data-n=\"leaf0:0\""));
    }
}
