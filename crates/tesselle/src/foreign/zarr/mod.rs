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
use tesselle_core::{Error, ErrorKind, Location, Result};
pub use typed::{ZarrCodec, ZarrOptions};

/// The axis of one position that stands for none: the array is a scalar.
const SCALAR: &str = "()";
/// Groups deeper than this are not followed.
const MAX_DEPTH: usize = 16;
/// Hierarchies with more arrays and groups are an error.
const MAX_NODES: usize = 100_000;

/// An opened hierarchy.
struct Hierarchy {
    /// The arrays by path, in name order; the path of a single array is empty. Those in groups may be of a kind that is not
    /// supported, which must not keep the others from being read.
    arrays: Vec<(String, Option<Arc<ZarrArray>>)>,
    /// The groups below the outermost by path, in name order, with their attributes.
    groups: Vec<(String, Map<String, Value>)>,
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
                Ok(Self { arrays: vec![(String::new(), Some(array))], groups: Vec::new(), attributes })
            }
            Node::Group(attributes) => {
                let mut found = Self { arrays: Vec::new(), groups: Vec::new(), attributes };
                found.walk(location, "", 0)?;
                Ok(found)
            }
        }
    }

    fn walk(&mut self, folder: &Location, path: &str, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(
                Error::limit(format!("groups are nested deeper than {MAX_DEPTH}")).file(folder.path())
            );
        }
        for entry in folder.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder) {
            let inner = folder.join(&entry.name);
            if !inner.join(FILE).is_file()? {
                continue;
            }
            let name = if path.is_empty() { entry.name } else { format!("{path}/{}", entry.name) };
            match Node::read(&inner) {
                Ok(Node::Array(meta)) => {
                    self.arrays.push((name, Some(Arc::new(ZarrArray::new(inner, *meta)))));
                }
                Ok(Node::Group(attributes)) => {
                    self.groups.push((name.clone(), attributes));
                    self.walk(&inner, &name, depth + 1)?;
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => self.arrays.push((name, None)),
                Err(error) => return Err(error),
            }
            if self.arrays.len().saturating_add(self.groups.len()) > MAX_NODES {
                let message = format!("there are more than {MAX_NODES} arrays and groups");
                return Err(Error::limit(message).file(folder.path()));
            }
        }
        Ok(())
    }

    /// The arrays that can be read.
    fn readable(&self) -> impl Iterator<Item = (&str, &Arc<ZarrArray>)> {
        self.arrays.iter().filter_map(|(name, array)| Some((name.as_str(), array.as_ref()?)))
    }
}
