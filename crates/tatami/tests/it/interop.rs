//! Live round trips with the original engine's command line: each engine reads what the other writes.
//!
//! Ignored by default. `interop/tatami/run.sh` runs it; `TATAMI_BIN` is the path of the original's `tatami`
//! program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::Value;
use tesselle_core::testing::Random;
use tesselle_core::{Location, OpenOptions, Scan, Sink};
use tesselle_tatami::{Codec, Collection, MANIFEST_NAME, Writer, WriterOptions};

use crate::expected::*;

fn original(arguments: &[&str]) -> String {
    let program = std::env::var_os("TATAMI_BIN").expect("TATAMI_BIN is the path of the original's program");
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "tatami {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    text
}

fn write(path: &Path, batches: &[RecordBatch], schema: &SchemaRef, options: WriterOptions) {
    let location = Location::local(path).unwrap();
    let mut writer = Box::new(Writer::create(&location, schema, options, true, &driver()).unwrap());
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

fn base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(|b| *b != b'=').map(|b| match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        _ => 63,
    });
    let (mut out, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for digit in digits {
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

/// Whether the original printed this value.
fn printed(array: &dyn Array, row: usize, got: &Value, line: &str, name: &str) -> bool {
    if array.is_null(row) {
        return got.is_null();
    }
    // The JSON parser may be off by the last bit of a float: floats are parsed from the raw output.
    let digits = || {
        let from = line.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
        from.split([',', '}']).next().unwrap_or_default().to_owned()
    };
    let number = || got.as_number().map(ToString::to_string).unwrap_or_default();
    macro_rules! int {
        ($t:ty) => {
            number() == array.as_primitive::<$t>().value(row).to_string()
        };
    }
    match array.data_type() {
        DataType::Boolean => got.as_bool() == Some(array.as_boolean().value(row)),
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::UInt64 => int!(UInt64Type),
        DataType::Timestamp(_, _) => int!(TimestampMicrosecondType),
        DataType::Float32 => {
            digits().parse::<f32>().ok() == Some(array.as_primitive::<Float32Type>().value(row))
        }
        DataType::Float64 => {
            digits().parse::<f64>().ok() == Some(array.as_primitive::<Float64Type>().value(row))
        }
        DataType::Utf8 => got.as_str() == Some(array.as_string::<i32>().value(row)),
        DataType::Binary => base64(got.as_str().unwrap_or("?")) == array.as_binary::<i32>().value(row),
        other => panic!("{other}"),
    }
}

fn check_printed(what: &str, path: &Path, batches: &[RecordBatch]) {
    let text = original(&["cat", path.to_str().unwrap()]);
    let mut lines = text.lines();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let text = lines.next().unwrap_or_else(|| panic!("{what}: too few rows"));
            let line: Value = serde_json::from_str(text).unwrap();
            for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
                let got = &line[field.name()];
                assert!(
                    printed(column.as_ref(), row, got, text, field.name()),
                    "{what}: {}, row {row}: {got}",
                    field.name()
                );
            }
        }
    }
    assert_eq!(lines.next(), None, "{what}: too many rows");
}

fn has_odd_floats(batches: &[RecordBatch]) -> bool {
    batches.iter().flat_map(RecordBatch::columns).any(|column| match column.data_type() {
        DataType::Float32 => column.as_primitive::<Float32Type>().iter().flatten().any(|v| !v.is_finite()),
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().flatten().any(|v| !v.is_finite()),
        _ => false,
    })
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn the_original_reads_every_rewritten_fixture() {
    let work = tempfile::tempdir().unwrap();
    let mut files = 0;
    for (folder, expected) in cases() {
        for (name, layout) in expected["layout"].as_object().unwrap() {
            let what = format!("{}/{name}", folder.file_name().unwrap().to_string_lossy());
            let Ok(batches) = read(&folder.join(name), &Scan::all(), &OpenOptions::default()) else {
                continue;
            };
            let lists = layout["schema"].as_array().unwrap().iter().any(|f| f["type"] == "list");
            if lists || batches.is_empty() || has_odd_floats(&batches) {
                continue;
            }
            let schema = batches[0].schema();
            let names = |bit: u64| -> Vec<String> {
                let fields = layout["schema"].as_array().unwrap().iter();
                let with = fields.filter(|f| f["flags"].as_u64().unwrap() & bit != 0);
                with.map(|f| f["name"].as_str().unwrap().into()).collect()
            };
            for (codec, rows) in [(Codec::Zstd, 97), (Codec::None, 40)] {
                let out = work.path().join("out.tatami");
                let options = WriterOptions::default()
                    .with_codec(codec)
                    .with_sort_key(names(2).pop())
                    .with_bloom(names(16))
                    .with_row_group_rows(3 * rows)
                    .with_page_rows(rows)
                    .with_blob_run_bytes(3000);
                write(&out, &batches, &schema, options);
                check_printed(&what, &out, &batches);
                assert!(original(&["inspect", out.to_str().unwrap()]).contains("1.1"), "{what}");
                files += 1;
            }
        }
    }
    assert!(files > 0);
}

fn documents(rows: usize) -> (SchemaRef, RecordBatch) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("lang", DataType::Utf8, true),
        Field::new("body", DataType::Binary, true),
    ]));
    let lang = (0..rows).map(|i| (i % 7 != 0).then(|| ["en", "de", "ja"][i % 3])).collect::<StringArray>();
    let body = (0..rows)
        .map(|i| {
            (i % 5 != 0).then(|| {
                format!("<html><title>page {i}</title>{}</html>", "text ".repeat(i % 90)).into_bytes()
            })
        })
        .collect::<BinaryArray>();
    let ids = Int64Array::from_iter_values((0..rows as i64).map(|i| i * 3 - 500));
    let batch =
        RecordBatch::try_new(schema.clone(), vec![Arc::new(ids), Arc::new(lang), Arc::new(body)]).unwrap();
    (schema, batch)
}

/// A column of any type of the format: constant, repeating, ascending or random values, with or without
/// nulls.
fn random_column(kind: u64, rows: usize, nullable: bool, random: &mut Random) -> ArrayRef {
    let shape = random.below(4);
    let start = random.below(1 << 40);
    let mut bits = || -> Vec<Option<u64>> {
        let value = |i: usize, random: &mut Random| match shape {
            0 => start,
            1 => start + random.below(9),
            2 => start + i as u64 * 3 + random.below(3),
            _ => random.below(u64::MAX),
        };
        let absent = |random: &mut Random| nullable && random.below(6) == 0;
        (0..rows).map(|i| if absent(random) { None } else { Some(value(i, random)) }).collect()
    };
    macro_rules! numbers {
        ($array:ty, $native:ty) => {
            Arc::new(bits().into_iter().map(|v| v.map(|v| v as $native)).collect::<$array>()) as ArrayRef
        };
    }
    let text = |v: u64| format!("{} \"{v:x}\" é日\n", "word ".repeat(v as usize % 4));
    match kind {
        0 => numbers!(Int8Array, i8),
        1 => numbers!(Int16Array, i16),
        2 => numbers!(Int32Array, i32),
        3 => numbers!(Int64Array, i64),
        4 => numbers!(UInt8Array, u8),
        5 => numbers!(UInt16Array, u16),
        6 => numbers!(UInt32Array, u32),
        7 => numbers!(UInt64Array, u64),
        8 => Arc::new(bits().into_iter().map(|v| v.map(|v| v as f32 / 7.0)).collect::<Float32Array>()),
        9 => Arc::new(bits().into_iter().map(|v| v.map(|v| v as f64 / 7.0)).collect::<Float64Array>()),
        10 => Arc::new(bits().into_iter().map(|v| v.map(|v| v % 3 == 0)).collect::<BooleanArray>()),
        11 => numbers!(TimestampMicrosecondArray, i64),
        12 => Arc::new(bits().into_iter().map(|v| v.map(text)).collect::<StringArray>()),
        _ => {
            let bytes = |v: u64| v.to_le_bytes().repeat(v as usize % 40);
            Arc::new(bits().into_iter().map(|v| v.map(bytes)).collect::<BinaryArray>())
        }
    }
}

/// Number of random schemas: few in a quick run.
fn random_cases() -> u64 {
    std::env::var("INTEROP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn the_original_reads_random_schemas() {
    let work = tempfile::tempdir().unwrap();
    for case in 0..random_cases() {
        let mut random = Random::new(case * 2 + 1);
        let rows = 1 + random.below(900) as usize;
        let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
        let mut options = WriterOptions::default()
            .with_row_group_rows(1 + random.below(500) as usize)
            .with_page_rows(1 + random.below(200) as usize)
            .with_blob_run_bytes(200 + random.below(5000))
            .with_codec(if random.below(4) == 0 { Codec::None } else { Codec::Zstd })
            .with_level(1 + random.below(9) as i32);
        if random.below(2) == 0 {
            options.sort_key = Some("key".to_owned());
            fields.push(Field::new("key", DataType::UInt64, false));
            arrays.push(Arc::new(UInt64Array::from_iter_values((0..rows as u64).map(|i| i * 5))));
        }
        for column in 0..=random.below(7) {
            let (kind, nullable) = (random.below(15), random.below(2) == 0);
            let name = format!("c{column}");
            if kind == 14 {
                options.blobs.push(name.clone());
            } else if random.below(3) == 0 {
                options.bloom.push(name.clone());
            }
            let array = random_column(kind, rows, nullable, &mut random);
            fields.push(Field::new(name, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
        let out = work.path().join("random.tatami");
        write(&out, std::slice::from_ref(&batch), &schema, options);
        check_printed(&format!("case {case}"), &out, &[batch]);
    }
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn the_original_reads_blobs_with_and_without_dictionary_and_between_groups() {
    let work = tempfile::tempdir().unwrap();
    let (schema, batch) = documents(3000);
    for (run, buffer) in [(1 << 20, 64 << 20), (2_000, 64 << 20), (2_000, 50_000)] {
        let options = WriterOptions::default()
            .with_blobs(vec!["body".into()])
            .with_sort_key("id".to_owned())
            .with_blob_run_bytes(run)
            .with_blob_buffer_bytes(buffer)
            .with_row_group_rows(700)
            .with_page_rows(128);
        let out = work.path().join("blobs.tatami");
        let pieces: Vec<RecordBatch> = (0..3000).step_by(100).map(|at| batch.slice(at, 100)).collect();
        write(&out, &pieces, &schema, options);
        check_printed("blobs", &out, &pieces);
        let text = original(&["inspect", out.to_str().unwrap()]);
        assert!(text.contains("blob region") && text.contains("sorted:  by id"), "{text}");
    }
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn manifests_of_both_engines_are_the_same_bytes() {
    let (schema, batch) = documents(300);
    let folders: Vec<tempfile::TempDir> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    for folder in &folders {
        for part in 0..3 {
            let options = WriterOptions::default().with_sort_key("id".to_owned()).with_page_rows(40);
            let rows = [batch.slice(part * 100, 100)];
            write(&folder.path().join(format!("part-{part}.tatami")), &rows, &schema, options);
        }
    }
    let names: Vec<String> = (0..3).map(|part| format!("part-{part}.tatami")).collect();
    let mut ours =
        Collection::open(&Location::local(folders[0].path()).unwrap(), &OpenOptions::default()).unwrap();
    let paths: Vec<PathBuf> = names.iter().map(|name| folders[1].path().join(name)).collect();
    for (name, path) in names.iter().zip(&paths) {
        ours.add(&[name]).unwrap();
        original(&["collection", "add", folders[1].path().to_str().unwrap(), path.to_str().unwrap()]);
    }
    let logs =
        || folders.iter().map(|f| std::fs::read(f.path().join(MANIFEST_NAME)).unwrap()).collect::<Vec<_>>();
    assert_eq!(logs()[0], logs()[1], "after additions");
    ours.compact().unwrap();
    original(&["collection", "compact", folders[1].path().to_str().unwrap()]);
    assert_eq!(logs()[0], logs()[1], "after compaction");
    let text = original(&["collection", "list", folders[0].path().to_str().unwrap()]);
    assert!(text.contains("part-2.tatami"), "{text}");
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn files_converted_by_the_original_read_the_same() {
    let (folder, expected) = case("convert");
    let work = tempfile::tempdir().unwrap();
    let out = work.path().join("out.tatami");
    original(&["convert", folder.join("in.parquet").to_str().unwrap(), out.to_str().unwrap()]);
    let batches = read(&out, &Scan::all(), &OpenOptions::default()).unwrap();
    for (column, values) in expected["files"]["out.tatami"]["columns"].as_object().unwrap() {
        check_column("convert", &batches, column, values.as_array().unwrap());
    }
}
