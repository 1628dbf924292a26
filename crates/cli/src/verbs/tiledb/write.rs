//! `tess tiledb create` and `write`.

use arrow_array::{ArrayRef, RecordBatch};
use serde_json::{Value, json};
use tesselle::core::RowStream;
use tesselle::tiledb::write::{ArrayWriter, NewSchema, SparseOptions, Written};
use tesselle::tiledb::{self, ArrayKind, Bounds};
use tesselle::{
    DatasetTable, Driver, Error, Format, Location, Result, Scalar, Selection, Settings, StoredTypes,
    WriteOptions,
};

use super::TileDb;
use crate::Outcome;

impl TileDb {
    pub(super) fn create_by_schema(&self, array: &str, schema: &Value) -> Result<Outcome> {
        let target = Location::local(array)?;
        target.refuse_existing(false)?;
        ArrayWriter::create(&target, &NewSchema::from_json(schema)?, self.key()?, None)?;
        self.report(&json!({ "array": array }), &format!("{array}: created, empty\n"))
    }

    pub(super) fn create(
        &self,
        array: &str,
        like: &str,
        settings: &[String],
        driver: &Driver,
    ) -> Result<Outcome> {
        let target = Location::local(array)?;
        target.refuse_existing(false)?;
        let mut settings = Settings::from_pairs(settings)?;
        if let Some(secret) = self.read.options()?.key
            && !["key", "key-file", "encryption"].iter().any(|name| settings.get(name).is_some())
        {
            settings.set("key", format!("hex:{}", tesselle::core::hex(secret.expose())));
        }
        if settings.get("dims").is_none_or(|dims| dims.trim().is_empty()) {
            // Numbered rows have a domain only once they are counted.
            return Err(Error::invalid("an empty array needs dimensions").hint(
                "set them with --set dims=x,y; a dense array also needs --set domain.x=low:high for each",
            ));
        }
        let options = WriteOptions::default().with_settings(settings);
        let schema = self.source(like, driver)?.schema();
        tiledb::TileDb.create(&target, schema, &options, driver)?.finish()?;
        self.report(&json!({ "array": array }), &format!("{array}: created, empty\n"))
    }

    pub(super) fn write(
        &self,
        array: &str,
        input: &str,
        target: &ArrayTarget<'_>,
        driver: &Driver,
    ) -> Result<Outcome> {
        self.refuse_times("write")?;
        let mut writer = self.open(array)?;
        if let Some(label) = target.label {
            writer = writer.label(label)?;
        }
        let writer = writer.with_driver(driver);
        let source = self.source(input, driver)?;
        let types = self.stored_types(array)?;
        if writer.schema().kind == ArrayKind::Sparse {
            if target.region.is_some() {
                return Err(Error::invalid(
                    "--region is for dense arrays; sparse rows contain their coordinates",
                ));
            }
            let options = SparseOptions::default().with_timestamp(target.timestamp);
            let rows = types.store(rows_of(&source, driver)?)?;
            return self.report_written(&writer.write_sparse_all(rows.batches, &options)?);
        }
        self.report_written(&write_dense(&writer, &source, &types, target, driver)?)
    }
}

fn rows_of(source: &DatasetTable, driver: &Driver) -> Result<RowStream<'static>> {
    let rows = source.scan().on(driver).rows()?;
    Ok(RowStream { schema: rows.schema(), batches: Box::new(rows.into_batches()) })
}

/// Where rows are written to.
pub(super) struct ArrayTarget<'a> {
    /// The label whose values they are.
    pub(super) label: Option<&'a str>,
    /// The box of a dense array.
    pub(super) region: Option<&'a Selection>,
    /// The time of the write.
    pub(super) timestamp: Option<u64>,
}

/// Fails if the shape of an array differs from the box it is written to.
fn check_shape(region: &[Bounds], shape: &[u64]) -> Result<()> {
    let len = |range: &Bounds| match (&range.low, &range.high) {
        (Scalar::Int(low), Scalar::Int(high)) => u64::try_from(high - low).ok()?.checked_add(1),
        _ => None,
    };
    let wanted: Vec<Option<u64>> = region.iter().map(len).collect();
    if wanted.iter().copied().eq(shape.iter().copied().map(Some)) {
        return Ok(());
    }
    let wanted: Vec<u64> = wanted.into_iter().map(Option::unwrap_or_default).collect();
    Err(Error::invalid(format!("the input has the shape {shape:?}, the box {wanted:?}"))
        .hint("set the box with --region"))
}

/// Writes rows into a dense array as they come, where their order allows; else all of them at once.
fn write_dense(
    writer: &ArrayWriter,
    source: &DatasetTable,
    types: &StoredTypes,
    target: &ArrayTarget<'_>,
    driver: &Driver,
) -> Result<Written> {
    let timestamp = target.timestamp;
    let mut region = target.region.map(|region| writer.dense_box(Some(region))).transpose()?;
    let mut only = None;
    if let (Some(_), [attribute], [_]) =
        (target.label, writer.schema().attributes.as_slice(), source.schema().fields().as_ref())
    {
        // A single column holds the values of the label, regardless of its name.
        only = Some(attribute.name.clone());
    }
    if let (Some(view), [attribute]) = (source.array(), writer.schema().attributes.as_slice()) {
        // The column names of an array file do not matter: its values become those of the only attribute.
        types.refuse([attribute.name.as_str()], "an array")?;
        let place = region.take().map_or_else(|| writer.dense_box(None), Ok)?;
        check_shape(&place, view.shape())?;
        region = Some(place);
        only = Some(attribute.name.clone());
    }
    let rows = || {
        let rows = types.store(rows_of(source, driver)?)?.batches;
        Ok::<_, Error>(rows.map(|batch| match &only {
            Some(name) => values_as(&batch?, name),
            None => batch,
        }))
    };
    let mut streams = writer.streams_dense();
    if only.is_none() && streams && writer.places(&source.schema()) {
        let dimensions = writer.schema().dimensions.iter().map(|dimension| dimension.name.clone());
        let placement =
            writer.placement(source.scan().columns(dimensions).on(driver).rows()?.into_batches())?;
        streams = placement.as_ref().is_some_and(|placement| placement.ordered);
        region = region.or(placement.map(|placement| placement.region));
    }
    if streams {
        let region = region.map_or_else(|| writer.dense_box(None), Ok)?;
        return writer.write_dense_stream(&region, rows()?, timestamp);
    }
    let (mut batches, mut bytes) = (Vec::new(), 0_u64);
    for batch in rows()? {
        let batch = batch?;
        bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
        driver.check_piece(bytes)?;
        batches.push(batch);
    }
    writer.write_dense_rows(region.as_deref(), &batches, timestamp)
}

/// The last column of a batch under another name: the values of an array, whose other columns are its axes.
fn values_as(batch: &RecordBatch, name: &str) -> Result<RecordBatch> {
    let Some(values) = batch.columns().last() else { return Err(Error::invalid("the input has no values")) };
    Ok(RecordBatch::try_from_iter([(name, ArrayRef::clone(values))])?)
}
