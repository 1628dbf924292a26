//! Streaming conversion between any two formats.

mod arrays;
mod builder;
mod merge;
mod place;

use std::sync::Arc;

use arrow_schema::DataType;
pub use builder::{Convert, convert};
use place::refuse_same;
use tesselle_core::{
    ArrayView, Attribute, Context, Created, Driver, Error, Fitted, Format, GridKind, Location, Result,
    RewriteRequest, Rewritten, Scan, Secret, TableFacts, WriteOptions, WriteRequest, WriteTarget,
};

use crate::cast;
use crate::create::{WriteReport, array};
use crate::name::Uri;
use crate::open::{Dataset, DatasetTable, Opener};
use crate::{logical, registry};

/// The options of a conversion.
#[derive(Debug, Clone)]
struct Conversion {
    /// How to open the source.
    opener: Opener,
    /// The target's format; `None` derives it from the name.
    to: Option<String>,
    /// Columns, rows and limit.
    scan: Scan,
    /// Columns that get another type, before anything is written.
    casts: Vec<(String, DataType)>,
    /// Whether columns that the target has no type for get the type that it suggests.
    auto_cast: bool,
    /// Attributes that the target gets in addition to those of the source.
    attributes: Vec<Attribute>,
    /// How to write the target.
    write: WriteOptions,
    /// Whether a container that is converted into its own format gets the newest version of it.
    upgrade: bool,
}

impl Conversion {
    /// Whether everything is converted unchanged, so that a format can copy encoded data.
    fn is_plain(&self) -> bool {
        self.scan == Scan::all()
            && self.opener.table_name().is_none()
            && self.opener.open_options().types.is_empty()
            && self.write.table.is_none()
            && self.casts.is_empty()
            && self.attributes.is_empty()
    }

    fn key(&self) -> Option<&Secret> {
        self.opener.open_options().key.as_ref()
    }
}

/// Converts `input` into `output`. The target appears atomically; the source is not modified.
fn run(input: &str, output: &str, conversion: &Conversion, driver: &Driver) -> Result<WriteReport> {
    let target = Uri::target(output)?;
    let to = registry::target_format(conversion.to.as_deref(), target.name())?;
    target.refuse_existing(conversion.write.overwrite)?;
    let source = Uri::parse(input)?;
    if let Some(converted) = rewrite(&source, &target, to, conversion, driver)? {
        return Ok(converted);
    }
    let conversion = &encrypted(to, conversion);
    let dataset = conversion.opener.clone().used_by(to).open(input)?;
    if let Some(converted) = arrays::convert(&dataset, &target, to, conversion, driver)? {
        return Ok(converted);
    }
    let table = one_table(&dataset, to)?;
    refuse_same(&source.location, &target)?;
    let mut facts = table.facts()?;
    facts.unkept.extend(lost_encryption(table.format(), to, conversion));
    facts.attributes.extend(conversion.attributes.iter().cloned());
    if conversion.scan != Scan::all() {
        facts.reduce();
    }
    match requested_array(&table, to, conversion) {
        Some((name, array)) => convert_array(&*array, name, facts, target, to, conversion, driver),
        None => convert_rows(std::slice::from_ref(&table), facts, target, to, conversion, driver),
    }
}

/// A given key also encrypts a target that supports encryption, unless the settings differ.
fn encrypted(to: &dyn Format, conversion: &Conversion) -> Conversion {
    let mut conversion = conversion.clone();
    let settings = &mut conversion.write.settings;
    let settled = ["key", "key-file", "encryption"].iter().any(|name| settings.get(name).is_some());
    let key = conversion.opener.open_options().key.as_ref();
    if let Some(secret) = key.filter(|_| to.capabilities().encrypts && !settled) {
        settings.set("key", format!("hex:{}", tesselle_core::hex(secret.expose())));
    }
    conversion
}

/// The loss of a target without encryption.
fn lost_encryption(from: &dyn Format, to: &dyn Format, conversion: &Conversion) -> Option<String> {
    let is_lost = conversion.key().is_some() && !to.capabilities().encrypts && from.capabilities().encrypts;
    is_lost.then(|| "the encryption: the target has none".to_owned())
}

/// Converts a whole container into its own format, if the format can do that without decoding rows.
fn rewrite(
    source: &Uri,
    target: &Location,
    to: &'static dyn Format,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<Option<WriteReport>> {
    if !conversion.is_plain() || source.table.is_some() {
        return Ok(None);
    }
    if !conversion.opener.format_of(&source.location).is_ok_and(|from| from.name() == to.name()) {
        return Ok(None);
    }
    refuse_same(&source.location, target)?;
    let mut write = conversion.write.clone();
    if let Some(newest) = to.newest().filter(|_| conversion.upgrade) {
        write.settings.fill_all(&newest);
    }
    let open = conversion.opener.open_options();
    let request = RewriteRequest::new(&source.location, target, open, &write);
    let rewritten = to.rewrite(request, driver).in_file(source.location.path())?;
    Ok(rewritten.map(|Rewritten { summary, kept }| {
        WriteReport::new(to, summary, Fitted { kept, ..Fitted::default() })
    }))
}

/// The table to convert. All tables of a container go into another one of the same format, if they form one table.
fn one_table(dataset: &Dataset, to: &dyn Format) -> Result<DatasetTable> {
    let table = dataset.default_table();
    let all = dataset.chosen_table().is_none() && dataset.format().name() == to.name();
    match table {
        Err(error) if all => dataset.table("*").map_err(|_| error),
        table => table,
    }
}

/// The array to write tile by tile, with its name, if exactly one whole column is requested.
fn requested_array(
    table: &DatasetTable,
    to: &dyn Format,
    conversion: &Conversion,
) -> Option<(Option<String>, Arc<dyn ArrayView>)> {
    let capabilities = to.capabilities();
    let as_rows = capabilities.rows_keep_more && table.format().name() == to.name();
    if !conversion.casts.is_empty() || !capabilities.arrays_in || as_rows {
        return None;
    }
    let inner = table.table();
    let own = || Some(inner.name().to_owned()).filter(|name| !name.is_empty());
    if conversion.scan == Scan::all() {
        let names = inner.array_columns();
        let column = || names.first().filter(|name| *name != "value").cloned();
        return Some((own().or_else(column), table.array()?));
    }
    let Scan { columns: Some(columns), predicate: None, selection: None, limit: None, .. } = &conversion.scan
    else {
        return None;
    };
    let [column] = columns.as_slice() else { return None };
    let array = inner.array_columns().contains(column).then(|| inner.array(column))??;
    Some((Some(column.clone()).filter(|name| name != "value").or_else(own), array))
}

fn convert_array(
    array: &dyn ArrayView,
    name: Option<String>,
    facts: TableFacts,
    target: Location,
    to: &'static dyn Format,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<WriteReport> {
    let mut options = conversion.write.clone();
    options.table = options.table.or(name);
    let source = array::ArrayInput { array, region: None, facts };
    array::write(source, WriteTarget::Location(target), to, options, driver)
}

/// Writes the rows of tables of equal columns, one after the other.
fn convert_rows(
    tables: &[DatasetTable],
    mut facts: TableFacts,
    target: Location,
    to: &'static dyn Format,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<WriteReport> {
    let mut scan = conversion.scan.clone();
    let Some(first) = tables.first() else { return Err(Error::invalid("there is nothing to convert")) };
    let vectors = lost_axes(&facts, to, &scan);
    facts.recast(conversion.casts.iter().map(|(name, _)| name.as_str()));
    let rows_of = |table: &DatasetTable, scan: &Scan| {
        cast::cast(table.scan().with(scan.clone()).on(driver).rows()?, &conversion.casts)
    };
    let mut rows = rows_of(first, &scan)?;
    let request = WriteRequest {
        target: WriteTarget::Location(target),
        schema: Arc::clone(&rows.schema),
        facts,
        options: conversion.write.clone(),
        whole: scan.predicate.is_none() && scan.limit.is_none() && scan.selection.is_none(),
        rows: tables.iter().map(DatasetTable::row_count).sum(),
    };
    let Created { mut sink, mut fitted } = logical::start(to, request, conversion.auto_cast, driver)?;
    fitted.lost.extend(vectors);
    let mut others = tables.iter().skip(1);
    loop {
        for batch in rows.batches {
            driver.check_canceled()?;
            let batch = batch?;
            scan.limit = scan.limit.map(|limit| limit.saturating_sub(batch.num_rows() as u64));
            sink.write(&batch)?;
        }
        let Some(next) = others.next() else { break };
        rows = rows_of(next, &scan)?;
    }
    driver.check_canceled()?;
    Ok(WriteReport::new(to, sink.finish()?, fitted))
}

/// The axes of an array that a selection of columns loses.
fn lost_axes(facts: &TableFacts, to: &dyn Format, scan: &Scan) -> Option<String> {
    let grid = facts.grid.as_ref().filter(|grid| grid.kind == GridKind::Dense)?;
    let columns = scan.columns.as_ref().filter(|_| to.capabilities().arrays_in)?;
    let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.name.as_str()).collect();
    let none = !axes.is_empty() && !axes.iter().any(|axis| columns.iter().any(|column| column == axis));
    none.then(|| format!("the axes {}: the values become one vector", axes.join(", ")))
}
