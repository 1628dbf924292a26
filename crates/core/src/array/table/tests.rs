use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use bytes::Bytes;

use super::*;
use crate::array::{Answer, Ask, DType, Place, read_region};
use crate::driver::{Driver, DriverOptions, Order, scan};
use crate::storage::MemoryStorage;
use crate::task::ByteRange;
use crate::testing::{CountingStorage, TiledArray, read_all, table_conformance};

fn driver() -> Driver {
    Driver::try_new(&DriverOptions { threads: Some(2), memory: None }).unwrap()
}

fn column(name: &str, array: impl ArrayView + 'static) -> GridColumn {
    GridColumn { name: name.to_owned(), array: Arc::new(array), is_bool: false }
}

fn counted(shape: &[u64], tile: &[u64]) -> TiledArray {
    let cells: Vec<u8> = (0..shape.iter().product::<u64>() as u32).flat_map(u32::to_le_bytes).collect();
    TiledArray::try_new(DType::U32, shape, tile, &cells).unwrap()
}

#[test]
fn arrays_of_one_shape_form_a_conforming_table_regardless_of_tiles() {
    let storage = MemoryStorage::new();
    let shape = [7, 5, 3];
    let columns = vec![
        column("raw", counted(&shape, &[2, 5, 3]).stored_in(&storage, "a")),
        column("encoded", counted(&shape, &[3, 2, 2]).stored_in(&storage, "b").decoded()),
        column("held", counted(&shape, &[7, 1, 1])),
        GridColumn {
            is_bool: true,
            ..column(
                "flag",
                TiledArray::try_new(DType::U8, &shape, &[4, 4, 4], &[1, 0, 2].repeat(35)).unwrap(),
            )
        },
    ];
    let table = GridTable::try_new("*", columns, Arc::new(storage)).unwrap();
    table_conformance(&table, &driver());
    let rows = read_all(&table, &Scan::all().filter("flag AND raw >= 100".parse().unwrap()), &driver());
    assert_eq!(rows.column(3).as_primitive::<UInt32Type>().values(), &[101, 102, 104]);
    assert_eq!(rows.column(2).as_primitive::<Int64Type>().values(), &[2, 0, 2]);
}

#[test]
fn arrays_of_different_shapes_are_refused() {
    let columns = vec![column("a", counted(&[2, 3], &[2, 3])), column("b", counted(&[3, 2], &[2, 3]))];
    assert!(GridTable::try_new("*", columns, Arc::new(MemoryStorage::new())).is_err());
}

#[test]
fn conditions_on_axes_prune_tiles() {
    let column = column("value", counted(&[10_000, 1000], &[100, 1000]));
    let table = GridTable::try_new("", vec![column], Arc::new(MemoryStorage::new())).unwrap();
    let run = |text: &str, limit: Option<u64>| {
        let query = Scan { predicate: Some(text.parse().unwrap()), limit, ..Scan::default() };
        let plan = table.plan(&query).unwrap();
        let rows = scan(&table, &query, &driver(), Order::Plan).unwrap();
        (plan.pieces, plan.pruned, rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>())
    };
    assert_eq!(run("axis_0 >= 1990 AND axis_0 < 2010 AND axis_1 = 5", None), (100, 98, 20));
    assert_eq!(run("value > 9999990", Some(3)), (100, 0, 3));
    assert_eq!(run("axis_0 = 5 OR axis_0 = 9999", None), (100, 98, 2000));
}

#[test]
fn columns_are_fetched_only_where_a_row_passes() {
    let memory = MemoryStorage::new();
    let columns = vec![
        column("a", counted(&[64, 64], &[64, 64]).stored_in(&memory, "a").decoded()),
        column("b", counted(&[64, 64], &[32, 64]).stored_in(&memory, "b").decoded()),
    ];
    let storage = Arc::new(CountingStorage::new(Arc::new(memory)));
    let table = GridTable::try_new("", columns, Arc::clone(&storage) as Arc<dyn Storage>).unwrap();
    let read = |text: &str| {
        let before = storage.counts().bytes_read;
        let rows = read_all(&table, &Scan::all().filter(text.parse().unwrap()), &driver()).num_rows();
        (rows, storage.counts().bytes_read - before)
    };
    let size = 64 * 64 * 4;
    assert_eq!(read("a > 9000"), (0, size));
    assert_eq!(read("a = 9"), (1, 2 * size));
    // Counting rows by their axes reads nothing.
    let before = storage.counts().bytes_read;
    let axes =
        read_all(&table, &Scan::all().columns(["axis_1"]).filter("axis_0 = 3".parse().unwrap()), &driver());
    assert_eq!((axes.num_rows(), storage.counts().bytes_read), (64, before));
}

/// Tiles in separate files, found by a size and an index in the first byte; a missing file is all 7.
struct Indexed {
    inner: TiledArray,
    storage: Arc<dyn Storage>,
}

impl ArrayView for Indexed {
    fn dtype(&self) -> DType {
        self.inner.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn tile_shape(&self) -> &[u64] {
        self.inner.tile_shape()
    }

    fn axis_names(&self) -> &[String] {
        self.inner.axis_names()
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(&self.storage))
    }

    fn locate(&self, tile: &[u64], _rows: &Range<u64>) -> Result<Place> {
        Ok(Place::Ask(Ask::Size(format!("{}", tile[0] / 2).into())))
    }

    fn locate_with(&self, tile: &[u64], _rows: &Range<u64>, ask: &Ask, answer: &Answer) -> Result<Place> {
        match ask {
            Ask::Size(file) => Ok(answer.size()?.map_or(Place::Fill, |size| {
                Place::Ask(Ask::Bytes(ByteRange::new(Arc::clone(file), size - 1..size)))
            })),
            Ask::Bytes(ByteRange { file, .. }) => {
                let start = u64::from(answer.bytes()?[0]) + tile[0] % 2 * 2;
                Ok(Place::Encoded(vec![ByteRange::new(Arc::clone(file), start..start + 2)]))
            }
        }
    }

    fn decode(&self, _tile: &[u64], _rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        dst.copy_from_slice(&fetched[0]);
        Ok(())
    }

    fn fill(&self) -> &[u8] {
        &[7]
    }
}

#[test]
fn tiles_are_found_by_questions_that_are_asked_once() {
    let memory = MemoryStorage::new();
    memory.put("0", vec![99, 1, 2, 3, 4, 1]);
    memory.put("2", vec![9, 10, 11, 12, 0]);
    let storage = Arc::new(CountingStorage::new(Arc::new(memory)));
    let inner = TiledArray::try_new(DType::U8, &[12], &[2], &[0; 12]).unwrap();
    let array = Arc::new(Indexed { inner, storage: Arc::clone(&storage) as Arc<dyn Storage> });
    let want = [1, 2, 3, 4, 7, 7, 7, 7, 9, 10, 11, 12];
    let mut cells = [0; 12];
    let region = Region::whole(&[12]);
    read_region(&*array, &region, &mut cells, &driver()).unwrap();
    assert_eq!(cells, want);
    // Two files have an index and tiles that are fetched together.
    assert_eq!(storage.counts().requests, 4);
    let column = GridColumn { name: "value".into(), array, is_bool: false };
    let table = GridTable::try_new("", vec![column], Arc::clone(&storage) as Arc<dyn Storage>).unwrap();
    let rows = read_all(&table, &Scan::all(), &driver());
    assert_eq!(rows.column(1).as_primitive::<arrow_array::types::UInt8Type>().values(), &want);
    assert_eq!(storage.counts().requests, 8);
}
