//! Random data directories against a naive model: sequence and unsequence files of any version, aligned or
//! not, with deletions; read whole, projected, and with predicates that prune.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Container, Driver, Format, Location, OpenOptions, Predicate, Scan};
use tesselle_tsfile::MeasurementSchema;
use tesselle_tsfile::TsFile;
use tesselle_tsfile::testing::{self as mods2, Deletion, Target};
use tesselle_tsfile::tools::Dumped;
use tesselle_tsfile::write::{Column, Strings, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, Version};

use crate::golden;
use crate::golden::{Plain, cell};

/// A row: time, and a value or none for each column.
type Row = (i64, Option<i32>, Option<f64>, Option<String>);

#[derive(Debug, Clone)]
struct FileModel {
    version: Version,
    late: bool,
    aligned: bool,
    rows: Vec<Row>,
    flush_at: usize,
    /// Column (3 is all of them), first and last time.
    deletion: Option<(usize, i64, i64)>,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn schema(name: &str, data_type: DataType, encoding: Encoding) -> MeasurementSchema {
    let compression = Compression::Snappy;
    MeasurementSchema { name: name.into(), data_type, encoding, compression, properties: Vec::new() }
}

fn write_file(location: &Location, file: &FileModel, driver: &Driver) {
    let options = WriterOptions::for_version(file.version).with_page_points(3);
    let mut writer = Writer::create(location, false, options, driver).unwrap();
    let device = writer.device_id("root.d");
    let series = vec![
        schema("a", DataType::Int32, Encoding::Ts2Diff),
        schema("b", DataType::Double, Encoding::Plain),
        schema("c", DataType::Text, Encoding::Plain),
    ];
    if file.aligned {
        writer.add_aligned_device(device.clone(), series).unwrap();
    } else {
        writer.add_device(device.clone(), series).unwrap();
    }
    let cut = file.flush_at.min(file.rows.len());
    for part in [&file.rows[..cut], &file.rows[cut..]] {
        if part.is_empty() {
            continue;
        }
        let times: Vec<i64> = part.iter().map(|r| r.0).collect();
        let a = Values::Int32(part.iter().map(|r| r.1.unwrap_or_default()).collect());
        let b = Values::Double(part.iter().map(|r| r.2.unwrap_or_default()).collect());
        let c = Values::Binary(part.iter().map(|r| r.3.clone().unwrap_or_default()).collect::<Strings>());
        let present = [
            part.iter().map(|r| r.1.is_some()).collect::<Vec<_>>(),
            part.iter().map(|r| r.2.is_some()).collect(),
            part.iter().map(|r| r.3.is_some()).collect(),
        ];
        let columns: Vec<Column<'_>> = [&a, &b, &c]
            .into_iter()
            .zip(&present)
            .zip(NAMES)
            .map(|((values, present), name)| Column { name, values, present: Some(present) })
            .collect();
        writer.write(&device, &times, &columns).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
}

/// The expected result of all files together: the three columns by time.
fn model(files: &[FileModel]) -> BTreeMap<i64, [Option<Plain>; 3]> {
    let mut rows: BTreeMap<i64, [Option<Plain>; 3]> = BTreeMap::new();
    let mut ordered: Vec<&FileModel> = files.iter().collect();
    ordered.sort_by_key(|f| f.late);
    for file in ordered {
        let hits = |column: usize, time: i64| {
            file.deletion.is_some_and(|(c, lo, hi)| (c == column || c == 3) && (lo..=hi).contains(&time))
        };
        let cells = |row: &Row| {
            [
                row.1.map(|v| Plain::Int(v.into())),
                row.2.map(|v| Plain::Bits64(v.to_bits())),
                row.3.clone().map(|v| Plain::Bytes(v.into_bytes())),
            ]
        };
        let used: Vec<usize> = (0..3).filter(|c| file.rows.iter().any(|r| cells(r)[*c].is_some())).collect();
        for row in &file.rows {
            let gone = used.iter().all(|c| hits(*c, row.0));
            if file.aligned && !gone {
                rows.entry(row.0).or_default();
            }
            for (column, value) in cells(row).into_iter().enumerate() {
                if value.is_some() && !hits(column, row.0) {
                    rows.entry(row.0).or_default()[column] = value;
                }
            }
        }
    }
    rows
}

fn build(files: &[FileModel], driver: &Driver) -> Location {
    let storage = MemoryStorage::new();
    let root = Location::new(Arc::new(storage.clone()), "data");
    for (i, file) in files.iter().enumerate() {
        let folder = if file.late { "unsequence" } else { "sequence" };
        let name = format!("{folder}/g/{}-1-0.tsfile", 10 + i);
        write_file(&root.join(&name), file, driver);
        if let Some((column, lo, hi)) = file.deletion {
            let path = format!("root.d.{}", NAMES.get(column).unwrap_or(&"*"));
            if file.version.is_compact() && file.late && lo <= hi {
                let target = Target::Path(path);
                let mut bytes = Vec::new();
                mods2::write(&Deletion { target, before: None, start: lo, end: hi }, &mut bytes).unwrap();
                storage.put(format!("data/{name}.mods2"), bytes);
            } else {
                let text = format!("DELETION,{path},{},{lo},{hi}\n", i64::MAX);
                storage.put(format!("data/{name}.mods"), text.into_bytes());
            }
        }
    }
    root
}

fn open(root: &Location) -> Arc<dyn Container> {
    TsFile.open(root, &OpenOptions::default()).unwrap()
}

fn file() -> impl Strategy<Value = FileModel> {
    let version = prop_oneof![
        Just(Version::V08),
        Just(Version::V1),
        Just(Version::V2),
        Just(Version::V3),
        Just(Version::V4)
    ];
    let row = (
        0..40_i64,
        prop::option::of(-5..5_i32),
        prop::option::of(-5..5_i32),
        prop::option::of("[a-cä]{0,3}"),
    );
    let deletion = prop::option::weighted(0.3, (0..4_usize, 0..20_i64, 10..40_i64));
    (version, any::<bool>(), any::<bool>(), prop::collection::vec(row, 1..30), 0..20_usize, deletion)
        .prop_map(|(version, late, aligned, rows, flush_at, deletion)| {
            let rows: BTreeMap<i64, Row> = rows
                .into_iter()
                .filter(|(_, a, b, c)| a.is_some() || b.is_some() || c.is_some())
                .map(|(time, a, b, c)| (time, (time, a, b.map(|b| f64::from(b) / 4.0), c)))
                .collect();
            let aligned = aligned && version >= Version::V3;
            FileModel { version, late, aligned, rows: rows.into_values().collect(), flush_at, deletion }
        })
}

const CONDITIONS: [&str; 9] = [
    "time >= 20",
    "time BETWEEN 5 AND 9 OR time = 33",
    "a > 2",
    "a > 2 AND b < 0.5",
    "a = 1 OR time > 35",
    "a IS NULL",
    "NOT (a <= 0 OR b >= 0.25)",
    "b < -1 AND time < 30",
    "c = 'a' AND a IN (0, 1, 2)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn directories_match_their_model(files in prop::collection::vec(file(), 1..4)) {
        let driver = golden::driver();
        let files: Vec<FileModel> = files.into_iter().filter(|f| !f.rows.is_empty()).collect();
        prop_assume!(!files.is_empty());
        let want = model(&files);
        let container = open(&build(&files, &driver));
        let (schema, batches) = golden::rows_with(&*container, "root.d", &Scan::all(), &driver).unwrap();
        let at = |name: &str| schema.index_of(name).ok();
        let mut got = BTreeMap::new();
        let mut last = i64::MIN;
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let Some(Plain::Int(time)) = cell(batch.column(0), row) else { panic!("a row without a time") };
                prop_assert!(time > last || last == i64::MIN, "times must ascend");
                last = time;
                let cells = NAMES.map(|n| at(n).and_then(|c| cell(batch.column(c), row)));
                got.insert(time, cells);
            }
        }
        prop_assert_eq!(&got, &want);
        let points: usize = want.values().map(|cells| cells.iter().flatten().count()).sum();
        let (_, long) = golden::rows_with(&*container, "*", &Scan::all(), &driver).unwrap();
        prop_assert_eq!(long.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), points);
        for condition in CONDITIONS {
            let predicate: Predicate = condition.parse().unwrap();
            if predicate.columns().iter().any(|c| at(c).is_none()) {
                continue;
            }
            let expected: usize = batches.iter().map(|b| predicate.filter(b).unwrap().num_rows()).sum();
            let scan = Scan::all().filter(predicate);
            let (_, all) = golden::rows_with(&*container, "root.d", &scan, &driver).unwrap();
            prop_assert_eq!(all.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), expected, "{}", condition);
            let narrow = scan.columns(["time"]);
            let (_, times) = golden::rows_with(&*container, "root.d", &narrow, &driver).unwrap();
            prop_assert_eq!(times.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), expected, "{} of time", condition);
        }
        for column in schema.fields() {
            let scan = Scan::all().columns([column.name().as_str()]);
            let (_, part) = golden::rows_with(&*container, "root.d", &scan, &driver).unwrap();
            prop_assert_eq!(part.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), want.len());
        }
    }

    #[test]
    fn aggregates_match_all_points(
        files in prop::collection::vec(file(), 1..4),
        from in -1..40_i64,
        length in 0..40_i64,
    ) {
        let driver = golden::driver();
        let files: Vec<FileModel> = files.into_iter().filter(|f| !f.rows.is_empty()).collect();
        prop_assume!(!files.is_empty());
        let root = build(&files, &driver);
        let ranges = [(i64::MIN, i64::MAX), (from, from + length), (from, i64::MAX), (7, 3)];
        golden::check_aggregates("model", &root, &ranges, &driver);
    }
}

/// A running database has not closed its last file: its complete groups are read.
#[test]
fn an_unclosed_file_is_read_up_to_its_last_complete_group() {
    let driver = golden::driver();
    let row = |time: i64, a: i32| (time, Some(a), None, None);
    for version in Version::ALL {
        let file = |rows: Vec<Row>| FileModel {
            version,
            late: false,
            aligned: false,
            rows,
            flush_at: 2,
            deletion: None,
        };
        let storage = MemoryStorage::new();
        let root = Location::new(Arc::new(storage.clone()), "data");
        write_file(&root.join("sequence/g/1-1-0.tsfile"), &file(vec![row(1, 1), row(2, 2)]), &driver);
        let open = file(vec![row(3, 3), row(4, 4), row(5, 5), row(6, 6)]);
        write_file(&root.join("sequence/g/2-2-0.tsfile"), &open, &driver);
        let bytes = storage.get("data/sequence/g/2-2-0.tsfile").unwrap();
        // Both groups have one chunk; the second starts with the second marker of a group or chunk.
        let location = root.join("sequence/g/2-2-0.tsfile");
        let mut chunks: Vec<u64> = Vec::new();
        tesselle_tsfile::tools::read(&location, false, &mut |part| {
            if let Dumped::Chunk(chunk) = part {
                chunks.push(chunk["offset"].as_u64().unwrap());
            }
            Ok(())
        })
        .unwrap();
        storage.put("data/sequence/g/2-2-0.tsfile", bytes.slice(..chunks[1] as usize + 3));
        let container = TsFile.open(&root, &OpenOptions::default()).unwrap();
        let (_, batches) = golden::rows_with(&*container, "root.d", &Scan::all(), &driver).unwrap();
        let times: Vec<Option<Plain>> =
            batches.iter().flat_map(|b| (0..b.num_rows()).map(|row| cell(b.column(0), row))).collect();
        let want: Vec<Option<Plain>> = (1..=4).map(|t| Some(Plain::Int(t))).collect();
        assert_eq!(times, want, "{}", version.name());
    }
}

#[test]
fn a_measurement_called_time_is_a_column_of_its_own() {
    let driver = golden::driver();
    let root = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
    let mut writer = Writer::create(&root, false, WriterOptions::default(), &driver).unwrap();
    let device = writer.device_id("root.d");
    let series = vec![
        schema("time", DataType::Int32, Encoding::Plain),
        schema("time_1", DataType::Int32, Encoding::Plain),
    ];
    writer.add_device(device.clone(), series).unwrap();
    let (a, b) = (Values::Int32(vec![7]), Values::Int32(vec![8]));
    let columns = [("time", &a), ("time_1", &b)].map(|(name, values)| Column { name, values, present: None });
    writer.write(&device, &[1], &columns).unwrap();
    writer.finish().unwrap();
    let container = TsFile.open(&root, &OpenOptions::default()).unwrap();
    let scan = Scan::all().filter("time_2 = 7 AND time_1 = 8 AND time = 1".parse().unwrap());
    let (schema, batches) = golden::rows_with(&*container, "root.d", &scan, &driver).unwrap();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["time", "time_2", "time_1"]);
    assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 1);
}
