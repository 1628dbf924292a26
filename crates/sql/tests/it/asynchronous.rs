//! Statements on the runtime of the caller.

use std::future::Future;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use futures::{StreamExt as _, TryStreamExt as _};
use tesselle::driver::CancelToken;
use tesselle::{ErrorKind, Result};
use tesselle_sql::{AsyncSession, SessionOptions};

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn plant(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("plant.csv");
    std::fs::write(&path, "time,speed\n1,80.5\n2,81.25\n3,79.5\n").unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_are_queried_at_once_on_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let uri = plant(&folder);
    let session = AsyncSession::try_new(&SessionOptions::default().with_threads(1)).unwrap();
    on_one_thread(async {
        session.register("plant", &uri).await.unwrap();
        let top = session.query("SELECT max(speed) AS top FROM plant");
        let sum = format!("SELECT sum(time) AS total FROM '{uri}' WHERE speed > 80");
        let (top, sum) = futures::join!(top, session.query(&sum));
        let (top, sum) = (top.unwrap(), sum.unwrap());
        assert_eq!(top.schema().field(0).name(), "top");
        let (top, sum): (Result<Vec<_>>, Result<Vec<_>>) =
            futures::join!(top.try_collect(), sum.try_collect());
        assert_eq!(top.unwrap()[0].column(0).as_primitive::<Float64Type>().values(), &[81.25]);
        assert_eq!(sum.unwrap()[0].column(0).as_primitive::<Int64Type>().values(), &[3]);
    });
}

#[test]
fn a_future_may_be_spawned() {
    let folder = tempfile::tempdir().unwrap();
    let (uri, target) = (plant(&folder), folder.path().join("fast.tatami"));
    let session = AsyncSession::try_new(&SessionOptions::default().with_threads(1)).unwrap();
    let copies = [
        format!("COPY (SELECT * FROM '{uri}' WHERE speed > 80) TO '{}'", target.display()),
        format!("COPY (SELECT speed * 2 AS twice FROM '{uri}') TO '{}.parquet'", target.display()),
    ];
    let written = on_one_thread(async {
        let task = tokio::spawn(async move {
            let mut written = Vec::new();
            for copy in &copies {
                let mut rows = session.query(copy).await?;
                let batch = rows.next().await.unwrap()?;
                written.push(batch.column(0).as_primitive::<UInt64Type>().value(0));
            }
            Ok::<_, tesselle::Error>(written)
        });
        task.await.unwrap().unwrap()
    });
    assert_eq!(written, [2, 3], "a scan that is converted, and a query whose rows are written");
    assert!(target.exists());
}

#[test]
fn errors_are_those_of_a_session() {
    let cancel = CancelToken::new();
    let session =
        AsyncSession::try_new(&SessionOptions::default().with_threads(1).with_cancel(cancel.clone()))
            .unwrap();
    on_one_thread(async {
        let error = session.query("SELECT * FROM nowhere").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(session.query(" ").await.unwrap_err().to_string().contains("no statement"));
        let mut rows = session.query("SELECT * FROM generate_series(1, 100000000)").await.unwrap();
        assert!(rows.next().await.unwrap().is_ok());
        cancel.cancel();
        let error = loop {
            match rows.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("the rows end although the session was canceled"),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Canceled, "{error}");
        assert!(rows.next().await.is_none());
    });
}
