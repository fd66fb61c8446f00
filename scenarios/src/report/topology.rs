//! The topology in tiers with the load of its links as colour.

use super::document::Figure;
use super::network::{Direction, Drawn, Network};
use super::read::Table;
use super::scale::bytes;
use super::svg::{Svg, WIDTH, at, shortened, width_of};

const SIDE: f64 = 64.0;
const TIER: f64 = 128.0;
/// Bundles that are drawn; of more, the busiest.
const BUNDLES: usize = 2400;
/// Ports that a map of loads shows one by one.
const CELLS: usize = 16_000;

/// The class of a load from 0 to 1.
pub fn shade(load: f64) -> usize {
    (load * 10.0 + 0.5) as usize
}

/// The topology. `stuck` are the egress ports of a deadlock's cycle.
pub fn figures(network: &Network, stuck: &[String]) -> Vec<Figure> {
    let drawn = Drawn::new(network);
    let title = "Topology and link load".to_string();
    let mut caption = "Every link is two strands, one a direction: the left or upper one goes up. Colour is the part of the run it was \
                       sending."
        .to_string();
    if drawn.grouped {
        caption.push_str(
            " Nodes that hang together are drawn as one, and the links between two groups as one strand with the colour of \
             the busiest; every port stands in the map below.",
        );
    }
    if !stuck.is_empty() {
        caption.push_str(" Red: the links of the deadlock's cycle.");
    }
    let svg = draw(&title, network, &drawn, stuck);
    let data = if drawn.grouped { bundles(network, &drawn) } else { table(network) };
    let mut figures = vec![Figure { id: "topology".into(), svg, title, caption, data }];
    if drawn.grouped && network.directions.len() <= CELLS {
        figures.push(map(network));
    }
    figures
}

/// The bundles that are drawn, the busiest first.
fn bundles(network: &Network, drawn: &Drawn) -> Table {
    let mut data = Table::new(&[
        "from",
        "to",
        "links",
        "mean_load_percent",
        "max_load_percent",
        "busiest_port",
        "tx_bytes",
        "paused_us",
    ]);
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for bundle in &drawn.bundles {
        let links: Vec<&Direction> = bundle.links.iter().map(|&link| &network.directions[link]).collect();
        let sum = |of: fn(&Direction) -> f64| links.iter().map(|link| of(link)).sum::<f64>();
        let Some(busiest) = links.iter().rev().max_by(|a, b| a.load.total_cmp(&b.load)) else { continue };
        rows.push((
            busiest.load,
            vec![
                drawn.groups[bundle.from].name.clone(),
                drawn.groups[bundle.to].name.clone(),
                links.len().to_string(),
                format!("{:.3}", sum(|d| d.load) / links.len() as f64 * 100.0),
                format!("{:.3}", busiest.load * 100.0),
                busiest.port.clone(),
                format!("{:.0}", sum(|d| d.bytes)),
                format!("{:.3}", sum(|d| d.paused)),
            ],
        ));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    data.rows.extend(rows.into_iter().map(|(_, row)| row));
    data
}

fn table(network: &Network) -> Table {
    let mut data =
        Table::new(&["port", "peer", "rate_gbps", "load_percent", "tx_bytes", "paused_us", "drops", "up"]);
    let mut order: Vec<&Direction> = network.directions.iter().collect();
    order.sort_by(|a, b| b.load.total_cmp(&a.load));
    data.rows.extend(order.iter().map(|d| {
        vec![
            d.port.clone(),
            d.peer.clone(),
            d.rate.to_string(),
            format!("{:.3}", d.load * 100.0),
            format!("{:.0}", d.bytes),
            format!("{:.3}", d.paused),
            format!("{:.0}", d.drops),
            if d.up { "yes" } else { "no" }.to_string(),
        ]
    }));
    data
}

/// Places of the groups, each tier ordered by what is below it.
fn places(network: &Network, drawn: &Drawn) -> Vec<(f64, f64)> {
    let height = network.height();
    let mut places = vec![(0.0, 0.0); drawn.groups.len()];
    for tier in 0..height {
        let mut members: Vec<usize> =
            (0..drawn.groups.len()).filter(|&g| drawn.groups[g].tier == tier).collect();
        if tier > 0 {
            let middle = |group: usize| {
                let below =
                    drawn.bundles.iter().filter(|b| b.from == group && drawn.groups[b.to].tier + 1 == tier);
                let (sum, count) = below.fold((0.0, 0.0), |(s, c), b| (s + places[b.to].0, c + 1.0));
                if count > 0.0 { sum / count } else { WIDTH / 2.0 }
            };
            // To the nearest unit, so that rounding does not reorder nodes that are alike.
            let mut keyed: Vec<(i64, usize)> = members.iter().map(|&g| (middle(g) as i64, g)).collect();
            keyed.sort_unstable();
            members = keyed.into_iter().map(|(_, group)| group).collect();
        }
        let step = (WIDTH - SIDE) / members.len().max(1) as f64;
        let y = 46.0 + (height - 1 - tier) as f64 * TIER;
        for (place, group) in members.into_iter().enumerate() {
            places[group] = (SIDE + step * (place as f64 + 0.5), y);
        }
    }
    places
}

fn draw(title: &str, network: &Network, drawn: &Drawn, stuck: &[String]) -> Svg {
    let height = network.height();
    let bottom = 46.0 + (height.max(1) - 1) as f64 * TIER;
    let mut svg = Svg::new(title, WIDTH, bottom + 96.0);
    let places = places(network, drawn);
    let busiest = |links: &[usize]| -> usize {
        let by = |a: &&usize, b: &&usize| {
            network.directions[**a].load.total_cmp(&network.directions[**b].load).then(b.cmp(a))
        };
        links.iter().max_by(by).copied().unwrap_or(0)
    };
    let mut order: Vec<(f64, usize)> = drawn
        .bundles
        .iter()
        .enumerate()
        .map(|(index, bundle)| (network.directions[busiest(&bundle.links)].load, index))
        .collect();
    // The busiest on top.
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let skip = order.len().saturating_sub(BUNDLES);
    let mut over = Vec::new();
    for (load, index) in order.into_iter().skip(skip) {
        let bundle = &drawn.bundles[index];
        let links: Vec<&Direction> = bundle.links.iter().map(|&link| &network.directions[link]).collect();
        let d = strand(
            places[bundle.from],
            places[bundle.to],
            drawn.groups[bundle.from].tier,
            drawn.groups[bundle.to].tier,
        );
        let width = if drawn.grouped && links.len() > 1 { " wide" } else { "" };
        let down = if links.iter().all(|link| !link.up) { " dash" } else { "" };
        svg.path(
            &d,
            &format!("link l{}{width}{down}", shade(load)),
            &says(&links, &network.directions[busiest(&bundle.links)]),
        );
        if links.iter().any(|link| stuck.contains(&link.port)) {
            over.push(d);
        }
    }
    for d in over {
        svg.path(&d, "line bad", "");
    }
    nodes(&mut svg, network, drawn, &places);
    for tier in 0..height {
        let y = 46.0 + (height - 1 - tier) as f64 * TIER;
        let count = network.tier(tier).len();
        let name = if tier == 0 { "hosts".to_string() } else { format!("tier {tier}") };
        svg.text(4.0, y - 1.0, "b small", &name);
        svg.text(4.0, y + 12.0, "tick small", &count.to_string());
    }
    legend(&mut svg, (SIDE + 8.0, bottom + 62.0));
    svg
}

/// The line of one direction: beside that of the other.
fn strand((x1, y1): (f64, f64), (x2, y2): (f64, f64), from: usize, to: usize) -> String {
    if from == to {
        let bend = if x2 > x1 { -26.0 } else { 26.0 };
        return format!(
            "M{} {}Q{} {} {} {}",
            at(x1),
            at(y1),
            at((x1 + x2) / 2.0),
            at(y1 + bend),
            at(x2),
            at(y2)
        );
    }
    let shift = if to > from { -1.6 } else { 1.6 };
    format!("M{} {}L{} {}", at(x1 + shift), at(y1), at(x2 + shift), at(y2))
}

fn says(links: &[&Direction], busiest: &Direction) -> String {
    let mean = links.iter().map(|link| link.load).sum::<f64>() / links.len().max(1) as f64;
    let total: f64 = links.iter().map(|link| link.bytes).sum();
    let paused: f64 = links.iter().map(|link| link.paused).sum();
    let drops: f64 = links.iter().map(|link| link.drops).sum();
    let mut text = if links.len() == 1 {
        format!(
            "{} → {}\n{:.1} % of {} Gb/s, {}",
            busiest.port,
            busiest.peer,
            busiest.load * 100.0,
            busiest.rate,
            bytes(total)
        )
    } else {
        format!(
            "{} links, {}\nmean load {:.1} %, busiest {} → {} {:.1} %",
            links.len(),
            bytes(total),
            mean * 100.0,
            busiest.port,
            busiest.peer,
            busiest.load * 100.0
        )
    };
    if paused > 0.0 {
        text.push_str(&format!("\npaused {}", super::scale::time(paused)));
    }
    if drops > 0.0 {
        text.push_str(&format!("\n{drops:.0} packets lost"));
    }
    if links.iter().any(|link| !link.up) {
        text.push_str("\ndown at the end");
    }
    text
}

fn nodes(svg: &mut Svg, network: &Network, drawn: &Drawn, places: &[(f64, f64)]) {
    for (group, &(x, y)) in drawn.groups.iter().zip(places) {
        let beside = drawn.groups.iter().filter(|other| other.tier == group.tier).count();
        let room = (WIDTH - SIDE) / beside as f64;
        let many = group.nodes.len() > 1;
        let says =
            if many { format!("{}: {} nodes", group.name, group.nodes.len()) } else { group.name.clone() };
        let kind = group.name.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
        let long = format!("{} {kind}", group.nodes.len());
        let short = match (many, width_of(&long) + 8.0 <= room) {
            (false, _) => group.name.clone(),
            (true, true) => long,
            (true, false) => format!("{}×", group.nodes.len()),
        };
        if group.tier == 0 {
            let r = (room * 0.3).clamp(2.5, 7.0);
            svg.circle((x, y, r), "node", &says);
            let number = group.name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let label = if width_of(&short) * 0.92 <= room { short.as_str() } else { number };
            if many && width_of(&short) <= room + 6.0 {
                svg.text(x, y + 22.0, "small m", &short);
            } else if !many && width_of(label) * 0.92 <= room {
                svg.text(x, y + 21.0, "small m", label);
            } else if !many && number.parse::<u32>().is_ok_and(|n| n.is_multiple_of((20.0 / room) as u32 + 1))
            {
                svg.text(x, y + 20.0, "tiny m", label);
            }
            continue;
        }
        let label = shortened(&short, ((room - 8.0) / 6.4).max(0.0) as usize);
        let width = (width_of(&short) + 14.0).min(room - 2.0).max(5.0);
        let switch = |node: usize| network.directions.iter().filter(move |d| d.from == node);
        let load = group.nodes.iter().flat_map(|&node| switch(node)).map(|d| d.load).fold(0.0, f64::max);
        let says = format!("{says}\nbusiest port {:.1} %", load * 100.0);
        svg.rect((x - width / 2.0, y - 12.0, width, 24.0), "node", &says);
        if label.chars().count() > 1 {
            svg.raw(&format!(
                "<text class=\"small m\" pointer-events=\"none\" x=\"{}\" y=\"{}\">{}</text>",
                at(x),
                at(y + 4.0),
                super::svg::escape(&label)
            ));
        }
    }
}

/// The scale of loads.
fn legend(svg: &mut Svg, (x, y): (f64, f64)) {
    svg.text(x, y + 4.0, "small", "load of a link");
    for step in 0..=10 {
        svg.rect((x + 84.0 + f64::from(step) * 22.0, y - 6.0, 22.0, 10.0), &format!("fill l{step}"), "");
    }
    for (step, text) in [(0.5, "0"), (5.5, "50"), (10.5, "100 %")] {
        svg.text(x + 84.0 + step * 22.0, y + 18.0, "tick small m", text);
    }
}

/// Every port as a cell: a column a switch, a row a port.
fn map(network: &Network) -> Figure {
    let title = "Load of every port".to_string();
    let mut svg = Svg::new(&title, WIDTH, 0.0);
    let mut ports: Vec<Vec<&Direction>> = vec![Vec::new(); network.nodes.len()];
    for direction in &network.directions {
        ports[direction.from].push(direction);
    }
    let mut y = 4.0;
    for tier in (0..network.height()).rev() {
        let nodes = network.tier(tier);
        let deepest = nodes.iter().map(|&node| ports[node].len()).max().unwrap_or(0);
        // Hosts have one port: they are laid out in lines of many.
        let lines = if deepest == 1 { nodes.len().div_ceil(128) } else { deepest };
        let columns = if deepest == 1 { nodes.len().div_ceil(lines.max(1)) } else { nodes.len() };
        let width = ((WIDTH - SIDE - 8.0) / columns.max(1) as f64).min(22.0);
        let cell = width.clamp(5.0, 12.0);
        let name = if tier == 0 { "hosts".to_string() } else { format!("tier {tier}") };
        svg.text(4.0, y + 12.0, "b small", &name);
        for (place, &node) in nodes.iter().enumerate() {
            for (row, d) in ports[node].iter().enumerate() {
                let (column, row) =
                    if deepest == 1 { (place % columns, place / columns) } else { (place, row) };
                let at = (SIDE + column as f64 * width, y + row as f64 * cell, width - 0.4, cell - 0.4);
                let says = format!("{} → {}: {:.1} %", d.port, d.peer, d.load * 100.0);
                svg.rect(at, &format!("fill l{}", shade(d.load)), &says);
            }
        }
        y += lines as f64 * cell + 18.0;
    }
    legend(&mut svg, (SIDE + 8.0, y + 8.0));
    svg.set_height(y + 32.0);
    let caption = "A column is a switch and a cell one of its ports, in the order of their numbers; of hosts, a cell is a host. Colour \
                   is the part of the run it was sending. Where one of several equal ports is hot, hashing put flows onto the same link."
        .to_string();
    Figure { id: "load".into(), title, caption, svg, data: table(network) }
}

#[cfg(test)]
mod tests {
    use super::super::network::tests::leaf_spine;
    use super::*;

    #[test]
    fn links_are_coloured_by_load_and_the_cycle_stands_out() {
        let network = Network::new(&leaf_spine(4, 2, 2)).unwrap();
        let figures = figures(&network, &["leaf0:2".to_string()]);
        assert_eq!(figures.len(), 1);
        let svg = figures[0].svg.element();
        assert!(svg.contains("leaf0:2 → spine0:0\n100.0 % of 100 Gb/s") && svg.contains("link l10"));
        assert_eq!(svg.matches("line bad").count(), 1);
        assert_eq!(figures[0].data.rows.len(), 32);
    }

    #[test]
    fn large_fabrics_get_a_map_of_their_ports() {
        let network = Network::new(&leaf_spine(16, 4, 32)).unwrap();
        let figures = figures(&network, &[]);
        assert_eq!(figures[1].id, "load");
        assert_eq!(figures[1].svg.element().matches("<title>").count(), network.directions.len());
    }
}
