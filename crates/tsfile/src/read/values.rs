//! Decodes one encoded column of a page: dispatch by type and encoding, once per page.

use std::cmp::Ordering;

use tesselle_codec::decimal::Integers;
use tesselle_codec::plain::{ByteOrder, LengthPrefix};
use tesselle_codec::rlbe::Difference;
use tesselle_codec::sprintz::{Prediction, Product};
use tesselle_codec::{
    camel, chimp, decimal, delta_binary, dictionary, freq, gorilla, plain, regular, rlbe, rle_hybrid,
    sprintz, zigzag,
};
use tesselle_core::{Error, Result};

use super::column::{DecodedValues, Strings};
use crate::meta::{Encoding, Physical, Statistics, Value, Version};

/// Maximum number of points in one page. The original closes a page at 2^20; the limit keeps a few hostile
/// bytes, which can encode any number of equal steps, from exhausting memory.
pub(crate) const MAX_POINTS: usize = 1 << 24;

/// Maximum decoded bytes of the strings of one page.
const MAX_STRING_BYTES: usize = 1 << 30;

/// The encodings of times, the default first. Files do not record which one they use.
const TIME_ENCODINGS: [Encoding; 4] = [Encoding::Ts2Diff, Encoding::Plain, Encoding::Rle, Encoding::Regular];

/// Decodes `count` values and appends them to `column`. `statistics` determine which of two libraries wrote a
/// page if the bytes are ambiguous.
pub(crate) fn decode(
    column: &mut DecodedValues,
    encoding: Encoding,
    version: Version,
    bytes: &[u8],
    count: usize,
    statistics: Option<&Statistics>,
) -> Result<()> {
    let order = if version == Version::V08 { ByteOrder::Little } else { ByteOrder::Big };
    let string_lengths = match version {
        Version::V08 => LengthPrefix::Little32,
        Version::V1 | Version::V2 => LengthPrefix::Big32,
        Version::V3 | Version::V4 => LengthPrefix::Zigzag,
    };
    if count == 0 {
        return Ok(());
    }
    match column {
        DecodedValues::Boolean(v) => match encoding {
            Encoding::Plain => plain::decode_bool(bytes, count, v)?,
            Encoding::Rle => rle_hybrid::decode_bool(bytes, count, v)?,
            _ => return Err(no_such(encoding, "BOOLEAN", version)),
        },
        DecodedValues::Int32(v) => match encoding {
            Encoding::Plain if version.is_compact() => plain::decode_varint(bytes, count, v)?,
            Encoding::Plain => plain::decode_fixed(bytes, order, count, v)?,
            Encoding::Rle => rle_hybrid::decode(bytes, count, v)?,
            Encoding::Ts2Diff => delta_binary::decode(bytes, count, v)?,
            Encoding::Regular => regular::decode(bytes, count, v)?,
            Encoding::Gorilla => gorilla::decode(bytes, count, v)?,
            Encoding::Zigzag => zigzag::decode(bytes, count, v)?,
            Encoding::Chimp => chimp::decode(bytes, count, v)?,
            Encoding::Sprintz => sprintz::decode(bytes, Prediction::Learned(Product::Wrapping), count, v)?,
            Encoding::Rlbe => rlbe::decode(bytes, Difference::Bits, count, v)?,
            Encoding::Bitmap => tesselle_codec::bitmap::decode(bytes, count, v)?,
            Encoding::Freq => v.extend(waves(bytes, count)?.iter().map(|&x| round(x) as i32)),
            _ => return Err(no_such(encoding, "32-bit integers", version)),
        },
        DecodedValues::Int64(v) => match encoding {
            Encoding::Plain => plain::decode_fixed(bytes, order, count, v)?,
            Encoding::Rle => rle_hybrid::decode(bytes, count, v)?,
            Encoding::Ts2Diff => delta_binary::decode(bytes, count, v)?,
            Encoding::Regular => regular::decode(bytes, count, v)?,
            Encoding::Gorilla => gorilla::decode(bytes, count, v)?,
            Encoding::Zigzag => zigzag::decode(bytes, count, v)?,
            Encoding::Chimp => chimp::decode(bytes, count, v)?,
            Encoding::Sprintz => {
                return two_ways(column, count, statistics, |column, first| {
                    sprintz_with(column, bytes, count, first)
                });
            }
            Encoding::Rlbe => rlbe::decode(bytes, Difference::Bits, count, v)?,
            Encoding::Freq => v.extend(waves(bytes, count)?.iter().map(|&x| round(x))),
            _ => return Err(no_such(encoding, "64-bit integers", version)),
        },
        DecodedValues::Float(v) => match encoding {
            Encoding::Plain => plain::decode_fixed(bytes, order, count, v)?,
            Encoding::Rle => decimal::decode(bytes, Integers::Runs, count, v)?,
            Encoding::Ts2Diff => decimal::decode(bytes, Integers::Deltas, count, v)?,
            Encoding::GorillaV1 => gorilla::legacy::decode(bytes, count, v)?,
            Encoding::Gorilla => gorilla::decode(bytes, count, v)?,
            Encoding::Chimp => chimp::decode(bytes, count, v)?,
            Encoding::Sprintz => sprintz::decode(bytes, Prediction::Learned(Product::Wrapping), count, v)?,
            Encoding::Rlbe => {
                return two_ways(column, count, statistics, |column, first| {
                    rlbe_with(column, bytes, count, first)
                });
            }
            Encoding::Freq => v.extend(waves(bytes, count)?.iter().map(|&x| x as f32)),
            _ => return Err(no_such(encoding, "FLOAT", version)),
        },
        DecodedValues::Double(v) => match encoding {
            Encoding::Plain => plain::decode_fixed(bytes, order, count, v)?,
            Encoding::Rle => decimal::decode(bytes, Integers::Runs, count, v)?,
            Encoding::Ts2Diff => decimal::decode(bytes, Integers::Deltas, count, v)?,
            Encoding::GorillaV1 => gorilla::legacy::decode(bytes, count, v)?,
            Encoding::Gorilla => gorilla::decode(bytes, count, v)?,
            Encoding::Chimp => chimp::decode(bytes, count, v)?,
            Encoding::Camel => camel::decode(bytes, count, v)?,
            Encoding::Sprintz => {
                return two_ways(column, count, statistics, |column, first| {
                    sprintz_with(column, bytes, count, first)
                });
            }
            Encoding::Rlbe => {
                return two_ways(column, count, statistics, |column, first| {
                    rlbe_with(column, bytes, count, first)
                });
            }
            Encoding::Freq => freq::decode(bytes, count, v)?,
            _ => return Err(no_such(encoding, "DOUBLE", version)),
        },
        DecodedValues::Binary(Strings { offsets, data }) => match encoding {
            Encoding::Plain => plain::decode_bytes(bytes, string_lengths, count, offsets, data)?,
            Encoding::Dictionary if version.is_compact() => {
                dictionary::decode(bytes, count, MAX_STRING_BYTES, offsets, data)?;
            }
            _ => return Err(no_such(encoding, "strings", version)),
        },
    }
    Ok(())
}

/// The values of a lossy frequency-encoded column, before they are narrowed to their type.
fn waves(bytes: &[u8], count: usize) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    freq::decode(bytes, count, &mut values)?;
    Ok(values)
}

/// Rounds half up, like Java.
fn round(x: f64) -> i64 {
    (x + 0.5).floor() as i64
}

/// The library assumed to have written the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    Java,
    Cpp,
}

fn sprintz_with(column: &mut DecodedValues, bytes: &[u8], count: usize, library: Library) -> Result<()> {
    let product = if library == Library::Java { Product::Wrapping } else { Product::Wide };
    let prediction = Prediction::Learned(product);
    match column {
        DecodedValues::Int64(v) => sprintz::decode(bytes, prediction, count, v)?,
        DecodedValues::Double(v) => sprintz::decode(bytes, prediction, count, v)?,
        _ => {}
    }
    Ok(())
}

fn rlbe_with(column: &mut DecodedValues, bytes: &[u8], count: usize, library: Library) -> Result<()> {
    let difference = if library == Library::Java { Difference::Value } else { Difference::Bits };
    match column {
        DecodedValues::Float(v) => rlbe::decode(bytes, difference, count, v)?,
        DecodedValues::Double(v) => rlbe::decode(bytes, difference, count, v)?,
        _ => {}
    }
    Ok(())
}

/// Whether two libraries encode values of this kind differently, distinguishable only by statistics.
pub(crate) fn has_two_readings(encoding: Encoding, physical: Option<Physical>) -> bool {
    match encoding {
        Encoding::Rlbe => matches!(physical, Some(Physical::Float | Physical::Double)),
        Encoding::Sprintz => matches!(physical, Some(Physical::Int64 | Physical::Double)),
        _ => false,
    }
}

/// Decodes the form of the Java library, unless only the form of the C++ library yields the values of the
/// statistics. (The C++ form is lossless wherever the two really differ, so it either fits or does not apply;
/// the Java form rounds.)
fn two_ways(
    column: &mut DecodedValues,
    count: usize,
    statistics: Option<&Statistics>,
    decode: impl Fn(&mut DecodedValues, Library) -> Result<()>,
) -> Result<()> {
    let attempt = |library| {
        let mut values = DecodedValues::new(column.physical());
        decode(&mut values, library).map(|()| values)
    };
    let fits = |values: &Result<DecodedValues>| {
        values.as_ref().is_ok_and(|values| statistics.is_none_or(|s| is_as_stated(values, count, s)))
    };
    let java = attempt(Library::Java);
    if fits(&java) {
        return column.extend_range(&java?, 0, count);
    }
    let cpp = attempt(Library::Cpp);
    let better = if fits(&cpp) { cpp } else { java };
    column.extend_range(&better?, 0, count)
}

/// Whether first, last, min and max equal those of the statistics.
fn is_as_stated(values: &DecodedValues, count: usize, statistics: &Statistics) -> bool {
    let all = || (0..count).filter_map(|i| values.value(i));
    let min = all().reduce(|a, b| if b.compare(&a, Version::V4) == Some(Ordering::Less) { b } else { a });
    let max = all().reduce(|a, b| if b.compare(&a, Version::V4) == Some(Ordering::Greater) { b } else { a });
    let same = |found: Option<Value>, stated: &Option<Value>| match (found, stated) {
        (Some(found), Some(stated)) => found.is_same(stated),
        (_, stated) => stated.is_none(),
    };
    same(values.value(0), &statistics.first)
        && same(values.value(count.saturating_sub(1)), &statistics.last)
        && same(min, &statistics.min)
        && same(max, &statistics.max)
}

/// Decodes all times of `bytes`. `encoding` is that of the file if it is recorded; otherwise `expected`
/// (count, first, last) identifies the encoding.
pub(crate) fn decode_times(
    bytes: &[u8],
    encoding: Option<Encoding>,
    expected: Option<&Statistics>,
) -> Result<Vec<i64>> {
    let attempt = |encoding: Encoding| -> Result<Vec<i64>> {
        let count = match expected {
            Some(statistics) => usize::try_from(statistics.count).unwrap_or(usize::MAX),
            None => count_times(bytes, encoding)?,
        };
        let most = most_times(encoding, bytes.len());
        if count > most {
            let message = format!("{} bytes of times cannot encode {count} points", bytes.len());
            return Err(Error::corrupt(message).class("bad_count"));
        }
        let mut times = Vec::new();
        match encoding {
            Encoding::Plain => plain::decode_fixed(bytes, ByteOrder::Big, count, &mut times)?,
            Encoding::Rle => rle_hybrid::decode(bytes, count, &mut times)?,
            Encoding::Regular => regular::decode(bytes, count, &mut times)?,
            Encoding::Gorilla => gorilla::decode(bytes, count, &mut times)?,
            Encoding::Zigzag => zigzag::decode(bytes, count, &mut times)?,
            Encoding::Chimp => chimp::decode(bytes, count, &mut times)?,
            Encoding::Sprintz => {
                sprintz::decode(bytes, Prediction::Learned(Product::Wrapping), count, &mut times)?;
            }
            Encoding::Rlbe => rlbe::decode(bytes, Difference::Bits, count, &mut times)?,
            Encoding::Ts2Diff => delta_binary::decode(bytes, count, &mut times)?,
            other => return Err(no_such(other, "times", Version::V4)),
        }
        Ok(times)
    };
    if let Some(encoding) = encoding {
        return attempt(encoding);
    }
    let usual = attempt(Encoding::Ts2Diff);
    let fits = |found: &[i64]| {
        expected.is_none_or(|s| {
            s.count == 0 || (found.first() == Some(&s.start_time) && found.last() == Some(&s.end_time))
        })
    };
    if let Ok(found) = &usual
        && fits(found)
    {
        return usual;
    }
    // Without statistics only the order of the times can indicate another encoding.
    let ascends = |found: &[i64]| expected.is_some() || found.is_sorted_by(|a, b| a < b);
    let others = TIME_ENCODINGS.into_iter().skip(1);
    let other =
        others.filter_map(|encoding| attempt(encoding).ok()).find(|found| fits(found) && ascends(found));
    other.map_or(usual, Ok)
}

/// Maximum number of times that a writer stores in this many bytes. Equal steps take no bytes of their own,
/// so a decoder alone would accept any number; but blocks end after 129 (TS_2DIFF, 24 bytes or more) and 128
/// values (REGULAR, 21).
fn most_times(encoding: Encoding, bytes: usize) -> usize {
    let most = match encoding {
        Encoding::Ts2Diff => bytes.saturating_mul(6),
        Encoding::Regular => bytes.saturating_mul(7),
        Encoding::Plain => bytes / 8,
        _ => MAX_POINTS,
    };
    most.min(MAX_POINTS)
}

/// Counts the times in `bytes` if there are no statistics.
fn count_times(bytes: &[u8], encoding: Encoding) -> Result<usize> {
    let limit = MAX_POINTS + 1;
    Ok(match encoding {
        Encoding::Ts2Diff => delta_binary::count::<i64>(bytes, limit)?,
        Encoding::Rle => rle_hybrid::count::<i64>(bytes, limit)?,
        Encoding::Regular => regular::count::<i64>(bytes, limit)?,
        Encoding::Plain => bytes.len() / 8,
        other => {
            let message =
                format!("{} does not record the number of times of a page", other.name(Version::V4));
            return Err(Error::unsupported(message).class("unsupported_encoding"));
        }
    })
}

fn no_such(encoding: Encoding, what: &str, version: Version) -> Error {
    Error::corrupt(format!("{} cannot encode {what} in version {}", encoding.name(version), version.name()))
        .class("unsupported_encoding")
}
