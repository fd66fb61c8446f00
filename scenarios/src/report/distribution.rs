//! How completion times are distributed: the cumulative share of flows.

use std::collections::BTreeMap;

use super::document::Figure;
use super::plot::{Axis, Line, Plot};
use super::read::{Table, number};
use super::scale::{Scale, Unit, figure};

/// Most points of a curve.
const POINTS: usize = 400;
/// From this ratio of the largest to the smallest value on the axis is logarithmic.
const WIDE: f64 = 30.0;

/// The distribution of completion times, and that of slowdowns.
pub fn figures(flows: &Table) -> Vec<Figure> {
    let Some(rows) = flows.columns(["class", "fct_us", "ideal_fct_us", "slowdown"]) else {
        return Vec::new();
    };
    let mut fct: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut slowdown = fct.clone();
    let (mut all, mut ideal) = (BTreeMap::new(), Vec::new());
    for [class, time, alone, slow] in rows {
        let name = format!("class {class}");
        *all.entry(name.clone()).or_insert(0usize) += 1;
        fct.entry(name.clone()).or_default().extend(Some(number(time)).filter(|t| t.is_finite()));
        slowdown.entry(name).or_default().extend(Some(number(slow)).filter(|t| t.is_finite()));
        ideal.extend(Some(number(alone)).filter(|t| t.is_finite()));
    }
    let most = fct.values().flatten().chain(&ideal).copied().fold(0.0, f64::max);
    let unit = Unit::of_time(most);
    let mut times = curves(&fct, &all, unit.factor);
    if times.is_empty() {
        return Vec::new();
    }
    let total = ideal.len();
    let label = "each flow alone on its path".to_string();
    times.extend(
        curves(&[(label.clone(), ideal)].into(), &[(label, total)].into(), unit.factor)
            .into_iter()
            .map(|line| Line { dashed: true, ..line }),
    );
    let done: usize = fct.values().map(Vec::len).sum();
    let flows_in_all: usize = all.values().sum();
    let part = if done == flows_in_all {
        format!("All {done} flows are done.")
    } else {
        format!("{done} of {flows_in_all} flows are done; the curve ends at their share.")
    };
    vec![
        chart(
            ("fct", "Completion times of flows", "flow completion time", unit.name),
            times,
            format!(
                "How many of the flows were done within a time, from start to last acknowledgement. The further right of \
                 the dashed curve, the more the flows were held up. {part}"
            ),
        ),
        chart(
            ("slowdown", "Slowdown of flows", "completion time over that alone on the path", "×"),
            curves(&slowdown, &all, 1.0),
            "1 is as fast as on an empty fabric; steep is fair, a long tail to the right is a few flows that suffered."
                .to_string(),
        ),
    ]
}

fn curves(values: &BTreeMap<String, Vec<f64>>, all: &BTreeMap<String, usize>, factor: f64) -> Vec<Line> {
    let drawn = values.iter().filter(|(_, values)| !values.is_empty());
    drawn
        .map(|(name, values)| {
            let mut sorted: Vec<f64> = values.iter().map(|value| value * factor).collect();
            sorted.sort_by(f64::total_cmp);
            Line { name: name.clone(), points: cumulative(&sorted, all[name]), dashed: false }
        })
        .take(8)
        .collect()
}

/// The share in percent at or below each value, of at most [`POINTS`] values that include the ends.
fn cumulative(sorted: &[f64], all: usize) -> Vec<(f64, f64)> {
    let share = |index: usize| (index + 1) as f64 / all.max(1) as f64 * 100.0;
    let mut points = Vec::new();
    let mut before = 0.0;
    let steps = sorted.len().min(POINTS);
    for step in 0..steps {
        let index = if steps == 1 { 0 } else { step * (sorted.len() - 1) / (steps - 1) };
        // In steps, as it is.
        points.extend([(sorted[index], before), (sorted[index], share(index))]);
        before = share(index);
    }
    points
}

fn chart(
    (id, title, name, unit): (&str, &str, &str, &'static str),
    lines: Vec<Line>,
    caption: String,
) -> Figure {
    let values = || lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    let (least, most) = values().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let wide = least > 0.0 && most / least > WIDE;
    let scale = if wide { Scale::decades(least, most) } else { Scale::from_zero(most) };
    let mut data = Table::new(&["curve"]);
    data.header.extend([
        if unit == "×" { "slowdown".to_string() } else { format!("fct_{unit}") },
        "share_percent".to_string(),
    ]);
    for line in &lines {
        data.rows.extend(line.points.iter().map(|(x, y)| vec![line.name.clone(), figure(*x), figure(*y)]));
    }
    let plot = Plot {
        title: title.to_string(),
        x: Axis::new(name, unit, scale),
        y: Axis::new("flows done", "%", Scale { low: 0.0, high: 100.0, log: false }),
        lines,
        bands: Vec::new(),
        levels: Vec::new(),
    };
    Figure { id: id.to_string(), title: title.to_string(), caption, svg: plot.draw(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_at_the_share_that_is_done() {
        assert_eq!(
            cumulative(&[1.0, 2.0, 4.0], 4),
            [(1.0, 0.0), (1.0, 25.0), (2.0, 25.0), (2.0, 50.0), (4.0, 50.0), (4.0, 75.0)]
        );
        let many: Vec<f64> = (0..10_000).map(f64::from).collect();
        let points = cumulative(&many, 10_000);
        assert_eq!((points.len(), points[2 * POINTS - 1]), (2 * POINTS, (9999.0, 100.0)));
    }

    #[test]
    fn without_a_flow_that_is_done_there_is_no_chart() {
        let mut table = Table::new(&["class", "fct_us", "ideal_fct_us", "slowdown"]);
        table.rows.push(["3", "", "10", ""].map(String::from).to_vec());
        assert!(figures(&table).is_empty());
    }
}
