//! Collectors of the best hits.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, Ordering as Memory};

/// A scored document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    pub(crate) doc: u32,
    pub(crate) score: f32,
}

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scored {
    /// The better hit is the greater: higher score, then lower document.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.doc.cmp(&self.doc))
    }
}

/// Collects hits and determines which scores can still be kept.
pub(crate) trait Collector {
    /// Whether an unseen document with a score of at most `bound` could be kept.
    ///
    /// Documents arrive in ascending order; the caller may skip documents that are not admitted.
    fn admits(&self, bound: f32) -> bool;

    /// The smallest admitted score.
    fn least(&self) -> f32;

    fn collect(&mut self, doc: u32, score: f32);

    /// The number of requested hits.
    fn wanted(&self) -> usize;

    /// Records that as many documents as requested, none of them collected yet, will reach `score`.
    fn expect(&mut self, score: f32);
}

/// The k best documents: score descending, then document ascending.
#[derive(Debug)]
pub(crate) struct TopDocs {
    k: usize,
    /// A lower bound of the score of the worst hit.
    least: f32,
    heap: BinaryHeap<Reverse<Scored>>,
}

impl TopDocs {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, least: 0.0, heap: BinaryHeap::new() }
    }

    pub(crate) fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect()
    }
}

impl Collector for TopDocs {
    #[inline]
    fn admits(&self, bound: f32) -> bool {
        if self.heap.len() < self.k {
            return bound >= self.least;
        }
        // An equal score loses: its document comes later.
        self.heap.peek().is_some_and(|Reverse(worst)| bound > worst.score)
    }

    fn least(&self) -> f32 {
        if self.heap.len() < self.k {
            return self.least;
        }
        self.heap.peek().map_or(f32::INFINITY, |Reverse(worst)| worst.score.next_up())
    }

    fn wanted(&self) -> usize {
        self.k
    }

    fn expect(&mut self, score: f32) {
        self.least = self.least.max(score);
    }

    fn collect(&mut self, doc: u32, score: f32) {
        if self.heap.len() < self.k {
            self.heap.push(Reverse(Scored { doc, score }));
        } else if let Some(mut worst) = self.heap.peek_mut() {
            let hit = Scored { doc, score };
            if hit > worst.0 {
                *worst = Reverse(hit);
            }
        }
    }
}

/// A score that `k` documents are known to reach, shared by concurrent searches.
///
/// It only increases. A stale value causes a few more documents to be evaluated, never fewer.
#[derive(Debug, Default)]
pub(crate) struct Floor(AtomicU32);

impl Floor {
    fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Memory::Relaxed))
    }

    fn raise(&self, score: f32) {
        // The bits of non-negative floats have the order of the floats.
        self.0.fetch_max(score.to_bits(), Memory::Relaxed);
    }
}

/// All hits that reach the k-th best score: ties at the end are all kept, for the caller to break.
#[derive(Debug)]
pub(crate) struct TopScores<'f> {
    k: usize,
    floor: &'f Floor,
    /// The k best scores, as order-preserving bits of non-negative floats.
    best: BinaryHeap<Reverse<u32>>,
    segment: usize,
    hits: Vec<(usize, Scored)>,
    prune_at: usize,
}

impl<'f> TopScores<'f> {
    pub(crate) fn new(k: usize, floor: &'f Floor) -> Self {
        Self { k, floor, best: BinaryHeap::new(), segment: 0, hits: Vec::new(), prune_at: 1024 }
    }

    /// Sets the segment of the hits collected from now on.
    pub(crate) fn enter(&mut self, segment: usize) {
        self.segment = segment;
    }

    /// The hits that reach the k-th best score, in no order.
    pub(crate) fn into_hits(mut self) -> Vec<(usize, Scored)> {
        self.prune();
        self.hits
    }

    /// Merges the hits of a collector that shared the floor.
    pub(crate) fn absorb(&mut self, hits: Vec<(usize, Scored)>) {
        for (segment, hit) in hits {
            self.segment = segment;
            self.collect(hit.doc, hit.score);
        }
    }

    /// The k-th best of these scores.
    fn own_threshold(&self) -> Option<f32> {
        let worst = self.best.peek().filter(|_| self.best.len() >= self.k);
        worst.map(|Reverse(bits)| f32::from_bits(*bits))
    }

    fn threshold(&self) -> f32 {
        self.floor.get()
    }

    fn prune(&mut self) {
        let threshold = self.threshold();
        self.hits.retain(|(_, hit)| hit.score >= threshold);
        self.prune_at = (self.hits.len() * 2).max(1024);
    }
}

impl Collector for TopScores<'_> {
    #[inline]
    fn admits(&self, bound: f32) -> bool {
        self.k > 0 && bound >= self.threshold()
    }

    fn least(&self) -> f32 {
        if self.k > 0 { self.threshold() } else { f32::INFINITY }
    }

    fn wanted(&self) -> usize {
        self.k
    }

    fn expect(&mut self, score: f32) {
        self.floor.raise(score);
    }

    fn collect(&mut self, doc: u32, score: f32) {
        if !self.admits(score) {
            return;
        }
        self.hits.push((self.segment, Scored { doc, score }));
        self.best.push(Reverse(score.max(0.0).to_bits()));
        if self.best.len() > self.k {
            self.best.pop();
        }
        if let Some(score) = self.own_threshold() {
            self.floor.raise(score);
        }
        if self.hits.len() >= self.prune_at {
            self.prune();
        }
    }
}
