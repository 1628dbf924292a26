//! Stopping a statement from another thread.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{Either, select};
use tesselle::driver::{CancelToken, Wake};
use tesselle::{Error, ErrorKind, Result};
use tokio::sync::Notify;

/// Stops the work of its session.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    wanted: AtomicBool,
    /// The session should end, not only its statement.
    ended: AtomicBool,
    changed: Notify,
    /// A run that ends with the statement.
    run: Mutex<Option<CancelToken>>,
}

impl Wake for Inner {
    fn wake(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }
}

impl Interrupt {
    /// An interrupt that `token` triggers permanently.
    pub(crate) fn under(token: &CancelToken) -> Self {
        let interrupt = Self::default();
        token.wake(&interrupt.0);
        interrupt
    }

    /// The running statement ends with an error of the kind `Canceled`; does nothing without one.
    pub fn interrupt(&self) {
        self.0.wanted.store(true, Ordering::SeqCst);
        self.0.changed.notify_waiters();
        if let Some(run) = &*self.0.run.lock().unwrap_or_else(PoisonError::into_inner) {
            run.cancel();
        }
    }

    /// Clears a previous request: a new statement starts.
    pub(crate) fn reset(&self) {
        *self.0.run.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.wanted.store(false, Ordering::SeqCst);
    }

    /// Lets the interruption of the statement stop a run of its own.
    pub(crate) fn stops(&self, run: &CancelToken) {
        *self.0.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
        if self.0.wanted.load(Ordering::SeqCst) {
            run.cancel();
        }
    }

    /// Waits for `work`, or for the interruption.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let mut changed = pin!(self.0.changed.notified());
        // From here on a notification is not missed, even before the first poll.
        changed.as_mut().enable();
        if self.0.wanted.load(Ordering::SeqCst) || self.0.ended.load(Ordering::SeqCst) {
            return Err(canceled());
        }
        match select(pin!(work), changed).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(canceled()),
        }
    }
}

fn canceled() -> Error {
    Error::new(ErrorKind::Canceled, "the statement was canceled")
}
