//! A session: statements in, batches out, on a runtime of its own.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::catalog::{MemTable, UrlTableFactory};
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParser, Statement};
use tesselle::driver::CancelToken;
use tesselle::{Driver, DriverOptions, Error, OpenOptions, Result, Table};
use tokio::runtime::Runtime;

use crate::answer::Answer;
use crate::asynchronous::count;
use crate::context;
use crate::copy::Copy;
use crate::error::ours;
use crate::files::{FileTables, Opener, looks_like_a_file};
use crate::functions::Function;
use crate::interrupt::Interrupt;
use crate::provider::TesselleTable;

/// How a session is set up.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Threads that decode and compute; `None` is one per core.
    pub threads: Option<usize>,
    /// Memory for queries; beyond it operators spill to disk. `None` is three quarters of what is free.
    pub memory: Option<u64>,
    /// How files are opened: time travel, keys.
    pub open: OpenOptions,
    /// Whether filters, limits and counts reach the formats; off only to compare answers.
    pub pushdown: bool,
    /// Ends the session's work for good.
    pub cancel: CancelToken,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            threads: None,
            memory: None,
            open: OpenOptions::default(),
            pushdown: true,
            cancel: CancelToken::new(),
        }
    }
}

/// What runs statements, without a runtime.
pub(crate) struct Parts {
    pub(crate) context: SessionContext,
    pub(crate) files: Arc<FileTables>,
    pub(crate) driver: Driver,
}

impl Parts {
    pub(crate) fn new(options: &SessionOptions) -> Result<Self> {
        // A quarter is for pieces under way, the rest for what operators keep.
        let pieces = options.memory.map(|memory| memory / 4);
        let driver = Driver::new(&DriverOptions { threads: options.threads, memory: pieces })?;
        // A piece may take more than its share, but not more than all.
        let driver = driver.with_largest_piece(options.memory.unwrap_or(u64::MAX)).under(&options.cancel);
        let operators = match options.memory {
            Some(memory) => memory - memory / 4,
            None => driver.budget().total().saturating_mul(2),
        };
        let opener = Opener {
            driver: driver.clone(),
            options: options.open.clone(),
            format: None,
            table: None,
            pushdown: options.pushdown,
        };
        let (context, files) = context::build(&opener, operators)?;
        Ok(Self { context, files, driver })
    }

    /// Reads statements, without running them.
    pub(crate) fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        DFParser::parse_sql(sql).map(Vec::from).map_err(ours)
    }

    /// Plans a statement and starts it.
    pub(crate) async fn execute(
        &self,
        statement: Statement,
    ) -> datafusion::common::Result<SendableRecordBatchStream> {
        let plan = self.context.state().statement_to_plan(statement).await?;
        let frame = self.context.execute_logical_plan(plan).await?;
        frame.execute_stream().await
    }

    /// The names of the tables that were registered or created, sorted.
    pub(crate) fn table_names(&self) -> Vec<String> {
        let state = self.context.state();
        let options = &state.config_options().catalog;
        let catalog = state.catalog_list().catalog(&options.default_catalog);
        let schema = catalog.and_then(|catalog| catalog.schema(&options.default_schema));
        let mut names = schema.map(|schema| schema.table_names()).unwrap_or_default();
        names.sort();
        names
    }

    /// A statement that cannot be planned and names a table nobody knows fails because of that: say which, and what
    /// there is.
    pub(crate) fn explained(&self, names: &[TableReference], error: DataFusionError) -> Error {
        if !matches!(error.find_root(), DataFusionError::Plan(_)) {
            return ours(error);
        }
        let known = self.table_names();
        let is_known = |table: &str| {
            known.iter().any(|known| known == table)
                || Function::ALL.iter().any(|function| function.name() == table)
                || looks_like_a_file(table)
                || std::path::Path::new(table).exists()
        };
        let unknown = names.iter().find_map(|name| match name {
            TableReference::Bare { table } if !is_known(table) => Some(table),
            _ => None,
        });
        match unknown {
            None => ours(error),
            Some(name) if known.is_empty() => Error::not_found(format!("table '{name}' does not exist"))
                .hint("name a file in quotes, FROM 'run.tet', or register one under this name"),
            Some(name) => Error::unknown_name("table", name, known.iter().map(String::as_str)),
        }
    }
}

/// Runs statements one after the other.
///
/// A session has threads of its own and waits for them. Asynchronous callers use [`AsyncSession`](crate::AsyncSession).
pub struct Session {
    parts: Parts,
    runtime: Arc<Runtime>,
    interrupt: Interrupt,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("driver", &self.parts.driver).finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session.
    pub fn new(options: &SessionOptions) -> Result<Self> {
        let parts = Parts::new(options)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(parts.driver.threads())
            .thread_name("tesselle-sql")
            .enable_all()
            .build()
            .map_err(|e| Error::io("cannot start threads", e))?;
        let interrupt = Interrupt::under(parts.driver.cancel_token());
        Ok(Self { parts, runtime: Arc::new(runtime), interrupt })
    }

    /// DataFusion's side of the session, for those who want to register functions or tables of their own.
    pub fn context(&self) -> &SessionContext {
        &self.parts.context
    }

    /// The threads and the memory that files are read with.
    pub fn driver(&self) -> &Driver {
        &self.parts.driver
    }

    /// Stops this session's statements from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Makes what `uri` names a table of this name.
    pub fn register(&self, name: &str, uri: &str) -> Result<()> {
        let provider =
            self.runtime.block_on(self.interrupt.or(self.parts.files.try_new(uri)))?.map_err(ours)?;
        let provider = provider
            .ok_or_else(|| Error::io(format!("cannot read '{uri}'"), std::io::ErrorKind::NotFound.into()))?;
        self.parts.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Makes an opened table one of this name.
    pub fn register_table(&self, name: &str, table: Arc<dyn Table>) -> Result<()> {
        let provider = Arc::new(TesselleTable::new(table, self.parts.driver.clone()));
        self.parts.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Makes rows in memory a table of this name.
    pub fn register_batches(&self, name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<()> {
        let provider = MemTable::try_new(schema, vec![batches]).map_err(ours)?;
        self.parts.context.register_table(TableReference::bare(name), Arc::new(provider)).map_err(ours)?;
        Ok(())
    }

    /// The names of the tables that were registered or created, sorted.
    pub fn table_names(&self) -> Vec<String> {
        self.parts.table_names()
    }

    /// Reads statements, without running them.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        self.parts.parse(sql)
    }

    /// Runs all statements of `sql`; the answer is that of the last one.
    pub fn query(&self, sql: &str) -> Result<Answer> {
        let mut statements = self.parse(sql)?;
        let Some(last) = statements.pop() else {
            return Err(Error::invalid("there is no statement").hint("try SELECT * FROM 'run.tet' LIMIT 5"));
        };
        for statement in statements {
            self.run(statement)?.finish()?;
        }
        self.run(last)
    }

    /// Runs one statement. Those that change something have done so when this returns.
    pub fn run(&self, statement: Statement) -> Result<Answer> {
        self.interrupt.reset();
        match &statement {
            Statement::CopyTo(copy) => self.copy(&Copy::new(copy)?),
            _ => self.start(statement),
        }
    }

    fn start(&self, statement: Statement) -> Result<Answer> {
        let names = self.parts.context.state().resolve_table_references(&statement).unwrap_or_default();
        let work = self.parts.execute(statement);
        let stream = self.runtime.block_on(self.interrupt.or(work))?;
        let stream = stream.map_err(|error| self.parts.explained(&names, error))?;
        Ok(Answer::new(stream, Arc::clone(&self.runtime), self.interrupt.clone()))
    }

    /// Writes the answer of a query; the answer of COPY is the number of its rows.
    fn copy(&self, copy: &Copy) -> Result<Answer> {
        let answer = self.start(copy.query.clone())?;
        let mut sink = copy.sink(&answer.schema(), &self.parts.driver)?;
        let mut rows = 0;
        for batch in answer {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            sink.write(&batch)?;
        }
        sink.finish()?;
        let stream = count(rows)?;
        Ok(Answer::new(stream, Arc::clone(&self.runtime), self.interrupt.clone()))
    }
}
