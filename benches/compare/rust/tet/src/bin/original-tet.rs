//! The tet jobs, run by the original engine.

use std::path::Path;

use compare_harness::{arguments, remove, report, report_after};
use compare_tet::{CHUNK, base, many, side, windows};
use tetration::catalog::{CHUNK_PAYLOAD_CODEC_V1, DATASET_DTYPE_TAG_V1, RawArrayWrite, TetFile, write_raw_array_file};
use tetration::prelude::*;
use tetration::query::{DenseBuffer, materialize_query_selection};
use tetration::verify::{VerifyOptions, verify_tet_file_with_options};

/// The original refuses what exceeds its budget, so each query brings one that holds everything.
const BUDGET: &str = r#""execution":{"memory_budget_bytes":8589934592}"#;

fn dense(path: &Path, query: &str) -> Vec<f32> {
    let file = TetFile::open(path).unwrap();
    match materialize_query_selection(&parse_query_json(query).unwrap(), file.mmap()).unwrap().buffer {
        DenseBuffer::F32(values) => values,
        _ => panic!("the tensor has another type"),
    }
}

fn execute(path: &Path, query: &str) -> serde_json::Value {
    let file = TetFile::open(path).unwrap();
    let options = ExecuteQueryOptions::execute_no_preview();
    let response = execute_query_json(query, file.path(), file.mmap(), options, None).unwrap();
    serde_json::to_value(&response).unwrap()["execution"].clone()
}

fn main() {
    let (job, folder) = arguments();
    let (verb, codec) = job.split_once('-').unwrap();
    let file = folder.join(format!("{codec}.tet"));
    let (name, side) = ("data", side());
    match verb {
        "write" => {
            let data = base(&folder);
            let tag = if codec == "raw" { CHUNK_PAYLOAD_CODEC_V1.raw } else { CHUNK_PAYLOAD_CODEC_V1.zstd };
            let (shape, chunk) = ([side; 2], [CHUNK; 2]);
            let spec = RawArrayWrite::from_tensor(name, DATASET_DTYPE_TAG_V1.f32, &shape, &chunk, tag, &data, None);
            let target = folder.join(format!("original-{codec}.tet"));
            report_after(2, || remove(&target), || write_raw_array_file(&target, &spec).unwrap());
        }
        "read" => report(1, || {
            let values = dense(&file, &format!(r#"{{"dataset":"{name}",{BUDGET}}}"#));
            f64::from(values[(7 * side + 5) as usize]) + f64::from(values[(side * side - 1) as usize])
        }),
        "windows" => report(1, || {
            let mut sum = 0.0;
            for (row, column) in windows() {
                let slice = |start: u64| format!(r#"{{"start":{start},"stop":{}}}"#, start + CHUNK);
                let query = format!(r#"{{"dataset":"{name}","selection":[{},{}],{BUDGET}}}"#, slice(row), slice(column));
                sum += f64::from(dense(&file, &query)[(CHUNK * CHUNK - 1) as usize]);
            }
            sum
        }),
        "mean" => report(1, || {
            let answer = execute(&file, &format!(r#"{{"dataset":"{name}","mean":[],{BUDGET}}}"#));
            answer["operation_mean"].as_f64().unwrap()
        }),
        "mean0" => report(1, || {
            let answer = execute(&file, &format!(r#"{{"dataset":"{name}","mean":[0],{BUDGET}}}"#));
            answer["operation_reduced_mean"][77].as_f64().unwrap()
        }),
        "verify" => report(1, || {
            let options = VerifyOptions { deep_decode: true, ..VerifyOptions::default() };
            f64::from(verify_tet_file_with_options(&file, options).unwrap().ok)
        }),
        "info" => report(5, || {
            let file = TetFile::open(&file).unwrap();
            let summary = read_tet_summary_v1(file.mmap()).unwrap();
            summary.datasets[0].shape.iter().product::<u64>() as f64
        }),
        "one" => report(1, || {
            let at = many() / 2;
            let query = format!(r#"{{"dataset":"{name}","selection":[{{"start":{at},"stop":{}}},{{"start":{},"stop":{}}}]}}"#, at + 1, at + 1, at + 2);
            f64::from(dense(&file, &query)[0])
        }),
        "sum" => report(1, || {
            let answer = execute(&file, &format!(r#"{{"dataset":"{name}","sum":[]}}"#));
            answer["operation_sum"].as_f64().unwrap()
        }),
        other => panic!("unknown job {other}"),
    }
}
