//! Metadata that comes along with a conversion.

use std::collections::BTreeMap;

use tesselle_core::{Error, Result};

use crate::Datatype;
use crate::meta::key_value::{Entries, MetadataValue};

/// Reads the facts about a source that an array keeps: `meta.NAME` is a value as `TYPE:hex`, `attr.NAME` a text.
/// Others belong to other formats.
pub(super) fn entries(facts: &BTreeMap<String, String>) -> Result<Entries> {
    let mut out = Entries::new();
    for (key, value) in facts {
        if let Some(name) = key.strip_prefix("attr.") {
            out.push((name.as_bytes().to_vec(), Some(MetadataValue::text(value)?)));
        } else if let Some(name) = key.strip_prefix("meta.") {
            let typed = typed(value).ok_or_else(|| {
                Error::invalid(format!("the metadata '{name}' is not TYPE:hex"))
                    .hint("e.g. meta.n=INT32:05000000")
            })?;
            out.push((name.as_bytes().to_vec(), Some(typed?)));
        }
    }
    Ok(out)
}

fn typed(text: &str) -> Option<Result<MetadataValue>> {
    let (name, digits) = text.split_once(':')?;
    let datatype = Datatype::from_name(name)?;
    let pairs = digits.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    Some(MetadataValue::of(datatype, bytes.collect::<Option<Vec<u8>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_and_texts_are_taken() {
        let facts = [("meta.n", "INT32:05000000"), ("attr.who", "me"), ("axes", "x")];
        let facts = facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let entries = entries(&facts).unwrap();
        assert_eq!(entries.len(), 2);
        let n = entries.iter().find(|(name, _)| name == b"n").and_then(|(_, value)| value.as_ref()).unwrap();
        assert_eq!((n.datatype, n.count), (Datatype::Int32, 1));
        for bad in ["5", "INT32:0", "INT32:zz", "INT9:00", "INT32:0500"] {
            assert!(super::entries(&[("meta.n".to_owned(), bad.to_owned())].into()).is_err(), "{bad}");
        }
    }
}
