//! Ctrl-C while another library reads a Tesselle stream.

use std::thread::{ThreadId, current};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use tesselle::{Driver, Error, ErrorKind, Result};

use crate::run::awaited;

/// Batches that end with Ctrl-C where the main thread of Python waits for them; only that thread handles signals.
pub(crate) struct Interruptible<I> {
    batches: I,
    driver: Driver,
    /// The thread that handles signals, if it asked for the stream.
    main: Option<ThreadId>,
}

impl<I> Interruptible<I> {
    /// Batches that `driver` computes, for the current thread.
    pub(crate) fn try_new(py: Python<'_>, batches: I, driver: Driver) -> PyResult<Self> {
        let threads = py.import("threading")?;
        let main: u64 = threads.call_method0("main_thread")?.getattr("ident")?.extract()?;
        let own: u64 = threads.call_method0("get_ident")?.extract()?;
        Ok(Self { batches, driver, main: (main == own).then(|| current().id()) })
    }
}

impl<I: Iterator<Item = Result<RecordBatch>> + Send> Iterator for Interruptible<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.main != Some(current().id()) {
            return self.batches.next();
        }
        Python::attach(|py| {
            let batches = &mut self.batches;
            awaited(py, || Ok(batches.next()), || self.driver.cancel()).unwrap_or_else(|interrupt| {
                // A stream carries no exceptions: Python raises it when the consumer is back.
                let again = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
                if again.is_err() {
                    interrupt.write_unraisable(py, None);
                }
                Some(Err(Error::new(ErrorKind::Canceled, "interrupted")))
            })
        })
    }
}
