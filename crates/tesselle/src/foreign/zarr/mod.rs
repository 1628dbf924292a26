//! Zarr version 3: folders of chunks, read as arrays and written chunk by chunk.
//!
//! Read: arrays and groups; codecs `bytes`, `transpose`, `sharding_indexed`, `zstd`, `gzip`, `blosc`, `crc32c`.
//! Written: `bytes` with `zstd`, `gzip` or nothing. A missing chunk has the fill value.
//!
//! The arrays are read here rather than through a Zarr library: a chunk becomes a tile of the array view, on the
//! storage and the threads that everything else uses.

mod array;
mod codec;
mod copy;
mod format;
mod meta;
mod names;
mod typed;
mod write;

use std::sync::Arc;

use array::ZarrArray;
pub use format::Zarr;
use meta::{FILE, Node};
use serde_json::{Map, Value};
use tesselle_core::storage::EntryKind;
use tesselle_core::{Error, Location, Result};
pub use typed::{ZarrCodec, ZarrOptions};

/// The axis of one position that stands for none: the array is a scalar.
const SCALAR: &str = "()";
/// Groups deeper than this are not followed.
const MAX_DEPTH: usize = 16;
/// Hierarchies with more arrays are an error.
const MAX_ARRAYS: usize = 100_000;

/// An opened hierarchy.
struct Hierarchy {
    /// The arrays by path, in name order; the path of a single array is empty.
    arrays: Vec<(String, Arc<ZarrArray>)>,
    /// The attributes of the group or of the single array.
    attributes: Map<String, Value>,
}

impl Hierarchy {
    /// Reads the metadata below `location`.
    fn open(location: &Location) -> Result<Self> {
        match Node::read(location)? {
            Node::Array(meta) => {
                let attributes = meta.attributes.clone();
                let array = Arc::new(ZarrArray::new(location.clone(), *meta));
                Ok(Self { arrays: vec![(String::new(), array)], attributes })
            }
            Node::Group(attributes) => {
                let mut arrays = Vec::new();
                walk(location, "", 0, &mut arrays)?;
                Ok(Self { arrays, attributes })
            }
        }
    }
}

fn walk(
    folder: &Location,
    path: &str,
    depth: usize,
    arrays: &mut Vec<(String, Arc<ZarrArray>)>,
) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("groups are nested deeper than {MAX_DEPTH}")).file(folder.path()));
    }
    for entry in folder.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder) {
        let inner = folder.join(&entry.name);
        if !inner.join(FILE).is_file()? {
            continue;
        }
        let name = if path.is_empty() { entry.name } else { format!("{path}/{}", entry.name) };
        match Node::read(&inner)? {
            Node::Array(meta) => arrays.push((name, Arc::new(ZarrArray::new(inner, *meta)))),
            Node::Group(_) => walk(&inner, &name, depth + 1, arrays)?,
        }
        if arrays.len() > MAX_ARRAYS {
            return Err(Error::limit(format!("there are more than {MAX_ARRAYS} arrays")).file(folder.path()));
        }
    }
    Ok(())
}
