//! What the caller of a queue promises, checked in builds with debug assertions and absent from others.

use crate::Time;

/// Follows pushes and pops and panics when the caller breaks the contract of [`super::EventQueue`].
/// Without debug assertions it is empty and its methods do nothing.
#[derive(Debug)]
pub(super) struct Contract {
    #[cfg(debug_assertions)]
    pending: Vec<bool>,
    #[cfg(debug_assertions)]
    now: Time,
}

#[cfg(debug_assertions)]
impl Contract {
    pub(super) fn new(targets: usize) -> Self {
        Self { pending: vec![false; targets], now: Time::ZERO }
    }

    pub(super) fn pushed(&mut self, at: Time, target: u32) {
        let Some(pending) = self.pending.get_mut(target as usize) else {
            panic!("event for target {target}, but the queue has {} targets", self.pending.len());
        };
        assert!(!*pending, "second pending event for target {target}");
        assert!(
            at >= self.now,
            "event for target {target} at {at}, before the last popped event at {}",
            self.now
        );
        *pending = true;
    }

    pub(super) fn popped(&mut self, at: Time, target: u32) {
        assert!(at >= self.now, "popped an event at {at} after one at {}", self.now);
        self.now = at;
        self.pending[target as usize] = false;
    }
}

#[cfg(not(debug_assertions))]
impl Contract {
    #[inline(always)]
    pub(super) fn new(_targets: usize) -> Self {
        Self {}
    }

    #[inline(always)]
    pub(super) fn pushed(&mut self, _at: Time, _target: u32) {}

    #[inline(always)]
    pub(super) fn popped(&mut self, _at: Time, _target: u32) {}
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "second pending event for target 1")]
    fn second_pending_event_is_refused() {
        let mut contract = Contract::new(2);
        contract.pushed(Time(5), 1);
        contract.pushed(Time(6), 1);
    }

    #[test]
    #[should_panic(expected = "before the last popped event")]
    fn push_into_the_past_is_refused() {
        let mut contract = Contract::new(2);
        contract.pushed(Time(5), 1);
        contract.popped(Time(5), 1);
        contract.pushed(Time(4), 0);
    }

    #[test]
    #[should_panic(expected = "the queue has 2 targets")]
    fn unknown_target_is_refused() {
        Contract::new(2).pushed(Time(5), 2);
    }

    #[test]
    fn a_popped_target_may_be_pushed_again_at_the_same_time() {
        let mut contract = Contract::new(2);
        contract.pushed(Time(5), 1);
        contract.popped(Time(5), 1);
        contract.pushed(Time(5), 0);
        contract.pushed(Time(5), 1);
    }
}
