//! `tess reduce`: a statistic of an array, streamed over its tiles.

use std::str::FromStr;

use clap::Args;
use tesselle::array::MemoryArray;
use tesselle::core::{json_float, type_name};
use tesselle::reduce::{ReduceOp, Values, quantile, reduce, resolve_axes};
use tesselle::{Action, ArrayView, Driver, Error, Region, Result, Selection, Table};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::verbs::cat::region_of;
use crate::{Outcome, out};

/// Reduce an array to a statistic, over all or some of its axes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess reduce 'run.tet#temperature' --op mean
  tess reduce 'run.tet#temperature' --op max --axis time
  tess reduce run.tet --op std --axis 0 --axis 2 --slice '0:100'
  tess reduce run.tet --op quantile=0.9 --axis time -o p90.npy

Operations: count, sum, mean, min, max, var, std, argmin, argmax, nan_count, median, quantile=Q with
Q from 0 to 1. Integers are summed exactly, floats with compensation; the result does not depend on
the number of threads. A median or quantile needs all cells of a value in memory at once.")]
pub(crate) struct Reduce {
    /// Container, optionally with #TABLE
    uri: String,

    /// Operation
    #[arg(long)]
    op: Op,

    /// Axis to reduce, by name or number; repeatable [default: all]
    #[arg(long, value_name = "AXIS")]
    axis: Vec<String>,

    /// Table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Column, if the table has several arrays
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// Only this region: lo:hi[:step] for each axis
    #[arg(long, value_name = "SLICES", allow_hyphen_values = true)]
    slice: Option<Selection>,

    /// Write the result as an array to FILE (npy, tet, zarr, tiledb) instead of standard output
    #[arg(short, long = "out", value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// An operation, by its name.
#[derive(Debug, Clone, Copy)]
enum Op {
    Fold(ReduceOp),
    Quantile(f64),
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "median" {
            return Ok(Self::Quantile(0.5));
        }
        let Some(level) = text.strip_prefix("quantile") else {
            let names = ReduceOp::ALL.into_iter().map(ReduceOp::name).chain(["median", "quantile=Q"]);
            return text.parse().map(Self::Fold).map_err(|_| Error::unknown_name("operation", text, names));
        };
        let level = level.strip_prefix('=').and_then(|level| level.parse::<f64>().ok());
        level.filter(|level| (0.0..=1.0).contains(level)).map(Self::Quantile).ok_or_else(|| {
            Error::invalid(format!("'{text}' does not have a level from 0 to 1"))
                .hint("write it as quantile=0.9")
        })
    }
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Self::Fold(op) => op.name(),
            Self::Quantile(0.5) => "median",
            Self::Quantile(_) => "quantile",
        }
    }

    fn run(self, array: &dyn ArrayView, region: &Region, axes: &[usize], driver: &Driver) -> Result<Answer> {
        Ok(match self {
            Self::Fold(op) => {
                let reduced = reduce(array, region, op, axes, driver)?;
                Answer { json: reduced.to_json(), shape: reduced.shape, values: reduced.values }
            }
            Self::Quantile(level) => {
                let found = quantile(array, region, level, axes, driver)?;
                Answer {
                    json: found.to_json(self.name()),
                    shape: found.shape,
                    values: Values::Float(found.values),
                }
            }
        })
    }
}

/// What an operation found.
struct Answer {
    json: serde_json::Value,
    shape: Vec<u64>,
    values: Values,
}

impl Answer {
    fn array(&self, axes: Vec<String>) -> Result<MemoryArray> {
        let shape = self.shape.iter().copied();
        let array = match &self.values {
            Values::Float(values) => MemoryArray::from_slice(values, shape)?,
            Values::Int(values) => {
                let values = values.iter().map(|value| i64::try_from(*value)).collect::<Result<Vec<_>, _>>();
                let values = values.map_err(|_| {
                    Error::invalid("a result does not fit 64-bit integers").hint("print it with --json")
                })?;
                MemoryArray::from_slice(&values, shape)?
            }
        };
        if axes.is_empty() { Ok(array) } else { array.with_axis_names(axes) }
    }
}

impl Reduce {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let opener = self.read.opener(self.table.as_deref())?.on(&driver);
        let (reduced, kept) = out::again_if_changed(|| {
            let opened = opener.open_table(&self.uri)?;
            let table = opened.table();
            let (column, array) = self.array(&**table)?;
            let (array, region) = region_of(&**table, &column, array, self.slice.as_ref())?;
            let axes = resolve_axes(&*array, &self.axis)?;
            let reduced = self.op.run(&*array, &region, &axes, &driver)?;
            let is_kept = |axis: &usize| !axes.is_empty() && !axes.contains(axis);
            let names = array.axis_names();
            let kept = (0..names.len()).filter(is_kept).filter_map(|axis| names.get(axis).cloned());
            Ok((reduced, kept.collect::<Vec<_>>()))
        })?;
        if let Some(output) = &self.output {
            let result = reduced.array(kept)?;
            let report = tesselle::create_array(output, result).overwrite(self.force).on(&driver).write()?;
            if self.json {
                out::print_json(&report.to_json())?;
            } else {
                out::note(&format!("{output}: {} of shape {:?}", self.op.name(), reduced.shape));
            }
        } else if self.json {
            out::print_json(&reduced.json)?;
        } else {
            let lines: Vec<String> = match &reduced.values {
                Values::Int(values) => values.iter().map(ToString::to_string).collect(),
                Values::Float(values) => values.iter().map(|v| plain(*v)).collect(),
            };
            out::print(&format!("{}\n", lines.join("\n")))?;
            if !reduced.shape.is_empty() {
                let axes = self.axis.join(", ");
                out::note(&format!("{} over {axes}, row-major, shape {:?}", self.op.name(), reduced.shape));
            }
        }
        Ok(Outcome::Fine)
    }

    fn array(&self, table: &dyn Table) -> Result<(String, std::sync::Arc<dyn ArrayView>)> {
        let columns = table.array_columns();
        let name = match (&self.column, columns.as_slice()) {
            (Some(name), _) => name.as_str(),
            (None, [only]) => only.as_str(),
            (None, []) => {
                return Err(Error::invalid("the table is not a dense array of numbers")
                    .hint("use tess sql for other tables"));
            }
            (None, many) => {
                return Err(Error::invalid(format!("the table has {} arrays; select one", many.len()))
                    .suggest("add {}", [Action::ArrayColumn(many.to_vec())]));
            }
        };
        // Other views show stored numbers, such as those of times.
        let array = table.array(name).filter(|_| columns.iter().any(|column| column == name));
        let array = array.ok_or_else(|| match table.schema().field_with_name(name) {
            Ok(field) => Error::invalid(format!(
                "column '{name}' of type {} is not a dense array of numbers",
                type_name(field.data_type())
            ))
            .hint("use tess sql for other columns"),
            Err(_) => Error::unknown_name("array column", name, columns.iter().map(String::as_str)),
        })?;
        Ok((name.to_owned(), array))
    }
}

fn plain(value: f64) -> String {
    match json_float(value) {
        serde_json::Value::String(name) => name,
        number => number.to_string(),
    }
}
