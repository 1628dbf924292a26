//! The flat term dictionary of the first releases (spec §21.2): `uv terms`, then per term `str term`, entry.

use bytes::Bytes;
use tesselle_codec::{Error, Result, varint};

use super::{Entry, index, slice};

const WHAT: &str = "flat term dictionary";

/// The whole run, with the position of every term.
#[derive(Debug)]
pub(crate) struct FlatDictionary {
    run: Bytes,
    at: Vec<usize>,
}

impl FlatDictionary {
    /// Scans the run once: every term must be present, and greater than the previous one.
    pub(crate) fn parse(run: Bytes) -> Result<Self> {
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
            Entry::parse(&run, &mut pos)?;
        }
        Ok(Self { run, at })
    }

    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// Term and entry number `i`.
    pub(crate) fn get(&self, i: usize) -> Result<Option<(&[u8], Entry)>> {
        let Some(&at) = self.at.get(i) else { return Ok(None) };
        let mut pos = at;
        let len = varint::take(&self.run, &mut pos)?;
        let term = slice(&self.run, &mut pos, len, WHAT)?;
        Ok(Some((term, Entry::parse(&self.run, &mut pos)?)))
    }

    pub(crate) fn lookup(&self, wanted: &[u8]) -> Result<Option<Entry>> {
        let (mut low, mut high) = (0, self.at.len());
        while low < high {
            let middle = low.midpoint(high);
            let Some((term, entry)) = self.get(middle)? else { return Ok(None) };
            match term.cmp(wanted) {
                std::cmp::Ordering::Equal => return Ok(Some(entry)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// Collects terms in ascending order.
#[derive(Debug, Default)]
pub(crate) struct FlatWriter {
    terms: u64,
    body: Vec<u8>,
}

impl FlatWriter {
    pub(crate) fn push(&mut self, term: &[u8], entry: Entry) {
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
