//! The column side of a comparison, inside the casts that DataFusion adds.

use arrow_schema::{DataType, Schema};
use datafusion::logical_expr::{Cast, Expr, TryCast};
use tesselle::core::per_second;

/// A column, and the factor between its values and the compared values.
pub(super) struct Operand<'e> {
    pub(super) column: &'e str,
    /// The column's type; for a dictionary the type of its values.
    pub(super) data_type: &'e DataType,
    /// The type in which it is compared.
    pub(super) compared: &'e DataType,
    pub(super) scale: i128,
}

/// The column of an expression that preserves order and distinctness of its values.
pub(super) fn operand<'e>(expr: &'e Expr, schema: &'e Schema) -> Option<Operand<'e>> {
    let plain = |column: &'e str| {
        let field = schema.field_with_name(column).ok()?;
        let data_type = values(field.data_type());
        Some(Operand { column, data_type, compared: data_type, scale: 1 })
    };
    match expr {
        Expr::Column(column) => plain(&column.name),
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
            let Expr::Column(column) = &**expr else { return None };
            let inner = plain(&column.name)?;
            let scale = widening(inner.data_type, values(field.data_type()))?;
            Some(Operand { scale, compared: values(field.data_type()), ..inner })
        }
        _ => None,
    }
}

fn values(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The factor of a lossless cast.
fn widening(from: &DataType, to: &DataType) -> Option<i128> {
    use DataType as T;
    let text = |t: &T| matches!(t, T::Utf8 | T::LargeUtf8 | T::Utf8View);
    let bytes = |t: &T| matches!(t, T::Binary | T::LargeBinary | T::BinaryView);
    if from == to || (text(from) && text(to)) || (bytes(from) && bytes(to)) {
        return Some(1);
    }
    match (from, to) {
        (T::Float16, T::Float32 | T::Float64) | (T::Float32, T::Float64) => Some(1),
        // Literals above the exact integer range of a double are rejected when they are converted.
        (from, T::Float64) if from.is_integer() => Some(1),
        (T::Int8 | T::UInt8, T::Int16 | T::Int32 | T::Int64) => Some(1),
        (T::Int16 | T::UInt16, T::Int32 | T::Int64) => Some(1),
        (T::Int32 | T::UInt32, T::Int64) => Some(1),
        (T::UInt8, T::UInt16 | T::UInt32 | T::UInt64) => Some(1),
        (T::UInt16, T::UInt32 | T::UInt64) | (T::UInt32, T::UInt64) => Some(1),
        (T::Timestamp(from, None), T::Timestamp(to, None)) => {
            let (from, to) = (per_second(*from), per_second(*to));
            (to >= from).then(|| i128::from(to / from))
        }
        // Literals that are compared with decimals stand for their value.
        (T::Decimal128(_, from), T::Decimal128(_, to)) if to >= from => Some(1),
        // An integer that is compared with a decimal counts in the last digit of the decimal.
        (from, T::Decimal128(_, scale)) if from.is_integer() => {
            10_i128.checked_pow(u32::try_from(*scale).ok()?)
        }
        (T::Date32, T::Timestamp(to, None)) => Some(86_400 * i128::from(per_second(*to))),
        _ => None,
    }
}
