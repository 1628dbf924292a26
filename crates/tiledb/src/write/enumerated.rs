//! Dictionary columns: as codes of an attribute's enumeration, or as their values.

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

/// The column to store in place of a dictionary column; `None` if `array` is not a dictionary.
pub(crate) fn codes(
    name: &str,
    array: &ArrayRef,
    kind: CellType,
    enumeration: Option<&Enumeration>,
) -> Result<Option<ArrayRef>> {
    let DataType::Dictionary(_, _) = array.data_type() else { return Ok(None) };
    let dictionary = array.as_any_dictionary();
    let Some(enumeration) = enumeration else {
        return Ok(Some(arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?));
    };
    let values = from_arrow(
        name,
        dictionary.values(),
        CellType { datatype: enumeration.datatype, cell_val_num: enumeration.cell_val_num, nullable: false },
    )?;
    let listed = enumeration.values()?;
    let positions: HashMap<&[u8], usize> = listed.iter().enumerate().map(|(i, value)| (*value, i)).collect();
    let map: Vec<Option<usize>> = (0..values.count).map(|i| positions.get(values.cell(i)).copied()).collect();
    let keys = dictionary.normalized_keys();
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
