//! Dimension labels (spec §7): arrays inside an array that map positions of a dimension to label values.

use arrow_array::{ArrayRef, RecordBatch};
use tesselle_core::Location;

use super::array::{ArrayWriter, Written};
use super::cells::Cells;
use super::dense::CellOrder;
use super::schema_builder::{NewSchema, SchemaBuilder};
use crate::filter::Key;
use crate::group::leads_down;
use crate::meta::attribute::{Attribute, DataOrder};
use crate::meta::datatype::Datatype;
use crate::meta::dimension::{Dimension, VAR};
use crate::meta::label::DimensionLabel;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::value::{Bounds, parse_scalar};
use crate::{Error, Result};

/// The attribute of a label's array.
const ATTRIBUTE: &str = "label";
/// Its dimension.
const DIMENSION: &str = "index";

impl SchemaBuilder {
    /// Adds a label to a previously added dimension: ordered values of `datatype`, one per position. String labels are
    /// of variable length. Dense arrays only.
    pub fn label(
        mut self,
        dimension: &str,
        name: impl Into<String>,
        datatype: Datatype,
        order: DataOrder,
    ) -> Result<Self> {
        add(
            &mut self.schema,
            &NewLabel { name: name.into(), dimension: dimension.to_owned(), datatype, order },
        )?;
        Ok(self)
    }
}

/// A label to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewLabel {
    pub(super) name: String,
    pub(super) dimension: String,
    pub(super) datatype: Datatype,
    pub(super) order: DataOrder,
}

impl NewLabel {
    /// Parses `name:dimension:TYPE`, optionally with `:decreasing`, several separated by commas.
    pub(super) fn parse_list(text: &str) -> Result<Vec<Self>> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Self::parse).collect()
    }

    fn parse(item: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!("'{item}' is not a label"))
                .hint("use NAME:DIMENSION:TYPE, and :decreasing where values fall, e.g. lat:y:FLOAT64")
        };
        let parts: Vec<&str> = item.split(':').map(str::trim).collect();
        let (name, dimension, datatype, order) = match parts.as_slice() {
            [name, dimension, datatype] | [name, dimension, datatype, "increasing"] => {
                (name, dimension, datatype, DataOrder::Increasing)
            }
            [name, dimension, datatype, "decreasing"] => (name, dimension, datatype, DataOrder::Decreasing),
            _ => return Err(wrong()),
        };
        let datatype = Datatype::from_name(datatype)
            .ok_or_else(|| Error::invalid(format!("'{datatype}' is not a TileDB datatype")))?;
        Ok(Self { name: (*name).to_owned(), dimension: (*dimension).to_owned(), datatype, order })
    }
}

/// Adds a label to a schema that has its dimension.
pub(super) fn add(schema: &mut ArraySchema, label: &NewLabel) -> Result<()> {
    let Some((position, _)) = schema.dimension(&label.dimension) else {
        let known = schema.dimensions.iter().map(|dim| dim.name.as_str());
        return Err(Error::unknown_name("dimension", &label.dimension, known));
    };
    let uri = format!("__labels/l{}", schema.labels.len());
    schema.labels.push(DimensionLabel {
        dimension: u32::try_from(position).unwrap_or(u32::MAX),
        name: label.name.clone(),
        relative: true,
        uri,
        attribute: ATTRIBUTE.to_owned(),
        order: label.order,
        datatype: label.datatype,
        cell_val_num: if label.datatype == Datatype::StringAscii { VAR } else { 1 },
        external: false,
    });
    Ok(())
}

/// Checks labels against the rules of the engine: ordered values, on dense arrays.
pub(super) fn check(schema: &ArraySchema) -> Result<()> {
    for label in schema.labels.iter().filter(|label| !label.external) {
        if schema.kind == ArrayKind::Sparse {
            return Err(Error::invalid("only dense arrays have dimension labels"));
        }
        if label.order == DataOrder::Unordered {
            return Err(Error::invalid(format!("label '{}' must be increasing or decreasing", label.name)));
        }
        let text = label.datatype == Datatype::StringAscii;
        let number = label.datatype.is_integer() || label.datatype.is_float() || label.datatype.is_time();
        if !(text || number) {
            return Err(Error::invalid(format!(
                "label '{}' is {}; labels are numbers, times or STRING_ASCII",
                label.name,
                label.datatype.name()
            )));
        }
    }
    Ok(())
}

/// The schema of a label's array.
fn schema_of(schema: &ArraySchema, label: &DimensionLabel) -> Result<NewSchema> {
    let dimension = schema.dimensions.get(label.dimension as usize);
    let dimension = dimension.ok_or_else(|| Error::internal("a label has no dimension"))?;
    let axis = Dimension { name: DIMENSION.to_owned(), ..dimension.clone() };
    let attribute = Attribute::new(ATTRIBUTE, label.datatype).with_values(label.cell_val_num);
    SchemaBuilder::dense().dimension(axis).attribute(attribute.with_order(label.order)).build()
}

/// Creates the arrays of the labels inside an array.
pub(super) fn create(
    location: &Location,
    schema: &ArraySchema,
    key: Option<&Key>,
    timestamp: Option<u64>,
) -> Result<()> {
    for label in schema.labels.iter().filter(|label| label.relative && !label.external) {
        ArrayWriter::create(&location.join(&label.uri), &schema_of(schema, label)?, key.cloned(), timestamp)?;
    }
    Ok(())
}

impl ArrayWriter {
    /// The array of a label, for writing.
    pub fn label(&self, name: &str) -> Result<Self> {
        let known = || self.schema.labels.iter().map(|label| label.name.as_str());
        let found = self.schema.labels.iter().find(|label| label.name == name);
        let label = found.ok_or_else(|| Error::unknown_name("label", name, known()))?;
        if !label.relative || !leads_down(&label.uri) {
            return Err(Error::unsupported(format!("the array of label '{name}' is outside this array")));
        }
        Self::open(&self.location.join(&label.uri), self.key.clone())
    }

    /// Writes the values of a label for the positions `range`; they must be in the label's order.
    pub fn write_label(
        &self,
        name: &str,
        range: &Bounds,
        values: &ArrayRef,
        timestamp: Option<u64>,
    ) -> Result<Written> {
        let array = self.label(name)?;
        let batch = RecordBatch::try_from_iter([(ATTRIBUTE, ArrayRef::clone(values))])?;
        array.write_dense(std::slice::from_ref(range), &batch, CellOrder::RowMajor, timestamp)
    }
}

/// Fails on cells that are not in the order declared by their attribute.
pub(super) fn check_order(attribute: &Attribute, cells: &Cells) -> Result<()> {
    let wrong = match attribute.order {
        DataOrder::Unordered => return Ok(()),
        DataOrder::Increasing => std::cmp::Ordering::Greater,
        DataOrder::Decreasing => std::cmp::Ordering::Less,
    };
    for row in 1..cells.count {
        let (a, b) = (cells.cell(row - 1), cells.cell(row));
        let order = if attribute.is_var() {
            a.cmp(b)
        } else {
            let value = |bytes: &[u8]| parse_scalar(attribute.datatype, bytes);
            // Incomparable values are out of order.
            value(a)?.compare(&value(b)?).unwrap_or(wrong)
        };
        if order == wrong {
            return Err(Error::invalid(format!(
                "row {row} of '{}' breaks the order of its attribute",
                attribute.name
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_given_as_a_list() {
        let labels = NewLabel::parse_list("lat:y:FLOAT64, name:x:STRING_ASCII:decreasing").unwrap();
        assert_eq!(labels[0].datatype, Datatype::Float64);
        assert_eq!((labels[1].dimension.as_str(), labels[1].order), ("x", DataOrder::Decreasing));
        for wrong in ["lat", "lat:y", "lat:y:FLOAT", "lat:y:FLOAT64:random"] {
            assert!(NewLabel::parse_list(wrong).is_err(), "{wrong}");
        }
    }
}
