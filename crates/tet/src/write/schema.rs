//! Arrow columns as elements of a tensor.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use tesselle_core::fit::fit_cells;
use tesselle_core::{Action, At, DType, Error, Fit, Result, TYPE_KEY};

use super::options::SinkSettings;
use crate::meta::directory::MAX_RANK;
use crate::meta::metadata::parse_element;
use crate::read::schema::{AXIS_TYPE, VALUE};

/// How a column becomes elements.
#[derive(Debug, Clone)]
pub(super) struct ValueColumn {
    pub(super) name: String,
    pub(super) dtype: DType,
    /// The replacement for nulls, little-endian.
    fill: Option<Vec<u8>>,
}

/// The columns that are axes, and those that become datasets.
#[derive(Debug, Clone)]
pub(super) struct Roles {
    pub(super) axes: Vec<String>,
    pub(super) values: Vec<ValueColumn>,
}

/// How a column of values is stored. The format has no signed 8-bit type; 16 bits represent it exactly.
pub(super) fn fit(data_type: &DataType) -> Fit {
    match fit_cells(data_type) {
        Fit::As(DataType::Int8) => Fit::As(DataType::Int16),
        other => other,
    }
}

impl Roles {
    /// How many leading columns are axes.
    pub(super) fn rank(schema: &Schema, settings: &SinkSettings) -> Result<usize> {
        settings.axes.as_ref().map_or_else(|| Ok(own_face(schema)), |text| count_axes(schema, text))
    }

    /// Determines the roles: leading integer columns before a single `value` are axes, or those that `axes` counts or
    /// names; otherwise each column is a dataset of one axis.
    pub(super) fn try_new(schema: &Schema, settings: &SinkSettings) -> Result<Self> {
        let fields = schema.fields();
        let rank = Self::rank(schema, settings)?;
        if rank > MAX_RANK || rank >= fields.len().max(1) {
            return Err(Error::invalid(format!("{rank} of {} columns are axes", fields.len()))
                .hint("there can be 1 to 8 axes, and at least one other column"));
        }
        let (axes, values) = fields.split_at(rank);
        if let Some(field) = axes.iter().find(|field| !field.data_type().is_integer()) {
            return Err(Error::invalid(format!(
                "column '{}' of type {} cannot be an axis",
                field.name(),
                field.data_type()
            ))
            .hint("axes are integers"));
        }
        let values = values.iter().map(|field| ValueColumn::try_new(field, settings.fill.as_deref()));
        Ok(Self {
            axes: axes.iter().map(|field| field.name().clone()).collect(),
            values: values.collect::<Result<_>>()?,
        })
    }
}

/// The number of leading columns that look like axes: integers before a last column `value`.
fn own_face(schema: &Schema) -> usize {
    let fields = schema.fields();
    let marked = |field: &Field| field.metadata().get(TYPE_KEY).is_some_and(|kind| kind == AXIS_TYPE);
    let Some((last, before)) = fields.split_last() else { return 0 };
    // Readers of text formats make every column nullable; a missing coordinate is an error when it occurs.
    let axes = before.iter().all(|field| marked(field) || field.data_type().is_integer());
    let leading = fields.iter().take_while(|field| marked(field)).count();
    if last.name() == VALUE && axes && before.len() <= MAX_RANK { before.len() } else { leading }
}

/// `axes=2`, or `axes=y,x`, the leading columns by name.
fn count_axes(schema: &Schema, text: &str) -> Result<usize> {
    if let Ok(count) = text.parse() {
        return Ok(count);
    }
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let leading =
        schema.fields().iter().zip(&names).take_while(|(field, name)| field.name() == **name).count();
    if leading == names.len() {
        return Ok(leading);
    }
    Err(Error::invalid(format!("axes={text} does not list the first columns in order"))
        .hint("axes is a number of columns or their names"))
}

impl ValueColumn {
    fn try_new(field: &Field, fill: Option<&str>) -> Result<Self> {
        let name = field.name().clone();
        let dtype = element_type(field.data_type()).ok_or_else(|| {
            Error::invalid(format!(
                "column '{name}' of type {} cannot be written as a tensor",
                field.data_type()
            ))
            .suggest("choose numeric columns with {}", [Action::Columns])
        })?;
        let parsed = fill.map(|text| {
            parse_element(dtype, text).ok_or_else(|| {
                Error::invalid(format!("fill={text} is not a number of type {}", dtype.name()))
            })
        });
        // The caller must choose the replacement for nulls, for floats too: NaN is a value.
        let fill = parsed.transpose()?;
        Ok(Self { name, dtype, fill })
    }

    /// The value of a missing cell.
    pub(super) fn fill(&self) -> Option<&[u8]> {
        self.fill.as_deref()
    }

    /// Appends the elements of a column.
    pub(super) fn append(&self, column: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        match column.data_type() {
            DataType::Int8 => {
                let values = column.as_primitive::<Int8Type>().values();
                out.extend(values.iter().flat_map(|value| i16::from(*value).to_le_bytes()));
            }
            DataType::Boolean => out.extend(column.as_boolean().values().iter().map(u8::from)),
            _ => {
                let data = column.to_data();
                let size = self.dtype.size();
                let range = data.offset() * size..(data.offset() + data.len()) * size;
                let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(range));
                out.extend_from_slice(
                    bytes.ok_or_else(|| Error::internal("a column is shorter than its length"))?,
                );
            }
        }
        if column.null_count() == 0 {
            return Ok(());
        }
        let Some(fill) = &self.fill else {
            return Err(Error::invalid(format!(
                "column '{}' has nulls, which a tensor cannot store",
                self.name
            ))
            .suggest(
                "replace them with {} or another value, or exclude such rows with {}",
                [Action::setting("fill", "NaN"), Action::Filter],
            ));
        };
        let cells = out.part_mut(start..)?.chunks_exact_mut(fill.len());
        for (row, cell) in cells.enumerate() {
            if column.is_null(row) {
                cell.copy_from_slice(fill);
            }
        }
        Ok(())
    }
}

/// The element type that represents a column without loss.
fn element_type(data_type: &DataType) -> Option<DType> {
    match data_type {
        DataType::Int8 => Some(DType::I16),
        DataType::Boolean => Some(DType::U8),
        DataType::Timestamp(_, _) | DataType::Duration(_) | DataType::Date64 | DataType::Time64(_) => {
            Some(DType::I64)
        }
        DataType::Date32 | DataType::Time32(_) => Some(DType::I32),
        other => DType::from_arrow(other),
    }
}

/// The coordinates of an axis column.
pub(super) fn coordinates(column: &ArrayRef, name: &str) -> Result<Vec<i64>> {
    if column.null_count() > 0 {
        return Err(Error::invalid(format!("axis column '{name}' has nulls")));
    }
    macro_rules! widened {
        ($type:ty) => {
            Ok(column.as_primitive::<$type>().values().iter().map(|value| i64::from(*value)).collect())
        };
    }
    match column.data_type() {
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::Int64 => Ok(column.as_primitive::<Int64Type>().values().to_vec()),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::UInt32 => widened!(UInt32Type),
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>().values().iter();
            let narrowed = values.map(|value| i64::try_from(*value).ok()).collect::<Option<Vec<i64>>>();
            narrowed.ok_or_else(|| Error::invalid(format!("axis column '{name}' exceeds 63 bits")))
        }
        other => Err(Error::invalid(format!("axis column '{name}' is of type {other}"))),
    }
}
