//! The terms of a segment with the documents that contain them.

use tesselle_core::{Context as _, Result};

use super::Segment;

/// A term of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The term, by convention UTF-8.
    pub term: Vec<u8>,
    /// Documents that contain it, deleted ones included.
    pub documents: u32,
    /// Documents and how often each contains it, ascending; the first of them.
    pub postings: Vec<(u32, u32)>,
}

impl Segment {
    /// The terms that start with `prefix`, in ascending order, and how many there are of them: at most `terms` with at
    /// most `postings` documents each.
    pub fn term_list(&self, prefix: &str, terms: usize, postings: usize) -> Result<(Vec<Term>, u64)> {
        let (mut found, mut count) = (Vec::new(), 0);
        let walk = self.index().dictionary().for_each(|term, entry| {
            if term.starts_with(prefix.as_bytes()) {
                count += 1;
                if found.len() < terms {
                    found.push((term.to_vec(), entry));
                }
            }
        });
        walk.in_file(self.file().path())?;
        let list = found.into_iter().map(|(term, entry)| {
            let mut cursor = self.index().cursor(entry).in_file(self.file().path())?;
            let mut listed = Vec::new();
            for block in 0..cursor.blocks() {
                if listed.len() >= postings {
                    break;
                }
                let (docs, freqs) = cursor.read_block(block).in_file(self.file().path())?;
                listed.extend(docs.iter().copied().zip(freqs.iter().copied()));
            }
            listed.truncate(postings);
            Ok(Term { term, documents: entry.df(), postings: listed })
        });
        Ok((list.collect::<Result<_>>()?, count))
    }
}
