//! The batch sizes of a write must not show in the file, nor the split into tasks in the rows of a scan.

use std::sync::Arc;

use tesselle_core::driver::{Order as RowOrder, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Format, Known, Location, OpenOptions, Scan, Storage};
use tesselle_tsfile::write::{Column, Strings, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, DeviceId, Encoding, MeasurementSchema, TsFile, Version};

fn series(name: &str, data_type: DataType, encoding: Encoding) -> MeasurementSchema {
    let compression = Compression::Snappy;
    MeasurementSchema { name: name.into(), data_type, encoding, compression, properties: Vec::new() }
}

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap()
}

/// A writer with the device `root.sg.d`, and the location of its file.
fn device(
    options: WriterOptions,
    aligned: bool,
    series: &[MeasurementSchema],
) -> (Location, Writer, DeviceId) {
    let location = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
    let mut writer = Writer::create(&location, false, options, &driver()).unwrap();
    let id = writer.device_id("root.sg.d");
    if aligned {
        writer.add_aligned_device(id.clone(), series.to_vec()).unwrap();
    } else {
        writer.add_device(id.clone(), series.to_vec()).unwrap();
    }
    (location, writer, id)
}

/// Writes 3,000 rows in batches of the given sizes, repeated.
fn written(version: Version, aligned: bool, pieces: &[usize], nulls: bool) -> Vec<u8> {
    const ROWS: usize = 3000;
    let mut options = WriterOptions::for_version(version);
    (options.page_points, options.page_bytes) = (100, 2000);
    let schemas =
        [series("a", DataType::Int64, Encoding::Ts2Diff), series("b", DataType::Text, Encoding::Plain)];
    let (location, mut writer, id) = device(options, aligned, &schemas);
    let (mut at, mut sizes) = (0, pieces.iter().cycle());
    while at < ROWS {
        let end = ROWS.min(at + sizes.next().unwrap());
        let rows = at as i64..end as i64;
        let times: Vec<i64> = rows.clone().map(|i| i * 10).collect();
        let a = Values::Int64(rows.clone().map(|i| i * i % 97).collect());
        // Some strings are larger than a page.
        let text = |i: i64| "x".repeat(if i % 500 == 7 { 3000 } else { (i % 40) as usize });
        let b = Values::Binary(rows.clone().map(text).collect::<Strings>());
        let present: Vec<bool> = rows.map(|i| i % 3 != 0 && !(400..800).contains(&i)).collect();
        let mask = nulls.then_some(present.as_slice());
        let columns = [
            Column { name: "a", values: &a, present: None },
            Column { name: "b", values: &b, present: mask },
        ];
        writer.write(&id, &times, &columns).unwrap();
        at = end;
    }
    writer.finish().unwrap();
    location.read_all(1 << 30).unwrap().to_vec()
}

#[test]
fn the_file_does_not_depend_on_batch_sizes() {
    for (version, aligned) in [
        (Version::V1, false),
        (Version::V3, false),
        (Version::V4, false),
        (Version::V3, true),
        (Version::V4, true),
    ] {
        for nulls in [false, true] {
            let whole = written(version, aligned, &[3000], nulls);
            for pieces in [&[1][..], &[100], &[7, 250, 99], &[1700, 1]] {
                let parts = written(version, aligned, pieces, nulls);
                assert!(whole == parts, "{version:?} aligned {aligned} nulls {nulls} in {pieces:?}");
            }
        }
    }
}

#[test]
fn tasks_that_share_large_chunks_return_every_row_once_and_in_order() {
    const ROWS: i64 = 1_300_000;
    for aligned in [false, true] {
        let options = WriterOptions::for_version(Version::V4).with_group_bytes(usize::MAX);
        let schemas = ["a", "b"].map(|name| series(name, DataType::Int64, Encoding::Ts2Diff));
        let (location, mut writer, id) = device(options, aligned, &schemas);
        // Most points are at the end: equal time ranges are not equal numbers of rows.
        let times: Vec<i64> = (0..ROWS).map(|i| if i < 1000 { i * 5000 } else { 5_000_000 + i }).collect();
        let values = Values::Int64((0..ROWS).collect());
        let present: Vec<bool> = (0..ROWS).map(|i| i % 5 != 0).collect();
        let columns = [
            Column { name: "a", values: &values, present: None },
            Column { name: "b", values: &values, present: Some(&present) },
        ];
        writer.write(&id, &times, &columns).unwrap();
        writer.finish().unwrap();

        let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
        let table = container.table("root.sg.d").unwrap();
        assert!(table.plan(&Scan::all()).unwrap().tasks.len() > 1);
        let mut next = 0;
        for batch in scan(&*table, &Scan::all(), &driver(), RowOrder::Plan).unwrap() {
            let batch = batch.unwrap();
            let a: &arrow_array::Int64Array = batch.column(1).as_any().downcast_ref().unwrap();
            let b: &arrow_array::Int64Array = batch.column(2).as_any().downcast_ref().unwrap();
            for (a, b) in a.iter().zip(b) {
                assert_eq!((a, b), (Some(next), (next % 5 != 0).then_some(next)));
                next += 1;
            }
        }
        assert_eq!(next, ROWS);
        let count = |table: &str, filter: &str| -> usize {
            let request = Scan::all().filter(filter.parse().unwrap());
            let table = container.table(table).unwrap();
            scan(&*table, &request, &driver(), RowOrder::Plan).unwrap().map(|b| b.unwrap().num_rows()).sum()
        };
        assert_eq!(count("root.sg.d", "time BETWEEN 4000000 AND 5999999"), 200 + 999_000);
        // Tasks agree on their boundaries, regardless of unwanted rows between them.
        let ends = count("root.sg.d", "time < 100000 OR time >= 6000000");
        assert_eq!(ends, 20 + ROWS as usize - 1_000_000);
        assert_eq!(count("*", "time >= 5001000"), (ROWS - 1000) as usize * 9 / 5);
    }
}

#[test]
fn a_scan_of_a_short_time_range_reads_only_headers_and_the_needed_pages() {
    const ROWS: i64 = 400_000;
    // Random values, so that pages are large.
    let noise = |i: i64| (i.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (i << 17)) as f64;
    for (version, aligned) in [
        (Version::V1, false),
        (Version::V2, false),
        (Version::V3, false),
        (Version::V4, false),
        (Version::V3, true),
        (Version::V4, true),
    ] {
        let mut options = WriterOptions::for_version(version).with_group_bytes(usize::MAX);
        (options.page_points, options.page_bytes) = (5000, 1 << 20);
        let schemas =
            [series("a", DataType::Double, Encoding::Plain), series("b", DataType::Text, Encoding::Plain)];
        let (location, mut writer, id) = device(options, aligned, &schemas);
        let times: Vec<i64> = (0..ROWS).map(|i| i * 10).collect();
        let a = Values::Double((0..ROWS).map(noise).collect());
        let b = Values::Binary((0..ROWS).map(|i| format!("{:x}", noise(i).to_bits())).collect::<Strings>());
        let present: Vec<bool> = (0..ROWS).map(|i| i % 7 != 0 && !(150_000..220_000).contains(&i)).collect();
        let columns = [
            Column { name: "a", values: &a, present: None },
            Column { name: "b", values: &b, present: Some(&present) },
        ];
        writer.write(&id, &times, &columns).unwrap();
        writer.finish().unwrap();

        let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
        let table = container.table("root.sg.d").unwrap();
        for (from, to) in [(1_000_000, 1_019_990), (1_400_000, 1_600_000), (3_999_000, 5_000_000)] {
            let filter = format!("time BETWEEN {from} AND {to}");
            let request = Scan::all().filter(filter.parse().unwrap());
            let mut rows = scan(&*table, &request, &driver(), RowOrder::Plan).unwrap();
            let mut next = from / 10;
            for batch in rows.by_ref() {
                let batch = batch.unwrap();
                let a: &arrow_array::Float64Array = batch.column(1).as_any().downcast_ref().unwrap();
                let b: &arrow_array::StringArray = batch.column(2).as_any().downcast_ref().unwrap();
                for (a, b) in a.iter().zip(b) {
                    assert_eq!(a, Some(noise(next)), "{version:?} {aligned}: {filter}");
                    let text = present[next as usize].then(|| format!("{:x}", noise(next).to_bits()));
                    assert_eq!(b, text.as_deref());
                    next += 1;
                }
            }
            assert_eq!(next, ROWS.min(to / 10 + 1), "{version:?} {aligned}: {filter}");
            let (read, all) = (rows.stats().bytes_fetched, location.size().unwrap());
            assert!(read * 5 < all, "{version:?} {aligned}: {read} of {all} bytes for {filter}");
        }
    }
}

#[test]
fn aggregates_decode_only_the_pages_at_the_edges_of_a_time_range() {
    use tesselle_tsfile::aggregate::{Effort, Request, aggregate};
    const ROWS: i64 = 100_000;
    for aligned in [false, true] {
        let mut options = WriterOptions::for_version(Version::V4);
        options.page_points = 1000;
        let schemas = [
            series("a", DataType::Int64, Encoding::Ts2Diff),
            series("b", DataType::Double, Encoding::Ts2Diff),
        ];
        let (location, mut writer, id) = device(options, aligned, &schemas);
        let times: Vec<i64> = (0..ROWS).map(|i| i * 10).collect();
        let (a, b) =
            (Values::Int64((0..ROWS).collect()), Values::Double((0..ROWS).map(|i| i as f64).collect()));
        let columns = [("a", &a), ("b", &b)].map(|(name, values)| Column { name, values, present: None });
        writer.write(&id, &times, &columns).unwrap();
        writer.finish().unwrap();

        let effort = |name: &str, from: i64, to: i64| -> (u64, Effort) {
            let request = Request { series: vec![format!("root.sg.d.{name}")], from, to };
            let found = aggregate(&location, &request, &driver()).unwrap();
            assert_eq!(found.len(), 1);
            (found[0].values.count, found[0].effort)
        };
        let (count, all) = effort("a", i64::MIN, i64::MAX);
        assert_eq!((count, all.chunks, all.chunks_from_statistics), (100_000, 1, 1));
        assert_eq!(all.pages_decoded, 0);
        assert!(all.bytes_fetched < 100, "{all:?}");
        // From the middle of page 20 to the middle of page 60.
        let (count, part) = effort("a", 205_000, 604_990);
        assert_eq!((count, part.chunks_from_statistics), (40_000, 0));
        assert_eq!((part.pages_from_statistics, part.pages_decoded), (39, 2));
        // Whole pages need no decoding.
        let (count, part) = effort("a", 200_000, 599_990);
        assert_eq!((count, part.pages_from_statistics, part.pages_decoded), (40_000, 40, 0));
        // Statistics describe the input, the pages what a lossy encoding keeps of it.
        let (count, lossy) = effort("b", i64::MIN, i64::MAX);
        assert_eq!((count, lossy.chunks_from_statistics, lossy.pages_decoded), (100_000, 0, 100));
        let unknown = Request { series: vec!["root.sg.d.c".into()], ..Request::default() };
        assert!(aggregate(&location, &unknown, &driver()).is_err());
        let device = Request { series: vec!["root.sg.d".into()], ..Request::default() };
        assert_eq!(aggregate(&location, &device, &driver()).unwrap().len(), 2);
    }
}

#[test]
fn row_counts_of_several_series_are_known_if_their_times_determine_them() {
    // Two series over 1,000 timestamps with distance `step`: the second one has every third point.
    let stats = |step: i64| {
        let storage = Arc::new(MemoryStorage::new());
        let location = Location::new(Arc::clone(&storage) as Arc<dyn Storage>, "f.tsfile");
        let options = WriterOptions::for_version(Version::V4);
        let mut writer = Writer::create(&location, false, options, &driver()).unwrap();
        let id = writer.device_id("root.sg.d");
        let schemas = ["a", "b"].map(|name| series(name, DataType::Int64, Encoding::Ts2Diff));
        writer.add_device(id.clone(), schemas.to_vec()).unwrap();
        let times: Vec<i64> = (0..1000).map(|i| i * step).collect();
        let values = Values::Int64((0..1000).map(|i| i % 100 - 7).collect());
        let present: Vec<bool> = (0..1000).map(|i| i % 3 == 0).collect();
        let columns = [
            Column { name: "a", values: &values, present: None },
            Column { name: "b", values: &values, present: Some(&present) },
        ];
        writer.write(&id, &times, &columns).unwrap();
        writer.finish().unwrap();
        let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
        container.table("root.sg.d").unwrap().stats()
    };
    let dense = stats(1);
    assert_eq!((dense.rows, &dense.columns["b"].nulls), (Known::Exact(1000), &Known::Exact(666)));
    // Between two timestamps of the first series the second might have points of its own.
    let wide = stats(10);
    assert_eq!((wide.rows, &wide.columns["b"].nulls), (Known::Bound(1334), &Known::Bound(1000)));
    for stats in [&dense.columns, &wide.columns] {
        assert_eq!(
            (&stats["a"].min, &stats["a"].max),
            (&Known::Exact((-7).into()), &Known::Exact(92.into()))
        );
        assert_eq!(stats["time"].min, Known::Exact(0.into()));
    }
}

#[test]
fn times_of_unselected_series_still_define_rows() {
    let noise = |i: i64| i.wrapping_mul(0x5851_f42d_4c95_7f2d);
    for irregular in [false, true] {
        for compression in [Compression::Snappy, Compression::Lz4, Compression::Zstd] {
            let location = Location::new(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>, "f.tsfile");
            let options = WriterOptions::for_version(Version::V4);
            let mut writer = Writer::create(&location, false, options, &driver()).unwrap();
            let id = writer.device_id("root.sg.d");
            let schemas = ["a", "b"].map(|name| MeasurementSchema {
                compression,
                ..series(name, DataType::Double, Encoding::Gorilla)
            });
            writer.add_device(id.clone(), schemas.to_vec()).unwrap();
            let step = |i: i64| if irregular { noise(i) & 0xff } else { 0 };
            let times: Vec<i64> = (0..25_000).map(|i| i * 1000 + step(i)).collect();
            let values = Values::Double((0..25_000).map(|i| noise(i) as f64).collect());
            let present: Vec<bool> = (0..25_000).map(|i| i % 2 == 0).collect();
            let columns = [
                Column { name: "a", values: &values, present: Some(&present) },
                Column { name: "b", values: &values, present: None },
            ];
            writer.write(&id, &times, &columns).unwrap();
            writer.finish().unwrap();
            let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
            let table = container.table("root.sg.d").unwrap();
            let read = |columns: &[&str]| {
                let request = Scan::all().columns(columns.iter().copied());
                let rows = scan(&*table, &request, &driver(), RowOrder::Plan).unwrap();
                let batches: Vec<_> = rows.map(|batch| batch.unwrap()).collect();
                arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
            };
            let (all, narrow) = (read(&["time", "a", "b"]), read(&["time", "a"]));
            assert_eq!(narrow, all.project(&[0, 1]).unwrap(), "{compression:?} irregular {irregular}");
            assert_eq!(narrow.num_rows(), 25_000);
        }
    }
}
