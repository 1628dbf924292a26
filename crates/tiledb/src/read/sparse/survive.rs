//! Evaluation of delete conditions over the cells of a tile (spec §13).
//!
//! Conditions are stored negated: a cell survives if the tree is true. A comparison with a null cell is false, so a
//! condition on an attribute deletes its null cells; interoperability requires this.

use std::cmp::Ordering;

use tesselle_core::Within;

use super::cells::Decoded;
use crate::meta::condition::{Combination, Condition, Op};
use crate::meta::datatype::{Datatype, Physical};
use crate::{Error, Result};

/// A field tested by a condition.
pub(crate) struct Tested<'a> {
    pub(crate) datatype: Datatype,
    pub(crate) cells: &'a Decoded,
    /// Whether the schema of the fragment lacks the attribute, so that the cells are its fill value.
    pub(crate) is_absent: bool,
}

/// For each cell, whether `condition` is true, as the engine determines it.
pub(crate) fn evaluate<'a>(
    condition: &Condition,
    cells: usize,
    field: &dyn Fn(&str) -> Option<Tested<'a>>,
) -> Result<Vec<bool>> {
    let mut out = vec![true; cells];
    apply(condition, Combination::And, field, &mut out)?;
    Ok(out)
}

/// Combines what was found so far with a condition.
///
/// The steps are those of the engine, which differ from the logic of the tree in two ways: a test of an attribute that
/// the fragment lacks discards what was found before it, and an OR keeps only cells that were found before it, also
/// inside of another OR.
fn apply<'a>(
    condition: &Condition,
    how: Combination,
    field: &dyn Fn(&str) -> Option<Tested<'a>>,
    found: &mut [bool],
) -> Result<()> {
    let cells = found.len();
    match condition {
        Condition::Combined { how: Combination::And, parts } if how == Combination::And => {
            parts.iter().try_for_each(|part| apply(part, Combination::And, field, found))
        }
        Condition::Combined { how: Combination::And, parts } => {
            let mut own = vec![true; cells];
            parts.iter().try_for_each(|part| apply(part, Combination::And, field, &mut own))?;
            combine(found, how, own);
            Ok(())
        }
        Condition::Combined { how: Combination::Or, parts } => {
            let mut own = vec![false; cells];
            parts.iter().try_for_each(|part| apply(part, Combination::Or, field, &mut own))?;
            combine(found, Combination::And, own);
            Ok(())
        }
        Condition::Combined { how: Combination::Not, parts } => {
            for part in parts {
                let own = evaluate(part, cells, field)?;
                combine(found, how, own.into_iter().map(|value| !value));
            }
            Ok(())
        }
        Condition::Compare { field: name, op, value, offsets } => {
            let tested = field(name);
            if tested.as_ref().is_some_and(|tested| tested.is_absent) {
                found.fill(false);
                return Ok(());
            }
            let own = match op {
                Op::AlwaysTrue => vec![true; cells],
                Op::AlwaysFalse => vec![false; cells],
                _ => {
                    let tested = tested.ok_or_else(|| {
                        Error::corrupt(format!("a delete condition tests the unknown field '{name}'"))
                    })?;
                    let list = match op {
                        Op::In | Op::NotIn => Condition::list(value, offsets)?,
                        _ => vec![value.as_slice()],
                    };
                    compare(&tested, *op, &list, cells)?
                }
            };
            combine(found, how, own);
            Ok(())
        }
    }
}

fn combine(found: &mut [bool], how: Combination, values: impl IntoIterator<Item = bool>) {
    for (found, value) in found.iter_mut().zip(values) {
        match how {
            Combination::Or => *found |= value,
            Combination::And | Combination::Not => *found &= value,
        }
    }
}

fn compare(tested: &Tested<'_>, op: Op, values: &[&[u8]], cells: usize) -> Result<Vec<bool>> {
    let validity = tested.cells.validity();
    let is_valid = |cell: usize| validity.is_none_or(|validity| validity.value(cell) != 0);
    // An empty value with EQ or NE is a null test on nullable fields of fixed size; elsewhere it is the empty string.
    let is_fixed = matches!(tested.cells, Decoded::Fixed { .. });
    if let (Op::Eq | Op::Ne, [[]], Some(_), true) = (op, values, validity, is_fixed) {
        return Ok((0..cells).map(|cell| is_valid(cell) == (op == Op::Ne)).collect());
    }
    let mut out = match tested.cells {
        Decoded::Var { cells: var, .. } => (0..cells)
            .map(|cell| matches_op(op, values.iter().map(|value| var.get(cell).cmp(value))))
            .collect::<Vec<_>>(),
        Decoded::Fixed { bytes, width, .. }
            if *width != tested.datatype.size() || is_byte_string(tested.datatype) =>
        {
            let stored = bytes.chunks_exact((*width).max(1));
            stored.map(|cell| matches_op(op, values.iter().map(|value| cell.cmp(value)))).collect()
        }
        Decoded::Fixed { bytes, .. } => numbers(tested.datatype, bytes, op, values)?,
    };
    out.resize(cells, false);
    for (cell, value) in out.iter_mut().enumerate() {
        *value &= is_valid(cell);
    }
    Ok(out)
}

fn is_byte_string(datatype: Datatype) -> bool {
    datatype.is_byte_string() || datatype == Datatype::Char
}

/// Whether a cell with these comparison results satisfies the operator.
fn matches_op(op: Op, mut orders: impl Iterator<Item = Ordering>) -> bool {
    match op {
        Op::In => orders.any(Ordering::is_eq),
        Op::NotIn => !orders.any(Ordering::is_eq),
        _ => orders.next().is_some_and(|order| match op {
            Op::Lt => order.is_lt(),
            Op::Le => order.is_le(),
            Op::Gt => order.is_gt(),
            Op::Ge => order.is_ge(),
            Op::Eq => order.is_eq(),
            Op::Ne => order.is_ne(),
            _ => false,
        }),
    }
}

/// Comparisons of numbers, a loop per type.
fn numbers(datatype: Datatype, bytes: &[u8], op: Op, values: &[&[u8]]) -> Result<Vec<bool>> {
    macro_rules! run {
        ($type:ty, $width:literal) => {{
            let parsed: Option<Vec<$type>> =
                values.iter().map(|value| (*value).try_into().ok().map(<$type>::from_le_bytes)).collect();
            let parsed = parsed.ok_or_else(|| {
                Error::corrupt(format!(
                    "a delete condition has a value that is not of type {}",
                    datatype.name()
                ))
            })?;
            let chunks = bytes.as_chunks::<$width>().0.iter();
            let listed = |chunk: &[u8; $width]| values.contains(&chunk.as_slice());
            let cells = chunks.clone().map(|chunk| <$type>::from_le_bytes(*chunk));
            let first = parsed.first().copied().unwrap_or_default();
            // IEEE comparisons: with NaN only NE is true. Listed values are compared by their bytes.
            match op {
                Op::Lt => cells.map(|cell| cell < first).collect(),
                Op::Le => cells.map(|cell| cell <= first).collect(),
                Op::Gt => cells.map(|cell| cell > first).collect(),
                Op::Ge => cells.map(|cell| cell >= first).collect(),
                Op::Eq => cells.map(|cell| cell == first).collect(),
                Op::Ne => cells.map(|cell| cell != first).collect(),
                Op::In => chunks.map(listed).collect(),
                Op::NotIn => chunks.map(|chunk| !listed(chunk)).collect(),
                Op::AlwaysTrue => cells.map(|_| true).collect(),
                Op::AlwaysFalse => cells.map(|_| false).collect(),
            }
        }};
    }
    Ok(match datatype.physical() {
        Physical::I8 => run!(i8, 1),
        Physical::I16 => run!(i16, 2),
        Physical::I32 => run!(i32, 4),
        Physical::I64 => run!(i64, 8),
        Physical::U8 => run!(u8, 1),
        Physical::U16 => run!(u16, 2),
        Physical::U32 => run!(u32, 4),
        Physical::U64 => run!(u64, 8),
        Physical::F32 => run!(f32, 4),
        Physical::F64 => run!(f64, 8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tile::VarCells;

    #[test]
    fn an_empty_value_is_the_empty_string_where_cells_have_a_variable_length() {
        let cells = VarCells { data: b"xyy".to_vec(), offsets: vec![0, 1, 1, 1, 3] };
        let cells = Decoded::Var { cells, validity: Some(vec![1, 0, 1, 1]) };
        let field =
            |_: &str| Some(Tested { datatype: Datatype::StringUtf8, cells: &cells, is_absent: false });
        let run = |op| {
            let condition = Condition::Compare { field: "a".into(), op, value: vec![], offsets: vec![] };
            evaluate(&condition, 4, &field).unwrap()
        };
        assert_eq!(run(Op::Ne), [true, false, false, true]);
        assert_eq!(run(Op::Eq), [false, false, true, false]);
    }

    #[test]
    fn listed_floats_compare_by_their_bytes() {
        let stored = [f64::NAN, 0.0, -0.0, 1.0];
        let bytes = stored.iter().flat_map(|v| v.to_le_bytes()).collect();
        let cells = Decoded::Fixed { bytes, width: 8, validity: None };
        let field = |_: &str| Some(Tested { datatype: Datatype::Float64, cells: &cells, is_absent: false });
        let run = |op, values: &[f64]| {
            let value = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let offsets = (0..values.len() as u64).map(|i| 8 * i).collect();
            let condition = Condition::Compare { field: "a".into(), op, value, offsets };
            evaluate(&condition, stored.len(), &field).unwrap()
        };
        assert_eq!(run(Op::In, &[f64::NAN, 1.0]), [true, false, false, true]);
        assert_eq!(run(Op::NotIn, &[0.0]), [true, false, true, true]);
        assert_eq!(run(Op::In, &[-0.0, 5.0]), [false, false, true, false]);
    }

    #[test]
    fn nulls_never_survive_a_comparison() {
        let bytes = [1_i32, 5, 9].iter().flat_map(|v| v.to_le_bytes()).collect();
        let cells = Decoded::Fixed { bytes, width: 4, validity: Some(vec![1, 0, 1]) };
        let field = |_: &str| Some(Tested { datatype: Datatype::Int32, cells: &cells, is_absent: false });
        let compare = |op, value: &[u8]| Condition::Compare {
            field: "a".into(),
            op,
            value: value.to_vec(),
            offsets: vec![],
        };
        let run = |condition: &Condition| evaluate(condition, 3, &field).unwrap();
        assert_eq!(run(&compare(Op::Ge, &2_i32.to_le_bytes())), [false, false, true]);
        assert_eq!(run(&compare(Op::Ne, &1_i32.to_le_bytes())), [false, false, true]);
        assert_eq!(run(&compare(Op::Eq, &[])), [false, true, false]);
        assert_eq!(run(&compare(Op::Ne, &[])), [true, false, true]);
        let or = Condition::Combined {
            how: Combination::Or,
            parts: vec![compare(Op::Lt, &2_i32.to_le_bytes()), compare(Op::Gt, &8_i32.to_le_bytes())],
        };
        assert_eq!(run(&or), [true, false, true]);
        assert!(evaluate(&compare(Op::Lt, &[1, 2]), 3, &field).is_err());
    }

    /// What TileDB 2.30 keeps of cells with a = 0 to 5, of a fragment that lacks b, for conditions in its files.
    #[test]
    fn absent_attributes_and_nested_ors_count_as_in_the_engine() {
        let bytes = (0..6_i32).flat_map(i32::to_le_bytes).collect();
        let cells = Decoded::Fixed { bytes, width: 4, validity: None };
        let field =
            |name: &str| Some(Tested { datatype: Datatype::Int32, cells: &cells, is_absent: name == "b" });
        let leaf = |field: &str, op, value: i32| Condition::Compare {
            field: field.into(),
            op,
            value: value.to_le_bytes().to_vec(),
            offsets: vec![],
        };
        let a = |op, value| leaf("a", op, value);
        let b = || leaf("b", Op::Ne, 5);
        let or = |parts: &[Condition]| Condition::Combined { how: Combination::Or, parts: parts.to_vec() };
        let and = |parts: &[Condition]| Condition::Combined { how: Combination::And, parts: parts.to_vec() };
        let kept = |condition: &Condition| {
            let kept = evaluate(condition, 6, &field).unwrap();
            (0..6).filter(|cell| kept[*cell]).collect::<Vec<_>>()
        };
        let none: [usize; 0] = [];
        assert_eq!(kept(&b()), none);
        assert_eq!(kept(&leaf("b", Op::AlwaysTrue, 0)), none);
        assert_eq!(kept(&or(&[b(), a(Op::Ge, 2)])), [2, 3, 4, 5]);
        assert_eq!(kept(&or(&[a(Op::Ge, 2), b()])), none);
        assert_eq!(kept(&and(&[b(), a(Op::Ge, 2)])), none);
        assert_eq!(kept(&or(&[a(Op::Eq, 3), and(&[a(Op::Lt, 2), b()])])), [3]);
        assert_eq!(kept(&and(&[or(&[a(Op::Eq, 3), b()]), a(Op::Lt, 4)])), none);
        assert_eq!(kept(&and(&[a(Op::Lt, 4), or(&[b(), a(Op::Eq, 3)])])), [3]);
        let outer = or(&[a(Op::Lt, 2), a(Op::Gt, 4)]);
        assert_eq!(kept(&or(&[outer.clone(), a(Op::Eq, 3)])), [3]);
        assert_eq!(kept(&or(&[a(Op::Lt, 4), outer])), [0, 1]);
        assert_eq!(kept(&and(&[and(&[a(Op::Lt, 4), a(Op::Gt, 1)]), a(Op::Ne, 2)])), [3]);
    }
}
