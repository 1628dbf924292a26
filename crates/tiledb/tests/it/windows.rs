//! Windows of tiles: without filters only the chunks with the requested rows are fetched, however the tile is cut.

use std::sync::Arc;

use tesselle_core::array::{MemoryArray, read_region};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{ArrayRequest, Format, Location, OpenOptions, Region, Span, WriteOptions, WriteTarget};
use tesselle_tiledb::TileDb;

use crate::support;

const SHAPE: [u64; 2] = [610, 457];
const EXTENT: u64 = 300;
/// Bytes of a chunk as the writer cuts a tile, and of a tile.
const CHUNK: usize = 65536;
const TILE: usize = (EXTENT * EXTENT * 4) as usize;

fn cell(row: u64, column: u64) -> i32 {
    (row * SHAPE[1] + column) as i32
}

fn array(filters: &str) -> (MemoryStorage, Location) {
    let cells: Vec<i32> = (0..SHAPE[0]).flat_map(|row| (0..SHAPE[1]).map(move |c| cell(row, c))).collect();
    let source = MemoryArray::from_slice(&cells, SHAPE).unwrap();
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "array");
    let mut options = WriteOptions::default().with_table("t".to_owned());
    options.settings.set("filters", filters);
    options.settings.set("extent", EXTENT.to_string());
    let target = WriteTarget::Location(location.clone());
    TileDb.write_array(ArrayRequest::new(target, &source, options), &support::driver()).unwrap();
    (storage, location)
}

/// Reads a window, compares it, and returns the bytes that were fetched for it.
fn check(location: &Location, rows: Span, columns: Span) -> u64 {
    let table = TileDb.open(location, &OpenOptions::default()).unwrap().default_table().unwrap();
    let view = table.array("t").unwrap();
    let driver = support::driver();
    let positions = |span: Span| (span.start..span.stop).step_by(span.step as usize);
    let expected: Vec<u8> = positions(rows)
        .flat_map(|row| positions(columns).flat_map(move |column| cell(row, column).to_le_bytes()))
        .collect();
    let mut found = vec![0; expected.len()];
    let region = Region { spans: vec![rows, columns] };
    read_region(&*view, &region, &mut found, &driver).unwrap();
    assert!(found == expected, "rows {rows:?}, columns {columns:?}");
    driver.counters().snapshot().bytes_fetched
}

fn span(start: u64, stop: u64, step: u64) -> Span {
    Span { start, stop, step }
}

fn check_windows(location: &Location) {
    for (start, stop) in [(0, 1), (10, 20), (53, 56), (54, 110), (290, 310), (299, 301), (0, 610), (609, 610)]
    {
        for columns in [span(0, 457, 1), span(3, 9, 1), span(298, 303, 1), span(450, 457, 1), span(1, 450, 7)]
        {
            for step in [1, 3, 301] {
                check(location, span(start, stop, step), columns);
            }
        }
    }
}

#[test]
fn windows_of_filtered_tiles_are_those_of_the_grid() {
    for filters in ["zstd", "byteshuffle,zstd", "double-delta,md5", "bit-width-reduction,lz4"] {
        check_windows(&array(filters).1);
    }
}

#[test]
fn a_window_fetches_the_chunks_of_its_rows() {
    let (_, location) = array("none");
    check_windows(&location);
    let one_chunk = check(&location, span(10, 20, 1), span(3, 9, 1));
    assert_eq!(one_chunk, CHUNK as u64 + 12);
    let most_of_a_tile = check(&location, span(0, 290, 1), span(3, 9, 1));
    assert_eq!(
        most_of_a_tile,
        (TILE + 12 * TILE.div_ceil(CHUNK)) as u64,
        "all chunks, but not how many they are"
    );
}

#[test]
fn tiles_that_are_cut_otherwise_are_read_whole() {
    let (storage, location) = array("none");
    let mut tiles = 0;
    for path in storage.paths().iter().filter(|path| path.ends_with("/a0.tdb")) {
        let stored = storage.get(path).unwrap();
        let mut cut = Vec::new();
        for tile in stored.chunks(TILE + 8 + 12 * TILE.div_ceil(CHUNK)) {
            cut.extend(cut_unevenly(tile));
            tiles += 1;
        }
        assert_eq!(cut.len(), stored.len());
        storage.put(path.clone(), cut);
    }
    assert_eq!(tiles, 6);
    check_windows(&location);
}

/// The same tile with a shorter first chunk and a longer last one.
fn cut_unevenly(tile: &[u8]) -> Vec<u8> {
    let mut cells = Vec::new();
    let mut rest = &tile[8..];
    while !rest.is_empty() {
        let len = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        cells.extend_from_slice(&rest[12..12 + len]);
        rest = &rest[12 + len..];
    }
    let count = cells.len().div_ceil(CHUNK);
    let mut out = (count as u64).to_le_bytes().to_vec();
    let mut start = 0;
    for number in 0..count {
        let end = if number + 1 == count { cells.len() } else { (number + 1) * CHUNK - 400 };
        let len = (end - start) as u32;
        for size in [len, len, 0] {
            out.extend(size.to_le_bytes());
        }
        out.extend_from_slice(&cells[start..end]);
        start = end;
    }
    out
}
