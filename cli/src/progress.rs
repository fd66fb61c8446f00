//! Progress of a run on stderr, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scenarios::run::{Observer, Poll, Progress};

use crate::output::Failure;

/// Time between two looks at the run.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time between two lines where stderr is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Whether the run is to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C (or a request to end) came.
pub fn interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// From now on Ctrl-C (or a request to end) stops the run and keeps its results; the second one ends the program.
pub fn catch_interrupts() -> Result<(), Failure> {
    static CAUGHT: AtomicBool = AtomicBool::new(false);
    if CAUGHT.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    })
    .map_err(|error| Failure(format!("Ctrl-C cannot be caught: {error}")))
}

/// Shows how far a run is.
pub struct Watcher {
    begun: Instant,
    looked: Instant,
    shown: Instant,
    hops: u64,
    rate: f64,
    mode: Mode,
}

/// Whether Ctrl-C was pressed.
pub fn stopping() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// How progress is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Silent,
    /// A line that is overwritten.
    Line,
    /// A line now and then.
    Log,
}

impl Mode {
    /// A line that is overwritten on a terminal, lines elsewhere.
    pub fn of_stderr(quiet: bool) -> Self {
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Silent,
            (false, true) => Self::Line,
            (false, false) => Self::Log,
        }
    }
}

impl Watcher {
    /// Starts the clock.
    pub fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self { begun: now, looked: now, shown: now, hops: 0, rate: 0.0, mode: Mode::of_stderr(quiet) }
    }

    /// Wall-clock time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Removes the progress line.
    pub fn clear(&self) {
        if self.mode == Mode::Line && self.hops > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Observer for Watcher {
    fn poll(&mut self) -> Poll {
        if stopping() {
            return Poll::Stop;
        }
        if self.looked.elapsed() < INTERVAL { Poll::Go } else { Poll::Report }
    }

    fn progress(&mut self, progress: &Progress) {
        let now = Instant::now();
        let passed = now.duration_since(self.looked).as_secs_f64();
        self.rate = (progress.packet_hops - self.hops) as f64 / passed.max(1e-9);
        self.hops = progress.packet_hops;
        self.looked = now;
        // Nobody is left to tell when stderr is closed.
        match self.mode {
            Mode::Silent => {}
            Mode::Line => {
                let _ = write!(io::stderr(), "\r\x1b[K{}", line(progress, self.rate, self.elapsed()));
            }
            Mode::Log if now.duration_since(self.shown) >= LINE_INTERVAL => {
                self.shown = now;
                let _ = writeln!(io::stderr(), "{}", line(progress, self.rate, self.elapsed()));
            }
            Mode::Log => {}
        }
    }
}

fn line(progress: &Progress, rate: f64, elapsed: Duration) -> String {
    let left = if progress.fraction > 0.001 {
        let seconds = elapsed.as_secs_f64() * (1.0 - progress.fraction) / progress.fraction;
        format!("about {} left", wall(seconds))
    } else {
        "time left unknown".to_string()
    };
    format!(
        "{:.3} ms simulated · {:.0} % · {} of {} flows · {:.1} M packet-hops/s · {left}",
        progress.now.0 as f64 / 1e9,
        progress.fraction * 100.0,
        progress.completed,
        progress.flows,
        rate / 1e6,
    )
}

/// A wall-clock time for people.
pub fn wall(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Time;

    #[test]
    fn a_line_tells_rate_and_time_left() {
        let progress =
            Progress { now: Time(1_230_000_000), packet_hops: 5, completed: 12, flows: 32, fraction: 0.25 };
        assert_eq!(
            line(&progress, 6.94e6, Duration::from_secs(2)),
            "1.230 ms simulated · 25 % · 12 of 32 flows · 6.9 M packet-hops/s · about 6.0 s left"
        );
        let begun = Progress { fraction: 0.0, ..progress };
        assert!(line(&begun, 0.0, Duration::ZERO).ends_with("time left unknown"));
    }
}
