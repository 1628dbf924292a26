//! A run of decoded points with ascending, distinct times.

use std::sync::Arc;

use tesselle_core::{At, Result, Within};

use super::column::{DecodedValues, NONE};

/// Points of one or more columns at common times.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Ascending and distinct once [`Run::normalize`] has run.
    pub(crate) times: Arc<Vec<i64>>,
    /// The columns.
    pub(crate) columns: Vec<RunColumn>,
    /// Rows before this one are consumed.
    pub(crate) position: usize,
    /// Rows from this one on belong to another task.
    pub(crate) end: usize,
    /// Whether the times are known to be ascending and distinct.
    pub(crate) ordered: bool,
}

/// One column of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunColumn {
    /// The values.
    pub(crate) values: DecodedValues,
    /// For each row the index of its value, or [`NONE`]; absent if they are one to one.
    pub(crate) picks: Option<Vec<u32>>,
}

/// Whether times are ascending and distinct. Counts instead of stopping early: almost always they are.
pub(crate) fn is_ascending(times: &[i64]) -> bool {
    times.iter().zip(times.iter().skip(1)).filter(|(a, b)| a >= b).count() == 0
}

impl Run {
    /// A run at these times.
    pub(crate) fn new(times: Arc<Vec<i64>>, columns: Vec<RunColumn>) -> Self {
        let end = times.len();
        Self { times, columns, position: 0, end, ordered: false }
    }

    /// The remaining times.
    pub(crate) fn rest(&self) -> &[i64] {
        self.times.within(self.position..self.end)
    }

    /// Whether no row is consumed or another task's, and all rows have all values.
    pub(crate) fn is_whole(&self) -> bool {
        self.position == 0 && self.end == self.times.len() && self.columns.iter().all(|c| c.picks.is_none())
    }

    /// Sorts the rows by time; of rows at the same time the last one wins.
    pub(crate) fn normalise(&mut self) -> Result<()> {
        if self.ordered || is_ascending(&self.times) {
            return Ok(());
        }
        let mut order: Vec<u32> = (0..self.times.len() as u32).collect();
        let at = |row: u32| self.times.value(row as usize);
        order.sort_by_key(|row| at(*row));
        let kept: Vec<u32> = order
            .iter()
            .zip(order.iter().skip(1).map(Some).chain(std::iter::once(None)))
            .filter(|(row, next)| next.is_none_or(|next| at(**row) != at(*next)))
            .map(|(row, _)| *row)
            .collect();
        self.keep(&kept)
    }

    /// Drops the rows in `deleted`, which is ascending.
    pub(crate) fn delete(&mut self, deleted: &[(i64, i64)]) -> Result<()> {
        let hits = |time: i64| deleted.iter().any(|(from, to)| (*from..=*to).contains(&time));
        if deleted.is_empty() || !self.times.iter().any(|t| hits(*t)) {
            return Ok(());
        }
        let rows = self.times.iter().enumerate().filter(|(_, t)| !hits(**t)).map(|(row, _)| row as u32);
        let kept: Vec<u32> = rows.collect();
        self.keep(&kept)
    }

    /// Keeps only these rows, in this order.
    fn keep(&mut self, rows: &[u32]) -> Result<()> {
        let times = rows.iter().map(|row| self.times.at(*row as usize).copied());
        self.times = Arc::new(times.collect::<Result<_>>()?);
        self.end = self.times.len();
        for column in &mut self.columns {
            match &mut column.picks {
                Some(picks) => {
                    let kept = rows.iter().map(|row| picks.at(*row as usize).copied());
                    *picks = kept.collect::<Result<_>>()?;
                }
                None => column.values = column.values.pick(rows)?,
            }
        }
        Ok(())
    }
}

impl RunColumn {
    /// The column without the values at deleted times; the rows remain.
    pub(crate) fn hide(&mut self, times: &[i64], deleted: &[(i64, i64)]) {
        let hits = |time: i64| deleted.iter().any(|(from, to)| (*from..=*to).contains(&time));
        if deleted.is_empty() || !times.iter().any(|t| hits(*t)) {
            return;
        }
        let rows = times.len() as u32;
        let picks = self.picks.get_or_insert_with(|| (0..rows).collect());
        for (pick, time) in picks.iter_mut().zip(times) {
            if hits(*time) {
                *pick = NONE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(times: &[i64], values: &[i32]) -> Run {
        let column = RunColumn { values: DecodedValues::Int32(values.to_vec()), picks: None };
        Run::new(Arc::new(times.to_vec()), vec![column])
    }

    #[test]
    fn of_equal_times_the_last_wins() {
        let mut run = run(&[50, 40, 60, 40, 10], &[0, 1, 2, 3, 4]);
        run.normalise().unwrap();
        assert_eq!(*run.times, [10, 40, 50, 60]);
        assert!(matches!(&run.columns[0].values, DecodedValues::Int32(v) if *v == [4, 3, 0, 2]));
    }

    #[test]
    fn deleting_keeps_rows_and_values_together() {
        let mut run = run(&[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6]);
        run.delete(&[(2, 3)]).unwrap();
        assert_eq!(run.rest(), [1, 4, 5, 6]);
        assert!(matches!(&run.columns[0].values, DecodedValues::Int32(v) if *v == [1, 4, 5, 6]));
        let mut column = run.columns[0].clone();
        column.hide(&[1, 4, 5, 6], &[(4, 4)]);
        assert_eq!(column.picks, Some(vec![0, NONE, 2, 3]));
    }
}
