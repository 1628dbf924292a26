//! Work on the threads of a driver as a future, for asynchronous callers of any runtime.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::Driver;
use super::batches::panicked;
use crate::error::Result;

/// The result of [`Driver::spawned`], once it is there. Dropping it does not stop the work.
#[must_use = "a future does nothing until it is awaited"]
pub struct Spawned<T>(Arc<Mutex<Shared<T>>>);

struct Shared<T> {
    done: Option<Result<T>>,
    waker: Option<Waker>,
}

impl Driver {
    /// Runs `work` on the pool and returns its result as a future, so that no thread of the caller waits. A panic inside it is
    /// an error.
    pub fn spawned<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Spawned<T> {
        let shared = Arc::new(Mutex::new(Shared { done: None, waker: None }));
        let other = Arc::clone(&shared);
        self.spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)));
            let mut shared = lock(&other);
            shared.done = Some(done);
            let waker = shared.waker.take();
            drop(shared);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Spawned(shared)
    }
}

impl<T> Future for Spawned<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = lock(&self.0);
        if let Some(done) = shared.done.take() {
            return Poll::Ready(done);
        }
        shared.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

fn lock<T>(shared: &Mutex<Shared<T>>) -> MutexGuard<'_, Shared<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
