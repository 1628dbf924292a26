//! Columns of decimals. The parsers cut digits that do not fit into the scale, so these columns are parsed as strings.

use std::sync::Arc;

use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use arrow_cast::parse::parse_decimal;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::Decode;

/// Parses records with such columns.
pub(super) struct Decimals {
    /// The columns of the batches.
    schema: SchemaRef,
    inner: Box<dyn Decode>,
}

impl Decimals {
    /// The schema that a parser needs instead; `None` without decimals.
    pub(super) fn parsed(schema: &Schema) -> Option<SchemaRef> {
        let parsed = |field: &Arc<Field>| match field.data_type() {
            decimal if decimal.is_decimal() => {
                Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8))
            }
            _ => Arc::clone(field),
        };
        let has_any = schema.fields().iter().any(|field| field.data_type().is_decimal());
        has_any.then(|| Arc::new(Schema::new(schema.fields().iter().map(parsed).collect::<Vec<_>>())))
    }

    /// `inner` has the columns of [`Decimals::parsed`].
    pub(super) fn new(schema: SchemaRef, inner: Box<dyn Decode>) -> Self {
        Self { schema, inner }
    }
}

impl Decode for Decimals {
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        self.inner.decode(text)
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.inner.flush()? else { return Ok(None) };
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| decimals(field, column)).collect::<Result<_, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some)
    }
}

fn decimals(field: &Field, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match *field.data_type() {
        DataType::Decimal32(precision, scale) => parse::<Decimal32Type>(field, column, precision, scale)?,
        DataType::Decimal64(precision, scale) => parse::<Decimal64Type>(field, column, precision, scale)?,
        DataType::Decimal128(precision, scale) => parse::<Decimal128Type>(field, column, precision, scale)?,
        DataType::Decimal256(precision, scale) => parse::<Decimal256Type>(field, column, precision, scale)?,
        _ => Arc::clone(column),
    })
}

fn parse<T: DecimalType>(
    field: &Field,
    column: &ArrayRef,
    precision: u8,
    scale: i8,
) -> Result<ArrayRef, ArrowError> {
    let strings = column.as_any().downcast_ref::<StringArray>();
    let strings = strings.ok_or_else(|| ArrowError::ParseError("a column is not text".to_owned()))?;
    let of = |text: &str| {
        if is_cut(text, scale) {
            let (name, kind) = (field.name(), format!("decimal({precision},{scale})"));
            return Err(ArrowError::ParseError(format!(
                "'{text}' in column '{name}' has more digits after the point than {kind}"
            )));
        }
        parse_decimal::<T>(text, precision, scale)
    };
    // An empty field is no number.
    let values = strings.iter().map(|text| text.filter(|text| !text.is_empty()).map(of).transpose());
    let values: PrimitiveArray<T> = values.collect::<Result<Vec<_>, _>>()?.into_iter().collect();
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

/// Whether a number has digits that do not fit into a scale. What is not a number is left to the parser.
fn is_cut(text: &str, scale: i8) -> bool {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else { return false };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    // The position of the last digit that is not 0, to the right of the point.
    let last = |digits: &str| digits.bytes().rposition(|digit| digit != b'0');
    let position = match last(part) {
        Some(at) => at as i64 + 1,
        None => match last(whole.trim_start_matches(['-', '+'])) {
            Some(at) => at as i64 + 1 - whole.trim_start_matches(['-', '+']).len() as i64,
            None => return false,
        },
    };
    position.saturating_sub(exponent) > i64::from(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_do_not_fit_are_found() {
        for (text, scale, cut) in [
            ("3.75", 2, false),
            ("3.759", 2, true),
            ("3.7500", 2, false),
            ("-0.001", 2, true),
            ("12", 0, false),
            ("1.0e-1", 2, false),
            ("1e-3", 2, true),
            ("1.25e1", 1, false),
            ("1.25e1", 0, true),
            ("1200", -2, false),
            ("1250", -2, true),
            ("0.000", -2, false),
            ("1e9223372036854775807", 2, false),
            ("word", 2, false),
            ("", 2, false),
        ] {
            assert_eq!(is_cut(text, scale), cut, "{text} with {scale}");
        }
    }
}
