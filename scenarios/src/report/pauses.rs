//! Who paused whom, and when.

use std::collections::BTreeMap;

use super::document::Figure;
use super::read::{Table, number};
use super::scale::{Scale, Unit, figure};
use super::svg::{Svg, WIDTH, at, shortened};

/// Rows that are drawn.
const ROWS: usize = 40;
const ROW: f64 = 18.0;
const LEFT: f64 = 218.0;
const RIGHT: f64 = 16.0;
/// Pauses that are nearer to each other than this, in the drawing, are one bar.
const NEAR: f64 = 0.8;

/// One class of one port, and its pauses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paused {
    /// The port that sends pauses.
    pub by: String,
    /// When it was paused, from and to, in microseconds; the last may last to the end.
    pub spans: Vec<(f64, f64)>,
    /// Whether it is paused at the end.
    pub open: bool,
}

impl Paused {
    /// Time paused, in microseconds.
    pub fn total(&self) -> f64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }
}

/// The pauses of each (paused port, class), from the rows of `pfc.csv`. What is still paused is so until `end`.
pub fn read(events: &Table, end: f64) -> BTreeMap<(String, String), Paused> {
    let mut all: BTreeMap<(String, String), Paused> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), f64> = BTreeMap::new();
    let rows = events.columns(["time_us", "port", "peer", "class", "action"]);
    for [time, port, peer, class, action] in rows.into_iter().flatten() {
        let time = number(time);
        let here = matches!(action, "expired" | "storm" | "restore");
        let (paused, by) = if here { (port, peer) } else { (peer, port) };
        let key = (paused.to_string(), class.to_string());
        let entry =
            all.entry(key.clone()).or_insert_with(|| Paused { by: by.to_string(), ..Paused::default() });
        match action {
            "pause" | "refresh" => {
                open.entry(key).or_insert(time);
            }
            "resume" | "expired" => entry.spans.extend(open.remove(&key).map(|from| (from, time))),
            _ => {}
        }
    }
    for (key, from) in open {
        if let Some(entry) = all.get_mut(&key) {
            entry.spans.push((from, end.max(from)));
            entry.open = true;
        }
    }
    all.retain(|_, paused| !paused.spans.is_empty());
    all
}

/// A bar a pause, a row a port that was paused; `None` where there was none.
pub fn timeline(pauses: &BTreeMap<(String, String), Paused>, end: f64) -> Option<Figure> {
    let mut rows: Vec<(&(String, String), &Paused)> = pauses.iter().collect();
    rows.sort_by(|a, b| b.1.total().total_cmp(&a.1.total()).then_with(|| a.0.cmp(b.0)));
    let first = |paused: &Paused| paused.spans.first().map_or(0.0, |span| span.0);
    let mut data = Table::new(&[
        "paused_port",
        "paused_by",
        "class",
        "pauses",
        "paused_us",
        "part_percent",
        "first_us",
        "paused_at_end",
    ]);
    for (key, paused) in &rows {
        data.rows.push(vec![
            key.0.clone(),
            paused.by.clone(),
            key.1.clone(),
            paused.spans.len().to_string(),
            format!("{:.3}", paused.total()),
            format!("{:.2}", paused.total() / end.max(1e-9) * 100.0),
            format!("{:.6}", first(paused)),
            if paused.open { "yes" } else { "no" }.to_string(),
        ]);
    }
    let count = rows.len();
    if count == 0 {
        return None;
    }
    rows.truncate(ROWS);
    // In the order in which they were first paused, so that a pause tree is read downwards.
    rows.sort_by(|a, b| first(a.1).total_cmp(&first(b.1)).then_with(|| a.0.cmp(b.0)));
    let shown = if count > ROWS {
        format!("{ROWS} of {count} ports, those paused longest")
    } else {
        "all".to_string()
    };
    let caption = format!(
        "Each row is a port that was told to stop, and who told it; bars are the times it was stopped (rows: {shown}; first \
         paused on top). Pauses that follow each other closely are drawn as one bar."
    );
    let title = "Pauses over time: who paused whom".to_string();
    Some(Figure { id: "pauses".into(), svg: draw(&title, &rows, end), title, caption, data })
}

fn draw(title: &str, rows: &[(&(String, String), &Paused)], end: f64) -> Svg {
    let clock = Unit::of_time(end);
    let (top, bottom) = (8.0, 8.0 + rows.len() as f64 * ROW);
    let mut svg = Svg::new(title, WIDTH, bottom + 46.0);
    let scale = Scale::up_to(end * clock.factor);
    let x = |us: f64| LEFT + scale.part(us * clock.factor) * (WIDTH - RIGHT - LEFT);
    for index in (0..rows.len()).step_by(2) {
        svg.rect((0.0, top + index as f64 * ROW, WIDTH - RIGHT, ROW), "row", "");
    }
    for tick in scale.ticks(7) {
        let x = LEFT + scale.part(tick) * (WIDTH - RIGHT - LEFT);
        svg.path(&format!("M{} {}V{}", at(x), at(top), at(bottom + 4.0)), "grid", "");
        svg.text(x, bottom + 19.0, "tick m", &figure(tick));
    }
    svg.text((LEFT + WIDTH - RIGHT) / 2.0, bottom + 39.0, "m", &format!("time ({})", clock.name));
    for (index, (key, paused)) in rows.iter().enumerate() {
        let y = top + index as f64 * ROW;
        let label = format!("{} ◂ {}", shortened(&key.0, 15), shortened(&paused.by, 15));
        svg.text(LEFT - 8.0, y + 13.0, "small e", &label);
        for bar in bars(&paused.spans, x) {
            let class = format!("fill c{}", key.1.parse::<u32>().unwrap_or(0) % 8);
            let times = if bar.count == 1 {
                format!("{} to {}", clock.tell(bar.from), clock.tell(bar.to))
            } else {
                format!(
                    "{} pauses from {} to {}, {} in all",
                    bar.count,
                    clock.tell(bar.from),
                    clock.tell(bar.to),
                    clock.tell(bar.paused)
                )
            };
            let says = format!("{} pauses {}, class {}\n{times}", paused.by, key.0, key.1);
            let width = (x(bar.to) - x(bar.from)).max(0.7);
            svg.rect((x(bar.from), y + 3.0, width, ROW - 6.0), &class, &says);
        }
        if paused.open {
            let x = WIDTH - RIGHT;
            svg.path(
                &format!("M{} {}l7 {}l-7 {}z", at(x), at(y + 3.0), at(ROW / 2.0 - 3.0), at(ROW / 2.0 - 3.0)),
                "badfill",
                "still paused at the end",
            );
        }
    }
    svg.text(LEFT - 8.0, bottom + 19.0, "tick small e", "paused ◂ paused by");
    svg
}

struct Bar {
    from: f64,
    to: f64,
    paused: f64,
    count: u32,
}

/// Pauses as bars: those that touch in the drawing are one.
fn bars(spans: &[(f64, f64)], x: impl Fn(f64) -> f64) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for &(from, to) in spans {
        match bars.last_mut() {
            Some(bar) if x(from) - x(bar.to) < NEAR => {
                bar.to = to;
                bar.paused += to - from;
                bar.count += 1;
            }
            Some(_) | None => bars.push(Bar { from, to, paused: to - from, count: 1 }),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(rows: &[[&str; 5]]) -> Table {
        let mut table = Table::new(&["time_us", "port", "peer", "class", "action"]);
        table.rows.extend(rows.iter().map(|row| row.map(String::from).to_vec()));
        table
    }

    #[test]
    fn pauses_end_with_a_resume_by_themselves_or_not_at_all() {
        let pauses = read(
            &events(&[
                ["1.0", "b", "a", "3", "pause"],
                ["2.0", "b", "a", "3", "refresh"],
                ["3.0", "b", "a", "3", "resume"],
                ["4.0", "b", "a", "3", "pause"],
                ["6.0", "a", "b", "3", "expired"],
                ["7.0", "b", "a", "3", "pause"],
            ]),
            10.0,
        );
        let paused = &pauses[&("a".to_string(), "3".to_string())];
        assert_eq!((paused.by.as_str(), paused.open), ("b", true));
        assert_eq!(paused.spans, [(1.0, 3.0), (4.0, 6.0), (7.0, 10.0)]);
        let figure = timeline(&pauses, 10.0).unwrap();
        assert_eq!(figure.data.rows[0], ["a", "b", "3", "3", "7.000", "70.00", "1.000000", "yes"]);
        assert!(figure.svg.element().contains("b pauses a, class 3"));
    }

    #[test]
    fn close_pauses_are_one_bar() {
        let spans: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
        let bars = bars(&spans, |us| us / 10.0);
        assert_eq!((bars.len(), bars[0].count, bars[0].paused), (1, 1000, 500.0));
    }
}
