//! Endless writes, meant to be killed: `interop churn FOLDER dense|sparse FIRST`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use tesselle_core::{Error, Location};
use tesselle_tiledb::write::{ArrayWriter, CellOrder, Consolidation, SchemaBuilder, SparseOptions, Vacuum};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension};

use crate::Result;

const CELLS: i32 = 2000;

/// Sets every cell to the number of the round, prints each round before it starts, and consolidates and vacuums now and
/// then.
pub(crate) fn run(folder: &Path, sparse: bool, first: i32) -> Result {
    let place = Location::local(folder)?;
    let array = if folder.join("__schema").exists() {
        ArrayWriter::open(&place, None)?
    } else {
        let builder = if sparse { SchemaBuilder::sparse().capacity(100) } else { SchemaBuilder::dense() };
        let axis = Dimension::new("x", Datatype::Int32, 0, CELLS - 1, 100);
        let schema = builder.dimension(axis).attribute(Attribute::new("a", Datatype::Int32)).build()?;
        ArrayWriter::create(&place, &schema, None, Some(1))?
    };
    let column = |values: Vec<i32>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
    for round in first.. {
        announce(round)?;
        let values = column(vec![round; CELLS as usize]);
        let timestamp = u64::try_from(round).ok().map(|round| round + 10);
        if sparse {
            let coordinates = column((0..CELLS).collect());
            let batch = RecordBatch::try_from_iter([("x", coordinates), ("a", values)])?;
            array.write_sparse(&[batch], &SparseOptions::default().with_timestamp(timestamp))?;
        } else {
            let all = Bounds { low: 0.into(), high: (CELLS - 1).into() };
            let batch = RecordBatch::try_from_iter([("a", values)])?;
            array.write_dense(&[all], &batch, CellOrder::RowMajor, timestamp)?;
        }
        if round % 3 == 0 {
            array.consolidate(&Consolidation::default())?;
            array.vacuum(Vacuum::Fragments)?;
            array.consolidate_commits()?;
            array.vacuum(Vacuum::Commits)?;
        }
    }
    Ok(())
}

fn announce(round: i32) -> Result {
    let mut out = std::io::stdout();
    let printed = writeln!(out, "{round}").and_then(|()| out.flush());
    printed.map_err(|e| Error::io("cannot print the round", e))
}
