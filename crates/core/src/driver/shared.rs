//! The process-wide default driver.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Driver, DriverOptions, parallel};
use crate::error::Result;

/// The driver of this process, and those of the processes it was forked from. Threads do not survive a fork, so a child
/// never uses the driver of its parent. It does not drop it either, because that would signal threads that no longer
/// exist.
static DRIVERS: Mutex<Vec<(u32, Driver)>> = Mutex::new(Vec::new());

/// Returns the process-wide driver, used by calls without a driver. It starts on first use, with one thread per core
/// and a quarter of the free memory. A forked process starts its own.
pub fn default_driver() -> Result<Driver> {
    if let Some(driver) = own(&lock()) {
        return Ok(driver);
    }
    // The threads start outside the lock, so that a concurrent fork does not inherit it locked for long.
    let driver = Driver::try_new(&DriverOptions::default())?;
    let mut drivers = lock();
    // Another thread may have been faster: all use the same driver.
    Ok(own(&drivers).unwrap_or_else(|| {
        drivers.push((process::id(), driver.clone()));
        driver
    }))
}

/// Replaces the process-wide driver, for calls that start after this one. Calls in progress keep theirs.
pub fn set_default_driver(driver: Driver) {
    let mut drivers = lock();
    let id = process::id();
    let replaced = drivers.iter().position(|(process, _)| *process == id).map(|at| drivers.swap_remove(at));
    drivers.push((id, driver));
    drop(drivers);
    // Its threads end here, outside the lock.
    drop(replaced);
}

/// Does `work` for all items on the threads of the driver that the calling thread belongs to, or on those of the process-wide
/// driver; the returned error is that of the first failing item in order.
pub fn try_map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T> + Send,
    work: impl Fn(T) -> Result<R> + Sync + Send,
) -> Result<Vec<R>> {
    if parallel::is_on_pool() {
        parallel::try_map(items, work)
    } else {
        default_driver()?.try_map(items, work)
    }
}

fn own(drivers: &[(u32, Driver)]) -> Option<Driver> {
    let id = process::id();
    drivers.iter().find(|(process, _)| *process == id).map(|(_, driver)| driver.clone())
}

fn lock() -> MutexGuard<'static, Vec<(u32, Driver)>> {
    DRIVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_default_driver_is_one_and_can_be_replaced() {
        let first = default_driver().unwrap();
        assert!(Arc::ptr_eq(first.budget(), default_driver().unwrap().budget()));
        let other = Driver::try_new(&DriverOptions { threads: Some(3), memory: Some(1 << 20) }).unwrap();
        set_default_driver(other.clone());
        assert!(Arc::ptr_eq(other.budget(), default_driver().unwrap().budget()));
        assert_eq!(default_driver().unwrap().threads(), 3);
    }

    #[test]
    fn work_stays_on_the_driver_that_it_runs_on() {
        let driver = Driver::try_new(&DriverOptions { threads: Some(7), memory: Some(1 << 20) }).unwrap();
        let threads = driver.install(|| try_map([(); 2], |()| Ok(parallel::threads())));
        assert_eq!(threads.unwrap(), [7, 7]);
    }

    #[test]
    fn a_driver_of_another_process_is_not_used() {
        let foreign = Driver::try_new(&DriverOptions { threads: Some(1), memory: Some(1 << 20) }).unwrap();
        let drivers = [(process::id().wrapping_add(1), foreign)];
        assert!(own(&drivers).is_none());
    }
}
