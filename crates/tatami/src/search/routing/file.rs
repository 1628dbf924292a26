//! `routing.bin`: columns that can be memory-mapped.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `TATR` |
//! | 4 | 4 | version, 1 |
//! | 8 | 1 | byte order of the sections: 0 little, 1 big |
//! | 16 | 8 each | documents, shards S, terms T, postings P |
//! | 48 | 8 each | offsets of the eight sections |
//! | 112 | 8 | file size |
//!
//! Sections from byte 128 on, each at a multiple of eight: shard documents `i64 × S`, term offsets `u32 × (T+1)`,
//! document frequencies `u64 × T`, posting offsets `u64 × (T+1)`, shards, frequencies and largest frequencies
//! `u32 × P` each, and the terms one after the other. All offsets follow from the counts.

use std::collections::BTreeMap;

use tesselle_core::{At, Cursor, Error, Result};

use super::{RoutingIndex, ShardTerm, TermRoutes};

const MAGIC: [u8; 4] = *b"TATR";
const VERSION: u32 = 1;
const HEADER: u64 = 128;

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt(what.into()).class("bad_routing")
}

/// The offsets of the sections; `None` if the counts overflow.
fn offsets(shards: u64, terms: u64, postings: u64) -> Option<[u64; 8]> {
    let sizes = [
        shards.checked_mul(8)?,
        terms.checked_add(1)?.checked_mul(4)?,
        terms.checked_mul(8)?,
        terms.checked_add(1)?.checked_mul(8)?,
        postings.checked_mul(4)?,
        postings.checked_mul(4)?,
        postings.checked_mul(4)?,
    ];
    let mut at = HEADER;
    let mut offsets = [HEADER; 8];
    for (offset, size) in offsets.iter_mut().skip(1).zip(sizes) {
        at = at.checked_add(size)?.checked_next_multiple_of(8)?;
        *offset = at;
    }
    Some(offsets)
}

impl RoutingIndex {
    /// Reads `routing.bin`; checks everything that the counts imply.
    pub fn parse_file(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, 0, "routing header");
        if cursor.array::<4>()? != MAGIC {
            return Err(bad("not a routing file: it does not start with \"TATR\"").offset(0));
        }
        let version = cursor.u32_le()?;
        if version != VERSION {
            return Err(bad(format!("routing file version {version}; supported is {VERSION}")).offset(4));
        }
        let big = match cursor.u8()? {
            0 => false,
            1 => true,
            other => return Err(bad(format!("byte order {other}; supported are 0 and 1")).offset(8)),
        };
        cursor.skip(7)?;
        let (docs, shards, terms, postings) =
            (cursor.u64_le()?, cursor.u64_le()?, cursor.u64_le()?, cursor.u64_le()?);
        let mut stated = [0; 8];
        for offset in &mut stated {
            *offset = cursor.u64_le()?;
        }
        let size = cursor.u64_le()?;
        let blob = offsets(shards, terms, postings).filter(|computed| *computed == stated).map(|o| o[7]);
        if size != bytes.len() as u64 || blob.is_none_or(|blob| blob > size) {
            return Err(bad("the sections of the routing file do not follow from its counts").offset(48));
        }
        let sections = Sections { bytes, offsets: stated, big };
        sections.read(docs, shards as usize, terms as usize, postings as usize)
    }

    /// Writes `routing.bin`, little-endian.
    pub fn to_file(&self) -> Result<Vec<u8>> {
        let postings: u64 = self.terms.values().map(|routes| routes.shards.len() as u64).sum();
        let counts = [self.docs, self.shard_docs.len() as u64, self.terms.len() as u64, postings];
        let too_large = || Error::limit("the routing index exceeds the limits of its file format");
        let offsets = offsets(counts[1], counts[2], counts[3]).ok_or_else(too_large)?;
        let blob_len: usize = self.terms.keys().map(Vec::len).sum();
        let mut out = Vec::with_capacity(offsets[7] as usize + blob_len);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        counts.iter().chain(&offsets).for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        out.extend_from_slice(&(offsets[7] + blob_len as u64).to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        let routes = || self.terms.values().flat_map(|routes| &routes.shards);
        self.shard_docs.iter().for_each(|docs| out.extend_from_slice(&docs.to_le_bytes()));
        pad(&mut out);
        let mut end = 0u32;
        out.extend_from_slice(&end.to_le_bytes());
        for term in self.terms.keys() {
            end =
                u32::try_from(term.len()).ok().and_then(|len| end.checked_add(len)).ok_or_else(too_large)?;
            out.extend_from_slice(&end.to_le_bytes());
        }
        pad(&mut out);
        self.terms.values().for_each(|routes| out.extend_from_slice(&routes.df.to_le_bytes()));
        let mut end = 0u64;
        out.extend_from_slice(&end.to_le_bytes());
        for routes in self.terms.values() {
            end += routes.shards.len() as u64;
            out.extend_from_slice(&end.to_le_bytes());
        }
        routes().for_each(|shard| out.extend_from_slice(&shard.shard.to_le_bytes()));
        pad(&mut out);
        for shard in routes() {
            let df = u32::try_from(shard.df).map_err(|_| too_large())?;
            out.extend_from_slice(&df.to_le_bytes());
        }
        pad(&mut out);
        routes().for_each(|shard| out.extend_from_slice(&shard.max_freq.to_le_bytes()));
        pad(&mut out);
        self.terms.keys().for_each(|term| out.extend_from_slice(term));
        Ok(out)
    }
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// The columns of a file with checked offsets.
struct Sections<'a> {
    bytes: &'a [u8],
    offsets: [u64; 8],
    big: bool,
}

impl Sections<'_> {
    fn word<const N: usize>(&self, section: usize, i: usize) -> Option<[u8; N]> {
        let at = usize::try_from(*self.offsets.get(section)?).ok()?.checked_add(i.checked_mul(N)?)?;
        let mut word: [u8; N] = self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()?;
        if self.big {
            word.reverse();
        }
        Some(word)
    }

    fn u32(&self, section: usize, i: usize) -> Result<u32> {
        self.word(section, i)
            .map(u32::from_le_bytes)
            .ok_or_else(|| bad("a section of the routing file ends early"))
    }

    fn u64(&self, section: usize, i: usize) -> Result<u64> {
        self.word(section, i)
            .map(u64::from_le_bytes)
            .ok_or_else(|| bad("a section of the routing file ends early"))
    }

    fn read(&self, docs: u64, shards: usize, terms: usize, postings: usize) -> Result<RoutingIndex> {
        let shard_docs = (0..shards).map(|i| self.u64(0, i)).collect::<Result<Vec<_>>>()?;
        let blob = self.bytes.part(self.offsets[7] as usize..)?;
        let mut index = RoutingIndex { docs, shard_docs, terms: BTreeMap::new() };
        if self.u32(1, 0)? != 0 || self.u64(3, 0)? != 0 {
            return Err(bad("the first term or posting of the routing file does not start at 0"));
        }
        let (mut start, mut from) = (0, 0);
        for i in 0..terms {
            let end = self.u32(1, i + 1)? as usize;
            let to = self.u64(3, i + 1)? as usize;
            let term =
                blob.get(start..end).ok_or_else(|| bad(format!("term {i} is outside the terms section")))?;
            if to < from || to > postings {
                return Err(bad(format!("the postings of term {i} are outside the postings section")));
            }
            let mut routes = TermRoutes { df: self.u64(2, i)?, shards: Vec::with_capacity(to - from) };
            for p in from..to {
                let (shard, df, max_freq) = (self.u32(4, p)?, self.u32(5, p)?, self.u32(6, p)?);
                routes.shards.push(ShardTerm { shard, df: df.into(), max_freq });
            }
            index.terms.insert(term.to_vec(), routes);
            (start, from) = (end, to);
        }
        Ok(index)
    }
}
