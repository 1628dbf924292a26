//! Positions that this program computed itself.
//!
//! Lengths and offsets from files go through [`Cursor`](crate::Cursor) and are errors of the file. A position that the
//! program derived from checked geometry and that is outside of its slice is a defect, and must not turn into data:
//! [`At`] makes it an internal error with the caller's place, and [`Within`] asserts it in kernels, which cannot fail.

use std::panic::Location;
use std::slice::SliceIndex;

pub use tesselle_codec::Within;

use crate::{Error, Result};

/// Access to elements and ranges that must exist.
pub trait At<T> {
    /// Returns the element at `index`.
    fn at(&self, index: usize) -> Result<&T>;

    /// Returns the element at `index`, to be changed.
    fn at_mut(&mut self, index: usize) -> Result<&mut T>;

    /// Returns the elements of `range`.
    fn part<R: SliceIndex<[T], Output = [T]>>(&self, range: R) -> Result<&[T]>;

    /// Returns the elements of `range`, to be changed.
    fn part_mut<R: SliceIndex<[T], Output = [T]>>(&mut self, range: R) -> Result<&mut [T]>;
}

impl<T> At<T> for [T] {
    #[inline]
    #[track_caller]
    fn at(&self, index: usize) -> Result<&T> {
        match self.get(index) {
            Some(element) => Ok(element),
            None => Err(outside(self.len(), Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn at_mut(&mut self, index: usize) -> Result<&mut T> {
        let len = self.len();
        match self.get_mut(index) {
            Some(element) => Ok(element),
            None => Err(outside(len, Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn part<R: SliceIndex<[T], Output = [T]>>(&self, range: R) -> Result<&[T]> {
        match self.get(range) {
            Some(part) => Ok(part),
            None => Err(outside(self.len(), Location::caller())),
        }
    }

    #[inline]
    #[track_caller]
    fn part_mut<R: SliceIndex<[T], Output = [T]>>(&mut self, range: R) -> Result<&mut [T]> {
        let len = self.len();
        match self.get_mut(range) {
            Some(part) => Ok(part),
            None => Err(outside(len, Location::caller())),
        }
    }
}

#[cold]
fn outside(len: usize, place: &Location<'_>) -> Error {
    Error::internal(format!("a position is outside of {len} elements ({}:{})", place.file(), place.line()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_position_outside_is_an_internal_error_with_its_place() {
        let mut cells = [1, 2, 3];
        assert_eq!(*cells.at(2).unwrap(), 3);
        assert_eq!(cells.part(1..).unwrap(), [2, 3]);
        cells.part_mut(..1).unwrap().fill(7);
        *cells.at_mut(1).unwrap() = 8;
        assert_eq!(cells, [7, 8, 3]);
        let error = cells.at(3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("at.rs:"), "{error}");
        assert!(cells.part(2..4).is_err() && cells.part_mut(4..).is_err() && cells.at_mut(3).is_err());
    }
}
