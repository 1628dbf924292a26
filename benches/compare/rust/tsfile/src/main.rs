//! The TsFile jobs, run by Tesselle.

mod data;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_schema::DataType;
use compare_harness::{arguments, remove, report_after, report_known};
use data::{Set, base, middle};
use tesselle_codec::{delta_binary, gorilla};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scalar, Scan, Table, WriteOptions};
use tesselle_tsfile::TsFile;

fn write(path: &Path, set: &Set, batches: &[RecordBatch], driver: &Driver) {
    let mut options = WriteOptions::default().with_overwrite(true);
    options.table = Some("plant".into());
    let encodings: Vec<String> = set.columns.iter().map(|c| format!("{}:{}", c.name, c.encoding)).collect();
    let settings = [
        ("model", "table"),
        ("tags", "device"),
        ("compression", set.compression),
        ("encodings", &encodings.join(",")),
        ("page_points", "10000"),
        ("page_bytes", "1048576"),
    ];
    for (name, value) in settings {
        options.settings.set(name, value);
    }
    let location = Location::local(path).unwrap();
    let mut sink = TsFile.create(&location, batches[0].schema(), &options, driver).unwrap();
    for batch in batches {
        sink.write(batch).unwrap();
    }
    sink.finish().unwrap();
}

fn table(path: &Path) -> std::sync::Arc<dyn Table> {
    let container = TsFile.open(&Location::local(path).unwrap(), &OpenOptions::default()).unwrap();
    container.table("plant").unwrap()
}

/// Rows, numbers and string lengths added up.
fn checksum(batch: &RecordBatch) -> f64 {
    let mut total = batch.num_rows() as f64;
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()).skip(2) {
        total += match field.data_type() {
            DataType::Boolean => column.as_boolean().true_count() as f64,
            DataType::Utf8 => column.as_string::<i32>().iter().map(|s| s.unwrap_or_default().len() as f64).sum(),
            DataType::Int32 => column.as_primitive::<Int32Type>().iter().map(|v| f64::from(v.unwrap_or(0))).sum(),
            DataType::Int64 => column.as_primitive::<Int64Type>().iter().map(|v| v.unwrap_or(0) as f64).sum(),
            DataType::Float32 => column.as_primitive::<Float32Type>().iter().map(|v| f64::from(v.unwrap_or(0.0))).sum(),
            _ => column.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(0.0)).sum::<f64>(),
        };
    }
    total
}

fn statistics(path: &Path) -> f64 {
    let stats = table(path).stats();
    let rows = *stats.rows.exact().expect("the rows are known");
    let mut total = 0.0;
    for (name, column) in &stats.columns {
        if name == "time" || name == "device" {
            continue;
        }
        total += (rows - column.nulls.exact().expect("the nulls are known")) as f64;
        for bound in [column.min.exact(), column.max.exact()] {
            total += match bound {
                Some(Scalar::Int(v)) => *v as f64,
                Some(Scalar::Float(v)) => *v,
                _ => 0.0,
            };
        }
    }
    total
}

/// The decoder of the column alone, page by page, on one thread.
fn kernel(name: &str, batches: &[RecordBatch]) {
    const PAGE: usize = 10_000;
    fn run<T: Copy>(values: &[T], encode: impl Fn(&[T], &mut Vec<u8>), decode: impl Fn(&[u8], usize, &mut Vec<T>)) {
        let pages: Vec<(usize, Vec<u8>)> = values
            .chunks(PAGE)
            .map(|page| {
                let mut bytes = Vec::new();
                encode(page, &mut bytes);
                (page.len(), bytes)
            })
            .collect();
        let mut out = Vec::with_capacity(PAGE);
        report_known(5, 0.0, || {
            for (rows, bytes) in &pages {
                out.clear();
                decode(bytes, *rows, &mut out);
            }
        });
    }
    let column = batches[0].column(2);
    if name == "gorilla" {
        let decode = |bytes: &[u8], n, out: &mut Vec<f64>| gorilla::decode(bytes, n, out).unwrap();
        run(column.as_primitive::<Float64Type>().values(), gorilla::encode, decode);
    } else {
        let decode = |bytes: &[u8], n, out: &mut Vec<i64>| delta_binary::decode(bytes, n, out).unwrap();
        run(column.as_primitive::<Int64Type>().values(), delta_binary::encode, decode);
    }
}

fn main() {
    let (job, folder) = arguments();
    let threads = std::env::var("THREADS").ok().map(|n| n.parse().expect("THREADS is a number"));
    let driver = Driver::try_new(&DriverOptions::default().with_threads(threads)).unwrap();
    let (verb, name) = job.split_once('-').unwrap();
    let set = Set::named(name);
    let own = folder.join(format!("tesselle-{name}.tsfile"));
    let theirs: PathBuf = folder.join(format!("pypi-{name}.tsfile"));
    let file = if verb.ends_with("own") { &own } else { &theirs };
    let read = |request: &Scan| {
        let rows = scan(&*table(file), request, &driver, Order::Plan).unwrap();
        rows.map(|batch| batch.unwrap())
    };
    match verb {
        "write" => {
            let batches = base(&folder, &set);
            report_after(3, || remove(&own), || write(&own, &set, &batches, &driver));
        }
        "kernel" => kernel(name, &base(&folder, &set)),
        "stats" | "statsown" => report_known(5, statistics(file), || {
            statistics(file);
        }),
        "read" | "readown" | "query" | "queryown" => {
            let (from, to) = middle(&set);
            let request = if verb.starts_with("read") {
                Scan::all()
            } else {
                Scan::all().filter(format!("time BETWEEN {from} AND {to}").parse().unwrap())
            };
            let answer = read(&request).map(|batch| checksum(&batch)).sum();
            report_known(5, answer, || {
                read(&request).map(|batch| batch.num_rows()).sum::<usize>();
            });
        }
        other => panic!("unknown job {other}"),
    }
}
