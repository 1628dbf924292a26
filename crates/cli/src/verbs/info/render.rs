//! Values of `info` in words, without brackets and quotes of JSON.

use std::fmt::Write as _;

use serde_json::Value;

/// Whether there is nothing to show.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether it is a field of a header in which zero means that nothing was recorded.
pub(super) fn is_unset(key: &str, value: &Value) -> bool {
    match key {
        "uuid" => value.as_str().is_some_and(|digits| digits.bytes().all(|digit| digit == b'0')),
        "created_ms" | "creator_id" | "page_size_hint" => *value == 0,
        _ => false,
    }
}

/// A readable form of a value: a named object by its name with the rest in parentheses, nothing for empty values.
pub(crate) fn plain(value: &Value) -> String {
    let list = |items: &[Value]| items.iter().map(plain).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        // Objects have names and need no brackets.
        Value::Array(items) if items.iter().any(Value::is_object) => list(items),
        Value::Array(items) => format!("[{}]", list(items)),
        Value::Object(items) => {
            let name = items.get("name").and_then(Value::as_str);
            let rest =
                items.iter().filter(|(key, value)| (name.is_none() || *key != "name") && !is_empty(value));
            let rest: Vec<String> = rest.map(|(key, value)| stated(key, value)).collect();
            match (name, rest.is_empty()) {
                (Some(name), true) => name.to_owned(),
                (Some(name), false) => format!("{name} ({})", rest.join(", ")),
                (None, _) => rest.join(", "),
            }
        }
        other => other.to_string(),
    }
}

/// A fact with its name.
pub(super) fn stated(key: &str, value: &Value) -> String {
    match value {
        Value::Object(_) => format!("{key} ({})", plain(value)),
        _ => format!("{key} {}", plain(value)),
    }
}

/// The members of a collection with their keys and bounds as values instead of bytes.
pub(super) fn members(members: &Value) -> Value {
    let mut members = members.clone();
    for facts in members.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        facts.shift_remove("key_min");
        facts.shift_remove("key_max");
        facts.shift_remove("zones");
    }
    members
}

/// A structure with one line per fact, nested ones indented below it.
pub(super) fn tree(text: &mut String, key: &str, value: &Value, indent: &str) {
    let deeper = format!("{indent}  ");
    match value {
        Value::Object(items) => {
            let _ = writeln!(text, "{indent}{key}:");
            for (name, item) in items.iter().filter(|(_, item)| !is_empty(item)) {
                tree(text, name, item, &deeper);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let _ = writeln!(text, "{indent}{key}:");
            for item in items {
                let nested = item.as_object().is_some_and(|facts| {
                    facts.values().any(|fact| (fact.is_object() || fact.is_array()) && !is_empty(fact))
                });
                match item.as_object() {
                    Some(facts) if nested => {
                        for (i, (name, fact)) in facts.iter().filter(|(_, fact)| !is_empty(fact)).enumerate()
                        {
                            // The first fact of an item stands out, so that items can be distinguished.
                            let lead = if i == 0 { deeper.clone() } else { format!("{deeper}  ") };
                            tree(text, name, fact, &lead);
                        }
                    }
                    _ => {
                        let _ = writeln!(text, "{deeper}{}", plain(item));
                    }
                }
            }
        }
        _ => {
            let _ = writeln!(text, "{indent}{key}: {}", plain(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structures_are_indented_without_brackets_of_json() {
        let mut text = String::new();
        let value = json!({ "version": 3, "bloom": { "bytes": 32 }, "none": null, "schemas": [{ "name": "a", "type": "INT32" }] });
        tree(&mut text, "file", &value, "");
        assert_eq!(text, "file:\n  version: 3\n  bloom:\n    bytes: 32\n  schemas:\n    a (type INT32)\n");
    }

    #[test]
    fn members_of_collections_show_values_instead_of_bytes() {
        let member = json!({
            "path": "a", "key_min": "00", "key_max": "b1", "zones": [{ "column": "id", "min": "00" }],
            "bounds": { "id": [0, 177] },
        });
        assert_eq!(plain(&members(&json!([member]))), "path a, bounds (id [0, 177])");
    }

    #[test]
    fn nested_objects_stand_in_parentheses() {
        assert_eq!(plain(&json!({ "name": "a", "zone": { "min": 1, "max": null } })), "a (zone (min 1))");
        assert_eq!(plain(&Value::Null), "-");
    }
}
