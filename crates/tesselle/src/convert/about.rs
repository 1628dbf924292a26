//! Metadata on its way: what a source says about itself, and what a target can hold of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tesselle_core::{Description, hex};

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// `TYPE:hex`, where the exact bytes are known.
    pub(crate) exact: Option<String>,
}

/// What a source says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct About {
    pub(crate) attributes: Vec<Attribute>,
    /// What no conversion carries, a line each.
    pub(crate) rest: Vec<String>,
    /// Whether the source is encrypted.
    pub(crate) encrypted: bool,
    /// What only another tensor file can hold.
    pub(crate) tensor: Option<TensorNotes>,
}

/// What a tensor file says beyond attributes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TensorNotes {
    /// Attributes, names of axes and labels by dataset.
    pub(crate) datasets: Map<String, Value>,
    /// The rows of its history.
    pub(crate) history: Value,
    /// What is lost elsewhere, a line each.
    pub(crate) lost: Vec<String>,
}

impl About {
    /// What a container says about itself and one of its tables.
    pub(crate) fn of(description: &Description, table: &str) -> Self {
        let mut about = Self::default();
        let metadata = &description.metadata;
        match description.format {
            "tiledb" => {
                for (name, entry) in metadata.as_object().into_iter().flatten() {
                    let (kind, bytes) = (entry["type"].as_str(), entry["hex"].as_str());
                    let exact = kind.zip(bytes).map(|(kind, bytes)| format!("{kind}:{bytes}"));
                    about
                        .attributes
                        .push(Attribute { exact, ..Attribute::new(name, entry["value"].clone()) });
                }
                if description.extra.get("encrypted") == Some(&Value::Bool(true)) {
                    about.encrypted = true;
                }
                about.count(description, "labels", "dimension labels");
                let fragments =
                    description.extra.get("fragments").and_then(Value::as_array).map_or(0, Vec::len);
                if fragments > 1 {
                    about.rest.push(format!("the history of {fragments} fragments"));
                }
            }
            "tet" => about.tensor = Some(about.of_tensor(description, table)),
            _ => about.pairs(metadata),
        }
        about
    }

    /// The attributes of one dataset, or of all of them with the dataset's name before each.
    fn of_tensor(&mut self, description: &Description, table: &str) -> TensorNotes {
        let all = description.metadata.get("datasets").and_then(Value::as_object);
        let meant = |name: &str| table == "*" || name == table;
        let datasets: Map<String, Value> = all
            .into_iter()
            .flatten()
            .filter(|(name, _)| meant(name))
            .map(|(name, own)| (name.clone(), own.clone()))
            .collect();
        let mut lost = Vec::new();
        for (dataset, own) in &datasets {
            for (name, value) in own["attrs"].as_object().into_iter().flatten() {
                let name = if table == "*" { format!("{dataset}.{name}") } else { name.clone() };
                self.attributes.push(Attribute::new(&name, value.clone()));
            }
            if !own["coords"].is_null() {
                lost.push(format!("the labels of the axes of '{dataset}'"));
            }
        }
        let history = description.extra.get("history").cloned().unwrap_or_default();
        let rows = history.as_array().map_or(0, Vec::len);
        if rows > 0 {
            lost.push(format!("{rows} rows of history"));
        }
        TensorNotes { datasets, history, lost }
    }

    /// Key/value pairs, as a list of pairs or an object.
    fn pairs(&mut self, metadata: &Value) {
        for (name, value) in metadata.as_object().into_iter().flatten() {
            self.attributes.push(Attribute::new(name, value.clone()));
        }
        for pair in metadata.as_array().into_iter().flatten() {
            // What Tesselle notes for itself is not the user's.
            let Some(name) = pair[0].as_str().filter(|name| !name.starts_with("tesselle:")) else { continue };
            if let Some(known) = self.attributes.iter_mut().find(|known| known.name == name) {
                self.rest.push(format!("an earlier value of '{name}'"));
                known.value = pair[1].clone();
            } else {
                self.attributes.push(Attribute::new(name, pair[1].clone()));
            }
        }
    }

    /// The metadata of an Arrow schema.
    pub(crate) fn of_schema(metadata: &std::collections::HashMap<String, String>) -> Self {
        let own = |name: &str| name.starts_with("tesselle:") || name.starts_with("ARROW:");
        let mut attributes: Vec<Attribute> = metadata
            .iter()
            .filter(|(name, _)| !own(name))
            .map(|(name, value)| Attribute::new(name, Value::from(value.as_str())))
            .collect();
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        Self { attributes, ..Self::default() }
    }

    /// Attributes that are JSON.
    pub(crate) fn of_attributes(attributes: &Map<String, Value>) -> Self {
        let all = attributes.iter().map(|(name, value)| Attribute::new(name, value.clone()));
        Self { attributes: all.collect(), ..Self::default() }
    }

    fn count(&mut self, description: &Description, key: &str, what: &str) {
        let n = match description.extra.get(key) {
            Some(Value::Array(list)) => list.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        };
        if n > 0 {
            self.rest.push(format!("{n} {what}"));
        }
    }

    /// What the writer of a format takes, by the names it knows; `None` where it takes nothing.
    pub(crate) fn for_format(&self, format: &str) -> Option<BTreeMap<String, String>> {
        let all = self.attributes.iter();
        Some(match format {
            "tiledb" => all.map(|a| (format!("meta.{}", a.name), a.typed())).collect(),
            "tet" => all.map(|a| (format!("attr.{}", a.name), a.text())).collect(),
            "tatami" | "parquet" | "arrow" => all.map(|a| (a.name.clone(), a.text())).collect(),
            "zarr" => all.map(|a| (a.name.clone(), a.value.to_string())).collect(),
            _ => return None,
        })
    }
}

impl Attribute {
    pub(crate) fn new(name: &str, value: Value) -> Self {
        Self { name: name.to_owned(), value, exact: None }
    }

    /// The value as text; text is itself.
    pub(crate) fn text(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }

    /// `TYPE:hex`.
    fn typed(&self) -> String {
        if let Some(exact) = &self.exact {
            return exact.clone();
        }
        match &self.value {
            Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(n), _) => format!("INT64:{}", hex(&n.to_le_bytes())),
                (None, Some(n)) => format!("FLOAT64:{}", hex(&n.to_le_bytes())),
                _ => format!("STRING_UTF8:{}", hex(self.text().as_bytes())),
            },
            _ => format!("STRING_UTF8:{}", hex(self.text().as_bytes())),
        }
    }
}
