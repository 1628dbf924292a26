//! The TileDB jobs, run by Tesselle.

mod data;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use compare_harness::{arguments, report, report_after, report_known};
use data::{SPACE, TILE, columns, numbers, side, strings};
use tesselle_codec::compress::{Compressor, compress, decompress_into};
use tesselle_codec::shuffle::byteshuffle;
use tesselle_core::array::read_region;
use tesselle_core::{
    ArrayView, Container, Driver, DriverOptions, Format, Location, OpenOptions, Region, Scan, Span, driver,
};
use tesselle_tiledb::filter::Filter;
use tesselle_tiledb::write::{ArrayWriter, CellOrder, Consolidation, SchemaBuilder, SparseOptions};
use tesselle_tiledb::{Attribute, Datatype, Dimension, Bounds, TileDb};

/// Opens on the threads of the pool, as the facade does.
fn open(path: &Path, pool: &Driver) -> Arc<dyn Container> {
    let opened = pool.install(|| TileDb.open(&Location::local(path).unwrap(), &OpenOptions::default()));
    opened.expect("the array opens")
}

fn view(path: &Path, pool: &Driver) -> Arc<dyn ArrayView> {
    open(path, pool).table("").unwrap().array("a").expect("a dense array")
}

/// Memory as numpy gets it for large arrays: anonymous, and with huge pages where the system has them.
fn huge_buffer(size: usize) -> memmap2::MmapMut {
    let memory = memmap2::MmapMut::map_anon(size).expect("there is memory");
    // Without huge pages the buffer works as well.
    let _ = memory.advise(memmap2::Advice::HugePage);
    memory
}

fn cell(bytes: &[u8], index: u64) -> f64 {
    bytes.as_chunks::<8>().0.get(index as usize).map_or(f64::NAN, |chunk| f64::from_le_bytes(*chunk))
}

fn create(path: &Path, kind: &str) -> ArrayWriter {
    let _ = std::fs::remove_dir_all(path);
    let schema = match kind.split_once('-') {
        Some(("dense", filters)) => {
            let axis = |name| Dimension::new(name, Datatype::Int32, 0, (side() - 1) as i32, TILE as i32);
            let filters = match filters {
                "plain" => vec![],
                "zstd" => vec![Filter::zstd(3)],
                _ => vec![Filter::Byteshuffle, Filter::zstd(3)],
            };
            let attribute = Attribute::new("a", Datatype::Float64).with_filters(filters);
            SchemaBuilder::dense().dimension(axis("row")).dimension(axis("column")).attribute(attribute)
        }
        Some((_, how)) => {
            let axis = |name| Dimension::new(name, Datatype::Int64, 0_i64, SPACE - 1, 1000_i64);
            let attribute = Attribute::new("a", Datatype::Float64);
            let builder = SchemaBuilder::sparse().dimension(axis("x")).dimension(axis("y")).attribute(attribute);
            builder.allows_dups(how == "dups")
        }
        None => {
            let attribute = Attribute::new("a", Datatype::Int64);
            SchemaBuilder::sparse().dimension(Dimension::string("key")).attribute(attribute)
        }
    };
    let schema = schema.build().expect("the schema is sound");
    ArrayWriter::create(&Location::local(path).unwrap(), &schema, None, None).expect("the array is created")
}

fn write(array: &ArrayWriter, kind: &str, batch: &RecordBatch) {
    if kind.starts_with("dense") {
        let all = Bounds { low: 0.into(), high: (side() - 1).into() };
        array.write_dense(&[all.clone(), all], batch, CellOrder::RowMajor, None).expect("the box is written");
    } else {
        let batches = std::slice::from_ref(batch);
        array.write_sparse(batches, &SparseOptions::default()).expect("the cells are written");
    }
}

/// Bytes of a chunk of a tile, the unit that filters see.
const CHUNK_BYTES: usize = 1 << 16;

/// What no writer of the same bytes can beat: the filters of a dense write alone, in memory that is there already, with
/// both threads busy from the first chunk to the last.
fn codec_alone(folder: &Path, kind: &str) {
    let cells = columns(folder, kind);
    let cells = cells.column(0).as_primitive::<Float64Type>();
    let (side, tile) = (side() as usize, TILE as usize);
    let tile_bytes = |number: usize| -> Vec<u8> {
        let (row, column) = (number / (side / tile) * tile, number % (side / tile) * tile);
        let line = |y: usize| &cells.values()[(row + y) * side + column..][..tile];
        (0..tile).flat_map(line).flat_map(|cell| cell.to_le_bytes()).collect()
    };
    let tiles: Vec<Vec<u8>> = (0..(side / tile).pow(2)).map(tile_bytes).collect();
    report_after(3, || (), || {
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut shuffled, mut packed) = (vec![0; CHUNK_BYTES], Vec::new());
            while let Some(tile) = tiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                for chunk in tile.chunks(CHUNK_BYTES) {
                    packed.clear();
                    let mut chunk = chunk;
                    if kind.ends_with("shuffle") {
                        byteshuffle(8, chunk, &mut shuffled).expect("whole cells");
                        chunk = &shuffled;
                    }
                    compress(Compressor::Zstd, Some(3), chunk, &mut packed).expect("zstd takes all bytes");
                }
            }
        };
        std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    });
}

/// Cells of a tile of a sparse array.
const CAPACITY: usize = 10_000;

/// What no reader of the same cells can beat: their compressed coordinates alone, decoded from memory that is there
/// already into fresh memory, with both threads busy from the first chunk to the last.
fn decoding_alone(base: &Path, pool: &Driver) {
    let rows = driver::scan(&*open(base, pool).table("").unwrap(), &Scan::all(), pool, driver::Order::Plan);
    let batches: Vec<RecordBatch> = rows.expect("a plan").collect::<Result<_, _>>().expect("the cells are read");
    let column = |name: &str| -> Vec<u8> {
        let cells = batches.iter().flat_map(|batch| batch[name].as_primitive::<Int64Type>().values());
        cells.flat_map(|cell| cell.to_le_bytes()).collect()
    };
    let chunk = |cells: &[u8]| {
        let mut packed = Vec::new();
        compress(Compressor::Zstd, Some(3), cells, &mut packed).expect("zstd takes all bytes");
        (cells.len(), packed)
    };
    let columns = [column("x"), column("y")];
    let tiles = columns.iter().flat_map(|cells| cells.chunks(CAPACITY * 8));
    let chunks: Vec<(usize, Vec<u8>)> = tiles.flat_map(|tile| tile.chunks(CHUNK_BYTES)).map(chunk).collect();
    let bytes = chunks.iter().map(|(len, _)| len).sum();
    report_known(3, total(&open(base, pool), &Scan::all(), pool), || {
        let mut memory = huge_buffer(bytes);
        let mut rest = &mut memory[..];
        let places = chunks.iter().map(|(len, packed)| (rest.split_off_mut(..*len).expect("its place"), packed));
        let places = Mutex::new(places.collect::<Vec<_>>().into_iter());
        let work = || {
            while let Some((place, packed)) = { places.lock().expect("nothing panics").next() } {
                decompress_into(Compressor::Zstd, packed, place).expect("the chunk is as it was made");
            }
        };
        std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    });
}

/// The sum of floats in several lanes, as numpy adds them: a single sum would wait for each addition.
fn sum_of(values: &[f64]) -> f64 {
    let (groups, rest) = values.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for group in groups {
        lanes.iter_mut().zip(group).for_each(|(lane, value)| *lane += value);
    }
    lanes.iter().chain(rest).sum()
}

/// Reads all matching cells into memory, and adds up their number and their values.
fn total(opened: &Arc<dyn Container>, scan: &Scan, pool: &Driver) -> f64 {
    let rows = driver::scan(&*opened.table("").unwrap(), scan, pool, driver::Order::Any).expect("a plan");
    let batches: Vec<RecordBatch> = rows.collect::<Result<_, _>>().expect("the cells are read");
    let sum = |batch: &RecordBatch| -> f64 {
        let column = batch.column_by_name("a").expect("the attribute");
        let values = match column.as_primitive_opt::<Float64Type>() {
            Some(floats) => sum_of(floats.values()),
            None => column.as_primitive::<Int64Type>().values().iter().sum::<i64>() as f64,
        };
        values + column.len() as f64
    };
    batches.iter().map(sum).sum()
}

fn within(x: u64, y: u64) -> Scan {
    let side = SPACE as u64 / 10;
    let text = format!("x >= {x} AND x < {} AND y >= {y} AND y < {}", x + side, y + side);
    Scan::all().filter(text.parse().expect("a condition"))
}

fn main() {
    let (job, folder) = arguments();
    let pool = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let (verb, kind) = job.split_once('-').unwrap();
    let base = folder.join(format!("base-{kind}"));
    let ours = folder.join(format!("ours-{kind}"));
    let side = side();
    match verb {
        "write" => {
            let batch = columns(&folder, kind);
            let array = std::cell::RefCell::new(None);
            let before = || *array.borrow_mut() = Some(create(&ours, kind));
            report_after(3, before, || {
                let array = array.borrow();
                let array = array.as_ref().expect("it was created");
                pool.install(|| write(array, kind, &batch));
            });
        }
        "codec" if kind.starts_with("dense") => codec_alone(&folder, kind),
        "codec" => decoding_alone(&base, &pool),
        "read" if kind.starts_with("dense") => report(3, || {
            let mut out = huge_buffer((side * side * 8) as usize);
            read_region(&*view(&base, &pool), &Region::whole(&[side, side]), &mut out, &pool).unwrap();
            cell(&out, 7 * side + 5) + cell(&out, side * side - 1)
        }),
        "read" => report(3, || total(&open(&base, &pool), &Scan::all(), &pool)),
        "windows" => report(3, || {
            let (array, mut next, mut sum) = (view(&base, &pool), numbers(side - TILE), 0.0);
            for _ in 0..100 {
                let mut span = || {
                    let start = next();
                    Span { start, stop: start + TILE, step: 1 }
                };
                let region = Region { spans: vec![span(), span()] };
                let mut out = vec![0; (TILE * TILE * 8) as usize];
                read_region(&*array, &region, &mut out, &pool).unwrap();
                sum += cell(&out, TILE * TILE - 1);
            }
            sum
        }),
        "boxes" => report(3, || {
            let (array, mut next) = (open(&base, &pool), numbers((SPACE - SPACE / 10) as u64));
            (0..100).map(|_| total(&array, &within(next(), next()), &pool)).sum()
        }),
        "lookups" => report(3, || {
            let (array, mut next) = (open(&base, &pool), numbers(strings()));
            let look = |key: u64| Scan::all().filter(format!("key = 'key{key:07}'").parse().unwrap());
            (0..100).map(|_| total(&array, &look(next()), &pool)).sum()
        }),
        "open" => report(5, || {
            let stats = open(&base, &pool).table("").unwrap().stats();
            let low = stats.columns["x"].min.value().expect("the domain of the cells is known");
            low.to_json().as_f64().expect("a number")
        }),
        "box" => report(5, || total(&open(&base, &pool), &within(20_000, 20_000), &pool)),
        "consolidate" => {
            let before = || {
                let _ = std::fs::remove_dir_all(&ours);
                copy(&base, &ours);
            };
            report_after(3, before, || {
                let array = ArrayWriter::open(&Location::local(&ours).unwrap(), None).unwrap();
                pool.install(|| array.consolidate(&Consolidation::default())).expect("one fragment of many");
            });
        }
        other => panic!("unknown job {other}"),
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}
