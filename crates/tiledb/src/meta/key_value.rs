//! Metadata of arrays and groups (spec §14): entries by key, in files that apply one after the other.
//!
//! ```text
//! u32 len, key | u8 deleted | [u8 datatype | u32 count | value]
//! ```

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tesselle_core::hex;

use super::datatype::Datatype;
use super::value::{parse_scalar, string_or_bytes};
use super::wire::{bytes32, flag, put_bytes32};
use crate::{Cursor, Error, Result};

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataValue {
    /// Its datatype.
    pub datatype: Datatype,
    /// How many values there are; 0 is a null value.
    pub count: u32,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

impl MetadataValue {
    /// The value as JSON.
    pub(crate) fn value_json(&self) -> Result<Json> {
        let size = self.datatype.size();
        Ok(if self.count == 0 {
            Json::Null
        } else if self.datatype.is_byte_string() || self.datatype.is_bytes() {
            string_or_bytes(&self.bytes).to_json()
        } else if self.count == 1 {
            parse_scalar(self.datatype, &self.bytes)?.to_json()
        } else {
            let parts = self.bytes.chunks_exact(size);
            Json::Array(
                parts.map(|part| Ok(parse_scalar(self.datatype, part)?.to_json())).collect::<Result<_>>()?,
            )
        })
    }

    /// The object of `info --json`.
    pub(crate) fn to_json(&self) -> Result<Json> {
        Ok(json!({
            "type": self.datatype.name(), "num": self.count, "hex": hex(&self.bytes), "value": self.value_json()?,
        }))
    }
}

/// Entries of one file: a value, or `None` for a deletion.
pub(crate) type Entries = Vec<(Vec<u8>, Option<MetadataValue>)>;

/// Reads the payload of a metadata file.
pub(crate) fn parse(payload: &[u8]) -> Result<Entries> {
    let mut cursor = Cursor::new(payload, 0, "array metadata");
    let cursor = &mut cursor;
    let mut out = Vec::new();
    while !cursor.is_empty() {
        let key = bytes32(cursor)?.to_vec();
        if flag(cursor)? {
            out.push((key, None));
            continue;
        }
        let datatype = Datatype::from_id(cursor.u8()?)?;
        let count = cursor.u32_le()?;
        let bytes = cursor.bytes_u64(u64::from(count).saturating_mul(datatype.size() as u64))?.to_vec();
        out.push((key, Some(MetadataValue { datatype, count, bytes })));
    }
    Ok(out)
}

/// The payload of a metadata file; entries are written in the order of their keys.
pub(crate) fn write(entries: &Entries) -> Result<Vec<u8>> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = Vec::new();
    for (key, value) in sorted {
        put_bytes32(&mut out, key)?;
        out.push(u8::from(value.is_none()));
        if let Some(value) = value {
            if value.bytes.len() as u64 != u64::from(value.count) * value.datatype.size() as u64 {
                return Err(Error::invalid("the size of a metadata value does not match its count"));
            }
            out.push(value.datatype.id());
            out.extend_from_slice(&value.count.to_le_bytes());
            out.extend_from_slice(&value.bytes);
        }
    }
    Ok(out)
}

/// Applies the entries of one file to those before it.
pub(crate) fn apply(entries: Entries, all: &mut BTreeMap<Vec<u8>, MetadataValue>) {
    for (key, value) in entries {
        match value {
            Some(value) => {
                all.insert(key, value);
            }
            None => {
                all.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_files_replace_and_remove() {
        let value =
            |v: i64| MetadataValue { datatype: Datatype::Int64, count: 1, bytes: v.to_le_bytes().to_vec() };
        let first: Entries = vec![(b"b".to_vec(), Some(value(2))), (b"a".to_vec(), Some(value(1)))];
        let payload = write(&first).unwrap();
        let mut all = BTreeMap::new();
        apply(parse(&payload).unwrap(), &mut all);
        apply(vec![(b"a".to_vec(), None)], &mut all);
        assert_eq!(all.len(), 1);
        assert_eq!(all[&b"b".to_vec()].to_json().unwrap()["value"], 2);
        for len in 1..payload.len() {
            // A file truncated between entries parses as fewer entries; anywhere else it is an error.
            assert!(parse(&payload[..len]).is_ok_and(|e| e.len() == 1) || parse(&payload[..len]).is_err());
        }
    }
}
