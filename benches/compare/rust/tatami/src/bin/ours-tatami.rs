//! The tatami jobs, run by Tesselle. The folder's files are `NAME.tatami`: `plain`, `extended`, `small` (pages of 1,024
//! rows) and `segment` (the search index). `lz4` and `levelN`
//! (the plain profile at zstd level N) are written only to see what codecs and profile save.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use compare_harness::{arguments, report, report_each, report_written};
use compare_tatami::documents::schema;
use compare_tatami::questions::{lines, rows};
use compare_tatami::{digest, load};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scalar, Scan, Sink, Table};
use tesselle_tatami::search::{IndexOptions, Query, Searcher, Syntax, index};
use tesselle_tatami::{Codec, File, Profile, Tatami, Writer, WriterOptions};

fn location(path: &Path) -> Location {
    Location::local(path.to_str().unwrap()).unwrap()
}

fn write(path: &Path, batches: &[RecordBatch], options: WriterOptions, driver: &Driver) {
    let mut writer = Writer::create(&location(path), &schema(), options, true, driver).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    Box::new(writer).finish().unwrap();
}

fn options(name: &str) -> WriterOptions {
    let mut options = WriterOptions::default().with_sort_key("url".to_owned()).with_blobs(vec!["body".to_owned()]);
    match name {
        "extended" => (options.profile, options.level) = (Profile::Extended, 8),
        "lz4" => (options.profile, options.codec) = (Profile::Extended, Codec::Lz4),
        "small" => options.page_rows = 1024,
        _ => {
            if let Some(level) = name.strip_prefix("level") {
                options.level = level.parse().expect("a zstd level");
            }
        }
    }
    options
}

fn table(path: &Path) -> Arc<dyn Table> {
    let container = Tatami.open(&location(path), &OpenOptions::default()).unwrap();
    container.table("").unwrap()
}

fn read(path: &Path, request: &Scan, driver: &Driver) -> f64 {
    let rows = scan(&*table(path), request, driver, Order::Plan).unwrap();
    rows.map(|batch| digest(&batch.unwrap())).sum()
}

fn main() {
    let (job, folder) = arguments();
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    let (verb, name) = job.split_once('-').unwrap();
    let path: PathBuf = folder.join(format!("{name}.tatami"));
    let columns = |names: &[&str]| Scan::all().columns(names.iter().copied());
    match verb {
        "write" => {
            let batches = load(&folder);
            report_written(3, &path, || write(&path, &batches, options(name), &driver));
        }
        "scan1" => report(5, || read(&path, &columns(&["url"]), &driver)),
        "scan2" => report(5, || read(&path, &columns(&["url", "status"]), &driver)),
        "scanall" => report(3, || read(&path, &Scan::all(), &driver)),
        "host" => {
            let host = &lines(&folder, "host.txt")[0];
            let request = columns(&["url", "title"]).filter(format!("host = '{host}'").parse().unwrap());
            report(5, || read(&path, &request, &driver));
        }
        "status" => {
            let request = columns(&["url"]).filter("status = 404".parse().unwrap());
            report(5, || read(&path, &request, &driver));
        }
        "lookup" => {
            let file = File::open(&location(&path), &OpenOptions::default()).unwrap();
            let keys: Vec<Scalar> = lines(&folder, "keys.txt").into_iter().map(Scalar::String).collect();
            report_each(3, &keys, |key| f64::from(u8::from(file.lookup(key).unwrap().is_some())));
        }
        "blob" => {
            let file = File::open(&location(&path), &OpenOptions::default()).unwrap();
            report_each(3, &rows(&folder), |row| digest(&file.take(&[*row], Some(&["body"])).unwrap()));
        }
        "index" => {
            let batches = load(&folder);
            let mut options = IndexOptions::text(["title", "body", "url"]).stored(["url", "title"]);
            options.overwrite = true;
            let all = || batches.iter().cloned().map(Ok);
            report_written(3, &path, || drop(index(all(), &schema(), &location(&path), &options, &driver).unwrap()));
        }
        "query1" | "query2" | "query3" => {
            let searcher = Searcher::open(&location(&path), &OpenOptions::default()).unwrap();
            let queries = lines(&folder, &format!("queries-{}.txt", &verb[5..]));
            report_each(3, &queries, |text| {
                let query = Query::parse(text, Syntax::Plain).unwrap();
                searcher.rank(&query, 10).unwrap().len() as f64
            });
        }
        other => panic!("unknown job {other}"),
    }
}
