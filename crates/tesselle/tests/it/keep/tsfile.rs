//! TsFile: devices and tables of every version, with random encodings, compressors and pages.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use tesselle::Settings;

use super::draw::Draw;
use super::{CASES, check};
use crate::support::driver;

const VERSIONS: [&str; 5] = ["0.8", "1", "2", "3", "4"];

/// The encodings of a type; `version` counts from 0.
fn encodings(kind: &DataType, version: usize) -> Vec<&'static str> {
    let mut names = match kind {
        DataType::Boolean => vec!["PLAIN", "RLE"],
        DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64 => {
            vec!["PLAIN", "RLE", "TS_2DIFF"]
        }
        DataType::Date32 | DataType::Timestamp(..) => vec!["PLAIN", "TS_2DIFF", "RLE"],
        _ => vec!["PLAIN"],
    };
    if matches!(kind, DataType::Float32 | DataType::Float64) {
        names.push("GORILLA");
    }
    if version >= 3 {
        match kind {
            DataType::Int32 | DataType::Int64 => {
                names.extend(["GORILLA", "ZIGZAG", "CHIMP", "SPRINTZ", "RLBE"]);
            }
            DataType::Float32 | DataType::Float64 => names.extend(["CHIMP", "RLBE"]),
            DataType::Utf8 => names.push("DICTIONARY"),
            _ => {}
        }
    }
    names
}

fn write(target: &Path, draw: &mut Draw) {
    let version = draw.below(5) as usize;
    let mut kinds = vec![
        DataType::Boolean,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
    ];
    let mut compressors = vec!["UNCOMPRESSED", "SNAPPY"];
    if version >= 2 {
        compressors.push("LZ4");
    }
    if version >= 3 {
        compressors.extend(["GZIP", "ZSTD", "LZMA2"]);
    }
    if version == 4 {
        let time = DataType::Timestamp(TimeUnit::Millisecond, None);
        kinds.extend([DataType::Date32, time, DataType::Binary]);
    }
    let rows = draw.pick(&[1, 20, 400]);
    let columns = draw.columns(&kinds, rows);
    let each = |names: Vec<String>| names.join(",");
    let mut settings = Settings::default()
        .with("version", VERSIONS[version])
        .with("time", "time")
        .with("page_points", draw.pick(&[7, 64, 10_000]))
        .with("group_bytes", draw.pick(&[2_000, 1_000_000]))
        .with("degree", draw.pick(&[2, 256]));
    let encoded = columns
        .iter()
        .map(|(field, _)| format!("{}:{}", field.name(), draw.pick(&encodings(field.data_type(), version))));
    settings.set("encodings", each(encoded.collect()));
    let packed = columns.iter().map(|(field, _)| format!("{}:{}", field.name(), draw.pick(&compressors)));
    settings.set("compressions", each(packed.collect()));
    if version < 2 && draw.chance(50) {
        settings.set("created_by", "a plant");
    }
    if version == 4 && draw.chance(50) {
        settings.set("properties", "site:north,shift:2");
    }
    let names = |draw: &mut Draw, names: &[&str]| -> ArrayRef {
        Arc::new((0..rows).map(|_| Some(draw.pick(names))).collect::<StringArray>())
    };
    let mut keys: Vec<(Field, ArrayRef)> = Vec::new();
    if version == 4 && draw.chance(50) {
        settings.set("model", "table");
        settings.set("tags", "site,pump");
        keys.push((Field::new("site", DataType::Utf8, true), names(draw, &["north", "south"])));
        keys.push((Field::new("pump", DataType::Utf8, true), names(draw, &["a", "b"])));
    } else {
        settings.set("device_column", "device");
        if version >= 3 {
            settings.set("aligned", draw.chance(50).to_string());
        }
        let devices = ["root.d0", "root.d1", "root.deep.er.d2"];
        keys.push((Field::new("device", DataType::Utf8, true), names(draw, &devices)));
    }
    let mut at = 0;
    let times = (0..rows).map(|_| {
        at += 1 + draw.below(50) as i64;
        at
    });
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(times.collect::<Vec<_>>()));
    let all = [(Field::new("time", DataType::Int64, false), times)].into_iter().chain(keys).chain(columns);
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = all.unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let create = tesselle::create(target.to_str().unwrap(), batch.schema()).options(settings.clone());
    let mut writer = create.on(&driver()).start().unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    writer.write(&batch).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    writer.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn tsfiles_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.tsfile");
        write(&source, &mut Draw::new(seed));
        check(&source);
    }
}
