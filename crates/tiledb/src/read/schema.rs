//! The Arrow columns of an array's fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, FieldRef, TimeUnit};
use tesselle_core::TYPE_KEY;

use super::build;
use crate::meta::attribute::Attribute;
use crate::meta::datatype::{Datatype, Physical};
use crate::meta::dimension::{Dimension, VAR};
use crate::meta::enumeration::Enumeration;
use crate::write::cells::CellType;
use crate::{Error, Result};

/// The source of a column: its position in the array's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    Dimension(usize),
    Attribute(usize),
}

/// How stored integers and strings are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Presentation {
    /// Stored integers instead of their meaning.
    pub(crate) raw: bool,
    /// Strings as Binary.
    pub(crate) text_as_binary: bool,
}

/// A column of the table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: u32,
    pub(crate) nullable: bool,
    pub(crate) presentation: Presentation,
    /// The values of an enumerated attribute, unless codes are requested.
    pub(crate) dictionary: Option<ArrayRef>,
    pub(crate) field: FieldRef,
    /// The fill value of a cell and its validity.
    pub(crate) fill: Vec<u8>,
    pub(crate) fill_valid: bool,
}

impl Column {
    /// The type of its cells.
    pub(crate) fn cell_type(&self) -> CellType {
        CellType { datatype: self.datatype, cell_val_num: self.cell_val_num, nullable: self.nullable }
    }

    pub(crate) fn of_dimension(index: usize, dim: &Dimension, presentation: Presentation) -> Result<Self> {
        Self::try_new(
            dim.name.clone(),
            Source::Dimension(index),
            (dim.datatype, dim.cell_val_num),
            false,
            presentation,
            None,
            (Vec::new(), true),
        )
    }

    pub(crate) fn of_attribute(
        index: usize,
        attribute: &Attribute,
        enumeration: Option<&Enumeration>,
        presentation: Presentation,
    ) -> Result<Self> {
        let enumeration = enumeration.filter(|_| !presentation.raw && attribute.cell_val_num == 1);
        let dictionary =
            enumeration.map(|enumeration| build::dictionary(enumeration, presentation)).transpose()?;
        Self::try_new(
            attribute.name.clone(),
            Source::Attribute(index),
            (attribute.datatype, attribute.cell_val_num),
            attribute.nullable,
            presentation,
            dictionary,
            (attribute.fill.clone(), attribute.fill_valid),
        )
    }

    fn try_new(
        name: String,
        source: Source,
        (datatype, cell_val_num): (Datatype, u32),
        nullable: bool,
        presentation: Presentation,
        dictionary: Option<ArrayRef>,
        (fill, fill_valid): (Vec<u8>, bool),
    ) -> Result<Self> {
        let plain = arrow_type(datatype, cell_val_num, presentation)?;
        let data_type = match &dictionary {
            Some(values) => DataType::Dictionary(Box::new(plain), Box::new(values.data_type().clone())),
            None => plain,
        };
        let shown_nullable = nullable
            || dictionary.is_some()
            || (datatype == Datatype::DatetimeDay && !presentation.raw && cell_val_num == 1);
        let metadata = HashMap::from([(TYPE_KEY.to_owned(), datatype.name().to_owned())]);
        let field = Arc::new(ArrowField::new(&name, data_type, shown_nullable).with_metadata(metadata));
        Ok(Self {
            name,
            source,
            datatype,
            cell_val_num,
            nullable,
            presentation,
            dictionary,
            field,
            fill,
            fill_valid,
        })
    }

    /// Whether cells are of variable length.
    pub(crate) fn is_var(&self) -> bool {
        self.cell_val_num == VAR
    }

    /// Bytes of a fixed cell.
    pub(crate) fn cell_size(&self) -> usize {
        if self.is_var() { 0 } else { self.datatype.size().saturating_mul(self.cell_val_num as usize) }
    }
}

/// The Arrow type of one value.
pub(crate) fn element_type(datatype: Datatype, raw: bool) -> DataType {
    use Datatype as D;
    match datatype {
        D::Bool => DataType::Boolean,
        D::DatetimeDay if !raw => DataType::Date32,
        D::DatetimeSec if !raw => DataType::Timestamp(TimeUnit::Second, None),
        D::DatetimeMs if !raw => DataType::Timestamp(TimeUnit::Millisecond, None),
        D::DatetimeUs if !raw => DataType::Timestamp(TimeUnit::Microsecond, None),
        D::DatetimeNs if !raw => DataType::Timestamp(TimeUnit::Nanosecond, None),
        D::TimeSec if !raw => DataType::Duration(TimeUnit::Second),
        D::TimeMs if !raw => DataType::Duration(TimeUnit::Millisecond),
        D::TimeUs if !raw => DataType::Duration(TimeUnit::Microsecond),
        D::TimeNs if !raw => DataType::Duration(TimeUnit::Nanosecond),
        _ => number_type(datatype.physical()),
    }
}

/// The Arrow type of stored numbers.
pub(crate) fn number_type(physical: Physical) -> DataType {
    match physical {
        Physical::I8 => DataType::Int8,
        Physical::I16 => DataType::Int16,
        Physical::I32 => DataType::Int32,
        Physical::I64 => DataType::Int64,
        Physical::U8 => DataType::UInt8,
        Physical::U16 => DataType::UInt16,
        Physical::U32 => DataType::UInt32,
        Physical::U64 => DataType::UInt64,
        Physical::F32 => DataType::Float32,
        Physical::F64 => DataType::Float64,
    }
}

/// The child field of lists.
pub(crate) fn item_field(datatype: Datatype, raw: bool) -> FieldRef {
    let nullable = datatype == Datatype::DatetimeDay && !raw;
    Arc::new(ArrowField::new("item", element_type(datatype, raw), nullable))
}

/// The Arrow type of a field.
pub(crate) fn arrow_type(
    datatype: Datatype,
    cell_val_num: u32,
    presentation: Presentation,
) -> Result<DataType> {
    let one_byte = datatype.is_byte_string() || datatype.is_bytes();
    let text = datatype.is_byte_string() && !presentation.text_as_binary;
    if cell_val_num == VAR {
        return Ok(match (one_byte, text) {
            (true, true) => DataType::Utf8,
            (true, false) => DataType::Binary,
            (false, _) => DataType::List(item_field(datatype, presentation.raw)),
        });
    }
    let count = i32::try_from(cell_val_num)
        .map_err(|_| Error::unsupported(format!("{cell_val_num} values per cell are too many")))?;
    Ok(match (one_byte, count) {
        (true, _) => DataType::FixedSizeBinary(count),
        (false, 1) => element_type(datatype, presentation.raw),
        (false, _) => DataType::FixedSizeList(item_field(datatype, presentation.raw), count),
    })
}
