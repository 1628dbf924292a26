//! Inference of the kinds of values in the lines of a file.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use serde_json::{Map, Value};
use tesselle_core::unhex;

use crate::foreign::text::BoxError;

/// The kinds seen in one position: a field of the lines, an item of a list, a member of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ValueKinds {
    kinds: u16,
    item: Option<Box<ValueKinds>>,
    members: Option<Members>,
}

/// Names with the kinds seen, in order of first occurrence.
pub(crate) type Members = Vec<(String, ValueKinds)>;

const BOOL: u16 = 1;
const INTEGER: u16 = 1 << 1;
/// An integer that needs an unsigned type.
const LARGE: u16 = 1 << 2;
const NEGATIVE: u16 = 1 << 3;
const FLOAT: u16 = 1 << 4;
/// The name of a float that JSON has no number for.
const NO_NUMBER: u16 = 1 << 5;
const TEXT: u16 = 1 << 6;
/// An object that represents bytes that are not UTF-8.
const BYTES: u16 = 1 << 7;
/// An object of any other kind.
const OBJECT: u16 = 1 << 8;

impl ValueKinds {
    fn add(&mut self, value: &Value) {
        self.kinds |= match value {
            Value::Null => 0,
            Value::Bool(_) => BOOL,
            Value::Number(n) if n.is_i64() => {
                if n.as_i64().is_some_and(i64::is_negative) {
                    INTEGER | NEGATIVE
                } else {
                    INTEGER
                }
            }
            Value::Number(n) if n.is_u64() => INTEGER | LARGE,
            Value::Number(_) => FLOAT,
            Value::String(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => NO_NUMBER,
            Value::String(_) => TEXT,
            Value::Array(items) => {
                let shape = self.item.get_or_insert_default();
                for item in items {
                    shape.add(item);
                }
                0
            }
            Value::Object(members) => {
                add_members(self.members.get_or_insert_default(), members);
                if stands_for_bytes(members) { BYTES } else { OBJECT }
            }
        };
    }

    fn join(&mut self, other: Self) {
        self.kinds |= other.kinds;
        if let Some(item) = other.item {
            self.item.get_or_insert_default().join(*item);
        }
        if let Some(members) = other.members {
            join_members(self.members.get_or_insert_default(), members);
        }
    }

    /// The type that represents all of them. A position with only nulls becomes a string column.
    fn data_type(mut self) -> Result<DataType, BoxError> {
        if let Some(members) = self.members {
            // Bytes that are valid UTF-8 were written as strings.
            if self.kinds & !(BYTES | TEXT | NO_NUMBER) == 0 && self.item.is_none() {
                return Ok(DataType::Binary);
            }
            if self.kinds & !(BYTES | OBJECT) != 0 || self.item.is_some() {
                return Err("it contains objects in some lines and other values in others".into());
            }
            return Ok(DataType::Struct(fields(members)?.into()));
        }
        if let Some(mut item) = self.item.take() {
            // A single value becomes a list of one.
            item.kinds |= self.kinds;
            return Ok(DataType::List(Arc::new(Field::new_list_field(item.data_type()?, true))));
        }
        Ok(match self.kinds {
            BOOL => DataType::Boolean,
            kinds if kinds == INTEGER || kinds == INTEGER | NEGATIVE => DataType::Int64,
            kinds if kinds == INTEGER | LARGE => DataType::UInt64,
            0 => DataType::Utf8,
            kinds if kinds & (BOOL | TEXT) == 0 => DataType::Float64,
            _ => DataType::Utf8,
        })
    }
}

/// Whether an object is `{"hex": …}` as written for bytes that are not UTF-8.
fn stands_for_bytes(object: &Map<String, Value>) -> bool {
    bytes_of(object).is_some_and(|bytes| std::str::from_utf8(&bytes).is_err())
}

/// The bytes represented by an object, if it is `{"hex": …}` and has no other member.
pub(super) fn bytes_of(object: &Map<String, Value>) -> Option<Vec<u8>> {
    let digits = object.get("hex").filter(|_| object.len() == 1)?.as_str()?;
    unhex(digits.as_bytes())
}

/// Adds one object.
pub(super) fn add_members(all: &mut Members, object: &Map<String, Value>) {
    for (at, (name, value)) in object.iter().enumerate() {
        // Objects of a file usually have the same members in the same order.
        let place = match all.get(at) {
            Some((known, _)) if known == name => Some(at),
            _ => all.iter().position(|(known, _)| known == name),
        };
        let place = place.unwrap_or_else(|| {
            all.push((name.clone(), ValueKinds::default()));
            all.len() - 1
        });
        if let Some((_, shape)) = all.get_mut(place) {
            shape.add(value);
        }
    }
}

/// Combines the kinds of two blocks of lines.
pub(super) fn join_members(all: &mut Members, others: Members) {
    for (name, shape) in others {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.join(shape),
            None => all.push((name, shape)),
        }
    }
}

/// The columns.
pub(super) fn fields(members: Members) -> Result<Vec<Field>, BoxError> {
    let field = |(name, shape): (String, ValueKinds)| match shape.data_type() {
        Ok(kind) => Ok(Field::new(name, kind, true)),
        Err(error) => Err(format!("column '{name}': {error}").into()),
    };
    members.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(lines: &[&str]) -> Members {
        let mut all = Members::default();
        for line in lines {
            add_members(&mut all, serde_json::from_str::<Value>(line).unwrap().as_object().unwrap());
        }
        all
    }

    fn type_of(values: &[&str]) -> DataType {
        let lines: Vec<String> = values.iter().map(|v| format!("{{\"x\": {v}}}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        fields(of(&lines)).unwrap().remove(0).data_type().clone()
    }

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    #[test]
    fn each_type_represents_all_values() {
        assert_eq!(type_of(&["null", "true"]), DataType::Boolean);
        assert_eq!(type_of(&["1", "-2"]), DataType::Int64);
        assert_eq!(type_of(&["1", "18446744073709551615"]), DataType::UInt64);
        assert_eq!(type_of(&["-1", "18446744073709551615"]), DataType::Float64);
        assert_eq!(type_of(&["1", "2.5", "\"NaN\""]), DataType::Float64);
        assert_eq!(type_of(&["\"-Infinity\"", "\"x\""]), DataType::Utf8);
        assert_eq!(type_of(&["true", "1"]), DataType::Utf8);
        assert_eq!(type_of(&["null"]), DataType::Utf8);
        assert_eq!(type_of(&["[]", "[1]", "2.5"]), list(DataType::Float64));
        assert_eq!(type_of(&["[]", "[[]]"]), list(list(DataType::Utf8)));
        assert_eq!(
            type_of(&["{\"a\": 1}", "null", "{\"b\": [true]}"]),
            DataType::Struct(
                vec![Field::new("a", DataType::Int64, true), Field::new("b", list(DataType::Boolean), true)]
                    .into()
            )
        );
        for other in ["1", "[]", "\"a\""] {
            let error = fields(of(&["{\"x\": {}}", &format!("{{\"x\": {other}}}")])).unwrap_err();
            assert!(error.to_string().contains("column 'x'"), "{error}");
        }
    }

    #[test]
    fn objects_that_stand_for_bytes_are_bytes() {
        let one = "{\"hex\": \"00ff\"}";
        assert_eq!(type_of(&[one, "null"]), DataType::Binary);
        assert_eq!(type_of(&[one, "\"text\"", "\"NaN\""]), DataType::Binary);
        assert_eq!(type_of(&["\"text\""]), DataType::Utf8);
        assert_eq!(type_of(&[&format!("[{one}, \"text\"]")]), list(DataType::Binary));
        // Others are objects: with more members, invalid digits, or of bytes that are valid UTF-8.
        for other in
            ["{\"hex\": \"616263\"}", "{\"hex\": \"0ff\"}", "{\"hex\": \"+f\"}", "{\"hex\": 7}", "{}"]
        {
            assert!(matches!(type_of(&[one, other]), DataType::Struct(_)), "{other}");
        }
        assert!(matches!(type_of(&["{\"hex\": \"ff\", \"a\": 1}"]), DataType::Struct(_)));
        let error = fields(of(&[&format!("{{\"x\": {one}}}"), "{\"x\": 1}"])).unwrap_err();
        assert!(error.to_string().contains("column 'x'"), "{error}");
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "null",
            "7",
            "-7",
            "1.5",
            "true",
            "\"a\"",
            "\"NaN\"",
            "[]",
            "{}",
            "{\"hex\":\"ff\"}",
        ]);
        leaf.prop_map(str::to_owned).prop_recursive(2, 6, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|all| format!("[{}]", all.join(","))),
                inner.prop_map(|one| format!("{{\"k\":{one}}}")),
            ]
        })
    }

    proptest! {
        /// The division of a file into blocks does not matter.
        #[test]
        fn blocks_join_to_what_the_lines_have(
            lines in prop::collection::vec(("[xyz]", value()), 1..6),
            cut in 0_usize..6,
        ) {
            let lines: Vec<String> = lines.iter().map(|(name, v)| format!("{{\"{name}\":{v}}}")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let (a, b) = lines.split_at(cut.min(lines.len()));
            let mut joined = of(a);
            join_members(&mut joined, of(b));
            prop_assert_eq!(joined, of(&lines));
        }
    }
}
