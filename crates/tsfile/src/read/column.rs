//! Decoded values of one type, and how they are moved: ranges, picks, sorting.

use tesselle_core::{At, Error, Result, Within};

use crate::meta::{Physical, Value, each_physical};

/// Marks a missing value among picks.
pub(crate) const NONE: u32 = u32::MAX;

/// Values of one type.
#[derive(Debug, Clone)]
pub(crate) enum DecodedValues {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Binary(Strings),
}

/// Byte strings in the two buffers of an Arrow array.
#[derive(Debug, Clone)]
pub(crate) struct Strings {
    /// End offsets of the strings, after a leading 0.
    pub(crate) offsets: Vec<i32>,
    /// All bytes.
    pub(crate) data: Vec<u8>,
}

impl Strings {
    fn new() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The bytes of string `i`.
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        self.data.within(self.offsets.value(i) as usize..self.offsets.value(i + 1) as usize)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let end = i32::try_from(self.data.len() + bytes.len()).map_err(|_| {
            Error::limit("the strings of one batch take more than 2 GiB").hint("read fewer rows per batch")
        })?;
        self.data.extend_from_slice(bytes);
        self.offsets.push(end);
        Ok(())
    }
}

/// Runs `$body` for two columns of the same type.
macro_rules! both {
    ($a:expr, $b:expr, $x:ident, $y:ident => $body:expr, $s:ident, $t:ident => $strings:expr) => {
        match ($a, $b) {
            (DecodedValues::Boolean($x), DecodedValues::Boolean($y)) => $body,
            (DecodedValues::Int32($x), DecodedValues::Int32($y)) => $body,
            (DecodedValues::Int64($x), DecodedValues::Int64($y)) => $body,
            (DecodedValues::Float($x), DecodedValues::Float($y)) => $body,
            (DecodedValues::Double($x), DecodedValues::Double($y)) => $body,
            (DecodedValues::Binary($s), DecodedValues::Binary($t)) => $strings,
            _ => Err(Error::internal("columns of different types are joined")),
        }
    };
}

impl DecodedValues {
    /// An empty column.
    pub(crate) fn new(physical: Physical) -> Self {
        match physical {
            Physical::Boolean => Self::Boolean(Vec::new()),
            Physical::Int32 => Self::Int32(Vec::new()),
            Physical::Int64 => Self::Int64(Vec::new()),
            Physical::Float => Self::Float(Vec::new()),
            Physical::Double => Self::Double(Vec::new()),
            Physical::Binary => Self::Binary(Strings::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        each_physical!(DecodedValues, self, v => v.len(), s => s.len())
    }

    /// The type.
    pub(crate) fn physical(&self) -> Physical {
        match self {
            Self::Boolean(_) => Physical::Boolean,
            Self::Int32(_) => Physical::Int32,
            Self::Int64(_) => Physical::Int64,
            Self::Float(_) => Physical::Float,
            Self::Double(_) => Physical::Double,
            Self::Binary(_) => Physical::Binary,
        }
    }

    /// Size of the buffers in bytes.
    pub(crate) fn bytes(&self) -> usize {
        each_physical!(DecodedValues, self, v => size_of_val(v.as_slice()), s => s.data.len() + s.offsets.len() * 4)
    }

    /// Appends `n` placeholder values for nulls.
    pub(crate) fn extend_nothing(&mut self, n: usize) {
        each_physical!(DecodedValues, self, v => v.resize(v.len() + n, Default::default()), s => {
            let end = s.offsets.last().copied().unwrap_or_default();
            s.offsets.resize(s.offsets.len() + n, end);
        });
    }

    /// Appends a range of `other`.
    pub(crate) fn extend_range(&mut self, other: &Self, from: usize, to: usize) -> Result<()> {
        both!(self, other, a, b => {
            a.extend_from_slice(b.part(from..to)?);
            Ok(())
        }, a, b => {
            let bounds = b.offsets.part(from..=to)?;
            let (first, last) = (bounds.first().copied().unwrap_or(0), bounds.last().copied().unwrap_or(0));
            let base = i64::try_from(a.data.len()).unwrap_or(i64::MAX) - i64::from(first);
            if base.saturating_add(i64::from(last)) > i64::from(i32::MAX) {
                return Err(Error::limit("the strings of one batch take more than 2 GiB").hint("read fewer rows per batch"));
            }
            a.data.extend_from_slice(b.data.part(first as usize..last as usize)?);
            a.offsets.extend(bounds.iter().skip(1).map(|end| (i64::from(*end) + base) as i32));
            Ok(())
        })
    }

    /// Appends the picked values of `other`; [`NONE`] appends a placeholder.
    pub(crate) fn extend_picks(&mut self, other: &Self, picks: &[u32]) -> Result<()> {
        both!(self, other, a, b => {
            a.extend(picks.iter().map(|p| if *p == NONE { Default::default() } else { b.value(*p as usize) }));
            Ok(())
        }, a, b => {
            picks.iter().try_for_each(|p| a.push(if *p == NONE { &[] } else { b.get(*p as usize) }))
        })
    }

    /// The picked values.
    pub(crate) fn pick(&self, picks: &[u32]) -> Result<Self> {
        let mut out = Self::new(self.physical());
        out.extend_picks(self, picks)?;
        Ok(out)
    }

    /// The value at `i`, for statistics and dumps.
    pub(crate) fn value(&self, i: usize) -> Option<Value> {
        if i >= self.len() {
            return None;
        }
        Some(match self {
            Self::Boolean(v) => Value::Boolean(*v.get(i)?),
            Self::Int32(v) => Value::Int32(*v.get(i)?),
            Self::Int64(v) => Value::Int64(*v.get(i)?),
            Self::Float(v) => Value::Float(*v.get(i)?),
            Self::Double(v) => Value::Double(*v.get(i)?),
            Self::Binary(s) => Value::Binary(s.get(i).to_vec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_move_with_their_offsets() {
        let mut a = DecodedValues::new(Physical::Binary);
        if let DecodedValues::Binary(s) = &mut a {
            for value in ["x", "", "yz"] {
                s.push(value.as_bytes()).unwrap();
            }
        }
        let mut b = DecodedValues::new(Physical::Binary);
        b.extend_range(&a, 1, 3).unwrap();
        b.extend_nothing(1);
        b.extend_picks(&a, &[2, NONE, 0]).unwrap();
        let DecodedValues::Binary(s) = &b else { panic!() };
        let strings: Vec<&[u8]> = (0..s.len()).map(|i| s.get(i)).collect();
        assert_eq!(strings, [b"".as_slice(), b"yz", b"", b"yz", b"", b"x"]);
    }
}
