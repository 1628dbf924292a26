//! Reading as a stream, on an executor that is not ours.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use futures::executor::block_on;
use futures::{StreamExt, TryStreamExt};
use tesselle::driver::CancelToken;
use tesselle::{Driver, DriverOptions, ErrorKind, Opener};

const ROWS: i64 = 200_000;

fn written(folder: &tempfile::TempDir, name: &str) -> String {
    let uri = folder.path().join(name).to_str().unwrap().to_owned();
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let batch = RecordBatch::try_from_iter([("time", time)]).unwrap();
    let mut writer = tesselle::create(&uri, batch.schema()).start().unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    uri
}

#[test]
fn a_stream_has_the_rows_of_the_scan() {
    let folder = tempfile::tempdir().unwrap();
    for (name, threads) in [("a.parquet", 1), ("b.tatami", 2), ("c.arrow", 1)] {
        let uri = written(&folder, name);
        let driver =
            Driver::try_new(&DriverOptions::default().with_threads(threads).with_memory(1 << 20)).unwrap();
        let (rows, streamed) = block_on(async {
            let table = Opener::new().on(&driver).open_async(&uri).await.unwrap().default_table().unwrap();
            let scan = table.scan().filter("time >= 150000").unwrap().batch_rows(1000).on(&driver);
            let stream = scan.stream().unwrap();
            assert_eq!(stream.schema(), table.schema());
            (
                scan.rows().unwrap().read_all().unwrap(),
                stream.try_collect::<Vec<RecordBatch>>().await.unwrap(),
            )
        });
        let count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        assert_eq!((count(&rows), count(&streamed)), (50_000, 50_000), "{name}");
    }
}

#[test]
fn many_streams_share_one_thread_of_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    let uri = written(&folder, "a.parquet");
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1).with_memory(1 << 16)).unwrap();
    let table = tesselle::open(&uri).unwrap().default_table().unwrap();
    let streams = (0..8).map(|_| table.scan().on(&driver).stream().unwrap());
    let all = futures::stream::select_all(streams.map(Box::pin));
    let rows = block_on(all.try_fold(0, async |rows, batch| Ok(rows + batch.num_rows()))).unwrap();
    assert_eq!(rows, 8 * ROWS as usize);
}

#[test]
fn canceling_wakes_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let uri = written(&folder, "a.parquet");
    let token = CancelToken::new();
    let table = tesselle::open(&uri).unwrap().default_table().unwrap();
    let mut stream = table.scan().batch_rows(10).cancel_with(&token).stream().unwrap();
    block_on(async {
        stream.next().await.unwrap().unwrap();
        token.cancel();
        let error = loop {
            match stream.next().await.unwrap() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Canceled);
        assert!(stream.next().await.is_none());
    });
}

#[test]
fn work_on_the_driver_is_a_future() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (written(&folder, "a.parquet"), folder.path().join("b.tatami"));
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
    let convert = tesselle::convert(&from, to.to_str().unwrap()).on(&driver);
    let report = block_on(driver.spawned(move || convert.run())).unwrap();
    assert_eq!(report.summary.rows, ROWS as u64);
    let error = block_on(driver.spawned(|| -> tesselle::Result<()> { panic!("it breaks") })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}
