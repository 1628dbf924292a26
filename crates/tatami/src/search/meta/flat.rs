//! The flat term dictionary of the first releases (spec §21.2): `uv terms`, then per term `str term`, entry.

use std::sync::OnceLock;

use bytes::Bytes;
use tesselle_codec::{Error, Result, varint};

use super::run::RunSource;
use super::{TermEntry, index, slice};

const WHAT: &str = "flat term dictionary";

/// The dictionary, which is read as a whole: it has no index.
#[derive(Debug)]
pub(crate) struct FlatDictionary {
    run: RunSource,
    terms: usize,
    loaded: OnceLock<Terms>,
}

/// The whole run, with the position of every term.
#[derive(Debug)]
struct Terms {
    run: Bytes,
    at: Vec<usize>,
}

impl FlatDictionary {
    /// Reads how many terms there are, and the terms too where they are in memory.
    pub(crate) fn parse(run: RunSource) -> tesselle_core::Result<Self> {
        let head = run.get(0..run.len().min(10), WHAT)?;
        let terms = index(varint::take(&head, &mut 0)?, WHAT)?;
        let dictionary = Self { run, terms, loaded: OnceLock::new() };
        if dictionary.run.is_held() {
            dictionary.terms()?;
        }
        Ok(dictionary)
    }

    /// Terms as the run states them.
    pub(crate) fn len(&self) -> usize {
        self.terms
    }

    /// Term and entry number `i`.
    pub(crate) fn get(&self, i: usize) -> tesselle_core::Result<Option<(&[u8], TermEntry)>> {
        Ok(self.terms()?.get(i)?)
    }

    /// The entry of a term, and its number.
    pub(crate) fn lookup(&self, wanted: &[u8]) -> tesselle_core::Result<Option<(u64, TermEntry)>> {
        Ok(self.terms()?.lookup(wanted)?)
    }

    /// The number of the first term that is not less than `wanted`.
    pub(crate) fn position(&self, wanted: &[u8]) -> tesselle_core::Result<usize> {
        Ok(self.terms()?.position(wanted)?)
    }

    fn terms(&self) -> tesselle_core::Result<&Terms> {
        if let Some(terms) = self.loaded.get() {
            return Ok(terms);
        }
        let terms = Terms::parse(self.run.get(0..self.run.len(), WHAT)?)?;
        Ok(self.loaded.get_or_init(|| terms))
    }
}

impl Terms {
    /// Walks the run once: every term must be there, and greater than the one before.
    fn parse(run: Bytes) -> Result<Self> {
        let mut pos = 0;
        let terms = index(varint::take(&run, &mut pos)?, WHAT)?;
        // A term takes at least four bytes: its length, its frequency, its kind, its list.
        if terms > run.len() / 4 {
            return Err(Error::corrupt(WHAT, format!("{terms} terms in {} bytes", run.len())));
        }
        let mut at = Vec::with_capacity(terms);
        let mut last: &[u8] = &[];
        for i in 0..terms {
            at.push(pos);
            let len = varint::take(&run, &mut pos)?;
            let term = slice(&run, &mut pos, len, WHAT)?;
            if i > 0 && term <= last {
                return Err(Error::corrupt(WHAT, format!("term {i} is not greater than the previous one")));
            }
            last = term;
            TermEntry::parse(&run, &mut pos)?;
        }
        Ok(Self { run, at })
    }

    /// Term and entry number `i`.
    fn get(&self, i: usize) -> Result<Option<(&[u8], TermEntry)>> {
        let Some(&at) = self.at.get(i) else { return Ok(None) };
        let mut pos = at;
        let len = varint::take(&self.run, &mut pos)?;
        let term = slice(&self.run, &mut pos, len, WHAT)?;
        Ok(Some((term, TermEntry::parse(&self.run, &mut pos)?)))
    }

    fn lookup(&self, wanted: &[u8]) -> Result<Option<(u64, TermEntry)>> {
        let number = self.position(wanted)?;
        let found = self.get(number)?;
        Ok(found.filter(|(term, _)| *term == wanted).map(|(_, entry)| (number as u64, entry)))
    }

    /// The number of the first term that is not less than `wanted`.
    fn position(&self, wanted: &[u8]) -> Result<usize> {
        let (mut low, mut high) = (0, self.at.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle)? {
                Some((term, _)) if term < wanted => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

/// Collects terms in ascending order.
#[derive(Debug, Default)]
pub(crate) struct FlatWriter {
    terms: u64,
    body: Vec<u8>,
}

impl FlatWriter {
    pub(crate) fn push(&mut self, term: &[u8], entry: TermEntry) {
        self.terms += 1;
        varint::write(term.len() as u64, &mut self.body);
        self.body.extend_from_slice(term);
        entry.write(&mut self.body);
    }

    /// Appends the terms of another writer.
    pub(crate) fn append(&mut self, other: &Self) {
        self.terms += other.terms;
        self.body.extend_from_slice(&other.body);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut run = Vec::with_capacity(self.body.len() + 5);
        varint::write(self.terms, &mut run);
        run.extend_from_slice(&self.body);
        run
    }
}
