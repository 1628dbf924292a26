//! Statements on a runtime of the caller.

use futures::TryStreamExt;
use tesselle::ErrorKind;
use tesselle_sql::{AsyncSession, SessionOptions, from_datafusion};

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

#[test]
fn statements_run_on_the_callers_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("plant.csv"), folder.path().join("copy.parquet"));
    std::fs::write(&file, "time,name\n1,a\n2,b\n3,c\n").unwrap();
    on_one_thread(async {
        let session = AsyncSession::new(&SessionOptions::default()).unwrap();
        session.register("plant", file.to_str().unwrap()).await.unwrap();
        let sql = format!("COPY (SELECT * FROM plant WHERE time > 1) TO '{}'", copy.display());
        let count = session.query(&sql).await.unwrap().try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(count[0].column(0).as_ref(), &arrow_array::UInt64Array::from(vec![2]));
        // The context resolves names of files as well.
        let sql = format!("SELECT name FROM '{}' ORDER BY time DESC", copy.display());
        let frame = session.context().sql(&sql).await.unwrap();
        assert_eq!(frame.count().await.unwrap(), 2);
        let batches = session.query(&sql).await.unwrap().try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(batches[0].column(0).as_ref(), &arrow_array::StringArray::from(vec!["c", "b"]));
    });
}

#[test]
fn errors_are_those_of_the_library() {
    on_one_thread(async {
        let session = AsyncSession::new(&SessionOptions::default()).unwrap();
        let kind = |result: tesselle::Result<_>| result.err().map(|error: tesselle::Error| error.kind());
        assert_eq!(kind(session.query("").await.map(drop)), Some(ErrorKind::Invalid));
        assert_eq!(kind(session.query("SELECT * FROM nothing").await.map(drop)), Some(ErrorKind::NotFound));
        let error = session.context().sql("SELECT * FROM 'missing.tet'").await.unwrap_err();
        assert_eq!(from_datafusion(error).kind(), ErrorKind::Io);
    });
}
