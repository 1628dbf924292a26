//! What `info` shows, from metadata alone.

use serde_json::{Map, Value, json};
use tesselle_core::{ColumnDescription, Description, Error, Result, TableDescription};

use super::axes;
use super::opened::Opened;
use crate::meta::directory::{Dataset, MAX_RANK};
use crate::meta::superblock::LAYOUT_VERSION;

/// The description of the whole file.
pub(crate) fn describe(opened: &Opened) -> Result<Description> {
    let catalog = &opened.catalog;
    let mut description = Description::new("tet", LAYOUT_VERSION.to_string());
    let failed = |source| Error::internal("metadata cannot be shown").source(source);
    let footer = catalog.footer.as_ref();
    if let Some(metadata) = footer.and_then(|footer| footer.metadata.as_ref()) {
        description.metadata = serde_json::to_value(metadata).map_err(failed)?;
    }
    let history = footer.map_or(&[][..], |footer| &footer.document.history);
    let budget = catalog.budget;
    description.extra.insert(
        "execution".into(),
        json!({ "memory_budget_percent_bps": budget.percent_bps, "memory_budget_bytes": budget.bytes }),
    );
    description.extra.insert("history".into(), serde_json::to_value(history).map_err(failed)?);
    description.extra.insert("file_bytes".into(), catalog.file_len.into());
    description.extra.insert("chunk_count".into(), catalog.index.len().into());
    description.extra.insert("footer_version".into(), footer.map(|footer| footer.tail.version).into());
    description.extra.insert("secondary_index".into(), catalog.secondary_range().is_some().into());
    let tables = catalog.datasets.iter().enumerate().map(|(id, dataset)| table(opened, id, dataset));
    description.tables = tables.collect();
    Ok(description)
}

fn table(opened: &Opened, id: usize, dataset: &Dataset) -> TableDescription {
    let grid = opened.catalog.grids.get(id).and_then(|grid| grid.as_ref().ok());
    let rows = opened.catalog.index.datasets.get(id);
    let mut extra = Map::new();
    extra.insert("dtype".into(), dataset.dtype_name().into());
    extra.insert("shape".into(), dataset.shape.clone().into());
    extra.insert("chunk_shape".into(), dataset.chunk_shape.clone().into());
    extra.insert("chunks".into(), rows.map_or(0, |rows| rows.count).into());
    extra.insert("raw_bytes".into(), grid.map(|grid| grid.bytes).into());
    extra.insert("stored_bytes".into(), rows.map_or(0, |rows| rows.stored_bytes).into());
    let column = |name: String, kind: String, role| ColumnDescription {
        name,
        kind,
        role,
        nullable: false,
        extra: Map::new(),
    };
    let names = axes::names(dataset, opened.catalog.metadata_of(&dataset.name));
    let mut columns: Vec<ColumnDescription> =
        names.into_iter().map(|name| column(name, "position".into(), "axis")).collect();
    columns.push(column(axes::VALUE.into(), dataset.dtype_name(), "value"));
    TableDescription { name: dataset.name.clone(), rows: grid.map(|grid| grid.cells), columns, extra }
}

/// The rows of the index as JSON, in file order.
pub(crate) fn chunks(opened: &Opened, limit: Option<usize>) -> Vec<Value> {
    let datasets = &opened.catalog.datasets;
    let rows = opened.catalog.index.iter().take(limit.unwrap_or(usize::MAX));
    let zones = opened.zones();
    rows.map(|row| {
        let id = usize::try_from(row.dataset_id).unwrap_or(usize::MAX);
        let dataset = datasets.get(id);
        let grid = opened.catalog.grids.get(id).and_then(|grid| grid.as_ref().ok());
        let zone =
            zones.zip(grid).and_then(|(zones, grid)| zones.get(id, grid.linear(row.tile(grid.rank()))?));
        json!({
            "dataset_id": row.dataset_id,
            "dataset": dataset.map(|dataset| dataset.name.as_str()),
            "chunk_index": row.tile(dataset.map_or(MAX_RANK, Dataset::rank)),
            "offset": row.payload_offset,
            "raw_bytes": row.raw_len,
            "stored_bytes": row.stored_len,
            "codec": row.codec.name(),
            "zone": zone.zip(grid).map(|(zone, grid)| {
                let entry = zone.entry(grid.dtype, row.dataset_id, &[]);
                json!({ "min": entry.min_le, "max": entry.max_le, "nulls": entry.null_count })
            }),
        })
    })
    .collect()
}
