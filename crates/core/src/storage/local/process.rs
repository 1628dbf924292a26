//! State of a process that its forked children do not share.
//!
//! A child has only the thread that forked: a lock that another thread of the parent held at that moment is never released in
//! it, and what the lock protects may be half changed. So a child never touches the state of its parent.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Processes that fork one from the other and use the state, from the first to the last. Further ones share the last state.
pub(super) const GENERATIONS: usize = 16;

/// One state per process of a chain of forks.
pub(super) struct PerProcess<T>([Slot<T>; GENERATIONS]);

/// The state of one process.
pub(super) struct Slot<T> {
    /// The process it belongs to; 0 while it is free.
    owner: AtomicU32,
    state: Mutex<T>,
}

impl<T> Slot<T> {
    pub(super) const fn new(state: T) -> Self {
        Self { owner: AtomicU32::new(0), state: Mutex::new(state) }
    }

    /// Whether it belongs to a process, which takes it if it is free.
    fn is_of(&self, process: u32) -> bool {
        let taken = self.owner.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(process)
    }
}

impl<T> PerProcess<T> {
    pub(super) const fn new(states: [Slot<T>; GENERATIONS]) -> Self {
        Self(states)
    }

    /// The state of this process.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.of(process::id()).state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, process: u32) -> &Slot<T> {
        let [.., last] = &self.0;
        self.0.iter().find(|slot| slot.is_of(process)).unwrap_or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_a_state_that_is_not_locked() {
        static STATES: PerProcess<u32> = PerProcess::new([const { Slot::new(0) }; GENERATIONS]);
        *STATES.lock() = 7;
        let own = process::id();
        let held = STATES.of(own).state.lock().unwrap();
        for child in (1..GENERATIONS as u32).map(|n| own.wrapping_add(n)) {
            assert_eq!(
                *STATES.of(child).state.try_lock().unwrap(),
                0,
                "a child starts with a state of its own"
            );
        }
        assert_eq!(*held, 7);
    }
}
