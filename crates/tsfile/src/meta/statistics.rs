//! Statistics of the points of a page, chunk or series.
//!
//! Five layouts share one struct. A field that a layout lacks is `None`.
//!
//! | where | layout |
//! |---|---|
//! | page, 0.8 and 000001 | `i32` count, `i64` max time, `i64` min time, min, max, first, last, `f64` sum |
//! | digest, 0.8 | `i32` n, n x (`str` key, `bin` value) |
//! | digest, 000001 | `i32` n, n x (`i16` index, `bin` value) |
//! | 000002 | `i64` count, `i64` start, `i64` end, then by type |
//! | 3, 4 | `uvar` count, `i64` start, `i64` end, then by type |

use serde_json::{Map, Value as Json, json};
use tesselle_core::{At, Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{DataType, Physical, PutPrimitives, Value, Version};

/// A sum, in the form the version stores it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// Exact; BOOLEAN counts its true values (versions 3 and 4).
    Integer(i64),
    /// A double, summed value by value.
    Float(f64),
}

/// Statistics of a page, chunk or series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statistics {
    /// Number of points.
    pub count: u64,
    /// Smallest time; in the first two versions the time of the first point written.
    pub start_time: i64,
    /// Largest time; in the first two versions the time of the last point written.
    pub end_time: i64,
    /// Smallest value.
    pub min: Option<Value>,
    /// Largest value.
    pub max: Option<Value>,
    /// First value.
    pub first: Option<Value>,
    /// Last value.
    pub last: Option<Value>,
    /// Sum of the values.
    pub sum: Option<Sum>,
}

impl Default for Statistics {
    /// Statistics of no points, as the original writes them.
    fn default() -> Self {
        let (start_time, end_time) = (i64::MAX, i64::MIN);
        Self { count: 0, start_time, end_time, min: None, max: None, first: None, last: None, sum: None }
    }
}

/// The fields of a digest by index, with the names 0.8 uses.
const DIGEST: [&str; 5] = ["min_value", "max_value", "first", "last", "sum"];
/// The order of the fields in the 0.8 library's hash map.
const DIGEST_ORDER_08: [usize; 5] = [0, 3, 4, 2, 1];

impl Statistics {
    /// Reads the statistics of a page header of the first two versions.
    pub(crate) fn parse_page(cursor: &mut Cursor<'_>, data_type: DataType) -> Result<Self> {
        let count = cursor.len32()?;
        let end_time = cursor.i64_be()?;
        let start_time = cursor.i64_be()?;
        let physical = valued(cursor, data_type)?;
        let mut next = || Value::parse(cursor, physical).map(Some);
        let (min, max, first, last) = (next()?, next()?, next()?, next()?);
        let sum = Some(Sum::Float(cursor.f64_be()?));
        Ok(Self { count, start_time, end_time, min, max, first, last, sum })
    }

    /// Writes what [`Statistics::parse_page`] reads.
    pub(crate) fn write_page(&self, out: &mut Vec<u8>, data_type: DataType) -> Result<()> {
        out.put_i32(super::primitive::len32(usize::try_from(self.count).unwrap_or(usize::MAX))?);
        out.put_i64(self.end_time);
        out.put_i64(self.start_time);
        for value in [&self.min, &self.max, &self.first, &self.last] {
            or_zero(value.as_ref(), data_type).write(out)?;
        }
        out.put_f64(self.sum_as_float());
        Ok(())
    }

    /// Reads a digest of the first two versions; count and times precede it in the chunk metadata.
    pub(crate) fn parse_digest(
        cursor: &mut Cursor<'_>,
        data_type: DataType,
        version: Version,
        (count, start_time, end_time): (u64, i64, i64),
    ) -> Result<Self> {
        let mut stats = Self { count, start_time, end_time, ..Self::default() };
        let physical = valued(cursor, data_type)?;
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 6)? {
            let field = if version == Version::V08 {
                let key = cursor.string()?;
                DIGEST.iter().position(|name| *name == key)
            } else {
                usize::try_from(cursor.i16_be()?).ok().filter(|i| *i < DIGEST.len())
            };
            let offset = cursor.offset();
            let bytes = cursor.bin()?;
            let value = |physical| Value::parse_bare(bytes, physical, offset);
            match field {
                Some(0) => stats.min = Some(value(physical)?),
                Some(1) => stats.max = Some(value(physical)?),
                Some(2) => stats.first = Some(value(physical)?),
                Some(3) => stats.last = Some(value(physical)?),
                Some(_) => {
                    if let Value::Double(sum) = value(Physical::Double)? {
                        stats.sum = Some(Sum::Float(sum));
                    }
                }
                None => {
                    return Err(Error::corrupt("a digest has an unknown field")
                        .offset(offset)
                        .class("bad_digest"));
                }
            }
        }
        Ok(stats)
    }

    /// Writes what [`Statistics::parse_digest`] reads.
    pub(crate) fn write_digest(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        let sum = self.sum.map(|_| Value::Double(self.sum_as_float()));
        let fields = [&self.min, &self.max, &self.first, &self.last, &sum];
        out.put_i32(fields.iter().filter(|f| f.is_some()).count() as i32);
        let order = if version == Version::V08 { DIGEST_ORDER_08 } else { [0, 1, 2, 3, 4] };
        for i in order {
            if let Some(value) = *fields.at(i)? {
                if version == Version::V08 {
                    out.put_string(DIGEST.at(i)?)?;
                } else {
                    out.put_i16(i as i16);
                }
                let mut bytes = Vec::new();
                value.write_bare(&mut bytes);
                out.put_bin(&bytes)?;
            }
        }
        Ok(())
    }

    /// Reads the statistics of version 000002 and later.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, data_type: DataType, version: Version) -> Result<Self> {
        let count = if version.is_compact() { u64::from(cursor.uvar()?) } else { cursor.offset64()? };
        let (start_time, end_time) = (cursor.i64_be()?, cursor.i64_be()?);
        let mut stats = Self { count, start_time, end_time, ..Self::default() };
        let next = |cursor: &mut Cursor<'_>, physical| Value::parse(cursor, physical).map(Some);
        match data_type {
            DataType::Vector | DataType::Blob => {}
            DataType::Boolean => {
                stats.first = next(cursor, Physical::Boolean)?;
                stats.last = next(cursor, Physical::Boolean)?;
                if version.is_compact() {
                    stats.sum = Some(Sum::Integer(cursor.i64_be()?));
                }
            }
            DataType::Text | DataType::String => {
                stats.first = next(cursor, Physical::Binary)?;
                stats.last = next(cursor, Physical::Binary)?;
                if data_type == DataType::String {
                    stats.min = next(cursor, Physical::Binary)?;
                    stats.max = next(cursor, Physical::Binary)?;
                }
            }
            _ => {
                let physical = valued(cursor, data_type)?;
                stats.min = next(cursor, physical)?;
                stats.max = next(cursor, physical)?;
                stats.first = next(cursor, physical)?;
                stats.last = next(cursor, physical)?;
                stats.sum = Some(if physical == Physical::Int32 && version.is_compact() {
                    Sum::Integer(cursor.i64_be()?)
                } else {
                    Sum::Float(cursor.f64_be()?)
                });
            }
        }
        Ok(stats)
    }

    /// Writes what [`Statistics::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, data_type: DataType, version: Version) -> Result<()> {
        if version.is_compact() {
            let count = u32::try_from(self.count);
            out.put_uvar(count.map_err(|e| Error::limit("more than 2^32 points in one series").source(e))?);
        } else {
            out.put_i64(self.count.cast_signed());
        }
        out.put_i64(self.start_time);
        out.put_i64(self.end_time);
        let put = |out: &mut Vec<u8>, value: &Option<Value>| or_zero(value.as_ref(), data_type).write(out);
        match data_type {
            DataType::Vector | DataType::Blob => {}
            DataType::Boolean => {
                put(out, &self.first)?;
                put(out, &self.last)?;
                if version.is_compact() {
                    out.put_i64(self.sum_as_integer());
                }
            }
            DataType::Text | DataType::String => {
                put(out, &self.first)?;
                put(out, &self.last)?;
                if data_type == DataType::String {
                    put(out, &self.min)?;
                    put(out, &self.max)?;
                }
            }
            _ => {
                for value in [&self.min, &self.max, &self.first, &self.last] {
                    put(out, value)?;
                }
                if data_type.physical() == Some(Physical::Int32) && version.is_compact() {
                    out.put_i64(self.sum_as_integer());
                } else {
                    out.put_f64(self.sum_as_float());
                }
            }
        }
        Ok(())
    }

    /// Merges the statistics of the following page or chunk, whose points hide those at the same times. The first two
    /// versions keep first and last times as written, the others the true bounds.
    pub(crate) fn merge(&mut self, next: &Self, version: Version) {
        if next.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = next.clone();
            return;
        }
        let (before, after) = (self.start_time, self.end_time);
        if version.is_flat() {
            self.end_time = next.end_time;
        } else {
            self.start_time = before.min(next.start_time);
            self.end_time = after.max(next.end_time);
        }
        self.count = self.count.saturating_add(next.count);
        if !version.is_flat() && next.start_time <= before {
            self.first.clone_from(&next.first);
        }
        if version.is_flat() || next.end_time >= after {
            self.last.clone_from(&next.last);
        }
        // A value that cannot be compared (NaN) never replaces the current one.
        keep(&mut self.min, next.min.as_ref(), std::cmp::Ordering::Less, version);
        keep(&mut self.max, next.max.as_ref(), std::cmp::Ordering::Greater, version);
        self.sum = match (self.sum, next.sum) {
            (Some(Sum::Integer(a)), Some(Sum::Integer(b))) => Some(Sum::Integer(a.wrapping_add(b))),
            (Some(Sum::Float(a)), Some(Sum::Float(b))) => Some(Sum::Float(a + b)),
            _ => None,
        };
    }

    /// The object that reports show; fields that the file lacks are omitted.
    pub(crate) fn to_json(&self, data_type: DataType) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("count".into(), json!(self.count));
        object.insert("start_time".into(), json!(self.start_time));
        object.insert("end_time".into(), json!(self.end_time));
        self.values_to_json(data_type, &mut object);
        object
    }

    /// Adds the fields about values to `object`.
    pub(crate) fn values_to_json(&self, data_type: DataType, object: &mut Map<String, Json>) {
        let fields = [("min", &self.min), ("max", &self.max), ("first", &self.first), ("last", &self.last)];
        for (name, value) in fields {
            if let Some(value) = value {
                object.insert(name.into(), value.to_json_as(data_type));
            }
        }
        match self.sum {
            Some(Sum::Integer(sum)) => object.insert("sum".into(), json!(sum)),
            Some(Sum::Float(sum)) => object.insert("sum".into(), Value::Double(sum).to_json()),
            None => None,
        };
    }

    /// The sum as a double.
    pub(crate) fn sum_as_float(&self) -> f64 {
        match self.sum {
            Some(Sum::Integer(sum)) => sum as f64,
            Some(Sum::Float(sum)) => sum,
            None => 0.0,
        }
    }

    fn sum_as_integer(&self) -> i64 {
        match self.sum {
            Some(Sum::Integer(sum)) => sum,
            Some(Sum::Float(sum)) => sum as i64,
            None => 0,
        }
    }
}

fn keep(mine: &mut Option<Value>, other: Option<&Value>, when: std::cmp::Ordering, version: Version) {
    match (&mine, other) {
        (Some(a), Some(b)) if b.compare(a, version) == Some(when) => *mine = Some(b.clone()),
        (None, Some(b)) => *mine = Some(b.clone()),
        _ => {}
    }
}

fn valued(cursor: &Cursor<'_>, data_type: DataType) -> Result<Physical> {
    data_type.physical().ok_or_else(|| cursor.corrupt(format!("{} has no values", data_type.name())))
}

/// The value, or the original's placeholder for a field that was never set.
fn or_zero(value: Option<&Value>, data_type: DataType) -> Value {
    value.cloned().unwrap_or_else(|| match data_type.physical() {
        Some(Physical::Boolean) => Value::Boolean(false),
        Some(Physical::Int32) => Value::Int32(0),
        Some(Physical::Int64) => Value::Int64(0),
        Some(Physical::Float) => Value::Float(0.0),
        Some(Physical::Double) => Value::Double(0.0),
        Some(Physical::Binary) | None => Value::Binary(Vec::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(data_type: DataType, version: Version) -> Statistics {
        let value = |n: u8| match data_type.physical() {
            Some(Physical::Boolean) => Some(Value::Boolean(n > 1)),
            Some(Physical::Int32) => Some(Value::Int32(-i32::from(n))),
            Some(Physical::Int64) => Some(Value::Int64(i64::from(n) << 40)),
            Some(Physical::Float) => Some(Value::Float(f32::from(n) / 4.0)),
            Some(Physical::Double) => Some(Value::Double(f64::from(n) / 8.0)),
            Some(Physical::Binary) => Some(Value::Binary(vec![n; usize::from(n)])),
            None => None,
        };
        let mut stats = Statistics { count: 3, start_time: -5, end_time: 9, ..Statistics::default() };
        let flat = version.is_flat();
        if !matches!(data_type, DataType::Blob | DataType::Vector) {
            (stats.first, stats.last) = (value(1), value(2));
            if flat || !matches!(data_type, DataType::Boolean | DataType::Text) {
                (stats.min, stats.max) = (value(3), value(4));
            }
            let is_string = matches!(data_type, DataType::Text | DataType::String);
            if flat {
                stats.sum = Some(Sum::Float(1.5));
            } else if version.is_compact()
                && matches!(data_type, DataType::Boolean | DataType::Int32 | DataType::Date)
            {
                stats.sum = Some(Sum::Integer(7));
            } else if data_type != DataType::Boolean && !is_string {
                stats.sum = Some(Sum::Float(1.5));
            }
        }
        stats
    }

    #[test]
    fn the_later_of_two_chunks_gives_the_first_and_last_value_at_equal_times() {
        let chunk = |times: (i64, i64), value: i32| Statistics {
            count: 2,
            start_time: times.0,
            end_time: times.1,
            first: Some(Value::Int32(value)),
            last: Some(Value::Int32(value)),
            ..Statistics::default()
        };
        for version in [Version::V2, Version::V3, Version::V4] {
            let mut stats = chunk((5, 9), 1);
            stats.merge(&chunk((5, 9), 2), version);
            assert_eq!(
                (stats.first.clone(), stats.last.clone()),
                (Some(Value::Int32(2)), Some(Value::Int32(2)))
            );
            stats.merge(&chunk((6, 8), 3), version);
            assert_eq!((stats.first, stats.last), (Some(Value::Int32(2)), Some(Value::Int32(2))));
        }
    }

    #[test]
    fn every_layout_round_trips() {
        for data_type in DataType::ALL {
            for version in [Version::V2, Version::V3, Version::V4] {
                let stats = sample(data_type, version);
                let mut out = Vec::new();
                stats.write(&mut out, data_type, version).unwrap();
                let mut cursor = Cursor::new(&out, 0, "statistics");
                assert_eq!(Statistics::parse(&mut cursor, data_type, version).unwrap(), stats);
                cursor.expect_end().unwrap();
            }
            if data_type.code() > 5 {
                continue;
            }
            for version in [Version::V08, Version::V1] {
                let stats = sample(data_type, version);
                let (mut page, mut digest) = (Vec::new(), Vec::new());
                stats.write_page(&mut page, data_type).unwrap();
                stats.write_digest(&mut digest, version).unwrap();
                let outside = (stats.count, stats.start_time, stats.end_time);
                let mut cursor = Cursor::new(&digest, 0, "digest");
                assert_eq!(
                    Statistics::parse_digest(&mut cursor, data_type, version, outside).unwrap(),
                    stats
                );
                assert_eq!(
                    Statistics::parse_page(&mut Cursor::new(&page, 0, "page"), data_type).unwrap(),
                    stats
                );
            }
        }
    }

    #[test]
    fn merging_keeps_a_leading_nan() {
        let of = |v: f32| Statistics {
            count: 1,
            min: Some(Value::Float(v)),
            max: Some(Value::Float(v)),
            first: Some(Value::Float(v)),
            last: Some(Value::Float(v)),
            sum: Some(Sum::Float(f64::from(v))),
            ..Statistics::default()
        };
        let mut stats = of(f32::NAN);
        stats.merge(&of(1.0), Version::V1);
        assert!(matches!(stats.min, Some(Value::Float(v)) if v.is_nan()));
        let mut stats = of(2.0);
        stats.merge(&of(1.0), Version::V1);
        assert_eq!((stats.min, stats.last), (Some(Value::Float(1.0)), Some(Value::Float(1.0))));
    }
}
