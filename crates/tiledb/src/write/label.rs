//! Dimension labels (spec §7): arrays inside an array that map positions of a dimension to label values.

use arrow_array::{ArrayRef, RecordBatch};

use super::array::{ArrayWriter, Written};
use super::cells::Cells;
use super::dense::CellOrder;
use super::schema::{NewSchema, SchemaBuilder};
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
        let schema = &mut self.schema;
        let Some((position, _)) = schema.dimension(dimension) else {
            let known = schema.dimensions.iter().map(|dim| dim.name.as_str());
            return Err(Error::unknown_name("dimension", dimension, known));
        };
        let uri = format!("__labels/l{}", schema.labels.len());
        schema.labels.push(DimensionLabel {
            dimension: u32::try_from(position).unwrap_or(u32::MAX),
            name: name.into(),
            relative: true,
            uri,
            attribute: ATTRIBUTE.to_owned(),
            order,
            datatype,
            cell_val_num: if datatype == Datatype::StringAscii { VAR } else { 1 },
            external: false,
        });
        Ok(self)
    }
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

impl ArrayWriter {
    /// Creates the arrays of the labels inside this one.
    pub(super) fn create_labels(&self, timestamp: Option<u64>) -> Result<()> {
        for label in self.schema.labels.iter().filter(|label| label.relative && !label.external) {
            let new = schema_of(&self.schema, label)?;
            Self::create(&self.location.join(&label.uri), &new, self.key.clone(), timestamp)?;
        }
        Ok(())
    }

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
