//! Schemas of new arrays: from a file, or from `--dim` and `--attr`.

use std::path::Path;

use arrow_schema::{DataType, TimeUnit};
use clap::Args;
use serde_json::{Map, Value, json};
use tesselle::core::{coordinate, split_ends};
use tesselle::tiledb::Datatype;
use tesselle::{Error, Result, Settings};

/// Times in any unit.
const TIME: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

/// The columns of a new array.
#[derive(Debug, Args)]
pub(super) struct ByHand {
    /// Dimension with its domain, both ends included, tile extent and filters; a dimension of strings has neither; repeatable
    #[arg(long, value_name = "NAME:TYPE[:LOW:HIGH[:EXTENT]][/FILTERS]", allow_hyphen_values = true, requires = "attr", conflicts_with_all = ["like", "schema"])]
    dim: Vec<String>,

    /// Attribute; ? makes it nullable, strings have variable length; repeatable
    #[arg(long, value_name = "NAME:TYPE[?][@ENUMERATION][/FILTERS]", requires = "dim")]
    attr: Vec<String>,

    /// Enumeration of strings; repeatable
    #[arg(long, value_name = "NAME=VALUE,…", requires = "dim")]
    enumeration: Vec<String>,
}

impl ByHand {
    /// The schema in the form that `tess info --schema` prints.
    pub(super) fn schema(&self, settings: &[String]) -> Result<Value> {
        let mut columns = Vec::new();
        for text in &self.dim {
            columns.push(dimension(text)?);
        }
        for text in &self.attr {
            columns.push(attribute(text)?);
        }
        let mut enumerations = Map::new();
        for text in &self.enumeration {
            let (name, values) = text.split_once('=').ok_or_else(|| {
                Error::invalid(format!("'{text}' is not NAME=VALUE,…")).hint("e.g. colors=red,green")
            })?;
            let values: Vec<&str> = values.split(',').collect();
            let list = json!({ "type": "STRING_UTF8", "ordered": false, "values": values });
            enumerations.insert(name.to_owned(), list);
        }
        let mut schema = json!({ "kind": "dense", "columns": columns, "enumerations": enumerations });
        set(&mut schema, &Settings::from_pairs(settings)?)?;
        Ok(schema)
    }
}

/// Reads a schema from a file.
pub(super) fn read(file: &Path) -> Result<Value> {
    let name = file.display();
    let text = std::fs::read(file).map_err(|error| Error::io(format!("cannot read '{name}'"), error))?;
    serde_json::from_slice(&text).map_err(|error| Error::invalid(format!("'{name}' is not JSON: {error}")))
}

/// Settings of the array, and the fill values of its attributes.
fn set(schema: &mut Value, settings: &Settings) -> Result<()> {
    const NAMES: [&str; 6] =
        ["kind", "tile_order", "cell_order", "coords_filters", "offsets_filters", "validity_filters"];
    let attributes = schema["columns"].as_array().into_iter().flatten();
    let attributes = attributes.filter(|column| column["role"] == "attribute");
    let fills: Vec<String> =
        attributes.map(|column| format!("fill.{}", column["name"].as_str().unwrap_or_default())).collect();
    let known = NAMES.into_iter().chain(["capacity", "dups"]).chain(fills.iter().map(String::as_str));
    settings.expect_only(&known.collect::<Vec<_>>())?;
    for name in NAMES {
        if let Some(value) = settings.get(name) {
            schema[name] = value.into();
        }
    }
    if let Some(capacity) = settings.parse::<u64>("capacity", "a number of cells")? {
        schema["capacity"] = capacity.into();
    }
    if let Some(dups) = settings.parse::<bool>("dups", "true or false")? {
        schema["allows_dups"] = dups.into();
    }
    for column in schema["columns"].as_array_mut().into_iter().flatten() {
        let name = format!("fill.{}", column["name"].as_str().unwrap_or_default());
        if let Some(fill) = settings.get(&name).filter(|_| column["role"] == "attribute") {
            column["fill"] = number_or_string(fill);
        }
    }
    Ok(())
}

/// The part before `/` and the filters after it.
fn split_filters(text: &str) -> (&str, Option<&str>) {
    text.split_once('/').map_or((text, None), |(rest, filters)| (rest, Some(filters)))
}

fn dimension(text: &str) -> Result<Value> {
    let wrong = || {
        Error::invalid(format!("'{text}' is not NAME:TYPE[:LOW:HIGH[:EXTENT]]"))
            .hint("e.g. x:INT32:0:99:10, or id:STRING_ASCII")
    };
    let (rest, filters) = split_filters(text);
    let (name, rest) = rest.split_once(':').ok_or_else(wrong)?;
    let (kind, ends) = rest.split_once(':').map_or((rest, None), |(kind, ends)| (kind, Some(ends)));
    let kind = kind.to_ascii_uppercase();
    let (domain, extent) = match ends {
        None => (Value::Null, Value::Null),
        Some(ends) => {
            let is_time = Datatype::from_name(&kind).is_some_and(Datatype::is_time);
            // Only times contain colons.
            let is_end =
                |end: &str| if is_time { coordinate(end, &TIME).is_some() } else { !end.contains(':') };
            let (low, high, extent) = split_ends(ends, is_end).ok_or_else(wrong)?;
            (pair(low, high), extent.map_or(Value::Null, number_or_string))
        }
    };
    let count = if domain.is_null() && kind.starts_with("STRING") { json!("var") } else { json!(1) };
    Ok(json!({
        "name": name, "role": "dimension", "type": kind, "cell_val_num": count, "domain": domain, "extent": extent,
        "filters": filters,
    }))
}

fn attribute(text: &str) -> Result<Value> {
    let (rest, filters) = split_filters(text);
    let (name, rest) = rest.split_once(':').ok_or_else(|| {
        Error::invalid(format!("'{text}' is not NAME:TYPE"))
            .hint("e.g. weight:FLOAT32, or note:STRING_UTF8?/zstd:5")
    })?;
    let (kind, enumeration) = rest.split_once('@').map_or((rest, None), |(kind, name)| (kind, Some(name)));
    let (kind, nullable) = kind.strip_suffix('?').map_or((kind, false), |kind| (kind, true));
    let kind = kind.to_ascii_uppercase();
    let count = if kind.starts_with("STRING") { json!("var") } else { json!(1) };
    Ok(json!({
        "name": name, "role": "attribute", "type": kind, "cell_val_num": count, "nullable": nullable,
        "enumeration": enumeration, "filters": filters,
    }))
}

fn pair(low: &str, high: &str) -> Value {
    json!([number_or_string(low), number_or_string(high)])
}

/// A value as JSON has it: a number where it is one.
fn number_or_string(text: &str) -> Value {
    let number = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_number);
    number.unwrap_or_else(|| text.into())
}
