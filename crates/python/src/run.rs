//! Running work of the engine from Python: threads, memory and Ctrl-C.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use tesselle::{Driver, DriverOptions, Error, Result};

use crate::error::raise;
use crate::progress::reporter;

/// How long Ctrl-C may go unnoticed.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// How long work that was canceled is waited for before it is left behind.
const PATIENCE: Duration = Duration::from_secs(1);

/// The module of built-in names of the interpreter that uses this module; each interpreter has its own.
static INTERPRETER: OnceLock<usize> = OnceLock::new();

/// Refuses a second interpreter in this process: objects that are shared here belong to one of them.
pub(crate) fn refuse_other_interpreters(py: Python<'_>) -> PyResult<()> {
    let own = py.import("builtins")?.as_ptr() as usize;
    if *INTERPRETER.get_or_init(|| own) == own {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "tesselle is used by another interpreter of this process; use threads or processes",
    ))
}

/// The driver that all calls share.
pub(crate) fn driver() -> PyResult<Driver> {
    tesselle::default_driver().map_err(|error| raise(&error))
}

/// Replaces the threads and the memory that all later calls share.
#[pyfunction]
#[pyo3(signature = (threads=None, memory=None))]
pub(crate) fn configure(threads: Option<usize>, memory: Option<u64>) -> PyResult<()> {
    let driver = Driver::try_new(&DriverOptions::default().with_threads(threads).with_memory(memory))
        .map_err(|error| raise(&error))?;
    tesselle::set_default_driver(driver);
    Ok(())
}

/// Runs short work without the interpreter lock.
pub(crate) fn quick<T: Send>(py: Python<'_>, work: impl FnOnce(&Driver) -> Result<T> + Send) -> PyResult<T> {
    let driver = driver()?.for_run();
    py.detach(|| work(&driver)).map_err(|error| raise(&error))
}

/// Runs long work on a thread of its own, without the interpreter lock. Ctrl-C cancels it and leaves it behind if it does not
/// end then, because it waits for Python or does not check.
pub(crate) fn long<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Driver) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let driver = driver()?.for_run();
    let stopped = driver.clone();
    watched(py, move || work(&driver), || stopped.cancel())
}

/// Like [`long`], for work that writes or borrows: after Ctrl-C it is waited for, so that nothing appears later.
pub(crate) fn complete<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Driver) -> Result<T> + Send,
) -> PyResult<T> {
    let driver = driver()?.for_run();
    awaited(py, || work(&driver), || driver.cancel())
}

/// Like [`complete`]; `progress` is called with the bytes done and the bytes in all.
pub(crate) fn complete_with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Driver) -> Result<T> + Send,
) -> PyResult<T> {
    complete(py, |driver| match progress {
        Some(callback) => work(&driver.with_progress(reporter(callback))),
        None => work(driver),
    })
}

/// Like [`long`], for work that is stopped by `stop`.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
    stop: impl Fn() + Sync,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        let (send, receive) = channel();
        let worker = std::thread::Builder::new().spawn(move || {
            // The receiver is gone only when the call was interrupted.
            let _ = send.send(work());
        });
        worker.map_err(|error| raise(&Error::io("cannot start a thread", error)))?;
        wait(&receive).inspect_err(|_| {
            stop();
            // Most work ends at once, and then nothing of it is in progress after the call.
            let _ = receive.recv_timeout(PATIENCE);
        })
    });
    outcome?.map_err(|error| raise(&error))
}

/// Like [`complete`], for work that is stopped by `stop`.
pub(crate) fn awaited<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
    stop: impl Fn() + Sync,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            let worker = scope.spawn(move || {
                let _ = send.send(work());
            });
            let result = wait(&receive).inspect_err(|_| stop());
            // A panic of the work is an error of the call: the scope panics only for threads that nobody joined.
            let _ = worker.join();
            result
        })
    });
    outcome?.map_err(|error| raise(&error))
}

/// Waits for the result of a worker, or for Ctrl-C.
fn wait<T>(results: &Receiver<Result<T>>) -> PyResult<Result<T>> {
    loop {
        match results.recv_timeout(POLL) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| {
                py.check_signals()?;
                PyResult::Ok(())
            })?,
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(Error::internal("a call ended without a result")));
            }
        }
    }
}
