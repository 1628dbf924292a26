//! The table of a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde_json::Value;
use tesselle_core::{
    Attribute, ColumnStats, Known, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts,
    TableStats, json_bytes,
};

use crate::format::NAME;
use crate::meta::schema::{Field, flags};
use crate::meta::types::LogicalType;
use crate::meta::zone::{Zone, to_scalar};
use crate::open::File;
use crate::read::plan::plan;

/// The rows of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileTable {
    file: File,
    rows: u64,
}

impl FileTable {
    /// Loads the live rows, if some are deleted.
    pub(crate) fn try_new(file: File) -> Result<Self> {
        let rows = file.live_rows()?;
        Ok(Self { file, rows })
    }
}

/// Statistics of some rows of a table, given those of all rows.
fn loosened<T>(known: Known<T>, all: bool) -> Known<T> {
    match known {
        Known::Exact(value) if !all => Known::Bound(value),
        known => known,
    }
}

/// Whether rows can be filtered by these columns during the read: blobs and lists are left to the driver, and so are
/// conditions without columns, for which nothing is decoded.
pub(crate) fn is_exact(file: &File, predicate: &Predicate) -> bool {
    let fields = &file.footer().schema.fields;
    let schema = file.schema();
    let columns = predicate.columns();
    if columns.is_empty() && predicate.has_custom() {
        return false;
    }
    columns.into_iter().all(|name| {
        let logical = schema.index_of(name).ok().and_then(|i| fields.get(i)).map(|f| f.logical);
        logical.is_some_and(LogicalType::has_scalars)
    })
}

/// The facts that the footer states about the table: a note of an earlier conversion, keys, bloom filters,
/// key/value pairs.
pub(crate) fn facts(file: &File) -> TableFacts {
    let footer = file.footer();
    let pairs = footer.key_value.iter();
    let mut pairs: Vec<(String, Value)> =
        pairs.map(|(key, value)| (string(key), json_bytes(value))).collect();
    let note = pairs.iter().find(|(key, _)| key == TableFacts::NOTE_KEY).and_then(|(_, note)| note.as_str());
    let mut facts = note.map_or_else(|| own_facts(file), TableFacts::from_note);
    facts.format = NAME;
    // Tesselle's own notes are not user metadata.
    pairs.retain(|(key, _)| !key.starts_with("tesselle:"));
    for (key, value) in pairs {
        if let Some(known) = facts.attributes.iter_mut().find(|known| known.name == key) {
            facts.unkept.push(format!("an earlier value of '{key}'"));
            known.value = value;
        } else {
            facts.attributes.push(Attribute::new(key, value));
        }
    }
    facts
}

fn own_facts(file: &File) -> TableFacts {
    let fields = &file.footer().schema.fields;
    let sort_key = file.footer().schema.sort_key().and_then(|key| fields.get(key)).map(Field::display_name);
    let bloom = fields.iter().filter(|field| field.has(flags::BLOOM)).map(Field::display_name);
    let bloom = bloom.filter(|name| Some(name) != sort_key.as_ref()).collect();
    TableFacts { sort_key, bloom, ..TableFacts::default() }
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Table for FileTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    fn stats(&self) -> TableStats {
        let footer = self.file.footer();
        let mut columns = BTreeMap::new();
        for (index, field) in footer.schema.fields.iter().enumerate() {
            let chunks: Vec<_> = footer.groups.iter().filter_map(|g| g.chunk(index)).collect();
            let whole = chunks.len() == footer.groups.len();
            let nulls = chunks.iter().fold(0u64, |n, c| n.saturating_add(c.nulls));
            let mut stats = ColumnStats::default();
            if whole {
                stats.nulls = Known::Exact(nulls);
            }
            // Every chunk with a value must have bounds, otherwise there are none for the column.
            let bounded = whole && chunks.iter().all(|c| c.zone.is_some() || c.nulls == c.values);
            let zone = Zone::merge_all(field.logical, chunks.iter().map(|c| c.zone.as_ref()));
            if let Some(zone) = zone.filter(|z| bounded && z.is_usable(field.logical)) {
                // Float bounds ignore NaN, which sorts last: only the min is exact.
                let float = matches!(field.logical, LogicalType::Float32 | LogicalType::Float64);
                let known =
                    |bound: &[u8]| to_scalar(field.logical, bound).map_or(Known::Absent, Known::Exact);
                stats.min = if float {
                    to_scalar(field.logical, &zone.min).map_or(Known::Absent, Known::Bound)
                } else {
                    known(&zone.min)
                };
                if !float {
                    stats.max = known(&zone.max);
                }
            }
            // Bounds of chunks include deleted rows.
            let all = self.rows == self.file.rows();
            stats.nulls = loosened(stats.nulls, all || nulls == 0);
            stats.min = loosened(stats.min, all);
            stats.max = loosened(stats.max, all);
            columns.insert(field.display_name(), stats);
        }
        TableStats { rows: Known::Exact(self.rows), bytes: Known::Exact(footer.stats.compressed), columns }
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(facts(&self.file))
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        if is_exact(&self.file, predicate) { Pushdown::Exact } else { Pushdown::Inexact }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        plan(&self.file, scan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.file.location().storage())
    }
}
