//! Progress of a sweep on stderr.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use scenarios::sweep::{Goal, Objective, Plan, Point, Row, Watch, label, plain, shown};

use crate::progress::{self, Mode, wall};

/// Time between two looks at the clock's answer, in a line that is overwritten.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time between two lines where stderr is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Characters of the bar.
const WIDTH: usize = 20;

/// Shows how far a sweep is and the best point so far.
pub struct Bar {
    begun: Instant,
    mode: Mode,
    /// Names of the parameters, the last part of their paths.
    names: Vec<String>,
    objective: Objective,
    /// Milliseconds since the start at which the line was last written.
    shown: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    to_do: u64,
    done: u64,
    failed: u64,
    best: Option<(f64, String)>,
}

impl Bar {
    /// Starts the clock.
    pub fn new(plan: &Plan, quiet: bool) -> Self {
        Self {
            begun: Instant::now(),
            mode: Mode::of_stderr(quiet),
            names: plan.paths().map(|path| path.rsplit('.').next().unwrap_or(path).to_string()).collect(),
            objective: plan.objectives[0].clone(),
            shown: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Wall-clock time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Removes the progress line.
    pub fn clear(&self) {
        if self.mode == Mode::Line && self.shown.load(Ordering::Relaxed) > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Writes the line if it is time to; one thread does.
    fn show(&self) {
        let interval = match self.mode {
            Mode::Silent => return,
            Mode::Line => INTERVAL,
            Mode::Log => LINE_INTERVAL,
        };
        let now = self.begun.elapsed().as_millis() as u64;
        let last = self.shown.load(Ordering::Relaxed);
        if now < last + interval.as_millis() as u64
            || self.shown.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let Ok(state) = self.state.lock() else { return };
        let text = line(&state, &self.objective.figure, self.begun.elapsed());
        // Nobody is left to tell when stderr is closed.
        let _ = match self.mode {
            Mode::Line => write!(io::stderr(), "\r\x1b[K{text}"),
            Mode::Silent | Mode::Log => writeln!(io::stderr(), "{text}"),
        };
    }
}

impl Watch for Bar {
    fn stop(&self) -> bool {
        progress::stopping()
    }

    fn tick(&self) {
        self.show();
    }

    fn begin(&self, to_do: u64) {
        if let Ok(mut state) = self.state.lock() {
            state.to_do = to_do;
        }
    }

    fn finished(&self, point: &Point, row: &Row) {
        if let Ok(mut state) = self.state.lock() {
            state.done += 1;
            state.failed += u64::from(row.error.is_some());
            let figure = row.figures.get(&self.objective.figure).and_then(serde_json::Value::as_f64);
            let whole = row.figures.get("flows.completed") == row.figures.get("flows.count");
            if let Some(value) = figure.filter(|_| whole) {
                let better = state.best.as_ref().is_none_or(|(best, _)| match self.objective.goal {
                    Goal::Min => value < *best,
                    Goal::Max => value > *best,
                });
                if better {
                    let values = self.names.iter().zip(&point.values);
                    let values: Vec<String> =
                        values.map(|(name, value)| format!("{name}={}", plain(value))).collect();
                    state.best = Some((value, values.join(" ")));
                }
            }
        }
        self.show();
    }
}

fn line(state: &State, figure: &str, elapsed: Duration) -> String {
    let part = state.done as f64 / state.to_do.max(1) as f64;
    let filled = (part * WIDTH as f64) as usize;
    let bar: String = (0..WIDTH).map(|i| if i < filled { '█' } else { '░' }).collect();
    let mut text = format!("{bar} {} of {} points", state.done, state.to_do);
    if state.failed > 0 {
        text += &format!(", {} failed", state.failed);
    }
    if state.done > 0 {
        let seconds = elapsed.as_secs_f64() * (1.0 - part) / part;
        text += &format!(" · about {} left", wall(seconds));
    }
    if let Some((value, at)) = &state.best {
        text += &format!(" · best {} {} at {at}", label(figure), shown(figure, *value));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_time_left_failures_and_the_best() {
        let state = State {
            to_do: 96,
            done: 24,
            failed: 1,
            best: Some((6530.0, "kmin=160KB kmax=640KB".to_string())),
        };
        assert_eq!(
            line(&state, "flows.fct_us.p99", Duration::from_secs(10)),
            "█████░░░░░░░░░░░░░░░ 24 of 96 points, 1 failed · about 30 s left · best p99 FCT 6.53 ms at kmin=160KB \
             kmax=640KB"
        );
        let begun = State { to_do: 96, ..State::default() };
        assert_eq!(line(&begun, "x", Duration::ZERO), "░░░░░░░░░░░░░░░░░░░░ 0 of 96 points");
    }
}
