//! A report as sections of figures, tables and text, and the page made of it.

use std::fmt::Write;

use super::read::Table;
use super::svg::{CHART_CSS, DARK, LIGHT, Svg, escape};

const PAGE_CSS: &str = include_str!("page.css");
const PAGE_JS: &str = include_str!("page.js");
/// Most bytes of one table in a page.
const TABLE_BYTES: usize = 700_000;

/// A chart with its words and its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in links and file names: `fct`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The drawing.
    pub svg: Svg,
    /// What is drawn.
    pub data: Table,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Markup as it is.
    Html(String),
    /// A chart.
    Figure(Box<Figure>),
    /// A table that is shown at once: its name, its title and its rows.
    Table(String, String, Table),
}

/// A section of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name in links.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// A report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its heading.
    pub title: String,
    /// What was simulated, in a line or two.
    pub subtitle: String,
    /// The verdict: a class of `good`, `warning`, `error` or `note`, and words.
    pub badge: (&'static str, String),
    /// Its sections.
    pub sections: Vec<Section>,
    /// What is missing or cut, file by file.
    pub notes: Vec<String>,
}

impl Report {
    /// All figures, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure(figure) => Some(figure.as_ref()),
            Block::Html(_) | Block::Table(..) => None,
        })
    }

    /// The report as one HTML file that needs nothing else.
    pub fn html(&self) -> String {
        let mut out = String::new();
        let title = escape(&self.title);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – fabsim</title>\n<style>\n\
             :root{{{LIGHT}}}\n@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK}}}}}\n\
             :root[data-theme=dark]{{{DARK}}}\n{PAGE_CSS}{CHART_CSS}</style>\n</head>\n<body>\n"
        );
        let (class, words) = &self.badge;
        let _ = write!(
            out,
            "<header><div class=\"top\"><div><h1>{title}</h1><p class=\"sub\">{}</p></div>\
             <div class=\"side\"><span class=\"badge {class}\">{}</span>\
             <button id=\"theme\" type=\"button\" title=\"Light or dark\">Theme: auto</button></div></div>\n<nav>",
            escape(&self.subtitle),
            escape(words)
        );
        for section in &self.sections {
            let _ = write!(out, "<a href=\"#{}\">{}</a>", section.id, section.title);
        }
        out.push_str("</nav></header>\n<main>\n");
        out.push_str(
            "<noscript><p class=\"finding warning\">Tables, sorting and values under the pointer need JavaScript; the \
             charts do not.</p></noscript>\n",
        );
        if !self.notes.is_empty() {
            out.push_str("<section class=\"notes\"><h2>Not in this report</h2><ul>");
            for note in &self.notes {
                let _ = write!(out, "<li>{}</li>", escape(note));
            }
            out.push_str("</ul></section>\n");
        }
        for section in &self.sections {
            let _ = writeln!(out, "<section id=\"{}\"><h2>{}</h2>", section.id, section.title);
            section.blocks.iter().for_each(|block| self.block(&mut out, block));
            out.push_str("</section>\n");
        }
        let _ = write!(
            out,
            "</main>\n<footer>Made by fabsim report from the files of one folder. Nothing is loaded from elsewhere.</footer>\n\
             <div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n{PAGE_JS}</script>\n</body>\n</html>\n"
        );
        out
    }

    fn block(&self, out: &mut String, block: &Block) {
        match block {
            Block::Html(html) => out.push_str(html),
            Block::Table(id, title, table) => {
                let _ = write!(out, "<div class=\"card\"><h3>{}</h3>", escape(title));
                data(out, id, table, true);
                out.push_str("</div>\n");
            }
            Block::Figure(figure) => {
                let _ = write!(
                    out,
                    "<figure class=\"card\" id=\"fig-{}\"><h3>{}</h3><div class=\"chart\">{}</div><figcaption>{}</figcaption>",
                    figure.id,
                    escape(&figure.title),
                    figure.svg.element(),
                    escape(&figure.caption)
                );
                data(out, &figure.id, &figure.data, false);
                out.push_str("</figure>\n");
            }
        }
    }
}

/// A table: its CSV, and where the page lays it out.
fn data(out: &mut String, id: &str, table: &Table, open: bool) {
    let (text, left) = bounded(table);
    let note = match left {
        0 => String::new(),
        left => format!("<p class=\"faint\">{left} more rows are in the files of the folder.</p>"),
    };
    if open {
        let _ = write!(out, "<div class=\"table\" data-csv=\"csv-{id}\" data-open=\"1\"></div>{note}");
    } else {
        let rows = table.rows.len();
        let _ = write!(
            out,
            "<details class=\"data\"><summary>Data ({rows} row{})</summary><div class=\"table\" data-csv=\"csv-{id}\"></div>\
             {note}</details>",
            if rows == 1 { "" } else { "s" }
        );
    }
    let _ = write!(
        out,
        "<script type=\"text/csv\" id=\"csv-{id}\" data-file=\"{id}.csv\">{}</script>",
        text.replace("</", "<\\/").replace("<!--", "<\\!--")
    );
}

/// As much of a table as a page takes, and how many rows it leaves out.
fn bounded(table: &Table) -> (String, usize) {
    let mut size = 0;
    let fit = table.rows.iter().take_while(|row| {
        size += row.iter().map(|cell| cell.len() + 1).sum::<usize>();
        size <= TABLE_BYTES
    });
    let kept = fit.count();
    if kept == table.rows.len() {
        return (table.csv(), 0);
    }
    let part = Table { header: table.header.clone(), rows: table.rows[..kept].to_vec() };
    (part.csv(), table.rows.len() - kept)
}

/// Figures side by side: what each is, its value and a line below it.
pub fn tiles(tiles: &[(&str, String, String)]) -> Block {
    let mut out = String::from("<div class=\"tiles\">");
    for (name, value, below) in tiles {
        let _ = write!(
            out,
            "<div class=\"tile\"><span class=\"faint\">{}</span><b>{}</b><span class=\"faint\">{}</span></div>",
            escape(name),
            escape(value),
            escape(below)
        );
    }
    out.push_str("</div>\n");
    Block::Html(out)
}

/// A paragraph.
pub fn paragraph(text: &str) -> Block {
    Block::Html(format!("<p>{}</p>\n", escape(text)))
}

/// Findings in their colours.
pub fn findings(all: &[serde_json::Value]) -> Block {
    let mut out = String::new();
    for finding in all {
        let text = |key: &str| escape(finding[key].as_str().unwrap_or_default());
        let severity = match finding["severity"].as_str() {
            Some("error") => "error",
            Some("warning") => "warning",
            Some(_) | None => "note",
        };
        let _ = writeln!(
            out,
            "<div class=\"finding {severity}\"><p><b class=\"tag\">{severity}</b> <code>{}</code> <span class=\"faint\">{}</span>\
             </p><p>{}</p></div>",
            text("code"),
            text("where"),
            text("text")
        );
    }
    Block::Html(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_by_itself_and_text_stays_text() {
        let table =
            Table { header: vec!["a".into()], rows: vec![vec!["</script><b>".into()], vec!["1".into()]] };
        let report = Report {
            title: "<x>".into(),
            subtitle: "s".into(),
            badge: ("good", "healthy".into()),
            sections: vec![Section {
                id: "one",
                title: "One",
                blocks: vec![Block::Table("t".into(), "T".into(), table)],
            }],
            notes: vec!["pfc.csv is not there".into()],
        };
        let html = report.html();
        assert!(html.contains("<h1>&lt;x&gt;</h1>") && html.contains("<\\/script><b>"));
        assert_eq!(html.matches("</script>").count(), 2);
        for outside in ["src=", "http://", "https://", "@import", "url("] {
            assert!(!html.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside}");
        }
    }

    #[test]
    fn large_tables_are_cut_and_the_cut_is_said() {
        let rows = (0..100_000).map(|i| vec![format!("row {i}")]).collect();
        let table = Table { header: vec!["a".into()], rows };
        let mut out = String::new();
        data(&mut out, "t", &table, true);
        assert!(out.len() < TABLE_BYTES + 10_000 && out.contains("more rows are in the files"));
    }
}
