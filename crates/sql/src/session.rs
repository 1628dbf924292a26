//! A session: executes statements and returns batches, on its own runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{MemTable, UrlTableFactory};
use datafusion::common::{DataFusionError, TableReference};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParser, Statement};
use tesselle::driver::{CancelToken, Progress, Silent};
use tesselle::{Driver, DriverOptions, Error, OpenOptions, Result, Table};

use crate::answer::Answer;
use crate::context;
use crate::copy::{Copy, plain};
use crate::error::ours;
use crate::files::{self, FileTables, Opener, looks_like_a_file};
use crate::interrupt::Interrupt;
use crate::provider::TesselleTable;
use crate::runtime::Runtime;
use crate::statement::prepare;

/// How a session is set up.
#[non_exhaustive]
#[derive(Clone)]
pub struct SessionOptions {
    /// Threads that decode and compute; `None` is one per core.
    pub threads: Option<usize>,
    /// Memory for queries; above it operators spill to disk. `None` is three quarters of the free memory.
    pub memory: Option<u64>,
    /// How files are opened: time travel, keys.
    pub open: OpenOptions,
    /// Whether filters, limits and counts are pushed down to the formats; off only to compare results.
    pub pushdown: bool,
    /// Permanently ends the session's work.
    pub cancel: CancelToken,
    /// Is told how many bytes scans will read, and have read.
    pub progress: Arc<dyn Progress>,
}

impl SessionOptions {
    /// Sets [`SessionOptions::threads`](Self#structfield.threads).
    #[must_use]
    pub fn with_threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Sets [`SessionOptions::memory`](Self#structfield.memory).
    #[must_use]
    pub fn with_memory(mut self, memory: impl Into<Option<u64>>) -> Self {
        self.memory = memory.into();
        self
    }

    /// Sets [`SessionOptions::open`](Self#structfield.open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// Sets [`SessionOptions::pushdown`](Self#structfield.pushdown).
    #[must_use]
    pub fn with_pushdown(mut self, pushdown: bool) -> Self {
        self.pushdown = pushdown;
        self
    }

    /// Sets [`SessionOptions::cancel`](Self#structfield.cancel).
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets [`SessionOptions::progress`](Self#structfield.progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { threads, memory, open, pushdown, .. } = self;
        let mut debug = f.debug_struct("SessionOptions");
        debug
            .field("threads", threads)
            .field("memory", memory)
            .field("open", open)
            .field("pushdown", pushdown);
        debug.finish_non_exhaustive()
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            threads: None,
            memory: None,
            open: OpenOptions::default(),
            pushdown: true,
            cancel: CancelToken::new(),
            progress: Arc::new(Silent),
        }
    }
}

/// Runs statements one after the other.
///
/// A session has its own threads and waits for them: it must not be used inside an asynchronous task.
pub struct Session {
    context: SessionContext,
    files: Arc<FileTables>,
    driver: Driver,
    /// All that statements may use, where the budget of the driver is a part of it.
    memory: u64,
    runtime: Arc<Runtime>,
    interrupt: Interrupt,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("driver", &self.driver).finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session.
    pub fn new(options: &SessionOptions) -> Result<Self> {
        // A quarter is for decoding in progress, the rest for operators.
        let pieces = options.memory.map(|memory| memory / 4);
        let driver =
            Driver::new(&DriverOptions::default().with_threads(options.threads).with_memory(pieces))?;
        // A chunk, page or tile may take more than its share, but not more than the total.
        let driver = driver.with_largest_piece(options.memory.unwrap_or(u64::MAX)).under(&options.cancel);
        let driver = driver.with_progress(Arc::clone(&options.progress));
        let operators = match options.memory {
            Some(memory) => memory - memory / 4,
            None => driver.budget().total().saturating_mul(2),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(driver.threads())
            .thread_name("tesselle-sql")
            .enable_all()
            .build()
            .map_err(|e| Error::io("cannot start threads", e))?;
        let opener = Opener {
            driver: driver.clone(),
            options: options.open.clone(),
            format: None,
            table: None,
            pushdown: options.pushdown,
        };
        let (context, files) = context::build(&opener, operators, options.memory.is_some())?;
        let interrupt = Interrupt::under(driver.cancel_token());
        let memory = options.memory.unwrap_or_else(|| driver.budget().total());
        Ok(Self { context, files, driver, memory, runtime: Arc::new(runtime.into()), interrupt })
    }

    /// The DataFusion context of the session, to register custom functions or tables.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The threads and the memory that files are read with.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Stops this session's statements from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Registers `uri` as a table with this name.
    pub fn register(&self, name: &str, uri: &str) -> Result<()> {
        let provider = self.runtime.block_on(self.interrupt.or(self.files.try_new(uri)))?.map_err(ours)?;
        let provider = provider.ok_or_else(|| Error::missing(uri))?;
        self.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Makes every file and container in a folder a table, named in lower case by its name without the ending; returns
    /// the names. Files of no known format are left alone.
    pub fn register_folder(&self, folder: &str) -> Result<Vec<String>> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for uri in files::in_folder(folder)? {
            let name = files::stem(&uri).to_lowercase();
            if let Some(other) = known.insert(name.clone(), uri.clone()) {
                return Err(Error::invalid(format!(
                    "'{other}' and '{uri}' would both be the table '{name}'"
                ))
                .hint("register one of them under another name"));
            }
        }
        for (name, uri) in &known {
            self.register(name, uri)?;
        }
        Ok(known.into_keys().collect())
    }

    /// Makes an opened table one of this name.
    pub fn register_table(&self, name: &str, table: Arc<dyn Table>) -> Result<()> {
        let provider = Arc::new(TesselleTable::new(table, self.driver.clone()));
        self.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Registers rows in memory as a table with this name.
    pub fn register_batches(&self, name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<()> {
        let provider = MemTable::try_new(schema, vec![batches]).map_err(ours)?;
        self.context.register_table(TableReference::bare(name), Arc::new(provider)).map_err(ours)?;
        Ok(())
    }

    /// The names of the registered and created tables, sorted.
    pub fn table_names(&self) -> Vec<String> {
        let state = self.context.state();
        let options = &state.config_options().catalog;
        let catalog = state.catalog_list().catalog(&options.default_catalog);
        let schema = catalog.and_then(|catalog| catalog.schema(&options.default_schema));
        let mut names = schema.map(|schema| schema.table_names()).unwrap_or_default();
        names.sort();
        names
    }

    /// Reads statements, without running them. Clauses that would be ignored are refused.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        let mut statements = DFParser::parse_sql(sql).map(Vec::from).map_err(ours)?;
        let state = self.context.state();
        let is_scalar = |name: &str| state.scalar_functions().contains_key(name);
        for statement in &mut statements {
            prepare(statement, &is_scalar)?;
        }
        Ok(statements)
    }

    /// Runs all statements of `sql`; returns the result of the last one.
    pub fn query(&self, sql: &str) -> Result<Answer> {
        let mut statements = self.parse(sql)?;
        let Some(last) = statements.pop() else {
            return Err(
                Error::invalid("the input has no statement").hint("try SELECT * FROM 'run.tet' LIMIT 5")
            );
        };
        for statement in statements {
            self.run(statement)?.finish()?;
        }
        self.run(last)
    }

    /// Runs one statement. Its side effects are complete when this returns.
    pub fn run(&self, statement: Statement) -> Result<Answer> {
        self.interrupt.reset();
        match &statement {
            Statement::CopyTo(copy) => self.copy(&Copy::new(copy)?),
            _ => self.start(statement),
        }
    }

    fn start(&self, statement: Statement) -> Result<Answer> {
        let names = self.names(&statement);
        let plan = self.plan(&names, statement)?;
        self.execute(&names, plan)
    }

    /// The tables that a statement names, to explain an error; planning reports names that cannot be resolved.
    fn names(&self, statement: &Statement) -> Vec<TableReference> {
        self.context.state().resolve_table_references(statement).unwrap_or_default()
    }

    fn plan(&self, names: &[TableReference], statement: Statement) -> Result<LogicalPlan> {
        let work = async { self.context.state().statement_to_plan(statement).await };
        let plan = self.runtime.block_on(self.interrupt.or(work))?;
        plan.map_err(|error| self.explained(names, error))
    }

    fn execute(&self, names: &[TableReference], plan: LogicalPlan) -> Result<Answer> {
        let work = async { self.context.execute_logical_plan(plan).await?.execute_stream().await };
        let stream = self.runtime.block_on(self.interrupt.or(work))?;
        let stream = stream.map_err(|error| self.explained(names, error))?;
        Ok(Answer::new(stream, Arc::clone(&self.runtime), self.interrupt.clone()))
    }

    /// Explains a planning error: if a statement refers to an unknown table, the error is about that table and lists
    /// the known ones.
    fn explained(&self, names: &[TableReference], error: DataFusionError) -> Error {
        if !matches!(error.find_root(), DataFusionError::Plan(_)) {
            return ours(error);
        }
        let known = self.table_names();
        let is_known = |table: &str| {
            known.iter().any(|known| known == table)
                || self.context.state().table_functions().contains_key(table)
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
                .hint("quote a file name, as in FROM 'run.tet', or register a file under this name"),
            Some(name) => Error::unknown_name("table", name, known.iter().map(String::as_str)),
        }
    }

    /// Writes the result of a query; the result of COPY is the number of its rows.
    fn copy(&self, copy: &Copy) -> Result<Answer> {
        let names = self.names(&copy.query);
        let plan = self.plan(&names, copy.query.clone())?;
        // Conditions mean what they say once their types are coerced.
        let state = self.context.state();
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {});
        let rows = match analyzed.ok().as_ref().and_then(plain) {
            Some(source) => {
                // Nothing else works meanwhile, so the conversion has all of the memory.
                let run = self.driver.with_memory(self.memory).for_run();
                self.interrupt.stops(run.cancel_token());
                copy.convert(source, &run)?.summary.rows
            }
            None => self.write(copy, self.execute(&names, plan)?)?,
        };
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![rows]))])?;
        let stream = RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(batch)]));
        Ok(Answer::new(Box::pin(stream), Arc::clone(&self.runtime), self.interrupt.clone()))
    }

    /// Writes the rows of an answer; how many there were.
    fn write(&self, copy: &Copy, answer: Answer) -> Result<u64> {
        let mut sink = copy.sink(&answer.schema(), &self.driver)?;
        let mut rows = 0;
        for batch in answer {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            sink.write(&batch)?;
        }
        sink.finish()?;
        Ok(rows)
    }
}
