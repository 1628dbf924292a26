//! The schema of `info --schema`: the part of a description that a new array can be created from.

use serde_json::{Map, Value};
use tesselle::{Error, Result};

/// What `tess tiledb create --schema` reads.
const KEYS: [&str; 11] = [
    "kind",
    "allows_dups",
    "tile_order",
    "cell_order",
    "capacity",
    "coords_filters",
    "offsets_filters",
    "validity_filters",
    "enumerations",
    "current_domain",
    "labels",
];

/// The schema in the description of an array.
pub(super) fn of(uri: &str, format: &str, info: &Value) -> Result<Value> {
    let is_array = format == "tiledb" && info["kind"] != "group";
    let columns = info["tables"][0]["columns"].as_array().filter(|_| is_array).ok_or_else(|| {
        Error::invalid(format!("'{uri}' is not a TileDB array"))
            .hint("--json prints what a file of any format states")
    })?;
    let known = KEYS.iter().filter_map(|key| info.get(*key).map(|value| ((*key).to_owned(), value.clone())));
    let mut schema: Map<String, Value> = known.collect();
    schema.insert("columns".to_owned(), Value::Array(columns.clone()));
    Ok(Value::Object(schema))
}
