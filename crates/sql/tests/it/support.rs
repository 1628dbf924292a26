//! Small files of every format, written with our own writers.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int32Builder, StringBuilder};
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use tesselle::{Driver, DriverOptions, Location, Settings, WriteOptions};
use tesselle_sql::{Session, SessionOptions};

/// Whether random tests are to try many more cases.
pub(crate) fn is_thorough() -> bool {
    std::env::var_os("TESSELLE_THOROUGH").is_some()
}

/// Writes one container.
pub(crate) fn write(path: &Path, format: &str, table: Option<&str>, settings: &[&str], rows: &RecordBatch) {
    let options = WriteOptions::default()
        .with_table(table.map(str::to_owned))
        .with_settings(Settings::from_pairs(settings).unwrap());
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let format = tesselle::format_by_name(format).unwrap();
    let location = Location::local(path).unwrap();
    let mut sink = format.create(&location, rows.schema(), &options, &driver).unwrap();
    for start in (0..rows.num_rows()).step_by(100) {
        sink.write(&rows.slice(start, 100.min(rows.num_rows() - start))).unwrap();
    }
    sink.finish().unwrap();
}

/// Writes a foreign file.
pub(crate) fn write_foreign(path: &Path, rows: &RecordBatch) {
    let format = tesselle::format_by_extension(path.to_str().unwrap()).unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let location = Location::local(path).unwrap();
    let mut sink = format.create(&location, rows.schema(), &WriteOptions::default(), &driver).unwrap();
    sink.write(rows).unwrap();
    sink.finish().unwrap();
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Deterministic pseudorandom numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Floats with all special values.
fn float(i: usize, random: &mut Random) -> f64 {
    match random.below(25) {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => 0.0,
        3 => -0.0,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        _ => i as f64 / 8.0 - 20.0 + random.below(16) as f64,
    }
}

const WORDS: [&str; 6] = ["alder", "birch", "", "cedar", "élan", "zebra"];

/// Rows clustered by `id`, so that chunks can be pruned: integers, floats, strings, Booleans, times, with nulls.
pub(crate) fn mixed(rows: usize) -> RecordBatch {
    let mut random = Random(7);
    let (mut small, mut ratio) = (Int32Builder::new(), Float64Builder::new());
    let (mut word, mut flag) = (StringBuilder::new(), BooleanBuilder::new());
    for i in 0..rows {
        small.append_option((random.below(9) > 0).then(|| (i / 50) as i32 - 5));
        ratio.append_option((random.below(9) > 0).then(|| float(i, &mut random)));
        word.append_option((random.below(9) > 0).then(|| WORDS[random.below(6) as usize]));
        flag.append_option((random.below(9) > 0).then(|| random.below(2) == 0));
    }
    let id = Int64Array::from_iter_values((0..rows as i64).map(|i| i * 3));
    let exact = Float64Array::from_iter_values((0..rows).map(|i| float(i, &mut random)));
    let single = Float32Array::from_iter_values((0..rows).map(|i| i as f32 / 4.0 + 0.5));
    let at = TimestampMicrosecondArray::from_iter_values(
        (0..rows as i64).map(|i| 1_700_000_000_000_000 + i * 1_000_000),
    );
    batch(vec![
        ("id", Arc::new(id), false),
        ("small", Arc::new(small.finish()), true),
        ("ratio", Arc::new(ratio.finish()), true),
        ("exact", Arc::new(exact), false),
        ("single", Arc::new(single), false),
        ("word", Arc::new(word.finish()), true),
        ("flag", Arc::new(flag.finish()), true),
        ("at", Arc::new(at), false),
    ])
}

/// The same rows with `id` as their number.
pub(crate) fn numbered(rows: usize) -> RecordBatch {
    let mixed = mixed(rows);
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let columns = std::iter::once(id).chain(mixed.columns().iter().skip(1).cloned());
    RecordBatch::try_new(mixed.schema(), columns.collect()).unwrap()
}

/// The same rows with a time in milliseconds in front, as a device has them.
pub(crate) fn series(rows: usize) -> RecordBatch {
    let mixed = mixed(rows);
    let time =
        TimestampMillisecondArray::from_iter_values((0..rows as i64).map(|i| 1_700_000_000_000 + i * 1000));
    let mut columns: Vec<(&str, ArrayRef, bool)> = vec![("time", Arc::new(time), false)];
    for name in ["small", "ratio", "exact", "single", "word", "flag"] {
        columns.push((name, Arc::clone(mixed.column_by_name(name).unwrap()), true));
    }
    batch(columns)
}

/// A grid of `side` x `side` cells, row-major.
pub(crate) fn grid(side: i64) -> RecordBatch {
    let mut random = Random(11);
    let axis = |of: fn(i64, i64) -> i64| Int64Array::from_iter_values((0..side * side).map(|i| of(i, side)));
    let value = Float64Array::from_iter_values((0..side * side).map(|i| float(i as usize, &mut random)));
    batch(vec![
        ("y", Arc::new(axis(|i, side| i / side)), false),
        ("x", Arc::new(axis(|i, side| i % side)), false),
        ("value", Arc::new(value), false),
    ])
}

/// The grid with attributes of several types, for dense arrays.
pub(crate) fn raster(side: i32) -> RecordBatch {
    let mut random = Random(13);
    let cells = (side * side) as usize;
    let axis = |of: fn(i32, i32) -> i32| Int32Array::from_iter_values((0..side * side).map(|i| of(i, side)));
    let heat = Float64Array::from_iter_values((0..cells).map(|i| float(i, &mut random)));
    let rain = Int32Array::from_iter_values((0..cells).map(|i| (i / 7) as i32 - 30));
    let mut kind = StringBuilder::new();
    for _ in 0..cells {
        kind.append_option((random.below(5) > 0).then(|| WORDS[random.below(6) as usize]));
    }
    batch(vec![
        ("y", Arc::new(axis(|i, side| i / side)), false),
        ("x", Arc::new(axis(|i, side| i % side)), false),
        ("heat", Arc::new(heat), false),
        ("rain", Arc::new(rain), false),
        ("kind", Arc::new(kind.finish()), true),
    ])
}

/// The rows of the sample in the SQL files and the guide.
pub(crate) fn stations() -> RecordBatch {
    batch(vec![
        ("station", Arc::new(StringArray::from(vec!["north", "south", "west"])), false),
        ("y", Arc::new(Int64Array::from(vec![0, 1, 2])), false),
        ("height", Arc::new(Int32Array::from(vec![Some(120), None, Some(40)])), true),
    ])
}

/// One file of each format in `folder`, with small chunks.
pub(crate) fn make_files(folder: &Path) {
    let at = |name: &str| folder.join(name);
    write(&at("grid.tet"), "tet", Some("heat"), &["chunk=5,7", "codec=zstd", "footer=v2"], &grid(20));
    let dense = ["kind=dense", "dims=y,x", "domain.y=0:19", "domain.x=0:19", "extent=6", "filters=zstd"];
    write(&at("raster.tiledb"), "tiledb", None, &dense, &raster(20));
    let rows = numbered(600);
    let dense = ["kind=dense", "dims=id", "domain.id=0:599", "extent=64", "filters=zstd"];
    write(&at("words.tiledb"), "tiledb", None, &dense, &rows);
    let coded = [&dense[..], &["filters.word=dictionary,zstd"]].concat();
    write(&at("coded.tiledb"), "tiledb", None, &coded, &rows);
    let sparse = ["kind=sparse", "dims=id", "capacity=64", "filters=zstd"];
    write(&at("points.tiledb"), "tiledb", None, &sparse, &mixed(600));
    let pages = ["device=root.plant.d1", "page_points=50", "group_bytes=4000"];
    write(&at("plant.tsfile"), "tsfile", None, &pages, &series(600));
    let aligned = ["device=root.plant.d1", "page_points=50", "group_bytes=4000", "aligned=true"];
    write(&at("aligned.tsfile"), "tsfile", None, &aligned, &series(600));
    let groups = ["row_group_rows=200", "page_rows=50", "sort_key=id", "bloom=word"];
    write(&at("mixed.tatami"), "tatami", None, &groups, &mixed(600));
    write_foreign(&at("mixed.parquet"), &mixed(600));
    write_foreign(&at("mixed.arrow"), &mixed(600));
    write_foreign(&at("stations.csv"), &stations());
    write_foreign(&at("stations.jsonl"), &stations());
    std::fs::create_dir(at("days")).unwrap();
    for day in 0..3 {
        let rows = grid(4);
        write(&at(&format!("days/day{day}.tet")), "tet", Some("heat"), &["chunk=2,2"], &rows);
    }
    std::fs::write(at("days/README"), "not a container").unwrap();
    let notes = StringArray::from(vec!["a stone bridge", "the river", "a bridge over the river"]);
    let ids = StringArray::from(vec!["n1", "n2", "n3"]);
    let notes = batch(vec![("doc_id", Arc::new(ids), false), ("body", Arc::new(notes), false)]);
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let options = tesselle::search::IndexOptions::text(["body"]);
    let location = Location::local(at("notes.tatami")).unwrap();
    tesselle::tatami::search::index([Ok(notes.clone())], &notes.schema(), &location, &options, &driver)
        .unwrap();
}

pub(crate) fn session(pushdown: bool) -> Session {
    let options = SessionOptions::default().with_threads(2).with_pushdown(pushdown);
    Session::try_new(&options).unwrap()
}

/// All rows of a result as strings, sorted.
pub(crate) fn rows(session: &Session, sql: &str) -> tesselle::Result<Vec<String>> {
    let mut rows = Vec::new();
    for batch in session.query(sql)? {
        rows.extend(lines(&batch?));
    }
    rows.sort();
    Ok(rows)
}

/// The cells of each row, separated by bars.
pub(crate) fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = arrow_cast::display::FormatOptions::new().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| arrow_cast::display::ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    let line = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|");
    (0..batch.num_rows()).map(line).collect()
}
