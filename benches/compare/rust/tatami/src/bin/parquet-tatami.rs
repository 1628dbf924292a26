//! The tatami jobs, run by arrow-rs on Parquet. The folder's files are `3.parquet` and `8.parquet`, by their zstd levels.

use std::fs::File;
use std::path::Path;

use arrow_array::{BooleanArray, Scalar, StringArray, cast::AsArray, types::Int32Type};
use compare_harness::{arguments, report, report_each, report_written};
use compare_tatami::documents::schema;
use compare_tatami::questions::{lines, rows};
use compare_tatami::{digest, load};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
    RowSelector,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;

/// The slow jobs do fewer of the same.
const FEW: usize = 20;

fn metadata(path: &Path) -> ArrowReaderMetadata {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    ArrowReaderMetadata::load(&File::open(path).unwrap(), options).unwrap()
}

fn builder(path: &Path, metadata: &ArrowReaderMetadata) -> ParquetRecordBatchReaderBuilder<File> {
    ParquetRecordBatchReaderBuilder::new_with_metadata(File::open(path).unwrap(), metadata.clone()).with_batch_size(8192)
}

fn mask(metadata: &ArrowReaderMetadata, names: &[&str]) -> ProjectionMask {
    ProjectionMask::columns(metadata.parquet_schema(), names.iter().copied())
}

/// The row groups whose statistics of column `column` allow `value`.
fn groups(metadata: &ArrowReaderMetadata, column: usize, value: &str) -> Vec<usize> {
    let may_hold = |group: &usize| match metadata.metadata().row_group(*group).column(column).statistics() {
        Some(Statistics::ByteArray(s)) => {
            s.min_opt().is_none_or(|min| min.data() <= value.as_bytes()) && s.max_opt().is_none_or(|max| max.data() >= value.as_bytes())
        }
        _ => true,
    };
    (0..metadata.metadata().num_row_groups()).filter(may_hold).collect()
}

fn equals(column: &str, value: &str, metadata: &ArrowReaderMetadata) -> RowFilter {
    let value = Scalar::new(StringArray::from(vec![value.to_owned()]));
    let predicate = ArrowPredicateFn::new(mask(metadata, &[column]), move |batch| {
        let text = batch.column(0).as_string::<i32>();
        let wanted = arrow_array::Datum::get(&value).0.as_string::<i32>().value(0).to_owned();
        Ok(BooleanArray::from_unary(text, |found| found == wanted))
    });
    RowFilter::new(vec![Box::new(predicate)])
}

fn main() {
    let (job, folder) = arguments();
    let (verb, level) = job.split_once('-').unwrap();
    let path = folder.join(format!("{level}.parquet"));
    let scan = |names: &[&str]| {
        let metadata = metadata(&path);
        let reader = builder(&path, &metadata);
        let reader = if names.is_empty() { reader } else { reader.with_projection(mask(&metadata, names)) };
        reader.build().unwrap().map(|batch| digest(&batch.unwrap())).sum::<f64>()
    };
    match verb {
        "write" => {
            let batches = load(&folder);
            report_written(1, &path, || {
                let zstd = Compression::ZSTD(ZstdLevel::try_new(level.parse().unwrap()).unwrap());
                let properties = WriterProperties::builder().set_compression(zstd).build();
                let file = File::create(&path).unwrap();
                let mut writer = ArrowWriter::try_new(file.try_clone().unwrap(), schema(), Some(properties)).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.close().unwrap();
                file.sync_all().unwrap();
            });
        }
        "scan1" => report(3, || scan(&["url"])),
        "scan2" => report(3, || scan(&["url", "status"])),
        "scanall" => report(3, || scan(&[])),
        "host" => {
            let host = &lines(&folder, "host.txt")[0];
            report(3, || {
                let metadata = metadata(&path);
                let reader = builder(&path, &metadata)
                    .with_projection(mask(&metadata, &["url", "title"]))
                    .with_row_groups(groups(&metadata, 1, host))
                    .with_row_filter(equals("host", host, &metadata));
                reader.build().unwrap().map(|batch| digest(&batch.unwrap())).sum()
            });
        }
        "status" => report(3, || {
            let metadata = metadata(&path);
            let predicate = ArrowPredicateFn::new(mask(&metadata, &["status"]), |batch| {
                Ok(BooleanArray::from_unary(batch.column(0).as_primitive::<Int32Type>(), |status| status == 404))
            });
            let reader = builder(&path, &metadata)
                .with_projection(mask(&metadata, &["url"]))
                .with_row_filter(RowFilter::new(vec![Box::new(predicate)]));
            reader.build().unwrap().map(|batch| digest(&batch.unwrap())).sum()
        }),
        "lookup" => {
            let metadata = metadata(&path);
            report_each(1, &lines(&folder, "keys.txt")[..FEW], |key| {
                let reader = builder(&path, &metadata)
                    .with_projection(mask(&metadata, &["status"]))
                    .with_row_groups(groups(&metadata, 0, key))
                    .with_row_filter(equals("url", key, &metadata));
                reader.build().unwrap().map(|batch| batch.unwrap().num_rows() as f64).sum()
            });
        }
        "blob" => {
            let metadata = metadata(&path);
            report_each(1, &rows(&folder)[..FEW], |row| {
                let selection = RowSelection::from(vec![RowSelector::skip(*row as usize), RowSelector::select(1)]);
                let reader = builder(&path, &metadata).with_projection(mask(&metadata, &["body"])).with_row_selection(selection);
                reader.build().unwrap().map(|batch| digest(&batch.unwrap())).sum()
            });
        }
        other => panic!("unknown job {other}"),
    }
}
