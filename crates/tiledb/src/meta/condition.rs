//! Delete conditions (spec §13): the payload of a `.del` file, in negated form. A cell survives if the tree is true.
//!
//! ```text
//! u8 0 | u8 op | u64 children | nodes
//! u8 1 | u8 op | u32 len, field | u64 len, value [| u64 len, offsets]    offsets for IN and NOT IN only
//! ```

use super::wire::{bytes64, name32, put_bytes32, put_bytes64};
use crate::{Cursor, Error, Result};

/// How subtrees combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    /// All are true.
    And,
    /// At least one is true.
    Or,
    /// The only one is false.
    Not,
}

/// How a field compares with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    In,
    NotIn,
    AlwaysTrue,
    AlwaysFalse,
}

const OPS: [(u8, Op); 10] = [
    (0, Op::Lt),
    (1, Op::Le),
    (2, Op::Gt),
    (3, Op::Ge),
    (4, Op::Eq),
    (5, Op::Ne),
    (6, Op::In),
    (7, Op::NotIn),
    (253, Op::AlwaysTrue),
    (254, Op::AlwaysFalse),
];

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Several conditions together.
    Combined {
        /// How they combine.
        how: Combination,
        /// The conditions.
        parts: Vec<Condition>,
    },
    /// A comparison with stored bytes.
    Compare {
        /// The dimension or attribute.
        field: String,
        /// The comparison.
        op: Op,
        /// The value in the field's type; the values of IN one after the other. Empty with EQ and NE: a null test of cells of fixed size.
        value: Vec<u8>,
        /// Where the values of IN and NOT IN start.
        offsets: Vec<u64>,
    },
}

impl Condition {
    /// Reads a payload, nested no deeper than `depth`.
    pub(crate) fn parse(payload: &[u8], depth: usize) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "delete condition");
        let condition = Self::node(&mut cursor, depth)?;
        cursor.expect_end()?;
        Ok(condition)
    }

    fn node(cursor: &mut Cursor<'_>, depth: usize) -> Result<Self> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::limit("a delete condition is nested too deeply").offset(cursor.offset()));
        };
        match cursor.u8()? {
            0 => {
                let how = match cursor.u8()? {
                    0 => Combination::And,
                    1 => Combination::Or,
                    2 => Combination::Not,
                    other => return Err(cursor.corrupt(format!("combination {other} is not known"))),
                };
                let stated = cursor.u64_le()?;
                let count = cursor.count(stated, 10)?;
                if how == Combination::Not && count != 1 {
                    return Err(cursor.corrupt(format!("a NOT has {count} parts")));
                }
                let parts = (0..count).map(|_| Self::node(cursor, depth)).collect::<Result<_>>()?;
                Ok(Self::Combined { how, parts })
            }
            1 => {
                let id = cursor.u8()?;
                let op = OPS.iter().find(|(number, _)| *number == id).map(|(_, op)| *op);
                let op = op.ok_or_else(|| cursor.corrupt(format!("comparison {id} is not known")))?;
                let field = name32(cursor)?;
                let value = bytes64(cursor)?.to_vec();
                let offsets = if matches!(op, Op::In | Op::NotIn) {
                    let bytes = bytes64(cursor)?;
                    if bytes.len() % 8 != 0 {
                        return Err(cursor.corrupt("the offsets of a list are cut"));
                    }
                    bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect()
                } else {
                    Vec::new()
                };
                Ok(Self::Compare { field, op, value, offsets })
            }
            other => Err(cursor.corrupt(format!("a node of type {other} is not known"))),
        }
    }

    /// Appends the node and those below it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Combined { how, parts } => {
                let how = match how {
                    Combination::And => 0,
                    Combination::Or => 1,
                    Combination::Not => 2,
                };
                out.extend_from_slice(&[0, how]);
                out.extend_from_slice(&(parts.len() as u64).to_le_bytes());
                parts.iter().try_for_each(|part| part.write(out))
            }
            Self::Compare { field, op, value, offsets } => {
                let id = OPS.iter().find(|(_, known)| known == op).map_or(255, |(id, _)| *id);
                out.extend_from_slice(&[1, id]);
                put_bytes32(out, field.as_bytes())?;
                put_bytes64(out, value);
                if matches!(op, Op::In | Op::NotIn) {
                    out.extend_from_slice(&(offsets.len() as u64 * 8).to_le_bytes());
                    out.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
                }
                Ok(())
            }
        }
    }

    /// The values of IN and NOT IN.
    pub(crate) fn list<'a>(value: &'a [u8], offsets: &[u64]) -> Result<Vec<&'a [u8]>> {
        let at = |index: usize| {
            offsets.get(index).map_or(Some(value.len()), |offset| usize::try_from(*offset).ok())
        };
        (0..offsets.len())
            .map(|index| {
                let range = at(index).zip(at(index + 1));
                range
                    .and_then(|(start, end)| value.get(start..end))
                    .ok_or_else(|| Error::corrupt("the values of a list lie outside it"))
            })
            .collect()
    }

    /// The names of the fields it tests.
    pub(crate) fn fields<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Self::Combined { parts, .. } => parts.iter().for_each(|part| part.fields(out)),
            Self::Compare { field, .. } => {
                if !out.contains(&field.as_str()) {
                    out.push(field);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_format_reads_and_writes() {
        let bytes = [&[1, 3, 1, 0, 0, 0, b'a', 4, 0, 0, 0, 0, 0, 0, 0][..], &15_i32.to_le_bytes()].concat();
        let condition = Condition::parse(&bytes, 8).unwrap();
        let expected = Condition::Compare {
            field: "a".into(),
            op: Op::Ge,
            value: vec![15, 0, 0, 0],
            offsets: Vec::new(),
        };
        assert_eq!(condition, expected);
        let tree = Condition::Combined {
            how: Combination::Or,
            parts: vec![
                condition,
                Condition::Compare {
                    field: "s".into(),
                    op: Op::In,
                    value: b"abcd".to_vec(),
                    offsets: vec![0, 3],
                },
            ],
        };
        let mut out = Vec::new();
        tree.write(&mut out).unwrap();
        assert_eq!(Condition::parse(&out, 8).unwrap(), tree);
        assert!(Condition::parse(&out, 1).is_err());
        assert_eq!(Condition::list(b"abcd", &[0, 3]).unwrap(), [&b"abc"[..], b"d"]);
        for len in 0..out.len() {
            assert!(Condition::parse(&out[..len], 8).is_err());
        }
    }
}
