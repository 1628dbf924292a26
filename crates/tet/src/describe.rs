//! The output of `info`, from metadata only.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use serde_json::{Map, Value, json};
use tesselle_core::{ColumnDescription, ColumnRole, Description, Error, Result, TableDescription};

use crate::meta::directory::{BLOB_OFFSET, Dataset, MAX_RANK};
use crate::meta::index::DatasetRows;
use crate::meta::superblock::LAYOUT_VERSION;
use crate::meta::zone::scalar;
use crate::open::Opened;
use crate::read::schema;

/// The description of the whole file.
pub(crate) fn describe(opened: &Opened) -> Result<Description> {
    let catalog = &opened.catalog;
    let mut description = Description::new(crate::format::NAME, LAYOUT_VERSION.to_string());
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
    description.extra.insert("chunk_count".into(), catalog.rows.len().into());
    description.extra.insert("footer_version".into(), footer.map(|footer| footer.tail.version).into());
    description.extra.insert("secondary_index".into(), catalog.secondary_range().is_some().into());
    description.extra.insert("superblock".into(), superblock(opened));
    description.extra.insert("directory".into(), directory(opened));
    description.extra.insert("footer".into(), footer_facts(opened));
    let rows = opened.summaries()?;
    let tables = catalog.datasets.iter().zip(&rows).enumerate();
    description.tables = tables.map(|(id, (dataset, rows))| table(opened, id, dataset, rows)).collect();
    Ok(description)
}

fn superblock(opened: &Opened) -> Value {
    let superblock = &opened.catalog.superblock;
    json!({
        "layout_version": LAYOUT_VERSION, "dataset_count": superblock.dataset_count, "flags": superblock.flags,
        "chunk_index_offset": superblock.chunk_index_offset, "chunk_index_length": superblock.chunk_index_length,
    })
}

/// Where the records of the datasets are; null in a file without datasets.
fn directory(opened: &Opened) -> Value {
    let datasets = &opened.catalog.datasets;
    if datasets.is_empty() {
        return Value::Null;
    }
    let length: u64 = datasets.iter().map(|dataset| dataset.record_len() as u64).sum();
    json!({ "offset": BLOB_OFFSET, "length": length, "records": datasets.len() })
}

/// The contents of the footer, and where they are; null in a file without one.
fn footer_facts(opened: &Opened) -> Value {
    let catalog = &opened.catalog;
    let Some(footer) = &catalog.footer else { return Value::Null };
    let json = footer.tail.json_range(catalog.file_len);
    let place = |range: Option<std::ops::Range<u64>>| {
        range.map(|range| json!({ "offset": range.start, "length": range.end - range.start }))
    };
    json!({
        "version": footer.tail.version,
        "payload_end": catalog.payload_end,
        "json": place(Some(json)),
        "zone_maps": place(catalog.zone_range()),
        "secondary_index": place(catalog.secondary_range()),
        "metadata_spill": place(footer.document.metadata_ref.and_then(|spill| spill.range(catalog.file_len))),
        "history_rows": footer.document.history.len(),
    })
}

fn table(opened: &Opened, id: usize, dataset: &Dataset, rows: &DatasetRows) -> TableDescription {
    let grid = opened.catalog.grids.get(id).and_then(|grid| grid.as_ref().ok());
    let mut extra = Map::new();
    extra.insert("dtype".into(), dataset.dtype_name().into());
    extra.insert("shape".into(), dataset.shape.clone().into());
    extra.insert("chunk_shape".into(), dataset.chunk_shape.clone().into());
    extra.insert("chunks".into(), rows.count.into());
    extra.insert("raw_bytes".into(), grid.map(|grid| grid.bytes).into());
    extra.insert("stored_bytes".into(), rows.stored_bytes.into());
    let column = |name: String, kind: String, role| ColumnDescription {
        name,
        kind,
        role,
        nullable: false,
        extra: Map::new(),
    };
    let names = schema::names(dataset, opened.catalog.metadata_of(&dataset.name));
    let mut columns: Vec<ColumnDescription> =
        names.into_iter().map(|name| column(name, "position".into(), ColumnRole::Axis)).collect();
    columns.push(column(schema::VALUE.into(), dataset.dtype_name(), ColumnRole::Value));
    TableDescription { name: dataset.name.clone(), rows: grid.map(|grid| grid.cells), columns, extra }
}

/// The rows of the index as JSON, in file order.
pub(crate) fn chunks(opened: &Opened, limit: Option<usize>) -> Result<Vec<Value>> {
    let datasets = &opened.catalog.datasets;
    let rows = opened.index()?.iter().take(limit.unwrap_or(usize::MAX));
    let zones = opened.zones();
    let shown = rows.map(|row| {
        let id = usize::try_from(row.dataset_id).unwrap_or(usize::MAX);
        let dataset = datasets.get(id);
        let grid = opened.catalog.grids.get(id).and_then(|grid| grid.as_ref().ok());
        let zone =
            zones.zip(grid).and_then(|(zones, grid)| zones.get(id, grid.linear(row.chunk(grid.rank()))?));
        let bounds = zone.zip(grid).and_then(|(zone, grid)| {
            zone.range
                .map(|(min, max)| (scalar(grid.dtype, min).to_json(), scalar(grid.dtype, max).to_json()))
        });
        json!({
            "dataset_id": row.dataset_id,
            "dataset": dataset.map(|dataset| dataset.name.as_str()),
            "chunk_index": row.chunk(dataset.map_or(MAX_RANK, Dataset::rank)),
            "offset": row.payload_offset,
            "raw_bytes": row.raw_len,
            "stored_bytes": row.stored_len,
            "codec": row.codec.name(),
            "zone": zone.zip(grid).map(|(zone, grid)| {
                let entry = zone.entry(grid.dtype, row.dataset_id, &[]);
                json!({ "min": entry.min_le, "max": entry.max_le, "nulls": entry.null_count })
            }),
            "min": bounds.as_ref().map(|(min, _)| min),
            "max": bounds.as_ref().map(|(_, max)| max),
            "nulls": zone.map(|zone| zone.nulls),
        })
    });
    Ok(shown.collect())
}
