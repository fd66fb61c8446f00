//! The cycle of a deadlock, drawn so that who waits for whom is seen.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Block, Figure};
use super::pauses::Paused;
use super::read::Table;
use super::scale::{bytes, time, turn};
use super::svg::{Svg, at, escape};

/// Ports of a cycle that are drawn; a longer one is told in words.
const MOST: usize = 16;
const BOX: (f64, f64) = (158.0, 62.0);

/// One port of the cycle.
struct Hop {
    /// The egress port that is stuck.
    from: String,
    /// The port it leads to.
    to: String,
    class: String,
    bytes: f64,
    /// When it was last paused.
    since: Option<f64>,
}

impl Hop {
    fn node(&self) -> &str {
        node(&self.from)
    }
}

fn node(port: &str) -> &str {
    port.split(':').next().unwrap_or(port)
}

/// The egress ports of the cycle.
pub fn ports(deadlock: &Value) -> Vec<String> {
    let hops = deadlock["cycle"].as_array().map(Vec::as_slice).unwrap_or_default();
    hops.iter().filter_map(|hop| hop["from"].as_str()).map(str::to_string).collect()
}

/// The drawing and the words of a deadlock; nothing where there is none.
pub fn blocks(deadlock: &Value, pauses: &BTreeMap<(String, String), Paused>) -> Vec<Block> {
    let hops: Vec<Hop> = deadlock["cycle"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(|hop| {
            let (from, class) = (hop["from"].as_str()?.to_string(), hop["class"].to_string());
            let paused = pauses.get(&(from.clone(), class.clone()));
            let since = paused.filter(|p| p.open).and_then(|p| p.spans.last()).map(|span| span.0);
            let to = hop["to"].as_str()?.to_string();
            Some(Hop { from, to, class, bytes: hop["bytes"].as_f64().unwrap_or(0.0), since })
        })
        .collect();
    if hops.is_empty() {
        return Vec::new();
    }
    let at_us = deadlock["at_ns"].as_f64().map(|ns| ns / 1e3);
    let last = hops.iter().filter_map(|hop| hop.since).fold(f64::NEG_INFINITY, f64::max);
    let mut blocks = Vec::new();
    let when = at_us.map_or(String::new(), |us| format!(" at {}", time(us)));
    blocks.push(Block::Html(format!(
        "<p>A port that is paused may not send. Here {} ports are each paused by the next switch, whose own way out is paused by \
         the one after it, and so on round to the first: the cycle closed{when}, and since then none of them can ever send.</p>\n",
        hops.len()
    )));
    if hops.len() <= MOST {
        blocks.push(Block::Figure(Box::new(Figure {
            id: "deadlock".into(),
            title: "The cycle: who waits for whom".into(),
            caption: "Boxes are switches. A thick arrow is a link that is paused: the data at its tail is stuck until the switch at its \
                      head has room again, which it gets only when its own red arrow may send."
                .into(),
            svg: draw(&hops, at_us, last),
            data: table(&hops),
        })));
    }
    blocks.push(words(&hops, last));
    blocks
}

fn table(hops: &[Hop]) -> Table {
    let mut data = Table::new(&["stuck_port", "leads_to", "class", "stuck_bytes", "pause_sent_us"]);
    data.rows.extend(hops.iter().map(|hop| {
        let since = hop.since.map_or(String::new(), |us| format!("{us:.6}"));
        vec![hop.from.clone(), hop.to.clone(), hop.class.clone(), format!("{:.0}", hop.bytes), since]
    }));
    data
}

fn words(hops: &[Hop], last: f64) -> Block {
    let mut out = String::from("<div class=\"card\"><h3>In words</h3><ol class=\"steps\">");
    for (index, hop) in hops.iter().enumerate() {
        let next = &hops[(index + 1) % hops.len()];
        let since = hop.since.map_or(String::new(), |us| format!(" at {}", time(us)));
        let closes = if hop.since == Some(last) && hops.len() > 1 {
            " This was the last: when it arrived, the cycle was closed."
        } else {
            ""
        };
        out.push_str(&format!(
            "<li><b>{}</b> holds {} of class {} for {}, and may not send it: {} told port <code>{}</code> to pause{since}, because \
             what came in at <code>{}</code> cannot leave by <code>{}</code>.{closes}</li>",
            escape(hop.node()),
            bytes(hop.bytes),
            escape(&hop.class),
            escape(node(&hop.to)),
            escape(node(&hop.to)),
            escape(&hop.from),
            escape(&hop.to),
            escape(&next.from)
        ));
    }
    out.push_str("</ol></div>\n");
    Block::Html(out)
}

fn draw(hops: &[Hop], at_us: Option<f64>, last: f64) -> Svg {
    let n = hops.len();
    let (rx, ry) = if n <= 4 { (345.0, 150.0) } else { (330.0, 90.0 + 22.0 * n as f64) };
    let (cx, cy) = (480.0, ry + 60.0);
    let mut svg = Svg::new("The cycle of the deadlock", 960.0, cy * 2.0);
    svg.raw(
        "<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"8\" refY=\"5\" markerWidth=\"5\" markerHeight=\"5\" \
         orient=\"auto\"><path class=\"badfill\" d=\"M0 0L10 5L0 10z\"/></marker></defs>",
    );
    // Four stand at the corners' middles, beginning at the top left.
    let turn_of = |index: usize| (index as f64 / n as f64) + if n == 2 { 0.5 } else { 0.625 };
    let places: Vec<(f64, f64)> = (0..n)
        .map(|index| {
            let (cos, sin) = turn(turn_of(index));
            let widen = if n == 4 { 1.35 } else { 1.0 };
            (cx + rx * cos * if n == 4 { widen } else { 1.0 }, cy + ry * sin * if n == 4 { 1.1 } else { 1.0 })
        })
        .collect();
    for (index, hop) in hops.iter().enumerate() {
        arrow(
            &mut svg,
            hop,
            (places[index], places[(index + 1) % n]),
            (cx, cy),
            (n, hop.since == Some(last)),
        );
    }
    for (index, hop) in hops.iter().enumerate() {
        let before = &hops[(index + n - 1) % n];
        let (x, y) = places[index];
        let says = format!(
            "{}: full with what came in at {}\nits way out {} is paused by {}",
            hop.node(),
            before.to,
            hop.from,
            node(&hop.to)
        );
        svg.rect((x - BOX.0 / 2.0, y - BOX.1 / 2.0, BOX.0, BOX.1), "node", &says);
        svg.text(x, y - 11.0, "title m", hop.node());
        svg.text(x, y + 7.0, "small m", &format!("{} stuck", bytes(hop.bytes)));
        svg.text(x, y + 22.0, "tick small m", &format!("in {} · out {}", port(&before.to), port(&hop.from)));
    }
    if let Some(us) = at_us {
        svg.text(cx, cy - 6.0, "title badtext m", "Nobody can move");
        svg.text(cx, cy + 14.0, "m", &format!("since {}", time(us)));
    }
    svg
}

/// A port's number at its node.
fn port(name: &str) -> String {
    name.split_once(':').map_or_else(|| "port".to_string(), |(_, number)| format!(":{number}"))
}

type Point = (f64, f64);

fn arrow(svg: &mut Svg, hop: &Hop, (from, to): (Point, Point), (cx, cy): Point, (n, closes): (usize, bool)) {
    // Bent outwards; two ports have one arrow above and one below.
    let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
    let bent = match n {
        1 => (from.0, from.1 - 120.0),
        2 => (middle.0, middle.1 + if from.0 < to.0 { -110.0 } else { 110.0 }),
        _ => (middle.0 + (middle.0 - cx) * 0.18, middle.1 + (middle.1 - cy) * 0.18),
    };
    let (start, end) = (edge(from, bent), edge(to, bent));
    let says = format!(
        "{} → {}, class {}\n{} stuck at {}\n{} paused it{}",
        hop.from,
        hop.to,
        hop.class,
        bytes(hop.bytes),
        hop.from,
        node(&hop.to),
        hop.since.map_or(String::new(), |us| format!(" at {}", time(us)))
    );
    let d =
        format!("M{} {}Q{} {} {} {}", at(start.0), at(start.1), at(bent.0), at(bent.1), at(end.0), at(end.1));
    svg.raw(&format!(
        "<path class=\"line bad\" style=\"stroke-width:4\" marker-end=\"url(#head)\" d=\"{d}\"/>"
    ));
    svg.path(&d, "hit", &says);
    let label = (middle.0 * 0.5 + bent.0 * 0.5, middle.1 * 0.5 + bent.1 * 0.5);
    let first = format!("{} paused by {}", hop.from, node(&hop.to));
    let second = match hop.since {
        Some(us) => {
            format!("class {}, PAUSE at {}{}", hop.class, time(us), if closes { ", last" } else { "" })
        }
        None => format!("class {}", hop.class),
    };
    // Beside arrows that go up or down, above or below the others.
    let steep = (to.1 - from.1).abs() > (to.0 - from.0).abs();
    if steep {
        let (anchor, shift) = if label.0 < cx { ("", 14.0) } else { ("e", -14.0) };
        svg.text(label.0 + shift, label.1 - 4.0, &format!("b small {anchor}"), &first);
        svg.text(label.0 + shift, label.1 + 11.0, &format!("tick small {anchor}"), &second);
    } else {
        let y = if label.1 < cy { label.1 - 27.0 } else { label.1 + 20.0 };
        svg.text(label.0, y, "b small m", &first);
        svg.text(label.0, y + 15.0, "tick small m", &second);
    }
}

/// Where the line from the middle of a box towards a point leaves the box, a little outside.
fn edge((x, y): Point, (tx, ty): Point) -> Point {
    let (dx, dy) = (tx - x, ty - y);
    let (w, h) = (BOX.0 / 2.0 + 5.0, BOX.1 / 2.0 + 5.0);
    let by_x = if dx == 0.0 { f64::INFINITY } else { w / dx.abs() };
    let by_y = if dy == 0.0 { f64::INFINITY } else { h / dy.abs() };
    let part = by_x.min(by_y).min(1.0);
    (x + dx * part, y + dy * part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_port_of_the_cycle_is_drawn_and_told() {
        let deadlock = json!({ "detected": true, "at_ns": 76_458.0, "cycle": [
            { "from": "a:2", "to": "b:1", "class": 3, "bytes": 458_700 },
            { "from": "b:3", "to": "a:0", "class": 3, "bytes": 451_440 },
        ] });
        let spans = |from: f64| Paused { by: String::new(), spans: vec![(from, 100.0)], open: true };
        let pauses = [
            (("a:2".to_string(), "3".to_string()), spans(70.0)),
            (("b:3".to_string(), "3".to_string()), spans(76.458)),
        ];
        let blocks = blocks(&deadlock, &pauses.into());
        let Block::Figure(figure) = &blocks[1] else { panic!("a figure is due") };
        let svg = figure.svg.element();
        for text in
            ["a:2 paused by b", "b:3 paused by a", "458.7 KB stuck", "class 3, PAUSE at 76.46 us, last"]
        {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(figure.data.rows[0], ["a:2", "b:1", "3", "458700", "70.000000"]);
        assert!(super::blocks(&json!({ "detected": false, "cycle": [] }), &BTreeMap::new()).is_empty());
    }
}
