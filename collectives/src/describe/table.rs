//! Text in columns.

/// Rows in columns as wide as their widest entry, two spaces apart and indented by two.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|entry| entry.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (entry, width) in row.iter().zip(&widths) {
            line.push_str(&format!("  {entry:<width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
