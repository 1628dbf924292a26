//! Phrases by the stored positions of their words.

use std::collections::HashMap;

use bytes::Bytes;
use tesselle_core::{Context, Result};

use super::cursor::PostingCursor;
use super::inverted::{BAD_POSITIONS, InvertedIndex};
use super::meta::Positions;
use super::meta::positions::{self, TOKEN_BITS};
use super::query::{Phrase, SearchField};
use super::retrieve::Phrases;

/// Decides from the positions of words whether they are next to each other.
pub(crate) struct Adjacent<'a> {
    index: &'a InvertedIndex,
    positions: &'a Positions,
    /// The words looked up so far; `None` if no document contains them.
    words: HashMap<String, Option<Word>>,
    /// Where the phrase may start in a document, and the positions of its next word.
    starts: Vec<u32>,
    next: Vec<u32>,
}

/// A word of the index.
struct Word {
    cursor: PostingCursor,
    payload: Bytes,
}

impl<'a> Adjacent<'a> {
    /// `None` if the index has no positions.
    pub(crate) fn new(index: &'a InvertedIndex) -> Option<Self> {
        let positions = index.positions()?;
        Some(Self { index, positions, words: HashMap::new(), starts: Vec::new(), next: Vec::new() })
    }
}

impl Phrases for Adjacent<'_> {
    fn contains(&mut self, doc: u32, phrase: &Phrase) -> Result<bool> {
        let (mut starts, mut next) = (std::mem::take(&mut self.starts), std::mem::take(&mut self.next));
        starts.clear();
        for (i, word) in phrase.words.iter().enumerate() {
            let to = if i == 0 { &mut starts } else { &mut next };
            let there = match self.word(word)? {
                Some(word) => word.positions(doc, to).of_class(BAD_POSITIONS)?,
                None => false,
            };
            if !there {
                starts.clear();
            } else if i > 0 {
                keep_followed(&mut starts, &next, i as u32);
            } else if let Some(field) = phrase.field {
                starts.retain(|start| start >> TOKEN_BITS == number(field));
            }
            if starts.is_empty() {
                break;
            }
        }
        let found = !starts.is_empty() || phrase.words.is_empty();
        (self.starts, self.next) = (starts, next);
        Ok(found)
    }
}

impl Adjacent<'_> {
    fn word(&mut self, word: &str) -> Result<Option<&mut Word>> {
        if !self.words.contains_key(word) {
            let found = match self.index.numbered(word.as_bytes())? {
                Some((number, entry)) => {
                    let payload = self.positions.payload(number).of_class(BAD_POSITIONS)?;
                    let mut cursor = self.index.cursor(entry)?;
                    cursor.start();
                    Some(Word { cursor, payload })
                }
                None => None,
            };
            self.words.insert(word.to_owned(), found);
        }
        Ok(self.words.get_mut(word).and_then(Option::as_mut))
    }
}

impl Word {
    /// Replaces `out` by the positions of the word in a document; false if the document does not contain it.
    fn positions(&mut self, doc: u32, out: &mut Vec<u32>) -> Result<bool> {
        if self.cursor.doc() > doc {
            self.cursor.start();
        }
        self.cursor.seek(doc)?;
        if self.cursor.doc() != doc {
            return Ok(false);
        }
        let place = self.cursor.place()?;
        let block = positions::block(&self.payload, self.cursor.blocks(), place.block)?;
        positions::numbers(block, place.total, place.before, place.freq, out)?;
        positions::sum(out)?;
        Ok(true)
    }
}

/// Keeps the ascending `starts` that have a position `distance` tokens later, in the same field.
fn keep_followed(starts: &mut Vec<u32>, positions: &[u32], distance: u32) {
    let mut rest = positions.iter().peekable();
    starts.retain(|start| {
        let wanted = start.checked_add(distance).filter(|wanted| wanted >> TOKEN_BITS == start >> TOKEN_BITS);
        let Some(wanted) = wanted else { return false };
        while rest.next_if(|position| **position < wanted).is_some() {}
        rest.peek().is_some_and(|position| **position == wanted)
    });
}

/// The number of a field in positions: the order in which documents are indexed.
fn number(field: SearchField) -> u32 {
    match field {
        SearchField::Body => 0,
        SearchField::Title => 1,
        SearchField::Url => 3,
    }
}
