//! Evaluates a query to scored documents of one segment.

use std::collections::{BinaryHeap, HashMap};

use tesselle_core::Result;

use super::bm25::TermWeight;
use super::disjunction::{Clause, Disjunction, score};
use super::inverted::InvertedIndex;
use super::matcher;
use super::meta::LiveDocs;
use super::query::{Phrase, Query};
use super::statistics::Statistics;
use super::top::{Collector, Scored};

/// Decides whether a document contains a phrase.
pub(crate) trait Phrases {
    fn contains(&mut self, doc: u32, phrase: &Phrase) -> Result<bool>;
}

/// One query on one segment.
pub(crate) struct Retrieval<'a> {
    index: &'a InvertedIndex,
    query: &'a Query,
    terms: Disjunction<'a>,
}

impl<'a> Retrieval<'a> {
    /// Looks up the tokens. Only documents of `live` are found; `None`: all.
    pub(crate) fn try_new(
        index: &'a InvertedIndex,
        query: &'a Query,
        statistics: &Statistics,
        live: Option<&'a LiveDocs>,
    ) -> Result<Self> {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut tokens = Vec::new();
        let mut known: HashMap<&str, Option<usize>> = HashMap::new();
        for token in query.tokens() {
            let clause = if let Some(clause) = known.get(token) {
                *clause
            } else {
                let clause = match index.lookup(token.as_bytes())? {
                    Some(entry) => {
                        let weight = TermWeight::new(statistics.idf(token));
                        let cursor = index.cursor(entry)?;
                        let list_bound = weight.of(cursor.list_max());
                        clauses.push(Clause { cursor, weight, times: 0, list_bound });
                        Some(clauses.len() - 1)
                    }
                    None => None,
                };
                known.insert(token, clause);
                clause
            };
            if let Some(i) = clause {
                tokens.push(i);
                if let Some(clause) = clauses.get_mut(i) {
                    clause.times += 1;
                }
            }
        }
        Ok(Self { index, query, terms: Disjunction { clauses, tokens, live } })
    }

    /// Upper bound of the score of any document of the segment.
    pub(crate) fn bound(&self) -> f32 {
        self.terms.bound()
    }

    /// Passes every hit that may be kept to `collector`.
    pub(crate) fn run(mut self, collector: &mut impl Collector, phrases: &mut impl Phrases) -> Result<()> {
        if self.query.is_disjunction() {
            return Ok(self.terms.run(collector)?);
        }
        let mut docs = matcher::candidates(self.index, &self.query.root)?;
        if let Some(live) = self.terms.live {
            docs.retain(|&doc| live.contains(doc));
        }
        if !self.query.has_phrase() {
            return self.score_all(&docs, |hit| collector.collect(hit.doc, hit.score));
        }
        // Checking a phrase is expensive: check the best candidates first, until no other can be kept.
        let mut heap = BinaryHeap::with_capacity(docs.len());
        self.score_all(&docs, |hit| heap.push(hit))?;
        while let Some(hit) = heap.pop() {
            if !collector.admits(hit.score) {
                break;
            }
            let mut phrase = |phrase: &Phrase| phrases.contains(hit.doc, phrase);
            if matcher::accepts(self.index, &self.query.root, hit.doc, &mut phrase)? {
                collector.collect(hit.doc, hit.score);
            }
        }
        Ok(())
    }

    /// All documents that match, ascending.
    pub(crate) fn matching(&self, phrases: &mut impl Phrases) -> Result<Vec<u32>> {
        let mut docs = matcher::candidates(self.index, &self.query.root)?;
        if let Some(live) = self.terms.live {
            docs.retain(|&doc| live.contains(doc));
        }
        if !self.query.has_phrase() {
            return Ok(docs);
        }
        let mut matching = Vec::new();
        for doc in docs {
            let mut phrase = |phrase: &Phrase| phrases.contains(doc, phrase);
            if matcher::accepts(self.index, &self.query.root, doc, &mut phrase)? {
                matching.push(doc);
            }
        }
        Ok(matching)
    }

    /// Scores ascending documents.
    fn score_all(&mut self, docs: &[u32], mut take: impl FnMut(Scored)) -> Result<()> {
        let Disjunction { clauses, tokens, .. } = &mut self.terms;
        for clause in clauses.iter_mut() {
            clause.cursor.start();
        }
        for &doc in docs {
            for clause in clauses.iter_mut() {
                clause.cursor.seek(doc)?;
            }
            take(Scored { doc, score: score(clauses, tokens, doc)? });
        }
        Ok(())
    }
}
