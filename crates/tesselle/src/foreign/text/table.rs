//! The table of a text file.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::{Buf, Bytes};
use rayon::prelude::*;
use tesselle_core::{
    ByteRange, Cost, Error, Known, Location, Plan, Predicate, Pushdown, Result, Scan, Step, Storage, Table,
    TableStats, Task,
};

use super::blocks::blocks;
use super::{BoxError, Decode, Syntax};

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// Records of a text file as rows.
pub(crate) struct TextTable<S> {
    location: Location,
    syntax: Arc<S>,
    schema: SchemaRef,
    blocks: Vec<Block>,
    rows: Known<u64>,
}

/// A stretch of whole records.
#[derive(Debug, Clone)]
struct Block {
    range: Range<u64>,
    first: bool,
    /// How many lines lie before it, taking a record for a line; unless the types were given.
    lines_before: Option<u64>,
}

impl<S: Syntax> TextTable<S> {
    /// Finds the columns: `types` gives those of some, all records tell the others.
    pub(crate) fn open(location: &Location, syntax: S, types: &[(String, DataType)]) -> Result<Self> {
        Self::look(location, syntax, types).map_err(|error| error.file(location.path()))
    }

    fn look(location: &Location, syntax: S, types: &[(String, DataType)]) -> Result<Self> {
        let ranges = blocks(location, &syntax)?;
        let head = ranges.first().map_or(Ok(Bytes::new()), |range| location.read_range(range.clone()))?;
        let names = syntax.names(&head).map_err(|error| refused(&syntax, &error, None))?;
        let given = |name: &String| types.iter().any(|(typed, _)| typed == name);
        let all_given = names.as_ref().is_some_and(|names| !names.is_empty() && names.iter().all(given));
        let mut blocks: Vec<Block> = ranges
            .into_iter()
            .enumerate()
            .map(|(number, range)| Block { range, first: number == 0, lines_before: None })
            .collect();
        let (mut found, mut rows) = (S::Found::default(), Known::Absent);
        if !all_given {
            let looked: Vec<_> = blocks
                .par_iter()
                .map(|block| Ok(syntax.infer(&location.read_range(block.range.clone())?, block.first)))
                .collect::<Result<_>>()?;
            let mut lines = 0;
            let header = u64::from(names.is_some());
            for (block, looked) in blocks.iter_mut().zip(looked) {
                block.lines_before = Some(lines + if block.first { 0 } else { header });
                let (own, records) = looked.map_err(|error| refused(&syntax, &error, block.lines_before))?;
                found = syntax.join(found, own);
                lines += records;
            }
            rows = Known::Exact(lines);
        }
        let has_names = names.is_some();
        let schema = syntax.schema(names.unwrap_or_default(), found);
        let mut schema = schema.map_err(|error| refused(&syntax, &error, None))?;
        if !has_names {
            // A column that no record has is one of nulls.
            let missing = types.iter().filter(|(name, _)| schema.index_of(name).is_err());
            let missing = missing.map(|(name, kind)| Field::new(name, kind.clone(), true));
            let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(missing);
            schema = Schema::new(fields.collect::<Vec<Field>>());
        }
        let schema = Arc::new(crate::foreign::with_types(&schema, types)?);
        Ok(Self { location: location.clone(), syntax: Arc::new(syntax), schema, blocks, rows })
    }
}

/// A parser refused. Its lines count from the beginning of what it was given.
fn refused(syntax: &impl Syntax, error: &BoxError, lines_before: Option<u64>) -> Error {
    let text = match lines_before {
        Some(before) => count_lines_on(&error.to_string(), before),
        None => error.to_string(),
    };
    Error::corrupt(format!("this {} file cannot be read: {text}", syntax.name()))
}

/// Adds `before` to the number behind each word `line`.
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

    fn pushdown(&self, _predicate: &Predicate) -> Pushdown {
        Pushdown::None
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        if scan.selection.is_some() {
            return Err(
                Error::invalid("slices apply to arrays, and this is none").hint("use --where instead")
            );
        }
        let columns = scan.column_indices(&self.schema)?;
        let task = |block: &Block| -> Box<dyn Task> {
            let size = block.range.end - block.range.start;
            Box::new(BlockTask {
                file: self.location.path().into(),
                syntax: Arc::clone(&self.syntax),
                schema: Arc::clone(&self.schema),
                columns: columns.clone(),
                rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
                block: block.clone(),
                // Numbers take more room as text than as themselves, and batches are given away one by one.
                cost: Cost { pieces: 1, bytes_in: size, memory: size.saturating_mul(2) },
                text: None,
            })
        };
        let tasks = self.blocks.iter().map(task).collect();
        Ok(Plan { tasks, pieces: self.blocks.len() as u64, pruned: 0 })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

/// Parses one block.
struct BlockTask<S> {
    file: Arc<str>,
    syntax: Arc<S>,
    schema: SchemaRef,
    columns: Vec<usize>,
    rows: usize,
    block: Block,
    cost: Cost,
    /// The parser and the text that is left.
    text: Option<(Box<dyn Decode>, Bytes)>,
}

impl<S: Syntax> BlockTask<S> {
    fn refused(&self, error: impl Into<BoxError>) -> Error {
        refused(&*self.syntax, &error.into(), self.block.lines_before)
            .file(&*self.file)
            .piece(format!("records from byte {}", self.block.range.start))
    }
}

impl<S: Syntax> Task for BlockTask<S> {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        if let Some(text) = fetched.into_iter().next() {
            let decoder = self.syntax.decoder(&self.schema, &self.columns, self.rows, self.block.first);
            self.text = Some((decoder.map_err(|error| self.refused(error))?, text));
        }
        let Some((decoder, text)) = &mut self.text else {
            return Ok(Step::Need(vec![ByteRange::new(Arc::clone(&self.file), self.block.range.clone())]));
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
