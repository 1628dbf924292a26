//! Signals that end the process: what is being written must be taken away first.

use std::time::Duration;

use tokio::signal;

/// How long the work may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// On Ctrl-C or a request to end, `stop` is called; the process ends by itself then, or is ended a little later.
pub(crate) fn on_end(stop: impl Fn() + Clone + Send + 'static) {
    on_terminate(stop.clone());
    watch(async move {
        if signal::ctrl_c().await.is_ok() {
            stop();
            end(130);
        }
    });
}

/// The same on a request to end alone.
pub(crate) fn on_terminate(stop: impl Fn() + Send + 'static) {
    #[cfg(unix)]
    watch(async move {
        let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) else { return };
        if terminate.recv().await.is_some() {
            stop();
            end(143);
        }
    });
    #[cfg(not(unix))]
    drop(stop);
}

/// Ends the process with the code that shells give to the signal.
#[expect(clippy::exit, reason = "nothing else ends a process whose work does not")]
fn end(code: i32) {
    std::thread::sleep(PATIENCE);
    std::process::exit(code);
}

/// Waits for a signal on a thread of its own, which ends with the process. Without one the signal does what it does by
/// default.
pub(crate) fn watch(wait: impl Future<Output = ()> + Send + 'static) {
    let run = move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(wait);
        }
    };
    let _ = std::thread::Builder::new().name("tess-signals".to_owned()).spawn(run);
}
