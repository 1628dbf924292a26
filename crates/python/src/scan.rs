//! Read requests.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tesselle::core::{Context, ScanTicket};
use tesselle::driver::{self, Part};
use tesselle::storage::Storage;
use tesselle::{Dataset, Location, OpenOptions, Opener, Selection, Table, Uri};

use crate::capsules;
use crate::error::raise;
use crate::options::{opener, secret};
use crate::rows::{Batches, Rows};
use crate::run::{driver, long, quick};
use crate::store::PythonStore;

/// Rows of a batch of numbers where all rows are read into memory: few batches take less time, and nobody works on one
/// while it is in the cache.
const COLLECTED_ROWS: usize = 128 << 10;

/// A table that can be opened again, here or in another process.
#[derive(Clone)]
pub(crate) struct Source {
    uri: String,
    table: Option<String>,
    format: Option<String>,
    options: OpenOptions,
    /// The storage that the uri is a path in, where Python provides it.
    store: Option<Arc<Py<PyAny>>>,
    /// What the files are, if the table must be of this state of them.
    stamp: Option<u64>,
    opened: Arc<OnceLock<Arc<dyn Table>>>,
}

impl Source {
    pub(crate) fn new(
        uri: String,
        table: Option<String>,
        format: Option<&str>,
        options: OpenOptions,
    ) -> Self {
        let format = format.map(str::to_owned);
        Self { uri, table, format, options, store: None, stamp: None, opened: Arc::default() }
    }

    /// In a storage that Python provides.
    pub(crate) fn in_store(self, store: Option<Py<PyAny>>) -> Self {
        Self { store: store.map(Arc::new), ..self }
    }

    /// A table of the container, which is open already.
    pub(crate) fn of_table(&self, name: Option<String>, table: &Arc<dyn Table>) -> Self {
        Self { table: name, opened: Arc::new(OnceLock::from(Arc::clone(table))), ..self.clone() }
    }

    fn opener(&self) -> Opener {
        opener(self.format.as_deref(), self.table.as_deref(), &self.options)
    }

    /// Whether to open it is to read the metadata of one local file: that is over before a thread of its own would start.
    fn is_soon_open(&self) -> bool {
        let path = Uri::split(&self.uri).0;
        let format = match self.format.as_deref() {
            Some(name) => tesselle::format_by_name(name).ok(),
            None => tesselle::format_by_extension(path),
        };
        let reads_all = |format: &dyn tesselle::Format| format.capabilities().infers_types;
        self.store.is_none() && format.is_some_and(|format| !reads_all(format)) && Path::new(path).is_file()
    }

    /// The container, opened now.
    pub(crate) fn dataset(&self, py: Python<'_>) -> PyResult<Dataset> {
        let opener = self.opener();
        if self.is_soon_open() {
            return quick(py, |_| opener.open(&self.uri));
        }
        // Formats that infer their types read the whole file.
        let (uri, store) = (self.uri.clone(), self.store.clone());
        long(py, move |driver| match store {
            None => opener.on(driver).open(&uri),
            Some(store) => {
                let (location, table) = place(store, &uri)?;
                if !location.exists()? {
                    return Err(tesselle::Error::missing(location.path()));
                }
                let table = opener.table_name().or(table).map(str::to_owned);
                opener.table(table).on(driver).open_at(location)
            }
        })
    }

    /// The table; opened now if it is not.
    pub(crate) fn table(&self, py: Python<'_>) -> PyResult<Arc<dyn Table>> {
        if let Some(table) = self.opened.get() {
            return Ok(Arc::clone(table));
        }
        let table = if self.store.is_some() {
            let dataset = self.dataset(py)?;
            Arc::clone(quick(py, |_| dataset.default_table())?.table())
        } else {
            let opener = self.opener();
            if self.is_soon_open() {
                quick(py, |_| opener.open_all(&self.uri))?
            } else {
                let uri = self.uri.clone();
                long(py, move |driver| opener.on(driver).open_all(&uri))?
            }
        };
        // Not before the table is open: files may change until then.
        if self.stamp.is_some() && self.stamp != self.stamp_now(py)? {
            let changed = tesselle::Error::invalid("the data has changed since the scan was split");
            return Err(raise(&changed.hint("split it again")));
        }
        Ok(Arc::clone(self.opened.get_or_init(|| table)))
    }

    /// What the files are now; nothing where an earlier state is read, which stays the same.
    fn stamp_now(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        if self.options.between.is_some() {
            return Ok(None);
        }
        let (uri, store, opener) = (self.uri.clone(), self.store.clone(), self.opener());
        long(py, move |_| match store {
            None => opener.stamp(&uri),
            Some(store) => place(store, &uri)?.0.stamp(),
        })
        .map(Some)
    }
}

/// The place of a container in a storage of Python, and the table that the uri names.
fn place(store: Arc<Py<PyAny>>, uri: &str) -> tesselle::Result<(Location, Option<&str>)> {
    let storage: Arc<dyn Storage> = Arc::new(PythonStore::new(store));
    let (path, table) = match Uri::split(uri) {
        // A path that exists wins over a table.
        (path, Some(table)) if storage.kind(uri)?.is_none() => (path, Some(table)),
        _ => (uri, None),
    };
    Ok((Location::new(storage, path), table))
}

/// What is wanted of a table: what `tesselle.Table.scan` makes of its arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request {
    columns: Option<Vec<String>>,
    r#where: Option<String>,
    slice: Option<String>,
    limit: Option<u64>,
    batch_rows: Option<usize>,
}

impl Request {
    pub(crate) fn scan(&self) -> tesselle::Result<tesselle::Scan> {
        let predicate = self.r#where.as_deref().map(tesselle_sql::condition).transpose()?;
        let selection: Option<Selection> = self.slice.as_deref().map(str::parse).transpose()?;
        Ok(tesselle::Scan::default()
            .with_columns(self.columns.clone())
            .with_predicate(predicate)
            .with_selection(selection)
            .with_limit(self.limit)
            .with_batch_rows(self.batch_rows))
    }
}

/// A read request: nothing is read before its rows are wanted.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Scan {
    source: Source,
    scan: tesselle::Scan,
    part: Option<Part>,
}

impl Scan {
    pub(crate) fn try_new(source: Source, request: &Request) -> PyResult<Self> {
        let scan = request.scan().map_err(|error| raise(&error))?;
        Ok(Self { source, scan, part: None })
    }

    fn start(&self, py: Python<'_>, scan: &tesselle::Scan) -> PyResult<Rows> {
        let table = self.source.table(py)?;
        let driver = driver()?.for_run();
        let rows = py.detach(|| match &self.part {
            Some(part) => driver::scan_part(&*table, scan, part, &driver),
            None => driver::scan(&*table, scan, &driver, driver::Order::Plan),
        });
        Ok(Rows::new(
            rows.in_file(&self.source.uri).map_err(|error| raise(&error))?,
            driver,
            self.source.store.is_some(),
        ))
    }
}

#[pymethods]
impl Scan {
    /// A scan from its plain form; the key of an encrypted container is not in it.
    #[staticmethod]
    #[pyo3(signature = (plain, key, store=None))]
    fn from_plain(plain: &str, key: Option<Vec<u8>>, store: Option<Py<PyAny>>) -> PyResult<Self> {
        let fail = |error: tesselle::Error| raise(&error);
        let ticket = ScanTicket::from_text(plain).map_err(fail)?;
        let options = ticket.options().map_err(fail)?.with_key(secret(key.as_deref())?);
        let source = Source::new(ticket.uri, ticket.table, ticket.format.as_deref(), options);
        let source = Source { stamp: ticket.stamp, ..source.in_store(store) };
        let mut scan = ticket.scan;
        let predicate = scan.predicate.take().map(|predicate| predicate.resolve(&tesselle_sql::condition));
        scan.predicate = predicate.transpose().map_err(fail)?;
        Ok(Self { source, scan, part: ticket.part })
    }

    /// The plain form, for another process.
    fn to_plain(&self) -> PyResult<String> {
        let mut ticket = ScanTicket::new(&self.source.uri, self.scan.clone(), &self.source.options);
        ticket.table.clone_from(&self.source.table);
        ticket.format.clone_from(&self.source.format);
        (ticket.part, ticket.stamp) = (self.part, self.source.stamp);
        ticket.to_text().map_err(|error| raise(&error))
    }

    /// The storage of Python that it reads, which is not in the plain form.
    fn store(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.source.store.as_ref().map(|store| store.clone_ref(py))
    }

    /// What is wanted, for people.
    fn describe(&self) -> String {
        let mut parts = vec![self.source.uri.clone()];
        parts.extend(self.source.table.as_ref().map(|table| format!("table {table:?}")));
        parts.extend(self.scan.columns.as_ref().map(|columns| format!("columns {}", columns.join(", "))));
        parts.extend(self.scan.predicate.as_ref().map(|predicate| format!("where {predicate}")));
        parts.extend(self.scan.selection.as_ref().map(|_| "a slice".to_owned()));
        parts.extend(self.scan.limit.map(|limit| format!("limit {limit}")));
        parts.extend(self.part.map(|part| format!("tasks {}..{} of {}", part.start, part.end, part.of)));
        parts.join("; ")
    }

    /// The schema of the rows.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.source.table(py)?.schema();
        let wanted = self.scan.column_indices(&schema).map_err(|error| raise(&error))?;
        let schema = schema.project(&wanted).map_err(|error| raise(&error.into()))?;
        capsules::schema(py, &schema)
    }

    /// The names of the columns of the rows.
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if let Some(columns) = &self.scan.columns {
            return Ok(columns.clone());
        }
        Ok(self.source.table(py)?.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The table that is scanned.
    fn table(&self, py: Python<'_>) -> PyResult<crate::table::Table> {
        let table = self.source.table(py)?;
        Ok(crate::table::Table::new(self.source.clone(), table))
    }

    /// The table, if the scan wants all of it.
    fn whole_table(&self, py: Python<'_>) -> PyResult<Option<crate::table::Table>> {
        let is_whole =
            self.part.is_none() && self.scan.clone().with_batch_rows(None) == tesselle::Scan::all();
        is_whole.then(|| self.table(py)).transpose()
    }

    /// Starts the scan.
    fn rows(&self, py: Python<'_>) -> PyResult<Rows> {
        self.start(py, &self.scan)
    }

    /// Reads all rows into memory.
    fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let mut scan = self.scan.clone();
        // Parts keep to the batches that they were planned with, and what is tested or limited to smaller ones.
        let is_free = self.part.is_none()
            && scan.batch_rows.is_none()
            && scan.predicate.is_none()
            && scan.limit.is_none();
        if is_free {
            let schema = self.source.table(py)?.schema();
            let wanted = scan.column_indices(&schema).map_err(|error| raise(&error))?;
            let is_number = |at: &usize| schema.field(*at).data_type().is_primitive();
            if wanted.iter().all(is_number) {
                scan = scan.with_batch_rows(Some(COLLECTED_ROWS));
            }
        }
        self.start(py, &scan)?.collect(py)
    }

    /// How many rows there are: from metadata where that suffices.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let all = self.scan.clone().with_columns(None).with_batch_rows(None).with_limit(None);
        if self.part.is_none() && all == tesselle::Scan::all() {
            let table = self.source.table(py)?;
            if let Some(rows) = py.detach(|| table.stats().rows.exact().copied()) {
                return Ok(self.scan.limit.map_or(rows, |limit| rows.min(limit)));
            }
        }
        let scan =
            if self.part.is_some() { self.scan.clone() } else { self.scan.clone().columns::<String>([]) };
        self.start(py, &scan)?.count(py)
    }

    /// What the scan would read: pieces in all and pruned, tasks, bytes.
    fn explain(&self, py: Python<'_>) -> PyResult<(u64, u64, usize, u64)> {
        let table = self.source.table(py)?;
        let (scan, part) = (self.scan.clone(), self.part);
        long(py, move |_| {
            let mut plan = driver::plan(&*table, &scan)?;
            if let Some(part) = part {
                plan.tasks.truncate(part.end);
                plan.tasks.drain(..part.start.min(plan.tasks.len()));
            }
            let bytes = plan.tasks.iter().map(|task| task.cost().bytes_in).sum();
            Ok((plan.pieces, plan.pruned, plan.tasks.len(), bytes))
        })
    }

    /// The scan in at most so many parts, which together give all rows.
    fn splits(&self, py: Python<'_>, parts: usize) -> PyResult<Vec<Self>> {
        if self.part.is_some() {
            return Err(raise(&tesselle::Error::invalid("a part of a scan cannot be split again")));
        }
        if self.scan.limit.is_some() {
            // Parts do not know of each other: only one of them can count the rows of all.
            return Ok(vec![Self { source: self.source.clone(), scan: self.scan.clone(), part: None }]);
        }
        let table = self.source.table(py)?;
        let scan = self.scan.clone();
        let parts = long(py, move |_| driver::split(&*table, &scan, parts))?;
        let source = Source { stamp: self.source.stamp_now(py)?, ..self.source.clone() };
        let part = |part| Self { source: source.clone(), scan: self.scan.clone(), part: Some(part) };
        Ok(parts.into_iter().map(part).collect())
    }
}
