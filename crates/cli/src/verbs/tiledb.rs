//! `tess tiledb`: TileDB-specific tools.

use std::fmt::Write as _;

use arrow_array::{ArrayRef, RecordBatch};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tesselle::tiledb::filter::{Key, filters_from_str};
use tesselle::tiledb::meta::schema::ArrayKind;
use tesselle::tiledb::write::{
    ArrayWriter, Consolidation, GroupWriter, NewSchema, OnNull, Removal, SparseOptions, Vacuum, Written,
};
use tesselle::tiledb::{Attribute, Bounds, Datatype, Enumeration, Member, MemberKind, MetadataValue};
use tesselle::{
    DatasetTable, Driver, Error, Location, Opener, Predicate, Result, Scalar, Selection, Settings,
    WriteOptions,
};

use crate::args::{ReadArgs, ResourceArgs};
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// TileDB tools: create, write, fragments, consolidate, vacuum, delete, delete-fragments, evolve, meta, group
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

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Create an empty array with the columns of a table, or with a schema
    ///
    /// A schema is the JSON that 'tess info ARRAY --json' prints, of another array or written by hand: kind, orders,
    /// capacity, columns with types, domains, extents, filters and fill values, enumerations, current domain.
    #[command(
        after_help = "Examples:\n  tess info points --json > schema.json && tess tiledb create more --schema schema.json\n  tess tiledb create points --like points.parquet --set kind=sparse --set dims=x,y --set domain.x=0:1000 --set domain.y=0:1000"
    )]
    Create {
        /// New array
        array: String,
        /// Table whose columns the array gets
        #[arg(long, value_name = "URI", required_unless_present = "schema")]
        like: Option<String>,
        /// File with the schema as JSON
        #[arg(long, value_name = "FILE", conflicts_with_all = ["like", "settings"])]
        schema: Option<std::path::PathBuf>,
        /// Setting, e.g. kind=sparse, dims=x,y, filters=zstd; repeatable
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Write the rows of a table into an array, as one fragment
    ///
    /// Rows have a column per dimension and per attribute. Rows of a dense array fill a box: with dimension columns in
    /// any order, without them in row-major order. An npy file fills a box of its shape.
    #[command(
        after_help = "Examples:\n  tess tiledb write points more.parquet --timestamp 1700000000000\n  tess tiledb write weather corner.npy --region 0:100,50:80\n  tess tiledb write weather cells.csv"
    )]
    Write {
        /// Array
        array: String,
        /// Table with the rows: Arrow, Parquet, CSV, npy, or a container
        input: String,
        /// Box of a dense array, in coordinates, the end not included [default: that of the rows, or all]
        #[arg(long, value_name = "LO:HI,…", allow_hyphen_values = true)]
        region: Option<Selection>,
        /// Time of the write, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// List the fragments that reads use, with their metadata: cells, tiles, sizes, domains, statistics
    #[command(after_help = "Example:\n  tess tiledb fragments points --at 1700000000000")]
    Fragments {
        /// Array
        array: String,
    },
    /// Merge fragments, commit files or metadata into one; the merged files are kept until they are vacuumed
    ///
    /// With --between only fragments written in this time range are merged.
    #[command(
        after_help = "Examples:\n  tess tiledb consolidate points --dry-run\n  tess tiledb consolidate points --between 2024-05-01,2024-06-01\n  tess tiledb consolidate points --what commits"
    )]
    Consolidate {
        /// Array
        array: String,
        /// Files to consolidate
        #[arg(long, default_value = "fragments")]
        what: What,
        /// Permanently remove deleted cells, so that time travel does not find them
        #[arg(long)]
        purge: bool,
        /// Only list the fragments that would be merged
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove files superseded by a consolidation
    #[command(
        after_help = "Examples:\n  tess tiledb vacuum points --dry-run\n  tess tiledb vacuum points --what fragments"
    )]
    Vacuum {
        /// Array
        array: String,
        /// Files to vacuum
        #[arg(long, default_value = "fragments")]
        what: What,
        /// Only list what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Permanently remove all fragments written between two times
    #[command(
        after_help = "Example:\n  tess tiledb delete-fragments points --between 1700000000000,1700000009999 --dry-run"
    )]
    DeleteFragments {
        /// Array
        array: String,
        /// Only list what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete the cells of a sparse array that satisfy a condition
    #[command(after_help = "Example:\n  tess tiledb delete points --where 'z < 0'")]
    Delete {
        /// Array
        array: String,
        /// SQL condition
        #[arg(long = "where", value_name = "EXPR")]
        condition: Predicate,
        /// Also delete cells in which an attribute of the condition is null, as the engine does
        #[arg(long)]
        null_too: bool,
        /// Time of the change, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// Change the schema: attributes, enumerations, current domain; fragments keep their schema
    #[command(
        after_help = "Examples:\n  tess tiledb evolve points --add weight:FLOAT32 --drop z\n  tess tiledb evolve points --add-enumeration colors=red,green --add color:UINT8@colors\n  tess tiledb evolve points --extend-enumeration colors=blue\n  tess tiledb evolve points --expand x=0:999 --expand y=0:999"
    )]
    Evolve {
        /// Array
        array: String,
        /// New nullable attribute, optionally with an enumeration and filters; repeatable
        #[arg(long, value_name = "NAME:TYPE[@ENUMERATION][/FILTERS]")]
        add: Vec<String>,
        /// Attribute to drop; repeatable
        #[arg(long, value_name = "NAME")]
        drop: Vec<String>,
        /// New enumeration of strings; repeatable
        #[arg(long, value_name = "NAME=VALUE,…")]
        add_enumeration: Vec<String>,
        /// More values for an enumeration; repeatable
        #[arg(long, value_name = "NAME=VALUE,…")]
        extend_enumeration: Vec<String>,
        /// Unused enumeration to drop; repeatable
        #[arg(long, value_name = "NAME")]
        drop_enumeration: Vec<String>,
        /// Current domain of a dimension, both ends included; other dimensions keep theirs
        #[arg(long, value_name = "DIM=LOW:HIGH", allow_hyphen_values = true)]
        expand: Vec<String>,
        /// Time of the change, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// Show or change the metadata of an array or group
    #[command(
        after_help = "Examples:\n  tess tiledb meta points\n  tess tiledb meta points --put units=m --remove note"
    )]
    Meta {
        /// Array or group
        array: String,
        /// Value to set: an integer, a number, or a string; repeatable
        #[arg(long, value_name = "KEY=VALUE")]
        put: Vec<String>,
        /// Value to remove; repeatable
        #[arg(long, value_name = "KEY")]
        remove: Vec<String>,
    },
    /// Create a group, or add and remove members
    #[command(after_help = "Example:\n  tess tiledb group study --create --add-array a1 --add-group sub")]
    Group {
        /// Group
        group: String,
        /// Create the group
        #[arg(long)]
        create: bool,
        /// Array inside the group's folder; repeatable
        #[arg(long, value_name = "PATH")]
        add_array: Vec<String>,
        /// Group inside the group's folder; repeatable
        #[arg(long, value_name = "PATH")]
        add_group: Vec<String>,
        /// Name of a member to remove; repeatable
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

impl What {
    fn vacuum(self) -> Vacuum {
        match self {
            Self::Fragments => Vacuum::Fragments,
            Self::Commits => Vacuum::Commits,
            Self::FragmentMetadata => Vacuum::FragmentMetadata,
            Self::ArrayMetadata => Vacuum::Metadata,
        }
    }
}

impl TileDb {
    pub(crate) fn run(self) -> Result<Outcome> {
        match &self.tool {
            Tool::Create { array, like, schema, settings } => match (like, schema) {
                (_, Some(schema)) => self.create_from_schema(array, schema),
                (Some(like), None) => self.create(array, like, settings),
                (None, None) => Err(Error::internal("neither a table nor a schema is given")),
            },
            Tool::Write { array, input, region, timestamp } => {
                self.write(array, input, region.as_ref(), *timestamp)
            }
            Tool::Fragments { array } => self.fragments(array),
            Tool::Consolidate { array, what, purge, dry_run } => {
                self.consolidate(array, *what, *purge, *dry_run)
            }
            Tool::Vacuum { array, what, dry_run } => {
                self.refuse_times("vacuum")?;
                let (array, what) = (self.open(array)?, what.vacuum());
                let removal = if *dry_run { array.plan_vacuum(what)? } else { array.vacuum(what)? };
                self.report_removal(&removal, *dry_run)
            }
            Tool::DeleteFragments { array, dry_run } => {
                let between = self.read.options()?.between.ok_or_else(|| {
                    Error::invalid("delete-fragments needs a time range").hint("add --between T1,T2")
                })?;
                let array = self.open(array)?;
                let removal = if *dry_run {
                    array.plan_delete_fragments(between)?
                } else {
                    array.delete_fragments(between)?
                };
                self.report_removal(&removal, *dry_run)
            }
            Tool::Delete { array, condition, null_too, timestamp } => {
                self.refuse_times("delete")?;
                let on_null = if *null_too { OnNull::Delete } else { OnNull::Refuse };
                let commit = self.open(array)?.delete(condition, on_null, *timestamp)?;
                self.report(&json!({ "commit": commit }), &format!("{commit}\n"))
            }
            Tool::Evolve { array, timestamp, .. } => self.evolve(array, *timestamp),
            Tool::Meta { array, put, remove } => self.meta(array, put, remove),
            Tool::Group { group, create, add_array, add_group, remove } => {
                self.group(group, *create, add_array, add_group, remove)
            }
        }
    }

    /// Fails for read times on writes, where they have no effect.
    fn refuse_times(&self, tool: &str) -> Result<()> {
        if self.read.options()?.between.is_some() {
            return Err(Error::invalid(format!("{tool} takes neither --at nor --between"))
                .hint("--timestamp sets the time of a change"));
        }
        Ok(())
    }

    fn consolidate(&self, array: &str, what: What, purge: bool, dry_run: bool) -> Result<Outcome> {
        let array = self.open(array)?.with_driver(&self.resources.driver()?);
        let between = self.read.options()?.between;
        if what == What::Fragments {
            let consolidation = Consolidation { between, purge };
            return if dry_run {
                self.report_plan(&array, &consolidation)
            } else {
                let written = array.consolidate(&consolidation)?;
                if written.fragments.is_empty() && !self.json {
                    out::print("nothing to merge\n")?;
                }
                self.report_written(&written)
            };
        }
        if between.is_some() || purge || dry_run {
            return Err(Error::invalid("--between, --purge and --dry-run are for --what fragments"));
        }
        let (merged, things) = match what {
            What::Commits => (array.consolidate_commits()?, "commits"),
            What::FragmentMetadata => (array.consolidate_fragment_metadata()?, "footers"),
            What::ArrayMetadata | What::Fragments => (array.consolidate_metadata()?, "metadata files"),
        };
        let text = if merged == 0 {
            "nothing to merge\n".to_owned()
        } else {
            format!("{} {things} merged into one file\n", format::count(merged as u64))
        };
        self.report(&json!({ "merged": merged }), &text)
    }

    fn report_plan(&self, array: &ArrayWriter, consolidation: &Consolidation) -> Result<Outcome> {
        let plan = array.plan_consolidation(consolidation)?;
        let right = Align::Right;
        let mut table = TextTable::new(&[
            ("fragment", Align::Left),
            ("from", right),
            ("to", right),
            ("cells", right),
            ("size", right),
        ]);
        let mut objects = Vec::new();
        for fragment in &plan {
            let (from, to) = fragment.timestamps;
            table.row([
                fragment.name.clone(),
                from.to_string(),
                to.to_string(),
                format::count(fragment.cells),
                format::bytes(fragment.bytes),
            ]);
            objects.push(json!({
                "name": fragment.name, "timestamps": [from, to], "cells": fragment.cells, "bytes": fragment.bytes,
            }));
        }
        let bytes: u64 = plan.iter().map(|fragment| fragment.bytes).sum();
        let text = if plan.is_empty() {
            "nothing to merge\n".to_owned()
        } else {
            let count = format::count(plan.len() as u64);
            format!("{}would merge {count} fragments, {}\n", table.render(""), format::bytes(bytes))
        };
        self.report(&json!({ "dry_run": true, "fragments": objects, "bytes": bytes }), &text)
    }

    fn report_removal(&self, removal: &Removal, dry_run: bool) -> Result<Outcome> {
        let object = json!({ "dry_run": dry_run, "removed": removal.paths, "bytes": removal.bytes });
        let mut text = String::new();
        for path in &removal.paths {
            text.push_str(path);
            text.push('\n');
        }
        let done = if dry_run { "would remove" } else { "removed" };
        let count = format::count(removal.paths.len() as u64);
        let _ = writeln!(text, "{done} {count} files and folders, {}", format::bytes(removal.bytes));
        self.report(&object, &text)
    }

    fn report(&self, object: &Value, text: &str) -> Result<Outcome> {
        if self.json {
            out::print_json(object)?;
        } else {
            out::print(text)?;
        }
        Ok(Outcome::Fine)
    }

    fn report_written(&self, written: &Written) -> Result<Outcome> {
        let object = json!({
            "fragments": written.fragments, "cells": written.cells, "tiles": written.tiles, "bytes": written.bytes,
        });
        let mut text = String::new();
        for fragment in &written.fragments {
            let (cells, bytes) = (format::count(written.cells), format::bytes(written.bytes));
            text.push_str(&[fragment.as_str(), ": ", &cells, " cells, ", &bytes, "\n"].concat());
        }
        self.report(&object, &text)
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
        opener.on(&self.resources.driver()?).open_table(uri)
    }

    fn create_from_schema(&self, array: &str, schema: &std::path::Path) -> Result<Outcome> {
        let target = Location::local(array)?;
        target.refuse_existing(false)?;
        let name = schema.display();
        let text =
            std::fs::read(schema).map_err(|error| Error::io(format!("cannot read '{name}'"), error))?;
        let json: Value = serde_json::from_slice(&text)
            .map_err(|error| Error::invalid(format!("'{name}' is not JSON: {error}")))?;
        ArrayWriter::create(&target, &NewSchema::from_json(&json)?, self.key()?, None)?;
        self.report(&json!({ "array": array }), &format!("{array}: created, empty\n"))
    }

    fn create(&self, array: &str, like: &str, settings: &[String]) -> Result<Outcome> {
        let target = Location::local(array)?;
        target.refuse_existing(false)?;
        let mut settings = Settings::from_pairs(settings)?;
        if let Some(secret) = self.read.options()?.key
            && !["key", "key-file", "encryption"].iter().any(|name| settings.get(name).is_some())
        {
            settings.set("key", format!("hex:{}", tesselle::core::hex(secret.expose())));
        }
        if settings.get("dims").is_none_or(|dims| dims.trim().is_empty()) {
            // Numbered rows have a domain only once they are counted.
            return Err(Error::invalid("an empty array needs dimensions").hint(
                "set them with --set dims=x,y; a dense array also needs --set domain.x=low:high for each",
            ));
        }
        let options = WriteOptions { settings, ..WriteOptions::default() };
        let format = tesselle::format_by_name("tiledb")?;
        let schema = self.source(like)?.schema();
        format.create(&target, schema, &options, &self.resources.driver()?)?.finish()?;
        self.report(&json!({ "array": array }), &format!("{array}: created, empty\n"))
    }

    fn write(
        &self,
        array: &str,
        input: &str,
        region: Option<&Selection>,
        timestamp: Option<u64>,
    ) -> Result<Outcome> {
        self.refuse_times("write")?;
        let driver = self.resources.driver()?;
        let writer = self.open(array)?.with_driver(&driver);
        let opener = Opener::new().options(self.read.options()?);
        let source = opener.on(&driver).open_table(input)?;
        if writer.schema().kind == ArrayKind::Sparse {
            if region.is_some() {
                return Err(Error::invalid(
                    "--region is for dense arrays; sparse rows contain their coordinates",
                ));
            }
            let options = SparseOptions { timestamp, ..SparseOptions::default() };
            let rows = source.scan().on(&driver).rows()?;
            return self.report_written(&writer.write_sparse_all(rows.into_batches(), &options)?);
        }
        let region = region.map(|region| writer.dense_box(Some(region))).transpose()?;
        self.report_written(&write_dense(&writer, &source, region, timestamp, &driver)?)
    }

    fn fragments(&self, array: &str) -> Result<Outcome> {
        let fragments = tesselle::tiledb::fragments(&Location::local(array)?, &self.read.options()?)?;
        let right = Align::Right;
        let mut table = TextTable::new(&[
            ("fragment", Align::Left),
            ("version", right),
            ("from", right),
            ("to", right),
            ("cells", right),
            ("tiles", right),
            ("size", right),
        ]);
        for fragment in &fragments {
            table.row([
                fragment.name.clone(),
                fragment.version.to_string(),
                fragment.timestamps.0.to_string(),
                fragment.timestamps.1.to_string(),
                format::count(fragment.cells),
                format::count(fragment.tiles),
                format::bytes(fragment.bytes),
            ]);
        }
        let footers: Vec<&Value> = fragments.iter().map(|fragment| &fragment.footer).collect();
        self.report(&json!({ "fragments": footers }), &table.render(""))
    }

    fn evolve(&self, array: &str, timestamp: Option<u64>) -> Result<Outcome> {
        let Tool::Evolve { add, drop, add_enumeration, extend_enumeration, drop_enumeration, expand, .. } =
            &self.tool
        else {
            return Err(Error::internal("evolve was called for another command"));
        };
        self.refuse_times("evolve")?;
        let mut writer = self.open(array)?;
        let domain = if expand.is_empty() { None } else { Some(expanded(&writer, expand)?) };
        let longer =
            extend_enumeration.iter().map(|text| longer(&writer, text)).collect::<Result<Vec<_>>>()?;
        let mut evolution = writer.evolve();
        for text in add_enumeration {
            let (name, values) = named_values(text)?;
            evolution = evolution.add_enumeration(Enumeration::of_texts(name, values, false)?)?;
        }
        for list in longer {
            evolution = evolution.extend_enumeration(list)?;
        }
        for text in add {
            evolution = evolution.add_attribute(attribute(text)?);
        }
        for name in drop {
            evolution = evolution.drop_attribute(name)?;
        }
        for name in drop_enumeration {
            evolution = evolution.drop_enumeration(name);
        }
        if let Some(ranges) = domain {
            evolution = evolution.expand_current_domain(ranges)?;
        }
        evolution.apply(timestamp)?;
        let object = json!({
            "added": add, "dropped": drop, "enumerations_added": add_enumeration,
            "enumerations_extended": extend_enumeration, "enumerations_dropped": drop_enumeration, "expanded": expand,
        });
        let mut text = String::new();
        for (list, what) in [
            (add, "attributes added"),
            (drop, "attributes dropped"),
            (add_enumeration, "enumerations added"),
            (extend_enumeration, "enumerations extended"),
            (drop_enumeration, "enumerations dropped"),
            (expand, "dimensions expanded"),
        ] {
            if !list.is_empty() {
                let _ = writeln!(text, "{} {what}", list.len());
            }
        }
        self.report(&object, &text)
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
            self.refuse_times("meta --put")?;
            let location = Location::local(array)?;
            if tesselle::tiledb::is_group(&location)? {
                GroupWriter::open(&location, self.key()?)?.write_metadata(&entries, None)?;
            } else {
                self.open(array)?.write_metadata(&entries, None)?;
            }
        }
        let metadata = self.read.open(array, None)?.container().describe()?.metadata;
        let mut table =
            TextTable::new(&[("key", Align::Left), ("type", Align::Left), ("value", Align::Left)]);
        for (key, entry) in metadata.as_object().into_iter().flatten() {
            let value = &entry["value"];
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table.row([key.clone(), entry["type"].as_str().unwrap_or_default().to_owned(), shown]);
        }
        self.report(&metadata, &table.render(""))
    }

    fn group(
        &self,
        group: &str,
        create: bool,
        arrays: &[String],
        groups: &[String],
        remove: &[String],
    ) -> Result<Outcome> {
        self.refuse_times("group")?;
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
        self.report(&json!({ "members": members }), &table.render(""))
    }
}

/// An attribute from `NAME:TYPE[@ENUMERATION][/FILTERS]`.
fn attribute(text: &str) -> Result<Attribute> {
    let (name, rest) = text.split_once(':').ok_or_else(|| {
        Error::invalid(format!("'{text}' is not NAME:TYPE"))
            .hint("e.g. weight:FLOAT32 or note:STRING_UTF8/zstd:5")
    })?;
    let (rest, filters) = rest.split_once('/').map_or((rest, None), |(rest, filters)| (rest, Some(filters)));
    let (kind, enumeration) = rest.split_once('@').map_or((rest, None), |(kind, name)| (kind, Some(name)));
    let kind = kind.to_ascii_uppercase();
    let datatype = Datatype::from_name(&kind).ok_or_else(|| {
        Error::invalid(format!("'{kind}' is not a TileDB datatype")).hint("e.g. INT32, FLOAT64, STRING_UTF8")
    })?;
    let mut attribute = Attribute::new(name, datatype).nullable();
    if kind.starts_with("STRING") {
        attribute = attribute.var();
    }
    if let Some(name) = enumeration {
        attribute = attribute.with_enumeration(name);
    }
    Ok(match filters {
        Some(filters) => attribute.with_filters(filters_from_str(filters)?),
        None => attribute,
    })
}

/// A name and its values, from `NAME=VALUE,…`.
fn named_values(text: &str) -> Result<(&str, Vec<&str>)> {
    let (name, values) = text.split_once('=').ok_or_else(|| {
        Error::invalid(format!("'{text}' is not NAME=VALUE,…")).hint("e.g. colors=red,green")
    })?;
    Ok((name, values.split(',').collect()))
}

/// The enumeration of an array with more values.
fn longer(writer: &ArrayWriter, text: &str) -> Result<Enumeration> {
    let (name, more) = named_values(text)?;
    let known = writer.enumeration(name).ok_or_else(|| {
        Error::not_found(format!("enumeration '{name}' does not exist"))
            .hint("create it with --add-enumeration")
    })?;
    known.with_strings(&more)
}

/// The current domain with the ranges of `DIM=LOW:HIGH`.
fn expanded(writer: &ArrayWriter, expand: &[String]) -> Result<Vec<Bounds>> {
    let schema = writer.schema();
    let mut ranges: Vec<Option<Bounds>> = schema.dimensions.iter().map(|dim| dim.domain.clone()).collect();
    for (range, known) in ranges.iter_mut().zip(schema.current_domain.iter().flatten()) {
        *range = Some(known.clone());
    }
    for text in expand {
        let wrong = || Error::invalid(format!("'{text}' is not DIM=LOW:HIGH"));
        let (name, bounds) = text.split_once('=').ok_or_else(wrong)?;
        let names = || schema.dimensions.iter().map(|dim| dim.name.as_str());
        let found = schema.dimension(name);
        let (index, dim) = found.ok_or_else(|| Error::unknown_name("dimension", name, names()))?;
        let (low, high) = bounds.split_once(':').ok_or_else(wrong)?;
        let bound = |text: &str| -> Option<Scalar> {
            if dim.is_var() {
                Some(Scalar::from(text))
            } else if dim.datatype.is_float() {
                text.trim().parse().ok().map(Scalar::Float)
            } else {
                text.trim().parse().ok().map(Scalar::Int)
            }
        };
        let (low, high) = bound(low).zip(bound(high)).ok_or_else(wrong)?;
        if let Some(slot) = ranges.get_mut(index) {
            *slot = Some(Bounds { low, high });
        }
    }
    let missing = || Error::invalid("a current domain needs a range for each dimension of strings");
    ranges.into_iter().map(|range| range.ok_or_else(missing)).collect()
}

/// Fails if the shape of an array differs from the box it is written to.
fn check_shape(region: &[Bounds], shape: &[u64]) -> Result<()> {
    let len = |range: &Bounds| match (&range.low, &range.high) {
        (Scalar::Int(low), Scalar::Int(high)) => u64::try_from(high - low).ok()?.checked_add(1),
        _ => None,
    };
    let wanted: Vec<Option<u64>> = region.iter().map(len).collect();
    if wanted.iter().copied().eq(shape.iter().copied().map(Some)) {
        return Ok(());
    }
    let wanted: Vec<u64> = wanted.into_iter().map(Option::unwrap_or_default).collect();
    Err(Error::invalid(format!("the input has the shape {shape:?}, the box {wanted:?}"))
        .hint("set the box with --region"))
}

/// Writes rows into a dense array as they come, where their order allows; else all of them at once.
fn write_dense(
    writer: &ArrayWriter,
    source: &DatasetTable,
    mut region: Option<Vec<Bounds>>,
    timestamp: Option<u64>,
    driver: &Driver,
) -> Result<Written> {
    let mut only = None;
    if let (Some(view), [attribute]) = (source.array(), writer.schema().attributes.as_slice()) {
        // A file that is an array has no names of ours: its values become those of the one attribute.
        let place = region.take().map_or_else(|| writer.dense_box(None), Ok)?;
        check_shape(&place, view.shape())?;
        region = Some(place);
        only = Some(attribute.name.clone());
    }
    let rows = || {
        let rows = source.scan().on(driver).rows()?.into_batches();
        Ok::<_, Error>(rows.map(|batch| match &only {
            Some(name) => values_as(&batch?, name),
            None => batch,
        }))
    };
    let mut streams = writer.streams_dense();
    if only.is_none() && streams && writer.places(&source.schema()) {
        let dimensions = writer.schema().dimensions.iter().map(|dimension| dimension.name.clone());
        let placement =
            writer.placement(source.scan().columns(dimensions).on(driver).rows()?.into_batches())?;
        streams = placement.as_ref().is_some_and(|placement| placement.ordered);
        region = region.or(placement.map(|placement| placement.region));
    }
    if streams {
        let region = region.map_or_else(|| writer.dense_box(None), Ok)?;
        return writer.write_dense_stream(&region, rows()?, timestamp);
    }
    let (mut batches, mut bytes) = (Vec::new(), 0_u64);
    for batch in rows()? {
        let batch = batch?;
        bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
        driver.check_piece(bytes)?;
        batches.push(batch);
    }
    writer.write_dense_rows(region.as_deref(), &batches, timestamp)
}

/// The last column of a batch under another name: the values of an array, whose other columns are its axes.
fn values_as(batch: &RecordBatch, name: &str) -> Result<RecordBatch> {
    let Some(values) = batch.columns().last() else { return Err(Error::invalid("the input has no values")) };
    Ok(RecordBatch::try_from_iter([(name, ArrayRef::clone(values))])?)
}

/// An integer, a number, or a string, by its form.
fn typed(text: &str) -> Result<MetadataValue> {
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(MetadataValue::integer(integer));
    }
    match text.parse::<f64>() {
        Ok(number) => Ok(MetadataValue::float(number)),
        Err(_) => MetadataValue::string(text),
    }
}
