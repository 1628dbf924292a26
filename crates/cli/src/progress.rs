//! A progress bar: only on a terminal, and only for work that takes a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tesselle::driver::Progress;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// The visible bar, which is removed before anything else is printed.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar that appears once the work has taken a while.
pub(crate) struct Bar {
    bar: ProgressBar,
    state: Mutex<BarState>,
}

/// Since when the work runs, and whether its bar is on the screen.
struct BarState {
    started: Instant,
    shown: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    NotYet,
    Yes,
    Never,
}

impl Bar {
    /// A bar with this label.
    pub(crate) fn new(words: &str) -> Arc<Self> {
        Arc::new(Self::on(words, ProgressDrawTarget::hidden()))
    }

    fn on(words: &str, target: ProgressDrawTarget) -> Self {
        // The expected total is accumulated from zero: a bar without a length would never get one.
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_message(words.to_owned());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, state: Mutex::new(BarState { started: Instant::now(), shown: Shown::NotYet }) }
    }

    fn state(&self) -> MutexGuard<'_, BarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with other work: nothing is expected yet, and nothing done.
    #[cfg(feature = "sql")]
    pub(crate) fn restart(&self) {
        clear();
        self.bar.reset();
        self.bar.set_length(0);
        *self.state() = BarState { started: Instant::now(), shown: Shown::NotYet };
    }

    /// Takes the bar off the screen until other work begins.
    #[cfg(feature = "sql")]
    pub(crate) fn hide(&self) {
        clear();
        self.state().shown = Shown::Never;
    }
}

/// Removes the bar: the work is done, or something is about to be printed.
pub(crate) fn clear() {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn expect(&self, total: u64) {
        self.bar.inc_length(total);
    }

    fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        let mut state = self.state();
        if state.shown == Shown::NotYet && state.started.elapsed() > PATIENCE {
            state.shown = Shown::Yes;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.bar.clone());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_what_is_expected_and_not_what_is_done() {
        let bar = Bar::new("x");
        bar.expect(300);
        bar.expect(700);
        bar.advance(250);
        assert_eq!((bar.bar.length(), bar.bar.position()), (Some(1000), 250));
        bar.advance(750);
        assert_eq!(bar.bar.length(), Some(bar.bar.position()));
    }

    #[cfg(feature = "sql")]
    #[test]
    fn other_work_begins_with_nothing_done() {
        let bar = Bar::new("x");
        bar.expect(10);
        bar.advance(10);
        bar.restart();
        bar.expect(7);
        assert_eq!((bar.bar.length(), bar.bar.position()), (Some(7), 0));
    }
}
