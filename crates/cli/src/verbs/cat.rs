//! `tess cat`: prints rows or regions.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use tesselle::core::{ArrayRequest, Context, WriteTarget};
use tesselle::{
    ArrayView, Dataset, DatasetTable, Driver, Error, Format, NamedRange, Predicate, Region, Result, Scan,
    Selection, Table, WriteOptions,
};

use crate::args::{Names, ReadArgs, ResourceArgs, parse_condition};
use crate::forms::{self, Form, refuse_terminal};
use crate::progress::Bar;
use crate::{Outcome, format, out, render};

/// Print rows of a table, or a region of an array
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess cat run.tet --limit 5
  tess cat 'run.tet#temperature' --slice '0:10,::2' --as npy -o part.npy
  tess cat run.tet --where 'value > 20 AND i0 < 100' --as csv
  tess cat weather.tiledb --range lat=40.5:43 --range lat=50:52 --range x=0:99
  tess cat run.tet --as parquet -o run.parquet
  tess cat fleet.tsfile --all --as csv -o devices")]
pub(crate) struct Cat {
    /// Container, optionally with #TABLE; or a folder or a quoted pattern of files with the same columns
    uri: String,

    /// Table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B")]
    columns: Option<Vec<Names>>,

    /// Only rows where this SQL condition holds
    #[arg(long = "where", value_name = "EXPR", value_parser = parse_condition, allow_hyphen_values = true)]
    condition: Option<Predicate>,

    /// Only this region: lo:hi[:step] for each axis, half open
    #[arg(long, value_name = "SLICES", allow_hyphen_values = true)]
    slice: Option<Selection>,

    /// Only this range of a column or dimension label, both ends included; several of one name are alternatives
    #[arg(long = "range", value_name = "NAME=LOW:HIGH", conflicts_with = "all")]
    ranges: Vec<NamedRange>,

    /// At most N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Also documents that were deleted from a tatami search segment
    #[arg(long)]
    deleted: bool,

    /// All tables, each to a separate file in the folder FILE
    #[arg(long, conflicts_with = "table", requires_all = ["output", "form"])]
    all: bool,

    /// Output form [default: from the name of FILE, else table]
    #[arg(long = "as", value_name = "FORM", value_parser = Form::parser())]
    form: Option<Form>,

    /// Write to FILE instead of standard output
    #[arg(short, value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    /// Print JSON, as --as json does, including errors
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Cat {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let options = self.read.options()?.with_deleted(self.deleted);
        let opener = self.read.opener_with(self.table.as_deref(), options).on(&driver);
        out::again_if_changed(|| {
            if self.all {
                return self.every_table(&opener.open(&self.uri)?, &driver);
            }
            let table = opener.open_table(&self.uri)?;
            let form = self.form()?;
            match form.format() {
                Some(format) => self.write(&table, (form, format), self.output.as_deref(), &driver)?,
                None => self.show(&table, form, &driver)?,
            }
            Ok(Outcome::Fine)
        })
    }

    fn form(&self) -> Result<Form> {
        if let Some(form) = self.form {
            return Ok(form);
        }
        let by_name = self.output.as_deref().map(Form::of_file).transpose()?;
        Ok(by_name.flatten().unwrap_or(if self.json { Form::Json } else { Form::Table }))
    }

    fn columns(&self) -> Option<Vec<String>> {
        self.columns.as_deref().map(Names::all)
    }

    fn scan(&self, table: &DatasetTable, driver: &Driver) -> Result<Scan> {
        let mut condition = self.condition.clone();
        if !self.ranges.is_empty() {
            let inside = table.within(&self.ranges, driver)?;
            condition = Some(Predicate::And(condition.into_iter().chain([inside]).collect()));
        }
        Ok(Scan::default()
            .with_columns(self.columns())
            .with_predicate(condition)
            .with_selection(self.slice.clone())
            .with_limit(self.limit))
    }

    /// Each table into a file of its own.
    fn every_table(&self, dataset: &Dataset, driver: &Driver) -> Result<Outcome> {
        let form = self.form()?;
        let (Some(folder), Some(format)) = (&self.output, form.format()) else {
            return Err(Error::invalid("--all writes files, so it needs an output form other than a table")
                .hint("add --as csv|jsonl|arrow|parquet"));
        };
        let ending = format.extensions().first().copied().unwrap_or(format.name());
        let names = dataset.table_names();
        for (name, base) in names.iter().zip(tesselle::name::file_names(&names)) {
            let table = dataset.table(name)?;
            let path = Path::new(folder).join(format!("{base}.{ending}"));
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)
                    .map_err(|e| Error::io(format!("cannot create '{}'", parent.display()), e))?;
            }
            let path = path.display().to_string();
            self.write(&table, (form, format), Some(&path), &driver.for_run())?;
            out::note(&path);
        }
        Ok(Outcome::Fine)
    }

    fn write(
        &self,
        opened: &DatasetTable,
        (form, format): (Form, &dyn Format),
        output: Option<&str>,
        driver: &Driver,
    ) -> Result<()> {
        let (table, source) = (&**opened.table(), opened.location().path());
        refuse_terminal(format, output)?;
        let target = || out::target(output, self.force);
        if format.capabilities().arrays_in
            && let Some((column, array)) = self.array(table)
        {
            let (array, region) = region_of(table, &column, array, self.slice.as_ref()).in_file(source)?;
            let target = WriteTarget::Stream(target()?);
            let mut request = ArrayRequest::new(target, &*array, WriteOptions::default());
            request.region = Some(region);
            return format.write_array(request, driver).in_file(source).map(drop);
        }
        let scan = self.scan(opened, driver).in_file(source)?;
        let mut rows = opened.scan().with(scan).on(driver).rows().in_file(source)?;
        let target = form.framed(target()?);
        // Before anything is printed: until then the work can be done again.
        let first = rows.next().transpose().in_file(source)?;
        let mut sink = forms::sink(format, target, rows.schema(), driver)?;
        for batch in first.into_iter().map(Ok).chain(rows) {
            sink.write(&batch.in_file(source)?)?;
        }
        sink.finish().map(drop)
    }

    /// The array view, if only a region of one column is requested.
    fn array(&self, table: &dyn Table) -> Option<(String, Arc<dyn ArrayView>)> {
        let columns = table.array_columns();
        let names = self.columns().unwrap_or_else(|| columns.clone());
        match (names.as_slice(), &self.condition, self.limit) {
            // Other views show stored numbers, such as those of times.
            ([name], None, None) if self.ranges.is_empty() && columns.contains(name) => {
                Some((name.clone(), table.array(name)?))
            }
            _ => None,
        }
    }

    /// Shows rows for reading, limited to one screen.
    fn show(&self, table: &DatasetTable, form: Form, driver: &Driver) -> Result<()> {
        let most =
            self.limit.map_or(render::SCREEN_ROWS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let source = table.location().path();
        let mut scan = self.scan(table, driver).in_file(source)?;
        scan.limit = Some((most as u64).saturating_add(1));
        let rows = table.scan().with(scan).on(driver).rows().in_file(source)?;
        let schema = rows.schema();
        let rows = rows.map(|batch| batch.in_file(source));
        let shown = render::show(form, &schema, rows, most, (self.output.as_deref(), self.force))?;
        let count = format::counted(shown.rows as u64, "row");
        out::note(&match (shown.more, self.limit) {
            (true, None) => {
                format!("first {count}; --limit N shows more, --as csv|jsonl|json|arrow|parquet shows all")
            }
            _ => count,
        });
        if let Some(remark) = shown.hidden_columns("--as line") {
            out::note(&remark);
        }
        Ok(())
    }
}

/// The array and its region selected by `slice`. A slice may exceed the rows of the table; its open bounds are those of
/// the rows.
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
    let bounded = selection.bind(&table.schema())?.bounded(&array.origin(), array.shape());
    let array = table.domain_array(column).unwrap_or(array);
    let region = bounded.resolve(&array.origin(), array.shape())?;
    Ok((array, region))
}
