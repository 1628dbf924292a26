//! Parallel loops for code that already runs on a driver's thread.
//!
//! A task, or work inside [`Driver::install`](super::Driver::install), runs on the threads of its driver, and these
//! functions use them. On any other thread they process one item after the other: nothing here ever starts a thread, so
//! `--threads` applies to everything below. Nested loops share the same threads; a thread that waits for an inner loop
//! works on other jobs of the pool.
//!
//! Items should take a few microseconds each; split long inputs into chunks.

#![expect(clippy::disallowed_methods, reason = "the only place that uses a rayon pool")]

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Enumerate;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Atomic};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

/// Shares of the items per thread: many, because items rarely cost the same.
const SHARES: usize = 16;

/// How many threads the loops below use on the calling thread: those of the driver, or one.
pub fn threads() -> usize {
    if is_on_pool() { rayon::current_num_threads() } else { 1 }
}

/// Without this check, rayon would start its own pool.
pub(super) fn is_on_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// Does `work` for all items; the results are in their order.
pub fn map<T, R>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R>
where
    T: Send,
    R: Send,
{
    map_with(items, || (), |(), item| work(item))
}

/// Like [`map`], with a state that each thread creates once and reuses, such as a buffer.
pub fn map_with<T, S, R>(
    items: impl IntoIterator<Item = T>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, T) -> R + Sync + Send,
) -> Vec<R>
where
    T: Send,
    R: Send,
{
    let items = items.into_iter();
    if threads() == 1 {
        let mut own = make();
        return items.map(|item| work(&mut own, item)).collect();
    }
    let items: Vec<T> = items.collect();
    if items.len() < 2 {
        let mut own = make();
        return items.into_iter().map(|item| work(&mut own, item)).collect();
    }
    let share = (items.len() / (threads() * SHARES)).max(1);
    items.into_par_iter().with_max_len(share).map_init(make, work).collect()
}

/// Does `work` for all items, or until one fails. The returned error does not depend on the threads: it is that of the
/// first failing item in order.
pub fn try_map<T, R, E>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E>
where
    T: Send,
    R: Send,
    E: Send,
{
    try_map_with(items, || (), |(), item| work(item))
}

/// Like [`try_map`], with a state that each thread creates once.
pub fn try_map_with<T, S, R, E>(
    items: impl IntoIterator<Item = T>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E>
where
    T: Send,
    R: Send,
    E: Send,
{
    if threads() == 1 {
        let mut own = make();
        return items.into_iter().map(|item| work(&mut own, item)).collect();
    }
    // Items after a failed one can be skipped; those before it cannot.
    let failed = AtomicUsize::new(usize::MAX);
    let done = map_with(items.into_iter().enumerate(), make, |own, (number, item)| {
        if number > failed.load(Atomic::Relaxed) {
            return None;
        }
        let result = work(own, item);
        if result.is_err() {
            failed.fetch_min(number, Atomic::Relaxed);
        }
        Some(result)
    });
    done.into_iter().flatten().collect()
}

/// Does `work` for all items.
pub fn for_each<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync + Send) {
    map(items, work);
}

/// Does `work` for all items, or until one fails; the error is that of the first failing item in order.
pub fn try_for_each<T: Send, E: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<(), E> + Sync + Send,
) -> Result<(), E> {
    try_map(items, work).map(drop)
}

/// Does `work` for all items and gives the results to `take`, in the order of the items: a thread that has finished the next one
/// does that, while the others go on. At most `ahead` items are started and not yet taken, but always one. The returned error is
/// that of the first item in order that fails or is not taken; no item after it is taken.
pub fn try_in_order<T, R, E>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    ahead: usize,
    work: impl Fn(T) -> Result<R, E> + Sync + Send,
    mut take: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E>
where
    T: Send,
    R: Send,
    E: Send,
{
    if threads() == 1 {
        return items.into_iter().try_for_each(|item| take(work(item)?));
    }
    let items = items.into_iter();
    // Further ones would find no item, or wait for a thread.
    let most = items.size_hint().1.unwrap_or(usize::MAX).min(threads() * SHARES);
    let line = Line {
        items: Mutex::new(items.enumerate()),
        done: Mutex::new((0, BTreeMap::new())),
        taking: Mutex::new((take, Ok(()))),
        failed: AtomicBool::new(false),
        work,
    };
    rayon::scope(|scope| {
        for _ in 0..ahead.max(1).min(most) {
            scope.spawn(|scope| line.step(scope));
        }
    });
    line.taking.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

/// Items that are worked on in any order and taken in theirs.
struct Line<I, W, F, R, E> {
    items: Mutex<Enumerate<I>>,
    done: Mutex<Done<R, E>>,
    /// Takes the results, and the end of it.
    taking: Mutex<(F, Result<(), E>)>,
    failed: AtomicBool,
    work: W,
}

/// The number of the next item to take, and the results that wait.
type Done<R, E> = (usize, BTreeMap<usize, Result<R, E>>);

impl<I, T, W, F, R, E> Line<I, W, F, R, E>
where
    I: Iterator<Item = T> + Send,
    W: Fn(T) -> Result<R, E> + Sync + Send,
    F: FnMut(R) -> Result<(), E> + Send,
    R: Send,
    E: Send,
{
    /// Works on one item, and starts as many others as can be taken.
    fn step<'s>(&'s self, scope: &Scope<'s>) {
        if self.failed.load(Atomic::Relaxed) {
            return;
        }
        let item = locked(&self.items).next();
        let Some((number, item)) = item else { return };
        let result = (self.work)(item);
        locked(&self.done).1.insert(number, result);
        while self.has_next() {
            // A thread that is taking looks again when it is done.
            let Ok(mut taking) = self.taking.try_lock() else { return };
            if taking.1.is_err() {
                return;
            }
            while let Some(result) = self.next() {
                let (take, end) = &mut *taking;
                if let Err(error) = result.and_then(take) {
                    *end = Err(error);
                    self.failed.store(true, Atomic::Relaxed);
                    return;
                }
                scope.spawn(move |scope| self.step(scope));
            }
        }
    }

    fn has_next(&self) -> bool {
        let done = locked(&self.done);
        done.1.contains_key(&done.0)
    }

    fn next(&self) -> Option<Result<R, E>> {
        let mut done = locked(&self.done);
        let number = done.0;
        let result = done.1.remove(&number)?;
        done.0 += 1;
        Some(result)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs both, concurrently if a thread is available.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if is_on_pool() { rayon::join(a, b) } else { (a(), b()) }
}

/// Sorts; equal items may change places.
pub fn sort_unstable_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync + Send) {
    if is_on_pool() { items.par_sort_unstable_by(compare) } else { items.sort_unstable_by(compare) }
}

#[cfg(test)]
mod tests {
    use super::super::{Driver, DriverOptions};
    use super::*;

    fn driver() -> Driver {
        Driver::try_new(&DriverOptions { threads: Some(3), memory: Some(1000) }).unwrap()
    }

    #[test]
    fn loops_give_the_same_on_a_pool_and_outside() {
        let work = || {
            let squares = map(0..1000_u64, |n| n * n);
            let sums = map_with(0..1000_u64, Vec::new, |scratch: &mut Vec<u64>, n| {
                scratch.push(n);
                n + u64::from(scratch.is_empty())
            });
            let nested = map(0..20_u64, |n| map(0..20_u64, |m| n * m).into_iter().sum::<u64>());
            let mut sorted: Vec<u64> = (0..1000).map(|n| n * 7919 % 1000).collect();
            sort_unstable_by(&mut sorted, u64::cmp);
            (squares, sums, nested, sorted, join(|| 1, || 2))
        };
        let here = work();
        assert_eq!(driver().install(work), here);
        assert!(here.3.iter().copied().eq(0..1000));
        assert_eq!(here.4, (1, 2));
    }

    #[test]
    fn the_first_error_in_order_comes_out() {
        let fails = |n: u32| if n % 100 == 57 { Err(n) } else { Ok(n) };
        let driver = driver();
        for _ in 0..50 {
            assert_eq!(driver.install(|| try_map(0..1000, fails)), Err(57));
            assert_eq!(driver.install(|| try_for_each(0..1000, |n| fails(n).map(drop))), Err(57));
        }
        assert_eq!(try_map(0..1000, fails), Err(57));
        assert!(driver.install(|| try_map(0..50, fails)).unwrap().into_iter().eq(0..50));
    }

    #[test]
    fn results_are_taken_in_order_and_not_far_ahead() {
        let driver = driver();
        for ahead in [1, 2, 3, 10, 1000, usize::MAX] {
            let (waiting, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut taken = Vec::new();
            let work = |n: u64| {
                most.fetch_max(waiting.fetch_add(1, Atomic::SeqCst) + 1, Atomic::SeqCst);
                // Some take longer than others, and use the threads themselves.
                let sum: u64 = map(0..n % 7 * 100, |k| k % 3).into_iter().sum();
                Ok::<_, u64>(n * 10 + sum / 1_000_000)
            };
            let take = |n: u64| {
                waiting.fetch_sub(1, Atomic::SeqCst);
                taken.push(n);
                Ok(())
            };
            driver.install(|| try_in_order(0..500, ahead, work, take)).unwrap();
            assert!(taken.into_iter().eq((0..500).map(|n| n * 10)));
            assert!(most.into_inner() <= ahead);
        }
    }

    #[test]
    fn the_first_failure_in_order_ends_the_line() {
        let driver = driver();
        let work = |n: u32| if n % 100 == 57 { Err(n) } else { Ok(n) };
        for _ in 0..50 {
            let mut taken = Vec::new();
            let mut take = |n| {
                taken.push(n);
                Ok(())
            };
            let end = driver.install(|| try_in_order(0..1000, 8, work, &mut take));
            assert_eq!(end, Err(57));
            assert!(taken.into_iter().eq(0..57));
            let refuse = |n| if n == 20 { Err(n) } else { Ok(()) };
            assert_eq!(driver.install(|| try_in_order(0..1000, 8, work, refuse)), Err(20));
        }
        let mut taken = 0;
        let take = |_| {
            taken += 1;
            Ok(())
        };
        assert_eq!(try_in_order(0..1000, 8, work, take), Err(57));
        assert_eq!(taken, 57);
    }

    #[test]
    fn nothing_is_taken_after_a_failure() {
        let driver = driver();
        for _ in 0..10 {
            let (started, refused) = (AtomicBool::new(false), AtomicBool::new(false));
            let wait_for = |flag: &AtomicBool| {
                while !flag.load(Atomic::SeqCst) {
                    std::thread::yield_now();
                }
            };
            // The second item starts before the first one is refused, and is done after that.
            let work = |n: u32| {
                if n == 0 {
                    wait_for(&started);
                } else {
                    started.store(true, Atomic::SeqCst);
                    wait_for(&refused);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Ok(n)
            };
            let mut taken = Vec::new();
            let take = |n| {
                taken.push(n);
                refused.store(true, Atomic::SeqCst);
                Err(n)
            };
            assert_eq!(driver.install(|| try_in_order(0..2, 2, work, take)), Err(0));
            assert_eq!(taken, [0]);
        }
    }

    #[test]
    fn the_threads_are_those_of_the_driver() {
        assert_eq!(threads(), 1);
        assert_eq!(driver().install(threads), 3);
        let names = driver().install(|| {
            map(0..100, |_| std::thread::current().name().unwrap_or_default().starts_with("tesselle-"))
        });
        assert!(names.into_iter().all(|ours| ours));
    }
}
