//! What one objective costs in another: every setting as a point, the Pareto front marked.

use super::document::Figure;
use super::plot::{Axis, Plot};
use super::read::Table;
use super::scale::{Scale, figure};
use super::svg::{Svg, at};
use super::sweep::{Setting, Sweep};

/// Objectives beside the first.
const CHARTS: usize = 3;

/// The first objective against each of the others.
pub fn figures(sweep: &Sweep) -> Vec<Figure> {
    (1..sweep.objectives.len().min(CHARTS + 1)).filter_map(|other| chart(sweep, (other, 0))).collect()
}

fn chart(sweep: &Sweep, (x, y): (usize, usize)) -> Option<Figure> {
    let usable: Vec<&Setting> = sweep
        .settings
        .iter()
        .filter(|s| s.usable && s.means[x].is_finite() && s.means[y].is_finite())
        .collect();
    let axis = |o: usize| {
        let values = || usable.iter().map(|setting| setting.means[o]);
        let (least, most) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let (name, unit) = sweep.objectives[o].label();
        let scale = if least > 0.0 && most / least > 50.0 {
            Scale::decades(least, most)
        } else {
            Scale::around(least, most)
        };
        let better = if sweep.objectives[o].more { "more is better" } else { "less is better" };
        Axis::new(&format!("{name}, {better}"), unit, scale)
    };
    if usable.len() < 2 {
        return None;
    }
    let (horizontal, vertical) = (axis(x), axis(y));
    let names = (sweep.objectives[x].label().0, sweep.objectives[y].label().0);
    let title = format!("Trade-off: {} against {}", names.1, names.0);
    let plot = Plot {
        title: title.clone(),
        x: horizontal.clone(),
        y: vertical.clone(),
        lines: Vec::new(),
        bands: Vec::new(),
        levels: Vec::new(),
    };
    let mut svg = plot.draw();
    let place = |setting: &Setting| plot.place(setting.means[x], setting.means[y]);
    let front = edge(sweep, &usable, (x, y));
    let path: Vec<String> =
        front.iter().map(|s| place(s)).map(|(a, b)| format!("{} {}", at(a), at(b))).collect();
    if path.len() > 1 {
        svg.path(&format!("M{}", path.join("L")), "line c0 dash", "");
    }
    let mut order = usable.clone();
    order.sort_by_key(|setting| (setting.recommended, setting.front));
    for setting in order {
        let (a, b) = place(setting);
        let says = format!(
            "{}\n{}: {}\n{}: {}{}",
            sweep.tell(setting),
            names.1,
            tell(setting.means[y], vertical.unit),
            names.0,
            tell(setting.means[x], horizontal.unit),
            if setting.recommended {
                "\nrecommended"
            } else if setting.front {
                "\non the Pareto front"
            } else {
                ""
            }
        );
        if setting.recommended {
            star(&mut svg, (a, b), &says);
        } else if setting.front {
            svg.circle((a, b, 5.0), "front", &says);
        } else {
            svg.circle((a, b, 4.0), "dot", &says);
        }
    }
    legend(&mut svg);
    let mut data = Table::new(&["setting"]);
    data.header.extend([&sweep.objectives[y].figure, &sweep.objectives[x].figure].map(Clone::clone));
    data.header.extend(["pareto", "recommended"].map(String::from));
    data.rows.extend(usable.iter().map(|s| {
        vec![
            sweep.tell(s),
            s.means[y].to_string(),
            s.means[x].to_string(),
            s.front.to_string(),
            s.recommended.to_string(),
        ]
    }));
    let caption = "Every point is a setting. Blue ones are on the Pareto front of all objectives: none is better in one and no worse in the \
                   others. The dashed line joins those that are best in the two objectives drawn."
        .to_string();
    Some(Figure { id: format!("tradeoff-{x}"), title, caption, svg, data })
}

fn tell(value: f64, unit: &str) -> String {
    format!("{} {unit}", figure(value)).trim_end().to_string()
}

/// The settings that none beats in the two objectives, in order of the first.
fn edge<'a>(sweep: &Sweep, settings: &[&'a Setting], (x, y): (usize, usize)) -> Vec<&'a Setting> {
    let cost = |s: &Setting, o: usize| if sweep.objectives[o].more { -s.means[o] } else { s.means[o] };
    let mut order: Vec<&Setting> = settings.to_vec();
    order.sort_by(|a, b| cost(a, x).total_cmp(&cost(b, x)).then(cost(a, y).total_cmp(&cost(b, y))));
    let mut best = f64::INFINITY;
    order.retain(|s| {
        let better = cost(s, y) < best;
        best = best.min(cost(s, y));
        better
    });
    order
}

fn star(svg: &mut Svg, (x, y): (f64, f64), says: &str) {
    let point = |step: u32| {
        let (cos, sin) = super::scale::turn(f64::from(step) / 10.0 - 0.25);
        let r = if step.is_multiple_of(2) { 10.0 } else { 4.2 };
        format!("{} {}", at(x + r * cos), at(y + r * sin))
    };
    let d: Vec<String> = (0..10).map(point).collect();
    svg.path(&format!("M{}Z", d.join("L")), "star", says);
}

fn legend(svg: &mut Svg) {
    svg.circle((74.0, 12.0, 4.0), "dot", "");
    svg.text(84.0, 16.0, "", "setting");
    svg.circle((150.0, 12.0, 5.0), "front", "");
    svg.text(160.0, 16.0, "", "on the Pareto front");
    star(svg, (300.0, 12.0), "");
    svg.text(314.0, 16.0, "", "recommended");
}

#[cfg(test)]
mod tests {
    use super::super::sweep::tests::grid;
    use super::*;

    #[test]
    fn the_edge_is_what_none_beats() {
        let sweep = grid();
        let all: Vec<&Setting> = sweep.settings.iter().collect();
        let means: Vec<f64> = edge(&sweep, &all, (1, 0)).iter().map(|s| s.means[0]).collect();
        assert_eq!(means, [1.0, 11.0, 21.0]);
    }

    #[test]
    fn the_recommended_setting_is_a_star() {
        let figures = figures(&grid());
        let svg = figures[0].svg.element();
        assert_eq!(figures.len(), 1);
        assert_eq!(svg.matches("class=\"star\"").count(), 2, "one, and the legend's");
        assert!(svg.contains("kmin 80KB, pmax 1.0\ngoodput mean: 11 Gb/s"), "{svg}");
    }
}
