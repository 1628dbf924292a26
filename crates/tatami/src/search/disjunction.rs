//! Documents that contain any of some terms, best first, without looking at those that cannot win.
//!
//! MaxScore over windows of documents: the skip tables say how much each term can add inside a window. Terms that
//! even together could not be admitted are left aside; the others are drained into sums, and only documents whose
//! sums could still be admitted are looked up in the lists left aside. What is collected equals scoring every
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
    /// The most it can add to any document, once.
    pub(crate) list_bound: f32,
}

/// The terms of a query and the order in which their contributions are added.
#[derive(Debug)]
pub(crate) struct Disjunction<'a> {
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Indices into `clauses`, one per token of the query that has postings, in query order.
    pub(crate) tokens: Vec<usize>,
    pub(crate) live: Option<&'a LiveDocs>,
}

impl Disjunction<'_> {
    /// Hands every document that may be kept to `collector`, in ascending order.
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

    /// The most that any document of the segment can score.
    pub(crate) fn bound(&self) -> f32 {
        let sum = self.clauses.iter().map(|clause| clause.list_bound * clause.times as f32).sum();
        self.loosen(sum)
    }

    /// A score that at least `k` documents reach by one term alone: adding the others cannot make it smaller. Lists are
    /// pruned by it from their first document on.
    fn sure(&self, k: usize) -> f32 {
        let of = |clause: &Clause<'_>| clause.cursor.reached_by(k).map_or(0.0, |freq| clause.weight.of(freq));
        self.clauses.iter().map(of).fold(0.0, f32::max)
    }

    /// Scores are sums of rounded numbers in query order, bounds are added in another; this much covers both.
    fn loosen(&self, sum: f32) -> f32 {
        sum * (1.0 + (2 * self.tokens.len() + 8) as f32 * f32::EPSILON)
    }

    /// One list: whole blocks are skipped or scored.
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

    fn run_many(&mut self, collector: &mut impl Collector) -> Result<()> {
        let mut window = Window::new(self.clauses.len());
        let mut base = END;
        for clause in &mut self.clauses {
            clause.cursor.start();
            base = base.min(clause.cursor.doc());
        }
        while base != END {
            window.base = base;
            window.end = base.saturating_add(WINDOW as u32);
            base = self.run_window(&mut window, collector)?;
        }
        Ok(())
    }

    /// Handles one window; gives the document where the next one starts.
    fn run_window(&mut self, window: &mut Window, collector: &mut impl Collector) -> Result<u32> {
        let end = window.end;
        let jump = match self.plan(window, collector) {
            Plan::Nothing => return Ok(self.next_from(end)),
            Plan::Essential { jump } => jump,
        };
        let mut first = END;
        for &(clause, _, _) in window.essential() {
            if let Some(clause) = self.clauses.get_mut(clause) {
                clause.cursor.seek(window.base)?;
                first = first.min(clause.cursor.doc());
            }
        }
        if first >= end {
            return Ok(if jump { first } else { self.next_from(end) });
        }
        self.drain(window)?;
        self.collect(window, collector)?;
        window.clear();
        Ok(end)
    }

    /// The first document from `from` on that any list can hold.
    fn next_from(&mut self, from: u32) -> u32 {
        self.clauses.iter_mut().map(|clause| clause.cursor.bounds_in(from, from).1).min().unwrap_or(END)
    }

    /// Orders the clauses by what they can add inside the window and sets aside as many as possible.
    fn plan(&mut self, window: &mut Window, collector: &impl Collector) -> Plan {
        window.order.clear();
        for (i, clause) in self.clauses.iter_mut().enumerate() {
            let (max_freq, _) = clause.cursor.bounds_in(window.base, window.end);
            window.order.push((i, most(clause, max_freq), 0.0));
        }
        window.order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (mut sum, mut lists) = (0.0, 0.0);
        window.aside = 0;
        for (i, bound, before) in &mut window.order {
            *before = sum;
            if collector.admits(self.loosen(sum + *bound)) {
                break;
            }
            sum += *bound;
            lists += self.clauses.get(*i).map_or(0.0, |clause| clause.list_bound * clause.times as f32);
            window.aside += 1;
        }
        if window.aside == window.order.len() {
            return Plan::Nothing;
        }
        // Where the lists set aside could be admitted elsewhere, no window must be jumped over.
        Plan::Essential { jump: !collector.admits(self.loosen(lists)) }
    }

    /// Adds up the essential clauses inside the window.
    fn drain(&mut self, window: &mut Window) -> Result<()> {
        let Window { base, end, order, aside, sums, parts, touched } = window;
        for &(number, _, _) in order.get(*aside..).unwrap_or_default() {
            let (Some(clause), Some(parts)) = (self.clauses.get_mut(number), parts.get_mut(number)) else {
                continue;
            };
            let Clause { cursor, weight, times, .. } = clause;
            let times = *times as f32;
            cursor.drain(*end, |doc, freq| {
                let at = (doc - *base) as usize;
                let once = weight.of(freq);
                if let (Some(part), Some(sum), Some(word)) =
                    (parts.get_mut(at), sums.get_mut(at), touched.get_mut(at / 64))
                {
                    *part = once;
                    *sum += once * times;
                    *word |= 1 << (at % 64);
                }
            })?;
        }
        Ok(())
    }

    /// Completes the documents that could be admitted.
    fn collect(&mut self, window: &mut Window, collector: &mut impl Collector) -> Result<()> {
        let rest = window.order.get(window.aside).map_or(0.0, |(_, _, before)| *before);
        let slack = self.loosen(1.0);
        for number in 0..window.touched.len() {
            let mut word = window.touched.get(number).copied().unwrap_or(0);
            while word != 0 {
                let at = number * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let sum = window.sums.get(at).copied().unwrap_or(0.0);
                if !collector.admits((sum + rest) * slack) {
                    continue;
                }
                let doc = window.base + at as u32;
                if self.live.is_none_or(|live| live.contains(doc)) {
                    self.complete(window, at, sum, collector)?;
                }
            }
        }
        Ok(())
    }

    /// Looks a document up in the lists set aside, the most promising first, and scores it in query order.
    fn complete(
        &mut self,
        window: &mut Window,
        at: usize,
        mut sum: f32,
        collector: &mut impl Collector,
    ) -> Result<()> {
        let doc = window.base + at as u32;
        let mut admitted = true;
        let aside = window.order.get(..window.aside).unwrap_or_default();
        for &(number, _, before) in aside.iter().rev() {
            let Some(clause) = self.clauses.get_mut(number) else { continue };
            clause.cursor.seek(doc)?;
            if clause.cursor.doc() == doc {
                let once = clause.weight.of(clause.cursor.freq()?);
                sum += once * clause.times as f32;
                if let Some(part) = window.parts.get_mut(number).and_then(|parts| parts.get_mut(at)) {
                    *part = once;
                }
            }
            if !collector.admits(self.loosen(sum + before)) {
                admitted = false;
                break;
            }
        }
        if admitted {
            // A clause that does not contain the document adds zero, which changes no bit.
            let part = |clause: usize| {
                window.parts.get(clause).and_then(|parts| parts.get(at)).copied().unwrap_or(0.0)
            };
            let score = self.tokens.iter().fold(0.0, |sum, token| sum + part(*token));
            if collector.admits(score) {
                collector.collect(doc, score);
            }
        }
        for &(number, _, _) in aside {
            if let Some(part) = window.parts.get_mut(number).and_then(|parts| parts.get_mut(at)) {
                *part = 0.0;
            }
        }
        Ok(())
    }
}

/// What a window is worth.
enum Plan {
    /// No document inside can be admitted.
    Nothing,
    /// Some clauses have to be drained; with `jump`, nothing can be admitted before their next document.
    Essential { jump: bool },
}

/// Documents that are added up together; few in tests, so that small corpora have many windows.
const WINDOW: usize = if cfg!(test) { 64 } else { 2048 };

/// Sums over a range of documents.
#[derive(Debug)]
struct Window {
    base: u32,
    end: u32,
    /// Clause, the most it adds inside the window, and what all before it add together; ascending by the second.
    order: Vec<(usize, f32, f32)>,
    /// How many of them are set aside.
    aside: usize,
    sums: Vec<f32>,
    /// Per clause, what it adds to each document.
    parts: Vec<Vec<f32>>,
    /// The documents that have a sum.
    touched: [u64; WINDOW / 64],
}

impl Window {
    fn new(clauses: usize) -> Self {
        Self {
            base: 0,
            end: 0,
            order: Vec::with_capacity(clauses),
            aside: 0,
            sums: vec![0.0; WINDOW],
            parts: vec![vec![0.0; WINDOW]; clauses],
            touched: [0; WINDOW / 64],
        }
    }

    fn essential(&self) -> &[(usize, f32, f32)] {
        self.order.get(self.aside..).unwrap_or_default()
    }

    /// Sets everything that was touched back to zero.
    fn clear(&mut self) {
        let essential: Vec<usize> = self.essential().iter().map(|(clause, _, _)| *clause).collect();
        for (number, word) in self.touched.iter_mut().enumerate() {
            if std::mem::take(word) == 0 {
                continue;
            }
            let range = number * 64..number * 64 + 64;
            if let Some(sums) = self.sums.get_mut(range.clone()) {
                sums.fill(0.0);
            }
            for clause in &essential {
                if let Some(parts) =
                    self.parts.get_mut(*clause).and_then(|parts| parts.get_mut(range.clone()))
                {
                    parts.fill(0.0);
                }
            }
        }
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
