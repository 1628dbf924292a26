//! Keeping the best hits.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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

/// Takes hits and says which scores still matter.
pub(crate) trait Collector {
    /// Whether a document not yet seen, whose score is at most `bound`, could be kept.
    ///
    /// Documents come in ascending order; the walk may skip whatever is not admitted.
    fn admits(&self, bound: f32) -> bool;

    fn collect(&mut self, doc: u32, score: f32);
}

/// The k best documents: score descending, then document ascending.
#[derive(Debug)]
pub(crate) struct TopDocs {
    k: usize,
    heap: BinaryHeap<Reverse<Scored>>,
}

impl TopDocs {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    pub(crate) fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect()
    }
}

impl Collector for TopDocs {
    #[inline]
    fn admits(&self, bound: f32) -> bool {
        // An equal score loses: its document comes later.
        self.heap.len() < self.k || self.heap.peek().is_some_and(|Reverse(worst)| bound > worst.score)
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

/// Everything whose score reaches the k-th best: ties at the end are all kept, for somebody else to break.
#[derive(Debug)]
pub(crate) struct TopScores {
    k: usize,
    /// The k best scores, as order-preserving bits of non-negative floats.
    best: BinaryHeap<Reverse<u32>>,
    segment: usize,
    hits: Vec<(usize, Scored)>,
    prune_at: usize,
}

impl TopScores {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, best: BinaryHeap::new(), segment: 0, hits: Vec::new(), prune_at: 1024 }
    }

    /// Hits collected from here on belong to this segment.
    pub(crate) fn enter(&mut self, segment: usize) {
        self.segment = segment;
    }

    /// The hits that reach the k-th best score, in no order.
    pub(crate) fn into_hits(mut self) -> Vec<(usize, Scored)> {
        self.prune();
        self.hits
    }

    fn threshold(&self) -> f32 {
        match self.best.peek() {
            Some(Reverse(bits)) if self.best.len() >= self.k => f32::from_bits(*bits),
            _ => f32::NEG_INFINITY,
        }
    }

    fn prune(&mut self) {
        let threshold = self.threshold();
        self.hits.retain(|(_, hit)| hit.score >= threshold);
        self.prune_at = (self.hits.len() * 2).max(1024);
    }
}

impl Collector for TopScores {
    #[inline]
    fn admits(&self, bound: f32) -> bool {
        self.k > 0 && bound >= self.threshold()
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
        if self.hits.len() >= self.prune_at {
            self.prune();
        }
    }
}
