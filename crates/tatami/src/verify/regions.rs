//! Checks blob runs and dictionaries. `search` checks the inverted index.

use tesselle_core::{Context, Depth, Driver, Result};

use super::Findings;
use crate::open::File;
use crate::read::blob::BlobIndex;

pub(super) fn check(file: &File, depth: Depth, driver: &Driver, out: &mut Findings) -> Result<()> {
    dictionaries(file, out);
    blobs(file, depth, driver, out)
}

fn dictionaries(file: &File, out: &mut Findings) {
    for number in 1..=file.footer().dictionaries.len() as u64 {
        out.pieces += 1;
        if let Err(error) = file.content_dictionary(number) {
            out.error(&error);
        }
    }
    for dictionary in &file.footer().extension.dictionaries {
        out.pieces += 1;
        let column = usize::try_from(dictionary.column).unwrap_or(usize::MAX);
        if let Err(error) = file.load_value_dictionary(column) {
            out.error(&error);
        }
    }
}

fn blobs(file: &File, depth: Depth, driver: &Driver, out: &mut Findings) -> Result<()> {
    for blob in &file.footer().blobs {
        let Ok(column) = usize::try_from(blob.column) else { continue };
        let Ok(index) = BlobIndex::try_new(file, column) else { continue };
        let checked = driver
            .try_map(0..blob.runs.len(), |run| Ok(check_run(file, &index, column, run, depth).err()))?;
        out.pieces += blob.runs.len() as u64;
        for error in checked.iter().flatten() {
            out.error(error);
        }
    }
    Ok(())
}

fn check_run(file: &File, index: &BlobIndex, column: usize, run: usize, depth: Depth) -> Result<()> {
    let piece = || format!("column {column}, blob run {run}");
    let range = index.range(run, file).in_piece(piece)?;
    if depth == Depth::Deep {
        let bytes = file.read(range.start, range.end - range.start)?;
        let decoded = index.decode(run, &bytes, file)?;
        return index.check_count(run, decoded.len()).at_offset(range.start).in_piece(piece);
    }
    let (record, stored) = file.record(range.start).in_piece(piece)?;
    record.check(&stored, range.start).in_piece(piece)
}
