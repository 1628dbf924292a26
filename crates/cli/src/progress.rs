//! A progress bar: on a terminal only, and only for work that takes a while.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tesselle::driver::Progress;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// A bar that appears once the work has taken a while.
pub(crate) struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: OnceLock<()>,
}

impl Bar {
    /// A bar behind these words.
    pub(crate) fn new(words: &str) -> Arc<Self> {
        let bar = ProgressBar::hidden();
        bar.set_message(words.to_owned());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Arc::new(Self { bar, started: Instant::now(), shown: OnceLock::new() })
    }
}

impl Progress for Bar {
    fn expect(&self, total: u64) {
        self.bar.inc_length(total);
    }

    fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        if self.started.elapsed() > PATIENCE {
            self.shown.get_or_init(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
