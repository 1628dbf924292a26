//! Names of column types.

use std::borrow::Cow;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, TimeUnit};

use crate::error::{Error, Result};

/// How many of a unit are a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

const NAMES: [(&str, DataType); 26] = [
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("utf8", DataType::Utf8),
    ("binary", DataType::Binary),
    ("date", DataType::Date32),
    ("timestamp_s", DataType::Timestamp(TimeUnit::Second, None)),
    ("timestamp_ms", DataType::Timestamp(TimeUnit::Millisecond, None)),
    ("timestamp_us", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ("timestamp_ns", DataType::Timestamp(TimeUnit::Nanosecond, None)),
    ("duration_s", DataType::Duration(TimeUnit::Second)),
    ("duration_ms", DataType::Duration(TimeUnit::Millisecond)),
    ("duration_us", DataType::Duration(TimeUnit::Microsecond)),
    ("duration_ns", DataType::Duration(TimeUnit::Nanosecond)),
    // Other spellings, never shown.
    ("text", DataType::Utf8),
    ("string", DataType::Utf8),
    ("boolean", DataType::Boolean),
];

/// The type of that name; `decimal(15,2)` has 15 digits, 2 of them after the point.
pub fn type_by_name(name: &str) -> Result<DataType> {
    let wanted = name.trim().to_ascii_lowercase();
    if let Some(data_type) = decimal(&wanted) {
        return Ok(data_type);
    }
    let found = NAMES.iter().find(|(name, _)| *name == wanted).map(|(_, data_type)| data_type.clone());
    let known = || NAMES.iter().take(23).map(|(name, _)| *name).chain(["decimal(digits,scale)"]);
    found.ok_or_else(|| Error::unknown_name("type", name.trim(), known()))
}

fn decimal(name: &str) -> Option<DataType> {
    let rest = name.strip_prefix("decimal128").or_else(|| name.strip_prefix("decimal"))?;
    let (digits, scale) = rest.trim().strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    let digits =
        digits.trim().parse().ok().filter(|digits| (1..=DECIMAL128_MAX_PRECISION).contains(digits))?;
    let scale = scale.trim().parse::<u8>().ok().filter(|scale| *scale <= digits)?;
    Some(DataType::Decimal128(digits, scale.try_into().ok()?))
}

/// The name of a type; other types are shown as Arrow shows them.
pub fn type_name(data_type: &DataType) -> String {
    let found = NAMES.iter().find(|(_, known)| known == data_type);
    found.map_or_else(|| data_type.to_string(), |(name, _)| (*name).to_owned())
}

/// Parses `name=type,name=type`; line breaks separate as well. Names may be in double quotes, as in [`split_names`].
pub fn parse_types(text: &str) -> Result<Vec<(String, DataType)>> {
    // A comma between parentheses belongs to a type.
    let mut open = false;
    let separates = |c: char| {
        open = c == '(' || open && c != ')';
        matches!(c, ',' | '\n') && !open
    };
    parts(text, separates)
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.starts_with('#'))
        .map(|part| {
            let (name, kind) = part.rsplit_once('=').ok_or_else(|| {
                Error::invalid(format!("'{part}' has no type")).hint("use COLUMN=TYPE, e.g. id=int64")
            })?;
            Ok((unquoted(name.trim()), type_by_name(kind)?))
        })
        .collect()
}

/// Names that are separated by commas. A name that contains a comma, or starts or ends with a quote, is in double quotes, and
/// quotes in it are doubled, as in SQL.
pub fn split_names(text: &str) -> Vec<String> {
    parts(text, |c| c == ',').into_iter().map(unquoted).collect()
}

/// A name as [`split_names`] reads it: in double quotes where it needs them.
pub fn listed_name(name: &str) -> Cow<'_, str> {
    let is_plain = !name.contains([',', '\n', '"', '=']) && name.trim() == name;
    if is_plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

/// Splits at `separates`, which gets each character outside of double quotes. Quotes begin at the start of a part.
fn parts(text: &str, mut separates: impl FnMut(char) -> bool) -> Vec<&str> {
    let (mut parts, mut start, mut is_name, mut quoted) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        let part = &text[start..at];
        if c == '"' && (quoted || part.trim().is_empty() || is_name && part.ends_with('"')) {
            (is_name, quoted) = (true, !quoted);
        } else if !quoted && separates(c) {
            parts.push(part);
            (start, is_name) = (at + c.len_utf8(), false);
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The name between double quotes, if it is in some.
fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| name.to_owned(), |inner| inner.replace("\"\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_one_name_and_take_others() {
        assert_eq!(type_by_name("String").unwrap(), DataType::Utf8);
        assert_eq!(type_name(&DataType::Utf8), "utf8");
        assert!(type_by_name("int").unwrap_err().to_string().contains("int8"));
        let all = parse_types("a=int8, b=c=date\n# note\nd=bool").unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(all[1], ("b=c".to_owned(), DataType::Date32));
        assert!(parse_types("a").is_err());
        let all = parse_types("price=decimal(15,2), id=int8,total=Decimal128( 38 , 0 )").unwrap();
        let types: Vec<&DataType> = all.iter().map(|(_, data_type)| data_type).collect();
        assert_eq!(types, [&DataType::Decimal128(15, 2), &DataType::Int8, &DataType::Decimal128(38, 0)]);
        let all = parse_types("\"a,\"\"b \"=int8, c (x, y)=date,d\"e\"\"=bool").unwrap();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a,\"b ", "c (x, y)", "d\"e\"\""]);
        for wrong in
            ["decimal", "decimal(39,2)", "decimal(3,4)", "decimal(0,0)", "decimal(x,1)", "decimal(5,2"]
        {
            assert!(type_by_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_come_back_from_their_list() {
        for names in
            [&["a", "b c", "größe"][..], &["a,b", " c", "\"q\"", "x\"y,", "", "d"], &[""], &["a=b", "\""]]
        {
            let list: Vec<_> = names.iter().map(|name| listed_name(name)).collect();
            assert_eq!(split_names(&list.join(",")), names, "{list:?}");
        }
        assert_eq!(split_names("a,\"b"), ["a", "\"b"]);
        assert_eq!(split_names("it\"s,(b,c"), ["it\"s", "(b", "c"]);
    }
}
