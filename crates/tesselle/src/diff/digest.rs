//! Digests of rows: those of equal rows are equal, those of others practically never.
//!
//! A digest has 76 bits and depends on random numbers of the process. Among ten million rows, two different ones have the
//! same digest with a probability below 10^-8.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use tesselle_core::driver::parallel;
use tesselle_core::{At, Driver, Result};

/// The digest of a row: the part of the surplus it belongs to, and its key there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    part: u16,
    key: Key,
}

/// Two words take less memory than a number of 64 bits, which must be aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key([u32; 2]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) << 32 | u64::from(self.0[1]));
    }
}

/// A digest needs no hash.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Computes digests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digester {
    keys: [u64; 2],
}

/// Odd numbers without a pattern: for values, nulls and the lengths of strings.
const VALUE: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];
const NULL: [u64; 2] = [0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F];
const LENGTH: [u64; 2] = [0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3];

/// Both halves of a product.
fn fold(value: u64, by: u64) -> u64 {
    let product = u128::from(value) * u128::from(by);
    product as u64 ^ (product >> 64) as u64
}

fn mix(lane: &mut [u64; 2], value: u64, by: [u64; 2]) {
    // The rotation keeps the two from being zero for the same value.
    *lane = [fold(lane[0] ^ value, by[0]), fold(lane[1].rotate_left(32) ^ value, by[1])];
}

fn mix_bytes(lane: &mut [u64; 2], bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        mix(lane, u64::from_le_bytes(*word), VALUE);
    }
    let rest = rest.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    mix(lane, rest ^ (bytes.len() as u64) << 56, LENGTH);
}

impl Digester {
    /// Digests that depend on random numbers.
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        Self { keys: [random.hash_one(0), random.hash_one(1)] }
    }

    /// The digests of the rows of two batches, computed in parallel.
    pub(super) fn both(self, batches: [&RecordBatch; 2], driver: &Driver) -> Result<[Vec<Digest>; 2]> {
        let halves = batches.into_iter().flat_map(|batch| {
            let half = batch.num_rows() / 2;
            [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)]
        });
        let digests = driver.install(|| parallel::try_map(halves, |half| self.digests(&half)))?;
        let mut digests = digests.into_iter();
        let mut next = || digests.by_ref().take(2).flatten().collect();
        Ok([next(), next()])
    }

    /// The digests of the rows of a batch.
    fn digests(self, batch: &RecordBatch) -> Result<Vec<Digest>> {
        let mut lanes = vec![self.keys; batch.num_rows()];
        for column in batch.columns() {
            add(&mut lanes, column)?;
        }
        let digest = |[a, b]: [u64; 2]| Digest {
            part: (b % PARTS as u64) as u16,
            key: Key([(a >> 32) as u32, a as u32]),
        };
        Ok(lanes.into_iter().map(digest).collect())
    }
}

/// Adds the values of a column.
fn add(lanes: &mut [[u64; 2]], column: &ArrayRef) -> Result<()> {
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
    match column.data_type() {
        DataType::Boolean => {
            let values = column.as_boolean().values();
            each(lanes, nulls, |lane, row| mix(lane, values.value(row).into(), VALUE));
        }
        DataType::Utf8 => {
            let values = column.as_string::<i32>();
            each(lanes, nulls, |lane, row| mix_bytes(lane, values.value(row).as_bytes()));
        }
        DataType::LargeUtf8 => {
            let values = column.as_string::<i64>();
            each(lanes, nulls, |lane, row| mix_bytes(lane, values.value(row).as_bytes()));
        }
        DataType::Binary => {
            let values = column.as_binary::<i32>();
            each(lanes, nulls, |lane, row| mix_bytes(lane, values.value(row)));
        }
        DataType::LargeBinary => {
            let values = column.as_binary::<i64>();
            each(lanes, nulls, |lane, row| mix_bytes(lane, values.value(row)));
        }
        other => match other.primitive_width() {
            Some(1) => fixed::<1>(lanes, nulls, column)?,
            Some(2) => fixed::<2>(lanes, nulls, column)?,
            Some(4) => fixed::<4>(lanes, nulls, column)?,
            Some(8) => fixed::<8>(lanes, nulls, column)?,
            _ => {
                let converter = RowConverter::new(vec![SortField::new(other.clone())])?;
                let rows = converter.convert_columns(std::slice::from_ref(column))?;
                each(lanes, None, |lane, row| mix_bytes(lane, rows.row(row).as_ref()));
            }
        },
    }
    Ok(())
}

/// Values of `W` bytes, at most 8.
fn fixed<const W: usize>(
    lanes: &mut [[u64; 2]],
    nulls: Option<&NullBuffer>,
    column: &ArrayRef,
) -> Result<()> {
    let data = column.to_data();
    let bytes = data.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
    let (values, _) = bytes.as_chunks::<W>();
    let values = values.part(data.offset()..data.offset() + lanes.len())?;
    each(lanes, nulls, |lane, row| {
        let mut word = [0; 8];
        if let (Some(to), Some(value)) = (word.first_chunk_mut(), values.get(row)) {
            *to = *value;
        }
        mix(lane, u64::from_le_bytes(word), VALUE);
    });
    Ok(())
}

/// Does `add` for every row that is not null.
fn each(lanes: &mut [[u64; 2]], nulls: Option<&NullBuffer>, mut add: impl FnMut(&mut [u64; 2], usize)) {
    for (row, lane) in lanes.iter_mut().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            mix(lane, 0, NULL);
        } else {
            add(lane, row);
        }
    }
}

/// The rows that one side has more often than the other, by digest: positive on the left, negative on the right.
pub(super) struct Surplus {
    /// Many, because a map that grows needs twice its memory, and threads share them.
    parts: Vec<Part>,
}

type Part = HashMap<Key, i32, BuildHasherDefault<Itself>>;

const PARTS: usize = 1 << 12;

/// Bytes of an entry.
const ENTRY: usize = 13;

impl Surplus {
    pub(super) fn new() -> Self {
        Self { parts: (0..PARTS).map(|_| HashMap::default()).collect() }
    }

    /// Adds rows of both sides, in parallel; how many of them are equal to one of the other side.
    pub(super) fn add(&mut self, [left, right]: [&[Digest]; 2], driver: &Driver) -> u64 {
        let share = PARTS.div_ceil(driver.threads());
        let shares = self.parts.chunks_mut(share).enumerate();
        let add = |(number, parts): (usize, &mut [Part])| {
            let first = number * share;
            let sides = left.iter().map(|digest| (digest, 1)).chain(right.iter().map(|digest| (digest, -1)));
            let mut pairs = 0;
            for (digest, side) in sides {
                let part = usize::from(digest.part).checked_sub(first).and_then(|part| parts.get_mut(part));
                pairs += part.map_or(0, |part| u64::from(add_to(part, digest.key, side)));
            }
            pairs
        };
        driver.install(|| parallel::map(shares, add)).into_iter().sum()
    }

    /// Whether this row of the left side (1) or of the right side (-1) is one of those that are more often there; it is
    /// taken away.
    pub(super) fn take(&mut self, digest: Digest, side: i32) -> bool {
        match self.parts.get_mut(usize::from(digest.part)).and_then(|part| part.get_mut(&digest.key)) {
            Some(count) if *count * side > 0 => {
                *count -= side;
                true
            }
            _ => false,
        }
    }

    /// Returns the memory of rows that were paired.
    pub(super) fn shrink(&mut self) {
        self.parts.iter_mut().for_each(HashMap::shrink_to_fit);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(HashMap::is_empty)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        let entries: usize = self.parts.iter().map(|part| part.capacity() * 8 / 7).sum();
        (entries * ENTRY) as u64
    }
}

/// Adds a row; true if one of the other side is its equal.
fn add_to(part: &mut Part, key: Key, side: i32) -> bool {
    let count = part.entry(key).or_default();
    let pairs = *count * side < 0;
    *count += side;
    if *count == 0 {
        part.remove(&key);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Decimal128Array, Float64Array, Int8Array, Int64Array, StringArray};

    use tesselle_core::DriverOptions;

    use super::*;

    fn digests(columns: &[ArrayRef], digester: Digester) -> Vec<Digest> {
        let named = columns.iter().enumerate().map(|(i, column)| (i.to_string(), Arc::clone(column), true));
        digester.digests(&RecordBatch::try_from_iter_with_nullable(named).unwrap()).unwrap()
    }

    #[test]
    fn every_value_null_and_order_counts() {
        let digester = Digester::new();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![
                Some(0),
                None,
                Some(0),
                Some(1),
                Some(0),
                Some(0),
                Some(0),
                Some(0),
            ])),
            Arc::new(Int8Array::from(vec![0, 0, 0, 0, 1, 0, 0, 0])),
            Arc::new(StringArray::from(vec!["", "", "\0", "", "", "eight by", "eight bytes", "eight bytes"])),
            Arc::new(Float64Array::from(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0])),
            Arc::new(BooleanArray::from(vec![false; 8])),
            Arc::new(Decimal128Array::from(vec![1; 8])),
        ];
        let all = digests(&columns, digester);
        for (i, one) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|other| other != one), "row {i}");
        }
        // Slices have the digests of their rows.
        let slices: Vec<ArrayRef> = columns.iter().map(|column| column.slice(3, 5)).collect();
        assert_eq!(digests(&slices, digester), all[3..]);
        let swapped = vec![Arc::clone(&columns[1]), Arc::clone(&columns[0])];
        assert_ne!(digests(&swapped, digester)[3], digests(&columns[..2], digester)[3]);
    }

    #[test]
    fn a_surplus_is_what_remains() {
        let (a, b) = (Digest { part: 3, key: Key([1, 2]) }, Digest { part: 4000, key: Key([1, 2]) });
        let driver = Driver::try_new(&DriverOptions::default().with_threads(3)).unwrap();
        let mut surplus = Surplus::new();
        assert_eq!(surplus.add([&[a, a], &[b]], &driver), 0);
        assert_eq!(surplus.add([&[b], &[a]], &driver), 2);
        assert!(!surplus.is_empty() && surplus.bytes() > 0);
        assert!(!surplus.take(a, -1) && surplus.take(a, 1) && !surplus.take(a, 1) && !surplus.take(b, -1));
    }
}
