//! Copying stored bytes as they are.

use std::ops::Range;

use super::Driver;
use crate::error::Result;
use crate::storage::{Location, Staged};

/// Bytes copied at once.
const STEP: u64 = 8 << 20;

/// Appends a range of `source` to `target`, reports its bytes as progress, and ends when `driver` is canceled.
pub fn copy(source: &Location, range: Range<u64>, target: &mut dyn Staged, driver: &Driver) -> Result<()> {
    driver.progress().expect(range.end.saturating_sub(range.start));
    let mut at = range.start;
    while at < range.end {
        driver.check_canceled()?;
        let end = range.end.min(at.saturating_add(STEP));
        target.write(&source.read_range(at..end)?)?;
        driver.progress().advance(end - at);
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::driver::DriverOptions;
    use crate::error::ErrorKind;
    use crate::storage::MemoryStorage;

    #[test]
    fn a_copy_has_the_bytes_of_its_range_and_can_be_canceled() {
        let storage = Arc::new(MemoryStorage::new());
        let bytes: Vec<u8> = (0..2 * STEP + 9).map(|i| (i % 251) as u8).collect();
        storage.put("a", bytes.clone());
        let [from, to] = ["a", "b"].map(|name| Location::new(storage.clone(), name));
        let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
        let mut staged = to.create(true).unwrap();
        copy(&from, 5..bytes.len() as u64 - 1, &mut *staged, &driver).unwrap();
        staged.commit().unwrap();
        assert_eq!(to.read_range(0..to.size().unwrap()).unwrap(), bytes[5..bytes.len() - 1]);
        driver.cancel();
        let mut staged = to.create(true).unwrap();
        let error = copy(&from, 0..1, &mut *staged, &driver).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Canceled);
    }
}
