//! Conditions over columns: plain data, with a parser, an evaluator and a pruner.
//!
//! A predicate is true, false or unknown for a row, as in SQL; only rows where it is true pass.

mod bind;
pub(crate) mod coded;
mod custom;
mod decimal;
mod eval;
mod integers;
mod list;
mod parse;
mod prune;

use std::collections::BTreeSet;
use std::fmt;

pub use custom::{Condition, Custom};
pub use prune::{ColumnBounds, Leaf, Verdict};

use crate::error::Result;
use crate::scalar::Scalar;

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// Whether the comparison is true for this ordering of left and right.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::Le => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::Ge => ordering.is_ge(),
        }
    }

    /// The comparison that is true for two non-null values exactly if `self` is false.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    /// The comparison with left and right exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// A condition over the columns of a table.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Predicate {
    /// Always true or always false.
    Always(bool),
    /// `column op value`
    Compare {
        /// The column.
        column: String,
        /// The comparison.
        op: Comparison,
        /// The literal on the right.
        value: Scalar,
    },
    /// `column IN (values…)`
    In {
        /// The column.
        column: String,
        /// The literals.
        values: Vec<Scalar>,
    },
    /// `column IS NULL`
    IsNull {
        /// The column.
        column: String,
    },
    /// All are true.
    And(Vec<Predicate>),
    /// At least one is true.
    Or(Vec<Predicate>),
    /// It is false.
    Not(Box<Predicate>),
    /// A condition with its own evaluation; it does not prune. Its serialized form is its source.
    Custom(Custom),
}

impl Predicate {
    /// `column op value`
    pub fn compare(column: impl Into<String>, op: Comparison, value: impl Into<Scalar>) -> Self {
        Self::Compare { column: column.into(), op, value: value.into() }
    }

    /// `column BETWEEN low AND high`, both ends included.
    pub fn between(column: impl Into<String>, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Self {
        let column = column.into();
        Self::And(vec![
            Self::compare(column.clone(), Comparison::Ge, low),
            Self::compare(column, Comparison::Le, high),
        ])
    }

    /// The names of all referenced columns, sorted.
    pub fn columns(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.collect_columns(&mut names);
        names
    }

    fn collect_columns<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::Always(_) => {}
            Self::Compare { column, .. } | Self::In { column, .. } | Self::IsNull { column } => {
                names.insert(column);
            }
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.collect_columns(names)),
            Self::Not(inner) => inner.collect_columns(names),
            Self::Custom(custom) => {
                names.extend(custom.condition().columns().iter().map(String::as_str));
            }
        }
    }

    /// Whether a part of it is a [`Custom`] condition.
    pub fn has_custom(&self) -> bool {
        match self {
            Self::Custom(_) => true,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::has_custom),
            Self::Not(inner) => inner.has_custom(),
            Self::Always(_) | Self::Compare { .. } | Self::In { .. } | Self::IsNull { .. } => false,
        }
    }

    /// What its custom conditions imply by now, for a task that starts: a plan has it from the time when it was made only.
    /// `None` if they exclude nothing.
    pub fn learned(&self) -> Option<Self> {
        let implied = self.conjuncts().into_iter().filter_map(|part| match part {
            Self::Custom(custom) => custom.condition().implied(),
            _ => None,
        });
        let parts: Vec<Self> = implied.filter(|implied| *implied != Self::Always(true)).collect();
        (!parts.is_empty()).then_some(Self::And(parts))
    }

    /// Replaces the custom conditions by what `read` makes of their sources: what arrives from
    /// another process has the source only.
    pub fn resolve(self, read: &dyn Fn(&str) -> Result<Self>) -> Result<Self> {
        let all = |parts: Vec<Self>| parts.into_iter().map(|part| part.resolve(read)).collect::<Result<_>>();
        Ok(match self {
            Self::And(parts) => Self::And(all(parts)?),
            Self::Or(parts) => Self::Or(all(parts)?),
            Self::Not(inner) => Self::Not(Box::new(inner.resolve(read)?)),
            Self::Custom(custom) => read(&custom.to_string())?,
            plain => plain,
        })
    }

    /// The conditions that must all be true: the parts of a conjunction, or the predicate itself.
    pub fn conjuncts(&self) -> Vec<&Self> {
        match self {
            Self::And(parts) => parts.iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let joined = |f: &mut fmt::Formatter<'_>, parts: &[Self], word: &str, empty: &str| {
            if parts.is_empty() {
                return f.write_str(empty);
            }
            let strings: Vec<String> = parts.iter().map(|p| format!("({p})")).collect();
            f.write_str(&strings.join(word))
        };
        match self {
            Self::Always(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Self::Compare { column, op, value } => write!(f, "{} {} {value}", quoted(column), op.symbol()),
            Self::In { column, values } => {
                let strings: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "{} IN ({})", quoted(column), strings.join(", "))
            }
            Self::IsNull { column } => write!(f, "{} IS NULL", quoted(column)),
            Self::And(parts) => joined(f, parts, " AND ", "TRUE"),
            Self::Or(parts) => joined(f, parts, " OR ", "FALSE"),
            Self::Not(inner) => write!(f, "NOT ({inner})"),
            Self::Custom(custom) => custom.fmt(f),
        }
    }
}
