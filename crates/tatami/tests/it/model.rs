//! Random tables, written with random options and read with random requests, against the rows in memory.

use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use proptest::prelude::*;
use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Comparison, Driver, Format, Location, OpenOptions, Predicate, Scalar, Scan, Sink};
use tesselle_tatami::{Codec, File, Profile, Tatami, Writer, WriterOptions};

use crate::expected::driver;

fn shared() -> Driver {
    static DRIVER: std::sync::OnceLock<Driver> = std::sync::OnceLock::new();
    DRIVER.get_or_init(driver).clone()
}

/// A column of small random values with nulls, of one of the types of the format.
fn column(kind: u8, seed: &[u32], nulls: bool) -> (DataType, ArrayRef) {
    let present = |i: usize, s: u32| !nulls || !(s as usize + i).is_multiple_of(5);
    macro_rules! ints {
        ($array:ty, $native:ty) => {
            Arc::new(
                seed.iter()
                    .enumerate()
                    .map(|(i, s)| present(i, *s).then_some(*s as $native))
                    .collect::<$array>(),
            ) as ArrayRef
        };
    }
    let text = |s: u32| {
        if s.is_multiple_of(3) {
            format!("word-{}", s % 7)
        } else {
            format!("{s:x}").repeat((s % 4) as usize)
        }
    };
    let array: ArrayRef = match kind % 12 {
        0 => ints!(Int8Array, i8),
        1 => ints!(Int16Array, i16),
        2 => ints!(Int32Array, i32),
        3 => ints!(Int64Array, i64),
        4 => ints!(UInt8Array, u8),
        5 => ints!(UInt16Array, u16),
        6 => ints!(UInt32Array, u32),
        7 => ints!(UInt64Array, u64),
        8 => {
            let value = |s: u32| if s.is_multiple_of(11) { f64::NAN } else { f64::from(s as i32) / 8.0 };
            Arc::new(
                seed.iter()
                    .enumerate()
                    .map(|(i, s)| present(i, *s).then(|| value(*s)))
                    .collect::<Float64Array>(),
            )
        }
        9 => Arc::new(
            seed.iter()
                .enumerate()
                .map(|(i, s)| present(i, *s).then_some(s % 2 == 0))
                .collect::<BooleanArray>(),
        ),
        10 => Arc::new(
            seed.iter().enumerate().map(|(i, s)| present(i, *s).then(|| text(*s))).collect::<StringArray>(),
        ),
        _ => {
            let micros =
                seed.iter().enumerate().map(|(i, s)| present(i, *s).then_some(i64::from(*s) * 1_000_003));
            Arc::new(micros.collect::<TimestampMicrosecondArray>())
        }
    };
    let data_type = match array.data_type() {
        DataType::Timestamp(_, _) => DataType::Timestamp(TimeUnit::Microsecond, None),
        other => other.clone(),
    };
    (data_type, array)
}

#[derive(Debug, Clone)]
struct Case {
    batch: RecordBatch,
    options: WriterOptions,
    predicate: Predicate,
    columns: Vec<String>,
    piece: usize,
}

fn literal(column: &dyn Array, row: usize) -> Scalar {
    use arrow_array::cast::AsArray;
    use arrow_array::types::*;
    if column.is_null(row) {
        return if column.data_type() == &DataType::Utf8 { Scalar::from("3") } else { Scalar::Int(3) };
    }
    macro_rules! int {
        ($t:ty) => {
            Scalar::from(column.as_primitive::<$t>().value(row))
        };
    }
    match column.data_type() {
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::UInt64 => int!(UInt64Type),
        DataType::Float64 => Scalar::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Scalar::Bool(column.as_boolean().value(row)),
        DataType::Utf8 => Scalar::String(column.as_string::<i32>().value(row).to_owned()),
        _ => int!(TimestampMicrosecondType),
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![3 => 0u8..12, 1 => Just(10u8)];
    let columns = prop::collection::vec((kind, any::<bool>(), any::<bool>()), 1..5);
    let rows = prop::collection::vec(prop_oneof![0u32..40, any::<u32>()], 1..400);
    let knobs = (1usize..200, 1usize..90, any::<bool>(), 0u8..3, 1usize..150);
    let conditions =
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..9), 1..4);
    (columns, rows, knobs, conditions, any::<bool>()).prop_map(
        |(columns, rows, knobs, conditions, all_of)| {
            let mut fields = Vec::new();
            let mut arrays = Vec::new();
            let mut bloom = Vec::new();
            for (i, (kind, nulls, filtered)) in columns.into_iter().enumerate() {
                let seed: Vec<u32> = rows.iter().map(|r| r.wrapping_mul(i as u32 * 2 + 1)).collect();
                let (data_type, array) = column(kind, &seed, nulls);
                fields.push(Field::new(format!("c{i}"), data_type, nulls));
                arrays.push(array);
                if filtered {
                    bloom.push(format!("c{i}"));
                }
            }
            let schema: SchemaRef = Arc::new(Schema::new(fields));
            let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
            let (row_group_rows, page_rows, extended, codec, piece) = knobs;
            let codec = match codec {
                0 => Codec::None,
                1 if extended => Codec::Lz4,
                _ => Codec::Zstd,
            };
            let profile = if extended { Profile::Extended } else { Profile::Plain };
            let options = WriterOptions::default()
                .with_row_group_rows(row_group_rows)
                .with_page_rows(page_rows)
                .with_profile(profile)
                .with_codec(codec)
                .with_bloom(bloom)
                .with_level(1);
            let ops = [
                Comparison::Eq,
                Comparison::Ne,
                Comparison::Lt,
                Comparison::Le,
                Comparison::Gt,
                Comparison::Ge,
            ];
            let parts = conditions.into_iter().map(|(column, row, op)| {
                let at = column.index(schema.fields().len());
                let name = schema.field(at).name().clone();
                let value = literal(batch.column(at).as_ref(), row.index(batch.num_rows()));
                match ops.get(op as usize) {
                    Some(op) => Predicate::Compare { column: name, op: *op, value },
                    None if op == 6 => Predicate::IsNull { column: name },
                    None if op == 7 => {
                        let other = literal(batch.column(at).as_ref(), batch.num_rows() / 2);
                        Predicate::In { column: name, values: vec![value, other] }
                    }
                    None => Predicate::Not(Box::new(Predicate::In { column: name, values: vec![value] })),
                }
            });
            let parts: Vec<Predicate> = parts.collect();
            let predicate = if all_of { Predicate::And(parts) } else { Predicate::Or(parts) };
            let columns = schema.fields().iter().rev().step_by(2).map(|f| f.name().clone()).collect();
            Case { batch, options, predicate, columns, piece }
        },
    )
}

/// Bitwise equality: NaN bits are kept, so arrays are compared by their data.
fn same(a: &RecordBatch, b: &RecordBatch) -> bool {
    a.num_rows() == b.num_rows()
        && a.columns()
            .iter()
            .zip(b.columns())
            .all(|(x, y)| x.to_data() == y.to_data() || format!("{x:?}") == format!("{y:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn written_files_match_the_model_for_any_request(case in cases()) {
        let location = Location::new(Arc::new(MemoryStorage::new()), "m.tatami");
        let schema = case.batch.schema();
        let mut writer = Box::new(Writer::create(&location, &schema, case.options.clone(), false, &shared()).unwrap());
        for at in (0..case.batch.num_rows()).step_by(case.piece) {
            writer.write(&case.batch.slice(at, case.piece.min(case.batch.num_rows() - at))).unwrap();
        }
        writer.finish().unwrap();
        let table = Tatami.open(&location, &OpenOptions::default()).unwrap().default_table().unwrap();
        let read = |request: &Scan| {
            let rows = scan(table.as_ref(), request, &shared(), Order::Plan).unwrap();
            let schema = rows.schema();
            let batches: Vec<RecordBatch> = rows.collect::<Result<_, _>>().unwrap();
            concat_batches(&schema, &batches).unwrap()
        };
        prop_assert!(same(&read(&Scan::all()), &case.batch));

        let wanted = case.predicate.filter(&case.batch).unwrap();
        let indices: Vec<usize> = case.columns.iter().map(|c| schema.index_of(c).unwrap()).collect();
        let got = read(&Scan::all().columns(case.columns.clone()).filter(case.predicate.clone()));
        let wanted = wanted.project(&indices).unwrap();
        prop_assert!(same(&got, &wanted), "{}: {} rows, expected {}", case.predicate, got.num_rows(), wanted.num_rows());

        let file = File::open(&location, &OpenOptions::default()).unwrap();
        let n = case.batch.num_rows() as u64;
        let rows: Vec<u64> = (0..9).map(|i| (i * 131 + 7) % n).collect();
        let taken = file.take(&rows, None).unwrap();
        for (i, row) in rows.iter().enumerate() {
            prop_assert!(same(&taken.slice(i, 1), &case.batch.slice(*row as usize, 1)));
        }
    }
}
