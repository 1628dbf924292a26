//! Ranges that a kernel knows to be in bounds.
//!
//! A kernel is handed slices whose lengths its caller checked, and has no error to return. A range outside of its slice
//! is a defect: it fails an assertion in builds with debug assertions, which all tests and fuzzers are.

use std::slice::SliceIndex;

/// Access to ranges that are in bounds unless the program has a defect.
pub trait Within<T> {
    /// Returns the elements of `range`.
    fn within<R: SliceIndex<[T], Output = [T]>>(&self, range: R) -> &[T];

    /// Returns the elements of `range`, to be changed.
    fn within_mut<R: SliceIndex<[T], Output = [T]>>(&mut self, range: R) -> &mut [T];

    /// Returns a copy of the element at `index`.
    fn value(&self, index: usize) -> T
    where
        T: Copy + Default;
}

impl<T> Within<T> for [T] {
    #[inline]
    #[track_caller]
    fn within<R: SliceIndex<[T], Output = [T]>>(&self, range: R) -> &[T] {
        let part = self.get(range);
        debug_assert!(part.is_some(), "a range is outside of {} elements", self.len());
        part.unwrap_or_default()
    }

    #[inline]
    #[track_caller]
    fn within_mut<R: SliceIndex<[T], Output = [T]>>(&mut self, range: R) -> &mut [T] {
        let len = self.len();
        let part = self.get_mut(range);
        debug_assert!(part.is_some(), "a range is outside of {len} elements");
        part.unwrap_or_default()
    }

    #[inline]
    #[track_caller]
    fn value(&self, index: usize) -> T
    where
        T: Copy + Default,
    {
        debug_assert!(index < self.len(), "index {index} is outside of {} elements", self.len());
        self.get(index).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_bounds_are_returned() {
        let mut cells = [1, 2, 3];
        assert_eq!(cells.within(1..), [2, 3]);
        assert_eq!(cells.value(0), 1);
        cells.within_mut(..2).fill(9);
        assert_eq!(cells, [9, 9, 3]);
    }

    #[test]
    #[should_panic(expected = "outside of 3 elements")]
    fn a_range_outside_fails_the_assertion() {
        [1, 2, 3].within(2..4);
    }
}
