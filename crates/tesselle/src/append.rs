//! Appending to an existing container: rows, or an array along an axis.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{ArrowError, DataType};
use tesselle_core::array::{GridColumn, GridTable};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    Action, AppendRequest, ArrayView, Context, Driver, Error, OpenOptions, Result, RowStream, Scan, Settings,
    Summary, driver,
};

use crate::cast;
use crate::name::Uri;
use crate::open::Opener;
use crate::registry;
use crate::run::{RunOn, run_methods};
use crate::scan::scan_methods;

/// Builds an append of the contents of `input` to the container or table `output`.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
/// # let (monday, tuesday, week) = (path("a.csv"), path("b.csv"), path("week.tsfile"));
/// std::fs::write(&monday, "time,speed\n1,80.5\n2,81\n")?;
/// std::fs::write(&tuesday, "time,speed\n3,79.5\n")?;
/// tesselle::convert(monday, &week).run()?;
/// let added = tesselle::append(tuesday, &week).run()?;
/// assert_eq!((added.format, added.summary.rows), ("tsfile", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn append(input: impl Into<String>, output: impl Into<String>) -> Append {
    Append::new(AppendInput::Uri(input.into()), output.into())
}

/// Builds an append of rows to the container or table `output`. The rows may come from any reader of record batches,
/// for example from [`TableScan::rows`](crate::TableScan::rows).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("week.tsfile");
/// # let week = path.to_str().ok_or("the path is UTF-8")?;
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
///
/// let day = |times: Vec<i64>| {
///     let speed: ArrayRef = Arc::new(Int64Array::from_iter_values(times.iter().map(|time| time * 10)));
///     RecordBatch::try_from_iter([("time", Arc::new(Int64Array::from(times)) as ArrayRef), ("speed", speed)])
/// };
/// let (monday, tuesday) = (day(vec![1, 2])?, day(vec![3])?);
/// let schema = monday.schema();
/// let mut writer = tesselle::create(week, Arc::clone(&schema)).start()?;
/// writer.write(&monday)?;
/// writer.finish()?;
/// let added = tesselle::append_rows(RecordBatchIterator::new([Ok(tuesday)], schema), week).run()?;
/// assert_eq!(added.summary.rows, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn append_rows(rows: impl RecordBatchReader + 'static, output: impl Into<String>) -> Append {
    let schema = rows.schema();
    let batches = Box::new(rows.map(|batch| batch.map_err(unreadable)));
    Append::new(AppendInput::Rows(RowStream { schema, batches }), output.into())
}

/// The error of a reader: that of this library which it passes on, or its own.
fn unreadable(error: ArrowError) -> Error {
    let foreign = match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
            Ok(own) => return *own,
            Err(foreign) => ArrowError::ExternalError(foreign),
        },
        error => error,
    };
    Error::invalid("the data cannot be read").source(foreign)
}

/// Builds an append of an array to the dense array `output`.
pub fn append_array(array: impl Into<Arc<dyn ArrayView>>, output: impl Into<String>) -> Append {
    Append::new(AppendInput::Array(array.into()), output.into())
}

/// A builder for an append. See [`append`].
#[must_use = "nothing is added before `run`"]
pub struct Append {
    source: AppendInput,
    opener: Opener,
    scan: Scan,
    casts: Vec<(String, DataType)>,
    output: String,
    open: OpenOptions,
    axis: Option<String>,
    settings: Settings,
    run: RunOn,
}

enum AppendInput {
    Uri(String),
    Rows(RowStream<'static>),
    Array(Arc<dyn ArrayView>),
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The format of the container.
    pub format: &'static str,
    /// What was added.
    pub summary: Summary,
}

impl Appended {
    /// The object of `append --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "format": self.format, "rows": self.summary.rows, "bytes": self.summary.bytes,
            "pieces": self.summary.pieces, "lost": self.summary.lost,
        })
    }
}

impl Append {
    fn new(source: AppendInput, output: String) -> Self {
        Self {
            source,
            opener: Opener::new(),
            scan: Scan::all(),
            casts: Vec::new(),
            output,
            open: OpenOptions::default(),
            axis: None,
            settings: Settings::default(),
            run: RunOn::default(),
        }
    }

    run_methods!();
    scan_methods!();

    /// Sets how the source is opened: its format, its table, time travel, keys, types.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Sets how the target is opened: its key.
    pub fn target_options(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Replaces columns, filter, region and limit of the source by those of `scan`.
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Casts columns of the source to other types.
    pub fn casts(mut self, casts: impl IntoIterator<Item = (String, DataType)>) -> Self {
        self.casts.extend(casts);
        self
    }

    /// Sets the axis along which a dense array grows, by name or number `[default: the first]`.
    pub fn axis(mut self, axis: impl Into<String>) -> Self {
        self.axis = Some(axis.into());
        self
    }

    /// Sets the format's own settings.
    pub fn options(mut self, options: impl Into<Settings>) -> Self {
        self.settings = options.into();
        self
    }

    /// Appends. Readers see the old state of the container or the new one.
    pub fn run(self) -> Result<Appended> {
        let driver = self.run.driver()?;
        let Uri { location, table } = Uri::parse(&self.output)?;
        if !location.exists()? {
            return Err(Error::missing(location.path()).suggest("{} writes a new one", [Action::Convert]));
        }
        let format = registry::detect(&location)?;
        let opener = self.opener.used_by(format);
        let (rows, array) = source(self.source, opener, &self.scan, &self.casts, &driver)?;
        let (rows, array) = stored(rows, array, &self.output, &self.open)?;
        let request = AppendRequest {
            location: location.clone(),
            table,
            rows,
            array,
            axis: self.axis,
            settings: self.settings,
            open: self.open,
        };
        let summary = format.append(request, &driver).in_file(location.path())?;
        Ok(Appended { format: format.name(), summary })
    }
}

/// What is added, as the container stores it.
fn stored(
    rows: RowStream<'static>,
    array: Option<Arc<dyn ArrayView>>,
    target: &str,
    open: &OpenOptions,
) -> Result<Added> {
    // Without a single table to append to, the format returns the error.
    let Ok(types) = Opener::new().options(open.clone()).open(target).and_then(|target| target.stored_types())
    else {
        return Ok((rows, array));
    };
    if array.is_some() {
        types.refuse(["value"], "an array")?;
    }
    Ok((types.store(rows)?, array))
}

type Added = (RowStream<'static>, Option<Arc<dyn ArrayView>>);

/// The source as rows, and as an array if it is a whole array.
fn source(
    source: AppendInput,
    opener: Opener,
    scan: &Scan,
    casts: &[(String, DataType)],
    run: &Driver,
) -> Result<Added> {
    let uri = match source {
        AppendInput::Uri(uri) => uri,
        AppendInput::Rows(rows) => return Ok((cast::cast_stream(rows, casts)?, None)),
        AppendInput::Array(array) => {
            let column = GridColumn { name: "value".to_owned(), array: Arc::clone(&array), is_bool: false };
            let table = GridTable::try_new("", vec![column], Arc::new(MemoryStorage::new()))?;
            let rows = cast::cast(driver::scan(&table, &Scan::all(), run, driver::Order::Plan)?, &[])?;
            return Ok((rows, Some(array)));
        }
    };
    let table = opener.on(run).open_table(&uri)?;
    let array = table.array().filter(|_| *scan == Scan::all() && casts.is_empty());
    let rows = cast::cast(table.scan().with(scan.clone()).on(run).rows()?, casts)?;
    Ok((rows, array))
}
