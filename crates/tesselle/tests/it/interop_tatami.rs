//! Files converted by the original tatami engine from random Parquet files read equal to their sources.
//!
//! Ignored by default. `interop/tatami/run.sh` runs it; `TATAMI_BIN` is the path of the original's `tatami` program.

use std::process::Command;
use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use tesselle::foreign::Parquet;
use tesselle::{Driver, DriverOptions, Format, Location, WriteOptions};
use tesselle_core::testing::Random;

/// A column of a type that the original converts without change.
fn column(kind: u64, rows: usize, nullable: bool, random: &mut Random) -> ArrayRef {
    let spread = [1, 9, 1 << 20, u64::MAX][random.below(4) as usize];
    let mut bits = || -> Vec<Option<u64>> {
        (0..rows).map(|_| (!nullable || random.below(5) != 0).then(|| random.below(spread))).collect()
    };
    macro_rules! of {
        ($array:ty, $make:expr) => {
            Arc::new(bits().into_iter().map(|v| v.map($make)).collect::<$array>()) as ArrayRef
        };
    }
    match kind {
        0 => of!(BooleanArray, |v| v % 2 == 0),
        1 => of!(Int32Array, |v| v as i32),
        2 => of!(UInt32Array, |v| v as u32),
        3 => of!(Int64Array, |v| v as i64),
        4 => of!(UInt64Array, |v| v),
        5 => of!(Float32Array, |v| v as f32 / 3.0),
        6 => of!(Float64Array, |v| v as f64 / 3.0),
        7 => of!(TimestampMicrosecondArray, |v| v as i64),
        8 => of!(StringArray, |v| format!("{v:x} é").repeat(v as usize % 5)),
        _ => of!(BinaryArray, |v| v.to_le_bytes().repeat(v as usize % 30)),
    }
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn random_parquet_files_converted_by_the_original_read_equal() {
    let program = std::env::var_os("TATAMI_BIN").expect("TATAMI_BIN is the path of the original's program");
    let cases = std::env::var("INTEROP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60u64);
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name).to_str().unwrap().to_owned();
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    for case in 0..cases {
        let mut random = Random::new(case * 2 + 1);
        let rows = 1 + random.below(3000) as usize;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for number in 0..=random.below(8) {
            let (kind, nullable) = (random.below(10), random.below(2) == 0);
            // The original keeps the values of a column with this name outside its pages.
            let name = if kind >= 8 && number % 2 == 0 && !fields.iter().any(|f: &Field| f.name() == "body") {
                "body".to_owned()
            } else {
                format!("c{number}")
            };
            let array = column(kind, rows, nullable, &mut random);
            fields.push(Field::new(name, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
        let (parquet, tatami) = (path("in.parquet"), path("out.tatami"));
        let location = Location::local(&parquet).unwrap();
        let options = WriteOptions::default().with_overwrite(true);
        let mut sink = Parquet.create(&location, Arc::clone(&schema), &options, &driver).unwrap();
        sink.write(&batch).unwrap();
        sink.finish().unwrap();
        let output = Command::new(&program).args(["convert", &parquet, &tatami]).output().unwrap();
        assert!(output.status.success(), "case {case}: {}", String::from_utf8_lossy(&output.stderr));
        let opened = tesselle::open(&tatami).unwrap();
        let rows = opened.default_table().unwrap().scan().on(&driver).rows().unwrap();
        let read_schema = rows.schema();
        let back = concat_batches(&read_schema, &rows.map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        for (index, field) in schema.fields().iter().enumerate() {
            let (want, got) = (batch.column(index), back.column(index));
            assert_eq!(back.schema().field(index).name(), field.name(), "case {case}");
            // Strings outside the pages are read as bytes.
            let got = arrow_cast::cast(got, field.data_type()).unwrap();
            assert_eq!(&got, want, "case {case}, column {}", field.name());
        }
    }
}
