//! Arrow columns as attributes and dimensions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use tesselle_core::{Action, Error, Fit, Result, TYPE_KEY};

use super::options::SinkSettings;
use crate::Datatype;
use crate::filter::Pipeline;
use crate::meta::attribute::Attribute;
use crate::meta::dimension::{Dimension, VAR};
use crate::meta::enumeration::Enumeration;
use crate::read::schema::element_type;
use crate::write::cells::{CellType, Cells, from_arrow};
use crate::write::enumerated::narrow;

/// A column that becomes an attribute.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    pub(super) attribute: Attribute,
    index: usize,
    cast: Option<DataType>,
    dictionary: Option<Growing>,
}

/// A column that becomes a dimension. A missing domain follows from the data.
#[derive(Debug, Clone)]
pub(super) struct DimensionPlan {
    pub(super) dimension: Dimension,
    pub(super) index: usize,
    pub(super) cast: Option<DataType>,
}

/// An enumeration that grows with new values.
#[derive(Debug)]
struct Growing {
    kind: CellType,
    positions: HashMap<Vec<u8>, usize>,
    values: Vec<Vec<u8>>,
}

/// The stored form of a column: datatype, values per cell, and the Arrow type to cast to first.
type Stored = (Datatype, u32, Option<DataType>);

pub(super) fn plan(
    schema: &Schema,
    settings: &SinkSettings,
) -> Result<(Vec<DimensionPlan>, Vec<ColumnPlan>)> {
    let mut dims = Vec::new();
    for name in &settings.dims {
        let (index, field) = schema
            .column_with_name(name)
            .ok_or_else(|| Error::internal("a dimension was checked, but is not there"))?;
        dims.push(dimension(index, field, settings)?);
    }
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| !settings.dims.contains(field.name()))
        .map(|(index, field)| column(index, field, settings))
        .collect::<Result<_>>()?;
    Ok((dims, columns))
}

/// How a column of this type is stored. A dictionary becomes an enumeration if its values can be stored unchanged.
pub(super) fn fit(data_type: &DataType) -> Fit {
    use DataType as D;
    match data_type {
        D::Dictionary(_, values) => match fit(values) {
            Fit::As(to) if to == **values => Fit::As(data_type.clone()),
            _ => Fit::refused((**values).clone()),
        },
        D::Float16 => Fit::As(D::Float32),
        D::Timestamp(unit, Some(_)) => Fit::As(D::Timestamp(*unit, None)),
        D::Date64 => Fit::As(D::Timestamp(TimeUnit::Millisecond, None)),
        D::Time32(_) | D::Time64(_) => Fit::refused(D::Int64),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => Fit::refused(D::Utf8),
        D::Null => Fit::refused(D::Utf8),
        D::Struct(_) | D::Map(..) | D::Union(..) => Fit::Refused(None),
        other => Fit::As(other.clone()),
    }
}

fn misfit(field: &Field) -> Error {
    Error::invalid(format!(
        "column '{}' is {}, which TileDB arrays cannot store",
        field.name(),
        field.data_type()
    ))
    .hint("exclude the column or convert it first")
}

fn dimension(index: usize, field: &Field, settings: &SinkSettings) -> Result<DimensionPlan> {
    let (datatype, cell_val_num, cast) = stored(field).ok_or_else(|| misfit(field))?;
    let name = field.name();
    let filters = Pipeline::new(settings.dimension_filters(name)?);
    let is_byte_string = cell_val_num == VAR && datatype.size() == 1;
    let is_number = cell_val_num == 1 && (datatype.is_integer() || datatype.is_float() || datatype.is_time());
    if !is_byte_string && !is_number {
        return Err(Error::invalid(format!(
            "column '{name}' is {} and cannot be a dimension",
            field.data_type()
        )));
    }
    let dimension = Dimension {
        name: name.clone(),
        datatype: if is_byte_string { Datatype::StringAscii } else { datatype },
        cell_val_num,
        filters,
        domain: if is_byte_string { None } else { settings.domain(name, datatype)? },
        extent: if is_byte_string { None } else { settings.extent(name, datatype)? },
    };
    if dimension.extent.is_some() && dimension.domain.is_none() {
        return Err(Error::invalid(format!("dimension '{name}' has a tile extent, but no domain"))
            .suggest("add {}", [Action::setting(format!("domain.{name}"), "low:high")]));
    }
    Ok(DimensionPlan { dimension, index, cast })
}

fn column(index: usize, field: &Field, settings: &SinkSettings) -> Result<ColumnPlan> {
    let name = field.name();
    if let DataType::Dictionary(key, value) = field.data_type() {
        let codes = element(key, None).ok_or_else(|| misfit(field))?.0;
        let of_value = Field::new(name, value.as_ref().clone(), false);
        let (datatype, cell_val_num, cast) = stored(&of_value).ok_or_else(|| misfit(field))?;
        if cast.is_some() {
            return Err(misfit(field));
        }
        let attribute =
            Attribute::new(name, codes).with_enumeration(name).with_filters(settings.filters(name, codes)?);
        let attribute = if field.is_nullable() { attribute.nullable() } else { attribute };
        let kind = CellType { datatype, cell_val_num, nullable: false };
        let growing = Growing { kind, positions: HashMap::new(), values: Vec::new() };
        return Ok(ColumnPlan { attribute, index, cast: None, dictionary: Some(growing) });
    }
    let (datatype, cell_val_num, cast) = stored(field).ok_or_else(|| misfit(field))?;
    let attribute = Attribute::new(name, datatype)
        .with_values(cell_val_num)
        .with_filters(settings.filters(name, datatype)?);
    let mut attribute = if field.is_nullable() { attribute.nullable() } else { attribute };
    if let Some(fill) = settings.fill(name, datatype)? {
        // One value is repeated for several values per cell.
        let repeat =
            if cell_val_num == VAR || fill.len() > datatype.size() { 1 } else { cell_val_num as usize };
        attribute = attribute.with_fill(fill.repeat(repeat), true);
    }
    Ok(ColumnPlan { attribute, index, cast, dictionary: None })
}

fn stored(field: &Field) -> Option<Stored> {
    let hint = field.metadata().get(TYPE_KEY).and_then(|name| Datatype::from_name(name));
    let text = |datatype| hint.filter(|hint| hint.is_byte_string()).unwrap_or(datatype);
    let bytes = |datatype| hint.filter(|hint| hint.is_bytes()).unwrap_or(datatype);
    Some(match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => (text(Datatype::StringUtf8), VAR, None),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => (bytes(Datatype::Blob), VAR, None),
        DataType::FixedSizeBinary(n) => {
            let datatype = hint.filter(|hint| hint.size() == 1 && (hint.is_bytes() || hint.is_byte_string()));
            (datatype.unwrap_or(Datatype::Char), u32::try_from(*n).ok().filter(|n| *n > 0)?, None)
        }
        DataType::FixedSizeList(inner, n) => {
            let (datatype, cast) = element(inner.data_type(), hint)?;
            let n = u32::try_from(*n).ok().filter(|n| *n > 0)?;
            let cast = cast.map(|to| DataType::FixedSizeList(renamed(inner, to), n as i32));
            (datatype, n, cast)
        }
        DataType::List(inner) => {
            let (datatype, cast) = element(inner.data_type(), hint)?;
            (datatype, VAR, cast.map(|to| DataType::List(renamed(inner, to))))
        }
        DataType::LargeList(inner) => {
            let (datatype, cast) = element(inner.data_type(), hint)?;
            (datatype, VAR, cast.map(|to| DataType::LargeList(renamed(inner, to))))
        }
        plain => {
            let (datatype, cast) = element(plain, hint)?;
            (datatype, 1, cast)
        }
    })
}

fn renamed(inner: &Arc<Field>, to: DataType) -> Arc<Field> {
    Arc::new(Field::new(inner.name(), to, inner.is_nullable()))
}

/// The datatype of one value, and what to cast it to first.
fn element(data_type: &DataType, hint: Option<Datatype>) -> Option<(Datatype, Option<DataType>)> {
    let fits = |hint: &Datatype| {
        !hint.is_byte_string() && !hint.is_bytes() && element_type(*hint, false) == *data_type
    };
    if let Some(hint) = hint.filter(fits) {
        return Some((hint, None));
    }
    Some(match data_type {
        DataType::Boolean => (Datatype::Bool, None),
        DataType::Int8 => (Datatype::Int8, None),
        DataType::Int16 => (Datatype::Int16, None),
        DataType::Int32 => (Datatype::Int32, None),
        DataType::Int64 => (Datatype::Int64, None),
        DataType::UInt8 => (Datatype::Uint8, None),
        DataType::UInt16 => (Datatype::Uint16, None),
        DataType::UInt32 => (Datatype::Uint32, None),
        DataType::UInt64 => (Datatype::Uint64, None),
        DataType::Float16 => (Datatype::Float32, Some(DataType::Float32)),
        DataType::Float32 => (Datatype::Float32, None),
        DataType::Float64 => (Datatype::Float64, None),
        DataType::Timestamp(unit, _) => (
            match unit {
                TimeUnit::Second => Datatype::DatetimeSec,
                TimeUnit::Millisecond => Datatype::DatetimeMs,
                TimeUnit::Microsecond => Datatype::DatetimeUs,
                TimeUnit::Nanosecond => Datatype::DatetimeNs,
            },
            None,
        ),
        DataType::Date32 => (Datatype::DatetimeDay, None),
        DataType::Date64 => (Datatype::DatetimeMs, Some(DataType::Timestamp(TimeUnit::Millisecond, None))),
        DataType::Duration(unit) => (time_of(*unit), None),
        _ => return None,
    })
}

fn time_of(unit: TimeUnit) -> Datatype {
    match unit {
        TimeUnit::Second => Datatype::TimeSec,
        TimeUnit::Millisecond => Datatype::TimeMs,
        TimeUnit::Microsecond => Datatype::TimeUs,
        TimeUnit::Nanosecond => Datatype::TimeNs,
    }
}

fn cast_to(array: &ArrayRef, to: Option<&DataType>) -> Result<ArrayRef> {
    let Some(to) = to else { return Ok(Arc::clone(array)) };
    Ok(arrow_cast::cast(array, to)?)
}

fn column_of(batch: &RecordBatch, index: usize) -> Result<&ArrayRef> {
    batch.columns().get(index).ok_or_else(|| Error::invalid("a batch has fewer columns than its schema"))
}

impl DimensionPlan {
    /// The coordinates of a batch.
    pub(super) fn cells(&self, batch: &RecordBatch) -> Result<Cells> {
        let array = cast_to(column_of(batch, self.index)?, self.cast.as_ref())?;
        if array.logical_null_count() > 0 {
            return Err(Error::invalid(format!("dimension '{}' has nulls", self.dimension.name)));
        }
        from_arrow(&self.dimension.name, &array, CellType::of_dimension(&self.dimension))
    }
}

impl ColumnPlan {
    /// The cells of a batch.
    pub(super) fn cells(&mut self, batch: &RecordBatch) -> Result<Cells> {
        let name = &self.attribute.name;
        let array = cast_to(column_of(batch, self.index)?, self.cast.as_ref())?;
        let array = match &mut self.dictionary {
            Some(growing) => growing.codes(name, &array, self.attribute.datatype)?,
            None => array,
        };
        from_arrow(name, &array, CellType::of_attribute(&self.attribute))
    }

    /// The enumeration built from the column's values.
    pub(super) fn enumeration(&self) -> Result<Option<Enumeration>> {
        let Some(growing) = &self.dictionary else { return Ok(None) };
        let (mut data, mut offsets) = (Vec::new(), Vec::new());
        for value in &growing.values {
            offsets.push(data.len() as u64);
            data.extend_from_slice(value);
        }
        if growing.kind.cell_val_num != VAR {
            offsets.clear();
        }
        let CellType { datatype, cell_val_num, .. } = growing.kind;
        Enumeration::of_bytes(&self.attribute.name, datatype, cell_val_num, data, offsets, false).map(Some)
    }
}

impl Growing {
    fn codes(&mut self, name: &str, array: &ArrayRef, codes: Datatype) -> Result<ArrayRef> {
        let DataType::Dictionary(..) = array.data_type() else {
            return Err(Error::invalid(format!(
                "column '{name}' changes from a dictionary to {}",
                array.data_type()
            )));
        };
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let present = from_arrow(name, values, CellType { nullable: true, ..self.kind })?;
        let map: Vec<Option<i64>> = (0..present.count)
            .map(|i| {
                let valid = present.validity.as_ref().is_none_or(|validity| validity.get(i) == Some(&1));
                valid.then(|| self.position(present.cell(i)) as i64)
            })
            .collect();
        let mut space = Vec::new();
        let last = tesselle_core::Scalar::Int(self.values.len().saturating_sub(1) as i128);
        if crate::meta::value::write_scalar(&last, codes, &mut space).is_err() {
            return Err(Error::invalid(format!(
                "column '{name}' has {} distinct values, too many for codes of type {}",
                self.values.len(),
                codes.name()
            )));
        }
        let nulls = array.logical_nulls();
        // Keys of an empty dictionary cannot be normalized; all of them are null.
        let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
        let keys = keys.into_iter().enumerate();
        let out: Int64Array = keys
            .map(|(row, key)| {
                let null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                if null { None } else { map.get(key).copied().flatten() }
            })
            .collect();
        narrow(&out, codes)
    }

    fn position(&mut self, value: &[u8]) -> usize {
        if let Some(position) = self.positions.get(value) {
            return *position;
        }
        let position = self.values.len();
        self.values.push(value.to_vec());
        self.positions.insert(value.to_vec(), position);
        position
    }
}
