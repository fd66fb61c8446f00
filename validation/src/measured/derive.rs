//! Collective, ranks and nodes: printed, or derived from bus bandwidth over algorithm bandwidth.

use super::collective::Collective;
use super::log::{Device, MeasuredRow, Origin, Problem};
use super::table::datatype_bytes;

/// The factors bus bandwidth / algorithm bandwidth that all rows allow within their printed digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FactorRange {
    pub low: f64,
    pub high: f64,
}

/// The factors one half of a row allows.
pub(super) fn factors(algbw: f64, busbw: f64, digit: f64) -> Option<FactorRange> {
    let half = digit * 0.501;
    let usable = algbw.is_finite() && busbw.is_finite() && algbw > 2.0 * half && busbw > 2.0 * half;
    usable
        .then(|| FactorRange { low: (busbw - half) / (algbw + half), high: (busbw + half) / (algbw - half) })
}

/// The factors all rows allow. Rows that contradict the others are left out: the middle is what most of them say.
pub(super) fn factor_range(rows: &[MeasuredRow]) -> Option<FactorRange> {
    let mut ranges: Vec<FactorRange> = rows
        .iter()
        .flat_map(|row| row.timings().map(|(_, timing)| *timing).collect::<Vec<_>>())
        .filter_map(|t| factors(t.algbw_gbytes_per_s?, t.busbw_gbytes_per_s?, t.bandwidth_digit_gbytes_per_s))
        .collect();
    // The narrowest first: they are the large sizes.
    ranges.sort_by(|a, b| (a.high - a.low).total_cmp(&(b.high - b.low)));
    let mut best: Option<(usize, FactorRange)> = None;
    for seed in ranges.iter().take(8) {
        let (mut agree, mut common) = (0, *seed);
        for range in &ranges {
            let both = FactorRange { low: common.low.max(range.low), high: common.high.min(range.high) };
            if both.low <= both.high {
                (agree, common) = (agree + 1, both);
            }
        }
        if best.is_none_or(|(most, _)| agree > most) {
            best = Some((agree, common));
        }
    }
    best.map(|(_, range)| range)
}

/// Whether a collective with `ranks` ranks (or with any number) has a factor in the range.
fn fits(collective: Collective, ranks: Option<u32>, range: FactorRange) -> bool {
    match (ranks, collective.ranks_from_factor(range.low, range.high)) {
        (Some(ranks), _) => {
            let factor = collective.busbw_factor(ranks);
            range.low - 1e-9 <= factor && factor <= range.high + 1e-9
        }
        (None, Some(_)) => true,
        (None, None) => range.low <= 1.0 && 1.0 <= range.high && collective.busbw_factor(7) == 1.0,
    }
}

/// Finds what was measured: from the named collective, else from what fits the figures, the columns and the name.
pub(super) fn collective(
    named: Option<(Collective, Origin)>,
    ranks: Option<u32>,
    rows: &[MeasuredRow],
    source: &str,
    problems: &mut Vec<Problem>,
) -> Option<(Collective, Origin)> {
    if named.is_some() {
        return named;
    }
    let range = factor_range(rows);
    let mut likely = by_columns(rows);
    if let Some(range) = range {
        likely.retain(|collective| fits(*collective, ranks, range));
    }
    let file = source.rsplit(['/', '\\']).next().unwrap_or(source).to_ascii_lowercase();
    let file: String = file.chars().filter(char::is_ascii_alphanumeric).collect();
    let spelled = |c: &Collective| c.name().chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let by_name =
        Collective::ALL.into_iter().filter(|c| file.contains(&spelled(c))).max_by_key(|c| spelled(c).len());
    if let Some(collective) = by_name
        && range.is_none_or(|range| fits(collective, ranks, range))
    {
        return Some((collective, Origin::FileName));
    }
    let first = *likely.first()?;
    let others: Vec<&str> = likely[1..].iter().map(|collective| collective.name()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(" ({} would fit as well)", others.join(", ")),
    };
    problems.push(Problem {
        line: 0,
        code: "collective-derived",
        text: format!(
            "the log does not name its collective: its columns and busbw/algbw say {first}{others}"
        ),
    });
    Some((first, Origin::Derived))
}

/// The collectives that print such columns, the likeliest first.
fn by_columns(rows: &[MeasuredRow]) -> Vec<Collective> {
    use Collective::{
        AllGather, AllReduce, AllToAll, Broadcast, Gather, Reduce, ReduceScatter, Scatter, SendRecv,
    };
    let reduces = rows.iter().any(|row| row.op.is_some());
    let rooted = rows.iter().any(|row| row.root.is_some());
    // Send/Recv and all-to-all cannot be checked in place.
    let in_place_unchecked = rows.iter().any(|row| {
        let wrong = |timing: &Option<super::log::Timing>| timing.map(|t| t.wrong.or(t.max_error.map(|_| 0)));
        matches!((wrong(&row.out_of_place), wrong(&row.in_place)), (Some(Some(_)), Some(None)))
    });
    // Blocks: size = count × element × ranks, so that the two columns differ by more than the element.
    let blocks = rows.iter().any(|row| {
        let element = datatype_bytes(&row.datatype).unwrap_or(1);
        row.count.checked_mul(element).is_some_and(|bytes| row.count > 0 && bytes < row.bytes)
    });
    match (rooted, in_place_unchecked, reduces, blocks) {
        (true, _, true, _) => vec![Reduce, Broadcast, Gather, Scatter],
        (true, _, false, _) => vec![Broadcast, Gather, Scatter, Reduce],
        (false, true, _, _) => vec![SendRecv, AllToAll, AllReduce, ReduceScatter, AllGather],
        (false, false, true, true) => vec![ReduceScatter, AllReduce, Reduce, AllToAll, SendRecv],
        (false, false, true, false) => vec![AllReduce, ReduceScatter, Reduce, SendRecv, AllToAll],
        (false, false, false, _) => vec![AllGather, AllToAll, Broadcast, SendRecv, AllReduce, ReduceScatter],
    }
}

/// Ranks from the figures, where nothing prints them. Of several that fit, the roundest is taken.
pub(super) fn ranks(
    collective: Collective,
    rows: &[MeasuredRow],
    problems: &mut Vec<Problem>,
) -> Option<(u32, Origin)> {
    let range = factor_range(rows)?;
    let (least, most) = collective.ranks_from_factor(range.low, range.high)?;
    let middle = f64::from(least) + f64::from(most - least) / 2.0;
    let near = |step: u32| {
        let first = least.div_ceil(step) * step;
        (first <= most).then(|| {
            let nearest = (middle / f64::from(step)).round() * f64::from(step);
            (nearest as u32).clamp(first, most / step * step)
        })
    };
    let power = (1..31).map(|bit| 1 << bit).find(|power: &u32| (least..=most).contains(power));
    let ranks = power.or_else(|| [8, 4, 2, 1].into_iter().find_map(near))?;
    let text = if least == most {
        format!("the log does not say how many ranks there were: busbw/algbw gives {ranks}")
    } else {
        format!(
            "the log does not say how many ranks there were: busbw/algbw allows {least} to {most}; {ranks} is taken"
        )
    };
    problems.push(Problem { line: 0, code: "ranks-derived", text });
    Some((ranks, Origin::Derived))
}

/// Ranks, hosts and GPUs a host from the rank lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub ranks: u32,
    pub nodes: Option<u32>,
    pub complete: bool,
}

pub(super) fn layout(devices: &[Device]) -> Option<Layout> {
    let ranks = devices.iter().map(|device| device.rank).max()?.checked_add(1)?;
    let mut seen: Vec<u32> = devices.iter().map(|device| device.rank).collect();
    seen.sort_unstable();
    seen.dedup();
    let complete = seen.len() == ranks as usize;
    let mut hosts: Vec<&str> = devices.iter().map(|device| device.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let nodes = if complete {
        Some(hosts.len() as u32)
    } else {
        // Some lines are missing: hosts hold as many as the largest device number says.
        let per_host = devices.iter().map(|device| device.device).max()?.checked_add(1)?;
        (ranks % per_host == 0 && (ranks / per_host) as usize >= hosts.len()).then_some(ranks / per_host)
    };
    Some(Layout { ranks, nodes, complete })
}
