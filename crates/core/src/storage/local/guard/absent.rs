//! Systems where reads of missing pages are not caught: nothing is mapped.

use std::convert::Infallible;

/// A registered mapping; there is none.
#[derive(Debug)]
pub(super) struct Slot(Infallible);

impl Slot {
    /// Registers nothing.
    pub(super) fn take(_start: usize, _len: usize) -> Option<Self> {
        None
    }

    /// Whether pages without bytes were read.
    pub(super) fn has_faulted(&self) -> bool {
        match self.0 {}
    }
}

/// Whether faults of this thread are caught.
pub(super) fn is_caught_here() -> bool {
    false
}
