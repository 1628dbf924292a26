//! Statements on the caller's runtime.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use datafusion::catalog::UrlTableFactory;
use datafusion::common::TableReference;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use tesselle::{Driver, Error, Result};

use crate::answer::plain_stream;
use crate::copy::Copy;
use crate::error::ours;
use crate::session::{Parts, SessionOptions};

/// A session for asynchronous callers: statements run on their Tokio runtime, files are named as in [`Session`](crate::Session).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("plant.csv");
/// # std::fs::write(&path, "time,speed\n1,80.5\n2,81\n3,79\n")?;
/// use futures::StreamExt;
/// use tesselle_sql::{AsyncSession, SessionOptions};
///
/// # let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
/// # runtime.block_on(async {
/// let session = AsyncSession::new(&SessionOptions::default())?;
/// let sql = format!("SELECT max(speed) FROM '{}'", path.display());
/// let mut batches = session.query(&sql).await?;
/// while let Some(batch) = batches.next().await {
///     assert_eq!(batch.map_err(tesselle_sql::from_datafusion)?.num_rows(), 1);
/// }
/// # Ok::<(), tesselle::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncSession(Parts);

impl std::fmt::Debug for AsyncSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncSession").field("driver", &self.0.driver).finish_non_exhaustive()
    }
}

impl AsyncSession {
    /// Sets up a session. No runtime is started.
    pub fn new(options: &SessionOptions) -> Result<Self> {
        Parts::new(options).map(Self)
    }

    /// DataFusion's side of the session: its queries resolve names of files too.
    pub fn context(&self) -> &SessionContext {
        &self.0.context
    }

    /// The threads and the memory that files are read with.
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// Makes what `uri` names a table of this name.
    pub async fn register(&self, name: &str, uri: &str) -> Result<()> {
        let provider = self.0.files.try_new(uri).await.map_err(ours)?;
        let provider = provider
            .ok_or_else(|| Error::io(format!("cannot read '{uri}'"), std::io::ErrorKind::NotFound.into()))?;
        self.0.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Runs all statements of `sql`; the answer is that of the last one. Statements that change something have done so when
    /// this returns.
    pub async fn query(&self, sql: &str) -> Result<SendableRecordBatchStream> {
        let mut answer = None;
        for statement in self.0.parse(sql)? {
            if let Some(mut before) = answer.replace(self.run(statement).await?) {
                while let Some(batch) = before.next().await {
                    batch.map_err(ours)?;
                }
            }
        }
        answer.ok_or_else(|| {
            Error::invalid("there is no statement").hint("try SELECT * FROM 'run.tet' LIMIT 5")
        })
    }

    async fn run(&self, statement: Statement) -> Result<SendableRecordBatchStream> {
        match &statement {
            Statement::CopyTo(copy) => self.copy(Copy::new(copy)?).await,
            _ => self.start(statement).await,
        }
    }

    async fn start(&self, statement: Statement) -> Result<SendableRecordBatchStream> {
        let names = self.0.context.state().resolve_table_references(&statement).unwrap_or_default();
        let stream = self.0.execute(statement).await;
        stream.map(plain_stream).map_err(|error| self.0.explained(&names, error))
    }

    /// Writes the answer of a query, on the threads of the driver.
    async fn copy(&self, copy: Copy) -> Result<SendableRecordBatchStream> {
        let driver = &self.0.driver;
        let mut answer = self.start(copy.query.clone()).await?;
        let (schema, own) = (answer.schema(), driver.clone());
        let mut sink = driver.spawned(move || copy.sink(&schema, &own)).await?;
        let mut rows = 0;
        while let Some(batch) = answer.next().await {
            let batch = batch.map_err(ours)?;
            rows += batch.num_rows() as u64;
            let written = driver.spawned(move || {
                sink.write(&batch)?;
                Ok(sink)
            });
            sink = written.await?;
        }
        driver.spawned(move || sink.finish()).await?;
        count(rows)
    }
}

/// The answer of COPY: the number of its rows.
pub(crate) fn count(rows: u64) -> Result<SendableRecordBatchStream> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![rows]))])?;
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(batch)]))))
}
