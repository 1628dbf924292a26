//! What the columns of a table are for: dimensions, times, tags, axes. A source states it, a target takes it up, and
//! files that can hold a note (Parquet, Arrow, tatami) carry it for the way back.

use serde_json::{Map, Value, json};
use tesselle_core::Description;

/// The metadata key under which a layout travels.
pub(crate) const LAYOUT_KEY: &str = "tesselle:layout";

/// What is known of a table beyond its columns' types.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Layout {
    /// `dense` or `sparse`, where the table is an array.
    pub(crate) kind: Option<String>,
    /// Settings of an array as a whole, by the name they have as settings: dups, capacity, cell_order.
    pub(crate) array: Vec<(String, String)>,
    /// Whether the series of a device share their times.
    pub(crate) aligned: bool,
    /// The columns that have a role.
    pub(crate) columns: Vec<ColumnLayout>,
}

/// One column of a layout.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ColumnLayout {
    pub(crate) name: String,
    /// dimension, axis, time, tag; sort_key and bloom for columns of documents.
    pub(crate) role: String,
    /// First and last coordinate.
    pub(crate) domain: Option<(Value, Value)>,
    /// First and last coordinate of the rows, where they are a part of the domain.
    pub(crate) rows: Option<(Value, Value)>,
    /// Whether there are no rows, whatever the domain.
    pub(crate) is_empty: bool,
    /// The extent of a tile.
    pub(crate) extent: Option<Value>,
}

impl Layout {
    /// What a container says about one of its tables.
    pub(crate) fn of(description: &Description, table: &str) -> Self {
        let Some(about) = description.tables.iter().find(|t| t.name == table) else { return Self::default() };
        let extra = &description.extra;
        let text = |key: &str| extra.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text("kind").filter(|kind| kind != "group");
        // The rows of a dense array are a box of its domain.
        let row_domain = about.extra.get("row_domain");
        let is_empty = row_domain.is_some_and(Value::is_null);
        let (shape, chunk) = (list(about.extra.get("shape")), list(about.extra.get("chunk_shape")));
        let mut columns = Vec::new();
        for column in &about.columns {
            let place = columns.len();
            let mut rows = None;
            let (domain, extent) = match column.role {
                "dimension" => {
                    rows = pair(row_domain.and_then(|ranges| ranges.get(place)));
                    let domain = pair(column.extra.get("domain"));
                    (domain, column.extra.get("extent").filter(|extent| !extent.is_null()).cloned())
                }
                "axis" => {
                    let last = shape.get(place).filter(|n| **n > 0).map(|n| (json!(0), json!(n - 1)));
                    (last, chunk.get(place).map(|n| json!(n)))
                }
                "time" | "tag" => (None, None),
                _ if column.extra.get("sort_key").is_some() => {
                    columns.push(ColumnLayout::new(&column.name, "sort_key"));
                    continue;
                }
                _ if column.extra.get("bloom").is_some() => {
                    columns.push(ColumnLayout::new(&column.name, "bloom"));
                    continue;
                }
                _ => continue,
            };
            columns.push(ColumnLayout {
                domain,
                rows,
                is_empty,
                extent,
                ..ColumnLayout::new(&column.name, column.role)
            });
        }
        let kind = kind.or_else(|| (!shape.is_empty()).then(|| "dense".to_owned()));
        let mut array = Vec::new();
        if kind.as_deref() == Some("sparse") {
            array.extend(text("cell_order").map(|order| ("cell_order".to_owned(), order)));
            array.extend(extra.get("capacity").map(|n| ("capacity".to_owned(), n.to_string())));
            array.extend(extra.get("allows_dups").map(|dups| ("dups".to_owned(), dups.to_string())));
        }
        let aligned = about.extra.get("aligned").and_then(Value::as_bool).unwrap_or(false);
        Self { kind, array, aligned, columns }
    }

    /// A grid with these axes.
    pub(crate) fn of_grid(axes: &[String], shape: &[u64], tile: &[u64]) -> Self {
        let columns = axes.iter().zip(shape).zip(tile).map(|((name, extent), tile)| ColumnLayout {
            domain: extent.checked_sub(1).map(|last| (json!(0), json!(last))),
            extent: Some(json!(tile)),
            ..ColumnLayout::new(name, "axis")
        });
        Self { kind: Some("dense".to_owned()), columns: columns.collect(), ..Self::default() }
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The names of the columns in these roles.
    pub(crate) fn named(&self, roles: &[&str]) -> Vec<&str> {
        let of_role = self.columns.iter().filter(|column| roles.contains(&column.role.as_str()));
        of_role.map(|column| column.name.as_str()).collect()
    }

    /// The text that travels.
    pub(crate) fn to_text(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let mut object = Map::new();
            object.insert("name".into(), json!(column.name));
            object.insert("role".into(), json!(column.role));
            if let Some((low, high)) = &column.domain {
                object.insert("domain".into(), json!([low, high]));
            }
            if let Some((low, high)) = &column.rows {
                object.insert("rows".into(), json!([low, high]));
            }
            if column.is_empty {
                object.insert("empty".into(), json!(true));
            }
            if let Some(extent) = &column.extent {
                object.insert("extent".into(), extent.clone());
            }
            Value::Object(object)
        });
        let array: Map<String, Value> = self.array.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let columns: Vec<Value> = columns.collect();
        json!({ "kind": self.kind, "array": array, "aligned": self.aligned, "columns": columns }).to_string()
    }

    /// Reads that text; what is not understood is left out, for it only ever serves as a default.
    pub(crate) fn from_text(text: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Self::default() };
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let column = |value: &Value| {
            Some(ColumnLayout {
                name: word(&value["name"])?,
                role: word(&value["role"])?,
                domain: pair(value.get("domain")),
                rows: pair(value.get("rows")),
                is_empty: value["empty"].as_bool().unwrap_or(false),
                extent: value.get("extent").cloned(),
            })
        };
        let columns = value["columns"].as_array().into_iter().flatten().filter_map(column).collect();
        let array = value["array"].as_object().into_iter().flatten();
        Self {
            kind: word(&value["kind"]),
            array: array.filter_map(|(key, value)| Some((key.clone(), word(value)?))).collect(),
            aligned: value["aligned"].as_bool().unwrap_or(false),
            columns,
        }
    }
}

impl ColumnLayout {
    fn new(name: &str, role: &str) -> Self {
        Self { name: name.to_owned(), role: role.to_owned(), ..Self::default() }
    }

    /// How many coordinates the rows span, where they count.
    pub(crate) fn cells(&self) -> Option<u64> {
        if self.is_empty {
            return Some(0);
        }
        let (low, high) = self.rows.as_ref().or(self.domain.as_ref())?;
        let (low, high) = (integer(low)?, integer(high)?);
        u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()
    }
}

/// A JSON number as an integer.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

/// Two values in a list.
fn pair(value: Option<&Value>) -> Option<(Value, Value)> {
    match value.and_then(Value::as_array).map(Vec::as_slice) {
        Some([low, high]) => Some((low.clone(), high.clone())),
        _ => None,
    }
}

fn list(value: Option<&Value>) -> Vec<u64> {
    let numbers = value.and_then(Value::as_array).into_iter().flatten();
    numbers.filter_map(Value::as_u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_survives_its_text() {
        let layout = Layout {
            kind: Some("dense".into()),
            array: vec![("dups".into(), "true".into())],
            aligned: true,
            columns: vec![ColumnLayout {
                domain: Some((json!(-3), json!(9))),
                extent: Some(json!(4)),
                ..ColumnLayout::new("x", "dimension")
            }],
        };
        assert_eq!(Layout::from_text(&layout.to_text()), layout);
        assert_eq!(layout.columns[0].cells(), Some(13));
        assert_eq!(Layout::from_text("no json"), Layout::default());
        assert_eq!(Layout::from_text("[1]"), Layout::default());
    }
}
