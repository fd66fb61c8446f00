//! A table of figures: what was expected, what was measured, and whether it holds.

use std::ops::RangeInclusive;

/// Collects rows, prints them, and fails with all that do not hold.
#[derive(Debug)]
pub struct Table {
    title: String,
    rows: Vec<(bool, String)>,
}

impl Table {
    /// An empty table.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_string(), rows: Vec::new() }
    }

    /// A figure that must lie in a range.
    pub fn within(&mut self, what: &str, measured: f64, range: RangeInclusive<f64>, source: &str) {
        let (low, high) = (*range.start(), *range.end());
        let text = format!("{what}: measured {measured:.3}, expected {low:.3} to {high:.3} ({source})");
        self.rows.push((range.contains(&measured), text));
    }

    /// A figure that must be at least so large.
    pub fn at_least(&mut self, what: &str, measured: f64, least: f64, source: &str) {
        self.rows.push((
            measured >= least,
            format!("{what}: measured {measured:.3}, expected at least {least:.3} ({source})"),
        ));
    }

    /// A figure that must lie within a fraction of what is expected.
    pub fn near(&mut self, what: &str, measured: f64, expected: f64, fraction: f64, source: &str) {
        let tolerance = expected.abs() * fraction;
        let text = format!(
            "{what}: measured {measured:.3}, expected {expected:.3} ± {:.3} % ({source})",
            fraction * 100.0
        );
        self.rows.push(((measured - expected).abs() <= tolerance, text));
    }

    /// A statement that must be true; `measured` says what was seen.
    pub fn holds(&mut self, what: &str, measured: impl std::fmt::Debug, true_: bool, source: &str) {
        self.rows.push((true_, format!("{what}: measured {measured:?} ({source})")));
    }

    /// A figure that is only reported.
    pub fn note(&mut self, what: &str, measured: impl std::fmt::Debug) {
        self.rows.push((true, format!("{what}: {measured:?}")));
    }

    /// Prints the rows; panics if one does not hold.
    pub fn finish(self) {
        println!("## {}", self.title);
        for (holds, text) in &self.rows {
            println!("{} {text}", if *holds { "ok  " } else { "FAIL" });
        }
        let failed: Vec<&str> =
            self.rows.iter().filter(|(holds, _)| !holds).map(|(_, text)| text.as_str()).collect();
        assert!(
            failed.is_empty(),
            "{}: {} of {} rows fail:\n{}",
            self.title,
            failed.len(),
            self.rows.len(),
            failed.join("\n")
        );
    }
}
