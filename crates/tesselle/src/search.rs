//! Keyword search over search segments: tatami files with an inverted index.
//!
//! [`search`] runs a query on one segment or a folder of them, [`index`] builds a segment from the rows of any table. The
//! other items keep segments open, delete documents and merge segments.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
//! # let (notes, segment) = (path("notes.csv"), path("notes.tatami"));
//! std::fs::write(&notes, "doc_id,body\na,a stone bridge\nb,the river\nc,a bridge over the river\n")?;
//! tesselle::index(&notes, &segment).text(["body"]).run()?;
//!
//! let found = tesselle::search(&segment, "+river bridge").k(5).run()?;
//! let ids: Vec<&[u8]> = found.hits.iter().map(|hit| hit.fields.doc_id.as_slice()).collect();
//! assert_eq!(ids, [b"c", b"b"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use tesselle_core::{Action, Error, Location, Predicate, Result, Summary};
use tesselle_tatami::Tatami;
pub use tesselle_tatami::search::*;

use crate::name::Uri;
use crate::open::Opener;
use crate::registry::other_format;
use crate::run::{RunOn, run_methods};

/// The location of a file or folder that may be tatami. Fails with the name of the format if it is a file of another one;
/// what is unknown is left to the reader, which reports what is wrong.
pub fn tatami_location(uri: &str) -> Result<Location> {
    let location = Uri::parse(uri)?.location;
    match other_format(&location, &Tatami)? {
        None => Ok(location),
        Some(format) => Err(Error::invalid(format!("'{uri}' is {}, not tatami", format.title()))
            .class("wrong_format")
            .suggest("build a search segment with {}, or a file with {}", [Action::Index, Action::Convert])),
    }
}

/// Builds a search for `query` in the segment at `uri`, or in all segments of a folder.
pub fn search(uri: impl Into<String>, query: impl Into<String>) -> Search {
    Search {
        uri: uri.into(),
        query: query.into(),
        options: SearchOptions::default(),
        opener: Opener::new(),
        run: RunOn::default(),
    }
}

/// A builder for a search. See [`search`].
#[derive(Debug, Clone)]
#[must_use = "nothing is searched before `run`"]
pub struct Search {
    uri: String,
    query: String,
    options: SearchOptions,
    opener: Opener,
    run: RunOn,
}

impl Search {
    run_methods!();

    /// Replaces all options.
    pub fn with(mut self, options: SearchOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the number of hits `[default: 10]`.
    pub fn k(mut self, hits: usize) -> Self {
        self.options.k = hits;
        self
    }

    /// Reads the query as plain words, without marks.
    pub fn plain(mut self) -> Self {
        self.options.syntax = Syntax::Plain;
        self
    }

    /// Keeps only documents whose stored columns satisfy this SQL condition. Fails if the condition cannot be parsed.
    pub fn filter(self, condition: &str) -> Result<Self> {
        Ok(self.matching(condition.parse()?))
    }

    /// Keeps only documents whose stored columns fulfill this predicate.
    pub fn matching(mut self, predicate: Predicate) -> Self {
        self.options.filter = Some(predicate);
        self
    }

    /// Returns this many characters around the words found `[default: none]`.
    pub fn highlight(mut self, characters: usize) -> Self {
        self.options.highlight = Some(characters);
        self
    }

    /// Sets how much words in titles and URLs count `[default: like all others]`.
    pub fn boosts(mut self, boosts: Boosts) -> Self {
        self.options.boosts = boosts;
        self
    }

    /// Sets how segments are opened.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Searches.
    pub fn run(self) -> Result<Hits> {
        let location = tatami_location(&self.uri)?;
        let (options, open) = (&self.options, self.opener.open_options());
        tesselle_tatami::search::search(&location, &self.query, options, open, &self.run.driver()?)
    }
}

/// Builds a search segment at `output` from the rows of the table at `input`.
pub fn index(input: impl Into<String>, output: impl Into<String>) -> Index {
    Index {
        input: input.into(),
        output: output.into(),
        options: IndexOptions::default(),
        opener: Opener::new(),
        run: RunOn::default(),
    }
}

/// A builder for a search segment. See [`index`].
#[derive(Debug, Clone)]
#[must_use = "nothing is written before `run`"]
pub struct Index {
    input: String,
    output: String,
    options: IndexOptions,
    opener: Opener,
    run: RunOn,
}

impl Index {
    run_methods!();

    /// Replaces all options.
    pub fn with(mut self, options: IndexOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the columns to search in. `title`, `url` and `anchor` are separate fields.
    pub fn text<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.text = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the columns that hits show `[default: doc_id, url, title and the body]`.
    pub fn stored<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.stored = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the column with the stable id `[default: doc_id, else made from the URL or the row number]`.
    pub fn id(mut self, column: impl Into<String>) -> Self {
        self.options.id = Some(column.into());
        self
    }

    /// Whether an existing segment is replaced `[default: no, it is an error]`.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.options.overwrite = overwrite;
        self
    }

    /// Sets how the table is opened.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Builds the segment. It appears atomically.
    pub fn run(self) -> Result<Summary> {
        let driver = self.run.driver()?;
        let source = self.opener.on(&driver).open_table(&self.input)?;
        let rows = source.scan().on(&driver).rows()?;
        let target = Uri::target(&self.output)?;
        let schema = source.schema();
        tesselle_tatami::search::index(rows.into_batches(), &schema, &target, &self.options, &driver)
    }
}
