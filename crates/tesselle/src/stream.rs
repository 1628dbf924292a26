//! Reading on the caller's asynchronous runtime.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use tesselle_core::driver::Rows;
use tesselle_core::{Result, RunStats};

use crate::open::{Dataset, Opener};
use crate::scan::TableScan;

/// The rows of a scan as a stream of batches. See [`TableScan::stream`].
#[must_use = "a stream does nothing until it is polled"]
pub struct RowStream(Rows);

impl RowStream {
    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    /// The cost of the scan so far.
    pub fn stats(&self) -> RunStats {
        self.0.stats()
    }
}

impl Stream for RowStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next(context)
    }
}

impl TableScan {
    /// Starts reading as a stream. Tasks fetch and decode on the threads of the driver; the caller's runtime, of any kind, only
    /// takes batches and never waits.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("plant.csv");
    /// # let uri = path.to_str().ok_or("the path is UTF-8")?;
    /// # std::fs::write(uri, "time,speed\n1,80.5\n2,81\n3,79\n")?;
    /// use futures::StreamExt;
    /// use tesselle::Opener;
    ///
    /// # futures::executor::block_on(async {
    /// let table = Opener::new().open_async(uri).await?.default_table()?;
    /// let mut batches = table.scan().filter("time >= 2")?.stream()?;
    /// while let Some(batch) = batches.next().await {
    ///     assert_eq!(batch?.num_rows(), 2);
    /// }
    /// # Ok::<(), tesselle::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self) -> Result<RowStream> {
        self.rows().map(RowStream)
    }
}

impl Opener {
    /// Opens what `uri` names, on a thread of the driver.
    ///
    /// Every other call runs there too by [`Driver::spawned`](crate::Driver::spawned).
    pub async fn open_async(&self, uri: &str) -> Result<Dataset> {
        let driver = self.run_on().driver()?;
        let (opener, uri) = (self.clone().on(&driver), uri.to_owned());
        driver.spawned(move || opener.open(&uri)).await
    }
}
