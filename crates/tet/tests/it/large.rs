//! Files with a large index, whose rows are read as they are needed.

use std::sync::Arc;

use tesselle_core::array::read_region;
use tesselle_core::driver::{Order, scan};
use tesselle_core::reduce::{ReduceOp, reduce};
use tesselle_core::storage::LocalStorage;
use tesselle_core::{Container, DType, Depth, Driver, Location, OpenOptions, Region, Report, Scan, Span};
use tesselle_tet::{Codec, DatasetSpec, File, Writer, WriterOptions};

use crate::golden::{driver, open_bytes, tensor};

const SIDE: u64 = 110;
const ROW: usize = 104;

/// A file of three datasets, two of them with a chunk per cell, and its bytes.
struct Large {
    _folder: tempfile::TempDir,
    location: Location,
}

impl Large {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.tet");
        let location = Location::new(Arc::new(LocalStorage::new()), path.to_str().unwrap());
        let specs = [
            DatasetSpec::new("cells", DType::U16, [SIDE, SIDE]).chunk_shape([1, 1]),
            DatasetSpec::new("none", DType::U8, [0]),
            DatasetSpec::new("packed", DType::U8, [3, 300]).chunk_shape([1, 4]).codec(Codec::Zstd),
        ];
        let mut writer = Writer::create(&location, &specs, WriterOptions::default(), &driver()).unwrap();
        let cells: Vec<u8> = (0..(SIDE * SIDE) as u16).flat_map(|i| (i % 997).to_le_bytes()).collect();
        writer.push_rows(0, &cells).unwrap();
        writer.push_rows(2, &(0..900_u32).map(|i| i as u8).collect::<Vec<u8>>()).unwrap();
        writer.finish().unwrap();
        Self { _folder: folder, location }
    }

    fn open(&self) -> File {
        File::open(
            &Location::new(Arc::new(LocalStorage::new()), self.location.path()),
            &OpenOptions::default(),
        )
        .unwrap()
    }

    /// The same file from memory, where the index is read by `open`.
    fn in_memory(&self) -> tesselle_core::Result<File> {
        open_bytes(self.bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.location.path()).unwrap()
    }

    /// Changes the bytes of the index rows.
    fn damage(&self, change: impl FnOnce(&mut [[u8; ROW]])) {
        let mut bytes = self.bytes();
        let start = bytes.windows(4).position(|magic| magic == b"TIDX").unwrap() + 32;
        let end = start + (SIDE * SIDE) as usize * ROW + 225 * ROW;
        change(bytes[start..end].as_chunks_mut().0);
        std::fs::write(self.location.path(), bytes).unwrap();
    }
}

fn element(file: &File, place: [u64; 2], driver: &Driver) -> tesselle_core::Result<[u8; 2]> {
    let mut out = [0; 2];
    let span = |start| Span { start, stop: start + 1, step: 1 };
    let region = Region { spans: place.map(span).to_vec() };
    read_region(&*file.array(0)?, &region, &mut out, driver).map(|()| out)
}

fn findings(file: &File) -> Result<Vec<String>, String> {
    let mut report = Report::new(Depth::Deep);
    let verified = file.verify(Depth::Deep, &driver(), &mut report);
    verified.map_err(|error| error.class_name().to_owned())?;
    Ok(report.findings().iter().map(|finding| finding.kind.to_string()).collect())
}

#[test]
fn all_answers_are_those_of_an_index_that_is_read_at_once() {
    let large = Large::new();
    let (lazy, whole) = (large.open(), large.in_memory().unwrap());
    assert_eq!(lazy.describe().unwrap().to_json(), whole.describe().unwrap().to_json());
    for id in 0..3 {
        // Each on a new file: reads leave parts of the index behind.
        let (lazy, driver) = (large.open(), driver());
        assert_eq!(tensor(&lazy, id).unwrap(), tensor(&whole, id).unwrap(), "{id}");
        let rows = |file: &File| {
            let table = file.table_at(id).unwrap();
            let batches = scan(&*table, &Scan::all(), &driver, Order::Plan).unwrap();
            batches.map(Result::unwrap).collect::<Vec<_>>()
        };
        assert_eq!(rows(&large.open()), rows(&whole), "{id}");
        for axes in [&[][..], &[0]] {
            let sum = |file: &File| {
                let array = file.array(id).unwrap();
                reduce(&*array, &Region::whole(array.shape()), ReduceOp::Sum, axes, &driver)
                    .unwrap()
                    .to_json()
            };
            assert_eq!(sum(&large.open()), sum(&whole), "{id} {axes:?}");
        }
    }
    let extents = |file: &File| file.layout().unwrap().files.remove(0).extents;
    assert!(extents(&lazy) == extents(&whole));
    assert!(lazy.chunks(None).unwrap() == whole.chunks(None).unwrap());
    assert_eq!(findings(&large.open()), findings(&whole));
    assert_eq!(findings(&whole), Ok(Vec::new()));
}

#[test]
fn one_element_reads_a_part_of_the_index() {
    let large = Large::new();
    let run = driver().for_run();
    let file = large.open();
    assert_eq!(element(&file, [70, 9], &run).unwrap(), ((70 * SIDE + 9) as u16 % 997).to_le_bytes());
    let (first, index) = (run.counters().snapshot().bytes_fetched, SIDE * SIDE * ROW as u64);
    assert!(first < index / 3, "{first} of {index}");
    // A neighbor needs nothing more of the index.
    assert_eq!(element(&file, [70, 10], &run).unwrap(), ((70 * SIDE + 10) as u16 % 997).to_le_bytes());
    assert_eq!(run.counters().snapshot().bytes_fetched, first + 2);
}

#[test]
fn rows_in_another_order_are_found() {
    let large = Large::new();
    let expected = tensor(&large.open(), 0).unwrap();
    let (near, far) = (3, 9000);
    large.damage(|rows| rows.swap(near, far));
    assert_eq!(tensor(&large.open(), 0).unwrap(), expected);
    for number in [near as u64, far as u64, 40] {
        let place = [number / SIDE, number % SIDE];
        let found = element(&large.open(), place, &driver()).unwrap();
        assert_eq!(found, expected[number as usize * 2..][..2], "{number}");
    }
    // The first row decides about the order of a dataset, too.
    large.damage(|rows| rows.rotate_left(1));
    assert_eq!(tensor(&large.open(), 0).unwrap(), expected);
    assert_eq!(tensor(&large.open(), 2).unwrap(), tensor(&large.in_memory().unwrap(), 2).unwrap());
    assert_eq!(
        large.open().describe().unwrap().to_json(),
        large.in_memory().unwrap().describe().unwrap().to_json()
    );
}

#[test]
fn a_damaged_row_affects_its_chunk_and_is_found_by_verify() {
    for (byte, class) in
        [(96, "unsupported_codec"), (88, "raw_stored_mismatch"), (78, "payload_out_of_bounds")]
    {
        let large = Large::new();
        large.damage(|rows| rows[9000][byte] ^= 0x40);
        assert_eq!(large.in_memory().unwrap_err().class_name(), class);
        let file = large.open();
        let place = [9000 / SIDE, 9000 % SIDE];
        assert_eq!(element(&file, place, &driver()).unwrap_err().class_name(), class);
        assert_eq!(element(&file, [0, 7], &driver()).unwrap(), 7_u16.to_le_bytes());
        assert_eq!(findings(&file), Err(class.to_owned()));
        assert_eq!(tensor(&large.open(), 0).unwrap_err().class_name(), class);
    }
    let large = Large::new();
    large.damage(|rows| rows[9000][0] = 7);
    let found = element(&large.open(), [9000 / SIDE, 9000 % SIDE], &driver());
    assert_eq!(found.unwrap_err().class_name(), "missing_chunk");
    assert_eq!(findings(&large.open()), findings(&large.in_memory().unwrap()));
}
