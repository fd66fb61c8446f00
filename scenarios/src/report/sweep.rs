//! The report of a sweep.

use serde_json::Value;

use super::document::{Block, Report, Section, paragraph, tiles};
use super::read::{Folder, Table, number};
use super::scale::figure;
use super::svg::escape;
use super::{heat, tradeoff};

/// One setting of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The values of the parameters, as text.
    pub values: Vec<String>,
    /// The mean of each objective; not a number where there is none.
    pub means: Vec<f64>,
    /// Whether it is on the Pareto front of all objectives.
    pub front: bool,
    /// Whether it is recommended.
    pub recommended: bool,
    /// Whether all its points worked and all their flows are done.
    pub usable: bool,
}

/// An objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Its path in the summary, `flows.fct_us.p99`.
    pub figure: String,
    /// Whether more of it is better.
    pub more: bool,
}

impl Objective {
    /// What it is, with its unit.
    pub fn label(&self) -> (String, &'static str) {
        let parts: Vec<&str> = self.figure.split('.').collect();
        let units = [
            ("_us", "us"),
            ("_gbps", "Gb/s"),
            ("_gbytes_per_s", "GB/s"),
            ("_bytes", "B"),
            ("_ns", "ns"),
            ("us_total", "us"),
        ];
        let unit = units
            .iter()
            .find(|(end, _)| parts.iter().any(|part| part.ends_with(end)))
            .map_or("", |(_, unit)| *unit);
        let words = parts.iter().map(|part| {
            let bare = units.iter().find_map(|(end, _)| part.strip_suffix(end)).unwrap_or(part);
            match bare {
                "fct" => "FCT".to_string(),
                "pfc" => "PFC".to_string(),
                "ecn" => "ECN".to_string(),
                "busbw" => "bus bandwidth".to_string(),
                bare => bare.replace('_', " "),
            }
        });
        (words.filter(|word| word != "flows" && !word.is_empty()).collect::<Vec<_>>().join(" "), unit)
    }
}

/// What was swept and what it came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Paths of the parameters.
    pub parameters: Vec<String>,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// The settings, in the order of the plan.
    pub settings: Vec<Setting>,
}

impl Sweep {
    /// From `sweep.json` and `settings.csv`.
    pub fn new(told: &Value, table: &Table) -> Self {
        let list = |key: &str| told[key].as_array().cloned().unwrap_or_default();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
        let parameters: Vec<String> = list("parameters").iter().map(|p| text(p, "path")).collect();
        let objectives: Vec<Objective> = list("objectives")
            .iter()
            .map(|o| Objective { figure: text(o, "figure"), more: o["goal"] == "max" })
            .collect();
        let column = |name: &str| table.column(name);
        let cell =
            |row: &Vec<String>, name: &str| column(name).map_or(String::new(), |place| row[place].clone());
        let settings = table
            .rows
            .iter()
            .map(|row| Setting {
                values: parameters.iter().map(|name| cell(row, name)).collect(),
                means: objectives.iter().map(|objective| number(&cell(row, &objective.figure))).collect(),
                front: cell(row, "pareto") == "true",
                recommended: cell(row, "recommended") == "true",
                usable: cell(row, "failed") == "0" && cell(row, "unfinished") == "0",
            })
            .collect();
        Self { parameters, objectives, settings }
    }

    /// The recommended setting.
    pub fn recommended(&self) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.recommended)
    }

    /// A setting in words: the last names and the values of the parameters that have more than one.
    pub fn tell(&self, setting: &Setting) -> String {
        let varied =
            |place: usize| self.settings.iter().any(|s| s.values[place] != self.settings[0].values[place]);
        let parts = (0..self.parameters.len()).filter(|&place| varied(place));
        let tell = |place: usize| format!("{} {}", short(&self.parameters[place]), setting.values[place]);
        parts.map(tell).collect::<Vec<_>>().join(", ")
    }
}

/// The last name of a path.
pub fn short(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Makes the report.
pub fn report(folder: &mut Folder) -> Report {
    let told = folder.json("sweep.json").unwrap_or(Value::Null);
    let plan =
        if folder.has("plan.json") { folder.json("plan.json").unwrap_or(Value::Null) } else { Value::Null };
    let settings = folder.table("settings.csv");
    let points = folder.table("points.csv");
    let any = |key: &str| if told[key].is_null() { plan[key].clone() } else { told[key].clone() };
    let title = any("scenario").as_str().map_or_else(|| "sweep".to_string(), |name| format!("{name}: sweep"));
    let count = |key: &str| any(key).as_u64().unwrap_or(0);
    let subtitle = format!(
        "{} points: {} settings with {} seed{} each",
        count("points"),
        count("settings"),
        count("repeat").max(1),
        if count("repeat") > 1 { "s" } else { "" }
    );
    let failed = told["failed"].as_u64().unwrap_or(0);
    let badge = if told.is_null() {
        ("warning", "Not complete".to_string())
    } else if failed > 0 {
        ("warning", format!("{failed} points failed"))
    } else {
        ("good", "Complete".to_string())
    };
    let sweep = Sweep::new(&told, &settings.clone().unwrap_or_default());
    let mut sections = vec![overview(&told, &sweep)];
    if told.is_null() {
        sections[0].blocks.insert(
            0,
            paragraph("This sweep is not complete: run it again with the same --out, or `fabsim sweep merge` it, and then make the report again."),
        );
    }
    let mut add = |id, title, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section { id, title, blocks });
        }
    };
    let blocks = |figures: Vec<super::document::Figure>| -> Vec<Block> {
        figures.into_iter().map(|figure| Block::Figure(Box::new(figure))).collect()
    };
    add("recommendation", "Recommendation", recommendation(&told, &sweep));
    add("heat", "Heat maps", blocks(heat::figures(&sweep)));
    add("tradeoff", "Trade-off", blocks(tradeoff::figures(&sweep)));
    if let Some(table) = settings {
        add(
            "settings",
            "Settings",
            vec![Block::Table("settings".into(), "Means over the seeds of each setting".into(), table)],
        );
    }
    if let Some(table) = points {
        let rows = table.rows.len();
        let table = varied(table);
        add(
            "points",
            "Points",
            vec![Block::Table(
                "points".into(),
                format!("All {rows} points, without the columns that never change"),
                table,
            )],
        );
    }
    Report { title, subtitle, badge, sections, notes: Vec::new() }
}

fn overview(told: &Value, sweep: &Sweep) -> Section {
    let mut blocks = Vec::new();
    if let Some(best) = sweep.recommended() {
        let mut all: Vec<(&str, String, String)> =
            vec![("Recommended", sweep.tell(best), "see why below".to_string())];
        let labels: Vec<(String, &'static str)> = sweep.objectives.iter().map(Objective::label).collect();
        for (index, objective) in sweep.objectives.iter().enumerate() {
            let range = &told["objectives"][index];
            let end = |key: &str| range[key].as_f64().map_or("–".to_string(), figure);
            let below = format!(
                "{} is better; best {}, worst {}",
                if objective.more { "more" } else { "less" },
                end("best"),
                end("worst")
            );
            all.push((&labels[index].0, format!("{} {}", figure(best.means[index]), labels[index].1), below));
        }
        blocks.push(tiles(&all));
    }
    let mut rows = String::new();
    for parameter in told["parameters"].as_array().into_iter().flatten() {
        let values: Vec<String> =
            parameter["values"].as_array().into_iter().flatten().map(crate::sweep::plain).collect();
        let said = if values.is_empty() { "sampled".to_string() } else { values.join(", ") };
        let path = parameter["path"].as_str().unwrap_or_default();
        rows.push_str(&format!("<dt><code>{}</code></dt><dd>{}</dd>", escape(path), escape(&said)));
    }
    for constraint in told["constraints"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        rows.push_str(&format!("<dt>constraint</dt><dd><code>{}</code></dd>", escape(constraint)));
    }
    if !rows.is_empty() {
        blocks.push(Block::Html(format!(
            "<div class=\"card\"><h3>What was varied</h3><dl class=\"facts\">{rows}</dl></div>\n"
        )));
    }
    Section { id: "overview", title: "What was swept", blocks }
}

fn recommendation(told: &Value, sweep: &Sweep) -> Vec<Block> {
    let mut blocks = Vec::new();
    let best = &told["recommended"];
    if let (Some(setting), Some(reason)) = (sweep.recommended(), best["reason"].as_str()) {
        blocks.push(Block::Html(format!(
            "<div class=\"finding good\"><p><b class=\"tag\">take</b> <b>{}</b></p><p>{}</p></div>\n",
            escape(&sweep.tell(setting)),
            escape(reason)
        )));
    } else if !told.is_null() {
        blocks.push(paragraph(
            "No setting can be recommended: in none did all points work and all flows complete.",
        ));
    }
    let texts: Vec<String> = told["sensitivity"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|s| Some((s["path"].as_str()?, s["text"].as_str()?)))
        .map(|(path, text)| format!("<li><code>{}</code>: {}</li>", escape(path), escape(text)))
        .collect();
    if !texts.is_empty() {
        blocks.push(Block::Html(format!(
            "<div class=\"card\"><h3>How sensitive it is</h3><ol class=\"steps\">{}</ol></div>\n",
            texts.concat()
        )));
    }
    blocks
}

/// The columns of a table that are not the same in every row; the first is kept.
fn varied(table: Table) -> Table {
    if table.rows.len() < 2 {
        return table;
    }
    let varies = |column: usize| table.rows.iter().any(|row| row[column] != table.rows[0][column]);
    let kept: Vec<usize> = (0..table.header.len()).filter(|&column| column == 0 || varies(column)).collect();
    let of = |row: &Vec<String>| kept.iter().map(|&column| row[column].clone()).collect();
    Table { header: of(&table.header), rows: table.rows.iter().map(of).collect() }
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;

    /// A grid of two parameters with two objectives.
    pub fn grid() -> Sweep {
        let told = json!({
            "parameters": [{ "path": "switch.ecn.kmin" }, { "path": "switch.ecn.pmax" }],
            "objectives": [
                { "figure": "flows.goodput_gbps.mean", "goal": "max" }, { "figure": "queues.peak_bytes", "goal": "min" }
            ],
        });
        let names = [
            "switch.ecn.kmin",
            "switch.ecn.pmax",
            "flows.goodput_gbps.mean",
            "queues.peak_bytes",
            "failed",
            "unfinished",
            "pareto",
            "recommended",
        ];
        let mut table = Table::new(&names);
        for (k, kmin) in ["40KB", "80KB", "160KB"].into_iter().enumerate() {
            for (p, pmax) in ["0.2", "1.0"].into_iter().enumerate() {
                let goodput = (10 * k + p).to_string();
                let queue = (1000 * (k + 1)).to_string();
                let front = (p == 1).to_string();
                let taken = (k == 1 && p == 1).to_string();
                table.rows.push(
                    [kmin, pmax, &goodput, &queue, "0", "0", &front, &taken].map(String::from).to_vec(),
                );
            }
        }
        Sweep::new(&told, &table)
    }

    #[test]
    fn a_sweep_is_read_from_its_tables() {
        let sweep = grid();
        assert_eq!(sweep.settings.len(), 6);
        assert_eq!(sweep.tell(sweep.recommended().unwrap()), "kmin 80KB, pmax 1.0");
        assert_eq!(sweep.objectives[0].label(), ("goodput mean".to_string(), "Gb/s"));
        assert_eq!(sweep.objectives[1].label(), ("queues peak".to_string(), "B"));
    }

    #[test]
    fn columns_that_never_change_are_left_out() {
        let mut table = Table::new(&["point", "a", "b"]);
        table.rows =
            vec![["x", "1", "2"].map(String::from).to_vec(), ["x", "1", "3"].map(String::from).to_vec()];
        assert_eq!(varied(table).header, ["point", "b"]);
    }
}
