//! The facts of an array, for readers and for the writers of other formats.

use std::collections::BTreeMap;

use tesselle_core::{
    Attribute as Entry, ColumnRole, GridAxis, GridFacts, GridKind, GridOrder, Scalar, TableFacts,
};

use crate::meta::layout::Layout;
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::{MetadataValue, NAME, Result};

/// The facts of an array.
pub(crate) fn facts(array: &Array) -> Result<TableFacts> {
    let schema = &array.schema;
    let dimensions = schema.dimensions.iter().map(|dim| (dim.name.clone(), ColumnRole::Dimension));
    let attributes =
        schema.attributes.iter().map(|attribute| (attribute.name.clone(), ColumnRole::Attribute));
    let mut unkept = Vec::new();
    if !schema.labels.is_empty() {
        unkept.push(format!("{} dimension labels", schema.labels.len()));
    }
    if array.fragments.len() > 1 {
        unkept.push(format!("the history of {} fragments", array.fragments.len()));
    }
    Ok(TableFacts {
        format: NAME,
        roles: dimensions.chain(attributes).collect(),
        grid: Some(grid(array)?),
        unordered: !array.is_dense(),
        attributes: entries(&array.metadata)?,
        unkept,
        ..TableFacts::default()
    })
}

fn grid(array: &Array) -> Result<GridFacts> {
    let schema = &array.schema;
    let mut rows = None;
    if array.is_dense() {
        let grid = schema.grid()?;
        rows = array.row_box(&grid)?.map(|region| grid.ranges_of(&region));
    }
    let ends = |range: &Bounds| (range.low.clone(), range.high.clone());
    let axes = schema.dimensions.iter().enumerate().map(|(i, dim)| GridAxis {
        name: dim.name.clone(),
        domain: dim.domain.as_ref().map(ends),
        rows: rows.as_ref().and_then(|rows| rows.get(i)).map(ends),
        extent: dim.extent.clone().filter(|extent| *extent != Scalar::Null),
    });
    Ok(GridFacts {
        kind: if array.is_dense() { GridKind::Dense } else { GridKind::Sparse },
        axes: axes.collect(),
        is_empty: array.is_dense() && rows.is_none(),
        cell_order: Some(order(schema.cell_order)),
        tile_order: Some(order(schema.tile_order)),
        capacity: Some(schema.capacity),
        allows_duplicates: Some(schema.allows_dups),
    })
}

fn order(layout: Layout) -> GridOrder {
    match layout {
        Layout::RowMajor => GridOrder::RowMajor,
        Layout::ColMajor => GridOrder::ColMajor,
        Layout::Hilbert => GridOrder::Hilbert,
    }
}

/// Metadata of an array or a group as attributes.
pub(crate) fn entries(metadata: &BTreeMap<Vec<u8>, MetadataValue>) -> Result<Vec<Entry>> {
    let entry = |(key, value): (&Vec<u8>, &MetadataValue)| {
        let exact = Some((value.datatype.name().to_owned(), value.bytes.clone()));
        Ok(Entry { exact, ..Entry::new(String::from_utf8_lossy(key), value.value_json()?) })
    };
    metadata.iter().map(entry).collect()
}
