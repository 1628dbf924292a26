//! Rows that others provide.
//!
//! Their batches are taken on a thread of its own: a stream that blocks cannot be interrupted, but it can be left behind.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use tesselle::{CancelToken, Driver, Error};

use crate::capsules::{Reader, stream_error};
use crate::run::POLL;

thread_local! {
    /// The scans of the engine that became streams while this thread asked an object for its rows.
    static STARTED: RefCell<Option<Vec<Driver>>> = const { RefCell::new(None) };
}

/// Called for each scan that becomes a stream.
pub(crate) fn started(driver: &Driver) {
    STARTED.with_borrow_mut(|started| started.iter_mut().for_each(|all| all.push(driver.clone())));
}

/// Calls `ask` and returns the scans that became streams meanwhile.
pub(crate) fn starting<T>(ask: impl FnOnce() -> T) -> (T, Vec<Driver>) {
    let outer = STARTED.replace(Some(Vec::new()));
    let answer = ask();
    (answer, STARTED.replace(outer).unwrap_or_default())
}

/// One answer of a stream.
type Next = Option<Result<RecordBatch, ArrowError>>;

/// Asks the thread of a stream for a batch, and receives it.
type Feed = (SyncSender<()>, Receiver<Next>);

/// A stream that ends with an error once the call that reads it is canceled.
pub(crate) struct Incoming {
    schema: SchemaRef,
    /// The columns that are wanted, by their place in the stream; all if it is not given.
    chosen: Option<Vec<usize>>,
    /// The stream, until its first batch is wanted.
    reader: Option<Reader>,
    /// The thread of the stream, once it has one.
    feed: Option<Feed>,
    /// Scans of the engine that the stream reads.
    scans: Vec<Driver>,
    canceled: CancelToken,
}

impl Incoming {
    pub(crate) fn new(reader: Reader, scans: Vec<Driver>) -> Self {
        Self {
            schema: reader.schema(),
            chosen: None,
            reader: Some(reader),
            feed: None,
            scans,
            canceled: CancelToken::new(),
        }
    }

    /// The same stream with these columns only, in this order.
    pub(crate) fn columns(mut self, names: Option<&[String]>) -> Result<Self, Error> {
        let Some(names) = names else { return Ok(self) };
        let known = || self.schema.fields().iter().map(|field| field.name().as_str());
        let place = |name: &String| {
            known()
                .position(|known| known == name)
                .ok_or_else(|| Error::unknown_name("column", name, known()))
        };
        let chosen = names.iter().map(place).collect::<Result<Vec<_>, Error>>()?;
        self.schema = Arc::new(self.schema.project(&chosen).map_err(stream_error)?);
        self.chosen = Some(chosen);
        Ok(self)
    }

    /// The same stream, read by a call that `driver` cancels.
    pub(crate) fn under(mut self, driver: &Driver) -> Self {
        self.canceled = driver.cancel_token().clone();
        self
    }

    /// The thread of the stream, started when it is first wanted.
    fn feed(&mut self) -> Result<Option<&Feed>, ArrowError> {
        if let Some(mut reader) = self.reader.take() {
            let (ask, asked) = sync_channel(1);
            let (answer, answers) = sync_channel(1);
            let feeding = std::thread::Builder::new().name("tesselle-rows".to_owned()).spawn(move || {
                while asked.recv().is_ok() {
                    let next = reader.next();
                    if answer.send(next).is_err() {
                        return;
                    }
                }
            });
            feeding.map_err(|error| external(Error::io("cannot start a thread", error)))?;
            self.feed = Some((ask, answers));
        }
        Ok(self.feed.as_ref())
    }

    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let canceled = self.canceled.clone();
        canceled.check().map_err(external)?;
        let Some((ask, answers)) = self.feed()? else { return Ok(None) };
        let gone = || external(Error::internal("a stream of rows ended without an answer"));
        ask.send(()).map_err(|_| gone())?;
        loop {
            match answers.recv_timeout(POLL) {
                Ok(next) => return next.transpose(),
                Err(RecvTimeoutError::Timeout) => canceled.check().map_err(external)?,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

fn external(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

impl Iterator for Incoming {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.take().and_then(|next| match (next, &self.chosen) {
            (Some(batch), Some(chosen)) => batch.project(chosen).map(Some),
            (next, _) => Ok(next),
        });
        if !matches!(next, Ok(Some(_))) {
            // The thread of the stream ends with what it does at the moment.
            self.feed = None;
        }
        next.transpose()
    }
}

impl RecordBatchReader for Incoming {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for Incoming {
    /// Nobody else reads the stream.
    fn drop(&mut self) {
        self.scans.iter().for_each(Driver::cancel);
    }
}
