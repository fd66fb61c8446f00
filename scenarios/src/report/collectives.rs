//! Steps of collectives: when each rank works.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::Figure;
use super::read::{Table, number};
use super::scale::{Scale, Unit, figure};
use super::svg::{Svg, WIDTH, at, shortened};

/// Rows that are drawn; of more ranks, some share a row.
const ROWS: usize = 64;
/// Executions of which each is a column of the strip of lateness.
const COLUMNS: usize = 80;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 16.0;

/// One execution of an operation at one GPU.
struct Step {
    operation: String,
    execution: u64,
    rank: u64,
    gpu: u64,
    start: f64,
    end: f64,
}

/// An execution of an operation.
type Execution = (String, u64);

/// The table of operations, from the summary.
pub fn summary(collectives: &Value) -> Option<Table> {
    let all = collectives.as_array().filter(|all| !all.is_empty())?;
    let mut table = Table::new(&[
        "operation",
        "kind",
        "algorithm",
        "protocol",
        "ranks",
        "bytes",
        "executions",
        "step_time_us_mean",
        "step_time_us_max",
        "algbw_gbytes_per_s",
        "busbw_gbytes_per_s",
        "bound_busbw_gbytes_per_s",
        "bound_by",
    ]);
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => figure(number.as_f64().unwrap_or(f64::NAN)),
        other => other.to_string(),
    };
    table.rows.extend(all.iter().map(|c| {
        let time = |key: &str| plain(&c["step_time_us"][key]);
        let mut row: Vec<String> = ["name", "kind", "algorithm", "protocol", "ranks", "bytes", "executions"]
            .map(|key| plain(&c[key]))
            .into();
        row.extend([time("mean"), time("max")]);
        row.extend(
            ["algbw_gbytes_per_s", "busbw_gbytes_per_s", "bound_busbw_gbytes_per_s", "bound_by"]
                .map(|key| plain(&c[key])),
        );
        row
    }));
    Some(table)
}

/// When each GPU works, and how late it is in each execution.
pub fn figures(table: &Table) -> Vec<Figure> {
    let names = ["job", "operation", "execution", "rank", "gpu", "start_us", "end_us"];
    let Some(rows) = table.columns(names) else { return Vec::new() };
    let steps: Vec<Step> = rows
        .filter_map(|[job, operation, execution, rank, gpu, start, end]| {
            let (start, end) = (number(start), number(end));
            let operation = if job == operation { job.to_string() } else { format!("{job}: {operation}") };
            let step = Step {
                operation,
                execution: execution.parse().ok()?,
                rank: rank.parse().ok()?,
                gpu: gpu.parse().ok()?,
                start,
                end,
            };
            (end >= start).then_some(step)
        })
        .collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let mut figures =
        vec![gantt("collectives".to_string(), "Collective steps of each rank".to_string(), &steps)];
    for (number, name) in operations(&steps).iter().take(4).enumerate() {
        let of: Vec<&Step> = steps.iter().filter(|step| step.operation == *name).collect();
        figures.extend(lateness(
            format!("lateness-{number}"),
            format!("How late each rank is in {name}"),
            &of,
        ));
    }
    figures
}

/// The row of each GPU.
fn rows<'a>(steps: impl Iterator<Item = &'a Step>) -> (BTreeMap<u64, usize>, usize) {
    let mut ranks: Vec<u64> = steps.map(|step| step.gpu).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let together = ranks.len().div_ceil(ROWS).max(1);
    let rows = ranks.len().div_ceil(together);
    (ranks.into_iter().enumerate().map(|(place, rank)| (rank, place / together)).collect(), rows)
}

fn height(rows: usize) -> f64 {
    (420.0 / rows.max(1) as f64).clamp(7.0, 20.0)
}

fn label(rows: &BTreeMap<u64, usize>, row: usize) -> String {
    let mut here = rows.iter().filter(|(_, r)| **r == row).map(|(rank, _)| *rank);
    let first = here.next().unwrap_or(0);
    here.next_back().map_or_else(|| format!("GPU {first}"), |last| format!("GPU {first}…{last}"))
}

fn labels(svg: &mut Svg, rows: &BTreeMap<u64, usize>, count: usize, top: f64) {
    let tall = height(count);
    let each = (12.0 / tall).max(1.0) as usize;
    for row in (0..count).step_by(each + usize::from(12.0 > tall * each as f64)) {
        svg.text(LEFT - 8.0, top + row as f64 * tall + tall / 2.0 + 4.0, "tick small e", &label(rows, row));
    }
}

fn operations(steps: &[Step]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for step in steps {
        if !names.contains(&step.operation) {
            names.push(step.operation.clone());
        }
    }
    names
}

fn gantt(id: String, title: String, steps: &[Step]) -> Figure {
    let (rows, count) = rows(steps.iter());
    let names = operations(steps);
    let end = steps.iter().map(|step| step.end).fold(0.0, f64::max);
    let clock = Unit::of_time(end);
    let scale = Scale::up_to(end * clock.factor);
    let x = |us: f64| LEFT + scale.part(us * clock.factor) * (WIDTH - LEFT - RIGHT);
    let (tall, top) = (height(count), 30.0);
    let bottom = top + count as f64 * tall;
    let mut svg = Svg::new(&title, WIDTH, bottom + 46.0);
    let mut at_x = LEFT;
    for (index, name) in names.iter().take(8).enumerate() {
        svg.rect((at_x, 6.0, 12.0, 12.0), &format!("fill c{}", index % 8), "");
        let name = shortened(name, 40);
        svg.text(at_x + 17.0, 16.0, "", &name);
        at_x += 30.0 + super::svg::width_of(&name);
    }
    axis(&mut svg, &scale, (top, bottom), clock.name);
    let lanes = names.len().clamp(1, 4) as f64;
    labels(&mut svg, &rows, count, top);
    let mut data =
        Table::new(&["operation", "execution", "rank", "gpu", "start_us", "end_us", "duration_us"]);
    let mut sorted: Vec<&Step> = steps.iter().collect();
    sorted.sort_by(|a, b| {
        (rows[&a.gpu], &a.operation, a.gpu)
            .cmp(&(rows[&b.gpu], &b.operation, b.gpu))
            .then(a.start.total_cmp(&b.start))
    });
    // Bars of a row that touch in the drawing and are of one operation are one.
    let mut open: Option<(usize, usize, f64, f64, u32)> = None;
    let mut close = |bar: Option<(usize, usize, f64, f64, u32)>| {
        if let Some((row, operation, from, to, steps)) = bar {
            let name = &names[operation];
            let what = if steps == 1 { name.clone() } else { format!("{steps} steps of {name}") };
            let says = format!(
                "{}: {what}\n{} to {}, {}",
                label(&rows, row),
                clock.tell(from),
                clock.tell(to),
                super::scale::time(to - from)
            );
            let width = (x(to) - x(from) - 0.5).max(0.6);
            // Operations of a row lie below each other, since they may overlap.
            let lane = (tall - 2.0) / lanes;
            let y = top + row as f64 * tall + 1.0 + lane * (operation as f64 % lanes);
            let place = (x(from), y, width, lane.max(1.0));
            svg.rect(place, &format!("fill c{}", operation % 8), &says);
        }
    };
    for step in sorted {
        data.rows.push(vec![
            step.operation.clone(),
            step.execution.to_string(),
            step.rank.to_string(),
            step.gpu.to_string(),
            format!("{:.6}", step.start),
            format!("{:.6}", step.end),
            format!("{:.6}", step.end - step.start),
        ]);
        let row = rows[&step.gpu];
        let operation = names.iter().position(|name| *name == step.operation).unwrap_or(0);
        open = match open {
            Some((r, o, from, to, n))
                if r == row && o == operation && (x(step.start) < x(from) + 1.5 || step.start < to) =>
            {
                Some((r, o, from, to.max(step.end), n + 1))
            }
            before => {
                close(before);
                Some((row, operation, step.start, step.end, 1))
            }
        };
    }
    close(open);
    let caption = "A row is the GPU of a rank (or some, where there are many), a bar one execution from its start to its last data. A ragged \
                   right edge is a rank that the fabric held up."
        .to_string();
    Figure { id, title, caption, svg, data }
}

fn axis(svg: &mut Svg, scale: &Scale, (top, bottom): (f64, f64), unit: &str) {
    for tick in scale.ticks(8) {
        let x = LEFT + scale.part(tick) * (WIDTH - LEFT - RIGHT);
        svg.path(&format!("M{} {}V{}", at(x), at(top), at(bottom + 4.0)), "grid", "");
        svg.text(x, bottom + 18.0, "tick m", &figure(tick));
    }
    svg.text((LEFT + WIDTH - RIGHT) / 2.0, bottom + 38.0, "m", &format!("time ({unit})"));
}

/// Ranks against executions; the colour is how much later than the first rank of an execution it was done.
fn lateness(id: String, title: String, steps: &[&Step]) -> Option<Figure> {
    let (rows, count) = rows(steps.iter().copied());
    let mut executions: BTreeMap<Execution, (f64, f64, f64)> = BTreeMap::new();
    for step in steps {
        let span = executions.entry((step.operation.clone(), step.execution)).or_insert((
            f64::INFINITY,
            f64::INFINITY,
            0.0,
        ));
        *span = (span.0.min(step.start), span.1.min(step.end), span.2.max(step.end));
    }
    let mut order: Vec<_> = executions.iter().collect();
    order.sort_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| a.0.cmp(b.0)));
    let all = order.len();
    order.truncate(COLUMNS);
    if rows.len() < 2 {
        return None;
    }
    let column: BTreeMap<&Execution, usize> =
        order.iter().enumerate().map(|(c, (key, _))| (*key, c)).collect();
    let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut data =
        Table::new(&["operation", "execution", "rank", "later_than_first_us", "part_of_step_percent"]);
    let mut most = 0.0_f64;
    for step in steps {
        let key = (step.operation.clone(), step.execution);
        let Some(&column) = column.get(&key) else { continue };
        let (start, first, last) = executions[&key];
        let late = step.end - first;
        let part = late / (last - start).max(1e-9) * 100.0;
        most = most.max(part);
        let cell = cells.entry((column, rows[&step.gpu])).or_insert(0.0);
        *cell = cell.max(late);
        data.rows.push(vec![
            step.operation.clone(),
            step.execution.to_string(),
            step.rank.to_string(),
            format!("{late:.6}"),
            format!("{part:.3}"),
        ]);
    }
    // A strip of one colour says nothing.
    if most < 0.05 {
        return None;
    }
    let latest = cells.values().copied().fold(0.0, f64::max);
    let (tall, top) = (height(count), 8.0);
    let bottom = top + count as f64 * tall;
    let mut svg = Svg::new(&title, WIDTH, bottom + 62.0);
    labels(&mut svg, &rows, count, top);
    let width = ((WIDTH - LEFT - RIGHT) / order.len().max(1) as f64).min(90.0);
    for (&(column, row), &late) in &cells {
        let shade = super::topology::shade(if latest > 0.0 { late / latest } else { 0.0 });
        let (operation, execution) = order[column].0;
        let says = format!(
            "{}: {operation} {execution}\n{} later than the first",
            label(&rows, row),
            super::scale::time(late)
        );
        let place = (LEFT + column as f64 * width, top + row as f64 * tall, width - 0.6, tall - 0.6);
        svg.rect(place, &format!("fill l{shade}"), &says);
    }
    let every = order.len().div_ceil(16).max(1);
    for column in (0..order.len()).step_by(every) {
        svg.text(
            LEFT + (column as f64 + 0.5) * width,
            bottom + 15.0,
            "tick small m",
            &order[column].0.1.to_string(),
        );
    }
    let y = bottom + 46.0;
    svg.text(LEFT, bottom + 31.0, "small", "execution");
    svg.text(LEFT, y + 9.0, "small", &format!("0 to {} later", super::scale::time(latest)));
    for step in 0..=10 {
        svg.rect((LEFT + 150.0 + f64::from(step) * 20.0, y, 20.0, 10.0), &format!("fill l{step}"), "");
    }
    let shown =
        if all > COLUMNS { format!(" (the first {COLUMNS} of {all} executions)") } else { String::new() };
    let caption = format!(
        "A column is an execution, a row a GPU, colour how much later than the first rank it was done{shown}: at most {} and {} % of \
         the execution's time.",
        super::scale::time(latest),
        figure(most)
    );
    Some(Figure { id, title, caption, svg, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_a_row_and_its_lateness() {
        let mut table = Table::new(&[
            "job",
            "operation",
            "algorithm",
            "bytes",
            "execution",
            "rank",
            "gpu",
            "start_us",
            "end_us",
        ]);
        for execution in 0..2 {
            for rank in 0..4 {
                let (start, end) = (execution * 100, execution * 100 + 80 + rank);
                table.rows.push(
                    format!("0,all-reduce,ring,1000,{execution},{rank},{rank},{start},{end}")
                        .split(',')
                        .map(String::from)
                        .collect(),
                );
            }
        }
        let figures = figures(&table);
        assert_eq!(figures.iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["collectives", "lateness-0"]);
        assert_eq!(figures[0].svg.element().matches("<title>").count(), 8);
        assert_eq!(figures[1].data.rows[3], ["0: all-reduce", "0", "3", "3.000000", "3.614"]);
    }

    #[test]
    fn many_ranks_share_rows() {
        let step = |rank| Step { operation: "a".into(), execution: 0, rank, gpu: rank, start: 0.0, end: 1.0 };
        let steps: Vec<Step> = (0..1024).map(step).collect();
        let (rows, count) = rows(steps.iter());
        assert_eq!((count, label(&rows, 0), rows[&1023]), (64, "GPU 0…15".to_string(), 63));
    }
}
