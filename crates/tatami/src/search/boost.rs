//! Higher scores for words in the title or the URL of a document.

use std::collections::HashSet;

use tesselle_core::{Error, Result};

use super::analyzer::tokens;
use super::hit::Fields;

/// How much more a document counts whose title or URL contains all words of the query; with some of them
/// accordingly less. 1 is no boost.
///
/// The index does not record the field of a word, so the stored fields decide: a score is multiplied by
/// `1 + (title - 1) * share of the words in the title + (url - 1) * share of the words in the URL`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boosts {
    /// The factor of the title.
    pub title: f32,
    /// The factor of the URL.
    pub url: f32,
}

impl Default for Boosts {
    fn default() -> Self {
        Self { title: 1.0, url: 1.0 }
    }
}

impl Boosts {
    /// Fails on factors below 1: the best hits could not be determined from an upper bound.
    pub(super) fn check(self) -> Result<()> {
        let is_fine = |factor: f32| factor.is_finite() && factor >= 1.0;
        if is_fine(self.title) && is_fine(self.url) {
            return Ok(());
        }
        Err(Error::invalid("a boost must be a number of at least 1"))
    }

    /// The largest factor of any document.
    pub(super) fn most(self) -> f32 {
        1.0 + (self.title - 1.0) + (self.url - 1.0)
    }

    /// The factor of a document.
    pub(super) fn factor(self, words: &HashSet<&str>, fields: &Fields) -> f32 {
        let share = |text: &[u8]| {
            let found: HashSet<String> =
                tokens(text).into_iter().filter(|word| words.contains(word.as_str())).collect();
            found.len() as f32 / words.len().max(1) as f32
        };
        1.0 + (self.title - 1.0) * share(&fields.title) + (self.url - 1.0) * share(&fields.url)
    }
}
