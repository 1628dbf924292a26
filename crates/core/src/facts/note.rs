//! Facts as a string that other formats carry in their metadata.

use serde_json::{Map, Value, json};

use super::{ColumnRole, GridAxis, GridFacts, GridKind, GridOrder, TableFacts};
use crate::scalar::Scalar;

const SORT_KEY: &str = "sort_key";
const BLOOM: &str = "bloom";

impl TableFacts {
    /// The note about these facts; `None` if there is nothing to note.
    pub fn to_note(&self) -> Option<String> {
        let mut columns: Vec<Value> = Vec::new();
        for (name, role) in &self.roles {
            match role {
                role if role.is_coordinate() => columns.push(self.axis_note(name, *role)),
                ColumnRole::Time | ColumnRole::Tag => {
                    columns.push(json!({ "name": name, "role": role.name() }));
                }
                _ => {}
            }
        }
        columns.extend(self.sort_key.iter().map(|name| json!({ "name": name, "role": SORT_KEY })));
        columns.extend(self.bloom.iter().map(|name| json!({ "name": name, "role": BLOOM })));
        if columns.is_empty() {
            return None;
        }
        let mut array = Map::new();
        if let Some(grid) = self.grid.as_ref().filter(|grid| grid.kind == GridKind::Sparse) {
            let text = |value: &dyn ToString| Value::from(value.to_string());
            array.extend(grid.cell_order.map(|order| ("cell_order".to_owned(), order.name().into())));
            array.extend(grid.capacity.map(|n| ("capacity".to_owned(), text(&n))));
            array.extend(grid.allows_duplicates.map(|dups| ("dups".to_owned(), text(&dups))));
        }
        let kind = self.grid.as_ref().map(|grid| match grid.kind {
            GridKind::Dense => "dense",
            GridKind::Sparse => "sparse",
        });
        let note = json!({ "kind": kind, "array": array, "aligned": self.aligned, "columns": columns });
        Some(note.to_string())
    }

    fn axis_note(&self, name: &str, role: ColumnRole) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), name.into());
        object.insert("role".into(), role.name().into());
        let axis = self.grid.iter().flat_map(|grid| &grid.axes).find(|axis| axis.name == name);
        let ranges = axis.map(|axis| [("domain", &axis.domain), ("rows", &axis.rows)]);
        for (key, range) in ranges.into_iter().flatten() {
            let pair = range.as_ref().map(|(low, high)| json!([low.to_json(), high.to_json()]));
            object.extend(pair.map(|pair| (key.to_owned(), pair)));
        }
        if self.grid.as_ref().is_some_and(|grid| grid.is_empty) {
            object.insert("empty".into(), true.into());
        }
        if let Some(extent) = axis.and_then(|axis| axis.extent.as_ref()) {
            object.insert("extent".into(), extent.to_json());
        }
        Value::Object(object)
    }

    /// Parses a note. Unknown entries are skipped, because facts only serve as defaults.
    pub fn from_note(text: &str) -> Self {
        let Ok(note) = serde_json::from_str::<Value>(text) else { return Self::default() };
        let mut facts = Self { aligned: note["aligned"].as_bool().unwrap_or(false), ..Self::default() };
        let (mut axes, mut is_empty) = (Vec::new(), false);
        for column in note["columns"].as_array().into_iter().flatten() {
            let (Some(name), Some(role)) = (column["name"].as_str(), column["role"].as_str()) else {
                continue;
            };
            match (role, ColumnRole::from_name(role)) {
                (SORT_KEY, _) => facts.sort_key = Some(name.to_owned()),
                (BLOOM, _) => facts.bloom.push(name.to_owned()),
                (_, Some(role)) => {
                    if role.is_coordinate() {
                        axes.push(axis(name, column));
                        is_empty |= column["empty"] == true;
                    }
                    facts.roles.push((name.to_owned(), role));
                }
                _ => {}
            }
        }
        let array = &note["array"];
        facts.grid = kind(&note["kind"]).map(|kind| GridFacts {
            kind,
            axes,
            is_empty,
            cell_order: array["cell_order"].as_str().and_then(GridOrder::from_name),
            tile_order: None,
            capacity: array["capacity"].as_str().and_then(|n| n.parse().ok()),
            allows_duplicates: array["dups"].as_str().and_then(|dups| dups.parse().ok()),
        });
        facts
    }
}

fn kind(value: &Value) -> Option<GridKind> {
    match value.as_str() {
        Some("dense") => Some(GridKind::Dense),
        Some("sparse") => Some(GridKind::Sparse),
        _ => None,
    }
}

fn axis(name: &str, column: &Value) -> GridAxis {
    GridAxis {
        name: name.to_owned(),
        domain: range(&column["domain"]),
        rows: range(&column["rows"]),
        extent: scalar(&column["extent"]),
    }
}

fn range(value: &Value) -> Option<(Scalar, Scalar)> {
    match value.as_array().map(Vec::as_slice) {
        Some([low, high]) => scalar(low).zip(scalar(high)),
        _ => None,
    }
}

fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Number(n) => n
            .as_i64()
            .map(i128::from)
            .or_else(|| n.as_u64().map(i128::from))
            .map(Scalar::Int)
            .or_else(|| n.as_f64().map(Scalar::Float)),
        Value::String(text) => Some(Scalar::String(text.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_their_note() {
        let axis = GridAxis {
            name: "x".into(),
            domain: Some((Scalar::Int(-3), Scalar::Int(9))),
            rows: Some((Scalar::Int(0), Scalar::Int(5))),
            extent: Some(Scalar::Int(4)),
        };
        let facts = TableFacts {
            roles: vec![("x".into(), ColumnRole::Dimension), ("t".into(), ColumnRole::Time)],
            grid: Some(GridFacts {
                kind: GridKind::Sparse,
                cell_order: Some(GridOrder::Hilbert),
                capacity: Some(7),
                allows_duplicates: Some(true),
                ..GridFacts::dense(vec![axis])
            }),
            aligned: true,
            sort_key: Some("k".into()),
            bloom: vec!["b".into()],
            ..TableFacts::default()
        };
        let back = TableFacts::from_note(&facts.to_note().unwrap());
        assert_eq!((&back.roles, &back.grid, back.aligned), (&facts.roles, &facts.grid, true));
        assert_eq!((&back.sort_key, &back.bloom), (&facts.sort_key, &facts.bloom));
        assert_eq!(back.grid.unwrap().shape(), Some(vec![6]));
        for nothing in ["no json", "[1]"] {
            assert_eq!(TableFacts::from_note(nothing).to_note(), None);
        }
    }
}
