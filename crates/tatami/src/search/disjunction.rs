//! Documents that contain any of some terms, best first, without looking at those that cannot win.
//!
//! Block-max WAND: every term has an upper bound of what it can add, for its whole list and for each block. The
//! walk stops only at documents whose terms together could still be admitted. What it collects equals scoring every
//! document (spec §22).

use tesselle_codec::Result;

use super::bm25::Weight;
use super::cursor::{END, PostingCursor};
use super::meta::LiveDocs;
use super::top::Collector;

/// One distinct term of a query.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    pub(crate) cursor: PostingCursor<'a>,
    pub(crate) weight: Weight,
    /// How often the query names it.
    pub(crate) times: u32,
}

/// The terms of a query and the order in which their contributions are added.
#[derive(Debug)]
pub(crate) struct Disjunction<'a> {
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Indices into `clauses`, one per token of the query that has postings, in query order.
    pub(crate) tokens: Vec<usize>,
    pub(crate) live: Option<&'a LiveDocs>,
}

/// A clause's share of what the walk sorts and compares.
#[derive(Debug, Clone, Copy)]
struct Lane {
    doc: u32,
    clause: usize,
    /// Most that the clause can add to any document.
    bound: f32,
}

impl Disjunction<'_> {
    /// Hands every document that may be kept to `collector`, in ascending order.
    pub(crate) fn run(&mut self, collector: &mut impl Collector) -> Result<()> {
        match self.clauses.len() {
            0 => Ok(()),
            1 => self.run_single(collector),
            _ => self.run_many(collector),
        }
    }

    /// The most that any document of the segment can score.
    pub(crate) fn bound(&self) -> f32 {
        let sum = self.clauses.iter().map(|c| most(c, c.cursor.list_max())).sum();
        self.loosen(sum)
    }

    /// Scores are sums of rounded numbers in query order, bounds are added in another; this much covers both.
    fn loosen(&self, sum: f32) -> f32 {
        sum * (1.0 + (2 * self.tokens.len() + 8) as f32 * f32::EPSILON)
    }

    fn is_live(&self, doc: u32) -> bool {
        self.live.is_none_or(|live| live.contains(doc))
    }

    /// One list: whole blocks are skipped or scored.
    fn run_single(&mut self, collector: &mut impl Collector) -> Result<()> {
        let (live, tokens) = (self.live, self.tokens.len());
        let slack = self.loosen(1.0);
        let Some(Clause { cursor, weight, times }) = self.clauses.first_mut() else { return Ok(()) };
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

    fn run_many(&mut self, collector: &mut impl Collector) -> Result<()> {
        let mut lanes = Vec::with_capacity(self.clauses.len());
        for (i, clause) in self.clauses.iter_mut().enumerate() {
            clause.cursor.start()?;
            let bound = most(clause, clause.cursor.list_max());
            lanes.push(Lane { doc: clause.cursor.doc(), clause: i, bound });
        }
        lanes.sort_by_key(|lane| lane.doc);
        while let Some((pivot, doc)) = self.pivot(&lanes, collector) {
            let end = match self.block_bound(&lanes[..=pivot], doc) {
                (bound, _) if collector.admits(self.loosen(bound)) => None,
                (_, end) => Some(end),
            };
            if let Some(end) = end {
                // Nothing before the end of the nearest block, or the next list's document, can be admitted.
                let next = lanes.get(pivot + 1).map_or(END, |lane| lane.doc);
                self.seek(&mut lanes, pivot, end.saturating_add(1).min(next))?;
            } else if lanes.first().is_some_and(|lane| lane.doc == doc) {
                if self.is_live(doc) {
                    let score = self.score(doc)?;
                    if collector.admits(score) {
                        collector.collect(doc, score);
                    }
                }
                self.seek(&mut lanes, pivot, doc + 1)?;
            } else {
                self.seek(&mut lanes, pivot, doc)?;
            }
        }
        Ok(())
    }

    /// The first lane, in document order, at which the bounds so far could be admitted, with all that stand on
    /// the same document; and that document.
    fn pivot(&self, lanes: &[Lane], collector: &impl Collector) -> Option<(usize, u32)> {
        let mut sum = 0.0;
        for (i, lane) in lanes.iter().enumerate() {
            if lane.doc == END {
                return None;
            }
            sum += lane.bound;
            if collector.admits(self.loosen(sum)) {
                let same = lanes[i + 1..].iter().take_while(|other| other.doc == lane.doc).count();
                return Some((i + same, lane.doc));
            }
        }
        None
    }

    /// The most that these lanes add to `doc`, from the blocks that would hold it, and where the first of them ends.
    fn block_bound(&mut self, lanes: &[Lane], doc: u32) -> (f32, u32) {
        let (mut sum, mut end) = (0.0, END);
        for lane in lanes {
            if let Some(clause) = self.clauses.get_mut(lane.clause) {
                let (max_freq, last) = clause.cursor.bounds_at(doc);
                sum += most(clause, max_freq);
                end = end.min(last);
            }
        }
        (sum, end)
    }

    /// The score of `doc`, in query order, from the cursors that stand on it.
    fn score(&mut self, doc: u32) -> Result<f32> {
        score(&mut self.clauses, &self.tokens, doc)
    }

    /// Moves the lanes up to `pivot` to `target` and restores the order.
    fn seek(&mut self, lanes: &mut [Lane], pivot: usize, target: u32) -> Result<()> {
        for lane in &mut lanes[..=pivot] {
            if lane.doc < target
                && let Some(clause) = self.clauses.get_mut(lane.clause)
            {
                clause.cursor.seek(target)?;
                lane.doc = clause.cursor.doc();
            }
        }
        // Few lanes, nearly in order.
        for i in 1..lanes.len() {
            let mut at = i;
            while at > 0 && lanes[at - 1].doc > lanes[at].doc {
                lanes.swap(at - 1, at);
                at -= 1;
            }
        }
        Ok(())
    }
}

/// The most a clause can add to documents that contain it up to `freq` times.
fn most(clause: &Clause<'_>, freq: u32) -> f32 {
    clause.weight.of(freq) * clause.times as f32
}

/// The score of `doc`, contributions added in query order, from the clauses that stand on it.
pub(crate) fn score(clauses: &mut [Clause<'_>], tokens: &[usize], doc: u32) -> Result<f32> {
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
