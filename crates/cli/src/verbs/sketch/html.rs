//! The byte map as one self-contained page.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tesselle::core::{ColumnRole, LayoutMap, Role};
use tesselle::{Dataset, Description, Result};

use crate::format;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The colors, in the order of their numbers on the page.
const ROLES: [Role; 7] =
    [Role::Header, Role::Metadata, Role::Index, Role::Statistics, Role::Data, Role::Padding, Role::Gap];

/// Encodings are shown for up to this many chunks.
const MAX_CHUNKS: usize = 500_000;

/// Bounds of values are drawn for up to this many chunks.
const MAX_BOUNDS: usize = 20_000;

/// The page of a container.
pub(super) fn page(opened: &Dataset, map: &LayoutMap) -> Result<String> {
    let mut names = Names::default();
    let mut by_role = BTreeMap::<usize, u64>::new();
    let files: Vec<Value> = map
        .files
        .iter()
        .map(|file| {
            let pieces = file.extents.iter().map(|extent| {
                let role = ROLES.iter().position(|role| *role == extent.role).unwrap_or(0);
                let size = extent.range.end - extent.range.start;
                if extent.depth == 0 {
                    *by_role.entry(role).or_default() += size;
                }
                let table = names.number(extent.table.as_deref());
                let column = names.number(extent.column.as_deref());
                json!([extent.range.start, size, role, extent.depth, table, column, extent.content])
            });
            let pieces: Vec<Value> = pieces.collect();
            json!({ "name": file.file, "size": file.size, "pieces": pieces })
        })
        .collect();
    let total: u64 = map.files.iter().map(|file| file.size).sum();
    let description = opened.describe()?;
    let shares =
        by_role.iter().map(|(role, size)| format!("{} {}", ROLES[*role].name(), format::bytes(*size)));
    let facts = format!(
        "{} version {}, {} in {} file{}: {}",
        description.format,
        description.version,
        format::bytes(total),
        format::count(map.files.len() as u64),
        if map.files.len() == 1 { "" } else { "s" },
        shares.collect::<Vec<_>>().join(", ")
    );
    let roles: Vec<&str> = ROLES.iter().map(|role| role.name()).collect();
    let chunks = opened.container().chunks(Some(MAX_CHUNKS))?;
    let encodings = encodings(&chunks, &description);
    let bounds = bounds(&chunks, &mut names);
    let data = json!({
        "roles": roles, "names": names.list, "files": files, "encodings": encodings, "bounds": bounds,
    });
    // A script element ends at the first "</", regardless of its type.
    let data = data.to_string().replace('<', "\\u003c");
    Ok(filled(&[
        ("title", &escaped(opened.location().name())),
        ("style", STYLE),
        ("facts", &escaped(&facts)),
        ("data", &data),
        ("script", SCRIPT),
    ]))
}

/// The page with its parts inserted; the content of a part is not interpreted.
fn filled(parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, more) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text));
        rest = more;
    }
    out.push_str(rest);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Names of tables and columns, each stored once; 0 is none.
struct Names {
    list: Vec<String>,
    numbers: std::collections::HashMap<String, usize>,
}

impl Default for Names {
    fn default() -> Self {
        Self { list: vec![String::new()], numbers: std::collections::HashMap::new() }
    }
}

impl Names {
    fn number(&mut self, name: Option<&str>) -> usize {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return 0 };
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.list.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// The bytes of a value, by the name of its type.
fn type_bytes(name: &str) -> Option<u64> {
    let bits = name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
    match name {
        "BOOL" | "CHAR" | "BLOB" | "STRING_ASCII" | "STRING_UTF8" => Some(1),
        _ if name.starts_with("DATETIME_") || name.starts_with("TIME_") => Some(8),
        _ => bits.map(|bits| bits / 8),
    }
}

/// Bounds of numbers, chunk by chunk: `[table, column, min, max, nulls]`.
fn bounds(chunks: &[Value], names: &mut Names) -> Vec<Value> {
    let of = |chunk: &Value, key: &str| {
        let own = chunk["statistics"].get(key).or_else(|| chunk.get(key));
        own.filter(|value| value.is_number()).cloned()
    };
    let bounded = chunks.iter().filter_map(|chunk| {
        let (min, max) = (of(chunk, "min")?, of(chunk, "max")?);
        let table = names.number(chunk["table"].as_str());
        let column = names.number(chunk["column"].as_str());
        Some(json!([table, column, min, max, of(chunk, "nulls")]))
    });
    bounded.take(MAX_BOUNDS).collect()
}

/// Sizes by column and encoding, largest first.
fn encodings(chunks: &[Value], description: &Description) -> Vec<Value> {
    // If all chunks of a column have the same encoding, its description states it once.
    let columns = description.tables.iter().flat_map(|table| &table.columns);
    let of_dimensions = description.extra.get("coords_filters");
    let filters: BTreeMap<&str, &Value> = columns
        .filter_map(|column| {
            let own = column.extra.get("filters")?;
            // A dimension without filters of its own has those of all dimensions.
            let is_open = own.as_array().is_some_and(Vec::is_empty) && column.role == ColumnRole::Dimension;
            Some((column.name.as_str(), if is_open { of_dimensions.unwrap_or(own) } else { own }))
        })
        .collect();
    let columns = description.tables.iter().flat_map(|table| &table.columns);
    let cell_bytes: BTreeMap<&str, u64> = columns
        .filter_map(|column| {
            let values = column.extra.get("cell_val_num").and_then(Value::as_u64)?;
            Some((column.name.as_str(), type_bytes(&column.kind)?.saturating_mul(values)))
        })
        .collect();
    let mut groups = BTreeMap::<(&str, String, &str), (u64, u64, u64)>::new();
    for chunk in chunks {
        let word = |keys: &[&str]| keys.iter().find_map(|key| chunk[*key].as_str());
        let number = |keys: &[&str]| keys.iter().find_map(|key| chunk[*key].as_u64());
        let pages = chunk["pages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_pages = |key: &str| pages.iter().filter_map(|page| page[key].as_u64()).sum::<u64>();
        let name = |keys: &[&str]| word(keys).filter(|name| !name.is_empty());
        let (column, of) = match (name(&["column", "field"]), name(&["dataset"])) {
            (Some(column), _) => (column, "column"),
            (None, Some(table)) => (table, "table"),
            // The chunks of times that series share have no name.
            (None, None) if chunk.get("table").is_some() => ("time", "times"),
            (None, None) => ("", "column"),
        };
        let own = filters.get(column).and_then(|list| list.as_array());
        let filters = own.into_iter().flatten().filter_map(|filter| filter["name"].as_str());
        let mut parts: Vec<&str> =
            [word(&["encoding"]), word(&["compression", "codec"])].into_iter().flatten().collect();
        parts.extend(filters);
        let encoding = if parts.is_empty() { "uncompressed".to_owned() } else { parts.join(", ") };
        let stored = number(&["stored_bytes", "compressed", "stored", "data_size", "bytes", "size"]);
        let stored = stored.unwrap_or_else(|| of_pages("compressed_size"));
        let raw = number(&["raw_bytes", "uncompressed", "raw"]);
        let cells = || Some(chunk["cells"].as_u64()?.saturating_mul(*cell_bytes.get(column)?));
        let raw = raw.or_else(cells).unwrap_or_else(|| of_pages("uncompressed_size"));
        let group = groups.entry((column, encoding, of)).or_default();
        *group = (group.0 + 1, group.1 + stored, group.2 + raw);
    }
    let mut list: Vec<_> = groups.into_iter().collect();
    list.sort_by_key(|(_, (_, stored, _))| std::cmp::Reverse(*stored));
    list.into_iter()
        .map(|((column, encoding, of), (chunks, stored, raw))| {
            json!({ "column": column, "of": of, "encoding": encoding, "chunks": chunks, "stored": stored, "raw": raw })
        })
        .collect()
}
