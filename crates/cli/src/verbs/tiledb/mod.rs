//! `tess tiledb`: TileDB-specific tools.

mod evolve;
mod fragments;
mod metadata;
mod schema;
mod upkeep;
mod write;

use clap::{Args, Subcommand};
use schema::ByHand;
use serde_json::{Value, json};
use tesselle::tiledb::filter::Key;
use tesselle::tiledb::write::{ArrayWriter, OnNull, Written};
use tesselle::{DatasetTable, Driver, Error, Location, Opener, Predicate, Result, Selection, StoredTypes};
use upkeep::What;
use write::ArrayTarget;

use crate::args::{ReadArgs, ResourceArgs, parse_condition};
use crate::{Outcome, format, out};

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
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Create an empty array with the columns of a table, or with a schema
    ///
    /// A schema is the JSON that 'tess info ARRAY --schema' prints, of another array or written by hand: kind, orders,
    /// capacity, columns with types, domains, extents, filters and fill values, enumerations, current domain, labels.
    /// --dim and --attr state it on the command line; such an array is dense unless --set kind=sparse.
    #[command(
        after_help = "Examples:\n  tess tiledb create grid --dim y:INT32:0:99:10 --dim x:INT32:0:99:10 --attr 't:FLOAT32?/byteshuffle,zstd:5'\n  tess tiledb create points --dim id:STRING_ASCII --attr color:UINT8@colors --enumeration colors=red,green --set kind=sparse\n  tess info points --schema > schema.json && tess tiledb create more --schema schema.json\n  tess tiledb create points --like points.parquet --set kind=sparse --set dims=x,y --set domain.x=0:1000 --set domain.y=0:1000"
    )]
    Create {
        /// New array
        array: String,
        /// Table whose columns the array gets
        #[arg(long, value_name = "URI", required_unless_present_any = ["schema", "dim"])]
        like: Option<String>,
        /// File with the schema as JSON
        #[arg(long, value_name = "FILE", conflicts_with_all = ["like", "settings"])]
        schema: Option<std::path::PathBuf>,
        #[command(flatten)]
        columns: ByHand,
        /// Setting, e.g. kind=sparse, dims=x,y, filters=zstd; with --dim kind, tile_order, cell_order, capacity, dups,
        /// coords_filters, offsets_filters, validity_filters, fill.ATTRIBUTE; repeatable
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Write the rows of a table into an array, as one fragment
    ///
    /// Rows have a column per dimension and per attribute. Rows of a dense array fill a box: with dimension columns in
    /// any order, without them in row-major order. An npy file fills a box of its shape.
    #[command(
        after_help = "Examples:\n  tess tiledb write points more.parquet --timestamp 1700000000000\n  tess tiledb write weather corner.npy --region 0:100,50:80\n  tess tiledb write weather cells.csv\n  tess tiledb write weather latitudes.csv --label lat"
    )]
    Write {
        /// Array
        array: String,
        /// Table with the rows: Arrow, Parquet, CSV, npy, or a container
        input: String,
        /// Box of a dense array, in coordinates, the end not included [default: that of the rows, or all]
        #[arg(long, value_name = "LO:HI,…", allow_hyphen_values = true)]
        region: Option<Selection>,
        /// Write the values of this dimension label, one per position, instead of cells
        #[arg(long, value_name = "NAME")]
        label: Option<String>,
        /// Time of the write, in milliseconds since the epoch [default: now]
        #[arg(long, value_name = "TIME")]
        timestamp: Option<u64>,
    },
    /// List the fragments that reads use, with their metadata: cells, tiles, sizes, domains, statistics
    #[command(
        after_help = "Examples:\n  tess tiledb fragments points --at 1700000000000\n  tess tiledb fragments points --tiles\n  tess tiledb fragments points --rtree --json"
    )]
    Fragments {
        /// Array
        array: String,
        /// Also list the tiles of each column: place, cells, MBR, min, max, sum and null count
        #[arg(long)]
        tiles: bool,
        /// Also list the MBRs of every level of the R-trees, root first
        #[arg(long)]
        rtree: bool,
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
        #[arg(long = "where", value_name = "EXPR", value_parser = parse_condition, allow_hyphen_values = true)]
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

impl TileDb {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = &resources.driver()?;
        match &self.tool {
            Tool::Create { array, like, schema, columns, settings } => {
                self.refuse_times("create")?;
                match (like, schema) {
                    (_, Some(file)) => self.create_by_schema(array, &schema::read(file)?),
                    (Some(like), None) => self.create(array, like, settings, driver),
                    (None, None) => self.create_by_schema(array, &columns.schema(settings)?),
                }
            }
            Tool::Write { array, input, region, label, timestamp } => {
                let target =
                    ArrayTarget { label: label.as_deref(), region: region.as_ref(), timestamp: *timestamp };
                self.write(array, input, &target, driver)
            }
            Tool::Fragments { array, tiles, rtree } => self.fragments(array, *tiles, *rtree),
            Tool::Consolidate { array, what, purge, dry_run } => {
                self.consolidate(array, *what, *purge, *dry_run, driver)
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
                // The condition is stored in the array, and compares what is stored there.
                self.stored_types(array)?.refuse(condition.columns(), "a delete condition")?;
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

    fn report(&self, object: &Value, text: &str) -> Result<Outcome> {
        out::report(self.json, object, text)
    }

    fn report_written(&self, written: &Written) -> Result<Outcome> {
        let object = json!({
            "fragments": written.fragments, "cells": written.cells, "tiles": written.tiles, "bytes": written.bytes,
        });
        let mut text = String::new();
        for fragment in &written.fragments {
            let (cells, bytes) = (format::counted(written.cells, "cell"), format::bytes(written.bytes));
            text.push_str(&[fragment.as_str(), ": ", &cells, ", ", &bytes, "\n"].concat());
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

    /// The columns of an array that are stored in other types than they have.
    fn stored_types(&self, array: &str) -> Result<StoredTypes> {
        Opener::new().options(self.read.options()?).open(array)?.stored_types()
    }

    fn source(&self, uri: &str, driver: &Driver) -> Result<DatasetTable> {
        // The key is that of the array.
        Opener::new().options(self.read.options()?).ambient_key(true).on(driver).open_table(uri)
    }
}
