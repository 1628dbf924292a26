//! The output of `info` for arrays.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tesselle_core::{ColumnDescription, ColumnRole, Description, TableDescription};

use crate::Result;
use crate::domain::written_box;
use crate::filter::{Filter, Pipeline};
use crate::meta::dimension::VAR;
use crate::meta::enumeration::Enumeration;
use crate::meta::key_value::MetadataValue;
use crate::meta::label::DimensionLabel;
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid};
use crate::read::schema::Source;
use crate::stated::{cell_json, cells};

/// Describes an array.
pub(crate) fn describe(array: &Array) -> Result<Description> {
    let schema = &array.schema;
    let mut out = Description::new(crate::NAME, schema.version.to_string());
    out.metadata = metadata_json(&array.metadata)?;
    let mut extra = storage_facts(array);
    extra.insert("encrypted".into(), array.key.is_some().into());
    let fragments = array.fragments.iter().map(|fragment| fragment_json(fragment));
    extra.insert("fragments".into(), fragments.collect::<Result<Vec<_>>>()?.into());
    extra.insert("enumerations".into(), enumerations_json(array)?);
    extra.insert("current_domain".into(), ranges_json(schema.current_domain.as_deref()));
    extra.insert("non_empty_domain".into(), ranges_json(array.non_empty_domain().as_deref()));
    extra.insert("labels".into(), labels_json(array));
    out.extra = extra;
    let mut extra = Map::new();
    if array.is_dense() {
        let grid = schema.grid()?;
        let rows = array.row_box(&grid)?.map(|region| grid.ranges_of(&region));
        extra.insert("row_domain".into(), ranges_json(rows.as_deref()));
        extra.insert("sizes".into(), sizes_json(array, &grid)?);
    }
    let columns = columns(array)?;
    out.tables = vec![TableDescription { name: String::new(), rows: array.rows(), columns, extra }];
    Ok(out)
}

/// The part of the description from which an empty array can be created: what
/// [`NewSchema::from_json`](crate::write::NewSchema::from_json) reads.
pub(crate) fn schema(array: &Array) -> Result<Json> {
    let mut out = storage_facts(array);
    out.insert("enumerations".into(), enumerations_json(array)?);
    out.insert("current_domain".into(), ranges_json(array.schema.current_domain.as_deref()));
    out.insert("labels".into(), labels_json(array));
    out.insert("columns".into(), columns(array)?.iter().map(ColumnDescription::to_json).collect());
    Ok(Json::Object(out))
}

/// Kind, orders, capacity and the filters that all columns share.
fn storage_facts(array: &Array) -> Map<String, Json> {
    let schema = &array.schema;
    let kind = if array.is_dense() { "dense" } else { "sparse" };
    let mut out = Map::new();
    out.insert("kind".into(), kind.into());
    out.insert("allows_dups".into(), schema.allows_dups.into());
    out.insert("tile_order".into(), schema.tile_order.name().into());
    out.insert("cell_order".into(), schema.cell_order.name().into());
    out.insert("capacity".into(), schema.capacity.into());
    out.insert("coords_filters".into(), filters_json(&schema.coords_filters));
    out.insert("offsets_filters".into(), filters_json(&schema.offsets_filters));
    out.insert("validity_filters".into(), filters_json(&schema.validity_filters));
    out
}

fn enumerations_json(array: &Array) -> Result<Json> {
    let entry = |(name, enumeration): (&String, &Arc<Enumeration>)| {
        let entry = json!({
            "type": enumeration.datatype.name(),
            "ordered": enumeration.ordered,
            "values": enumeration.values_json()?,
        });
        Ok((name.clone(), entry))
    };
    Ok(Json::Object(array.enumerations.iter().map(entry).collect::<Result<_>>()?))
}

fn labels_json(array: &Array) -> Json {
    let labels = array.schema.labels.iter().map(|label| (label.name.clone(), label_json(label)));
    Json::Object(labels.collect())
}

fn columns(array: &Array) -> Result<Vec<ColumnDescription>> {
    array.columns.iter().map(|column| column_description(array, column)).collect()
}

/// Cells and uncompressed bytes of the domain, the current domain and the non-empty domain of a dense array; null if there is
/// no such domain, or if they exceed 64 bits. Of a value of variable length only its offset is counted.
fn sizes_json(array: &Array, grid: &Grid) -> Result<Json> {
    let attributes = array.schema.attributes.iter().map(|attribute| {
        let values = match attribute.cell_val_num {
            VAR => 8,
            count => (attribute.datatype.size() as u64).saturating_mul(count.into()),
        };
        values.saturating_add(attribute.nullable.into())
    });
    let cell: u64 = attributes.fold(0, u64::saturating_add);
    let size = |region: Option<CellBox>| {
        let cells = region.map(|region| region.cells());
        cells.map_or(
            Json::Null,
            |cells| json!({ "cells": cells, "bytes": cells.and_then(|cells| cells.checked_mul(cell)) }),
        )
    };
    let current = array.schema.current_domain.as_ref();
    Ok(json!({
        "domain": size(Some(grid.domain())),
        "current_domain": size(current.map(|ranges| grid.region_of(ranges)).transpose()?),
        "non_empty_domain": size(written_box(array.fragments.iter().map(AsRef::as_ref))),
    }))
}

/// One pair of bounds per dimension, or null.
pub(crate) fn ranges_json(ranges: Option<&[Bounds]>) -> Json {
    ranges.map_or(Json::Null, |ranges| ranges.iter().map(Bounds::to_json).collect())
}

/// Metadata by key; keys that are not UTF-8 are shown lossily.
pub(crate) fn metadata_json<'a>(
    entries: impl IntoIterator<Item = (&'a Vec<u8>, &'a MetadataValue)>,
) -> Result<Json> {
    let entries = entries.into_iter();
    let entries =
        entries.map(|(key, value)| Ok((String::from_utf8_lossy(key).into_owned(), value.to_json()?)));
    Ok(Json::Object(entries.collect::<Result<_>>()?))
}

fn fragment_json(fragment: &crate::fragment::Fragment) -> Result<Json> {
    Ok(json!({
        "name": fragment.name.name,
        "version": fragment.version(),
        "timestamps": [fragment.name.start, fragment.name.end],
        "tiles": fragment.tiles,
        "cells": cells(fragment)?,
        "non_empty_domain": ranges_json(fragment.footer.non_empty_domain.as_deref()),
        "has_timestamps": fragment.footer.has_timestamps,
    }))
}

fn label_json(label: &DimensionLabel) -> Json {
    json!({
        "dim": label.dimension,
        "order": label.order.name(),
        "uri": label.uri,
        "attribute": label.attribute,
        "type": label.datatype.name(),
        "cell_val_num": count_json(label.cell_val_num),
    })
}

fn count_json(cell_val_num: u32) -> Json {
    if cell_val_num == VAR { "var".into() } else { cell_val_num.into() }
}

fn filters_json(pipeline: &Pipeline) -> Json {
    pipeline.filters.iter().map(Filter::to_json).collect()
}

fn column_description(array: &Array, column: &crate::read::schema::Column) -> Result<ColumnDescription> {
    let mut extra = Map::new();
    extra.insert("cell_val_num".into(), count_json(column.cell_val_num));
    let role = match column.source {
        Source::Dimension(index) => {
            let dim = array.schema.dimensions.get(index);
            let domain = dim.and_then(|dim| dim.domain.as_ref()).map_or(Json::Null, Bounds::to_json);
            extra.insert("domain".into(), domain);
            let extent =
                dim.and_then(|dim| dim.extent.as_ref()).map_or(Json::Null, tesselle_core::Scalar::to_json);
            extra.insert("extent".into(), extent);
            extra.insert("filters".into(), dim.map_or(Json::Null, |dim| filters_json(&dim.filters)));
            ColumnRole::Dimension
        }
        Source::Attribute(index) => {
            let attribute = array.schema.attributes.get(index);
            let enumeration = attribute.and_then(|attribute| attribute.enumeration.clone());
            extra.insert("domain".into(), Json::Null);
            extra.insert("enumeration".into(), enumeration.into());
            if let Some(attribute) = attribute {
                extra.insert("filters".into(), filters_json(&attribute.filters));
                extra.insert("max_chunk_size".into(), attribute.filters.max_chunk.into());
                let is_null = attribute.nullable && !attribute.fill_valid;
                let fill = || cell_json(attribute.datatype, attribute.cell_val_num, &attribute.fill);
                extra.insert("fill".into(), if is_null { Json::Null } else { fill()? });
                extra.insert("order".into(), attribute.order.name().into());
            }
            ColumnRole::Attribute
        }
    };
    extra.entry("enumeration").or_insert(Json::Null);
    Ok(ColumnDescription {
        name: column.name.clone(),
        kind: column.datatype.name().to_owned(),
        role,
        nullable: column.nullable,
        extra,
    })
}
