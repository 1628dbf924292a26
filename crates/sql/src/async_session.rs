//! A session for asynchronous callers: statements run on the caller's runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{MemTable, SchemaProvider, UrlTableFactory};
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{LogicalPlan, Statement as PlanStatement};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use futures::StreamExt as _;
use tesselle::driver::CancelToken;
use tesselle::{Action, Driver, DriverOptions, Error, ErrorKind, Result, Table, Uri};

use crate::answer::AnswerStream;
use crate::context;
use crate::copy::{Copy, plain, whole};
use crate::error::ours;
use crate::files::{self, FileTables, Opener, blocking, looks_like_a_file};
use crate::interrupt::Interrupt;
use crate::options::SessionOptions;
use crate::parts;
use crate::provider::TesselleTable;
use crate::statement::{Inserted, created, inserted, prepare, tokens};
use crate::tables::Tables;

/// Runs statements on the tokio runtime of the caller, as many at once as the caller awaits.
///
/// It has no threads for queries: partitions are decoded and computed where the caller's runtime polls them. Reading
/// metadata, and writing a `COPY`, happen on the threads that the runtime has for blocking work. Dropping a future or an
/// [`AnswerStream`] stops its statement.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("plant.csv");
/// # std::fs::write(&path, "time,speed\n1,80.5\n2,81\n3,79\n")?;
/// # let uri = path.to_str().ok_or("the path is UTF-8")?;
/// use futures::StreamExt;
/// use tesselle_sql::{AsyncSession, SessionOptions};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let session = AsyncSession::try_new(&SessionOptions::default())?;
/// let mut rows = session.query(&format!("SELECT max(speed) AS top FROM '{uri}'")).await?;
/// assert_eq!(rows.schema().field(0).name(), "top");
/// while let Some(batch) = rows.next().await {
///     assert_eq!(batch?.num_rows(), 1);
/// }
/// # Ok::<(), tesselle::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncSession {
    context: SessionContext,
    files: Arc<FileTables>,
    tables: Arc<Tables>,
    driver: Driver,
    /// All that statements may use, where the budget of the driver is a part of it.
    memory: u64,
    /// The bound on the memory of operators, where one was given.
    operators: Option<usize>,
}

impl std::fmt::Debug for AsyncSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncSession").field("driver", &self.driver).finish_non_exhaustive()
    }
}

/// Cancels a run whose statement is dropped.
struct StopOnDrop(CancelToken);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl AsyncSession {
    /// Sets up a session. This does not need a runtime.
    pub fn try_new(options: &SessionOptions) -> Result<Self> {
        // A quarter is for decoding in progress, the rest for operators.
        let pieces = options.memory.map(|memory| memory / 4);
        let driver =
            Driver::try_new(&DriverOptions::default().with_threads(options.threads).with_memory(pieces))?;
        // A chunk, page or tile may take more than its share, but not more than the total.
        let driver = driver.with_largest_piece(options.memory.unwrap_or(u64::MAX)).under(&options.cancel);
        let driver = driver.with_progress(Arc::clone(&options.progress));
        let operators = match options.memory {
            Some(memory) => memory - memory / 4,
            None => driver.budget().total().saturating_mul(2),
        };
        let opener = Opener {
            driver: driver.clone(),
            options: options.open.clone(),
            format: None,
            table: None,
            own_time: false,
            pushdown: options.pushdown,
        };
        let files = Arc::new(FileTables::new(opener.clone()));
        let tables = Arc::new(Tables::new(Arc::clone(&files)));
        let context = context::build(&opener, &tables, operators, options.memory.is_some())?;
        let memory = options.memory.unwrap_or_else(|| driver.budget().total());
        let operators = options.memory.map(|_| usize::try_from(operators).unwrap_or(usize::MAX));
        Ok(Self { context, files, tables, driver, memory, operators })
    }

    /// The DataFusion context of the session, to register custom functions or tables.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The threads and the memory that files are read with.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Registers `uri` as a table with this name.
    pub async fn register(&self, name: &str, uri: &str) -> Result<()> {
        let provider = self.files.try_new(uri).await.map_err(ours)?;
        let provider = provider.ok_or_else(|| {
            Error::io(
                format!("cannot read '{uri}'"),
                std::io::Error::new(std::io::ErrorKind::NotFound, "no such file or directory"),
            )
        })?;
        self.context.register_table(TableReference::bare(name), provider).map_err(ours)?;
        Ok(())
    }

    /// Makes every file and container in a folder a table, named in lower case by its name without the extension, or with
    /// it if several have the same name otherwise; returns the names. Files of no known format are left alone. A file is
    /// opened when a statement first names its table.
    pub async fn register_folder(&self, folder: &str) -> Result<Vec<String>> {
        let folder = folder.to_owned();
        let uris = blocking(move || files::in_folder(&folder)).await?;
        let mut by_stem: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for uri in uris {
            by_stem.entry(files::stem(&uri).to_lowercase()).or_default().push(uri);
        }
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (stem, uris) in by_stem {
            let is_only = uris.len() == 1;
            for uri in uris {
                let name = if is_only { stem.clone() } else { files::file_name(&uri).to_lowercase() };
                if let Some(other) = known.insert(name.clone(), uri.clone()) {
                    return Err(Error::invalid(format!(
                        "'{other}' and '{uri}' would both be the table '{name}'"
                    ))
                    .hint("register one of them under another name"));
                }
            }
        }
        let names = known.keys().cloned().collect();
        for (name, uri) in known {
            self.tables.promise(name, uri).map_err(ours)?;
        }
        Ok(names)
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
        let mut names = self.tables.table_names();
        names.sort();
        names
    }

    /// Reads statements, without running them. Clauses that would be ignored are refused.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>> {
        let parser = DFParserBuilder::new(tokens(sql)?).build();
        let statements = parser.and_then(|mut parser| parser.parse_statements());
        let mut statements = statements.map(Vec::from).map_err(ours)?;
        let state = self.context.state();
        let is_scalar = |name: &str| state.scalar_functions().contains_key(name);
        for statement in &mut statements {
            prepare(statement, &is_scalar)?;
        }
        Ok(statements)
    }

    /// Runs all statements of `sql`; returns the result of the last one.
    pub async fn query(&self, sql: &str) -> Result<AnswerStream> {
        let mut statements = self.parse(sql)?;
        let last = statements.pop().ok_or_else(no_statement)?;
        for statement in statements {
            self.run(statement).await?.finish().await?;
        }
        self.run(last).await
    }

    /// Runs one statement. Its side effects are complete when this returns.
    pub async fn run(&self, statement: Statement) -> Result<AnswerStream> {
        self.run_under(statement, &Interrupt::under(self.driver.cancel_token())).await
    }

    /// Runs one statement that `interrupt` stops.
    pub(crate) async fn run_under(
        &self,
        statement: Statement,
        interrupt: &Interrupt,
    ) -> Result<AnswerStream> {
        if let Statement::CopyTo(copy) = &statement {
            return self.copy(Copy::try_new(copy)?, interrupt).await;
        }
        let names = self.names(&statement);
        let plan = self.plan(&names, statement, interrupt).await?;
        self.execute(&names, plan, interrupt).await
    }

    /// The tables that a statement reads, to explain an error; planning reports names that cannot be resolved.
    fn names(&self, statement: &Statement) -> Vec<TableReference> {
        let mut names = self.context.state().resolve_table_references(statement).unwrap_or_default();
        // A table that does not exist yet is not what is wrong.
        if let Some(created) = created(statement) {
            names.retain(|name| name.table() != created);
        }
        names
    }

    async fn plan(
        &self,
        names: &[TableReference],
        statement: Statement,
        interrupt: &Interrupt,
    ) -> Result<LogicalPlan> {
        let state = self.context.state();
        let inserted = inserted(&statement);
        let plan = async {
            let created = created(&statement);
            let own = created.iter().map(String::as_str);
            self.tables.open(names.iter().map(TableReference::table).chain(own)).await;
            state.statement_to_plan(statement).await
        };
        match interrupt.or(plan).await? {
            Ok(plan) => Ok(plan),
            Err(error) => match inserted {
                Some(inserted) if error.to_string().contains(OTHER_COUNT) => {
                    interrupt.or(self.other_count(inserted)).await?
                }
                _ => Err(self.explained(names, error)),
            },
        }
    }

    /// The error for an INSERT of rows with more or fewer columns than it fills.
    async fn other_count(&self, inserted: Inserted) -> Result<LogicalPlan> {
        let Inserted { table, columns, rows } = inserted;
        let wanted = match columns {
            0 => self.context.table_provider(table.as_str()).await.map_err(ours)?.schema().fields().len(),
            named => named,
        };
        let rows = self.context.state().statement_to_plan(rows).await.map_err(ours)?;
        let given = rows.schema().fields().len();
        let columns = |n: usize| if n == 1 { "1 column".to_owned() } else { format!("{n} columns") };
        let message =
            format!("INSERT fills {} of table '{table}', but the rows have {given}", columns(wanted));
        Err(Error::invalid(message).hint("name the columns to fill: INSERT INTO t (a, b) SELECT …"))
    }

    async fn execute(
        &self,
        names: &[TableReference],
        plan: LogicalPlan,
        interrupt: &Interrupt,
    ) -> Result<AnswerStream> {
        let setting = match &plan {
            LogicalPlan::Statement(PlanStatement::SetVariable(set)) => {
                Some(format!("'{}' is no value of the setting '{}'", set.value, set.variable))
            }
            _ => None,
        };
        let work = async {
            let (state, plan) = self.context.execute_logical_plan(plan).await?.into_parts();
            parts::start(state, &plan, self.operators).await
        };
        let stream = interrupt.or(work).await?.map_err(|error| {
            let error = self.explained(names, error);
            // The engine repeats what its parser of numbers says, without a name.
            match setting.filter(|_| error.kind() == ErrorKind::Invalid) {
                Some(setting) => Error::invalid(setting).source(error),
                None => error,
            }
        })?;
        Ok(AnswerStream::new(stream, interrupt.clone()))
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
        // What exists under such a name, and is no table.
        let other = names.iter().find_map(|name| match name {
            TableReference::Bare { table } if !known.iter().any(|known| **known == **table) => {
                tesselle::detect(&Uri::parse(table).ok()?.location)
                    .err()
                    .filter(|e| e.class_name() == "unknown_format")
            }
            _ => None,
        });
        // An unquoted file name reads as a table of a schema.
        let catalog = self.context.catalog(context::CATALOG);
        let is_schema = |name: &str| {
            name == "information_schema" || catalog.as_ref().is_some_and(|all| all.schema(name).is_some())
        };
        let unquoted = names.iter().find(|name| name.schema().is_some_and(|schema| !is_schema(schema)));
        if let Some(name) = unquoted {
            return Error::not_found(format!("table '{name}' does not exist"))
                .hint(format!("quote a file name, as in FROM '{name}'"));
        }
        match unknown {
            None => other.unwrap_or_else(|| ours(error)),
            Some(name) if known.is_empty() => Error::not_found(format!("table '{name}' does not exist"))
                .suggest(
                    "quote a file name, as in FROM 'run.tet', or name a table: {}",
                    [Action::Register(name.to_string())],
                ),
            Some(name) => Error::unknown_name("table", name, known.iter().map(String::as_str)),
        }
    }

    /// Writes a file or the result of a query; the result of COPY is the number of its rows.
    async fn copy(&self, copy: Copy, interrupt: &Interrupt) -> Result<AnswerStream> {
        let rows = match self.whole(&copy).await? {
            Some(source) => self.convert(copy, source, interrupt).await?,
            None => self.copy_query(copy, interrupt).await?,
        };
        // What is written is reported, even if the interruption came too late to prevent it.
        Ok(AnswerStream::new(count(rows)?, Interrupt::default()))
    }

    async fn copy_query(&self, copy: Copy, interrupt: &Interrupt) -> Result<u64> {
        let names = self.names(&copy.query);
        let plan = self.plan(&names, copy.query.clone(), interrupt).await?;
        match self.plain(&plan) {
            Some(source) => self.convert(copy, source, interrupt).await,
            None => self.write(copy, self.execute(&names, plan, interrupt).await?).await,
        }
    }

    /// The file that a COPY names in place of a query: all its tables are converted.
    async fn whole(&self, copy: &Copy) -> Result<Option<crate::copy::Plain>> {
        let tables = self.table_names();
        let Some(name) = copy.named.clone().filter(|name| !tables.contains(name)) else { return Ok(None) };
        let opener = self.files.opener();
        blocking(move || Ok(whole(name, opener))).await
    }

    /// Runs a conversion; returns the number of rows.
    async fn convert(&self, copy: Copy, source: crate::copy::Plain, interrupt: &Interrupt) -> Result<u64> {
        // Nothing else works meanwhile, so the conversion has all of the memory.
        let run = self.driver.with_memory(self.memory).for_run();
        interrupt.stops(run.cancel_token());
        // The conversion is awaited even if it is interrupted: it removes its staged files.
        let _stop = StopOnDrop(run.cancel_token().clone());
        blocking(move || copy.convert(source, &run)).await
    }

    /// The scan of one file that a query is, if it is no more than that.
    fn plain(&self, plan: &LogicalPlan) -> Option<crate::copy::Plain> {
        // Conditions can be translated once their types are coerced.
        let state = self.context.state();
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {});
        plain(&analyzed.ok()?)
    }

    /// Writes the rows of an answer; how many there were.
    async fn write(&self, copy: Copy, mut answer: AnswerStream) -> Result<u64> {
        let (schema, driver) = (answer.schema(), self.driver.clone());
        let mut sink = blocking(move || copy.sink(&schema, &driver)).await?;
        let mut rows = 0;
        while let Some(batch) = answer.next().await {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            sink = blocking(move || sink.write(&batch).map(|()| sink)).await?;
        }
        blocking(move || sink.finish()).await?;
        Ok(rows)
    }
}

/// What the planner states about an INSERT of a query with more or fewer columns than it fills.
const OTHER_COUNT: &str = "Column count doesn't match insert query";

/// The error for input without a statement.
pub(crate) fn no_statement() -> Error {
    Error::invalid("the input has no statement").hint("try SELECT * FROM 'run.tet' LIMIT 5")
}

/// One row with a number.
fn count(rows: u64) -> Result<SendableRecordBatchStream> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![rows]))])?;
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(batch)]))))
}
