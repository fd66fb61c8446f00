//! Heat maps of a sweep: the two parameters that matter most against each objective.

use std::collections::BTreeMap;

use super::document::Figure;
use super::read::Table;
use super::scale::figure;
use super::svg::{Svg, WIDTH};
use super::sweep::{Setting, Sweep, short};

const LEFT: f64 = 110.0;
/// Values of a parameter that have a row or column each.
const VALUES: usize = 24;
/// The least range of colours, as a part of the largest value.
const LEAST_SPAN: f64 = 0.05;
/// Objectives that are drawn.
const OBJECTIVES: usize = 4;

/// A heat map an objective.
pub fn figures(sweep: &Sweep) -> Vec<Figure> {
    let order = importance(sweep);
    let [across, down] = match order.as_slice() {
        [] => return Vec::new(),
        [one] => [*one, usize::MAX],
        // The one with more values lies across.
        [a, b, ..] if values(sweep, *a).len() >= values(sweep, *b).len() => [*a, *b],
        [a, b, ..] => [*b, *a],
    };
    (0..sweep.objectives.len().min(OBJECTIVES))
        .map(|objective| map(sweep, objective, (across, down)))
        .collect()
}

/// The parameters with more than one value, those first that explain most of the objectives' variance.
fn importance(sweep: &Sweep) -> Vec<usize> {
    let usable: Vec<&Setting> = sweep.settings.iter().filter(|setting| setting.usable).collect();
    let mut all: Vec<(f64, usize)> = (0..sweep.parameters.len())
        .filter(|&parameter| values(sweep, parameter).len() > 1)
        .map(|parameter| {
            let share = |objective: usize| explained(&usable, parameter, objective);
            ((0..sweep.objectives.len()).map(share).sum::<f64>(), parameter)
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().map(|(_, parameter)| parameter).collect()
}

/// The part of an objective's variance that lies between the values of a parameter.
fn explained(settings: &[&Setting], parameter: usize, objective: usize) -> f64 {
    let samples = || settings.iter().map(|s| s.means[objective]).filter(|mean| mean.is_finite());
    let count = samples().count() as f64;
    if count == 0.0 {
        return 0.0;
    }
    let mean = samples().sum::<f64>() / count;
    let total: f64 = samples().map(|value| (value - mean) * (value - mean)).sum();
    let mut groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for setting in settings.iter().filter(|s| s.means[objective].is_finite()) {
        let group = groups.entry(&setting.values[parameter]).or_insert((0.0, 0.0));
        *group = (group.0 + setting.means[objective], group.1 + 1.0);
    }
    let between: f64 = groups.values().map(|(sum, n)| (sum / n - mean) * (sum / n - mean) * n).sum();
    if total > 0.0 { between / total } else { 0.0 }
}

/// The values of a parameter, ascending where they are quantities, else in their order.
fn values(sweep: &Sweep, parameter: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for setting in &sweep.settings {
        if !all.contains(&setting.values[parameter]) {
            all.push(setting.values[parameter].clone());
        }
    }
    if all.iter().all(|value| amount(value).is_some()) {
        all.sort_by(|a, b| amount(a).unwrap_or(0.0).total_cmp(&amount(b).unwrap_or(0.0)));
    }
    all
}

/// A quantity's size: a number, or text with a decimal prefix and a unit.
fn amount(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        unit if unit.starts_with("Ki") => 1024.0,
        unit if unit.starts_with("Mi") => 1_048_576.0,
        unit if unit.starts_with(['K', 'k']) => 1e3,
        unit if unit.starts_with('M') => 1e6,
        unit if unit.starts_with('G') => 1e9,
        "ps" => 1e-12,
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "km" => 1e3,
        _ => 1.0,
    };
    Some(value * factor)
}

/// Values as rows or columns: each its own, or some together where there are many. The place of each value, and names.
fn bins(values: &[String]) -> (BTreeMap<&str, usize>, Vec<String>) {
    let together = values.len().div_ceil(VALUES).max(1);
    let places = values.iter().enumerate().map(|(place, value)| (value.as_str(), place / together)).collect();
    let name = |chunk: &[String]| match chunk {
        [one] => one.clone(),
        [first, ..] => format!("{first}…"),
        [] => String::new(),
    };
    (places, values.chunks(together).map(name).collect())
}

#[derive(Default)]
struct Cell {
    sum: f64,
    count: f64,
    unusable: u32,
    recommended: bool,
}

fn map(sweep: &Sweep, objective: usize, (across, down): (usize, usize)) -> Figure {
    let columns = values(sweep, across);
    let rows = if down == usize::MAX { vec![String::new()] } else { values(sweep, down) };
    let ((column_of, column_names), (row_of, row_names)) = (bins(&columns), bins(&rows));
    // The slice through the recommended setting, where it holds more than a line of cells; else means over the rest.
    let others = |setting: &Setting| {
        sweep.recommended().is_some_and(|best| {
            (0..sweep.parameters.len())
                .all(|p| p == across || p == down || setting.values[p] == best.values[p])
        })
    };
    let more = sweep.parameters.len() > if down == usize::MAX { 1 } else { 2 };
    let slice = more && sweep.settings.iter().filter(|s| others(s)).count() * 3 >= columns.len() * rows.len();
    let mut cells: BTreeMap<(usize, usize), Cell> = BTreeMap::new();
    for setting in sweep.settings.iter().filter(|setting| !slice || others(setting)) {
        let column = column_of[setting.values[across].as_str()];
        let row = if down == usize::MAX { 0 } else { row_of[setting.values[down].as_str()] };
        let cell = cells.entry((column, row)).or_default();
        cell.recommended |= setting.recommended;
        let mean = setting.means[objective];
        if setting.usable && mean.is_finite() {
            (cell.sum, cell.count) = (cell.sum + mean, cell.count + 1.0);
        } else {
            cell.unusable += 1;
        }
    }
    let (label, unit) = sweep.objectives[objective].label();
    let names = (sweep.parameters[across].as_str(), sweep.parameters.get(down).map_or("", String::as_str));
    let title = format!(
        "{label}{} by {}{}",
        unit_of(unit),
        short(names.0),
        if names.1.is_empty() { String::new() } else { format!(" and {}", short(names.1)) }
    );
    let held: Vec<String> = (0..sweep.parameters.len())
        .filter(|&p| p != across && p != down)
        .map(|p| match sweep.recommended() {
            Some(best) if slice => format!("{} {}", short(&sweep.parameters[p]), best.values[p]),
            Some(_) | None => short(&sweep.parameters[p]).to_string(),
        })
        .collect();
    let rest = match (held.is_empty(), slice) {
        (true, _) => String::new(),
        (false, true) => format!(" Here {}, as recommended.", held.join(", ")),
        (false, false) => format!(" Means over {}.", held.join(", ")),
    };
    let caption = format!(
        "Yellow is best, dark blue worst; {} is better. The red frame is the recommended setting.{rest} An empty cell was not run, × did \
         not complete.",
        if sweep.objectives[objective].more { "more" } else { "less" }
    );
    let mut data =
        Table::new(&[names.0, names.1, &sweep.objectives[objective].figure, "settings", "not_complete"]);
    for (&(column, row), cell) in &cells {
        let mean = if cell.count > 0.0 { (cell.sum / cell.count).to_string() } else { String::new() };
        data.rows.push(vec![
            column_names[column].clone(),
            row_names[row].clone(),
            mean,
            cell.count.to_string(),
            cell.unusable.to_string(),
        ]);
    }
    let svg = draw(&title, (&column_names, &row_names), names, &cells, sweep.objectives[objective].more);
    Figure { id: format!("heat-{objective}"), title, caption, svg, data }
}

fn unit_of(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" ({unit})") }
}

fn draw(
    title: &str,
    (columns, rows): (&[String], &[String]),
    names: (&str, &str),
    cells: &BTreeMap<(usize, usize), Cell>,
    more: bool,
) -> Svg {
    let width = ((WIDTH - LEFT - 12.0) / columns.len().max(1) as f64).min(110.0);
    let tall = if rows.len() > 12 { 20.0 } else { 32.0 };
    let top = 10.0;
    let bottom = top + rows.len() as f64 * tall;
    let mut svg = Svg::new(title, WIDTH, bottom + 50.0);
    let means = || cells.values().filter(|cell| cell.count > 0.0).map(|cell| cell.sum / cell.count);
    let (least, most) = means().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    // What differs by less than the least span is nearly of one colour.
    let span = (most - least).max(most.abs() * LEAST_SPAN).max(f64::MIN_POSITIVE);
    for (column, across) in columns.iter().enumerate() {
        for (row, down) in rows.iter().enumerate() {
            // Upwards, as on an axis.
            let place =
                (LEFT + column as f64 * width, top + (rows.len() - 1 - row) as f64 * tall, width, tall);
            let (x, y) = (place.0 + width / 2.0, place.1 + tall / 2.0 + 4.0);
            let at = if down.is_empty() {
                format!("{} {across}", short(names.0))
            } else {
                format!("{} {across}, {} {down}", short(names.0), short(names.1))
            };
            match cells.get(&(column, row)) {
                None => svg.rect(place, "cell empty", &format!("{at}\nnot run")),
                Some(cell) if cell.count == 0.0 => {
                    svg.rect(place, "cell empty", &format!("{at}\nnot complete"));
                    svg.text(x, y, "tick m", "×");
                }
                Some(cell) => {
                    let mean = cell.sum / cell.count;
                    let short_of_best = if more { most - mean } else { mean - least };
                    let shade = super::topology::shade((1.0 - short_of_best / span).max(0.0));
                    let text = figure(mean);
                    svg.rect(place, &format!("cell h{shade}"), &format!("{at}\n{text}"));
                    if super::svg::width_of(&text) < width {
                        let ink = if shade >= 6 { "dk" } else { "inv" };
                        svg.raw(&format!(
                            "<text class=\"small m {ink}\" pointer-events=\"none\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
                        ));
                    }
                }
            }
        }
    }
    for (&(column, row), _) in cells.iter().filter(|(_, cell)| cell.recommended) {
        let place = (LEFT + column as f64 * width, top + (rows.len() - 1 - row) as f64 * tall, width, tall);
        svg.raw(&format!(
            "<rect class=\"pick\" pointer-events=\"none\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            place.0 + 1.5, place.1 + 1.5, place.2 - 3.0, place.3 - 3.0
        ));
    }
    let every = columns.iter().map(|name| super::svg::width_of(name) + 8.0).fold(0.0, f64::max) / width;
    for column in (0..columns.len()).step_by((every as usize + 1).max(1)) {
        svg.text(LEFT + (column as f64 + 0.5) * width, bottom + 17.0, "tick m", &columns[column]);
    }
    for (row, name) in rows.iter().enumerate() {
        svg.text(
            LEFT - 8.0,
            top + (rows.len() as f64 - 0.5 - row as f64) * tall + 4.0,
            "tick e",
            &super::svg::shortened(name, 10),
        );
    }
    svg.text(LEFT + columns.len() as f64 * width / 2.0, bottom + 39.0, "m", names.0);
    if !names.1.is_empty() {
        let y = (top + bottom) / 2.0;
        svg.raw(&format!(
            "<text class=\"m\" transform=\"translate(14 {y:.1}) rotate(-90)\">{}</text>",
            super::svg::escape(if rows.len() as f64 * tall < 7.0 * names.1.len() as f64 {
                short(names.1)
            } else {
                names.1
            })
        ));
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::super::sweep::tests::grid;
    use super::*;

    #[test]
    fn what_explains_most_comes_first() {
        let sweep = grid();
        assert_eq!(importance(&sweep), [0, 1]);
        assert_eq!(values(&sweep, 0), ["40KB", "80KB", "160KB"]);
        let figures = figures(&sweep);
        assert_eq!(
            figures.iter().map(|f| f.title.as_str()).collect::<Vec<_>>(),
            ["goodput mean (Gb/s) by kmin and pmax", "queues peak (B) by kmin and pmax"]
        );
        let svg = figures[0].svg.element();
        assert!(
            svg.contains("cell h10\" x=\"330\" y=\"10\"") && svg.matches("class=\"pick\"").count() == 1,
            "{svg}"
        );
        assert_eq!(figures[1].data.rows[0], ["40KB", "0.2", "1000", "1", "0"]);
    }

    #[test]
    fn quantities_are_ordered_by_size() {
        assert_eq!(
            ["0.5", "40KB", "1MiB", "55us", "x"].map(amount),
            [Some(0.5), Some(40e3), Some(1_048_576.0), Some(55.0 * 1e-6), None]
        );
    }
}
