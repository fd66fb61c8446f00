//! Sizes and figures in words.

/// A size: `64 MiB`, `34 MiB`, `24 B`, `1.5 GiB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let whole = bytes.is_multiple_of(unit);
            let amount = bytes as f64 / unit as f64;
            return if whole { format!("{amount} {name}") } else { format!("{amount:.1} {name}") };
        }
    }
    format!("{bytes} B")
}

/// A positive figure with three digits that count: `0.364`, `5.21`, `87.6`, `1250`.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// A list in words, cut after `most`: `4 MiB, 8 MiB and 3 more`.
pub(super) fn list(items: &[String], most: usize) -> String {
    if items.len() <= most {
        return items.join(", ");
    }
    format!("{} and {} more", items[..most].join(", "), items.len() - most)
}

/// The median; NaN of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (length, middle) if length % 2 == 1 => sorted[middle],
        (_, middle) => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_words() {
        for (bytes, text) in [
            (0, "0 B"),
            (8, "8 B"),
            (65536, "64 KiB"),
            (35_651_584, "34 MiB"),
            (3 << 29, "1.5 GiB"),
            (1000, "1000 B"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
