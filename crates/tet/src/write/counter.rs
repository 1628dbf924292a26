//! Tracking of row coordinates: whether they are row-major, and their shape.

use tesselle_core::{Action, Error, Result, Within};

/// Checks that coordinates run through a box in row-major order, and determines the extents that were not given.
#[derive(Debug, Clone)]
pub(super) struct CellCounter {
    origin: Vec<i64>,
    last: Vec<i64>,
    extents: Vec<Option<u64>>,
    started: bool,
}

impl CellCounter {
    /// A tracker for this many axes, whose extents may be known.
    pub(super) fn new(rank: usize, shape: Option<&[u64]>) -> Self {
        let extents = (0..rank).map(|axis| shape.and_then(|shape| shape.get(axis).copied())).collect();
        Self { origin: vec![0; rank], last: vec![0; rank], extents, started: false }
    }

    /// Takes the coordinates of `rows` rows, one slice per axis.
    pub(super) fn advance(&mut self, columns: &[&[i64]], rows: usize) -> Result<()> {
        (0..rows).try_for_each(|row| self.step(columns, row))
    }

    fn step(&mut self, columns: &[&[i64]], row: usize) -> Result<()> {
        let coordinate = |axis: usize| columns[axis].value(row);
        if !self.started {
            self.started = true;
            self.origin = (0..columns.len()).map(coordinate).collect();
            self.last.clone_from(&self.origin);
            return Ok(());
        }
        let mut axis = columns.len();
        // From the last axis on: it counts up, or restarts and carries to the axis before it.
        while axis > 0 {
            axis -= 1;
            let (now, last, origin) = (coordinate(axis), self.last[axis], self.origin[axis]);
            let extent = last.wrapping_sub(origin).cast_unsigned().wrapping_add(1);
            let ended = self.extents[axis].is_some_and(|known| known == extent);
            if last.checked_add(1) == Some(now) && !ended {
                let still = (0..axis).all(|before| coordinate(before) == self.last[before]);
                if still {
                    self.last[axis] = now;
                    return Ok(());
                }
                break;
            }
            if now != origin || self.extents[axis].is_some_and(|known| known != extent) || axis == 0 {
                break;
            }
            self.extents[axis] = Some(extent);
            self.last[axis] = origin;
        }
        let found: Vec<i64> = (0..columns.len()).map(coordinate).collect();
        Err(Error::invalid(format!(
            "the coordinates {found:?} do not follow the row before in row-major order"
        ))
        .suggest(
            "sort the rows by their axis columns, or add {} to place them by coordinate",
            [Action::setting("order", "any")],
        ))
    }

    /// The coordinates of the first row.
    pub(super) fn origin(&self) -> &[i64] {
        &self.origin
    }

    /// The shape of the coordinates; an error if they stop in the middle.
    pub(super) fn finish(&self) -> Result<Vec<u64>> {
        if !self.started {
            return Ok(self.extents.iter().map(|extent| extent.unwrap_or(0)).collect());
        }
        let made = self.last.iter().zip(&self.origin).zip(&self.extents).map(|((last, origin), known)| {
            let reached = last.wrapping_sub(*origin).cast_unsigned().wrapping_add(1);
            match known {
                Some(known) if *known != reached => Err(Error::invalid(format!(
                    "the rows end at the coordinates {:?}, in the middle of the array",
                    self.last
                ))),
                _ => Ok(reached),
            }
        });
        made.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shape: Option<&[u64]>, rows: &[[i64; 2]]) -> Result<Vec<u64>> {
        let columns: Vec<Vec<i64>> = (0..2).map(|axis| rows.iter().map(|row| row[axis]).collect()).collect();
        let columns: Vec<&[i64]> = columns.iter().map(Vec::as_slice).collect();
        let mut counter = CellCounter::new(2, shape);
        counter.advance(&columns, rows.len())?;
        counter.finish()
    }

    #[test]
    fn shapes_are_learnt_from_coordinates() {
        assert_eq!(run(None, &[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]).unwrap(), [3, 2]);
        assert_eq!(run(None, &[[5, 7], [5, 8], [5, 9]]).unwrap(), [1, 3]);
        assert_eq!(run(None, &[[0, 0], [1, 0], [2, 0]]).unwrap(), [3, 1]);
        assert_eq!(run(Some(&[2, 2]), &[[0, 0], [0, 1], [1, 0], [1, 1]]).unwrap(), [2, 2]);
        assert_eq!(run(None, &[]).unwrap(), [0, 0]);
    }

    #[test]
    fn other_orders_and_holes_are_refused() {
        for rows in [
            &[[0, 0], [1, 0], [0, 1], [1, 1]][..],
            &[[0, 0], [0, 2]],
            &[[0, 0], [0, 1], [1, 0], [2, 0]],
            &[[0, 0], [0, 1], [1, 0]],
            &[[0, 0], [0, 0]],
            &[[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]],
        ] {
            assert!(run(None, rows).is_err(), "{rows:?}");
        }
        assert!(run(Some(&[1, 2]), &[[0, 0], [0, 1], [1, 0], [1, 1]]).is_err());
        assert!(run(Some(&[2, 2]), &[[0, 0], [0, 1]]).is_err());
    }
}
