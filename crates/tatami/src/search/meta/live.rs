//! The live-docs run (spec §21.6): `uv documents`, then 64-bit words, a set bit for every live document.

use tesselle_codec::{Error, Result, varint};
use tesselle_core::Within;

const WHAT: &str = "live documents";

/// The live documents of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveDocs {
    docs: u32,
    words: Vec<u64>,
}

impl LiveDocs {
    /// A set of `docs` documents, all live.
    pub fn all(docs: u32) -> Self {
        let mut words = vec![u64::MAX; docs.div_ceil(64) as usize];
        if let Some(last) = words.last_mut()
            && !docs.is_multiple_of(64)
        {
            *last = u64::MAX >> (64 - docs % 64);
        }
        Self { docs, words }
    }

    /// Reads the run of a segment of `docs` documents. Documents of missing words are deleted.
    pub(crate) fn parse(run: &[u8], docs: u32) -> Result<Self> {
        let mut pos = 0;
        let stated = varint::take(run, &mut pos)?;
        if stated != u64::from(docs) {
            return Err(Error::corrupt(WHAT, format!("a set of {stated} documents in a segment of {docs}")));
        }
        let mut set = Self { docs, words: vec![0; docs.div_ceil(64) as usize] };
        let bytes = run.within(pos..);
        for (word, bytes) in set.words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        if let Some(last) = set.words.last_mut()
            && !docs.is_multiple_of(64)
        {
            *last &= u64::MAX >> (64 - docs % 64);
        }
        Ok(set)
    }

    /// The bytes of the run.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut run = Vec::with_capacity(5 + self.words.len() * 8);
        varint::write(self.docs.into(), &mut run);
        for word in &self.words {
            run.extend_from_slice(&word.to_le_bytes());
        }
        run
    }

    /// A bit for every document, in words of 64.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Documents, live and deleted.
    pub fn docs(&self) -> u32 {
        self.docs
    }

    /// Live documents.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether `doc` is live; false if it does not exist.
    #[inline]
    pub fn contains(&self, doc: u32) -> bool {
        self.words.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    /// Deletes `doc`; returns whether it was live.
    pub fn delete(&mut self, doc: u32) -> bool {
        let was_live = self.contains(doc);
        if let Some(word) = self.words.get_mut(doc as usize / 64) {
            *word &= !(1 << (doc % 64));
        }
        was_live
    }

    /// Keeps only the documents that are also in `other`.
    pub(crate) fn intersect(&mut self, other: &Self) {
        for (i, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(i).copied().unwrap_or(0);
        }
    }

    /// Number of live documents before each group of 64.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let mut sum = 0;
        let before = self.words.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        });
        before.collect()
    }

    /// Number of live documents before `doc`, given [`LiveDocs::ranks`]; `None` if it is deleted.
    pub(crate) fn rank(&self, ranks: &[u32], doc: u32) -> Option<u32> {
        let word = self.words.get(doc as usize / 64).filter(|word| **word >> (doc % 64) & 1 == 1)?;
        let before = word & ((1 << (doc % 64)) - 1);
        Some(ranks.get(doc as usize / 64)? + before.count_ones())
    }

    /// The live documents, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros();
                word &= word - 1;
                Some(i as u32 * 64 + bit)
            })
        })
    }
}
