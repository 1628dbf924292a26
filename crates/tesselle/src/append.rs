//! Adding to a container that exists: rows, or an array along an axis.

use std::sync::Arc;

use arrow_schema::DataType;
use tesselle_core::{
    Action, AppendRequest, ArrayView, Context, Driver, Error, OpenOptions, Result, RowStream, Scan, Settings,
    Summary,
};

use crate::cast;
use crate::name::Uri;
use crate::open::Opener;
use crate::registry;

/// What to add, beyond the two names.
#[derive(Debug, Clone, Default)]
pub struct Addition {
    /// The source's format; `None` looks at its content.
    pub from: Option<String>,
    /// The table of the source; `None` takes what the uri names, else the only one.
    pub table: Option<String>,
    /// Columns, rows and limit.
    pub scan: Scan,
    /// Columns that get another type before they are added.
    pub casts: Vec<(String, DataType)>,
    /// The types of columns, for sources that do not state them.
    pub types: Vec<(String, DataType)>,
    /// How to open the source.
    pub open: OpenOptions,
    /// How to add.
    pub options: AppendOptions,
}

/// How rows are added.
#[derive(Debug, Clone, Default)]
pub struct AppendOptions {
    /// The axis that a dense array grows along, by name or number; `None` is the first one.
    pub axis: Option<String>,
    /// The format's own settings, by name.
    pub settings: Settings,
    /// How to open the container that grows.
    pub open: OpenOptions,
}

/// What an append did.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Adds what `input` holds to the container, or to the table of it, that `output` names. Readers see its old state or
/// the new one.
pub fn append(input: &str, output: &str, addition: &Addition, driver: &Driver) -> Result<Appended> {
    let options = OpenOptions { types: addition.types.clone(), ..addition.open.clone() };
    let opener = Opener::new().format(addition.from.clone()).table(addition.table.clone()).options(options);
    // Types of text files are looked for on the threads of the driver.
    let table = driver.install(|| opener.open_table(input))?;
    let whole = addition.scan == Scan::all() && addition.casts.is_empty();
    let array = table.array().filter(|_| whole);
    let rows = cast::cast(table.rows(&addition.scan, driver)?, &addition.casts)?;
    add(output, rows, array, &addition.options, driver)
}

/// Adds rows to the container, or to the table of it, that `output` names.
pub fn append_rows(
    output: &str,
    rows: RowStream<'_>,
    options: &AppendOptions,
    driver: &Driver,
) -> Result<Appended> {
    add(output, rows, None, options, driver)
}

fn add(
    output: &str,
    rows: RowStream<'_>,
    array: Option<Arc<dyn ArrayView>>,
    options: &AppendOptions,
    driver: &Driver,
) -> Result<Appended> {
    let Uri { location, table } = Uri::parse(output)?;
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
        axis: options.axis.clone(),
        settings: options.settings.clone(),
        open: options.open.clone(),
    };
    let summary = format.append(request, driver).in_file(location.path())?;
    Ok(Appended { format: format.name(), summary })
}
