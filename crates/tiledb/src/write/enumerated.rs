//! Dictionary columns: as codes of an attribute's enumeration, or as their values. Strings for such an attribute become
//! codes as well.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;

use super::cells::{CellType, from_arrow};
use crate::meta::enumeration::Enumeration;
use crate::{Datatype, Error, Result};

/// The column to store in place of a dictionary column, or of strings that an enumeration lists; `None` for all others.
pub(crate) fn codes(
    name: &str,
    array: &ArrayRef,
    kind: CellType,
    enumeration: Option<&Enumeration>,
) -> Result<Option<ArrayRef>> {
    let is_string = matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let (values, keys) = match (array.data_type(), enumeration) {
        (DataType::Dictionary(_, _), None) => {
            let dictionary = array.as_any_dictionary();
            return Ok(Some(arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?));
        }
        (DataType::Dictionary(_, _), Some(_)) => {
            let dictionary = array.as_any_dictionary();
            (dictionary.values(), dictionary.normalized_keys())
        }
        (_, Some(_)) if is_string => (array, (0..array.len()).collect()),
        _ => return Ok(None),
    };
    let Some(enumeration) = enumeration else { return Ok(None) };
    let values = from_arrow(
        name,
        values,
        CellType {
            datatype: enumeration.datatype,
            cell_val_num: enumeration.cell_val_num,
            nullable: is_string,
        },
    )?;
    let listed = enumeration.values()?;
    let positions: HashMap<&[u8], usize> = listed.iter().enumerate().map(|(i, value)| (*value, i)).collect();
    let map: Vec<Option<usize>> = (0..values.count).map(|i| positions.get(values.cell(i)).copied()).collect();
    let nulls = array.logical_nulls();
    let mut out = Vec::with_capacity(keys.len());
    for (row, key) in keys.into_iter().enumerate() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.push(None);
            continue;
        }
        let Some(code) = map.get(key).copied().flatten() else {
            let value = tesselle_core::json_bytes(values.cell(key));
            return Err(Error::invalid(format!(
                "column '{name}' contains {value}, which enumeration '{}' does not list",
                enumeration.name
            ))
            .hint("extend the enumeration first"));
        };
        out.push(Some(code as i64));
    }
    narrow(&Int64Array::from(out), kind.datatype).map(Some)
}

/// Codes in the integer type of their attribute. They fit: the enumeration was checked against it.
pub(crate) fn narrow(codes: &Int64Array, datatype: Datatype) -> Result<ArrayRef> {
    fn to<T: ArrowDictionaryKeyType>(codes: &Int64Array) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i64>,
    {
        let fit = |code| T::Native::try_from(code).map_err(|_| Error::internal("a code exceeds its type"));
        Ok(Arc::new(codes.try_unary::<_, T, _>(fit)?))
    }
    match datatype {
        Datatype::Int8 => to::<Int8Type>(codes),
        Datatype::Int16 => to::<Int16Type>(codes),
        Datatype::Int32 => to::<Int32Type>(codes),
        Datatype::Int64 => to::<Int64Type>(codes),
        Datatype::Uint8 => to::<UInt8Type>(codes),
        Datatype::Uint16 => to::<UInt16Type>(codes),
        Datatype::Uint32 => to::<UInt32Type>(codes),
        Datatype::Uint64 => to::<UInt64Type>(codes),
        other => Err(Error::invalid(format!("an enumeration cannot have codes of type {}", other.name()))),
    }
}
