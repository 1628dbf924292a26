//! Cells with non-ASCII strings are written as the original engine writes them: same order, same MBRs, same non-empty
//! domain.

use std::path::Path;
use std::sync::Arc;

use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scan};

use super::array::ArrayWriter;
use super::consolidate::read_cells;
use super::schema_builder::NewSchema;
use super::sparse::SparseOptions;
use crate::meta::slots::Field;
use crate::open::Array;

#[test]
fn non_ascii_strings_are_ordered_as_by_the_original_engine() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/libtiledb-2.30.0");
    for case in ["str_beyond_ascii", "hilbert_beyond_ascii"] {
        let source = Location::local(data.join(case).join("array")).unwrap();
        let options = OpenOptions::default().with_text_as_binary(true);
        let table = crate::TileDb.open(&source, &options).unwrap().default_table().unwrap();
        let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
        let batches: Result<Vec<_>, _> = scan(&*table, &Scan::all(), &driver, Order::Plan).unwrap().collect();
        // Reversed, so that sorting has work to do.
        let batches: Vec<_> = batches.unwrap().iter().map(reversed).collect();
        let theirs = Array::open(&source, &options).unwrap();
        let target = Location::new(Arc::new(MemoryStorage::new()), "array");
        let new = NewSchema { schema: (*theirs.schema).clone(), enumerations: Vec::new() };
        let writer = ArrayWriter::create(&target, &new, None, None).unwrap();
        writer.write_sparse(&batches, &SparseOptions::default()).unwrap();
        let ours = Array::open(&target, &options).unwrap();
        let (a, b) = (&theirs.fragments[0], &ours.fragments[0]);
        assert_eq!(a.rtree().unwrap(), b.rtree().unwrap(), "{case}");
        assert_eq!(a.footer.non_empty_domain, b.footer.non_empty_domain, "{case}");
        assert_eq!(a.tiles, b.tiles);
        for field in [Field::Dimension(0), Field::Dimension(1), Field::Attribute(0)] {
            for tile in 0..a.tiles {
                let cells = |array, fragment| read_cells(array, fragment, field, tile, a.cells_of(tile));
                let (theirs, ours) = (cells(&theirs, a).unwrap(), cells(&ours, b).unwrap());
                assert_eq!(
                    (theirs.data, theirs.offsets),
                    (ours.data, ours.offsets),
                    "{case} {field:?} tile {tile}"
                );
            }
        }
    }
}

fn reversed(batch: &arrow_array::RecordBatch) -> arrow_array::RecordBatch {
    let rows = arrow_array::UInt32Array::from_iter_values((0..batch.num_rows() as u32).rev());
    arrow_select::take::take_record_batch(batch, &rows).unwrap()
}
