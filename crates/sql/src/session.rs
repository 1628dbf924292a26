//! A session: executes statements and returns batches, on its own runtime.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use tesselle::{Driver, Error, Result, Table};

use crate::answer::Answer;
use crate::async_session::{AsyncSession, no_statement};
use crate::interrupt::Interrupt;
use crate::options::SessionOptions;
use crate::runtime::Runtime;

/// Runs statements one after the other.
///
/// A session has its own threads and waits for them: it must not be used inside an asynchronous task, which
/// [`AsyncSession`] is for.
pub struct Session {
    inner: AsyncSession,
    runtime: Arc<Runtime>,
    interrupt: Interrupt,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("driver", self.driver()).finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session.
    pub fn try_new(options: &SessionOptions) -> Result<Self> {
        let inner = AsyncSession::try_new(options)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(inner.driver().threads())
            .thread_name("tesselle-sql")
            .enable_all()
            .build()
            .map_err(|e| Error::io("cannot start threads", e))?;
        let interrupt = Interrupt::under(inner.driver().cancel_token());
        Ok(Self { inner, runtime: Arc::new(runtime.into()), interrupt })
    }

    /// The DataFusion context of the session, to register custom functions or tables.
    pub fn context(&self) -> &SessionContext {
        self.inner.context()
    }

    /// The threads and the memory that files are read with.
    pub fn driver(&self) -> &Driver {
        self.inner.driver()
    }

    /// Stops this session's statements from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Registers `uri` as a table with this name.
    pub fn register(&self, name: &str, uri: &str) -> Result<()> {
        self.runtime.block_on(self.interrupt.or(self.inner.register(name, uri)))?
    }

    /// Registers every file and container in a folder as a table under its lower-case name without the extension; returns
    /// the names. Files of no known format are left alone.
    pub fn register_folder(&self, folder: &str) -> Result<Vec<String>> {
        self.runtime.block_on(self.interrupt.or(self.inner.register_folder(folder)))?
    }

    /// Makes an opened table one of this name.
    pub fn register_table(&self, name: &str, table: Arc<dyn Table>) -> Result<()> {
        self.inner.register_table(name, table)
    }

    /// Registers rows in memory as a table with this name.
    pub fn register_batches(&self, name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<()> {
        self.inner.register_batches(name, schema, batches)
    }

    /// The names of the registered and created tables, sorted.
    pub fn table_names(&self) -> Vec<String> {
        self.inner.table_names()
    }

    /// Reads statements, without running them. Clauses that would be ignored are refused.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        self.inner.parse(sql)
    }

    /// Runs all statements of `sql`; returns the result of the last one.
    pub fn query(&self, sql: &str) -> Result<Answer> {
        let mut statements = self.parse(sql)?;
        let last = statements.pop().ok_or_else(no_statement)?;
        for statement in statements {
            self.run(statement)?.finish()?;
        }
        self.run(last)
    }

    /// Runs one statement. Its side effects are complete when this returns.
    pub fn run(&self, statement: Statement) -> Result<Answer> {
        self.interrupt.reset();
        let rows = self.runtime.block_on(self.inner.run_under(statement, &self.interrupt))?;
        Ok(Answer::new(rows, Arc::clone(&self.runtime), self.interrupt.clone()))
    }
}
