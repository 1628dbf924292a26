//! Any file into any other, streamed.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tesselle_core::{
    ArrayView, Context, Driver, Error, Format, Location, OpenOptions, Region, Result, Scan, Summary, Table,
    WriteOptions,
};

use crate::foreign::{Foreign, IpcKind, npy};
use crate::registry;
use crate::uri::Uri;

/// What to convert, beyond the two names.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// The source's format; `None` looks at its content.
    pub from: Option<String>,
    /// The target's format; `None` goes by its name.
    pub to: Option<String>,
    /// The table of the source; `None` takes what the uri names, else the only one.
    pub table: Option<String>,
    /// Columns, rows and limit.
    pub scan: Scan,
    /// How to open the source.
    pub open: OpenOptions,
    /// How to write the target.
    pub write: WriteOptions,
}

/// What a conversion did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The target's format.
    pub format: &'static str,
    /// What was written.
    pub summary: Summary,
}

impl Converted {
    /// The object of `convert --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "format": self.format, "rows": self.summary.rows, "bytes": self.summary.bytes, "pieces": self.summary.pieces,
        })
    }
}

/// Converts `input` into `output`. The target appears whole or not at all.
pub fn convert(input: &str, output: &str, conversion: &Conversion, driver: &Driver) -> Result<Converted> {
    let target = Location::local(output)?;
    let to = Target::choose(conversion.to.as_deref(), target.name())?;
    target.refuse_existing(conversion.write.overwrite)?;
    let source = Source::open(input, conversion)?;
    let whole = conversion.scan == Scan::all();
    if whole
        && to.takes_arrays()
        && let Some(array) = source.array()
    {
        let mut write = conversion.write.clone();
        write.table = write.table.or_else(|| source.table_name());
        let summary = to.write_array(&target, &*array, &write, driver)?;
        return Ok(Converted { format: to.name(), summary });
    }
    let rows = source.rows(&conversion.scan, driver)?;
    let mut sink = to.sink(&target, &rows.schema, conversion, driver)?;
    for batch in rows.batches {
        sink.write(&batch?)?;
    }
    Ok(Converted { format: to.name(), summary: sink.finish()? })
}

/// Where rows come from.
enum Source {
    Table(Arc<dyn Table>),
    Npy(Arc<npy::NpyArray>, Location),
    Foreign(Foreign, Location),
}

struct RowStream {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch>>>,
}

impl Source {
    fn open(input: &str, conversion: &Conversion) -> Result<Self> {
        let named = conversion.from.as_deref().and_then(Foreign::from_name);
        let location = Uri::parse(input)?.location;
        let foreign = match (&conversion.from, named) {
            (_, Some(kind)) => Some(kind),
            (Some(_), None) => None,
            (None, None) => Foreign::detect(&location)?,
        };
        match foreign {
            Some(Foreign::Npy) => {
                let array = npy::NpyArray::open(&location).in_file(location.path())?;
                Ok(Self::Npy(Arc::new(array), location))
            }
            Some(kind) => Ok(Self::Foreign(kind, location)),
            None => {
                let mut opened = crate::open(input, conversion.from.as_deref(), &conversion.open)?;
                opened.table = conversion.table.clone().or(opened.table);
                Ok(Self::Table(opened.table()?))
            }
        }
    }

    fn table_name(&self) -> Option<String> {
        match self {
            Self::Table(table) if !table.name().is_empty() => Some(table.name().to_owned()),
            _ => None,
        }
    }

    /// The array face, where the source is just one array.
    fn array(&self) -> Option<Arc<dyn ArrayView>> {
        match self {
            Self::Table(table) => match table.array_columns().as_slice() {
                [only] => table.array(only),
                _ => None,
            },
            Self::Npy(array, _) => Some(Arc::clone(array) as Arc<dyn ArrayView>),
            Self::Foreign(..) => None,
        }
    }

    fn rows(self, scan: &Scan, driver: &Driver) -> Result<RowStream> {
        let foreign = match self {
            Self::Table(table) => {
                let rows =
                    tesselle_core::driver::scan(&*table, scan, driver, tesselle_core::driver::Order::Plan)?;
                return Ok(RowStream { schema: rows.schema(), batches: Box::new(rows) });
            }
            Self::Npy(_, location) => Foreign::Npy.read(&location)?,
            Self::Foreign(kind, location) => kind.read(&location)?,
        };
        if *scan != Scan::all() {
            return Err(Error::invalid(
                "columns, conditions and limits apply to containers, not to this kind of source",
            )
            .hint("convert the whole file first"));
        }
        Ok(RowStream { schema: foreign.schema, batches: foreign.batches })
    }
}

/// Where rows go.
enum Target {
    Format(&'static dyn Format),
    Foreign(Foreign),
}

impl Target {
    fn choose(name: Option<&str>, file: &str) -> Result<Self> {
        if let Some(name) = name {
            return match Foreign::from_name(name) {
                Some(kind) => Ok(Self::Foreign(kind)),
                None => registry::format_by_name(name).map(Self::Format),
            };
        }
        if let Some(format) = registry::format_by_extension(file) {
            return Ok(Self::Format(format));
        }
        Foreign::from_extension(file).map(Self::Foreign).ok_or_else(|| {
            Error::invalid(format!("the name '{file}' does not tell the format to write"))
                .hint("add --to FORMAT, or an ending such as .tet, .parquet, .csv, .arrow, .npy")
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Format(format) => format.name(),
            Self::Foreign(kind) => kind.name(),
        }
    }

    fn takes_arrays(&self) -> bool {
        match self {
            Self::Format(format) => format.takes_arrays(),
            Self::Foreign(kind) => *kind == Foreign::Npy,
        }
    }

    fn write_array(
        &self,
        target: &Location,
        array: &dyn ArrayView,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Summary> {
        match self {
            Self::Format(format) => format.create_from_array(target, array, options, driver),
            Self::Foreign(_) => {
                options.settings.expect_only(&[])?;
                npy::write_array(
                    array,
                    &Region::whole(array.shape()),
                    target.create(options.overwrite)?,
                    driver,
                )
            }
        }
    }

    fn sink(
        &self,
        target: &Location,
        schema: &SchemaRef,
        conversion: &Conversion,
        driver: &Driver,
    ) -> Result<Box<dyn tesselle_core::Sink>> {
        match self {
            Self::Format(format) => format.create(target, schema.clone(), &conversion.write, driver),
            Self::Foreign(kind) => {
                conversion.write.settings.expect_only(&[])?;
                kind.sink(target.create(conversion.write.overwrite)?, schema, IpcKind::File)
            }
        }
    }
}
