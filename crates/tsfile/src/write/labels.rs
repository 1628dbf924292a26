//! String columns that name devices, measurements and tags.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType as ArrowType;
use tesselle_core::{Error, Result, Within};

/// A string column as runs of rows with the same value. Neighbors are usually equal.
pub(super) struct Labels {
    runs: Vec<Repeat>,
    what: &'static str,
}

/// Rows up to `end` with the same string.
struct Repeat {
    end: usize,
    value: Option<String>,
}

impl Labels {
    /// Finds the runs of an array; `what` names the strings in messages.
    pub(super) fn try_new(array: &ArrayRef, what: &'static str) -> Result<Self> {
        let decoded = match array.as_any_dictionary_opt() {
            Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?,
            None => array.clone(),
        };
        let mut labels = Self { runs: Vec::new(), what };
        match decoded.data_type() {
            ArrowType::Utf8 => labels.long_runs(decoded.as_string::<i32>()),
            ArrowType::LargeUtf8 => labels.each(decoded.as_string::<i64>().iter()),
            ArrowType::Utf8View => labels.each(decoded.as_string_view().iter()),
            other => {
                return Err(Error::invalid(format!("a {what} column must have strings, not Arrow {other}")));
            }
        }
        Ok(labels)
    }

    fn each<'a>(&mut self, strings: impl Iterator<Item = Option<&'a str>>) {
        let first = self.rows();
        for (row, value) in (first..).zip(strings) {
            match self.runs.last_mut() {
                Some(last) if last.value.as_deref() == value => last.end = row + 1,
                _ => self.runs.push(Repeat { end: row + 1, value: value.map(str::to_string) }),
            }
        }
    }

    /// Detects runs of equal strings without comparing each of them.
    fn long_runs(&mut self, strings: &StringArray) {
        const BLOCK: usize = 1024;
        let mut row = 0;
        while row < strings.len() {
            let block = strings.slice(row, BLOCK.min(strings.len() - row));
            match self.runs.last_mut() {
                Some(last) if is_only(&block, last.value.as_deref()) => last.end += block.len(),
                _ => self.each(block.iter()),
            }
            row += block.len();
        }
    }

    fn rows(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// The string of a row, and the end of its run.
    pub(super) fn get(&self, row: usize) -> (Option<&str>, usize) {
        let run = self.runs.get(self.runs.partition_point(|run| run.end <= row));
        run.map_or((None, usize::MAX), |run| (run.value.as_deref(), run.end))
    }

    /// Like [`Labels::get`], for a string that must not be null.
    pub(super) fn required(&self, row: usize) -> Result<(&str, usize)> {
        let (value, end) = self.get(row);
        let missing = || Error::invalid(format!("row {row} of a batch has no {}", self.what));
        value.ok_or_else(missing).map(|value| (value, end))
    }
}

/// Whether every string of an array equals this one: the offsets have equal steps, and the bytes repeat.
fn is_only(strings: &StringArray, value: Option<&str>) -> bool {
    let (Some(value), 0) = (value, strings.null_count()) else { return false };
    let (offsets, step) = (strings.value_offsets(), value.len() as i32);
    let first = offsets.first().copied().unwrap_or(0);
    let odd = |(at, i): &(&i32, i32)| at.wrapping_sub(first) != i.wrapping_mul(step);
    let even = offsets.iter().zip(0_i32..).filter(odd).count() == 0;
    let bounds = first as usize..offsets.last().copied().unwrap_or(0) as usize;
    let bytes = strings.value_data().within(bounds);
    let repeats = bytes.get(value.len()..) == bytes.get(..bytes.len().saturating_sub(value.len()));
    even && repeats && bytes.starts_with(value.as_bytes())
}

/// The rows of each key, in order of first appearance. `key` returns the key of a row and the end of its run.
pub(super) fn groups<K: std::hash::Hash + Eq + Clone>(
    rows: usize,
    key: impl Fn(usize) -> Result<(K, usize)>,
) -> Result<Vec<(K, KeyRows)>> {
    let mut index: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, KeyRows)> = Vec::new();
    let mut row = 0;
    while row < rows {
        let (key, end) = key(row)?;
        let end = end.clamp(row + 1, rows);
        let at = *index.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.add(row, end),
            None => groups.push((key, KeyRows::Range(row, end))),
        }
        row = end;
    }
    Ok(groups)
}

/// Rows with the same key.
pub(super) enum KeyRows {
    /// A range of rows.
    Range(usize, usize),
    /// A list of rows.
    Rows(Vec<usize>),
}

impl KeyRows {
    fn add(&mut self, from: usize, to: usize) {
        match self {
            Self::Range(_, end) if *end == from => *end = to,
            Self::Range(start, end) => *self = Self::Rows((*start..*end).chain(from..to).collect()),
            Self::Rows(rows) => rows.extend(from..to),
        }
    }

    /// Iterates over the rows.
    pub(super) fn into_rows(self) -> Vec<usize> {
        match self {
            Self::Range(start, end) => (start..end).collect(),
            Self::Rows(rows) => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn runs_of_any_length_are_found() {
        let mut strings: Vec<Option<&str>> = vec![Some("ab"); 3000];
        strings[2500] = Some("ba");
        strings[2501] = None;
        strings.extend([Some("a"), Some("ba")]);
        let array: ArrayRef = Arc::new(StringArray::from(strings.clone()));
        let labels = Labels::try_new(&array, "tag").unwrap();
        for (row, value) in strings.iter().enumerate() {
            assert_eq!(labels.get(row).0, *value, "row {row}");
        }
        assert_eq!(labels.get(0).1, 2500);
        assert!(labels.required(2501).is_err());
        let sliced = Labels::try_new(&array.slice(2400, 150), "tag").unwrap();
        assert_eq!((sliced.get(0), sliced.get(100).0), ((Some("ab"), 100), Some("ba")));
    }

    #[test]
    fn rows_are_grouped_by_key() {
        let keys = [1, 1, 2, 1, 2, 2];
        let found = groups(keys.len(), |row| Ok((keys[row], row + 1))).unwrap();
        let found: Vec<(i32, Vec<usize>)> = found.into_iter().map(|(k, g)| (k, g.into_rows())).collect();
        assert_eq!(found, [(1, vec![0, 1, 3]), (2, vec![2, 4, 5])]);
    }
}
