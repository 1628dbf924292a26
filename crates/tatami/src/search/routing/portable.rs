//! The portable form: a stream of varints.
//!
//! `uv documents, uv shards`, per shard `uv documents`, `uv terms`, per term ascending: `str term, uv df, uv
//! postings`, per posting `uv shard, uv df, uv largest frequency`.

use std::collections::BTreeMap;

use tesselle_codec::varint;
use tesselle_core::{Cursor, Error, Result};

use super::{RoutingIndex, ShardTerm, TermRoutes};

impl RoutingIndex {
    /// Reads the portable form.
    pub fn parse_portable(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, 0, "routing index");
        let docs = cursor.uvarint()?;
        let shards = count(&mut cursor, 1)?;
        let shard_docs = (0..shards).map(|_| cursor.uvarint()).collect::<Result<Vec<_>>>()?;
        let mut terms = BTreeMap::new();
        for _ in 0..count(&mut cursor, 3)? {
            let len = cursor.uvarint()?;
            let term = cursor.bytes_u64(len)?.to_vec();
            terms.insert(term, read_routes(&mut cursor)?);
        }
        Ok(Self { docs, shard_docs, terms })
    }

    /// Writes the portable form.
    pub fn to_portable(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(self.docs, &mut out);
        varint::write(self.shard_docs.len() as u64, &mut out);
        self.shard_docs.iter().for_each(|docs| varint::write(*docs, &mut out));
        varint::write(self.terms.len() as u64, &mut out);
        for (term, routes) in &self.terms {
            write_string(term, &mut out);
            write_routes(routes, &mut out);
        }
        out
    }
}

/// A count of items that take at least `least` bytes each.
pub(super) fn count(cursor: &mut Cursor<'_>, least: usize) -> Result<usize> {
    let n = cursor.uvarint()?;
    cursor.count(n, least)
}

pub(super) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    varint::write(text.len() as u64, out);
    out.extend_from_slice(text);
}

pub(super) fn read_routes(cursor: &mut Cursor<'_>) -> Result<TermRoutes> {
    let df = cursor.uvarint()?;
    let mut routes = TermRoutes { df, shards: Vec::new() };
    for _ in 0..count(cursor, 3)? {
        let (shard, df, max_freq) = (cursor.uvarint()?, cursor.uvarint()?, cursor.uvarint()?);
        let (Ok(shard), Ok(max_freq)) = (u32::try_from(shard), u32::try_from(max_freq)) else {
            return Err(Error::corrupt("a routing entry exceeds 32 bits").offset(cursor.offset()));
        };
        routes.shards.push(ShardTerm { shard, df, max_freq });
    }
    Ok(routes)
}

pub(super) fn write_routes(routes: &TermRoutes, out: &mut Vec<u8>) {
    varint::write(routes.df, out);
    varint::write(routes.shards.len() as u64, out);
    for shard in &routes.shards {
        varint::write(shard.shard.into(), out);
        varint::write(shard.df, out);
        varint::write(shard.max_freq.into(), out);
    }
}
