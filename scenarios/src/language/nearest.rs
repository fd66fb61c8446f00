//! The name that was probably meant.

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: [Vec<usize>; 3] = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

/// The candidate nearest to `name`, if one is near enough to have been meant; the first among equals.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if name.chars().count() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wanted = plain(name);
    let limit = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), candidate))
        .filter(|&(edits, _)| edits <= limit)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// `did you mean "x"?`, or what there is to choose from.
pub(super) fn advice<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(name, candidates.iter().copied()) {
        Some(found) => format!("did you mean \"{found}\"?"),
        None if candidates.is_empty() => "there are none here".to_string(),
        None => format!("it can be {}", candidates.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_of_each_sort_counts_one() {
        assert_eq!(distance("swich", "switch"), 1);
        assert_eq!(distance("swiitch", "switch"), 1);
        assert_eq!(distance("swotch", "switch"), 1);
        assert_eq!(distance("siwtch", "switch"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kmin", "kmax"), 2);
    }

    #[test]
    fn the_nearest_is_found_whatever_its_case_and_dashes() {
        let names = ["single-switch", "leaf-spine", "fat-tree"];
        assert_eq!(nearest("Leaf_Spine", names), Some("leaf-spine"));
        assert_eq!(nearest("fattree", names), Some("fat-tree"));
        assert_eq!(nearest("torus", names), None);
        assert_eq!(nearest(&"x".repeat(10_000), names), None);
        assert_eq!(advice("torus", names), "it can be single-switch, leaf-spine, fat-tree");
    }
}
