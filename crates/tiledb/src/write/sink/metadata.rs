//! Metadata of another source.

use serde_json::Value;
use tesselle_core::{Attribute, Result};

use crate::Datatype;
use crate::meta::key_value::{Entries, MetadataValue};

/// The attributes of a source as metadata entries: with their exact type if TileDB has it, else as a type that can
/// represent the value.
pub(super) fn entries(attributes: &[Attribute]) -> Result<Entries> {
    attributes
        .iter()
        .map(|attribute| Ok((attribute.name.as_bytes().to_vec(), Some(entry(attribute)?))))
        .collect()
}

fn entry(attribute: &Attribute) -> Result<MetadataValue> {
    let exact = attribute.exact.as_ref();
    if let Some((datatype, bytes)) = exact.and_then(|(name, bytes)| Some((Datatype::from_name(name)?, bytes)))
    {
        return MetadataValue::of(datatype, bytes.clone());
    }
    match &attribute.value {
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(n), _) => MetadataValue::of(Datatype::Int64, n.to_le_bytes().to_vec()),
            (None, Some(n)) => MetadataValue::of(Datatype::Float64, n.to_le_bytes().to_vec()),
            (None, None) => MetadataValue::string(&attribute.value_string()),
        },
        _ => MetadataValue::string(&attribute.value_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_types_are_kept_and_others_follow_from_the_value() {
        let exact =
            Attribute { exact: Some(("INT32".to_owned(), vec![5, 0, 0, 0])), ..Attribute::new("n", 5) };
        let other = Attribute { exact: Some(("utf8".to_owned(), vec![7])), ..Attribute::new("m", 2.5) };
        let found = entries(&[exact, other, Attribute::new("who", "me")]).unwrap();
        let types: Vec<Datatype> =
            found.iter().filter_map(|(_, value)| Some(value.as_ref()?.datatype)).collect();
        assert_eq!(types, [Datatype::Int32, Datatype::Float64, Datatype::StringUtf8]);
        let torn = Attribute { exact: Some(("INT32".to_owned(), vec![5])), ..Attribute::new("n", 5) };
        assert!(entries(&[torn]).is_err());
    }
}
