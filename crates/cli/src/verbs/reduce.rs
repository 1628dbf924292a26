//! `tess reduce`: a statistic of an array, streamed over its tiles.

use clap::Args;
use tesselle::core::json_float;
use tesselle::reduce::{ReduceOp, Values, reduce, resolve_axes};
use tesselle::{Action, ArrayView, Error, Result, Selection, Table};

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

Operations: count, sum, mean, min, max, var, std, argmin, argmax, nan_count. Integers are summed
exactly, floats with compensation; the result does not depend on the number of threads.")]
pub(crate) struct Reduce {
    /// Container, optionally with #TABLE
    uri: String,

    /// Operation
    #[arg(long)]
    op: ReduceOp,

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

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Reduce {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let opener = self.read.opener(self.table.as_deref())?.on(&driver);
        let reduced = out::again_if_changed(|| {
            let opened = opener.open_table(&self.uri)?;
            let table = opened.table();
            let (column, array) = self.array(&**table)?;
            let (array, region) = region_of(&**table, &column, array, self.slice.as_ref())?;
            let axes = resolve_axes(&*array, &self.axis)?;
            reduce(&*array, &region, self.op, &axes, &driver)
        })?;
        if self.json {
            out::print_json(&reduced.to_json())?;
        } else {
            let lines: Vec<String> = match &reduced.values {
                Values::Int(values) => values.iter().map(ToString::to_string).collect(),
                Values::Float(values) => values.iter().map(|v| plain(*v)).collect(),
            };
            out::print(&format!("{}\n", lines.join("\n")))?;
            if !reduced.shape.is_empty() {
                let axes = self.axis.join(", ");
                out::note(&format!("{} over {axes}, row-major, shape {:?}", self.op, reduced.shape));
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
        let array = table
            .array(name)
            .ok_or_else(|| Error::unknown_name("array column", name, columns.iter().map(String::as_str)))?;
        Ok((name.to_owned(), array))
    }
}

fn plain(value: f64) -> String {
    match json_float(value) {
        serde_json::Value::String(name) => name,
        number => number.to_string(),
    }
}
