//! Default settings from the source: dimensions remain dimensions, a time becomes one, tiles keep their extents.

use arrow_schema::Schema;
use tesselle_core::{ColumnRole, GridAxis, GridFacts, GridKind, Scalar, Settings, TableFacts};

/// Fills settings that the caller did not give. Returns the axes whose domain and extent apply to the dimensions of
/// these names; none if the caller chose dimensions or the kind of array.
pub(super) fn fill(
    settings: &mut Settings,
    schema: &Schema,
    facts: &TableFacts,
    whole: bool,
) -> Vec<GridAxis> {
    if settings.get("dims").is_some() || settings.get("kind").is_some() {
        return Vec::new();
    }
    let axes = facts.axes(schema);
    let Some(grid) = facts.grid.as_ref().filter(|_| !axes.is_empty()) else {
        times(settings, schema, facts);
        return Vec::new();
    };
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    settings.fill("dims", names.join(","));
    let dense = whole && facts.is_dense() && grid.shape().is_some();
    settings.fill("kind", if dense { "dense" } else { "sparse" });
    if grid.kind == GridKind::Sparse {
        if let Some(order) = grid.cell_order {
            settings.fill("cell_order", order.name());
        }
        if let Some(capacity) = grid.capacity {
            settings.fill("capacity", capacity.to_string());
        }
        if let Some(dups) = grid.allows_duplicates {
            settings.fill("dups", dups.to_string());
        }
    }
    bounded(grid, dense)
}

/// A table of series becomes a sparse array over its times.
fn times(settings: &mut Settings, schema: &Schema, facts: &TableFacts) {
    if let [time] = facts.present(ColumnRole::Time, schema).as_slice() {
        settings.fill("dims", *time);
        settings.fill("kind", "sparse");
        // The times of one device are distinct; those of several are not.
        let several = !facts.present(ColumnRole::Tag, schema).is_empty();
        settings.fill("dups", several.to_string());
    }
}

/// The axes with a numeric domain; tiles are no larger than that.
fn bounded(grid: &GridFacts, dense: bool) -> Vec<GridAxis> {
    let numbers = |(low, high): &(Scalar, Scalar)| {
        let number = |value: &Scalar| matches!(value, Scalar::Int(_) | Scalar::Float(_));
        number(low) && number(high)
    };
    let axes = grid.axes.iter().filter(|axis| axis.domain.as_ref().is_some_and(numbers));
    let mut axes: Vec<GridAxis> = axes.cloned().collect();
    for axis in &mut axes {
        if !dense {
            axis.rows = None;
        }
        // Chunks may be larger than their tensor; tiles may not.
        if let (Some((Scalar::Int(low), Scalar::Int(high))), Some(Scalar::Int(extent))) =
            (&axis.domain, &mut axis.extent)
        {
            *extent = (*extent).min(high - low + 1);
        }
    }
    axes
}
