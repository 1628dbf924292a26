//! `tess tatami lookup` and `tess tatami take`: single rows, one page of each column decoded.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use clap::Args;
use serde_json::{Value, json};
use tesselle::foreign::JsonLines;
use tesselle::search::tatami_location;
use tesselle::storage::Staged;
use tesselle::tatami::{Collection, File};
use tesselle::{Action, Driver, DriverOptions, Error, OpenOptions, Opener, Result, Scalar, StoredTypes};

use crate::args::{Names, ResourceArgs};
use crate::forms::{self, Form};
use crate::{Outcome, out, render};

/// Find a row by its key
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tatami lookup crawl.tatami https://example.org/
  tess tatami lookup crawl.tatami https://example.org/ --columns title,status --json
  tess tatami lookup crawl/ https://example.org/

The file must be sorted by a key; of equal keys the first row is found. In a folder with
tatami.manifest only the files whose key range contains the key are opened.")]
pub(crate) struct Lookup {
    /// File, or a collection
    uri: String,

    /// Value of the sort key
    #[arg(allow_hyphen_values = true)]
    key: String,

    /// Only these columns of the row [default: all]
    #[arg(long, value_name = "A,B")]
    columns: Option<Vec<Names>>,
}

/// Print rows by their numbers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tatami take crawl.tatami 17,4,100:103
  tess tatami take crawl.tatami 17 --columns url,title --json
  tess tatami take crawl.tatami 17 --blob body -o page.html")]
pub(crate) struct Take {
    /// File
    file: String,

    /// Row numbers from 0, and ranges lo:hi, half open; rows are printed in this order
    rows: String,

    /// Only these columns, in this order [default: all]
    #[arg(long, value_name = "A,B", conflicts_with = "blob")]
    columns: Option<Vec<Names>>,

    /// Write the raw bytes of this column of a single row
    #[arg(long, value_name = "COLUMN")]
    blob: Option<String>,

    /// Write to FILE instead of standard output
    #[arg(short, long = "out", value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
}

/// Maximum rows per call: they are kept in memory.
const MOST: u64 = 1_000_000;
/// Rows that are read together.
const AT_ONCE: usize = 1 << 16;

impl Lookup {
    pub(crate) fn run(&self, json: bool) -> Result<Outcome> {
        let location = tatami_location(&self.uri)?;
        let options = OpenOptions::default();
        let found = if location.name().ends_with(".manifest") || location.is_dir()? {
            self.in_collection(&Collection::open(&location, &options)?)?
        } else {
            let file = File::open(&location, &options)?;
            let row = file.lookup(&self.key_of(&file)?)?;
            row.map(|row| (file, None, row))
        };
        let Some((file, member, row)) = found else {
            if json {
                out::print_json(&json!({ "row": null }))?;
            } else {
                out::print("no row has this key\n")?;
            }
            return Ok(Outcome::Fine);
        };
        let columns = self.columns.as_deref().map(Names::all);
        let batch = types_of(&file)?.restore(&file.take(&[row], names(columns.as_ref()).as_deref())?)?;
        if json {
            let values = objects(&batch)?.into_iter().next();
            let mut object = json!({ "row": row, "values": values });
            if let (Some(member), Some(map)) = (&member, object.as_object_mut()) {
                map.insert("member".into(), member.as_str().into());
            }
            out::print_json(&object)?;
        } else {
            let place = member.map_or_else(String::new, |member| format!(" of {member}"));
            out::note(&format!("row {row}{place}"));
            render::print(Form::Table, &batch.schema(), &[batch], (None, false))?;
        }
        Ok(Outcome::Fine)
    }

    /// The key as it is stored.
    fn key_of(&self, file: &File) -> Result<Scalar> {
        let Some(column) = file.sort_key() else { return file.parse_key(&self.key) };
        types_of(file)?.parse(&column, &self.key)?.map_or_else(|| file.parse_key(&self.key), Ok)
    }

    fn in_collection(&self, collection: &Collection) -> Result<Option<(File, Option<String>, u64)>> {
        let Some(sorted) = collection.members().iter().find(|member| !member.sort_column.is_empty()) else {
            return Err(Error::invalid(format!("no file of '{}' is sorted by a key", self.uri))
                .hint("use 'tess cat --where' to search all rows"));
        };
        let key = self.key_of(&collection.open_member(sorted)?)?;
        let Some((path, row)) = collection.lookup(&key)? else { return Ok(None) };
        let member = collection.members().iter().find(|member| member.path == path);
        let member = member.ok_or_else(|| Error::internal("a member is not listed"))?;
        Ok(Some((collection.open_member(member)?, Some(path), row)))
    }
}

impl Take {
    pub(crate) fn run(&self, json: bool, resources: &ResourceArgs) -> Result<Outcome> {
        let rows = parse_rows(&self.rows)?;
        let driver = resources.driver()?;
        let file = File::open(&tatami_location(&self.file)?, &OpenOptions::default())?;
        if let Some(column) = &self.blob {
            return self.blob(&file, column, &rows, json);
        }
        let columns = self.columns.as_deref().map(Names::all);
        let (types, columns) = (types_of(&file)?, names(columns.as_ref()));
        let mut batches = rows.chunks(AT_ONCE).map(|rows| {
            driver.check_canceled()?;
            types.restore(&file.take(rows, columns.as_deref())?)
        });
        let first = match batches.next() {
            Some(first) => first?,
            None => types.restore(&file.take(&[], columns.as_deref())?)?,
        };
        if let (false, Some(Form::Stream(format))) = (json, self.form()?) {
            let target = out::target(self.output.as_deref(), self.force)?;
            let mut sink = forms::sink(format, target, first.schema(), &driver)?;
            sink.write(&first)?;
            batches.try_for_each(|batch| sink.write(&batch?))?;
            sink.finish()?;
            return Ok(Outcome::Fine);
        }
        let schema = first.schema();
        let mut all = vec![first];
        for batch in batches {
            all.push(batch?);
            let bytes: usize = all.iter().map(RecordBatch::get_array_memory_size).sum();
            if bytes as u64 > driver.budget().total() {
                return Err(Error::limit(format!("the rows need more than {bytes} bytes of memory"))
                    .suggest(
                        "use 'tess cat', which streams any number of rows, or raise {}",
                        [Action::Memory],
                    ));
            }
        }
        if json {
            let values = all.iter().map(objects).collect::<Result<Vec<_>>>()?;
            let rows: Vec<Value> = rows
                .iter()
                .zip(values.into_iter().flatten())
                .map(|(row, v)| json!({ "row": row, "values": v }))
                .collect();
            let text = serde_json::to_string_pretty(&json!({ "rows": rows }))
                .map_err(|e| Error::internal("a report is not JSON").source(e))?;
            out::print_to(self.output.as_deref(), self.force, &format!("{text}\n"))?;
        } else {
            render::print(Form::Table, &schema, &all, (self.output.as_deref(), self.force))?;
        }
        Ok(Outcome::Fine)
    }

    fn form(&self) -> Result<Option<Form>> {
        self.output.as_deref().map_or(Ok(None), Form::of_file)
    }

    fn blob(&self, file: &File, column: &str, rows: &[u64], json: bool) -> Result<Outcome> {
        let [row] = rows else {
            return Err(Error::invalid("--blob takes one row").hint("give its number"));
        };
        let batch = file.take(&[*row], Some(&[column]))?;
        let array = batch.column(0);
        let bytes = match (array.as_binary_opt::<i32>(), array.as_string_opt::<i32>()) {
            _ if array.is_null(0) => {
                return Err(Error::not_found(format!("row {row} has no value in '{column}'")));
            }
            (Some(binary), _) => binary.value(0),
            (_, Some(text)) => text.value(0).as_bytes(),
            _ => {
                return Err(Error::invalid(format!("column '{column}' contains neither blobs nor strings")));
            }
        };
        out::refuse_report(json && self.output.is_none())?;
        let mut target = out::target(self.output.as_deref(), self.force)?;
        target.write(bytes)?;
        target.commit()?;
        if json {
            out::print_json(&json!({ "row": row, "column": column, "bytes": bytes.len() }))?;
        }
        Ok(Outcome::Fine)
    }
}

/// The columns of a file that are stored in other types than they have.
fn types_of(file: &File) -> Result<StoredTypes> {
    Opener::new().open_at(file.location().clone())?.stored_types()
}

/// Single rows need no extra threads.
fn driver() -> Result<Driver> {
    Driver::try_new(&DriverOptions::default().with_threads(1))
}

fn names(columns: Option<&Vec<String>>) -> Option<Vec<&str>> {
    columns.map(|columns| columns.iter().map(String::as_str).collect())
}

/// `17,4,100:103`
fn parse_rows(text: &str) -> Result<Vec<u64>> {
    let refuse = || {
        Error::invalid(format!("'{text}' is not a list of rows")).hint("use numbers and ranges: 17,4,100:103")
    };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| refuse());
    let mut rows = Vec::new();
    for part in text.split(',') {
        let (start, end) = match part.split_once(':') {
            Some((start, end)) => (number(start)?, number(end)?),
            None => number(part).map(|row| (row, row.saturating_add(1)))?,
        };
        if end.saturating_sub(start).saturating_add(rows.len() as u64) > MOST {
            return Err(Error::limit(format!("more than {MOST} rows are requested"))
                .hint("'tess cat' streams any number of rows"));
        }
        rows.extend(start..end);
    }
    Ok(rows)
}

/// The rows as JSON objects, as `cat --as jsonl` writes them.
fn objects(batch: &RecordBatch) -> Result<Vec<Value>> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let out = Box::new(Memory(Arc::clone(&bytes)));
    let mut sink = forms::sink(&JsonLines, out, batch.schema(), &driver()?)?;
    sink.write(batch)?;
    sink.finish()?;
    let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
    let parse = |line: &[u8]| {
        serde_json::from_slice(line).map_err(|e| Error::internal("a row is not JSON").source(e))
    };
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect()
}

/// An in-memory output.
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Staged for Memory {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::internal("rows are written one after the other"))
    }

    fn position(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        Ok(self.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbers_and_half_open_ranges_in_the_order_given() {
        assert_eq!(parse_rows("17, 4,100:103").unwrap(), [17, 4, 100, 101, 102]);
        assert_eq!(parse_rows("5:5").unwrap(), [0u64; 0]);
        assert_eq!(parse_rows("9:3").unwrap(), [0u64; 0]);
        for bad in ["", "a", "1:", "-1", "1:2:3", "0:18446744073709551615"] {
            assert!(parse_rows(bad).is_err(), "{bad}");
        }
    }
}
