//! The result of a comparison.

use serde_json::{Map, Value, json};

/// The differences.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// How many tables were compared.
    pub tables: u64,
    /// Differences of the tables and columns, a line each.
    pub schema: Vec<String>,
    /// Rows of either side.
    pub rows: (u64, u64),
    /// How many values differ, in the columns both have.
    pub values: u64,
    /// How many rows only the left side has, and only the right side.
    pub unmatched: (u64, u64),
    /// The first values that differ.
    pub first: Vec<DifferingValue>,
    /// Columns of floats with fewer digits on one side, compared without a tolerance: values that were rounded there differ.
    pub rounded: Vec<String>,
}

impl Difference {
    /// Whether the two are the same.
    pub fn is_equal(&self) -> bool {
        self.schema.is_empty() && self.values == 0 && self.unmatched == (0, 0) && self.rows.0 == self.rows.1
    }

    /// The object of `diff --json`.
    pub fn to_json(&self) -> Value {
        json!({
            "equal": self.is_equal(), "tables": self.tables, "schema": self.schema, "rows": [self.rows.0, self.rows.1],
            "differing_values": self.values, "only_left": self.unmatched.0, "only_right": self.unmatched.1,
            "first": self.first.iter().map(DifferingValue::to_json).collect::<Vec<_>>(),
        })
    }
}

/// A value that differs. Values are strings, as a table shows them; `None` is null.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferingValue {
    /// The table, if whole containers are compared.
    pub table: Option<String>,
    /// Its row.
    pub row: RowPlace,
    /// Its column.
    pub column: String,
    /// The value on the left side.
    pub left: Option<String>,
    /// The value on the right side.
    pub right: Option<String>,
}

/// How a row was matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowPlace {
    /// By its position.
    Number(u64),
    /// By the values of its key columns.
    Key(Vec<(String, Option<String>)>),
}

impl DifferingValue {
    /// An entry of `first` in `diff --json`.
    pub fn to_json(&self) -> Value {
        let mut value = match &self.row {
            RowPlace::Number(row) => json!({ "row": row }),
            RowPlace::Key(key) => {
                let cells = key.iter().map(|(name, value)| (name.clone(), json!(value)));
                json!({ "key": cells.collect::<Map<_, _>>() })
            }
        };
        value["column"] = json!(self.column);
        value["left"] = json!(self.left);
        value["right"] = json!(self.right);
        if let Some(table) = &self.table {
            value["table"] = json!(table);
        }
        value
    }
}
