//! A piece that takes more memory than is allowed is refused before it is decoded, in every format that has such pieces.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
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
    let driver = |memory| Driver::new(&DriverOptions::default().with_threads(2).with_memory(memory)).unwrap();
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
        let table = tesselle::open(uri).unwrap().default_table().unwrap();
        let read = |memory| -> tesselle::Result<usize> {
            let rows = table.scan().on(&driver(memory)).rows()?.into_batches();
            rows.map(|batch| Ok(batch?.num_rows())).sum()
        };
        assert_eq!(read(512 << 20).unwrap(), ROWS as usize, "{name}");
        let Err(error) = read(1 << 20) else { panic!("{name} is read") };
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
    }
}
