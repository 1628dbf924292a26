//! Deletes on attributes that older fragments lack.
//!
//! In such a fragment the engine does not compare the fill value: a test of the attribute discards what was found before
//! it (`read/sparse/survive.rs`). Operands that fragments lack are stored first, where this has no effect in an OR. What
//! still selects other cells than the fill value would is refused.

use crate::meta::condition::{Combination, Condition};
use crate::{Error, Result};

/// A condition on the cells of one fragment, simplified: what it is without the attributes that the fragment lacks. Deletes
/// negate their comparisons, so there is no NOT in it.
#[derive(Debug, Clone, PartialEq)]
enum Form<'a> {
    Always(bool),
    Test(&'a Condition),
    Combined(Combination, Vec<Form<'a>>),
}

impl<'a> Form<'a> {
    /// Both forms, or one of them.
    fn join(self, how: Combination, other: Self) -> Self {
        // What decides the combination alone.
        let decisive = how == Combination::Or;
        match (self, other) {
            (Self::Always(value), other) | (other, Self::Always(value)) => {
                if value == decisive {
                    Self::Always(value)
                } else {
                    other
                }
            }
            (first, second) => {
                let parts = |form: Self| match form {
                    Self::Combined(inner, parts) if inner == how => parts,
                    other => vec![other],
                };
                let mut all = parts(first);
                all.extend(parts(second));
                Self::Combined(how, all)
            }
        }
    }

    /// What the engine makes of a condition after `before` was found.
    fn of_engine(
        condition: &'a Condition,
        how: Combination,
        before: Self,
        lacks: &dyn Fn(&str) -> bool,
    ) -> Self {
        let all = |parts: &'a [Condition], how, start: Self| {
            parts.iter().fold(start, |before, part| Self::of_engine(part, how, before, lacks))
        };
        match condition {
            Condition::Compare { field, .. } if lacks(field) => Self::Always(false),
            Condition::Compare { .. } => before.join(how, Self::Test(condition)),
            Condition::Combined { how: Combination::Or, parts } => {
                before.join(Combination::And, all(parts, Combination::Or, Self::Always(false)))
            }
            Condition::Combined { parts, .. } if how == Combination::And => all(parts, how, before),
            Condition::Combined { parts, .. } => {
                before.join(how, all(parts, Combination::And, Self::Always(true)))
            }
        }
    }

    /// What the condition means; `fill` evaluates a test of a fill value.
    fn meant(
        condition: &'a Condition,
        lacks: &dyn Fn(&str) -> bool,
        fill: &dyn Fn(&Condition) -> Result<bool>,
    ) -> Result<Self> {
        match condition {
            Condition::Compare { field, .. } if lacks(field) => fill(condition).map(Self::Always),
            Condition::Compare { .. } => Ok(Self::Test(condition)),
            Condition::Combined { how, parts } => {
                parts.iter().try_fold(Self::Always(*how != Combination::Or), |all, part| {
                    Ok(all.join(*how, Self::meant(part, lacks, fill)?))
                })
            }
        }
    }
}

/// Moves the tests in every OR that are on attributes which more fragments lack before the others.
pub(super) fn first(condition: Condition, lacking: &dyn Fn(&str) -> usize) -> Condition {
    let Condition::Combined { how, parts } = condition else { return condition };
    let mut parts: Vec<Condition> = parts.into_iter().map(|part| first(part, lacking)).collect();
    if how == Combination::Or {
        parts.sort_by_key(|part| match part {
            Condition::Compare { field, .. } => std::cmp::Reverse(lacking(field)),
            Condition::Combined { .. } => std::cmp::Reverse(0),
        });
    }
    Condition::Combined { how, parts }
}

/// Fails if the engine keeps other cells of a fragment that lacks attributes than the condition means.
pub(super) fn check(
    condition: &Condition,
    lacks: &dyn Fn(&str) -> bool,
    fill: &dyn Fn(&Condition) -> Result<bool>,
) -> Result<()> {
    let engine = Form::of_engine(condition, Combination::And, Form::Always(true), lacks);
    if engine == Form::meant(condition, lacks, fill)? {
        return Ok(());
    }
    let mut fields = Vec::new();
    condition.fields(&mut fields);
    let Some(field) = fields.into_iter().find(|field| lacks(field)) else {
        return Err(Error::internal("TileDB reads a delete condition in another way"));
    };
    Err(Error::unsupported(format!(
        "'{field}' was added after some cells were written, and TileDB would delete other cells of them than those whose \
         fill value satisfies the condition"
    ))
    .hint("consolidate the array first: the cells of the merged fragment have all attributes"))
}
