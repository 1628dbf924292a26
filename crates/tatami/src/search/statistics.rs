//! Collection statistics for term weights: the number of documents, and how many contain each token.

use std::collections::HashMap;

use tesselle_core::Result;

use super::bm25;
use super::inverted::InvertedIndex;

/// Counts over one segment or many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) docs: u64,
    df: HashMap<String, u64>,
}

impl Statistics {
    /// The statistics of one segment on its own: deleted documents count.
    pub(crate) fn of_segment(index: &InvertedIndex, tokens: &[&str]) -> Result<Self> {
        let mut statistics = Self { docs: u64::from(index.docs()), ..Self::default() };
        statistics.add_frequencies(index, tokens)?;
        Ok(statistics)
    }

    /// Adds a segment to statistics over many: live documents, but the document frequencies as stored.
    pub(crate) fn add(&mut self, index: &InvertedIndex, tokens: &[&str]) -> Result<()> {
        self.docs += u64::from(index.live_count());
        self.add_frequencies(index, tokens)
    }

    fn add_frequencies(&mut self, index: &InvertedIndex, tokens: &[&str]) -> Result<()> {
        for (i, &token) in tokens.iter().enumerate() {
            if tokens.iter().take(i).any(|&before| before == token) {
                continue;
            }
            if let Some(entry) = index.lookup(token.as_bytes())? {
                *self.df.entry(token.to_owned()).or_default() += u64::from(entry.df());
            }
        }
        Ok(())
    }

    /// The weight of a token.
    pub(crate) fn idf(&self, token: &str) -> f32 {
        bm25::idf(self.docs, self.df.get(token).copied().unwrap_or(0))
    }
}
