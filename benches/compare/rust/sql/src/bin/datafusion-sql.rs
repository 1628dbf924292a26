//! The same questions by DataFusion over the Parquet file: `datafusion-sql QUERY-FORMAT FOLDER`.

use compare_sql::{MIDDLE, RUNS, answer, statement};
use datafusion::prelude::{ParquetReadOptions, SessionContext};

fn main() {
    let (job, folder) = compare_harness::arguments();
    let (query, _) = job.split_once('-').expect("a job is QUERY-FORMAT");
    let file = folder.join("rows.parquet");
    let file = file.to_str().expect("a UTF-8 path");
    let sql = statement(query, MIDDLE);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    compare_harness::report(RUNS, || {
        runtime.block_on(async {
            let context = SessionContext::new();
            context.register_parquet("t", file, ParquetReadOptions::default()).await.expect("a table");
            let batches = context.sql(&sql).await.expect("a plan").collect().await.expect("an answer");
            answer(&batches)
        })
    });
}
