//! `tess cat`: rows or regions out.

use std::io::IsTerminal;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::display::FormatOptions;
use arrow_cast::pretty::pretty_format_batches_with_options;
use arrow_schema::SchemaRef;
use clap::{Args, ValueEnum};
use tesselle::foreign::{Foreign, IpcKind, npy};
use tesselle::storage::Staged;
use tesselle::{
    ArrayView, Context, Driver, Error, Predicate, Region, Result, Scan, Selection, Summary, Table,
};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, out};

/// Print rows of a table, or a region of an array
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess cat run.tet --limit 5
  tess cat 'run.tet#temperature' --slice '0:10,::2' --as npy -o part.npy
  tess cat run.tet --where 'value > 20 AND i0 < 100' --as csv
  tess cat run.tet --as parquet -o run.parquet")]
pub(crate) struct Cat {
    /// The container, perhaps with #TABLE
    uri: String,

    /// The table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Only rows where this SQL condition holds
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<Predicate>,

    /// Only this region: lo:hi[:step] for each axis, half open
    #[arg(long, value_name = "SLICES", allow_hyphen_values = true)]
    slice: Option<Selection>,

    /// At most N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// The form of the output [default: by the name of FILE, else table]
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,

    /// Write to FILE instead of standard output
    #[arg(short, value_name = "FILE")]
    output: Option<String>,

    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,

    /// Report errors as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Table,
    Csv,
    Jsonl,
    Arrow,
    Parquet,
    Npy,
}

/// Rows a table on the screen shows when no limit is given.
const SCREEN_ROWS: u64 = 40;

impl Cat {
    pub(crate) fn run(self) -> Result<Outcome> {
        let opened = self.read.open(&self.uri, self.table.as_deref())?;
        let table = opened.table()?;
        let driver = self.resources.driver()?.with_progress(Bar::new(""));
        let result = match self.form()? {
            Form::Table => self.show(&*table, &driver),
            Form::Npy => self.write_npy(&table, &driver).map(drop),
            Form::Csv => self.write(&*table, Foreign::Csv, &driver),
            Form::Jsonl => self.write(&*table, Foreign::Jsonl, &driver),
            Form::Arrow => self.write(&*table, Foreign::Arrow, &driver),
            Form::Parquet => self.write(&*table, Foreign::Parquet, &driver),
        };
        result.in_file(opened.location.path())?;
        Ok(Outcome::Fine)
    }

    fn form(&self) -> Result<Form> {
        if let Some(form) = self.form {
            return Ok(form);
        }
        Ok(match self.output.as_deref().and_then(Foreign::from_extension) {
            Some(Foreign::Arrow) => Form::Arrow,
            Some(Foreign::Parquet) => Form::Parquet,
            Some(Foreign::Csv) => Form::Csv,
            Some(Foreign::Jsonl) => Form::Jsonl,
            Some(Foreign::Npy) => Form::Npy,
            Some(Foreign::Zarr) => {
                return Err(Error::invalid("Zarr is a folder, not a stream of rows").hint("use tess convert"));
            }
            None => Form::Table,
        })
    }

    fn scan(&self) -> Scan {
        Scan {
            columns: self.columns.clone(),
            predicate: self.condition.clone(),
            selection: self.slice.clone(),
            limit: self.limit,
            ..Scan::default()
        }
    }

    fn target(&self) -> Result<Box<dyn Staged>> {
        out::target(self.output.as_deref(), self.force)
    }

    fn write(&self, table: &dyn Table, kind: Foreign, driver: &Driver) -> Result<()> {
        let rows = tesselle::scan(table, &self.scan(), driver)?;
        let ipc = if self.output.is_some() { IpcKind::File } else { IpcKind::Stream };
        if ipc == IpcKind::Stream
            && matches!(kind, Foreign::Arrow | Foreign::Parquet)
            && std::io::stdout().is_terminal()
        {
            return Err(Error::invalid("binary data does not belong on a terminal")
                .hint("name a file with -o FILE, or pipe it on"));
        }
        let mut sink = kind.sink(self.target()?, &rows.schema(), ipc)?;
        for batch in rows {
            sink.write(&batch?)?;
        }
        sink.finish().map(drop)
    }

    /// The array face where there is one and nothing but a region is asked for; else one column as a vector.
    fn write_npy(&self, table: &Arc<dyn Table>, driver: &Driver) -> Result<Summary> {
        let names = match &self.columns {
            Some(columns) => columns.clone(),
            None => table.array_columns(),
        };
        if let ([name], None, None) = (names.as_slice(), &self.condition, self.limit)
            && let Some(array) = table.array(name)
        {
            let (array, region) = region_of(&**table, name, array, self.slice.as_ref())?;
            return npy::write_array(&*array, &region, self.target()?, driver);
        }
        self.write(&**table, Foreign::Npy, driver).map(|()| Summary::default())
    }

    /// A table for the eye: types under the names, cut to what fits a screen.
    fn show(&self, table: &dyn Table, driver: &Driver) -> Result<()> {
        let most = self.limit.unwrap_or(SCREEN_ROWS);
        let mut scan = self.scan();
        scan.limit = Some(most.saturating_add(1));
        let rows = tesselle::scan(table, &scan, driver)?;
        let schema = rows.schema();
        let mut batches = Vec::new();
        let mut count = 0;
        for batch in rows {
            let batch = batch?;
            count += batch.num_rows() as u64;
            let surplus = count.saturating_sub(most) as usize;
            batches.push(batch.slice(0, batch.num_rows() - surplus));
        }
        out::print_to(self.output.as_deref(), self.force, &render(&schema, &batches)?)?;
        match (count > most, self.limit) {
            (true, None) => out::note(&format!(
                "first {most} rows; --limit N shows more, --as csv|jsonl|arrow|parquet all"
            )),
            _ => out::note(&format!("{} rows", count.min(most))),
        }
        Ok(())
    }
}

/// The array and the region of it that `slice` names. A slice may leave the rows of the table; bounds that it leaves open
/// are theirs.
pub(crate) fn region_of(
    table: &dyn Table,
    column: &str,
    array: Arc<dyn ArrayView>,
    slice: Option<&Selection>,
) -> Result<(Arc<dyn ArrayView>, Region)> {
    let Some(selection) = slice else {
        let region = Region::whole(array.shape());
        return Ok((array, region));
    };
    let bounded = selection.bounded(&array.origin(), array.shape());
    let array = table.domain_array(column).unwrap_or(array);
    let region = bounded.resolve(&array.origin(), array.shape())?;
    Ok((array, region))
}

/// A table for the eye.
pub(crate) fn render(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<String> {
    let options = FormatOptions::new().with_types_info(true).with_null("∅").with_display_error(true);
    let empty = [RecordBatch::new_empty(Arc::clone(schema))];
    let batches = if batches.is_empty() { &empty } else { batches };
    Ok(format!("{}\n", pretty_format_batches_with_options(batches, &options)?))
}
