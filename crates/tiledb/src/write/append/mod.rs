//! Appending rows to an array: a new fragment of a sparse array, a box after the existing rows of a dense one.

mod bands;
mod dense;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{
    Action, AppendRequest, Driver, Error, OpenOptions, Result, RowStream, Summary, Table as _,
};

use self::dense::Dense;
use super::array::ArrayWriter;
use super::sparse::SparseOptions;
use crate::meta::schema::ArrayKind;
use crate::open::{Array, key_of};
use crate::table::ArrayTable;

/// Adds rows to an array.
///
/// Cells of a sparse array become visible together. A dense array grows along an axis: rows with a column for each
/// dimension are written at these coordinates, other rows and arrays after the existing rows. The current domain is
/// expanded.
pub(crate) fn append(mut request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
    request.settings.expect_only(&["timestamp"])?;
    let timestamp = request.settings.parse("timestamp", "milliseconds since the epoch")?;
    if request.open.between.is_some() {
        return Err(Error::invalid("an append does not take a time to read as of")
            .suggest("set the time with {}", [Action::setting("timestamp", "TIME")]));
    }
    if let Some(name) = request.table.as_deref().filter(|name| !name.is_empty()) {
        request.location = crate::group::member_location(&request.location, name, &request.open)?;
    }
    let key = request.open.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
    let writer = ArrayWriter::open(&request.location, key)?.with_driver(driver);
    let written = if writer.schema().kind == ArrayKind::Sparse {
        request.refuse_axis()?;
        let rows = request.rows.conform(&stored_schema(&request.location, &request.open)?)?;
        let options = SparseOptions { timestamp, ..SparseOptions::default() };
        writer.write_sparse_all(rows.batches, &options)?
    } else {
        Dense::try_new(writer, &request.open, driver)?.append(request, timestamp)?
    };
    Ok(Summary { rows: written.cells, bytes: written.bytes, pieces: written.tiles, lost: Vec::new() })
}

/// The columns of an array; enumerated ones take any number of distinct values, which are looked up.
fn stored_schema(location: &tesselle_core::Location, open: &OpenOptions) -> Result<SchemaRef> {
    let open = open.clone().with_raw(false).with_text_as_binary(false);
    let schema = ArrayTable::new(Arc::new(Array::open(location, &open)?)).schema();
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(_, values) => {
            let kind = DataType::Dictionary(Box::new(DataType::Int32), values.clone());
            Arc::new(Field::clone(field).with_data_type(kind))
        }
        _ => Arc::clone(field),
    });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The rows without the columns of these names.
fn without<'a>(rows: RowStream<'a>, names: &[String]) -> RowStream<'a> {
    let fields = rows.schema.fields().iter().enumerate();
    let kept: Vec<usize> =
        fields.filter(|(_, field)| !names.contains(field.name())).map(|(at, _)| at).collect();
    let fields: Vec<_> = kept.iter().map(|at| Arc::clone(&rows.schema.fields()[*at])).collect();
    let batches = rows.batches.map(move |batch| Ok(batch?.project(&kept)?));
    RowStream { schema: Arc::new(Schema::new(fields)), batches: Box::new(batches) }
}

/// The cells of an array, whose other columns are its axes, under the name of the one attribute.
fn values_of<'a>(rows: RowStream<'a>, target: &Schema) -> Result<RowStream<'a>> {
    let [attribute] = target.fields().as_ref() else {
        return Err(Error::invalid(format!(
            "the array has {} attributes, the input one value per cell",
            target.fields().len()
        )));
    };
    let Some(last) = rows.schema.fields().len().checked_sub(1) else {
        return Err(Error::invalid("the input has no values"));
    };
    let field = rows.schema.field(last).clone().with_name(attribute.name());
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let named = Arc::clone(&schema);
    let batches = rows.batches.map(move |batch| {
        let columns = batch?.columns().last().cloned().into_iter().collect();
        Ok(RecordBatch::try_new(Arc::clone(&named), columns)?)
    });
    Ok(RowStream { schema, batches: Box::new(batches) })
}
