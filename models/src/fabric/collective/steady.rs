//! Loops that repeat: when the time of a loop no longer changes, the rest is left out and added to the result.
//!
//! A loop is done when all threads have been through it. With d loops done and w = ⌊d/3⌋, the last w loops are compared with
//! the w before them: when both took the same time within [`TOLERANCE`], all loops but those already begun, one more
//! and the last are left out; each counts as the mean of the last w.

use sim_core::queue::EventQueue;
use sim_core::{Duration, Time};

use crate::fabric::Fabric;
use crate::record::Recorder;

/// Fewest loops done before any is left out.
const FEWEST: u32 = 6;
/// How far the two windows may differ.
const TOLERANCE: f64 = 0.001;

/// Loops left out of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub loops: u32,
    /// The time they would have taken.
    pub time: Duration,
}

/// Progress of a call through its loops.
#[derive(Clone, Debug, Default)]
pub(in crate::fabric) struct Steady {
    /// Threads still to pass the end of each loop in the first call, and when the last did.
    loops: Vec<(u32, Time)>,
    /// The furthest loop begun.
    begun: u32,
    /// Loops of the channel with the fewest.
    shortest: u32,
    /// After this loop comes a jump of this many.
    jump: Option<(u32, u32)>,
    skipped: Skipped,
}

impl Steady {
    /// A call with `threads[l]` threads that go through loop l, and `shortest` loops in each channel at least; an empty
    /// list never skips.
    pub fn new(threads: Vec<u32>, shortest: u32) -> Self {
        Self {
            loops: threads.into_iter().map(|count| (count, Time::ZERO)).collect(),
            shortest,
            ..Self::default()
        }
    }

    /// A thread has done loop `index`.
    #[inline]
    pub fn loop_done(&mut self, index: u32, now: Time) {
        if let Some((left, at)) = self.loops.get_mut(index as usize) {
            *left = left.saturating_sub(1);
            *at = now;
        }
    }

    /// A thread begins loop `index`.
    #[inline]
    pub fn loop_begun(&mut self, index: u32) {
        self.begun = self.begun.max(index);
    }

    /// The loop after `index`.
    #[inline]
    pub fn after(&self, index: u32) -> u32 {
        match self.jump {
            Some((last, jump)) if index == last => index + 1 + jump,
            Some(_) | None => index + 1,
        }
    }

    /// Decides whether to leave loops out.
    fn decide(&mut self) {
        if self.jump.is_some() {
            return;
        }
        let done = self.loops.iter().take_while(|(left, _)| *left == 0).count() as u32;
        let last = self.begun + 1;
        if done < FEWEST || last + 2 >= self.shortest {
            return;
        }
        let window = done / 3;
        let at = |index: u32| self.loops[index as usize - 1].1.0;
        let recent = at(done) - at(done - window);
        let before = at(done - window) - at(done - 2 * window);
        if recent.abs_diff(before) as f64 > TOLERANCE * recent as f64 {
            return;
        }
        let jump = self.shortest - 2 - last;
        let time = u128::from(recent) * u128::from(jump) / u128::from(window);
        self.skipped = Skipped { loops: jump, time: Duration(time as u64) };
        self.jump = Some((last, jump));
    }
}

impl<Q: EventQueue, R: Recorder> Fabric<Q, R> {
    /// Leaves out loops of calls that have become steady. To be called on a grid of simulated time.
    pub fn skip_steady_loops(&mut self) {
        for call in &mut self.collectives.calls {
            call.steady.decide();
        }
    }

    /// What was left out of each execution of call `call`.
    pub fn skipped(&self, call: u32) -> Skipped {
        self.collectives.calls[call as usize].steady.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(times: &[u64], loops: u32) -> Steady {
        let mut steady = Steady::new(vec![1; loops as usize], loops);
        for (index, &time) in times.iter().enumerate() {
            steady.loop_done(index as u32, Time(time));
            steady.loop_begun(index as u32 + 1);
        }
        steady.decide();
        steady
    }

    #[test]
    fn equal_loops_are_left_out() {
        let found = steady(&[900, 1000, 1100, 1200, 1300, 1400], 100);
        // Loop 6 is begun, 7 is one more; then the jump to the last loop, 99.
        assert_eq!(found.jump, Some((7, 91)));
        assert_eq!(found.skipped, Skipped { loops: 91, time: Duration(9100) });
        assert_eq!((found.after(6), found.after(7), found.after(99)), (7, 99, 100));
    }

    #[test]
    fn too_few_or_changing_loops_are_not() {
        assert_eq!(steady(&[900, 1000, 1100, 1200, 1300], 100).jump, None);
        assert_eq!(steady(&[900, 1000, 1100, 1200, 1350, 1500], 100).jump, None);
        assert_eq!(steady(&[900, 1000, 1100, 1200, 1300, 1400], 9).jump, None);
    }
}
