//! The conditions of a scan, in the order in which they are tested: each sees only the rows that passed those before it.

use arrow_array::builder::BooleanBufferBuilder;
use arrow_buffer::BooleanBuffer;
use tesselle_core::{Comparison, Predicate, Result, Scalar};

use crate::meta::schema::Field;
use crate::meta::types::LogicalType;
use crate::read::values::StringCursor;

/// A condition, and the columns that it needs.
#[derive(Debug, Clone)]
pub(crate) struct Test {
    pub(crate) predicate: Predicate,
    pub(crate) columns: Vec<usize>,
    /// The same for a page of strings as it is stored.
    pub(crate) stored: Option<StringTest>,
}

/// A condition on one string.
#[derive(Debug, Clone)]
pub(crate) struct StringTest {
    op: Comparison,
    /// The literal, or those of which one must be equal.
    values: Vec<Vec<u8>>,
}

/// How much a condition costs: those on numbers first, then strings that need not be decoded, custom ones last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Numbers,
    StoredString,
    Strings,
    Custom,
}

/// The conditions that `predicate` consists of. Conditions of the same cost are tested together.
pub(crate) fn tests(
    predicate: &Predicate,
    index: impl Fn(&str) -> Result<usize>,
    fields: &[Field],
) -> Result<Vec<Test>> {
    let mut parts = Vec::new();
    flatten(predicate, &mut parts);
    let mut tests: Vec<(Rank, Test)> = Vec::new();
    for part in parts {
        let columns = part.columns().into_iter().map(&index).collect::<Result<Vec<usize>>>()?;
        let logical = |column: &usize| fields.get(*column).map(|field| field.logical);
        let stored = match columns.as_slice() {
            [only] if logical(only) == Some(LogicalType::String) => StringTest::new(part),
            _ => None,
        };
        let rank = match &stored {
            _ if part.has_custom() => Rank::Custom,
            Some(_) => Rank::StoredString,
            None if columns.iter().any(|column| logical(column).is_some_and(LogicalType::is_binary)) => {
                Rank::Strings
            }
            None => Rank::Numbers,
        };
        match tests.iter_mut().find(|(known, _)| *known == rank && rank != Rank::StoredString) {
            Some((_, test)) => {
                let all = std::mem::replace(&mut test.predicate, Predicate::Always(true));
                test.predicate = match all {
                    Predicate::And(mut all) => {
                        all.push(part.clone());
                        Predicate::And(all)
                    }
                    one => Predicate::And(vec![one, part.clone()]),
                };
                test.columns.extend(columns);
                test.columns.sort_unstable();
                test.columns.dedup();
            }
            None => tests.push((rank, Test { predicate: part.clone(), columns, stored })),
        }
    }
    tests.sort_by_key(|(rank, _)| *rank);
    Ok(tests.into_iter().map(|(_, test)| test).collect())
}

fn flatten<'p>(predicate: &'p Predicate, parts: &mut Vec<&'p Predicate>) {
    match predicate {
        Predicate::And(inner) => inner.iter().for_each(|part| flatten(part, parts)),
        part => parts.push(part),
    }
}

/// Longer lists are looked up, not compared.
const LONGEST_LIST: usize = 8;

impl StringTest {
    fn new(predicate: &Predicate) -> Option<Self> {
        let bytes = |value: &Scalar| match value {
            Scalar::String(text) => Some(text.as_bytes().to_vec()),
            Scalar::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let (op, values) = match predicate {
            Predicate::Compare { op, value, .. } => (*op, vec![bytes(value)?]),
            Predicate::In { values, .. } if values.len() <= LONGEST_LIST => {
                (Comparison::Eq, values.iter().map(bytes).collect::<Option<Vec<_>>>()?)
            }
            _ => return None,
        };
        Some(Self { op, values })
    }

    fn holds(&self, value: &[u8]) -> bool {
        if self.op == Comparison::Eq {
            return self.values.iter().any(|literal| literal == value);
        }
        self.values.iter().any(|literal| self.op.holds(value.cmp(literal)))
    }

    /// Appends whether it is true for the rows of a PLAIN page without nulls that are set in `mask`.
    pub(crate) fn evaluate(
        &self,
        body: &[u8],
        rows: usize,
        mask: Option<&BooleanBuffer>,
        passed: &mut BooleanBufferBuilder,
    ) -> Result<()> {
        let mut strings = StringCursor::new(body);
        match mask {
            None => {
                for _ in 0..rows {
                    passed.append(self.holds(strings.take()?));
                }
            }
            Some(mask) => {
                let mut row = 0;
                for wanted in mask.set_indices() {
                    strings.skip(wanted - row)?;
                    passed.append(self.holds(strings.take()?));
                    row = wanted + 1;
                }
            }
        }
        Ok(())
    }
}
