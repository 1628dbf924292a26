//! Any file into any other, streamed.

mod about;
mod cast;
mod defaults;
mod fit;
mod target;
mod watched;

use std::collections::BTreeMap;

use arrow_schema::{DataType, Field, Schema};
use tesselle_core::{
    Context, Driver, Error, Location, OpenOptions, Result, Rewritten, Scan, Summary, WriteOptions,
};

pub(crate) use about::About;
pub use fit::TypeChange;

use crate::layout::{LAYOUT_KEY, Layout};
use crate::source::{Source, SourceOptions};
use defaults::Rows;
use fit::Place;
pub use target::Target;
use watched::Watched;

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
    /// Columns that get another type, before anything is written.
    pub casts: Vec<(String, DataType)>,
    /// The types of columns, for sources that do not state them: CSV and JSON lines.
    pub types: Vec<(String, DataType)>,
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
    /// Columns that the target holds in a wider type; every value is kept.
    pub changed: Vec<TypeChange>,
    /// The names of the attributes that came along.
    pub kept: Vec<String>,
    /// What the source says about itself that the target cannot hold, a line each.
    pub lost: Vec<String>,
}

impl Converted {
    /// The object of `convert --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "format": self.format, "rows": self.summary.rows, "bytes": self.summary.bytes,
            "pieces": self.summary.pieces,
            "changed_types": self.changed.iter().map(TypeChange::to_json).collect::<Vec<_>>(),
            "metadata": { "kept": self.kept, "lost": self.lost },
        })
    }
}

/// Converts `input` into `output`. The target appears whole or not at all; the source is not touched.
pub fn convert(input: &str, output: &str, conversion: &Conversion, driver: &Driver) -> Result<Converted> {
    let target = Location::local(output)?;
    let to = Target::choose(conversion.to.as_deref(), target.name()).map_err(|error| {
        error.hint("add --to FORMAT, or an ending such as .tet, .parquet, .csv, .arrow, .npy, .zarr")
    })?;
    target.refuse_existing(conversion.write.overwrite)?;
    let options = SourceOptions {
        format: conversion.from.clone(),
        table: conversion.table.clone(),
        types: conversion.types.clone(),
        open: conversion.open.clone(),
    };
    if let Some(converted) = rewrite(input, &target, to, conversion, driver)? {
        return Ok(converted);
    }
    // Types of text files are looked for on the threads of the driver.
    let source = driver.install(|| open(input, to, &options))?;
    refuse_same(input, &target)?;
    let layout = source.layout();
    let about = source.about();
    let mut write = conversion.write.clone();
    encrypt(to, conversion, &mut write);
    let whole = conversion.scan == Scan::all();
    let (note, kept, lost) = carry(&about, &layout, to, whole, &mut write);
    // An array goes tile by tile. Rows keep more of one that is an array again: the types of its dimensions.
    if conversion.casts.is_empty()
        && to.takes_arrays()
        && (source.format(), to.name()) != ("tiledb", "tiledb")
        && let Some(array) = source.requested_array(&conversion.scan)
    {
        let column = || conversion.scan.columns.as_ref().and_then(|names| names.first().cloned());
        write.table = write
            .table
            .or_else(|| column().filter(|name| name != "value"))
            .or_else(|| source.table_name().map(str::to_owned))
            .or_else(|| source.array_name());
        let value = Field::new("value", array.dtype().arrow(), false);
        let (changed, _) = fit::check(to.name(), None, &[(&value, Place::Values)])?;
        let mut lost = lost;
        if array.origin().iter().any(|origin| *origin != 0) && to.name() != "tiledb" {
            lost.push("where the axes begin: the target counts positions from 0".to_owned());
        }
        let watched = Watched::new(&*array, to, driver);
        let array: &dyn tesselle_core::ArrayView = watched.as_ref().map_or(&*array, |watched| watched);
        let summary = to.write_array(&target, array, &note, &write, driver)?;
        return Ok(Converted { format: to.name(), summary, changed, kept, lost });
    }
    let mut lost = lost;
    let axes = layout.named(&["dimension", "axis"]);
    if to.takes_arrays()
        && let Some(columns) = &conversion.scan.columns
        && layout.kind.as_deref() != Some("sparse")
        && !axes.is_empty()
        && !axes.iter().any(|axis| columns.iter().any(|column| column == axis))
    {
        lost.push(format!("the axes {}: the values are one vector", axes.join(", ")));
    }
    let rows = cast::cast(source.rows(&conversion.scan, driver)?, &conversion.casts)?;
    let casts: Vec<&str> = conversion.casts.iter().map(|(name, _)| name.as_str()).collect();
    let facts = Rows {
        schema: &rows.schema,
        layout: &layout,
        cast: &casts,
        whole: conversion.scan.predicate.is_none()
            && conversion.scan.limit.is_none()
            && conversion.scan.selection.is_none(),
        count: source.row_count(),
        from: (source.format(), source.table_name()),
    };
    defaults::fill(to.name(), &mut write, &facts);
    defaults::fit_memory(to.name(), &mut write.settings, driver.budget().total());
    let version = write.settings.get("version").map(str::to_owned);
    let places = places(to, &rows.schema, &write, &layout);
    let (changed, narrowed) = fit::check(to.name(), version.as_deref(), &places)?;
    let mut sink = to.sink(&target, &rows.schema, &note, &write, driver)?;
    let mut read = 0;
    let mut empty: Vec<usize> = (0..rows.schema.fields().len()).collect();
    for batch in rows.batches {
        driver.check_canceled()?;
        let batch = batch?;
        read += batch.num_rows() as u64;
        empty.retain(|column| batch.column(*column).logical_null_count() == batch.num_rows());
        sink.write(&batch)?;
    }
    driver.check_canceled()?;
    let mut summary = sink.finish()?;
    lost.extend(narrowed);
    lost.extend(std::mem::take(&mut summary.lost));
    if to.name() == "tsfile" && read > 0 && !empty.is_empty() {
        let names = empty.iter().map(|column| rows.schema.field(*column).name().as_str());
        let gone = not_in(&target, names.collect())?.into_iter();
        lost.extend(
            gone.map(|name| format!("the column '{name}', which has no value: a series needs a point")),
        );
    }
    Ok(Converted { format: to.name(), summary, changed, kept, lost })
}

/// A key that is given also encrypts a target that can be encrypted, unless the settings say otherwise.
fn encrypt(to: Target, conversion: &Conversion, write: &mut WriteOptions) {
    let settled = ["key", "key-file", "encryption"].iter().any(|name| write.settings.get(name).is_some());
    if let Some(secret) = &conversion.open.key
        && to.name() == "tiledb"
        && !settled
    {
        write.settings.set("key", format!("hex:{}", tesselle_core::hex(secret.expose())));
    }
}

/// Converts a whole container into its own format, where the format can do that without going through rows.
fn rewrite(
    input: &str,
    target: &Location,
    to: Target,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<Option<Converted>> {
    let whole = conversion.scan == Scan::all()
        && conversion.table.is_none()
        && conversion.write.table.is_none()
        && conversion.casts.is_empty()
        && conversion.types.is_empty();
    let uri = crate::uri::Uri::parse(input)?;
    let Target::Format(format) = to else { return Ok(None) };
    if !whole || uri.table.is_some() {
        return Ok(None);
    }
    let from = match conversion.from.as_deref() {
        Some(name) => crate::registry::format_by_name(name),
        None => crate::registry::detect(&uri.location),
    };
    if !from.is_ok_and(|from| from.name() == format.name()) {
        return Ok(None);
    }
    refuse_same(input, target)?;
    let rewritten = format
        .rewrite(&uri.location, target, &conversion.open, &conversion.write, driver)
        .in_file(uri.location.path())?;
    Ok(rewritten.map(|Rewritten { mut summary, kept }| {
        let lost = std::mem::take(&mut summary.lost);
        Converted { format: to.name(), summary, changed: Vec::new(), kept, lost }
    }))
}

/// Opens the source. A whole TsFile of several devices goes into another TsFile as it is.
fn open(input: &str, to: Target, options: &SourceOptions) -> Result<Source> {
    let first = Source::open_with(input, options);
    let Err(error) = first else { return first };
    if options.table.is_some() || to.name() != "tsfile" {
        return Err(error);
    }
    let all = Source::open_with(input, &SourceOptions { table: Some("*".to_owned()), ..options.clone() });
    match all {
        Ok(all) if all.format() == "tsfile" => Ok(all),
        _ => Err(error),
    }
}

/// The columns that no table of a container has.
fn not_in<'a>(target: &Location, mut columns: Vec<&'a str>) -> Result<Vec<&'a str>> {
    let container = crate::detect(target)?.open(target, &OpenOptions::default())?;
    for name in container.table_names() {
        if columns.is_empty() {
            break;
        }
        let schema = container.table(&name)?.schema();
        columns.retain(|column| schema.index_of(column).is_err());
    }
    Ok(columns)
}

/// A target that is the source would be read while it is replaced, one inside of it would change it, and one around it
/// would take it away.
fn refuse_same(input: &str, target: &Location) -> Result<()> {
    let source = crate::uri::Uri::parse(input)?.location;
    let Ok(source) = std::fs::canonicalize(source.path()) else { return Ok(()) };
    let target = std::path::Path::new(target.path());
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = std::fs::canonicalize(parent.unwrap_or(std::path::Path::new(".")));
    let replaced = std::fs::canonicalize(target);
    if replaced.as_ref().is_ok_and(|replaced| *replaced == source) {
        return Err(Error::invalid("the target of a conversion must not be its source")
            .hint("write to another name; replace the source yourself when you are content"));
    }
    if replaced.is_ok_and(|replaced| source.starts_with(replaced)) {
        return Err(Error::invalid("the source lies in the folder that the target would replace")
            .hint("write to another name, or move the source out of it first"));
    }
    if parent.is_ok_and(|parent| parent.starts_with(&source)) {
        return Err(
            Error::invalid("the target of a conversion must not lie in its source").hint("write beside it")
        );
    }
    Ok(())
}

/// Puts what the target can hold of the source's metadata into its options. Gives what goes into the schema of a
/// foreign file, the names that are kept, and what is lost.
fn carry(
    about: &About,
    layout: &Layout,
    to: Target,
    whole: bool,
    write: &mut WriteOptions,
) -> (BTreeMap<String, String>, Vec<String>, Vec<String>) {
    let mut lost = about.rest.clone();
    if about.encrypted && to.name() != "tiledb" {
        lost.push("the encryption: the target is plain".to_owned());
    }
    if let Some(tensor) = &about.tensor {
        // Labels belong to positions, so all of them must come, under the names they have.
        if to.name() == "tet" && whole && write.table.is_none() {
            if !tensor.datasets.is_empty() {
                let datasets = serde_json::Value::Object(tensor.datasets.clone());
                write.metadata.insert("datasets".to_owned(), datasets.to_string());
            }
            if tensor.history.as_array().is_some_and(|rows| !rows.is_empty()) {
                write.metadata.insert("history".to_owned(), tensor.history.to_string());
            }
            let kept = about.attributes.iter().map(|attribute| attribute.name.clone()).collect();
            return (BTreeMap::new(), kept, lost);
        }
        lost.extend(tensor.lost.iter().cloned());
    }
    let names = || about.attributes.iter().map(|attribute| attribute.name.clone()).collect::<Vec<_>>();
    let Some(mut taken) = about.for_format(to.name()) else {
        lost.extend(names().into_iter().map(|name| format!("the attribute '{name}'")));
        if matches!(to.name(), "csv" | "jsonl") {
            lost.push("the types of the columns: a reader has to infer them".to_owned());
        }
        return (BTreeMap::new(), Vec::new(), lost);
    };
    if !layout.is_empty() && matches!(to.name(), "parquet" | "arrow" | "tatami") {
        taken.insert(LAYOUT_KEY.to_owned(), layout.to_text());
    }
    if matches!(to, Target::Format(_)) {
        for (name, value) in taken {
            write.metadata.entry(name).or_insert(value);
        }
        return (BTreeMap::new(), names(), lost);
    }
    (taken, names(), lost)
}

/// What each column is for in the target.
fn places<'a>(
    to: Target,
    schema: &'a Schema,
    write: &WriteOptions,
    layout: &Layout,
) -> Vec<(&'a Field, Place)> {
    let settings = &write.settings;
    let axes = match settings.get("axes") {
        Some(text) => text.parse().unwrap_or_else(|_| text.split(',').count()),
        None => 0,
    };
    let time = settings.get("time").map(str::to_owned).or_else(|| {
        let named = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case("time"));
        let stamps = || schema.fields().iter().find(|f| matches!(f.data_type(), DataType::Timestamp(..)));
        named.or_else(stamps).map(|field| field.name().clone())
    });
    let keys: Vec<&str> = match to.name() {
        // Names of devices and series are text of their own.
        "tsfile" => {
            let mut keys = layout.named(&["tag"]);
            keys.extend(settings.get("device_column"));
            keys.extend(settings.get("tags").into_iter().flat_map(|tags| tags.split(',')));
            keys
        }
        _ => Vec::new(),
    };
    let fields =
        schema.fields().iter().enumerate().filter(|(_, field)| !keys.contains(&field.name().as_str()));
    fields
        .map(|(at, field)| {
            let place = match to.name() {
                "tet" | "zarr" if at < axes => Place::Axis,
                "tsfile" if Some(field.name()) == time.as_ref() => Place::Time,
                _ => Place::Values,
            };
            (field.as_ref(), place)
        })
        .collect()
}
