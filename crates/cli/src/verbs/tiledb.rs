//! `tess tiledb`: what only TileDB arrays and groups have.

use arrow_array::{ArrayRef, RecordBatch};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tesselle::tiledb::filter::Key;
use tesselle::tiledb::meta::schema::ArrayKind;
use tesselle::tiledb::write::{
    ArrayWriter, Consolidation, GroupWriter, OnNull, SparseOptions, Vacuum, Written,
};
use tesselle::tiledb::{Attribute, Datatype, Member, MemberKind, MetadataValue, Range};
use tesselle::{
    DatasetTable, Error, Location, Opener, Predicate, Result, Scalar, Scan, Selection, Settings, WriteOptions,
};

use crate::args::{ReadArgs, ResourceArgs};
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// TileDB tools: create, write, fragments, consolidate, vacuum, delete, evolve, meta, group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tiledb create points --like points.parquet --set kind=sparse --set dims=x,y
  tess tiledb write points more.parquet
  tess tiledb fragments points
  tess tiledb consolidate points && tess tiledb vacuum points
  tess tiledb delete points --where 'z < 0'
  tess tiledb meta points --put units=m")]
pub(crate) struct TileDb {
    #[command(subcommand)]
    tool: Tool,

    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Create an empty array with the columns of a table
    #[command(
        after_help = "Example:\n  tess tiledb create points --like points.parquet --set kind=sparse --set dims=x,y --set domain.x=0:1000 --set domain.y=0:1000"
    )]
    Create {
        /// The new array
        array: String,
        /// A table whose columns it gets
        #[arg(long, value_name = "URI")]
        like: String,
        /// A setting, e.g. kind=sparse, dims=x,y, filters=zstd; may be repeated
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Write the rows of a table into an array, as one fragment
    ///
    /// Rows bring a column per dimension and per attribute. Rows of a dense array fill a box: with columns for the
    /// dimensions in any order, without them in row-major order. An npy file fills a box of its shape.
    #[command(
        after_help = "Examples:\n  tess tiledb write points more.parquet --timestamp 1700000000000\n  tess tiledb write weather corner.npy --region 0:100,50:80\n  tess tiledb write weather cells.csv"
    )]
    Write {
        /// The array
        array: String,
        /// The table with the rows: Arrow, Parquet, CSV, npy, or a container
        input: String,
        /// The box of a dense array, in coordinates, the end not included [default: that of the rows, or all]
        #[arg(long, value_name = "LO:HI,…", allow_hyphen_values = true)]
        region: Option<Selection>,
        /// When the write happens, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// List the fragments that reads use
    #[command(after_help = "Example:\n  tess tiledb fragments points --at 1700000000000")]
    Fragments {
        /// The array
        array: String,
    },
    /// Merge fragments, commit files or metadata into one; what is merged stays until it is vacuumed
    #[command(after_help = "Example:\n  tess tiledb consolidate points --what commits")]
    Consolidate {
        /// The array
        array: String,
        /// What to consolidate
        #[arg(long, default_value = "fragments")]
        what: What,
        /// Leave deleted cells out for good, so that no time travel finds them
        #[arg(long)]
        purge: bool,
    },
    /// Remove what a consolidation has superseded
    #[command(after_help = "Example:\n  tess tiledb vacuum points --what fragments")]
    Vacuum {
        /// The array
        array: String,
        /// What to vacuum
        #[arg(long, default_value = "fragments")]
        what: What,
    },
    /// Delete the cells of a sparse array for which a condition holds
    #[command(after_help = "Example:\n  tess tiledb delete points --where 'z < 0'")]
    Delete {
        /// The array
        array: String,
        /// The SQL condition
        #[arg(long = "where", value_name = "EXPR")]
        condition: Predicate,
        /// Also delete cells where an attribute of the condition is null, as the engine does it
        #[arg(long)]
        null_too: bool,
        /// When it happens, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// Add or drop attributes; fragments keep what they were written with
    #[command(after_help = "Example:\n  tess tiledb evolve points --add weight:FLOAT32 --drop z")]
    Evolve {
        /// The array
        array: String,
        /// A new nullable attribute; may be repeated
        #[arg(long, value_name = "NAME:TYPE")]
        add: Vec<String>,
        /// An attribute to drop; may be repeated
        #[arg(long, value_name = "NAME")]
        drop: Vec<String>,
        /// When it happens, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// Show or change the metadata of an array
    #[command(
        after_help = "Examples:\n  tess tiledb meta points\n  tess tiledb meta points --put units=m --remove note"
    )]
    Meta {
        /// The array
        array: String,
        /// A value to set: an integer, a number, or text; may be repeated
        #[arg(long, value_name = "KEY=VALUE")]
        put: Vec<String>,
        /// A value to remove; may be repeated
        #[arg(long, value_name = "KEY")]
        remove: Vec<String>,
    },
    /// Create a group, or add and remove members
    #[command(after_help = "Example:\n  tess tiledb group study --create --add-array a1 --add-group sub")]
    Group {
        /// The group
        group: String,
        /// Create it
        #[arg(long)]
        create: bool,
        /// An array inside the group's folder; may be repeated
        #[arg(long, value_name = "PATH")]
        add_array: Vec<String>,
        /// A group inside the group's folder; may be repeated
        #[arg(long, value_name = "PATH")]
        add_group: Vec<String>,
        /// The name of a member to remove; may be repeated
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Fragments,
    Commits,
    FragmentMetadata,
    ArrayMetadata,
}

impl TileDb {
    pub(crate) fn run(self) -> Result<Outcome> {
        match &self.tool {
            Tool::Create { array, like, settings } => self.create(array, like, settings),
            Tool::Write { array, input, region, timestamp } => {
                self.write(array, input, region.as_ref(), *timestamp)
            }
            Tool::Fragments { array } => self.fragments(array),
            Tool::Consolidate { array, what, purge } => {
                let array = self.open(array)?.with_driver(&self.resources.driver()?);
                let written = match what {
                    What::Fragments => {
                        array.consolidate(&Consolidation { purge: *purge, ..Consolidation::default() })?
                    }
                    What::Commits => array.consolidate_commits().map(|()| Written::default())?,
                    What::FragmentMetadata => {
                        array.consolidate_fragment_metadata().map(|()| Written::default())?
                    }
                    What::ArrayMetadata => array.consolidate_metadata().map(|()| Written::default())?,
                };
                self.tell_written(&written)
            }
            Tool::Vacuum { array, what } => {
                let what = match what {
                    What::Fragments => Vacuum::Fragments,
                    What::Commits => Vacuum::Commits,
                    What::FragmentMetadata => Vacuum::FragmentMetadata,
                    What::ArrayMetadata => Vacuum::Metadata,
                };
                self.open(array)?.vacuum(what)?;
                self.tell(&json!({ "ok": true }), "")
            }
            Tool::Delete { array, condition, null_too, timestamp } => {
                let on_null = if *null_too { OnNull::Delete } else { OnNull::Refuse };
                let commit = self.open(array)?.delete(condition, on_null, *timestamp)?;
                self.tell(&json!({ "commit": commit }), &format!("{commit}\n"))
            }
            Tool::Evolve { array, add, drop, timestamp } => self.evolve(array, add, drop, *timestamp),
            Tool::Meta { array, put, remove } => self.meta(array, put, remove),
            Tool::Group { group, create, add_array, add_group, remove } => {
                self.group(group, *create, add_array, add_group, remove)
            }
        }
    }

    fn tell(&self, object: &Value, text: &str) -> Result<Outcome> {
        if self.json {
            out::print_json(object)?;
        } else {
            out::print(text)?;
        }
        Ok(Outcome::Fine)
    }

    fn tell_written(&self, written: &Written) -> Result<Outcome> {
        let object = json!({
            "fragments": written.fragments, "cells": written.cells, "tiles": written.tiles, "bytes": written.bytes,
        });
        let mut text = String::new();
        for fragment in &written.fragments {
            let (cells, bytes) = (format::count(written.cells), format::bytes(written.bytes));
            text.push_str(&[fragment.as_str(), ": ", &cells, " cells, ", &bytes, "\n"].concat());
        }
        self.tell(&object, &text)
    }

    fn key(&self) -> Result<Option<Key>> {
        let Some(secret) = self.read.options()?.key else { return Ok(None) };
        let bytes = secret.expose().try_into().map_err(|_| Error::invalid("a key has 32 bytes"))?;
        Ok(Some(Key::new(bytes)))
    }

    fn open(&self, array: &str) -> Result<ArrayWriter> {
        ArrayWriter::open(&Location::local(array)?, self.key()?)
    }

    fn source(&self, uri: &str) -> Result<DatasetTable> {
        let opener = Opener::new().options(self.read.options()?);
        self.resources.driver()?.install(|| opener.open_table(uri))
    }

    fn create(&self, array: &str, like: &str, settings: &[String]) -> Result<Outcome> {
        let target = Location::local(array)?;
        target.refuse_existing(false)?;
        let settings = Settings::from_pairs(settings)?;
        if settings.get("dims").is_none_or(|dims| dims.trim().is_empty()) {
            // Numbered rows have a domain only once they are counted.
            return Err(Error::invalid("an empty array needs dimensions").hint(
                "name them with --set dims=x,y; a dense array also needs --set domain.x=low:high for each",
            ));
        }
        let options = WriteOptions { settings, ..WriteOptions::default() };
        let format = tesselle::format_by_name("tiledb")?;
        let schema = self.source(like)?.schema();
        format.create(&target, schema, &options, &self.resources.driver()?)?.finish()?;
        self.tell(&json!({ "array": array }), &format!("{array}: created, empty\n"))
    }

    fn write(
        &self,
        array: &str,
        input: &str,
        region: Option<&Selection>,
        timestamp: Option<u64>,
    ) -> Result<Outcome> {
        let driver = self.resources.driver()?;
        let writer = self.open(array)?.with_driver(&driver);
        let opener = Opener::new().options(self.read.options()?);
        let source = driver.install(|| opener.open_table(input))?;
        let rows = source.rows(&Scan::all(), &driver)?;
        if writer.schema().kind == ArrayKind::Sparse {
            if region.is_some() {
                return Err(Error::invalid(
                    "--region is for dense arrays; sparse rows bring their coordinates",
                ));
            }
            let options = SparseOptions { timestamp, ..SparseOptions::default() };
            return self.tell_written(&writer.write_sparse_all(rows, &options)?);
        }
        let mut batches = rows.collect::<Result<Vec<_>>>()?;
        let mut region = region.map(|region| writer.dense_box(Some(region))).transpose()?;
        if let (Some(view), [attribute]) = (source.array(), writer.schema().attributes.as_slice()) {
            // A file that is an array has no names of ours: its values become those of the one attribute.
            let place = region.take().map_or_else(|| writer.dense_box(None), Ok)?;
            check_shape(&place, view.shape())?;
            region = Some(place);
            batches = batches.iter().map(|batch| values_as(batch, &attribute.name)).collect::<Result<_>>()?;
        }
        let written = writer.write_dense_rows(region.as_deref(), &batches, timestamp)?;
        self.tell_written(&written)
    }

    fn fragments(&self, array: &str) -> Result<Outcome> {
        let opened = self.read.open(array, None)?;
        let description = opened.container().describe()?;
        let fragments = description.extra.get("fragments").cloned().unwrap_or_default();
        let right = Align::Right;
        let mut table =
            TextTable::new(&[("fragment", Align::Left), ("version", right), ("from", right), ("to", right)]);
        for fragment in fragments.as_array().into_iter().flatten() {
            let number = |value: &Value| value.as_u64().map_or_else(String::new, |n| n.to_string());
            let name = fragment["name"].as_str().unwrap_or_default().to_owned();
            let stamps = &fragment["timestamps"];
            table.row([name, number(&fragment["version"]), number(&stamps[0]), number(&stamps[1])]);
        }
        self.tell(&json!({ "fragments": fragments }), &table.render(""))
    }

    fn evolve(
        &self,
        array: &str,
        add: &[String],
        drop: &[String],
        timestamp: Option<u64>,
    ) -> Result<Outcome> {
        let mut writer = self.open(array)?;
        let mut evolution = writer.evolve();
        for text in add {
            let (name, kind) = text.split_once(':').ok_or_else(|| {
                Error::invalid(format!("'{text}' is not NAME:TYPE"))
                    .hint("e.g. weight:FLOAT32 or note:STRING_UTF8")
            })?;
            let kind = kind.to_ascii_uppercase();
            let datatype = Datatype::from_name(&kind).ok_or_else(|| {
                Error::invalid(format!("'{kind}' is not a TileDB datatype"))
                    .hint("e.g. INT32, FLOAT64, STRING_UTF8")
            })?;
            let attribute = Attribute::new(name, datatype).nullable();
            evolution =
                evolution.add_attribute(if kind.starts_with("STRING") { attribute.var() } else { attribute });
        }
        for name in drop {
            evolution = evolution.drop_attribute(name)?;
        }
        evolution.apply(timestamp)?;
        let object = json!({ "added": add, "dropped": drop });
        self.tell(&object, &format!("{} attributes added, {} dropped\n", add.len(), drop.len()))
    }

    fn meta(&self, array: &str, put: &[String], remove: &[String]) -> Result<Outcome> {
        let mut entries = Vec::new();
        for text in put {
            let (key, value) =
                text.split_once('=').ok_or_else(|| Error::invalid(format!("'{text}' is not KEY=VALUE")))?;
            entries.push((key.as_bytes().to_vec(), Some(typed(value)?)));
        }
        entries.extend(remove.iter().map(|key| (key.as_bytes().to_vec(), None)));
        if !entries.is_empty() {
            self.open(array)?.write_metadata(&entries, None)?;
        }
        let metadata = self.read.open(array, None)?.container().describe()?.metadata;
        let mut table =
            TextTable::new(&[("key", Align::Left), ("type", Align::Left), ("value", Align::Left)]);
        for (key, entry) in metadata.as_object().into_iter().flatten() {
            let value = &entry["value"];
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table.row([key.clone(), entry["type"].as_str().unwrap_or_default().to_owned(), shown]);
        }
        self.tell(&metadata, &table.render(""))
    }

    fn group(
        &self,
        group: &str,
        create: bool,
        arrays: &[String],
        groups: &[String],
        remove: &[String],
    ) -> Result<Outcome> {
        let location = Location::local(group)?;
        let key = self.key()?;
        let writer =
            if create { GroupWriter::create(&location, key)? } else { GroupWriter::open(&location, key)? };
        let name = |path: &String| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned();
        let mut add: Vec<Member> = arrays
            .iter()
            .map(|path| Member::relative(MemberKind::Array, path.as_str(), name(path)))
            .collect();
        add.extend(groups.iter().map(|path| Member::relative(MemberKind::Group, path.as_str(), name(path))));
        let remove: Vec<&str> = remove.iter().map(String::as_str).collect();
        if !add.is_empty() || !remove.is_empty() {
            writer.change(&add, &remove, None)?;
        }
        let members: Vec<Value> = writer
            .members()?
            .values()
            .map(|member| json!({ "name": member.name, "uri": member.uri, "type": if member.kind == MemberKind::Array { "array" } else { "group" } }))
            .collect();
        let mut table = TextTable::new(&[("name", Align::Left), ("type", Align::Left), ("uri", Align::Left)]);
        for member in &members {
            table.row(["name", "type", "uri"].map(|key| member[key].as_str().unwrap_or_default().to_owned()));
        }
        self.tell(&json!({ "members": members }), &table.render(""))
    }
}

/// Refuses an array that has another shape than the box it is written to.
fn check_shape(region: &[Range], shape: &[u64]) -> Result<()> {
    let len = |range: &Range| match (&range.low, &range.high) {
        (Scalar::Int(low), Scalar::Int(high)) => u64::try_from(high - low).ok()?.checked_add(1),
        _ => None,
    };
    let wanted: Vec<Option<u64>> = region.iter().map(len).collect();
    if wanted.iter().copied().eq(shape.iter().copied().map(Some)) {
        return Ok(());
    }
    let wanted: Vec<u64> = wanted.into_iter().map(Option::unwrap_or_default).collect();
    Err(Error::invalid(format!("the input has the shape {shape:?}, the box {wanted:?}"))
        .hint("name the box with --region"))
}

/// The last column of a batch under another name: the values of an array, whose other columns are its axes.
fn values_as(batch: &RecordBatch, name: &str) -> Result<RecordBatch> {
    let Some(values) = batch.columns().last() else { return Err(Error::invalid("the input has no values")) };
    Ok(RecordBatch::try_from_iter([(name, ArrayRef::clone(values))])?)
}

/// An integer, a number, or text, by its look.
fn typed(text: &str) -> Result<MetadataValue> {
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(MetadataValue::integer(integer));
    }
    match text.parse::<f64>() {
        Ok(number) => Ok(MetadataValue::float(number)),
        Err(_) => MetadataValue::text(text),
    }
}
