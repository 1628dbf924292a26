//! Settings of a target that follow from the source, where the caller gave none: dimensions stay dimensions, times
//! stay times, tiles keep their extents.

use arrow_schema::Schema;
use tesselle_core::{Settings, WriteOptions};

use crate::layout::{ColumnLayout, Layout, integer};

/// What is written, as far as it matters here.
pub(super) struct Rows<'a> {
    /// The columns.
    pub(super) schema: &'a Schema,
    /// What they are for.
    pub(super) layout: &'a Layout,
    /// The names of columns whose type the caller changed.
    pub(super) cast: &'a [&'a str],
    /// Whether all rows of the source come, in their order.
    pub(super) whole: bool,
    /// How many rows come, where that is known.
    pub(super) count: Option<u64>,
    /// The format they come from, and the table's name there.
    pub(super) from: (&'a str, Option<&'a str>),
}

impl Rows<'_> {
    /// The columns in these roles that come, in the order of the layout.
    fn in_role(&self, roles: &[&str]) -> Vec<&ColumnLayout> {
        let columns = self.layout.columns.iter().filter(|column| roles.contains(&column.role.as_str()));
        columns.filter(|column| self.schema.index_of(&column.name).is_ok()).collect()
    }

    /// The dimensions, where all of them come.
    fn dimensions(&self) -> Vec<&ColumnLayout> {
        let all = self.layout.named(&["dimension", "axis"]).len();
        let here = self.in_role(&["dimension", "axis"]);
        if here.len() == all { here } else { Vec::new() }
    }

    fn is_dense(&self) -> bool {
        self.whole && self.layout.kind.as_deref() == Some("dense")
    }
}

/// Adds what follows from the source to the options of the target.
pub(super) fn fill(target: &str, options: &mut WriteOptions, rows: &Rows<'_>) {
    match target {
        "tiledb" => array(&mut options.settings, rows),
        "tet" | "zarr" => tensor(&mut options.settings, rows),
        "tsfile" => series(options, rows),
        "tatami" => documents(&mut options.settings, rows),
        _ => {}
    }
}

/// Buffers of a writer that are larger than the memory allows get smaller; those that fit keep their default.
pub(super) fn fit_memory(target: &str, settings: &mut Settings, memory: u64) {
    const LEAST: u64 = 1 << 20;
    let mut bound = |name: &str, share: u64, default: u64| {
        if memory / share < default {
            set(settings, name, (memory / share).max(LEAST).to_string());
        }
    };
    match target {
        "tatami" => {
            bound("row_group_bytes", 4, 256 << 20);
            bound("blob_buffer_bytes", 8, 64 << 20);
        }
        "tsfile" => bound("group_bytes", 4, 64 << 20),
        _ => {}
    }
}

fn set(settings: &mut Settings, name: &str, value: impl Into<String>) {
    if settings.get(name).is_none() {
        settings.set(name, value);
    }
}

fn names(columns: &[&ColumnLayout]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(",")
}

fn array(settings: &mut Settings, rows: &Rows<'_>) {
    if settings.get("dims").is_some() || settings.get("kind").is_some() {
        return;
    }
    let dims = rows.dimensions();
    if dims.is_empty() {
        let times = rows.in_role(&["time"]);
        if let [time] = times.as_slice() {
            set(settings, "dims", time.name.clone());
            set(settings, "kind", "sparse");
            // The times of one device are distinct; those of several are not.
            let several = rows.from.1 == Some("*") || !rows.in_role(&["tag"]).is_empty();
            set(settings, "dups", several.to_string());
        }
        return;
    }
    set(settings, "dims", names(&dims));
    let dense = rows.is_dense() && dims.iter().all(|dim| dim.cells().is_some());
    set(settings, "kind", if dense { "dense" } else { "sparse" });
    let common = settings.get("extent").is_some();
    for dim in dims.iter().filter(|dim| !rows.cast.contains(&dim.name.as_str())) {
        let Some((low, high)) = &dim.domain else { continue };
        if low.is_string() || high.is_string() {
            continue;
        }
        set(settings, &format!("domain.{}", dim.name), format!("{low}:{high}"));
        if let Some((low, high)) = dim.rows.as_ref().filter(|_| dense) {
            set(settings, &format!("box.{}", dim.name), format!("{low}:{high}"));
        }
        if let Some(extent) = dim.extent.as_ref().filter(|_| !common) {
            // Chunks may be larger than their tensor; tiles may not.
            let extent = match (integer(extent), integer(high).zip(integer(low))) {
                (Some(extent), Some((high, low))) => extent.min(high - low + 1).to_string(),
                _ => extent.to_string(),
            };
            set(settings, &format!("extent.{}", dim.name), extent);
        }
    }
    if !dense {
        for (name, value) in &rows.layout.array {
            set(settings, name, value.clone());
        }
    }
}

fn tensor(settings: &mut Settings, rows: &Rows<'_>) {
    let dims = rows.dimensions();
    let leading = dims
        .iter()
        .zip(rows.schema.fields())
        .all(|(dim, field)| dim.name == *field.name() && field.data_type().is_integer());
    if dims.is_empty() || !leading || dims.len() > 8 || settings.get("axes").is_some() {
        // Each column is a vector; where its length is known, it can be written as it comes.
        let axes = settings.get("axes").is_some() || rows.schema.fields().iter().any(|f| f.name() == "value");
        if let Some(count) = rows.count.filter(|count| rows.whole && !axes && *count > 0) {
            set(settings, "shape", count.to_string());
        }
        return;
    }
    set(settings, "axes", dims.len().to_string());
    if !rows.is_dense() {
        set(settings, "order", "any");
        return;
    }
    let cells: Option<Vec<String>> = dims.iter().map(|dim| dim.cells().map(|n| n.to_string())).collect();
    if let Some(cells) = cells {
        set(settings, "shape", cells.join(","));
    }
    let tiles: Option<Vec<String>> = dims
        .iter()
        .map(|dim| {
            let tile = dim.extent.as_ref().and_then(integer)?;
            let tile = u64::try_from(tile).ok()?.min(dim.cells()?).max(1);
            Some(tile.to_string())
        })
        .collect();
    if let Some(tiles) = tiles {
        set(settings, "chunk", tiles.join(","));
    }
}

fn series(options: &mut WriteOptions, rows: &Rows<'_>) {
    let settings = &mut options.settings;
    let tags = rows.in_role(&["tag"]);
    let named = rows.from.1.filter(|name| *name != "*").map(str::to_owned);
    let times = rows.in_role(&["time"]);
    let can_align = settings.get("version").is_none_or(|version| matches!(version, "3" | "4"));
    let was_series = rows.from.0 == "tsfile" || !times.is_empty();
    if let [time] = times.as_slice() {
        set(settings, "time", time.name.clone());
    }
    if !tags.is_empty() && settings.get("version").is_none_or(|version| version == "4") {
        set(settings, "tags", names(&tags));
        set(settings, "model", "table");
    } else if can_align && (rows.layout.aligned || !was_series) {
        // Rows share their times; and a row of nulls alone is one only where it has a time of its own.
        set(settings, "aligned", "true");
    }
    if rows.from.0 == "tsfile" && options.table.is_none() && options.settings.get("device").is_none() {
        options.table = named;
    }
}

fn documents(settings: &mut Settings, rows: &Rows<'_>) {
    if let [key] = rows.in_role(&["sort_key"]).as_slice() {
        set(settings, "sort_key", key.name.clone());
    }
    let bloom = rows.in_role(&["bloom"]);
    if !bloom.is_empty() {
        set(settings, "bloom", names(&bloom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_follow_a_small_memory_and_what_the_caller_said() {
        let mut settings = Settings::default();
        fit_memory("tatami", &mut settings, 64 << 20);
        assert_eq!(settings.get("row_group_bytes"), Some("16777216"));
        let mut large = Settings::default();
        fit_memory("tatami", &mut large, 8 << 30);
        assert_eq!(large, Settings::default());
        let mut own = Settings::from_pairs(&["group_bytes=5"]).unwrap();
        fit_memory("tsfile", &mut own, 1 << 20);
        assert_eq!(own.get("group_bytes"), Some("5"));
    }
}
