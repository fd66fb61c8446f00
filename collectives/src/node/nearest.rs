//! The name that was probably meant.

/// Edits (insert, delete, replace) that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The candidate with the fewest edits from `name`; the first among equals.
pub(super) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> &'a str {
    let wanted: String =
        name.chars().take(64).collect::<String>().to_lowercase().replace(['_', ' ', '.'], "-");
    candidates.iter().copied().min_by_key(|candidate| distance(&wanted, candidate)).unwrap_or("")
}
