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
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

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
    fn the_threads_are_those_of_the_driver() {
        assert_eq!(threads(), 1);
        assert_eq!(driver().install(threads), 3);
        let names = driver().install(|| {
            map(0..100, |_| std::thread::current().name().unwrap_or_default().starts_with("tesselle-"))
        });
        assert!(names.into_iter().all(|ours| ours));
    }
}
