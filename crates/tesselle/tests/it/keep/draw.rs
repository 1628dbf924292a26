//! Random choices, and columns of random values, that follow from one number.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, TimeUnit};

/// A sequence of numbers.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// True in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }

    /// Some of the values of a list, in their order.
    pub(super) fn some<T: Clone>(&mut self, list: &[T], percent: u64) -> Vec<T> {
        list.iter().filter(|_| self.chance(percent)).cloned().collect()
    }

    /// A column of values that every encoding of its type can store; `nulls` of a hundred are missing.
    pub(super) fn column(&mut self, kind: &DataType, rows: usize, nulls: u64) -> ArrayRef {
        let spread = self.pick(&[3, 100, 30_000]);
        let mut values: Vec<Option<u64>> = Vec::with_capacity(rows);
        for row in 0..rows {
            // The first value of a column exists: a series without points does not.
            let missing = row > 0 && self.chance(nulls);
            values.push((!missing).then(|| self.below(spread)));
        }
        macro_rules! numbers {
            ($array:ty, $value:expr) => {
                Arc::new(values.iter().map(|value| value.map($value)).collect::<$array>())
            };
        }
        match kind {
            DataType::Boolean => numbers!(BooleanArray, |n| n % 2 == 0),
            DataType::Int8 => numbers!(Int8Array, |n| (n % 100) as i8 - 50),
            DataType::Int16 => numbers!(Int16Array, |n| n as i16 - 50),
            DataType::Int32 => numbers!(Int32Array, |n| n as i32 - 50),
            DataType::Int64 => numbers!(Int64Array, |n| n as i64 - 50),
            DataType::UInt8 => numbers!(UInt8Array, |n| n as u8),
            DataType::UInt16 => numbers!(UInt16Array, |n| n as u16),
            DataType::UInt32 => numbers!(UInt32Array, |n| n as u32),
            DataType::UInt64 => numbers!(UInt64Array, |n| n),
            DataType::Float32 => numbers!(Float32Array, |n| n as f32 / 4.0),
            DataType::Float64 => numbers!(Float64Array, |n| n as f64 / 4.0),
            DataType::Date32 => numbers!(Date32Array, |n| n as i32),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                numbers!(TimestampMillisecondArray, |n| n as i64 * 1000)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                numbers!(TimestampMicrosecondArray, |n| n as i64 * 1000)
            }
            DataType::Utf8 => {
                let words = values.iter().map(|value| value.map(|n| format!("wörd{}", n % 40)));
                Arc::new(words.collect::<StringArray>())
            }
            DataType::Binary => {
                let bytes =
                    values.iter().map(|value| value.map(|n| n.to_le_bytes()[..=n as usize % 8].to_vec()));
                let bytes: Vec<Option<Vec<u8>>> = bytes.collect();
                Arc::new(BinaryArray::from_iter(bytes))
            }
            DataType::List(_) => {
                let mut list = ListBuilder::new(StringBuilder::new());
                for value in &values {
                    match value {
                        Some(n) => (0..n % 4).for_each(|i| list.values().append_value(format!("{n}.{i}"))),
                        None => list.values().append_value("none"),
                    }
                    list.append(value.is_some());
                }
                Arc::new(list.finish())
            }
            other => panic!("there are no values of {other}"),
        }
    }

    /// One to five columns of these types, most of them with nulls.
    pub(super) fn columns(&mut self, kinds: &[DataType], rows: usize) -> Vec<(Field, ArrayRef)> {
        let count = 1 + self.below(5);
        let column = |i: u64| {
            let (kind, nulls) = (self.pick(kinds), self.pick(&[0, 20, 60]));
            (Field::new(format!("c{i}"), kind.clone(), nulls > 0), self.column(&kind, rows, nulls))
        };
        (0..count).map(column).collect()
    }
}
