//! Any file into any other, streamed.

use arrow_schema::SchemaRef;
use tesselle_core::{
    ArrayView, Driver, Error, Format, Location, OpenOptions, Region, Result, Scan, Summary, WriteOptions,
};

use crate::foreign::{Foreign, IpcKind, npy};
use crate::registry;
use crate::source::Source;

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
    let source =
        Source::open(input, conversion.from.as_deref(), conversion.table.as_deref(), &conversion.open)?;
    let whole = conversion.scan == Scan::all();
    if whole
        && to.takes_arrays()
        && let Some(array) = source.array()
    {
        let mut write = conversion.write.clone();
        write.table = write.table.or_else(|| source.table_name().map(str::to_owned));
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
