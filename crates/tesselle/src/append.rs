//! Adding to a container that exists: rows, or an array along an axis.

use std::sync::Arc;

use arrow_schema::DataType;
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

/// Starts to put together an addition of what `input` holds to the container, or to the table of it, that `output` names.
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
    Append::new(Source::Uri(input.into()), output.into())
}

/// Starts to put together an addition of rows to the container, or to the table of it, that `output` names.
pub fn append_rows(rows: RowStream<'static>, output: impl Into<String>) -> Append {
    Append::new(Source::Rows(rows), output.into())
}

/// Starts to put together an addition of an array to the dense array that `output` names.
pub fn append_array(array: impl Into<Arc<dyn ArrayView>>, output: impl Into<String>) -> Append {
    Append::new(Source::Array(array.into()), output.into())
}

/// An addition that is put together. See [`append`].
#[must_use = "nothing is added before `run`"]
pub struct Append {
    source: Source,
    opener: Opener,
    scan: Scan,
    casts: Vec<(String, DataType)>,
    output: String,
    open: OpenOptions,
    axis: Option<String>,
    settings: Settings,
    run: RunOn,
}

enum Source {
    Uri(String),
    Rows(RowStream<'static>),
    Array(Arc<dyn ArrayView>),
}

/// What an append did.
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
    fn new(source: Source, output: String) -> Self {
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

    /// Sets how the container that grows is opened: its key.
    pub fn target_options(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Replaces columns, filter, region and limit of the source by those of `scan`.
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Gives columns of the source other types.
    pub fn casts(mut self, casts: impl IntoIterator<Item = (String, DataType)>) -> Self {
        self.casts.extend(casts);
        self
    }

    /// Sets the axis that a dense array grows along, by name or number `[default: the first]`.
    pub fn axis(mut self, axis: impl Into<String>) -> Self {
        self.axis = Some(axis.into());
        self
    }

    /// Sets the format's own settings.
    pub fn options(mut self, options: impl Into<Settings>) -> Self {
        self.settings = options.into();
        self
    }

    /// Adds. Readers see the old state of the container or the new one.
    pub fn run(self) -> Result<Appended> {
        let driver = self.run.driver()?;
        let (rows, array) = source(self.source, self.opener, &self.scan, &self.casts, &driver)?;
        let Uri { location, table } = Uri::parse(&self.output)?;
        if !location.exists()? {
            return Err(Error::not_found(format!("'{}' does not exist", location.path()))
                .suggest("{} writes a new one", [Action::Convert]));
        }
        let format = registry::detect(&location)?;
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

type Added = (RowStream<'static>, Option<Arc<dyn ArrayView>>);

/// What is added, as rows, and as an array where it is nothing but that.
fn source(
    source: Source,
    opener: Opener,
    scan: &Scan,
    casts: &[(String, DataType)],
    run: &Driver,
) -> Result<Added> {
    let uri = match source {
        Source::Uri(uri) => uri,
        Source::Rows(rows) => return Ok((cast::cast_stream(rows, casts)?, None)),
        Source::Array(array) => {
            let column = GridColumn { name: "value".to_owned(), array: Arc::clone(&array), is_bool: false };
            let table = GridTable::new("", vec![column], Arc::new(MemoryStorage::new()))?;
            let rows = cast::cast(driver::scan(&table, &Scan::all(), run, driver::Order::Plan)?, &[])?;
            return Ok((rows, Some(array)));
        }
    };
    let table = opener.on(run).open_table(&uri)?;
    let array = table.array().filter(|_| *scan == Scan::all() && casts.is_empty());
    let rows = cast::cast(table.scan().with(scan.clone()).on(run).rows()?, casts)?;
    Ok((rows, array))
}
