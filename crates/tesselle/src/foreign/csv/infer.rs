//! Inference of the kind of a CSV field's value.

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, TimeUnit};
use tesselle_core::Within;

/// The kinds of values seen in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u16);

const BOOL: u16 = 1;
const INTEGER: u16 = 1 << 1;
const FLOAT: u16 = 1 << 2;
const DATE: u16 = 1 << 3;
const SECONDS: u16 = 1 << 4;
const MILLIS: u16 = 1 << 5;
const MICROS: u16 = 1 << 6;
const NANOS: u16 = 1 << 7;
const TEXT: u16 = 1 << 8;
/// A time outside the range of 64-bit nanoseconds.
const FAR: u16 = 1 << 10;
/// Quotes without content: an empty string in a string column, null in any other.
const QUOTES: u16 = 1 << 9;
const TIMES: u16 = DATE | SECONDS | MILLIS | MICROS | NANOS;

impl Kinds {
    /// Adds a field; an empty one is null and has no kind.
    pub(super) fn add(&mut self, field: &[u8]) {
        self.0 |= kind(field);
    }

    /// Takes note of a field of quotes alone.
    pub(super) fn add_quotes(&mut self) {
        self.0 |= QUOTES;
    }

    /// The union of both columns.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type that represents all of them.
    pub(super) fn data_type(self) -> DataType {
        if self.0 & FAR != 0 && self.0 & NANOS != 0 {
            return DataType::Utf8;
        }
        match self.0 & !(QUOTES | FAR) {
            0 if self.0 == QUOTES => DataType::Utf8,
            0 => DataType::Null,
            BOOL => DataType::Boolean,
            INTEGER => DataType::Int64,
            kinds if kinds & !(INTEGER | FLOAT) == 0 => DataType::Float64,
            DATE => DataType::Date32,
            // Of times, the finest.
            kinds if kinds & !TIMES == 0 => {
                let unit = match kinds {
                    _ if kinds & NANOS != 0 => TimeUnit::Nanosecond,
                    _ if kinds & MICROS != 0 => TimeUnit::Microsecond,
                    _ if kinds & MILLIS != 0 => TimeUnit::Millisecond,
                    _ => TimeUnit::Second,
                };
                DataType::Timestamp(unit, None)
            }
            _ => DataType::Utf8,
        }
    }
}

fn kind(field: &[u8]) -> u16 {
    match field {
        [] => 0,
        [b'-' | b'.' | b'0'..=b'9', ..] => match number(field) {
            Some(_) if is_padded(field) => TEXT,
            Some(kind) => kind,
            None if field == b"-inf" => FLOAT,
            None => time(field).unwrap_or(TEXT),
        },
        b"NaN" | b"nan" | b"inf" => FLOAT,
        _ if field.eq_ignore_ascii_case(b"true") || field.eq_ignore_ascii_case(b"false") => BOOL,
        _ => TEXT,
    }
}

/// The rest after leading digits, and their number.
fn digits(text: &[u8]) -> (&[u8], usize) {
    let n = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (text.within(n..), n)
}

fn number(field: &[u8]) -> Option<u16> {
    let (rest, whole) = digits(field.strip_prefix(b"-").unwrap_or(field));
    if rest.is_empty() {
        // A string keeps the digits of a number that is too large.
        let fits = || std::str::from_utf8(field).is_ok_and(|text| text.parse::<i64>().is_ok());
        return (whole > 0).then(|| if field.len() < 19 || fits() { INTEGER } else { TEXT });
    }
    let (rest, places) = match rest.strip_prefix(b".") {
        Some(rest) => digits(rest),
        None => (rest, 0),
    };
    if whole + places == 0 {
        return None;
    }
    match rest {
        [] => Some(FLOAT),
        [b'e' | b'E', rest @ ..] => {
            let (rest, power) = digits(rest.strip_prefix(b"-").or(rest.strip_prefix(b"+")).unwrap_or(rest));
            (power > 0 && rest.is_empty()).then_some(FLOAT)
        }
        _ => None,
    }
}

/// Whether a number has zeros in front, which it would lose: a postal code, a telephone number, an identifier.
fn is_padded(field: &[u8]) -> bool {
    matches!(field.strip_prefix(b"-").unwrap_or(field), [b'0', b'0'..=b'9', ..])
}

fn time(field: &[u8]) -> Option<u16> {
    let like = |text: &[u8], pattern: &[u8]| {
        text.len() == pattern.len()
            && text.iter().zip(pattern).all(|(byte, like)| match like {
                b'0' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b' '),
                _ => byte == like,
            })
    };
    if like(field, b"0000-00-00") {
        return is_date(field).then_some(if is_near(field) { DATE } else { DATE | FAR });
    }
    let (head, rest) = field.split_at_checked(19)?;
    if !like(head, b"0000-00-00T00:00:00") {
        return None;
    }
    let (unit, zone) = match rest {
        [b'.', fraction @ ..] => match digits(fraction) {
            (zone, 1..=3) => (MILLIS, zone),
            (zone, 4..=6) => (MICROS, zone),
            (zone, 7..=9) => (NANOS, zone),
            _ => return None,
        },
        zone => (SECONDS, zone),
    };
    let clock = [(11, 24), (14, 60), (17, 60)];
    let plain = zone.is_empty() && is_date(head) && clock.iter().all(|(at, end)| two(head, *at) < *end);
    // Zones and leap seconds are left to the parser.
    (plain || is_time(field)).then_some(if is_near(head) { unit } else { unit | FAR })
}

/// The number of two digits at `at`.
fn two(text: &[u8], at: usize) -> u32 {
    text.within(at..at + 2).iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0'))
}

/// Whether a field that starts like `0000-00-00` is a valid date.
fn is_date(text: &[u8]) -> bool {
    let (year, month, day) = (two(text, 0) * 100 + two(text, 2), two(text, 5), two(text, 8));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Whether the whole year is in the range of 64-bit nanoseconds.
fn is_near(text: &[u8]) -> bool {
    (1678..2262).contains(&(two(text, 0) * 100 + two(text, 2)))
}

fn is_time(field: &[u8]) -> bool {
    let utc = "+00:00".parse::<Tz>();
    let text = std::str::from_utf8(field);
    utc.is_ok_and(|utc| text.is_ok_and(|text| string_to_datetime(&utc, text).is_ok()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;

    use arrow_schema::{Field, Schema};
    use proptest::prelude::*;

    use super::*;

    /// The first column, read as this type.
    fn parses(text: &str, kind: &DataType) -> bool {
        let fields = vec![Field::new("x", kind.clone(), true), Field::new("y", DataType::Int64, true)];
        let reader = arrow_csv::ReaderBuilder::new(Arc::new(Schema::new(fields))).with_header(true);
        reader.build(text.as_bytes()).unwrap().all(|batch| batch.is_ok())
    }

    proptest! {
        /// The types equal those inferred by the parser's crate, unless it fails on them or loses zeros in front: ours never do.
        #[test]
        fn types_are_those_of_the_parser(
            fields in prop::collection::vec(
                prop_oneof![
                    "-?[0-9]{0,20}",
                    "-?[0-9]{0,3}\\.?[0-9]{0,3}([eE][-+]?[0-9]{0,3})?",
                    "(20|16|22)[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,10})?(Z|\\+01:00|x)?)?",
                    "[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|-?[nN][aA][nN]|-?[iI]nf",
                    "[a-z \"é.-]{0,6}",
                ],
                1..4,
            ),
        ) {
            let mut kinds = Kinds::default();
            let mut text = "x,y\n".to_owned();
            for field in &fields {
                kinds.add(field.as_bytes());
                writeln!(text, "\"{}\",1", field.replace('"', "\"\"")).unwrap();
            }
            let format = arrow_csv::reader::Format::default().with_header(true);
            let (schema, _) = format.infer_schema(text.as_bytes(), None).unwrap();
            let (ours, theirs) = (kinds.data_type(), schema.field(0).data_type());
            prop_assert!(parses(&text, &ours), "{ours}");
            if parses(&text, theirs) && !fields.iter().any(|field| is_padded(field.as_bytes())) {
                prop_assert_eq!(&ours, theirs);
            }
        }
    }

    #[test]
    fn values_that_only_look_like_numbers_or_times_are_strings() {
        for (fields, want) in [
            (&["2024-01-01", "2024-02-30"][..], DataType::Utf8),
            (&["2024-02-29"], DataType::Date32),
            (&["2024-01-01T25:00:00"], DataType::Utf8),
            (&["1677-01-01T00:00:00.000000001", "2400-01-01T00:00:00"], DataType::Utf8),
            (&["2400-01-01T00:00:00"], DataType::Timestamp(TimeUnit::Second, None)),
            (&["10115", "01067"], DataType::Utf8),
            (&["1.5", "-00.5"], DataType::Utf8),
            (&["0", "-0", "10"], DataType::Int64),
            (&["0.5", "0e3", "-0.0"], DataType::Float64),
            (&["0001-01-01"], DataType::Date32),
        ] {
            let mut kinds = Kinds::default();
            for field in fields {
                kinds.add(field.as_bytes());
            }
            assert_eq!(kinds.data_type(), want, "{fields:?}");
        }
    }
}
