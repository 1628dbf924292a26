//! Merges members into one file in bounded memory: sorted inputs are merged by key, others are concatenated,
//! and search segments are combined.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;
use tesselle_core::driver::{Order, Rows, scan};
use tesselle_core::storage::Lock;
use tesselle_core::{Action, At, Driver, Error, Location, Result, Scan, Sink, Summary};

use super::catalog::{Collection, LOCK_WAIT};
use super::manifest::Edit;
use super::member::{Member, check_path};
use crate::meta::types::LogicalType;
use crate::open::File;
use crate::scalars::{binary_at, dispatch};
use crate::search::{Segment, combine, is_segment};
use crate::table::FileTable;
use crate::write::options::{Profile, WriterOptions};
use crate::write::writer::Writer;

/// Rows collected before they are passed to the writer.
const BATCH_ROWS: usize = 8192;

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The new member.
    pub member: Member,
    /// The summary of the write.
    pub summary: Summary,
}

impl Collection {
    /// Merges members (`inputs`; empty for all) into the new file `output` and replaces them in the manifest;
    /// the input files stay on disk. Rows are sorted by the sort key if there is one, equal keys in the order
    /// of `inputs`.
    ///
    /// Search segments become one search segment without the deleted documents. Columns and their roles are
    /// those of the inputs; metadata is kept if all inputs agree on it.
    pub fn merge(
        &mut self,
        inputs: &[&str],
        output: &str,
        options: WriterOptions,
        overwrite: bool,
        driver: &Driver,
    ) -> Result<Merged> {
        check_path(output)?;
        if options.sort_key.is_some() || !options.bloom.is_empty() || !options.blobs.is_empty() {
            return Err(Error::invalid("a merge takes sort key, bloom filters and blobs from its inputs")
                .suggest("omit these settings, or use {}", [Action::Convert]));
        }
        let lock = self.lock()?;
        let members = match inputs {
            [] => self.members().to_vec(),
            named => named.iter().map(|path| self.find(path).cloned()).collect::<Result<Vec<_>>>()?,
        };
        if self.members().iter().any(|member| member.path == output) {
            return Err(Error::invalid(format!("'{output}' is a member of the collection"))
                .hint("choose a new file for the result"));
        }
        // Lock the inputs during the merge: documents deleted meanwhile would reappear.
        let _inputs = self.lock_files(&members)?;
        let target = self.location().join(output);
        let summary = self.write_merged(&members, &target, options, overwrite, driver)?;
        let member = Member::of(&File::open(&target, self.options())?, output);
        let mut edits = vec![Edit::Add(member.clone())];
        edits.extend(members.iter().map(|m| Edit::Remove(m.uuid)));
        self.commit(&lock, &edits)?;
        Ok(Merged { member, summary })
    }

    fn lock_files(&self, members: &[Member]) -> Result<Vec<Lock>> {
        // Always in the same order, to avoid deadlocks between processes.
        let paths: BTreeSet<&str> = members.iter().map(|member| member.path.as_str()).collect();
        paths.into_iter().map(|path| self.location().join(path).lock(LOCK_WAIT)).collect()
    }

    fn write_merged(
        &self,
        members: &[Member],
        target: &Location,
        options: WriterOptions,
        overwrite: bool,
        driver: &Driver,
    ) -> Result<Summary> {
        let files = members.iter().map(|member| self.open_member(member)).collect::<Result<Vec<_>>>()?;
        let Some(first) = files.first() else {
            return Err(Error::invalid("a merge needs at least one input"));
        };
        if let Some(other) = files.iter().find(|file| file.footer().schema != first.footer().schema) {
            return Err(
                Error::invalid("the inputs of a merge have different columns").file(other.path().to_string())
            );
        }
        let options = inherit(&files, options);
        if !files.iter().any(is_segment) {
            let schema = first.footer().schema.clone();
            let writer = Writer::with_schema(target, schema, &first.schema(), options, overwrite, driver)?;
            return merge_files(&files, Box::new(writer), driver);
        }
        if let Some(plain) = files.iter().find(|file| !is_segment(file)) {
            return Err(Error::invalid("a search segment cannot be merged with a file that has no index")
                .file(plain.path().to_string())
                .suggest("build a segment of it with {}, or name the files to merge", [Action::Index]));
        }
        let segments = files
            .iter()
            .map(|file| Segment::open_whole(file.location(), self.options()))
            .collect::<Result<Vec<_>>>()?;
        combine(&segments, target, options, overwrite, driver)
    }
}

/// Properties of the inputs that the options do not set.
fn inherit(files: &[File], mut options: WriterOptions) -> WriterOptions {
    if files.iter().any(|file| file.footer().extension.features != 0) {
        options.profile = Profile::Extended;
    }
    let mut pairs = common_metadata(files);
    pairs.retain(|(key, _)| options.metadata.iter().all(|(given, _)| given != key));
    options.metadata.extend(pairs);
    options
}

/// The pairs that all files have in common.
pub(crate) fn common_metadata(files: &[File]) -> Vec<(String, String)> {
    let mut files = files.iter().map(|file| &file.footer().key_value);
    let Some(first) = files.next() else { return Vec::new() };
    let mut pairs = first.clone();
    files.for_each(|others| pairs.retain(|pair| others.contains(pair)));
    let string = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    pairs.into_iter().map(|(key, value)| (string(key), string(value))).collect()
}

fn merge_files(files: &[File], mut sink: Box<dyn Sink>, driver: &Driver) -> Result<Summary> {
    let key = files.first().and_then(|f| f.footer().schema.sort_key());
    let rows = |file: &File| scan(&FileTable::try_new(file.clone())?, &Scan::all(), driver, Order::Plan);
    let Some(key) = key else {
        for file in files {
            for batch in rows(file)? {
                sink.write(&batch?)?;
            }
        }
        return sink.finish();
    };
    let logical = files
        .first()
        .and_then(|f| f.footer().schema.fields.get(key))
        .map_or(LogicalType::Bytes, |f| f.logical);
    let mut inputs = Vec::with_capacity(files.len());
    for file in files {
        inputs.push(Input::start(rows(file)?, key, logical)?);
    }
    let schema = files.first().map(File::schema).ok_or_else(|| Error::internal("a merge without inputs"))?;
    loop {
        let picks = pick(&mut inputs);
        if picks.is_empty() {
            return sink.finish();
        }
        sink.write(&gather(&schema, &inputs, &picks)?)?;
        for input in &mut inputs {
            input.refill()?;
        }
    }
}

/// A sorted input: its current batch and the position in it.
struct Input {
    rows: Rows,
    column: usize,
    logical: LogicalType,
    batch: Option<RecordBatch>,
    keys: Keys,
    at: usize,
}

impl Input {
    fn start(rows: Rows, column: usize, logical: LogicalType) -> Result<Self> {
        let mut input = Self { rows, column, logical, batch: None, keys: Keys::Numbers(Vec::new()), at: 0 };
        input.refill()?;
        Ok(input)
    }

    /// Reads the next batch once the current one is consumed.
    fn refill(&mut self) -> Result<()> {
        while self.batch.as_ref().is_none_or(|b| self.at >= b.num_rows()) {
            let Some(batch) = self.rows.next().transpose()? else {
                self.batch = None;
                return Ok(());
            };
            let array = batch
                .columns()
                .get(self.column)
                .ok_or_else(|| Error::internal("the sort key is not a column"))?;
            self.keys = Keys::of(array, self.logical)?;
            self.batch = Some(batch);
            self.at = 0;
        }
        Ok(())
    }

    fn key(&self) -> Option<Key<'_>> {
        let batch = self.batch.as_ref().filter(|b| self.at < b.num_rows())?;
        let _ = batch;
        self.keys.get(self.at)
    }
}

/// The keys of a batch in a form that compares quickly.
enum Keys {
    /// Numbers of any type, mapped to integers of the same order.
    Numbers(Vec<i128>),
    Bytes(ArrayRef),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Number(i128),
    Bytes(&'a [u8]),
}

impl Keys {
    fn of(array: &ArrayRef, logical: LogicalType) -> Result<Self> {
        if array.null_count() > 0 {
            return Err(Error::invalid("a sort key with nulls cannot be merged"));
        }
        let wrong = || Error::internal("a sort key of an unexpected type");
        macro_rules! numbers {
            ($type:ty) => {
                array
                    .as_primitive_opt::<$type>()
                    .ok_or_else(wrong)?
                    .values()
                    .iter()
                    .map(|v| v.ordered())
                    .collect()
            };
        }
        Ok(Self::Numbers(dispatch!(
            logical,
            numbers,
            match logical {
                LogicalType::Bool =>
                    array.as_boolean_opt().ok_or_else(wrong)?.values().iter().map(i128::from).collect(),
                _ => return Ok(Self::Bytes(Arc::clone(array))),
            }
        )))
    }

    fn get(&self, row: usize) -> Option<Key<'_>> {
        match self {
            Self::Numbers(numbers) => numbers.get(row).copied().map(Key::Number),
            Self::Bytes(array) => (row < array.len()).then(|| Key::Bytes(binary_at(array.as_ref(), row))),
        }
    }
}

/// A number as an integer with the same order.
trait Ordered {
    fn ordered(self) -> i128;
}

macro_rules! ordered {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            fn ordered(self) -> i128 {
                i128::from(self)
            }
        }
    )*};
}
ordered!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Ordered for f64 {
    fn ordered(self) -> i128 {
        // Zeros of both signs are the same key; the order of negative numbers is the reverse of that of their
        // bits.
        let bits = (self + 0.0).to_bits() as i64;
        i128::from(if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits })
    }
}

impl Ordered for f32 {
    fn ordered(self) -> i128 {
        f64::from(self).ordered()
    }
}

/// Takes rows in key order until a batch is full or an input must be refilled.
fn pick(inputs: &mut [Input]) -> Vec<(usize, usize)> {
    let mut picks = Vec::new();
    while picks.len() < BATCH_ROWS {
        let mut least: Option<(usize, Key<'_>)> = None;
        for (i, input) in inputs.iter().enumerate() {
            if let Some(key) = input.key()
                && least.as_ref().is_none_or(|(_, smallest)| key < *smallest)
            {
                least = Some((i, key));
            }
        }
        let Some((i, _)) = least else { break };
        let Some(input) = inputs.get_mut(i) else { break };
        picks.push((i, input.at));
        input.at += 1;
        // Its next row is in the next batch: the order is unknown until that is read.
        if input.batch.as_ref().is_some_and(|b| input.at >= b.num_rows()) {
            break;
        }
    }
    picks
}

fn gather(schema: &SchemaRef, inputs: &[Input], picks: &[(usize, usize)]) -> Result<RecordBatch> {
    // Only inputs that rows are taken from are certain to have a batch.
    let mut slots = vec![usize::MAX; inputs.len()];
    let mut batches: Vec<&RecordBatch> = Vec::new();
    let mut places = Vec::with_capacity(picks.len());
    for (input, row) in picks {
        let slot = slots.at_mut(*input)?;
        if *slot == usize::MAX {
            let batch = inputs.at(*input)?.batch.as_ref();
            batches.push(batch.ok_or_else(|| Error::internal("a row of an input without a batch"))?);
            *slot = batches.len() - 1;
        }
        places.push((*slot, *row));
    }
    let columns = (0..schema.fields().len()).map(|column| {
        let sources: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        Ok(interleave(&sources, &places)?)
    });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<Vec<_>>>()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order_as_integers() {
        let sorted =
            [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, -0.0, f64::MIN_POSITIVE, 2.0, f64::INFINITY];
        assert!(sorted.windows(2).all(|w| w[0].ordered() < w[1].ordered()));
        assert_eq!((-0.0f64).ordered(), 0.0f64.ordered());
    }
}
