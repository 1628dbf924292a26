//! Writing: byte identity with the original engine, round trips, appending, repair, sinks.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch};
use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    Container, DType, Depth, Format, Location, OpenOptions, RepairRequest, Report, Scan, WriteOptions,
};
use tesselle_tet::{
    Alignment, Codec, DatasetSpec, File, FooterSpec, RewriteOptions, Tet, Writer, WriterOptions, rewrite,
};

use crate::golden;
use crate::golden::{Case, driver, open_bytes, tensor};

fn memory() -> (MemoryStorage, Location) {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "data.tet");
    (storage, location)
}

fn footer_of(file: &File) -> Option<FooterSpec> {
    let indexes = file.describe().unwrap().extra.get("footer_version").is_some_and(|v| *v == 2);
    let has = file.describe().unwrap().extra.get("footer_version").is_some_and(|v| !v.is_null());
    has.then(|| FooterSpec {
        history: file.history().to_vec(),
        metadata: file.metadata().cloned(),
        indexes,
        version: None,
    })
}

/// Files determined by our recipe: written by the original engine, which never leaves gaps or reorders.
fn determined(case: &Case) -> bool {
    case.opens()
        && !case.name.starts_with("odd_")
        && !case.name.starts_with("open_ok_")
        && !["bad_", "reject_", "plan", "align_pair", "group_by"].iter().any(|p| case.name.starts_with(p))
        && !case.datasets().iter().any(|d| d.get("read_error").is_some())
}

#[test]
fn rewritten_files_are_byte_identical() {
    let mut checked = 0;
    for case in golden::cases().iter().filter(|case| determined(case)) {
        let file = case.open().unwrap();
        let (storage, target) = memory();
        let writer = WriterOptions::default()
            .with_alignment(Alignment::Packed)
            .with_footer(footer_of(&file))
            .with_overwrite(true)
            .with_checksum(false);
        rewrite(&file, &target, RewriteOptions::default().with_writer(writer), &driver()).unwrap();
        let (got, want) = (storage.get("data.tet").unwrap(), case.bytes());
        let differs = got.iter().zip(&want).position(|(a, b)| a != b);
        assert!(
            got == want,
            "{}: {} bytes, expected {}, first difference at {differs:?}",
            case.name,
            got.len(),
            want.len()
        );
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn raw_files_written_from_decoded_tensors_are_byte_identical() {
    for case in golden::cases().iter().filter(|case| determined(case)) {
        let file = case.open().unwrap();
        let raw = file.chunks(None).unwrap().iter().all(|chunk| chunk["codec"] == "raw");
        if !raw || file.table_names().is_empty() || case.name == "name_duplicate" {
            continue;
        }
        let specs: Vec<DatasetSpec> = case
            .datasets()
            .iter()
            .enumerate()
            .map(|(id, d)| DatasetSpec {
                name: d["name"].as_str().unwrap().to_owned(),
                dtype: file.dtype(id).unwrap(),
                shape: serde_json::from_value(d["shape"].clone()).unwrap(),
                chunk_shape: serde_json::from_value(d["chunk_shape"].clone()).unwrap(),
                codec: Codec::Raw,
                level: None,
                budget: file.memory_budget(),
            })
            .collect();
        let (storage, target) = memory();
        let options = WriterOptions::default()
            .with_alignment(Alignment::Packed)
            .with_footer(footer_of(&file))
            .with_overwrite(false)
            .with_checksum(false);
        let mut writer = Writer::create(&target, &specs, options, &driver()).unwrap();
        for id in 0..specs.len() {
            // In parts of odd sizes: bands must not depend on the parts.
            for part in tensor(&file, id).unwrap().chunks(37) {
                writer.push_rows(id, part).unwrap();
            }
        }
        writer.finish().unwrap();
        assert!(storage.get("data.tet").unwrap() == case.bytes(), "{}", case.name);
    }
}

#[test]
fn appending_gives_the_bytes_of_the_original() {
    for case in golden::cases().iter().filter(|case| case.name == "append_session") {
        let want = case.open().unwrap();
        let datasets = case.datasets();
        let (storage, target) = memory();
        let spec = |id: usize| {
            let d = &datasets[id];
            DatasetSpec::new(d["name"].as_str().unwrap(), want.dtype(id).unwrap(), shape(d, "shape"))
                .chunk_shape(shape(d, "chunk_shape"))
                .codec(if want.chunks(None).unwrap()[id]["codec"] == "zstd" {
                    Codec::Zstd
                } else {
                    Codec::Raw
                })
        };
        let history = want.history().to_vec();
        let first = FooterSpec {
            history: history[..1].to_vec(),
            metadata: want.metadata().cloned(),
            indexes: true,
            version: None,
        };
        let options = WriterOptions::default().with_footer(first).with_checksum(false);
        let mut writer = Writer::create(&target, &[spec(0)], options, &driver()).unwrap();
        writer.push_rows(0, &tensor(&want, 0).unwrap()).unwrap();
        writer.finish().unwrap();
        let second =
            FooterSpec { history: history[1..].to_vec(), metadata: None, indexes: false, version: None };
        let options = WriterOptions::default().with_footer(second).with_checksum(false);
        let mut writer = Writer::append(&target, &[spec(1)], options.clone(), &driver()).unwrap();
        writer.push_rows(1, &tensor(&want, 1).unwrap()).unwrap();
        writer.finish().unwrap();
        let got = open_bytes(storage.get("data.tet").unwrap()).unwrap();
        assert_eq!(tensor(&got, 0).unwrap(), tensor(&want, 0).unwrap());
        assert_eq!(tensor(&got, 1).unwrap(), tensor(&want, 1).unwrap());
        assert_eq!((got.history(), got.metadata()), (want.history(), want.metadata()));
        let raw = want.chunks(None).unwrap().iter().all(|chunk| chunk["codec"] == "raw");
        assert!(!raw || storage.get("data.tet").unwrap() == case.bytes());
        assert!(Writer::append(&target, &[spec(1)], options, &driver()).is_err(), "a name is taken");
    }
}

fn shape(dataset: &serde_json::Value, key: &str) -> Vec<u64> {
    serde_json::from_value(dataset[key].clone()).unwrap()
}

fn verified(file: &File) -> Report {
    let mut report = Report::new(Depth::Deep);
    file.verify(Depth::Deep, &driver(), &mut report).unwrap();
    report
}

#[test]
fn raw_payloads_are_aligned_by_gaps_or_by_order() {
    let specs = [
        DatasetSpec::new("bytes", DType::U8, [3]),
        DatasetSpec::new("packed", DType::F64, [3]).codec(Codec::Zstd),
        DatasetSpec::new("doubles", DType::F64, [3]).chunk_shape([2]),
    ];
    for (alignment, warned) in
        [(Alignment::Gaps, true), (Alignment::Sorted, false), (Alignment::Packed, false)]
    {
        let (storage, target) = memory();
        let options = WriterOptions::default().with_alignment(alignment).with_checksum(false);
        let mut writer = Writer::create(&target, &specs, options, &driver()).unwrap();
        let order = if alignment == Alignment::Sorted { [2, 0, 1] } else { [0, 1, 2] };
        for id in order {
            let size = 3 * specs[id].dtype.size();
            writer.push_rows(id, &(0..size as u8).collect::<Vec<u8>>()).unwrap();
        }
        writer.finish().unwrap();
        let file = open_bytes(storage.get("data.tet").unwrap()).unwrap();
        let report = verified(&file);
        assert!(report.ok());
        assert_eq!(report.findings().iter().any(|f| f.kind == "payload_order"), warned, "{alignment:?}");
        for chunk in file.chunks(None).unwrap() {
            let aligned = chunk["offset"].as_u64().unwrap() % 8 == 0;
            assert!(chunk["dataset"] != "doubles" || aligned || alignment == Alignment::Packed);
        }
        assert_eq!(tensor(&file, 2).unwrap(), (0..24).collect::<Vec<u8>>());
    }
}

#[test]
fn an_unfinished_write_leaves_nothing_and_misuse_is_refused() {
    let (storage, target) = memory();
    let specs = [DatasetSpec::new("a", DType::U8, [4, 4]).chunk_shape([2, 2])];
    let mut writer = Writer::create(&target, &specs, WriterOptions::default(), &driver()).unwrap();
    writer.put_chunk(0, &[1, 1], &[1, 2, 3, 4]).unwrap();
    assert!(writer.put_chunk(0, &[1, 1], &[1, 2, 3, 4]).is_err(), "given twice");
    assert!(writer.put_chunk(0, &[2, 0], &[1, 2, 3, 4]).is_err(), "outside");
    assert!(writer.put_chunk(0, &[0, 0], &[1, 2, 3]).is_err(), "too short");
    assert!(writer.put_chunk(1, &[0, 0], &[1, 2, 3, 4]).is_err(), "no such dataset");
    assert!(writer.finish().is_err(), "chunks are missing");
    assert!(storage.paths().is_empty());
    let twice = [specs[0].clone(), specs[0].clone()];
    assert!(Writer::create(&target, &twice, WriterOptions::default(), &driver()).is_err());
}

#[test]
fn an_empty_file_is_a_superblock() {
    let (storage, target) = memory();
    Writer::create(&target, &[], WriterOptions::default(), &driver()).unwrap().finish().unwrap();
    assert_eq!(storage.get("data.tet").unwrap().len(), 32);
    assert!(verified(&open_bytes(storage.get("data.tet").unwrap()).unwrap()).ok());
}

#[test]
fn repaired_files_are_healthy_and_keep_intact_data() {
    let unsaved = [
        "bad_magic",
        "bad_version",
        "bad_short",
        "bad_empty",
        "bad_index",
        "bad_entry",
        "bad_blob",
        "bad_count",
        "bad_name",
        "bad_ndim",
        "bad_no_directory",
        "bad_truncated_index",
        "reject_truncated_tidx",
    ];
    for case in golden::cases() {
        let (storage, source) = memory();
        storage.put("data.tet", case.bytes());
        let target = Location::new(Arc::clone(source.storage()), "out.tet");
        let repaired = Tet.repair(RepairRequest::new(&source, &target, &OpenOptions::default()), &driver());
        let hopeless = unsaved.iter().any(|name| case.name.starts_with(name));
        assert_eq!(repaired.is_err(), hopeless, "{}: {repaired:?}", case.name);
        assert_eq!(storage.get("data.tet").unwrap(), case.bytes());
        let Ok(repaired) = repaired else { continue };
        let got = open_bytes(storage.get("out.tet").unwrap()).unwrap();
        let report = verified(&got);
        assert!(report.ok(), "{}: {:?}", case.name, report.findings());
        let datasets = case.datasets();
        let whole = datasets.iter().filter(|d| d.get("read_error").is_none()).count();
        if case.opens() {
            // Some of the others have chunks that can be recovered.
            let saved = got.table_names().len();
            assert!((whole..=datasets.len()).contains(&saved), "{}: {repaired:?}", case.name);
        }
        for id in 0..got.table_names().len() {
            tensor(&got, id).unwrap();
        }
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn sink(batches: &[RecordBatch], settings: &[(&str, &str)]) -> tesselle_core::Result<File> {
    let (storage, target) = memory();
    let mut options = WriteOptions::default();
    for (name, value) in settings {
        options.settings.set(*name, *value);
    }
    let mut sink = Tet.create(&target, batches[0].schema(), &options, &driver())?;
    for batch in batches {
        sink.write(batch)?;
    }
    sink.finish()?;
    open_bytes(storage.get("data.tet").unwrap())
}

#[test]
fn a_table_written_back_is_the_same_array() {
    for case in golden::cases().iter().filter(|case| determined(case)) {
        let file = case.open().unwrap();
        for (id, dataset) in case.datasets().iter().enumerate().take(12) {
            let table = file.table_at(id).unwrap();
            let rows = scan(&*table, &Scan::all().with_batch_rows(11), &driver(), Order::Plan).unwrap();
            let batches: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
            let text = shape(dataset, "shape").iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            for settings in
                [&[][..], &[("shape", &*text)], &[("order", "any"), ("codec", "zstd"), ("footer", "v2")]]
            {
                let back = sink(&batches, settings).unwrap();
                assert_eq!(
                    tensor(&back, 0).unwrap(),
                    tensor(&file, id).unwrap(),
                    "{} {settings:?}",
                    case.name
                );
                assert_eq!(back.table_at(0).unwrap().schema(), table.schema());
                assert!(verified(&back).ok(), "{} {settings:?} {:?}", case.name, verified(&back).findings());
            }
        }
    }
}

#[test]
fn sinks_place_fill_and_refuse() {
    let at = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let value = |values: &[Option<f32>]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
    let shuffled = batch(vec![
        ("y", at(&[1, 0, 1])),
        ("x", at(&[1, 0, 0])),
        ("value", value(&[Some(3.0), Some(0.0), Some(2.0)])),
    ]);
    assert!(sink(std::slice::from_ref(&shuffled), &[]).is_err(), "not row-major");
    assert!(sink(std::slice::from_ref(&shuffled), &[("order", "any")]).is_err(), "a hole");
    let file = sink(std::slice::from_ref(&shuffled), &[("order", "any"), ("fill", "-1")]).unwrap();
    let floats: Vec<f32> =
        tensor(&file, 0).unwrap().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!(floats, [0.0, -1.0, 2.0, 3.0]);
    assert_eq!(file.array(0).unwrap().axis_names(), ["y", "x"]);
    assert_eq!(file.metadata().unwrap().datasets["data"].attrs["_FillValue"], "-1");
    let plain = batch(vec![("a", at(&[5, 6])), ("b", value(&[Some(1.5), None]))]);
    assert!(sink(std::slice::from_ref(&plain), &[]).is_err(), "nulls of floats");
    let file = sink(&[plain], &[("fill", "7")]).unwrap();
    assert_eq!(file.table_names(), ["a", "b"]);
    assert_eq!(tensor(&file, 0).unwrap(), [5_i64, 6].map(i64::to_le_bytes).concat());
    let nulls = batch(vec![("a", Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef)]);
    assert!(sink(std::slice::from_ref(&nulls), &[]).is_err(), "nulls");
    assert!(sink(&[nulls], &[("fill", "9")]).is_ok());
    for bad in [
        ("codec", "lz4"),
        ("chunk", "x"),
        ("color", "red"),
        ("level", "3"),
        ("shape", "1,2,3"),
        ("order", "up"),
    ] {
        assert!(sink(std::slice::from_ref(&shuffled), &[bad]).is_err(), "{bad:?}");
    }
}

#[test]
fn wide_bands_of_compressed_chunks_read_right() {
    // One band of eight chunks, large enough to be decoded by several threads.
    let cells: Vec<u8> = (0..4_u32 << 20).map(|i| (i / 7) as u8).collect();
    let spec =
        DatasetSpec::new("wide", DType::U8, [64, 1 << 16]).chunk_shape([64, 1 << 13]).codec(Codec::Zstd);
    let (storage, target) = memory();
    let mut writer = Writer::create(&target, &[spec], WriterOptions::default(), &driver()).unwrap();
    writer.push_rows(0, &cells).unwrap();
    writer.finish().unwrap();
    let file = open_bytes(storage.get("data.tet").unwrap()).unwrap();
    let table = file.table_at(0).unwrap();
    let request = Scan::all().columns(["value"]);
    assert_eq!(table.plan(&request).unwrap().tasks.len(), 1);
    let rows = scan(&*table, &request, &driver(), Order::Plan).unwrap();
    let got: Vec<u8> = rows.flat_map(|batch| golden::bytes_of(batch.unwrap().column(0))).collect();
    assert!(got == cells);
    assert!(tensor(&file, 0).unwrap() == cells);
}

#[test]
fn rows_give_the_same_file_as_chunks() {
    // Parts of rows that are written without a copy, short ones, and whole bands; the last chunks are smaller.
    for (columns, edge) in [(1500, 600), (1500, 200), (1536, 512), (700, 700)] {
        for alignment in [Alignment::Packed, Alignment::Gaps] {
            let (shape, chunk) = ([70_u64, columns], [32_u64, edge]);
            let cells: Vec<u8> = (0..shape[0] * shape[1]).flat_map(|i| (i as u16).to_le_bytes()).collect();
            let specs = [
                DatasetSpec::new("odd", DType::U8, [5]),
                DatasetSpec::new("data", DType::U16, shape).chunk_shape(chunk),
            ];
            let write = |fill: &dyn Fn(&mut Writer)| {
                let (storage, target) = memory();
                let options = WriterOptions::default().with_alignment(alignment);
                let mut writer = Writer::create(&target, &specs, options, &driver()).unwrap();
                writer.push_rows(0, b"12345").unwrap();
                fill(&mut writer);
                writer.finish().unwrap();
                storage.get("data.tet").unwrap()
            };
            let by_rows = write(&|writer| {
                // More than one call, in the middle of a row and of a band.
                let (first, second) = cells.split_at(cells.len() / 3 + 1);
                writer.push_rows(1, first).unwrap();
                writer.push_rows(1, second).unwrap();
            });
            let at_once = write(&|writer| writer.push_rows(1, &cells).unwrap());
            let by_chunks = write(&|writer| {
                for row in 0..shape[0].div_ceil(chunk[0]) {
                    for column in 0..shape[1].div_ceil(chunk[1]) {
                        let rows = row * chunk[0]..((row + 1) * chunk[0]).min(shape[0]);
                        let columns = column * chunk[1]..((column + 1) * chunk[1]).min(shape[1]);
                        let bytes: Vec<u8> = rows
                            .flat_map(|row| {
                                let start = (row * shape[1] + columns.start) as usize * 2;
                                &cells[start..start + (columns.end - columns.start) as usize * 2]
                            })
                            .copied()
                            .collect();
                        writer.put_chunk(1, &[row, column], &bytes).unwrap();
                    }
                }
            });
            assert!(by_rows == by_chunks && at_once == by_chunks, "{columns} {edge} {alignment:?}");
            assert!(tensor(&open_bytes(by_rows).unwrap(), 1).unwrap() == cells);
        }
    }
}
