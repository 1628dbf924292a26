//! The sort key of a file, and parsing of key literals.

use arrow_cast::parse::string_to_timestamp_nanos;
use tesselle_core::{Action, Context, Error, Result, Scalar};

use crate::meta::schema::Field;
use crate::meta::types::LogicalType;
use crate::open::File;

impl File {
    /// The column that the rows are sorted by.
    pub fn sort_key(&self) -> Option<String> {
        let schema = &self.footer().schema;
        schema.sort_key().and_then(|key| schema.fields.get(key)).map(Field::display_name)
    }

    /// Parses `literal` as a value of the sort key: digits as a number if the key is numeric, `0x` and digits as
    /// bytes, a time in microseconds or as ISO 8601.
    pub fn parse_key(&self, literal: &str) -> Result<Scalar> {
        let schema = &self.footer().schema;
        let Some(field) = schema.sort_key().and_then(|key| schema.fields.get(key)) else {
            return Err(Error::invalid("the file has no sort key to look up")
                .suggest("use {} to search all rows", [Action::Filter]))
            .in_file(self.path());
        };
        parse(field.logical, literal).ok_or_else(|| {
            let (name, logical) = (field.display_name(), field.logical.name());
            Error::invalid(format!("'{literal}' is not a value of the sort key '{name}' ({logical})"))
        })
    }
}

fn parse(logical: LogicalType, literal: &str) -> Option<Scalar> {
    use LogicalType as T;
    Some(match logical {
        T::Bool => Scalar::Bool(literal.parse().ok()?),
        T::Float32 => Scalar::Float(f64::from(literal.parse::<f32>().ok()?)),
        T::Float64 => Scalar::Float(literal.parse().ok()?),
        T::TimestampMicros => match literal.parse::<i64>() {
            Ok(micros) => Scalar::Int(micros.into()),
            Err(_) => Scalar::Int(string_to_timestamp_nanos(literal).ok()?.div_euclid(1000).into()),
        },
        T::String => Scalar::String(literal.to_owned()),
        T::Bytes => match literal.strip_prefix("0x").and_then(unhex) {
            Some(bytes) => Scalar::Bytes(bytes),
            None => Scalar::Bytes(literal.as_bytes().to_vec()),
        },
        T::List | T::BlobRef => return None,
        _ => Scalar::Int(literal.parse().ok()?),
    })
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed_by_the_type_of_their_column() {
        let cases = [
            (LogicalType::String, "17", Some(Scalar::String("17".into()))),
            (LogicalType::UInt8, "17", Some(Scalar::Int(17))),
            (LogicalType::UInt8, "seventeen", None),
            (LogicalType::Bytes, "0x00ff", Some(Scalar::Bytes(vec![0, 255]))),
            (LogicalType::Bytes, "0xf", Some(Scalar::Bytes(b"0xf".to_vec()))),
            (LogicalType::Float32, "0.1", Some(Scalar::Float(f64::from(0.1f32)))),
            (LogicalType::TimestampMicros, "1970-01-01T00:00:01.5Z", Some(Scalar::Int(1_500_000))),
            (LogicalType::TimestampMicros, "-3", Some(Scalar::Int(-3))),
            (LogicalType::Bool, "true", Some(Scalar::Bool(true))),
        ];
        for (logical, literal, want) in cases {
            assert_eq!(parse(logical, literal), want, "{literal}");
        }
    }
}
