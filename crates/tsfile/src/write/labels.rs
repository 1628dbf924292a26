//! Text columns that name devices, measurements and tags.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType as ArrowType;
use tesselle_core::{Error, Result};

/// A text column as runs of rows with the same text. Neighbours mostly have the same.
pub(super) struct Labels {
    runs: Vec<Run>,
    what: &'static str,
}

/// Rows up to `end` with the same text.
struct Run {
    end: usize,
    text: Option<String>,
}

impl Labels {
    /// Finds the runs of an array; `what` the texts are is for messages.
    pub(super) fn new(array: &ArrayRef, what: &'static str) -> Result<Self> {
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
                return Err(Error::invalid(format!("a {what} column must hold text, not Arrow {other}")));
            }
        }
        Ok(labels)
    }

    fn each<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) {
        let first = self.rows();
        for (row, text) in (first..).zip(texts) {
            match self.runs.last_mut() {
                Some(last) if last.text.as_deref() == text => last.end = row + 1,
                _ => self.runs.push(Run { end: row + 1, text: text.map(str::to_string) }),
            }
        }
    }

    /// Takes stretches of equal texts without a look at each of them.
    fn long_runs(&mut self, texts: &StringArray) {
        const STRETCH: usize = 1024;
        let mut row = 0;
        while row < texts.len() {
            let stretch = texts.slice(row, STRETCH.min(texts.len() - row));
            match self.runs.last_mut() {
                Some(last) if is_only(&stretch, last.text.as_deref()) => last.end += stretch.len(),
                _ => self.each(stretch.iter()),
            }
            row += stretch.len();
        }
    }

    fn rows(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// The text of a row, and the end of its run.
    pub(super) fn get(&self, row: usize) -> (Option<&str>, usize) {
        let run = self.runs.get(self.runs.partition_point(|run| run.end <= row));
        run.map_or((None, usize::MAX), |run| (run.text.as_deref(), run.end))
    }

    /// As [`Labels::get`], for a text that must be there.
    pub(super) fn required(&self, row: usize) -> Result<(&str, usize)> {
        let (text, end) = self.get(row);
        let missing = || Error::invalid(format!("row {row} of a batch has no {}", self.what));
        text.ok_or_else(missing).map(|text| (text, end))
    }
}

/// Whether every text of an array is this one: the offsets go up in equal steps, and the bytes repeat themselves.
fn is_only(texts: &StringArray, text: Option<&str>) -> bool {
    let (Some(text), 0) = (text, texts.null_count()) else { return false };
    let (offsets, step) = (texts.value_offsets(), text.len() as i32);
    let first = offsets.first().copied().unwrap_or(0);
    let odd = |(at, i): &(&i32, i32)| at.wrapping_sub(first) != i.wrapping_mul(step);
    let even = offsets.iter().zip(0_i32..).filter(odd).count() == 0;
    let bounds = first as usize..offsets.last().copied().unwrap_or(0) as usize;
    let bytes = texts.value_data().get(bounds).unwrap_or_default();
    let repeats = bytes.get(text.len()..) == bytes.get(..bytes.len().saturating_sub(text.len()));
    even && repeats && bytes.starts_with(text.as_bytes())
}

/// The rows of each key, in the order in which keys first come. `key` gives the key of a row and where its run ends.
pub(super) fn groups<K: std::hash::Hash + Eq + Clone>(
    rows: usize,
    key: impl Fn(usize) -> Result<(K, usize)>,
) -> Result<Vec<(K, Group)>> {
    let mut index: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Group)> = Vec::new();
    let mut row = 0;
    while row < rows {
        let (key, end) = key(row)?;
        let end = end.clamp(row + 1, rows);
        let at = *index.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.add(row, end),
            None => groups.push((key, Group::Run(row, end))),
        }
        row = end;
    }
    Ok(groups)
}

/// Rows with the same key.
pub(super) enum Group {
    /// All from the first to before the second.
    Run(usize, usize),
    /// Any.
    Rows(Vec<usize>),
}

impl Group {
    fn add(&mut self, from: usize, to: usize) {
        match self {
            Self::Run(_, end) if *end == from => *end = to,
            Self::Run(start, end) => *self = Self::Rows((*start..*end).chain(from..to).collect()),
            Self::Rows(rows) => rows.extend(from..to),
        }
    }

    /// The rows one by one.
    pub(super) fn into_rows(self) -> Vec<usize> {
        match self {
            Self::Run(start, end) => (start..end).collect(),
            Self::Rows(rows) => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn runs_are_found_whatever_their_length() {
        let mut texts: Vec<Option<&str>> = vec![Some("ab"); 3000];
        texts[2500] = Some("ba");
        texts[2501] = None;
        texts.extend([Some("a"), Some("ba")]);
        let array: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let labels = Labels::new(&array, "tag").unwrap();
        for (row, text) in texts.iter().enumerate() {
            assert_eq!(labels.get(row).0, *text, "row {row}");
        }
        assert_eq!(labels.get(0).1, 2500);
        assert!(labels.required(2501).is_err());
        let sliced = Labels::new(&array.slice(2400, 150), "tag").unwrap();
        assert_eq!((sliced.get(0), sliced.get(100).0), ((Some("ab"), 100), Some("ba")));
    }

    #[test]
    fn rows_gather_by_key() {
        let keys = [1, 1, 2, 1, 2, 2];
        let found = groups(keys.len(), |row| Ok((keys[row], row + 1))).unwrap();
        let found: Vec<(i32, Vec<usize>)> = found.into_iter().map(|(k, g)| (k, g.into_rows())).collect();
        assert_eq!(found, [(1, vec![0, 1, 3]), (2, vec![2, 4, 5])]);
    }
}
