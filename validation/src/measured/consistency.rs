//! Whether a log contradicts itself.

use super::derive::{self, Layout};
use super::lines::Parameters;
use super::log::{MeasuredLog, MeasuredRow, Mode, Problem, Timing};
use super::text::Draft;

/// Problems of one code beyond this many become one line.
const MOST_OF_A_KIND: usize = 3;

/// Problems of the rows and lines of a table as printed, before rows of several types are parted.
pub(super) fn table(draft: &Draft, problems: &mut Vec<Problem>) {
    sizes_asked_for(draft, problems);
    average(draft, problems);
    if draft.closed_tags > 1 {
        let text = format!(
            "{} processes print a table each: a test built without MPI runs once in every process, and none of the \
             tables is that of the whole job",
            draft.closed_tags
        );
        problems.push(Problem { line: draft.line, code: "separate-processes", text });
    }
    if let Some((line, count, failed)) = draft.out_of_bounds {
        let wrong: u64 = wrong_of(&draft.rows).map(|(_, wrong)| wrong).fold(0, u64::saturating_add);
        if !failed && (count > 0 || wrong > 0) {
            let text =
                format!("says OK with {count} values out of bounds and {wrong} wrong results in its rows");
            problems.push(Problem { line, code: "out-of-bounds", text });
        }
    }
}

/// Problems of the rows of one type and one reduction.
pub(super) fn rows(log: &MeasuredLog, problems: &mut Vec<Problem>) {
    for row in &log.rows {
        for (mode, timing) in row.timings() {
            not_finite(row, mode, timing, problems);
            algorithm_bandwidth(row, mode, timing, problems);
        }
    }
    bus_bandwidth(log, problems);
    order(log, problems);
    wrong(log, problems);
    warm_up(log, problems);
}

/// Ranks as rank lines, processes and NCCL's messages count them.
pub(super) fn ranks(
    layout: Option<Layout>,
    draft: &Draft,
    processes: Option<u32>,
    announced: Option<u32>,
    problems: &mut Vec<Problem>,
) {
    let Some(layout) = layout else { return };
    let mut push = |text: String| problems.push(Problem { line: draft.line, code: "ranks", text });
    if !layout.complete {
        let missing = layout.ranks as usize - draft.devices.len().min(layout.ranks as usize);
        push(format!(
            "{missing} of {} rank lines are missing: ranks are those of the last line",
            layout.ranks
        ));
    }
    let per_process = draft
        .parameters
        .threads
        .unwrap_or(1)
        .max(1)
        .checked_mul(draft.parameters.gpus_per_thread.unwrap_or(1).max(1));
    if let (Some(per_process), Some(_)) = (per_process, draft.parameters.gpus_per_thread) {
        let mut pids: Vec<(&str, u64)> = draft.devices.iter().map(|d| (d.host.as_str(), d.pid)).collect();
        pids.sort_unstable();
        pids.dedup();
        let expected = pids.len() as u64 * u64::from(per_process);
        if layout.complete && expected != u64::from(layout.ranks) {
            push(format!(
                "{} rank lines, but {} processes with {per_process} GPUs each (nThread × nGpus) make {expected}",
                layout.ranks,
                pids.len()
            ));
        }
        if let Some(processes) = processes
            && u64::from(processes) * u64::from(per_process) != u64::from(layout.ranks)
        {
            push(format!(
                "{} ranks, but the launcher starts {processes} processes with {per_process} GPUs each",
                layout.ranks
            ));
        }
    }
    if let Some(announced) = announced
        && announced != layout.ranks
    {
        push(format!("{} ranks by the rank lines, {announced} by NCCL's messages", layout.ranks));
    }
}

/// Orders problems by line, and folds many of one kind.
pub(super) fn fold(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.line);
    let mut folded: Vec<Problem> = Vec::new();
    let mut more: Vec<(&'static str, usize)> = Vec::new();
    for problem in problems {
        if folded.iter().filter(|other| other.code == problem.code).count() < MOST_OF_A_KIND {
            folded.push(problem);
        } else if let Some(count) = more.iter_mut().find(|(code, _)| *code == problem.code) {
            count.1 += 1;
        } else {
            more.push((problem.code, 1));
        }
    }
    for (code, count) in more {
        let last =
            folded.iter_mut().rfind(|problem| problem.code == code).expect("only full kinds have more");
        last.text.push_str(&format!(" (and {count} more of this kind)"));
    }
    folded
}

fn sizes_asked_for(draft: &Draft, problems: &mut Vec<Problem>) {
    let limits =
        Parameters { max_bytes: draft.reduced_max.or(draft.parameters.max_bytes), ..draft.parameters };
    let (Some(asked), Some(most)) = (limits.sizes(), limits.max_bytes) else { return };
    // Several types or reductions in one table have all sizes each.
    let kind = draft.rows.first().map(|row| (&row.datatype, &row.op));
    let of_kind = draft.rows.iter().filter(|row| Some((&row.datatype, &row.op)) == kind);
    let found = of_kind.count() as u64;
    if found < asked {
        let text = format!("{found} of the {asked} sizes asked for have a row");
        problems.push(Problem { line: draft.line, code: "rows-missing", text });
    }
    if let Some(row) = draft.rows.iter().find(|row| row.bytes > most) {
        let text = format!(
            "{} bytes are more than maxBytes {most} of the line of parameters: the rows are of another run",
            row.bytes
        );
        problems.push(Problem { line: row.line, code: "parameters", text });
    }
}

fn average(draft: &Draft, problems: &mut Vec<Problem>) {
    let Some((line, printed)) = draft.average else {
        let text =
            "the table has no line \"Avg bus bandwidth\": it is cut, or the run did not end".to_string();
        problems.push(Problem { line: 0, code: "no-average", text });
        return;
    };
    let figures: Vec<(f64, f64)> = draft
        .rows
        .iter()
        .flat_map(|row| row.timings().map(|(_, timing)| *timing).collect::<Vec<_>>())
        .filter_map(|t| Some((t.busbw_gbytes_per_s?, t.bandwidth_digit_gbytes_per_s)))
        .filter(|(busbw, _)| busbw.is_finite())
        .collect();
    if figures.is_empty() || !printed.is_finite() {
        return;
    }
    let mean = figures.iter().map(|(busbw, _)| busbw).sum::<f64>() / figures.len() as f64;
    let digit = figures.iter().map(|(_, digit)| *digit).fold(0.0, f64::max);
    if (mean - printed).abs() > digit * 0.5 + printed.abs() * 1e-4 {
        let text = format!(
            "Avg bus bandwidth is {printed}, but the mean of the rows is {mean:.3}: rows are missing or changed"
        );
        problems.push(Problem { line, code: "average", text });
    }
}

fn not_finite(row: &MeasuredRow, mode: Mode, timing: &Timing, problems: &mut Vec<Problem>) {
    let figures = [Some(timing.time_us), timing.algbw_gbytes_per_s, timing.busbw_gbytes_per_s];
    let bad = figures.iter().flatten().any(|figure| !figure.is_finite() || *figure < 0.0);
    if bad || (timing.time_us == 0.0 && row.bytes > 0) {
        let text = format!(
            "{} time or bandwidth of {} bytes is no positive number ({} us)",
            mode.name(),
            row.bytes,
            timing.time_us
        );
        problems.push(Problem { line: row.line, code: "not-finite", text });
    }
}

/// algbw = size / time, within the printed digits.
fn algorithm_bandwidth(row: &MeasuredRow, mode: Mode, timing: &Timing, problems: &mut Vec<Problem>) {
    let Some(printed) = timing.algbw_gbytes_per_s else { return };
    if !(printed.is_finite() && timing.time_us.is_finite() && timing.time_us > 0.0) {
        return;
    }
    let expected = row.bytes as f64 / timing.time_us / 1e3;
    let tolerance = timing.bandwidth_digit_gbytes_per_s * 0.6
        + expected * (timing.time_digit_us * 0.6 / timing.time_us)
        + expected * 1e-4;
    if (printed - expected).abs() > tolerance {
        let text = format!(
            "{} algbw is {printed} GB/s, but {} bytes in {} us are {expected:.2}",
            mode.name(),
            row.bytes,
            timing.time_us
        );
        problems.push(Problem { line: row.line, code: "algbw", text });
    }
}

/// busbw / algbw is the factor of the collective, within the printed digits.
fn bus_bandwidth(log: &MeasuredLog, problems: &mut Vec<Problem>) {
    let (Some(collective), Some(ranks)) = (log.collective(), log.ranks()) else { return };
    let factor = collective.busbw_factor(ranks);
    let (mut found, mut checked) = (Vec::new(), 0);
    for row in &log.rows {
        for (mode, timing) in row.timings() {
            let (Some(algbw), Some(busbw)) = (timing.algbw_gbytes_per_s, timing.busbw_gbytes_per_s) else {
                continue;
            };
            let Some(range) = derive::factors(algbw, busbw, timing.bandwidth_digit_gbytes_per_s) else {
                continue;
            };
            checked += 1;
            if factor < range.low - 1e-6 || factor > range.high + 1e-6 {
                let text = format!(
                    "{} busbw/algbw of {} bytes is {:.4}, that of {collective} with {ranks} ranks is {factor:.4}",
                    mode.name(),
                    row.bytes,
                    busbw / algbw
                );
                found.push(Problem { line: row.line, code: "busbw-factor", text });
            }
        }
    }
    if found.len() > 4 && found.len() * 2 > checked {
        let range = derive::factor_range(&log.rows);
        let seen = range.map_or(0.0, |range| (range.low + range.high) / 2.0);
        let text = format!(
            "busbw/algbw is {seen:.4} in {} of {checked} figures, that of {collective} with {ranks} ranks is \
             {factor:.4}: it was another collective, or another number of ranks",
            found.len()
        );
        problems.push(Problem { line: 0, code: "busbw-factor", text });
    } else {
        problems.append(&mut found);
    }
}

fn order(log: &MeasuredLog, problems: &mut Vec<Problem>) {
    let empty = log.rows.iter().filter(|row| row.bytes == 0).count();
    if let Some(first) = log.rows.iter().find(|row| row.bytes == 0) {
        let text = format!("{empty} rows of 0 bytes time an empty call: they are not compared");
        problems.push(Problem { line: first.line, code: "zero-size", text });
    }
    let mut last: Option<&MeasuredRow> = None;
    let mut seen = std::collections::BTreeSet::new();
    for row in log.rows.iter().filter(|row| row.bytes > 0) {
        if !seen.insert(row.bytes) {
            let text = format!("{} bytes occur again: the fastest row of a size counts", row.bytes);
            problems.push(Problem { line: row.line, code: "duplicate-size", text });
        } else if let Some(last) = last
            && row.bytes < last.bytes
        {
            let text = format!("{} bytes follow {}: sizes do not grow", row.bytes, last.bytes);
            problems.push(Problem { line: row.line, code: "size-order", text });
        }
        last = Some(row);
    }
}

/// Rows with wrong results and how many, the worse half of each.
fn wrong_of(rows: &[MeasuredRow]) -> impl Iterator<Item = (&MeasuredRow, u64)> {
    rows.iter().filter_map(|row| {
        let wrong = row.timings().filter_map(|(_, timing)| timing.wrong).max()?;
        (wrong > 0).then_some((row, wrong))
    })
}

fn wrong(log: &MeasuredLog, problems: &mut Vec<Problem>) {
    let rows = wrong_of(&log.rows).count();
    if let Some((first, count)) = wrong_of(&log.rows).next() {
        let text = format!(
            "{rows} of {} rows have wrong results: {count} over all ranks here, of {} elements each",
            log.rows.len(),
            first.count
        );
        problems.push(Problem { line: first.line, code: "wrong-results", text });
    }
}

/// The first row can hold what the first call of a kind costs; the same size in place does not.
fn warm_up(log: &MeasuredLog, problems: &mut Vec<Problem>) {
    let mut rows = log.rows.iter().filter(|row| row.bytes > 0);
    let Some(first) = rows.next() else { return };
    let Some(time) = first.out_of_place.map(|timing| timing.time_us) else { return };
    let again = first.in_place.map(|timing| ("the same size in place", timing.time_us));
    let next = rows.next().and_then(|row| row.out_of_place).map(|timing| ("the next size", timing.time_us));
    let Some((what, later)) = again.or(next) else { return };
    if later > 0.0 && time > 1.1 * later && time.is_finite() {
        let text = format!(
            "the first row takes {time} us, {what} {later}: {:.0} % of warm-up in it",
            (time / later - 1.0) * 100.0
        );
        problems.push(Problem { line: first.line, code: "warm-up", text });
    }
}
