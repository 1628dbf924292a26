//! Values of one column before they are encoded.

use std::ops::Range;

use tesselle_core::{Error, Result, Within};

use crate::meta::{DataType, Physical, Value, each_physical};

/// Values of one column, one per row; the value of a null row is arbitrary.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// BOOLEAN.
    Boolean(Vec<bool>),
    /// INT32, and DATE as yyyymmdd.
    Int32(Vec<i32>),
    /// INT64 and TIMESTAMP.
    Int64(Vec<i64>),
    /// FLOAT.
    Float(Vec<f32>),
    /// DOUBLE.
    Double(Vec<f64>),
    /// TEXT, STRING and BLOB.
    Binary(Strings),
}

/// Byte strings in one buffer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Strings {
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl Strings {
    /// Appends a string.
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.ends.push(self.data.len());
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`; empty past the last.
    pub fn get(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(i).copied().unwrap_or(start);
        self.data.within(start..end)
    }
}

impl From<&Value> for Values {
    /// A column of one row.
    fn from(value: &Value) -> Self {
        match value {
            Value::Boolean(v) => Self::Boolean(vec![*v]),
            Value::Int32(v) => Self::Int32(vec![*v]),
            Value::Int64(v) => Self::Int64(vec![*v]),
            Value::Float(v) => Self::Float(vec![*v]),
            Value::Double(v) => Self::Double(vec![*v]),
            Value::Binary(v) => Self::Binary([v].into_iter().collect()),
        }
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Strings {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut strings = Self::default();
        for value in values {
            strings.push(value.as_ref());
        }
        strings
    }
}

/// Borrowed rows of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slice<'a> {
    /// BOOLEAN.
    Boolean(&'a [bool]),
    /// INT32 and DATE.
    Int32(&'a [i32]),
    /// INT64 and TIMESTAMP.
    Int64(&'a [i64]),
    /// FLOAT.
    Float(&'a [f32]),
    /// DOUBLE.
    Double(&'a [f64]),
    /// TEXT, STRING and BLOB.
    Binary(StringSlices<'a>),
}

/// Borrowed byte strings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StringSlices<'a> {
    /// Of [`Strings`]: the start of the first one, and the end of each.
    Ends {
        /// All bytes.
        data: &'a [u8],
        /// Start of the first one.
        first: usize,
        /// End of each one.
        ends: &'a [usize],
    },
    /// Of an Arrow array: string `i` is between offsets `i` and `i + 1`.
    Offsets {
        /// All bytes.
        data: &'a [u8],
        /// One more than there are strings.
        offsets: &'a [i32],
    },
}

impl<'a> StringSlices<'a> {
    /// Number of strings.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Ends { ends, .. } => ends.len(),
            Self::Offsets { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// String `i`, which exists.
    pub(crate) fn get(self, i: usize) -> &'a [u8] {
        match self {
            Self::Ends { data, first, ends } => {
                let start = if i == 0 { first } else { ends.value(i - 1) };
                data.within(start..ends.value(i))
            }
            Self::Offsets { data, offsets } => {
                data.within(offsets.value(i) as usize..offsets.value(i + 1) as usize)
            }
        }
    }

    /// All strings.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        (0..self.len()).map(move |i| self.get(i))
    }

    fn range(self, range: Range<usize>) -> Self {
        match self {
            Self::Ends { data, first, ends } => {
                let first = range.start.checked_sub(1).and_then(|i| ends.get(i)).copied().unwrap_or(first);
                Self::Ends { data, first, ends: ends.within(range) }
            }
            Self::Offsets { data, offsets } => {
                Self::Offsets { data, offsets: offsets.within(range.start..=range.end) }
            }
        }
    }

    /// Total bytes of the strings.
    fn bytes(self) -> usize {
        match self {
            Self::Ends { first, ends, .. } => ends.last().map_or(0, |end| end.saturating_sub(first)),
            Self::Offsets { offsets, .. } => {
                let bound = |at: Option<&i32>| at.map_or(0, |at| *at as usize);
                bound(offsets.last()).saturating_sub(bound(offsets.first()))
            }
        }
    }
}

impl Values {
    /// An empty column of this type.
    pub fn empty(data_type: DataType) -> Self {
        Self::of(data_type.physical().unwrap_or(Physical::Int64))
    }

    fn of(physical: Physical) -> Self {
        match physical {
            Physical::Boolean => Self::Boolean(Vec::new()),
            Physical::Int32 => Self::Int32(Vec::new()),
            Physical::Int64 => Self::Int64(Vec::new()),
            Physical::Float => Self::Float(Vec::new()),
            Physical::Double => Self::Double(Vec::new()),
            Physical::Binary => Self::Binary(Strings::default()),
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The physical form of these values.
    pub fn physical(&self) -> Physical {
        self.as_slice().physical()
    }

    /// Appends the rows of `other` that `keep` selects.
    pub(crate) fn append(&mut self, other: Slice<'_>, keep: Rows<'_>) -> Result<()> {
        match (self, other) {
            (Self::Boolean(to), Slice::Boolean(from)) => keep.copy(from, to),
            (Self::Int32(to), Slice::Int32(from)) => keep.copy(from, to),
            (Self::Int64(to), Slice::Int64(from)) => keep.copy(from, to),
            (Self::Float(to), Slice::Float(from)) => keep.copy(from, to),
            (Self::Double(to), Slice::Double(from)) => keep.copy(from, to),
            (Self::Binary(to), Slice::Binary(from)) => keep.each(from.len(), |i| to.push(from.get(i))),
            (to, from) => {
                let message = format!("{:?} values do not fit a {:?} column", from.physical(), to.physical());
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn as_slice(&self) -> Slice<'_> {
        match self {
            Self::Boolean(list) => Slice::Boolean(list),
            Self::Int32(list) => Slice::Int32(list),
            Self::Int64(list) => Slice::Int64(list),
            Self::Float(list) => Slice::Float(list),
            Self::Double(list) => Slice::Double(list),
            Self::Binary(list) => Slice::Binary(list.slices()),
        }
    }

    /// Keeps only the first `rows` rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        each_physical!(Values, self, list => list.truncate(rows), strings => strings.truncate(rows));
    }

    /// Drops the first `rows` rows.
    pub(crate) fn drop_front(&mut self, rows: usize) {
        each_physical!(Values, self, list => { list.drain(..rows.min(list.len())); }, strings => strings.drop_front(rows));
    }
}

impl Strings {
    fn slices(&self) -> StringSlices<'_> {
        StringSlices::Ends { data: &self.data, first: 0, ends: &self.ends }
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.data.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn drop_front(&mut self, rows: usize) {
        let rows = rows.min(self.ends.len());
        let start = rows.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.data.drain(..start);
        self.ends.drain(..rows);
        self.ends.iter_mut().for_each(|end| *end -= start);
    }
}

impl Slice<'_> {
    /// Rows.
    pub(crate) fn len(self) -> usize {
        each_physical!(Slice, self, list => list.len(), strings => strings.len())
    }

    /// The physical form of these values.
    pub(crate) fn physical(self) -> Physical {
        match self {
            Self::Boolean(_) => Physical::Boolean,
            Self::Int32(_) => Physical::Int32,
            Self::Int64(_) => Physical::Int64,
            Self::Float(_) => Physical::Float,
            Self::Double(_) => Physical::Double,
            Self::Binary(_) => Physical::Binary,
        }
    }

    /// A range of rows.
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        fn cut<T>(list: &[T], range: Range<usize>) -> &[T] {
            list.within(range)
        }
        match self {
            Self::Boolean(list) => Self::Boolean(cut(list, range)),
            Self::Int32(list) => Self::Int32(cut(list, range)),
            Self::Int64(list) => Self::Int64(cut(list, range)),
            Self::Float(list) => Self::Float(cut(list, range)),
            Self::Double(list) => Self::Double(cut(list, range)),
            Self::Binary(list) => Self::Binary(list.range(range)),
        }
    }

    /// Copies the rows that `keep` selects.
    pub(crate) fn copy(self, keep: Rows<'_>) -> Values {
        let mut values = Values::of(self.physical());
        // The same type on both sides cannot fail.
        let _ = values.append(self, keep);
        values
    }

    /// Memory that the rows take once they are buffered.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Binary(strings) => strings.bytes() + strings.len() * size_of::<usize>(),
            fixed => fixed.len() * fixed.width(),
        }
    }

    /// Bytes of row `i` in a page before encoding.
    pub(crate) fn row_size(self, i: usize) -> usize {
        match self {
            Self::Binary(strings) => strings.get(i).len() + 4,
            fixed => fixed.width(),
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Boolean(_) => 1,
            Self::Int32(_) | Self::Float(_) => 4,
            Self::Int64(_) | Self::Double(_) | Self::Binary(_) => 8,
        }
    }
}

/// A selection of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// Every row.
    All,
    /// Those that are true.
    Where(&'a [bool]),
    /// Those at these positions.
    At(&'a [usize]),
}

impl Rows<'_> {
    /// Copies the rows of `from`.
    pub(crate) fn copy<T: Copy + Default>(self, from: &[T], to: &mut Vec<T>) {
        match self {
            Rows::All => to.extend_from_slice(from),
            Rows::Where(mask) => to.extend(from.iter().zip(mask).filter(|(_, keep)| **keep).map(|(v, _)| *v)),
            Rows::At(rows) => to.extend(rows.iter().map(|&i| from.value(i))),
        }
    }

    fn each(self, n: usize, mut take: impl FnMut(usize)) {
        match self {
            Rows::All => (0..n).for_each(take),
            Rows::Where(mask) => (0..n).zip(mask).filter(|(_, keep)| **keep).for_each(|(i, _)| take(i)),
            Rows::At(rows) => rows.iter().for_each(|&i| take(i)),
        }
    }
}
