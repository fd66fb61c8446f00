//! Draws the DCQCN series of `docs/validation.md`: the bottleneck queue over time, one panel a run.
//!
//! `cargo run --release -p validation --example dcqcn_figure > docs/figures/dcqcn-queue.svg`

use std::fmt::Write;

use validation::dcqcn::drawn_series;

const WIDTH: f64 = 760.0;
const PANEL: f64 = 150.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 30.0;
/// Top of each queue axis, bytes: a little above Kmax. The burst of the start is higher; it is cut and its peak told.
const HIGHEST: f64 = 250_000.0;
/// Kmax of the runs, bytes, drawn as a dashed line.
const KMAX: f64 = 200_000.0;
/// Points drawn a panel; each is the mean of the samples it stands for.
const POINTS: usize = 700;

fn panel(svg: &mut String, top: f64, name: &str, series: &[(f64, u64)]) {
    let peak = series.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0) as f64;
    let last = series.last().map_or(1.0, |&(at, _)| at);
    let (plot_width, plot_height) = (WIDTH - LEFT - RIGHT, PANEL - TOP - BOTTOM);
    let (base, end) = (top + PANEL - BOTTOM, LEFT + plot_width);
    let _ = writeln!(
        svg,
        r#"<text x="{LEFT}" y="{:.0}"><tspan font-weight="bold">{name} loop</tspan>: bottleneck queue over time (peak at the start {:.0} KB)</text>"#,
        top + 16.0,
        peak / 1000.0
    );
    let dashed = base - KMAX / HIGHEST * plot_height;
    let _ = writeln!(
        svg,
        r##"<path d="M{LEFT} {dashed:.1}H{end:.0}" stroke="#b3541e" stroke-dasharray="4 4"/><text x="{:.0}" y="{:.1}" text-anchor="end" fill="#b3541e">Kmax</text>"##,
        end - 4.0,
        dashed - 4.0
    );
    let _ = writeln!(
        svg,
        r##"<path d="M{LEFT} {:.0}V{base:.0}H{end:.0}" fill="none" stroke="#888"/>"##,
        top + TOP
    );
    for label in [0.0, 100.0, 200.0] {
        let y = base - label * 1000.0 / HIGHEST * plot_height;
        let _ = writeln!(
            svg,
            r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{label:.0} KB</text>"#,
            LEFT - 6.0,
            y + 4.0
        );
    }
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, label) = (LEFT + share * plot_width, share * last / 1000.0);
        let anchor = if share == 1.0 { "end" } else { "middle" };
        let _ = writeln!(
            svg,
            r#"<text x="{x:.1}" y="{:.0}" text-anchor="{anchor}">{label:.0} ms</text>"#,
            base + 16.0
        );
    }
    let step = series.len().div_ceil(POINTS).max(1);
    let points: Vec<String> = series
        .chunks(step)
        .map(|chunk| {
            let mean = chunk.iter().map(|&(_, bytes)| bytes as f64).sum::<f64>() / chunk.len() as f64;
            let mean = mean.min(HIGHEST);
            let x = LEFT + chunk[0].0 / last * plot_width;
            format!("{x:.1},{:.1}", base - mean / HIGHEST * plot_height)
        })
        .collect();
    let _ = writeln!(
        svg,
        r##"<polyline points="{}" fill="none" stroke="#1f6fb2" stroke-width="1"/>"##,
        points.join(" ")
    );
}

fn main() {
    let series = drawn_series();
    let height = PANEL * series.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, (name, points)) in series.iter().enumerate() {
        panel(&mut svg, PANEL * index as f64, name, points);
    }
    svg.push_str("</svg>");
    println!("{svg}");
}
