//! Signals that end the process: the work is canceled, its uncommitted output is removed, and the exit code states the
//! signal.
//!
//! All cancelable work is under one token. A signal cancels it, and a verb that checks the token ends by itself, with
//! its old target in place. One that does not check it cannot make its first change any more. Work that does not check in
//! time, such as a read of a pipe without a writer, is ended from here, after all staged files have been removed. A
//! process that has made a change visible gets some time to make it durable and to report success.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

use tesselle::driver::CancelToken;

/// How long the work may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long work may take that cannot be canceled: it is short, or it waits for somebody.
const LITTLE: Duration = Duration::from_millis(200);

/// How much longer a process may take that has changed something visible: it is about to report its success.
const DURABLE: Duration = Duration::from_millis(800);

/// The exit code of the received signal; 0 before.
static CODE: AtomicU8 = AtomicU8::new(0);

/// The action that Ctrl-C runs instead of ending the process.
static FOREGROUND: Mutex<Option<Arc<dyn Fn() + Send + Sync>>> = Mutex::new(None);

/// The token that a signal cancels.
pub(crate) fn token() -> &'static CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN.get_or_init(CancelToken::new)
}

/// The exit code of the received signal, if any.
pub(crate) fn exit_code() -> Option<u8> {
    Some(CODE.load(Ordering::SeqCst)).filter(|code| *code != 0)
}

/// Makes Ctrl-C call `stop` from now on, without ending the process: for a prompt that runs one statement after the
/// other.
#[cfg(feature = "sql")]
pub(crate) fn stop_only(stop: impl Fn() + Send + Sync + 'static) {
    *FOREGROUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(stop));
}

/// Waits for signals on a separate thread, from the first call on. Without it they have their default effect.
pub(crate) fn listen() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
            let wait = move || signals.forever().for_each(|signal| received(signal == SIGINT));
            let _ = std::thread::Builder::new().name("tess-signals".to_owned()).spawn(wait);
        });
    }
}

#[cfg(unix)]
fn received(is_interrupt: bool) {
    let stop = FOREGROUND.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(stop) = stop.filter(|_| is_interrupt) {
        return stop();
    }
    let code = if is_interrupt { 130 } else { 143 };
    // A second signal does not wait.
    if CODE.swap(code, Ordering::SeqCst) != 0 {
        end(code);
    }
    let patience = if token().is_used() { PATIENCE } else { LITTLE };
    tesselle::storage::refuse_first_commit();
    token().cancel();
    let last = move || {
        std::thread::sleep(patience);
        if tesselle::storage::remove_staged_unless_committed() {
            exit(code);
        }
        std::thread::sleep(DURABLE);
        end(code);
    };
    let _ = std::thread::Builder::new().name("tess-end".to_owned()).spawn(last);
}

/// Ends the process after removing its uncommitted output.
#[cfg(unix)]
fn end(code: u8) {
    tesselle::storage::remove_staged();
    exit(code);
}

#[cfg(unix)]
#[expect(clippy::exit, reason = "nothing else ends a process whose work does not end")]
fn exit(code: u8) {
    std::process::exit(i32::from(code));
}
