//! Samples over time: queues, buffers and rates.

use std::collections::BTreeMap;

use super::document::Figure;
use super::plot::{Axis, Band, Line, Plot, thinned};
use super::read::{Table, number};
use super::scale::{Scale, Unit, figure};

/// Lines that a chart shows one by one.
const LINES: usize = 7;
/// Spans of a line.
const SPANS: usize = 260;

/// Time, goodput and allowed rate.
type Sample = (f64, f64, f64);

/// The name and the samples of each flow.
type Flows = BTreeMap<u64, (String, Vec<Sample>)>;

/// A level drawn across a chart: its name and its value in bytes.
pub type Level = (String, f64);

/// The longest queues, and the fullest switches. `levels` are those of queues, `buffer` the memory of a switch.
pub fn queues(samples: &Table, levels: &[Level], buffer: Option<f64>) -> Vec<Figure> {
    let Some(rows) = samples.columns(["time_us", "port", "class", "queue_bytes", "switch_buffer_bytes"])
    else {
        return Vec::new();
    };
    let mut queues: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut buffers = queues.clone();
    let mut times: Vec<f64> = Vec::new();
    for [time, port, class, queue, held] in rows {
        let (time, queue, held) = (number(time), number(queue), number(held));
        if !(time.is_finite() && queue.is_finite() && held.is_finite()) {
            continue;
        }
        if times.last() != Some(&time) {
            times.push(time);
        }
        queues.entry(format!("{port} class {class}")).or_default().push((time, queue));
        let switch = port.split(':').next().unwrap_or(port);
        let of_switch = buffers.entry(switch.to_string()).or_default();
        if of_switch.last().is_none_or(|last| last.0 < time) {
            of_switch.push((time, held));
        }
    }
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let count = queues.len();
    let full: Vec<Level> =
        buffer.map(|bytes| ("memory of a switch".to_string(), bytes)).into_iter().collect();
    let shown = if count > LINES { format!("the {LINES} longest of {count}") } else { "all".to_string() };
    let mut figures = Vec::new();
    figures.extend(sizes(
        ("queues", "Queue depth", "egress queue"),
        queues,
        gap,
        levels,
        format!("Bytes waiting in egress queues of switches, {shown} by their peak. A queue that is not listed in a sample is empty."),
    ));
    figures.extend(sizes(
        ("buffers", "Buffer occupancy of switches", "bytes held"),
        buffers,
        gap,
        &full,
        "Bytes that all queues of a switch hold together, of the fullest switches.".to_string(),
    ));
    figures
}

fn sizes(
    (id, title, quantity): (&str, &str, &str),
    series: BTreeMap<String, Vec<(f64, f64)>>,
    gap: f64,
    levels: &[Level],
    caption: String,
) -> Option<Figure> {
    let peak = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut chosen: Vec<(String, Vec<(f64, f64)>)> = series.into_iter().collect();
    chosen.sort_by(|a, b| peak(&b.1).total_cmp(&peak(&a.1)).then_with(|| a.0.cmp(&b.0)));
    chosen.truncate(LINES);
    let most = peak(&chosen.first()?.1);
    // A level far above everything would flatten the lines.
    let levels: Vec<&Level> = levels.iter().filter(|level| level.1 <= most * 1.6).collect();
    let top = levels.iter().map(|level| level.1).fold(most, f64::max);
    let unit = Unit::of_bytes(top);
    let end = chosen.iter().filter_map(|(_, points)| points.last()).map(|point| point.0).fold(0.0, f64::max);
    let clock = Unit::of_time(end);
    let lines: Vec<Line> = chosen
        .into_iter()
        .map(|(name, points)| {
            let scaled = |(t, v): &(f64, f64)| (t * clock.factor, v * unit.factor);
            let points = thinned(&with_empties(&points, gap, end), SPANS).iter().map(scaled).collect();
            Line { name, points, dashed: false }
        })
        .collect();
    let levels = levels
        .iter()
        .map(|(name, bytes)| (format!("{name} {}", unit.tell(*bytes)), bytes * unit.factor))
        .collect();
    let y = Axis::new(quantity, unit.name, Scale::from_zero(top * unit.factor));
    Some(over_time((id, title), lines, Vec::new(), (clock, end), y, levels, caption))
}

/// A series in which samples that are left out are 0.
fn with_empties(points: &[(f64, f64)], gap: f64, end: f64) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    let mut last = 0.0;
    for &(time, value) in points {
        if time - last > gap * 1.5 || (all.is_empty() && time > gap * 1.5) {
            all.push((if all.is_empty() { 0.0 } else { last + gap }, 0.0));
            all.push((time - gap, 0.0));
        }
        all.push((time, value));
        last = time;
    }
    if end - last > gap * 0.5 && gap.is_finite() {
        all.push((last + gap.min(end - last), 0.0));
        all.push((end, 0.0));
    }
    all
}

/// What flows got and what congestion control allowed them.
pub fn rates(samples: &Table) -> Vec<Figure> {
    let named = ["time_us", "flow", "from", "to", "allowed_gbps", "goodput_gbps"];
    let Some(rows) = samples.columns(named) else { return Vec::new() };
    let mut flows = Flows::new();
    for [time, flow, from, to, allowed, goodput] in rows {
        let (time, allowed, goodput) = (number(time), number(allowed), number(goodput));
        if let (Ok(flow), true) =
            (flow.parse(), time.is_finite() && goodput.is_finite() && allowed.is_finite())
        {
            let entry =
                flows.entry(flow).or_insert_with(|| (format!("flow {flow}: {from} → {to}"), Vec::new()));
            entry.1.push((time, goodput, allowed));
        }
    }
    let goodput = |sample: &Sample| sample.1;
    let allowed = |sample: &Sample| sample.2;
    let who = format!("The first {} flows, those of rates.csv.", flows.len());
    let mut figures = Vec::new();
    figures.extend(rate(
        ("goodput", "Goodput of flows over time", "payload delivered"),
        &flows,
        goodput,
        format!("Payload that arrived between two samples. {who}"),
    ));
    figures.extend(rate(
        ("allowed", "Rate that congestion control allows", "allowed rate"),
        &flows,
        allowed,
        format!("The rate a sender may send at, on the wire; what it gets is above. {who}"),
    ));
    figures
}

fn rate(
    (id, title, quantity): (&str, &str, &str),
    flows: &Flows,
    of: impl Fn(&Sample) -> f64,
    caption: String,
) -> Option<Figure> {
    let end = flows.values().flat_map(|(_, s)| s).map(|s| s.0).fold(0.0, f64::max);
    let clock = Unit::of_time(end);
    let (lines, bands) = if flows.len() <= LINES {
        let line = |(name, samples): &(String, Vec<Sample>)| {
            let points: Vec<(f64, f64)> = samples.iter().map(|s| (s.0 * clock.factor, of(s))).collect();
            Line { name: name.clone(), points: thinned(&points, SPANS), dashed: false }
        };
        (flows.values().map(line).collect::<Vec<_>>(), Vec::new())
    } else {
        spread(flows, &of, clock)
    };
    let most = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(0.0, f64::max);
    if lines.is_empty() {
        return None;
    }
    let caption = if bands.is_empty() {
        caption
    } else {
        format!("{caption} Of the flows under way at a time: the median, the slowest and the fastest.")
    };
    let y = Axis::new(quantity, "Gb/s", Scale::from_zero(most));
    Some(over_time((id, title), lines, bands, (clock, end), y, Vec::new(), caption))
}

/// Median, slowest and fastest flow at each time.
fn spread(flows: &Flows, of: &impl Fn(&Sample) -> f64, clock: Unit) -> (Vec<Line>, Vec<Band>) {
    let mut samples: Vec<(f64, f64)> =
        flows.values().flat_map(|(_, samples)| samples).map(|s| (s.0 * clock.factor, of(s))).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let at_once = samples.chunk_by(|a, b| a.0 == b.0);
    let at: Vec<(f64, f64, f64, f64)> =
        at_once.map(|c| (c[0].0, c[0].1, c[c.len() / 2].1, c[c.len() - 1].1)).collect();
    let line = |name: &str, of: fn(&(f64, f64, f64, f64)) -> f64| {
        let points: Vec<(f64, f64)> = at.iter().map(|s| (s.0, of(s))).collect();
        Line { name: name.to_string(), points: thinned(&points, SPANS), dashed: false }
    };
    let lines = vec![line("median", |s| s.2), line("slowest", |s| s.1), line("fastest", |s| s.3)];
    let step = at.len().div_ceil(SPANS * 2).max(1);
    let band = at
        .chunks(step)
        .map(|c| {
            let low = c.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
            (c[0].0, low, c.iter().map(|s| s.3).fold(0.0, f64::max))
        })
        .collect();
    (lines, vec![(0, band)])
}

fn over_time(
    (id, title): (&str, &str),
    lines: Vec<Line>,
    bands: Vec<Band>,
    (clock, end): (Unit, f64),
    y: Axis,
    levels: Vec<(String, f64)>,
    caption: String,
) -> Figure {
    let mut data = Table::new(&["line"]);
    data.header.extend([format!("time_{}", clock.name), format!("{}_{}", y.name.replace(' ', "_"), y.unit)]);
    for line in &lines {
        data.rows.extend(line.points.iter().map(|(t, v)| vec![line.name.clone(), figure(*t), figure(*v)]));
    }
    let plot = Plot {
        title: title.to_string(),
        x: Axis::new("time", clock.name, Scale::up_to(end * clock.factor)),
        y,
        lines,
        bands,
        levels,
    };
    Figure { id: id.to_string(), title: title.to_string(), caption, svg: plot.draw(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_are_left_out_are_empty_queues() {
        let points = [(10.0, 5.0), (20.0, 6.0), (50.0, 7.0)];
        assert_eq!(
            with_empties(&points, 10.0, 80.0),
            [(10.0, 5.0), (20.0, 6.0), (30.0, 0.0), (40.0, 0.0), (50.0, 7.0), (60.0, 0.0), (80.0, 0.0)]
        );
        assert_eq!(with_empties(&points[..1], 2.0, 10.0)[..2], [(0.0, 0.0), (8.0, 0.0)]);
    }

    #[test]
    fn many_flows_are_a_band() {
        let mut table = Table::new(&["time_us", "flow", "from", "to", "allowed_gbps", "goodput_gbps"]);
        for flow in 0..9 {
            for time in 1..=3 {
                let row = [time * 10, flow, 1, 0, 100, flow * 2 + time].map(|v| v.to_string());
                table.rows.push(row.to_vec());
            }
        }
        let figures = rates(&table);
        assert_eq!(figures.len(), 2);
        assert_eq!(figures[0].data.rows.len(), 9);
        assert_eq!(figures[0].data.rows[0], ["median", "10", "9"]);
        assert_eq!(figures[0].data.header, ["line", "time_us", "payload_delivered_Gb/s"]);
    }
}
