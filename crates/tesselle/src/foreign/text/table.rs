//! The table of a text file.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::{Buf, Bytes};
use tesselle_core::driver::{Progress, parallel};
use tesselle_core::{
    ByteRange, Context, Cost, Error, Known, Location, OpenOptions, Plan, Result, Scan, Step, Storage, Table,
    TableStats, Task,
};

use super::blocks::blocks;
use super::decimals::Decimals;
use super::joined::joined;
use super::{BoxError, Decode, Syntax};
use crate::foreign::no_axes;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// Records of text files with the same columns as rows.
pub(crate) struct TextTable<S> {
    storage: Arc<dyn Storage>,
    syntax: Arc<S>,
    schema: SchemaRef,
    blocks: Vec<Block>,
    rows: Known<u64>,
}

/// A range of whole records.
#[derive(Debug, Clone)]
struct Block {
    file: Location,
    range: Range<u64>,
    /// Whether it starts its file.
    first: bool,
    /// The number of lines before it, counting a record as a line; `None` if the types were given.
    lines_before: Option<u64>,
}

impl<S: Syntax> TextTable<S> {
    /// Finds the columns: the options give the types of some, all records of all files those of the others.
    pub(crate) fn open(files: &[Location], syntax: S, options: &OpenOptions) -> Result<Self> {
        let types = &options.types;
        let Some(first) = files.first() else { return Err(Error::not_found("no file is named")) };
        let mut names = None;
        let mut all = Vec::new();
        for file in files {
            let ranges = blocks(file, &syntax, &options.cancel).in_file(file.path())?;
            let head = ranges.first().map_or(Ok(Bytes::new()), |range| file.read_range(range.clone()));
            let own = syntax.names(&head.in_file(file.path())?);
            let own = own.map_err(|error| refused(&syntax, &error, None).file(file.path()))?;
            if names.get_or_insert_with(|| own.clone()) != &own {
                let text = format!("'{}' has different columns than '{}'", file.path(), first.path());
                return Err(Error::invalid(text)
                    .hint("query files with different columns one by one, and UNION or join them"));
            }
            all.extend(ranges.into_iter().enumerate().map(|(number, range)| Block {
                file: file.clone(),
                range,
                first: number == 0,
                lines_before: None,
            }));
        }
        let names = names.flatten();
        if names.as_ref().is_some_and(Vec::is_empty) {
            // Empty lines alone are no records.
            all.clear();
        }
        let mut table = Self {
            storage: joined(files, first),
            syntax: Arc::new(syntax),
            schema: Arc::new(Schema::empty()),
            blocks: all,
            rows: Known::Absent,
        };
        let given = |name: &String| types.iter().any(|(typed, _)| typed == name);
        let all_given = names.as_ref().is_some_and(|names| !names.is_empty() && names.iter().all(given));
        let found = if all_given { S::Inferred::default() } else { table.look(options)? };
        table.schema = table.typed(names, found, types).in_file(first.path())?;
        Ok(table)
    }

    /// Looks at every record, and counts them.
    fn look(&mut self, options: &OpenOptions) -> Result<S::Inferred> {
        options.progress.expect(self.blocks.iter().map(|block| block.range.end - block.range.start).sum());
        let looked: Vec<_> = parallel::try_map(&self.blocks, |block| {
            options.cancel.check()?;
            let text = block.file.read_range(block.range.clone()).in_file(block.file.path())?;
            let found = self.syntax.infer(&text, block.first);
            options.progress.advance(block.range.end - block.range.start);
            Ok::<_, Error>(found)
        })?;
        let (mut found, mut rows, mut lines) = (S::Inferred::default(), 0, 0);
        for (block, looked) in self.blocks.iter_mut().zip(looked) {
            if block.first {
                lines = 0;
            }
            block.lines_before = Some(lines);
            let refused = |error| refused(&*self.syntax, &error, block.lines_before).file(block.file.path());
            let (own, records) = looked.map_err(refused)?;
            found = self.syntax.join(found, own);
            rows += records;
            lines += records + if block.first { self.syntax.header_lines() } else { 0 };
        }
        self.rows = Known::Exact(rows);
        Ok(found)
    }

    /// The columns with their inferred types, overridden by the given types.
    fn typed(
        &self,
        names: Option<Vec<String>>,
        found: S::Inferred,
        types: &[(String, DataType)],
    ) -> Result<SchemaRef> {
        let has_names = names.is_some();
        let schema = self.syntax.schema(names.unwrap_or_default(), found);
        let mut schema = schema.map_err(|error| refused(&*self.syntax, &error, None))?;
        if !has_names {
            // A column that no record has is a column of nulls.
            let missing = types.iter().filter(|(name, _)| schema.index_of(name).is_err());
            let missing = missing.map(|(name, kind)| Field::new(name, kind.clone(), true));
            let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(missing);
            schema = Schema::new(fields.collect::<Vec<Field>>());
        }
        Ok(Arc::new(crate::foreign::with_types(&schema, types)?))
    }
}

/// A parser error. Its line numbers are relative to its input.
fn refused(syntax: &impl Syntax, error: &BoxError, lines_before: Option<u64>) -> Error {
    let text = match lines_before {
        Some(before) => count_lines_on(&error.to_string(), before),
        None => error.to_string(),
    };
    let refused = Error::corrupt(format!("the {} file cannot be read: {text}", syntax.name()));
    if text.contains("UTF-8") || text.contains("utf-8") {
        return refused
            .hint("convert it to UTF-8 first, e.g. with iconv -f LATIN1 (or UTF-16) -t UTF-8 FILE");
    }
    refused
}

/// Adds `before` to the number after each word `line`.
fn count_lines_on(message: &str, before: u64) -> String {
    let mut out = String::with_capacity(message.len() + 8);
    for (i, part) in message.split("line ").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(if i == 0 { 0 } else { digits });
        out.push_str(if i == 0 { "" } else { "line " });
        match number.parse::<u64>() {
            Ok(number) => out.push_str(&number.saturating_add(before).to_string()),
            Err(_) => out.push_str(number),
        }
        out.push_str(rest);
    }
    out
}

impl<S: Syntax> Table for TextTable<S> {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        TableStats { rows: self.rows.clone(), ..TableStats::default() }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        no_axes(scan)?;
        let columns = scan.column_indices(&self.schema)?;
        let task = |block: &Block| -> Box<dyn Task> {
            let size = block.range.end - block.range.start;
            Box::new(BlockTask {
                syntax: Arc::clone(&self.syntax),
                schema: Arc::clone(&self.schema),
                columns: columns.clone(),
                rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
                block: block.clone(),
                // Numbers take more space as text than decoded, and batches are returned one by one.
                cost: Cost { pieces: 1, bytes_in: size, memory: size.saturating_mul(2), rows: 0 },
                text: None,
            })
        };
        let tasks = self.blocks.iter().map(task).collect();
        Ok(Plan { tasks, pieces: self.blocks.len() as u64, pruned: 0 })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }
}

/// Parses one block.
struct BlockTask<S> {
    syntax: Arc<S>,
    schema: SchemaRef,
    columns: Vec<usize>,
    rows: usize,
    block: Block,
    cost: Cost,
    /// The parser and the remaining input.
    text: Option<(Box<dyn Decode>, Bytes)>,
}

impl<S: Syntax> BlockTask<S> {
    /// The parser of the block, which gets whether it is the first.
    fn decoder(&self, block: (&[u8], bool)) -> Result<Box<dyn Decode>, BoxError> {
        match Decimals::parsed(&self.schema) {
            None => self.syntax.decoder(&self.schema, &self.columns, self.rows, block),
            Some(parsed) => {
                let inner = self.syntax.decoder(&parsed, &self.columns, self.rows, block)?;
                Ok(Box::new(Decimals::new(Arc::new(self.schema.project(&self.columns)?), inner)))
            }
        }
    }

    fn refused(&self, error: impl Into<BoxError>) -> Error {
        refused(&*self.syntax, &error.into(), self.block.lines_before)
            .file(self.block.file.path())
            .piece(format!("records from byte {}", self.block.range.start))
    }
}

impl<S: Syntax> Task for BlockTask<S> {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        if let Some(text) = fetched.into_iter().next() {
            let block = (&text[..], self.block.first);
            let decoder = self.decoder(block).map_err(|error| self.refused(error))?;
            self.text = Some((decoder, text));
        }
        let Some((decoder, text)) = &mut self.text else {
            return Ok(Step::Need(vec![ByteRange::new(self.block.file.path(), self.block.range.clone())]));
        };
        let mut next = || {
            loop {
                let taken = decoder.decode(text)?;
                if taken == 0 {
                    return decoder.flush();
                }
                text.advance(taken);
            }
        };
        match next() {
            Ok(Some(batch)) => Ok(Step::Batch(batch)),
            Ok(None) => Ok(Step::Done),
            Err(error) => Err(self.refused(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_the_beginning_of_the_file() {
        let message = "the outline of line 3, and line x: line 10";
        assert_eq!(count_lines_on(message, 100), "the outline of line 103, and line x: line 110");
    }
}
