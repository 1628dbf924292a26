//! A progress bar: only on a terminal, and only for work that takes a while.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tesselle::driver::Progress;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// How often a visible bar is drawn at least: updates that come too fast are not drawn by themselves, so a bar would
/// show an old state as long as nothing else happens.
const TICK: Duration = Duration::from_millis(100);

/// The visible bar, which is removed before anything else is printed.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// How often something was printed: a bar does not appear below the result of its work.
static CLEARED: AtomicU64 = AtomicU64::new(0);

/// A bar that appears once the work has taken a while, whether or not any of it is done by then.
pub(crate) struct Bar(Arc<Shared>);

/// What a bar shares with its timer.
struct Shared {
    bar: ProgressBar,
    target: fn() -> ProgressDrawTarget,
    patience: Duration,
    state: Mutex<BarState>,
}

/// Since when the work runs, and whether its bar is on the screen.
struct BarState {
    started: Instant,
    cleared: u64,
    /// Distinguishes this work from earlier work of the same bar.
    work: u64,
    timer: Timer,
    shown: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Timer {
    /// Nobody would see the bar.
    Never,
    NotYet,
    Started,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    NotYet,
    Yes,
    Never,
}

impl BarState {
    fn new(work: u64, timer: Timer) -> Self {
        let cleared = CLEARED.load(Ordering::Relaxed);
        Self { started: Instant::now(), cleared, work, timer, shown: Shown::NotYet }
    }
}

impl Bar {
    /// A bar with this label.
    pub(crate) fn new(words: &str) -> Arc<Self> {
        let timer = if std::io::stderr().is_terminal() { Timer::NotYet } else { Timer::Never };
        Arc::new(Self::on(words, timer, ProgressDrawTarget::stderr, PATIENCE))
    }

    fn on(words: &str, timer: Timer, target: fn() -> ProgressDrawTarget, patience: Duration) -> Self {
        // The expected total is accumulated from zero: a bar without a length would never get one.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        bar.set_message(words.to_owned());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(Arc::new(Shared { bar, target, patience, state: Mutex::new(BarState::new(0, timer)) }))
    }

    /// Begins with other work: nothing is expected yet, and nothing done.
    #[cfg(feature = "sql")]
    pub(crate) fn restart(&self) {
        clear();
        remove(&self.0.bar);
        self.0.bar.reset();
        self.0.bar.set_length(0);
        let mut state = self.0.state();
        let timer = if state.timer == Timer::Never { Timer::Never } else { Timer::NotYet };
        *state = BarState::new(state.work + 1, timer);
    }

    /// Takes the bar off the screen until other work begins.
    #[cfg(feature = "sql")]
    pub(crate) fn hide(&self) {
        clear();
        self.0.state().shown = Shown::Never;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, BarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &mut BarState) {
        if state.shown == Shown::NotYet {
            state.shown = Shown::Yes;
            self.bar.set_draw_target((self.target)());
            tick(&self.bar);
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.bar.clone());
        }
    }
}

/// Draws the bar regularly. The thread that does so has the name of the thread that starts it, which may be one of a driver.
fn tick(bar: &ProgressBar) {
    let bar = bar.clone();
    let started = thread().spawn(move || bar.enable_steady_tick(TICK));
    drop(started.map(JoinHandle::join));
}

fn thread() -> Builder {
    Builder::new().name("progress".to_owned())
}

/// Removes the bar: the work is done, or something is about to be printed.
pub(crate) fn clear() {
    CLEARED.fetch_add(1, Ordering::Relaxed);
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(bar) = shown {
        remove(&bar);
    }
}

/// Takes a bar off the screen. It may begin again with other work, and appears again only if that takes a while.
fn remove(bar: &ProgressBar) {
    bar.disable_steady_tick();
    bar.finish_and_clear();
    bar.set_draw_target(ProgressDrawTarget::hidden());
}

/// Shows the bar after a while, unless the work has ended or something was printed.
fn start_timer(shared: &Arc<Shared>, work: u64) {
    let (patience, shared) = (shared.patience, Arc::downgrade(shared));
    let wait = move || {
        std::thread::sleep(patience);
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state();
        if state.work == work && state.cleared == CLEARED.load(Ordering::Relaxed) {
            shared.show(&mut state);
        }
    };
    // Without a thread for it, the bar appears as soon as some work is done.
    drop(thread().spawn(wait));
}

impl Progress for Bar {
    fn expect(&self, total: u64) {
        self.0.bar.inc_length(total);
        let mut state = self.0.state();
        if state.timer == Timer::NotYet {
            state.timer = Timer::Started;
            start_timer(&self.0, state.work);
        }
    }

    fn advance(&self, amount: u64) {
        self.0.bar.inc(amount);
        let mut state = self.0.state();
        if state.shown == Shown::NotYet && state.started.elapsed() > self.0.patience {
            self.0.show(&mut state);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        // Its timer may still run.
        self.0.state().shown = Shown::Never;
        self.0.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps the last line that was drawn.
    #[derive(Debug)]
    struct Screen(&'static Mutex<String>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }

        fn write_str(&self, drawn: &str) -> io::Result<()> {
            if drawn.contains('/') {
                drawn.clone_into(&mut self.0.lock().unwrap());
            }
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_last_update_is_drawn_if_nothing_follows() {
        static DRAWN: Mutex<String> = Mutex::new(String::new());
        let target = || ProgressDrawTarget::term_like_with_hz(Box::new(Screen(&DRAWN)), 20);
        let bar = Bar::on("x", Timer::Never, target, Duration::ZERO);
        bar.expect(1000);
        for _ in 0..1000 {
            bar.advance(1);
        }
        assert!(appears(&bar, &DRAWN, "1000 B/1000 B"), "{}", DRAWN.lock().unwrap());
    }

    /// Waits until this is drawn. Another test may clear the screen meanwhile.
    fn appears(bar: &Bar, drawn: &Mutex<String>, text: &str) -> bool {
        let end = Instant::now() + Duration::from_mins(1);
        let is_there = || drawn.lock().unwrap().contains(text) || bar.0.bar.is_finished();
        while !is_there() && Instant::now() < end {
            std::thread::yield_now();
        }
        is_there()
    }

    #[test]
    fn the_total_is_what_is_expected_and_not_what_is_done() {
        let bar = Bar::new("x");
        bar.expect(300);
        bar.expect(700);
        bar.advance(250);
        assert_eq!((bar.0.bar.length(), bar.0.bar.position()), (Some(1000), 250));
        bar.advance(750);
        assert_eq!(bar.0.bar.length(), Some(bar.0.bar.position()));
    }

    #[cfg(feature = "sql")]
    #[test]
    fn other_work_shows_no_bar_until_it_takes_a_while() {
        static DRAWN: Mutex<String> = Mutex::new(String::new());
        let target = || ProgressDrawTarget::term_like(Box::new(Screen(&DRAWN)));
        let bar = Bar::on("x", Timer::Never, target, Duration::from_hours(1));
        bar.expect(2);
        bar.0.show(&mut bar.0.state());
        bar.advance(1);
        assert!(appears(&bar, &DRAWN, "1 B/2 B"), "{}", DRAWN.lock().unwrap());
        bar.restart();
        DRAWN.lock().unwrap().clear();
        bar.expect(7);
        bar.advance(7);
        assert_eq!(DRAWN.lock().unwrap().as_str(), "");
    }

    #[cfg(feature = "sql")]
    #[test]
    fn other_work_begins_with_nothing_done() {
        let bar = Bar::new("x");
        bar.expect(10);
        bar.advance(10);
        bar.restart();
        bar.expect(7);
        assert_eq!((bar.0.bar.length(), bar.0.bar.position()), (Some(7), 0));
    }

    #[test]
    fn a_bar_appears_before_any_work_is_done() {
        let bar = Bar::on("x", Timer::NotYet, ProgressDrawTarget::hidden, Duration::ZERO);
        assert_eq!(bar.0.state().shown, Shown::NotYet);
        bar.expect(10);
        // Another test may clear the screen meanwhile, which stops this timer.
        while bar.0.state().shown == Shown::NotYet && bar.0.state().cleared == CLEARED.load(Ordering::Relaxed)
        {
            std::thread::yield_now();
        }
        let is_cleared = bar.0.state().cleared != CLEARED.load(Ordering::Relaxed);
        assert!(is_cleared || bar.0.state().shown == Shown::Yes);
    }
}
