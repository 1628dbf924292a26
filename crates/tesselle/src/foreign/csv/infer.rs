//! What kind of value a field of a CSV file is, by its text alone.

use arrow_schema::{DataType, TimeUnit};

/// The kinds of values that were met in a column.
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
/// Quotes with nothing between them: the empty text in a column of text, null in any other.
const QUOTES: u16 = 1 << 9;
const TIMES: u16 = DATE | SECONDS | MILLIS | MICROS | NANOS;

impl Kinds {
    /// Takes note of a field; an empty one is null and tells nothing.
    pub(super) fn add(&mut self, field: &[u8]) {
        self.0 |= kind(field);
    }

    /// Takes note of a field of quotes alone.
    pub(super) fn add_quotes(&mut self) {
        self.0 |= QUOTES;
    }

    /// Both columns as one.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type that holds all of them.
    pub(super) fn data_type(self) -> DataType {
        match self.0 & !QUOTES {
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
            Some(kind) => kind,
            None if field == b"-inf" => FLOAT,
            None => time(field).unwrap_or(TEXT),
        },
        b"NaN" | b"nan" | b"inf" => FLOAT,
        _ if field.eq_ignore_ascii_case(b"true") || field.eq_ignore_ascii_case(b"false") => BOOL,
        _ => TEXT,
    }
}

/// The text behind its leading digits, and how many these are.
fn digits(text: &[u8]) -> (&[u8], usize) {
    let n = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (text.get(n..).unwrap_or_default(), n)
}

fn number(field: &[u8]) -> Option<u16> {
    let (rest, whole) = digits(field.strip_prefix(b"-").unwrap_or(field));
    if rest.is_empty() {
        // Text keeps the digits of a number that is too large.
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
        return Some(DATE);
    }
    let (head, rest) = field.split_at_checked(19)?;
    if !like(head, b"0000-00-00T00:00:00") || rest.contains(&b'\n') {
        return None;
    }
    match rest {
        [b'.', fraction @ ..] => match digits(fraction).1 {
            1..=3 => Some(MILLIS),
            4..=6 => Some(MICROS),
            7..=9 => Some(NANOS),
            _ => None,
        },
        // A zone may follow.
        [byte, ..] if byte.is_ascii_digit() => None,
        _ => Some(SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The types are those that the parser's own crate infers, for it has to parse them.
        #[test]
        fn types_are_those_of_the_parser(
            fields in prop::collection::vec(
                prop_oneof![
                    "-?[0-9]{0,20}",
                    "-?[0-9]{0,3}\\.?[0-9]{0,3}([eE][-+]?[0-9]{0,3})?",
                    "20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,10})?(Z|\\+01:00)?)?",
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
            prop_assert_eq!(kinds.data_type(), schema.field(0).data_type().clone());
        }
    }
}
