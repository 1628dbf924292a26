//! Options for building a segment.

use tesselle_core::setters;

use crate::search::meta::DictionaryKind;
use crate::search::snippet::DEFAULT_SNIPPET_CHARS;

/// Options for building a segment from a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOptions {
    /// Columns to search in. `title`, `url` and `anchor` are separate fields, all others form the body, in
    /// this order.
    pub text: Vec<String>,
    /// Columns to show with hits. `doc_id`, `url` and `title` are standard fields; columns of the body stand
    /// for the whole body; any other column is stored unchanged. `None`: `doc_id`, `url`, `title` and the
    /// body.
    pub stored: Option<Vec<String>>,
    /// The column with the stable id; `None`: `doc_id` if it exists, otherwise derived from the URL or the
    /// row number.
    pub id: Option<String>,
    /// Number of characters of the snippet that is stored if the body is not.
    pub snippet_chars: usize,
    /// The layout of the term dictionary.
    pub dictionary: DictionaryKind,
    /// Whether the positions of the words are stored: phrases are then found without reading the text.
    pub positions: bool,
    /// Postings held in memory before they are spilled, in bytes; `None`: what the driver's budget allows.
    pub memory: Option<usize>,
    /// Whether an existing file may be replaced.
    pub overwrite: bool,
}

setters! { IndexOptions {
    with_stored => stored: impl Into<Option<Vec<String>>>,
    with_id => id: impl Into<Option<String>>,
    with_snippet_chars => snippet_chars: usize,
    with_dictionary => dictionary: DictionaryKind,
    with_positions => positions: bool,
    with_memory => memory: impl Into<Option<usize>>,
    with_overwrite => overwrite: bool,
} }

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            stored: None,
            id: None,
            snippet_chars: DEFAULT_SNIPPET_CHARS,
            dictionary: DictionaryKind::BlockTree,
            positions: false,
            memory: None,
            overwrite: false,
        }
    }
}

impl IndexOptions {
    /// Searches in these columns.
    pub fn text<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { text: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Shows these columns with hits.
    #[must_use]
    pub fn stored<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.stored = Some(columns.into_iter().map(Into::into).collect());
        self
    }
}
