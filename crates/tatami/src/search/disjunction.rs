//! Documents that contain any of some terms, best first, skipping those that cannot win.
//!
//! A single term is evaluated block by block, several window by window (`window.rs`). The result equals
//! scoring every document (spec §22).

use tesselle_codec::Result;

use super::bm25::TermWeight;
use super::cursor::PostingCursor;
use super::meta::LiveDocs;
use super::top::Collector;

/// One distinct term of a query.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) cursor: PostingCursor,
    pub(crate) weight: TermWeight,
    /// How often the query contains it.
    pub(crate) times: u32,
    /// Its max contribution to any document, per occurrence in the query.
    pub(crate) list_bound: f32,
}

/// The terms of a query and the order in which their contributions are added.
#[derive(Debug)]
pub(crate) struct Disjunction<'a> {
    pub(crate) clauses: Vec<Clause>,
    /// Indices into `clauses`, one per token of the query that has postings, in query order.
    pub(crate) tokens: Vec<usize>,
    pub(crate) live: Option<&'a LiveDocs>,
}

impl Disjunction<'_> {
    /// Passes every document that may be kept to `collector`, in ascending order.
    pub(crate) fn run(&mut self, collector: &mut impl Collector) -> Result<()> {
        if self.live.is_none() {
            collector.expect(self.sure(collector.wanted()));
        }
        match self.clauses.len() {
            0 => Ok(()),
            1 => self.run_single(collector),
            _ => self.run_many(collector),
        }
    }

    /// Upper bound of the score of any document of the segment.
    pub(crate) fn bound(&self) -> f32 {
        let sum = self.clauses.iter().map(|clause| clause.list_bound * clause.times as f32).sum();
        self.loosen(sum)
    }

    /// A score that at least `k` documents reach by one term alone: the other terms cannot lower it. Prunes
    /// lists from their first document on.
    fn sure(&self, k: usize) -> f32 {
        let of = |clause: &Clause| clause.cursor.reached_by(k).map_or(0.0, |freq| clause.weight.of(freq));
        self.clauses.iter().map(of).fold(0.0, f32::max)
    }

    /// Scores are sums of rounded numbers in query order, bounds are summed in another order; this factor
    /// covers both.
    pub(super) fn loosen(&self, sum: f32) -> f32 {
        sum * (1.0 + (2 * self.tokens.len() + 8) as f32 * f32::EPSILON)
    }

    /// Evaluates one list: whole blocks are skipped or scored.
    fn run_single(&mut self, collector: &mut impl Collector) -> Result<()> {
        let (live, tokens) = (self.live, self.tokens.len());
        let slack = self.loosen(1.0);
        let Some(Clause { cursor, weight, times, .. }) = self.clauses.first_mut() else { return Ok(()) };
        for block in 0..cursor.blocks() {
            let Some((_, _, max_freq)) = cursor.block_bounds(block) else { break };
            if !collector.admits(weight.of(max_freq) * *times as f32 * slack) {
                continue;
            }
            let (docs, freqs) = cursor.read_block(block)?;
            for (&doc, &freq) in docs.iter().zip(freqs) {
                let once = weight.of(freq);
                let score = (1..tokens).fold(once, |sum, _| sum + once);
                if collector.admits(score) && live.is_none_or(|live| live.contains(doc)) {
                    collector.collect(doc, score);
                }
            }
        }
        Ok(())
    }
}

/// The score of `doc`, contributions added in query order, from the clauses that stand on it.
pub(crate) fn score(clauses: &mut [Clause], tokens: &[usize], doc: u32) -> Result<f32> {
    let mut sum = 0.0;
    for &token in tokens {
        if let Some(clause) = clauses.get_mut(token)
            && clause.cursor.doc() == doc
        {
            let freq = clause.cursor.freq()?;
            sum += clause.weight.of(freq);
        }
    }
    Ok(sum)
}
