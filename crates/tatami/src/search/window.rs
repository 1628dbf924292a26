//! Evaluates several terms, a window of documents at a time.
//!
//! Documents have no length here: the contribution of a term depends only on its frequency, and the skip
//! tables bound that inside a window. Lists that cannot be admitted even together are set aside (MaxScore).
//!
//! If one list remains, there is a frequency that a document must exceed in it. Postings above it are looked
//! up in the lists set aside, as long as the blocks there promise enough. If that would be too many, or
//! several lists remain, lists are summed into one sum per document, and only documents with large enough
//! sums are looked up in the lists that were not summed.

use tesselle_codec::Result;
use tesselle_core::Within;

use super::cursor::{END, PostingCursor};
use super::disjunction::{Clause, Disjunction};
use super::top::Collector;

/// Documents of the first window, and of the largest: small while little is known of the scores to beat. Few
/// in tests, so that small corpora have many windows.
const FIRST: u32 = if cfg!(test) { 32 } else { 128 };
const LARGEST: u32 = if cfg!(test) { 128 } else { 8192 };

/// A lookup of a document costs as much as summing about this many postings.
const LOOKUP: u64 = 8;

/// Higher levels are not distinguished.
const TOP_LEVEL: u32 = 64;

/// The bounds of a clause inside a window, from its skip table.
#[derive(Debug, Clone, Copy)]
struct ClauseBounds {
    clause: usize,
    max_freq: u32,
    /// Its max contribution, and that of all preceding ones together.
    bound: f32,
    before: f32,
    /// Documents up to this frequency cannot be admitted, or are not searched.
    level: u32,
}

/// A range of documents and how it is searched.
#[derive(Debug)]
struct DocumentWindow {
    base: u32,
    end: u32,
    /// Ascending by bound.
    parts: Vec<ClauseBounds>,
    /// How many of them are set aside.
    aside: usize,
    /// Per clause, a walk that only looks for large frequencies.
    scans: Vec<PostingCursor>,
    /// Per clause, its contribution to the score of the current document.
    adds: Vec<f32>,
    /// How many of those set aside, counted from the smallest, are not summed either.
    unread: usize,
    /// The sums of the summed lists by document.
    sums: Vec<f32>,
    /// Documents with large enough sums.
    found: [u64; LARGEST as usize / 64],
}

impl Disjunction<'_> {
    pub(super) fn run_many(&mut self, collector: &mut impl Collector) -> Result<()> {
        self.clauses.iter_mut().for_each(|clause| clause.cursor.start());
        let mut window = DocumentWindow {
            base: self.next_from(0),
            end: 0,
            parts: Vec::with_capacity(self.clauses.len()),
            aside: 0,
            scans: self.clauses.iter().map(|clause| clause.cursor.clone()).collect(),
            adds: vec![0.0; self.clauses.len()],
            unread: 0,
            sums: Vec::new(),
            found: [0; LARGEST as usize / 64],
        };
        let mut size = FIRST;
        while window.base != END {
            window.end = window.base.saturating_add(size);
            if self.plan(&mut window, collector) {
                match window.parts.within(window.unread..) {
                    &[only] => self.search_one(&mut window, only, collector)?,
                    _ => self.search_many(&mut window, collector)?,
                }
            }
            size = (size * 2).min(LARGEST);
            window.base = self.next_from(window.end);
        }
        Ok(())
    }

    /// The first document from `from` on that any list can contain.
    fn next_from(&mut self, from: u32) -> u32 {
        self.clauses.iter_mut().map(|clause| clause.cursor.bounds_in(from, from).1).min().unwrap_or(END)
    }

    /// Determines which frequencies matter inside the window; false if none does.
    fn plan(&mut self, window: &mut DocumentWindow, collector: &impl Collector) -> bool {
        window.parts.clear();
        for (i, clause) in self.clauses.iter_mut().enumerate() {
            let (max_freq, _) = clause.cursor.bounds_in(window.base, window.end);
            let bound = adds(clause, max_freq);
            window.parts.push(ClauseBounds { clause: i, max_freq, bound, before: 0.0, level: 0 });
        }
        window.parts.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        let (mut sum, mut aside, mut rest) = (0.0, None, 0.0);
        for (i, part) in window.parts.iter_mut().enumerate() {
            part.before = sum;
            sum += part.bound;
            if aside.is_none() && collector.admits(self.loosen(sum)) {
                (aside, rest) = (Some(i), part.before);
            }
        }
        let Some(aside) = aside else { return false };
        window.aside = aside;
        window.unread = aside;
        let single = aside + 1 == window.parts.len();
        for (i, part) in window.parts.iter_mut().enumerate() {
            let Some(clause) = self.clauses.get(part.clause) else { continue };
            // If a list is evaluated alone, documents of other lists do not matter.
            let others = if single && i == aside { rest } else { sum - part.bound };
            while part.level < part.max_freq.min(TOP_LEVEL)
                && !collector.admits(self.loosen(others + adds(clause, part.level + 1)))
            {
                part.level += 1;
            }
        }
        let Some(part) = window.parts.get(aside).filter(|_| single) else { return true };
        let Some(clause) = self.clauses.get(part.clause) else { return true };
        // Assume that every further occurrence halves the number of documents.
        let lookups = clause.cursor.docs() >> part.level.min(63);
        for part in window.parts.iter().take(aside).rev() {
            let postings = self.clauses.get(part.clause).map_or(0, |clause| clause.cursor.docs());
            if postings > lookups.saturating_mul(LOOKUP) {
                break;
            }
            window.unread -= 1;
        }
        true
    }

    /// Only one list can lead to documents: they are scored as they are found.
    fn search_one(
        &mut self,
        window: &mut DocumentWindow,
        part: ClauseBounds,
        collector: &mut impl Collector,
    ) -> Result<()> {
        let DocumentWindow { base, end, parts, aside, scans, adds, .. } = window;
        let Some(scan) = scans.get_mut(part.clause) else { return Ok(()) };
        let others = parts.within(..*aside);
        scan.above(*base, *end, part.level, |doc, freq| {
            adds.fill(0.0);
            let mut sum = 0.0;
            if let (Some(clause), Some(add)) = (self.clauses.get(part.clause), adds.get_mut(part.clause)) {
                *add = clause.weight.of(freq);
                sum = *add * clause.times as f32;
            }
            if self.could_be_admitted(others, doc, sum, adds, collector)? {
                self.score(doc, adds, collector);
            }
            Ok(())
        })
    }

    /// Adds lists up, then scores the documents whose sums are large enough.
    fn search_many(&mut self, window: &mut DocumentWindow, collector: &mut impl Collector) -> Result<()> {
        let DocumentWindow { base, end, parts, aside, unread, scans, adds, sums, found } = window;
        let (mut unread, mut added) = parts.split_at_checked(*unread).unwrap_or_default();
        let rest = added.first().map_or(0.0, |part| part.before);
        let (slack, least) = (self.loosen(1.0), collector.least());
        sums.clear();
        sums.resize((*end - *base) as usize, 0.0);
        for (i, part) in added.iter().enumerate() {
            let (Some(scan), Some(clause)) = (scans.get_mut(part.clause), self.clauses.get(part.clause))
            else {
                continue;
            };
            // Documents that are only in lists set aside are not needed; those of the others are, once their
            // sums are large enough, and the last list summed into a document completes the sum.
            let wanted = unread.len() + i >= *aside;
            scan.drain(*base, *end, part.level, |docs, freqs| {
                if wanted {
                    add_and_mark(docs, freqs, *base, clause, (rest, slack, least), sums, found);
                } else {
                    add(docs, freqs, *base, clause, sums);
                }
            })?;
        }
        // If many documents would have to be looked up, the list is summed, too.
        while let Some((part, others)) = unread.split_last() {
            let (Some(scan), Some(clause)) = (scans.get_mut(part.clause), self.clauses.get(part.clause))
            else {
                break;
            };
            let lookups: u32 = found.iter().map(|word| word.count_ones()).sum();
            if scan.postings_in(*base, *end) > u64::from(lookups) * LOOKUP {
                break;
            }
            scan.drain(*base, *end, part.level, |docs, freqs| add(docs, freqs, *base, clause, sums))?;
            unread = others;
            added = parts.within(others.len()..);
        }
        for (number, word) in found.iter_mut().take(sums.len().div_ceil(64)).enumerate() {
            let mut word = std::mem::take(word);
            while word != 0 {
                let at = number as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                let sum = sums.get(at as usize).copied().unwrap_or(0.0);
                adds.fill(0.0);
                if !self.could_be_admitted(unread, *base + at, sum, adds, collector)? {
                    continue;
                }
                for part in added {
                    let Some(clause) = self.clauses.get_mut(part.clause) else { continue };
                    if let Some(once) = clause.look_up(*base + at)?
                        && let Some(add) = adds.get_mut(part.clause)
                    {
                        *add = once;
                    }
                }
                self.score(*base + at, adds, collector);
            }
        }
        Ok(())
    }

    /// Looks a document up in the lists of `parts`, the most promising first, as long as it could be
    /// admitted; returns whether it still could. `sum` is the contribution of the other lists, `found`
    /// receives those of these.
    #[inline]
    fn could_be_admitted(
        &mut self,
        parts: &[ClauseBounds],
        doc: u32,
        mut sum: f32,
        found: &mut [f32],
        collector: &impl Collector,
    ) -> Result<bool> {
        let slack = self.loosen(1.0);
        for part in parts.iter().rev() {
            let Some(clause) = self.clauses.get_mut(part.clause) else { continue };
            let most = clause.cursor.most_at(doc);
            if !collector.admits((sum + adds(clause, most) + part.before) * slack) {
                return Ok(false);
            }
            if most > 0
                && let Some(once) = clause.look_up(doc)?
            {
                sum += once * clause.times as f32;
                if let Some(add) = found.get_mut(part.clause) {
                    *add = once;
                }
            }
        }
        Ok(collector.admits(sum * slack))
    }

    /// Scores a document in query order. A clause that does not contain it adds zero, which changes no bit.
    fn score(&self, doc: u32, found: &[f32], collector: &mut impl Collector) {
        let add = |clause: usize| found.get(clause).copied().unwrap_or(0.0);
        let score = self.tokens.iter().fold(0.0, |sum, token| sum + add(*token));
        if collector.admits(score) && self.live.is_none_or(|live| live.contains(doc)) {
            collector.collect(doc, score);
        }
    }
}

impl Clause {
    /// Its contribution to a document, if it contains the document. Must be called with ascending documents.
    #[inline]
    fn look_up(&mut self, doc: u32) -> Result<Option<f32>> {
        self.cursor.seek(doc)?;
        if self.cursor.doc() != doc {
            return Ok(None);
        }
        Ok(Some(self.weight.of(self.cursor.freq()?)))
    }
}

/// Adds the contributions of a clause to the sums of some documents, and marks those that reach `least`
/// together with what is not summed yet.
#[inline(never)]
fn add_and_mark(
    docs: &[u32],
    freqs: &[u32],
    base: u32,
    clause: &Clause,
    (rest, slack, least): (f32, f32, f32),
    sums: &mut [f32],
    found: &mut [u64],
) {
    let (weight, times) = (&clause.weight, clause.times as f32);
    for (&doc, &freq) in docs.iter().zip(freqs) {
        let at = (doc - base) as usize;
        let Some(sum) = sums.get_mut(at) else { return };
        *sum += weight.of(freq) * times;
        if (*sum + rest) * slack >= least
            && let Some(word) = found.get_mut(at / 64)
        {
            *word |= 1 << (at % 64);
        }
    }
}

/// Adds the contributions of a clause to the sums of some documents.
#[inline(never)]
fn add(docs: &[u32], freqs: &[u32], base: u32, clause: &Clause, sums: &mut [f32]) {
    let (weight, times) = (&clause.weight, clause.times as f32);
    for (&doc, &freq) in docs.iter().zip(freqs) {
        let Some(sum) = sums.get_mut((doc - base) as usize) else { return };
        *sum += weight.of(freq) * times;
    }
}

/// The most a clause can add to documents that contain it up to `freq` times.
fn adds(clause: &Clause, freq: u32) -> f32 {
    clause.weight.of(freq) * clause.times as f32
}
