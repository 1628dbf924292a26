//! Array schemas from the JSON of `info --json`, edited by hand or taken from another array.

use serde_json::Value as Json;
use tesselle_core::{Scalar, unhex};

use super::coordinate::{coordinate, extent};
use super::schema_builder::{NewSchema, SchemaBuilder};
use crate::filter::{Filter, filters_from_str};
use crate::meta::attribute::{Attribute, DataOrder};
use crate::meta::datatype::Datatype;
use crate::meta::dimension::{Dimension, VAR};
use crate::meta::enumeration::Enumeration;
use crate::meta::layout::Layout;
use crate::meta::value::{Bounds, write_scalar};
use crate::{Error, Result};

impl NewSchema {
    /// Parses the object that `info --json` prints for an array. Omitted keys have their defaults.
    pub fn from_json(info: &Json) -> Result<Self> {
        let mut builder = match text(info, "kind")? {
            Some("dense") => SchemaBuilder::dense(),
            Some("sparse") => SchemaBuilder::sparse(),
            other => {
                let other = other.unwrap_or("nothing");
                return Err(Error::invalid(format!("the schema has kind {other}, neither dense nor sparse")));
            }
        };
        if let Some(order) = text(info, "tile_order")? {
            builder = builder.tile_order(layout(order)?);
        }
        if let Some(order) = text(info, "cell_order")? {
            builder = builder.cell_order(layout(order)?);
        }
        if let Some(capacity) = info.get("capacity") {
            let capacity = capacity.as_u64().ok_or_else(|| wrong("capacity", "a number of cells"))?;
            builder = builder.capacity(capacity);
        }
        if let Some(dups) = info.get("allows_dups") {
            builder =
                builder.allows_dups(dups.as_bool().ok_or_else(|| wrong("allows_dups", "true or false"))?);
        }
        if let Some(list) = filters(info, "coords_filters")? {
            builder = builder.coords_filters(list);
        }
        if let Some(list) = filters(info, "offsets_filters")? {
            builder = builder.offsets_filters(list);
        }
        if let Some(list) = filters(info, "validity_filters")? {
            builder = builder.validity_filters(list);
        }
        for (name, list) in info["enumerations"].as_object().into_iter().flatten() {
            builder = builder.enumeration(enumeration(name, list)?);
        }
        let columns = info["tables"][0]["columns"].as_array().or_else(|| info["columns"].as_array());
        let columns = columns.ok_or_else(|| Error::invalid("the schema has no columns"))?;
        let mut dims = Vec::new();
        for column in columns {
            if text(column, "role")? == Some("dimension") {
                let dim = dimension(column)?;
                dims.push((dim.name.clone(), dim.datatype));
                builder = builder.dimension(dim);
            } else {
                builder = builder.attribute(attribute(column)?);
            }
        }
        if let Some(ranges) = info["current_domain"].as_array() {
            let ranges = ranges.iter().zip(&dims).map(|(range, (_, datatype))| bounds(range, *datatype));
            builder = builder.current_domain(ranges.collect::<Result<Vec<_>>>()?);
        }
        for (name, label) in info["labels"].as_object().into_iter().flatten() {
            let position = label["dim"].as_u64().and_then(|position| usize::try_from(position).ok());
            let dimension = position.and_then(|position| dims.get(position));
            let (dimension, _) = dimension.ok_or_else(|| wrong("dim", "the number of a dimension"))?;
            builder = builder.label(dimension, name, datatype(label)?, order(label)?)?;
        }
        builder.build()
    }
}

fn wrong(key: &str, what: &str) -> Error {
    Error::invalid(format!("'{key}' of the schema is not {what}"))
}

fn text<'a>(object: &'a Json, key: &str) -> Result<Option<&'a str>> {
    match object.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| wrong(key, "a string")),
    }
}

fn layout(name: &str) -> Result<Layout> {
    [Layout::RowMajor, Layout::ColMajor, Layout::Hilbert]
        .into_iter()
        .find(|layout| layout.name() == name)
        .ok_or_else(|| {
            Error::invalid(format!(
                "the order '{name}' is not known; known are row-major, col-major and hilbert"
            ))
        })
}

fn datatype(object: &Json) -> Result<Datatype> {
    let name = text(object, "type")?.unwrap_or_default();
    Datatype::from_name(name).ok_or_else(|| Error::invalid(format!("'{name}' is not a TileDB datatype")))
}

fn cell_val_num(object: &Json) -> Result<u32> {
    match object.get("cell_val_num") {
        None => Ok(1),
        Some(Json::String(var)) if var == "var" => Ok(VAR),
        Some(number) => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| wrong("cell_val_num", "a number or \"var\"")),
    }
}

/// Filters as objects with their options, or as a string.
fn filters(object: &Json, key: &str) -> Result<Option<Vec<Filter>>> {
    let Some(list) = object.get(key).filter(|list| !list.is_null()) else { return Ok(None) };
    if let Some(text) = list.as_str() {
        return filters_from_str(text).map(Some);
    }
    let items = list.as_array().ok_or_else(|| wrong(key, "a list of filters"))?;
    items.iter().map(filter).collect::<Result<Vec<_>>>().map(Some)
}

fn filter(item: &Json) -> Result<Filter> {
    let name =
        item.as_str().or_else(|| item["name"].as_str()).ok_or_else(|| wrong("filters", "a list of names"))?;
    if name == "none" {
        return Ok(Filter::None);
    }
    let mut parts = vec![name.to_owned()];
    let keys: &[&str] = match name {
        "float-scale" => &["factor", "offset", "byte_width"],
        "webp" => &["format", "quality"],
        _ => &["level", "reinterpret", "window"],
    };
    for value in keys.iter().filter_map(|key| item.get(key)) {
        match value {
            Json::Null => {}
            Json::String(text) => parts.push(text.clone()),
            other => parts.push(other.to_string()),
        }
    }
    let mut filters = filters_from_str(&parts.join(":"))?;
    filters.pop().ok_or_else(|| Error::internal("a parsed filter list is empty"))
}

/// A number or a string.
fn scalar(value: &Json, datatype: Datatype) -> Result<Scalar> {
    let misfit = || Error::invalid(format!("{value} is not a value of {}", datatype.name()));
    match value {
        Json::Bool(flag) => Ok(Scalar::Bool(*flag)),
        Json::Number(number) if datatype.is_float() => number.as_f64().map(Scalar::Float).ok_or_else(misfit),
        Json::Number(number) => {
            number.as_i64().map(Scalar::from).or_else(|| number.as_u64().map(Scalar::from)).ok_or_else(misfit)
        }
        Json::String(text) if datatype.is_time() => coordinate(text, datatype).ok_or_else(misfit),
        Json::String(text) if datatype.is_float() => text.parse().map(Scalar::Float).map_err(|_| misfit()),
        Json::String(text) => Ok(Scalar::from(text.as_str())),
        Json::Object(_) => value["hex"]
            .as_str()
            .and_then(|digits| unhex(digits.as_bytes()))
            .map(Scalar::Bytes)
            .ok_or_else(misfit),
        _ => Err(misfit()),
    }
}

/// The bytes of one cell.
fn cell(value: &Json, datatype: Datatype) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match value {
        Json::Array(items) => {
            items.iter().try_for_each(|item| write_scalar(&scalar(item, datatype)?, datatype, &mut bytes))?;
        }
        one => write_scalar(&scalar(one, datatype)?, datatype, &mut bytes)?,
    }
    Ok(bytes)
}

fn bounds(range: &Json, datatype: Datatype) -> Result<Bounds> {
    match range.as_array().map(Vec::as_slice) {
        Some([low, high]) => Ok(Bounds { low: scalar(low, datatype)?, high: scalar(high, datatype)? }),
        _ => Err(wrong("domain", "a pair of bounds")),
    }
}

/// The order of values.
fn order(object: &Json) -> Result<DataOrder> {
    match text(object, "order")? {
        None | Some("unordered") => Ok(DataOrder::Unordered),
        Some("increasing") => Ok(DataOrder::Increasing),
        Some("decreasing") => Ok(DataOrder::Decreasing),
        Some(other) => Err(Error::invalid(format!("the order '{other}' is not known"))),
    }
}

fn named(column: &Json) -> Result<&str> {
    text(column, "name")?.ok_or_else(|| Error::invalid("a column of the schema has no name"))
}

fn dimension(column: &Json) -> Result<Dimension> {
    let datatype = datatype(column)?;
    let mut dim = Dimension::string(named(column)?);
    dim.datatype = datatype;
    dim.cell_val_num = cell_val_num(column)?;
    if let Some(domain) = column.get("domain").filter(|domain| !domain.is_null()) {
        dim.domain = Some(bounds(domain, datatype)?);
    }
    if let Some(value) = column.get("extent").filter(|extent| !extent.is_null()) {
        dim.extent = Some(match value.as_str().filter(|_| datatype.is_time()) {
            Some(length) => extent(length, datatype).ok_or_else(|| wrong("extent", "a length of time"))?,
            None => scalar(value, datatype)?,
        });
    }
    Ok(dim.with_filters(filters(column, "filters")?.unwrap_or_default()))
}

fn attribute(column: &Json) -> Result<Attribute> {
    let datatype = datatype(column)?;
    let mut out = Attribute::new(named(column)?, datatype).with_values(cell_val_num(column)?);
    out.nullable = column["nullable"] == true;
    if let Some(fill) = column.get("fill").filter(|fill| !fill.is_null()) {
        out = out.with_fill(cell(fill, datatype)?, true);
    }
    if let Some(name) = text(column, "enumeration")? {
        out = out.with_enumeration(name);
    }
    out.order = order(column)?;
    out = out.with_filters(filters(column, "filters")?.unwrap_or_default());
    if let Some(size) = column.get("max_chunk_size").and_then(Json::as_u64) {
        out.filters.max_chunk =
            u32::try_from(size).map_err(|_| wrong("max_chunk_size", "a number of bytes"))?;
    }
    Ok(out)
}

fn enumeration(name: &str, list: &Json) -> Result<Enumeration> {
    let datatype = datatype(list)?;
    let ordered = list["ordered"] == true;
    let values = list["values"].as_array().ok_or_else(|| wrong("values", "a list"))?;
    let is_var = datatype.size() == 1 && (datatype.is_byte_string() || datatype.is_bytes());
    let (mut data, mut offsets) = (Vec::new(), Vec::new());
    for value in values {
        offsets.push(data.len() as u64);
        data.extend(cell(value, datatype)?);
    }
    let (count, offsets) = if is_var { (VAR, offsets) } else { (1, Vec::new()) };
    Enumeration::of_bytes(name, datatype, count, data, offsets, ordered)
}
