//! A piece that takes more memory than is allowed is refused before it is decoded, in every format that has such pieces.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tesselle::{Driver, DriverOptions, ErrorKind};

/// Rows of one piece: more bytes than are allowed under any limit.
const ROWS: i64 = 3 << 20;

#[test]
fn a_piece_beyond_the_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let value: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| i.wrapping_mul(0x1e37_79b9_7f4a_7c15))));
    let batch = RecordBatch::try_from_iter([("time", time), ("value", value)]).unwrap();
    let (rows, last) = (ROWS.to_string(), format!("0:{}", ROWS - 1));
    let dense: &[(&str, &str)] =
        &[("kind", "dense"), ("dims", "time"), ("domain.time", &last), ("extent.time", &rows)];
    let pages: &[(&str, &str)] =
        &[("page_rows", &rows), ("row_group_rows", &rows), ("row_group_bytes", "100000000")];
    let points: &[(&str, &str)] = &[("page_points", &rows), ("page_bytes", "100000000")];
    let chunks: &[(&str, &str)] = &[("axes", "1"), ("shape", &rows), ("chunk", &rows), ("codec", "zstd")];
    for (name, settings) in [
        ("x.tiledb", dense),
        ("x.tatami", pages),
        ("x.tsfile", points),
        ("x.tet", chunks),
        ("x.zarr", chunks),
    ] {
        let uri = folder.path().join(name);
        let uri = uri.to_str().unwrap();
        let settings = settings.iter().filter(|(setting, _)| name != "x.zarr" || *setting != "codec");
        let mut create = tesselle::create(uri, batch.schema());
        for (setting, value) in settings {
            create = create.set(*setting, *value);
        }
        let mut writer = create.start().unwrap_or_else(|error| panic!("{name}: {error}"));
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        check(uri);
    }
}

/// The file is read with much memory and refused with little.
fn check(uri: &str) {
    let driver =
        |memory| Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(memory)).unwrap();
    let table = tesselle::open(uri).unwrap().default_table().unwrap();
    let read = |memory| -> tesselle::Result<usize> {
        let rows = table.scan().on(&driver(memory)).rows()?.into_batches();
        rows.map(|batch| Ok(batch?.num_rows())).sum()
    };
    assert_eq!(read(512 << 20).unwrap(), ROWS as usize, "{uri}");
    let Err(error) = read(1 << 20) else { panic!("{uri} is read") };
    assert_eq!(error.kind(), ErrorKind::Limit, "{uri}: {error}");
}

#[test]
fn pages_and_batches_of_other_formats_beyond_the_limit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let create = |name: &str| File::create(Path::new(&at(name))).unwrap();
    let column =
        |value: fn(i64) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..ROWS).map(value))) };
    // Bytes that show their size only once they are decompressed.
    let zeros = RecordBatch::try_from_iter([("zero", column(|_| 0))]).unwrap();
    let numbers =
        RecordBatch::try_from_iter([("number", column(|i| i.wrapping_mul(0x1e37_79b9_7f4a_7c15)))]).unwrap();

    for (name, batch, compression) in [
        ("numbers.arrow", &numbers, None),
        ("zeros.arrow", &zeros, Some(CompressionType::ZSTD)),
        ("lz4.arrow", &zeros, Some(CompressionType::LZ4_FRAME)),
    ] {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = FileWriter::try_new_with_options(create(name), &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        check(&at(name));
    }
    for (name, batch, compression) in
        [("numbers.arrows", &numbers, None), ("zeros.arrows", &zeros, Some(CompressionType::ZSTD))]
    {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = StreamWriter::try_new_with_options(create(name), &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        check(&at(name));
        if compression.is_some() {
            // A size that no machine has is refused under any limit.
            let mut bytes = std::fs::read(at(name)).unwrap();
            let size = (ROWS * 8).to_le_bytes();
            let place = bytes.windows(8).position(|window| window == size).unwrap();
            bytes[place..place + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
            std::fs::write(at(name), bytes).unwrap();
            let table = tesselle::open(&at(name)).unwrap().default_table().unwrap();
            let read = table.scan().rows().unwrap().into_batches().try_for_each(|batch| batch.map(drop));
            assert_eq!(read.unwrap_err().kind(), ErrorKind::Limit);
        }
    }

    let one_page = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(parquet::basic::Compression::SNAPPY)
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(ROWS as usize)
        .set_write_batch_size(ROWS as usize)
        .set_max_row_group_row_count(Some(ROWS as usize))
        .build();
    let mut writer = ArrowWriter::try_new(create("one.parquet"), zeros.schema(), Some(one_page)).unwrap();
    writer.write(&zeros).unwrap();
    writer.close().unwrap();
    check(&at("one.parquet"));
}
