//! Cancellation from elsewhere: a signal handler, a server, another language.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::{Error, ErrorKind, Result};

/// A permanent cancellation of work. Clones are the same token.
///
/// Tokens form a tree: canceling one cancels every token derived from it and wakes everything that waits under it.
/// Parents and siblings are unaffected.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Node>);

#[derive(Default)]
struct Node {
    canceled: AtomicBool,
    below: Mutex<Below>,
    /// Kept alive: a token is reached from above through all nodes in between.
    _above: Vec<Arc<Node>>,
}

/// The children and wakers to notify when a token is canceled.
#[derive(Default)]
struct Below {
    children: Vec<Weak<Node>>,
    wakers: Vec<Weak<dyn Wake>>,
    /// The number of entries at which dropped ones are swept.
    sweep_at: usize,
}

/// A waiter that is notified of cancellation.
pub trait Wake: Send + Sync {
    /// Called once when the token is canceled, perhaps on a thread that must not block for long.
    fn wake(&self);
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("canceled", &self.is_canceled()).finish_non_exhaustive()
    }
}

impl CancelToken {
    /// A token under no other.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is canceled with this one, or alone. A child of a canceled token is canceled from the start.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self(Arc::new(Node { _above: vec![Arc::clone(&self.0)], ..Node::default() }));
        self.adopt(&child);
        child
    }

    /// A token that is canceled with this one, with `other`, or alone.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let above = vec![Arc::clone(&self.0), Arc::clone(&other.0)];
        let child = Self(Arc::new(Node { _above: above, ..Node::default() }));
        self.adopt(&child);
        other.adopt(&child);
        child
    }

    fn adopt(&self, child: &Self) {
        let mut below = self.0.lock();
        // Under the lock: either it is seen here, or `cancel` finds the child.
        if self.is_canceled() {
            child.0.canceled.store(true, Ordering::Relaxed);
        } else {
            below.sweep();
            below.children.push(Arc::downgrade(&child.0));
        }
    }

    /// Cancels this token and all derived ones.
    pub fn cancel(&self) {
        let mut nodes = vec![Arc::clone(&self.0)];
        while let Some(node) = nodes.pop() {
            let mut below = node.lock();
            node.canceled.store(true, Ordering::Release);
            let Below { children, wakers, .. } = std::mem::take(&mut *below);
            drop(below);
            nodes.extend(children.iter().filter_map(Weak::upgrade));
            wakers.iter().filter_map(Weak::upgrade).for_each(|waker| waker.wake());
        }
    }

    /// Whether it is canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.canceled.load(Ordering::Acquire)
    }

    /// Returns an error once the token is canceled.
    pub fn check(&self) -> Result<()> {
        if self.is_canceled() {
            return Err(Error::new(ErrorKind::Canceled, "the work was canceled"));
        }
        Ok(())
    }

    /// Wakes `waker` when this token is canceled; immediately if it already is. A dropped waker is forgotten.
    pub fn wake(&self, waker: &Arc<impl Wake + 'static>) {
        let mut below = self.0.lock();
        if self.is_canceled() {
            drop(below);
            return waker.wake();
        }
        below.sweep();
        let weak = Arc::downgrade(waker);
        below.wakers.push(weak);
    }

    /// Whether any cancelable work is in progress.
    pub fn is_used(&self) -> bool {
        let below = self.0.lock();
        below.children.iter().any(|child| child.strong_count() > 0)
            || below.wakers.iter().any(|waker| waker.strong_count() > 0)
    }
}

impl Node {
    fn lock(&self) -> MutexGuard<'_, Below> {
        self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Below {
    /// Removes dropped entries whenever their number has doubled.
    fn sweep(&mut self) {
        if self.children.len() + self.wakers.len() < self.sweep_at.max(16) {
            return;
        }
        self.children.retain(|child| child.strong_count() > 0);
        self.wakers.retain(|waker| waker.strong_count() > 0);
        self.sweep_at = 2 * (self.children.len() + self.wakers.len());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn canceling_reaches_all_below_and_nothing_else() {
        let root = CancelToken::new();
        let (left, right) = (root.child(), root.child());
        let leaf = left.child().child();
        let count = Arc::new(Count::default());
        leaf.wake(&count);
        left.cancel();
        left.cancel();
        assert!(left.is_canceled() && leaf.is_canceled() && left.child().is_canceled());
        assert!(!root.is_canceled() && !right.is_canceled());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        leaf.wake(&count);
        assert_eq!(count.0.load(Ordering::Relaxed), 2, "it is already canceled");
        assert_eq!(leaf.check().unwrap_err().kind(), ErrorKind::Canceled);
        root.cancel();
        assert!(right.is_canceled());
    }

    #[test]
    fn a_joined_token_ends_with_either() {
        for which in 0..2 {
            let roots = [CancelToken::new(), CancelToken::new()];
            let joined = roots[0].child().joined(&roots[1].child());
            assert!(!joined.is_canceled());
            roots[which].cancel();
            assert!(joined.is_canceled() && !roots[1 - which].is_canceled());
        }
    }

    #[test]
    fn tokens_that_are_gone_are_forgotten() {
        let root = CancelToken::new();
        let kept: Vec<CancelToken> = (0..10).map(|_| root.child()).collect();
        assert!(root.is_used());
        for _ in 0..10_000 {
            root.child().wake(&Arc::new(Count::default()));
            root.wake(&Arc::new(Count::default()));
        }
        let below = root.0.lock();
        assert!(below.children.len() + below.wakers.len() <= 64);
        drop(below);
        drop(kept);
        assert!(!root.is_used());
    }

    #[test]
    fn a_child_is_never_missed() {
        for _ in 0..200 {
            let root = CancelToken::new();
            let made = std::thread::scope(|scope| {
                let maker = scope.spawn(|| (0..50).map(|_| root.child()).collect::<Vec<_>>());
                root.cancel();
                maker.join().unwrap()
            });
            assert!(made.iter().all(CancelToken::is_canceled));
        }
    }
}
