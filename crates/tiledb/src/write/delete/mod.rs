//! Deletion of cells by a condition (spec §13).
//!
//! The format stores the condition under which a cell *survives*, and a comparison with null is false. A delete on a
//! nullable attribute therefore also deletes its null cells. The format cannot store a null test that engines would
//! read back, so the caller decides with [`OnNull`] whether that is acceptable.
//!
//! A comparison with NaN is false, too (`nans.rs`), and so is one with an attribute that the fragment lacks (`absent.rs`).

mod absent;
mod nans;

use std::cell::OnceCell;

use tesselle_core::{Comparison, Predicate, Scalar};

use super::array::{ArrayWriter, schema_names};
use super::commit::put;
use super::name::{WRITE_VERSION, fresh_versioned, stamp};
use crate::meta::condition::{Combination, Condition, Op};
use crate::meta::generic_tile::GenericTile;
use crate::meta::schema::ArrayKind;
use crate::meta::value::write_scalar;
use crate::open::Array;
use crate::read::sparse::ColumnTiles;
use crate::read::sparse::survive::{Tested, evaluate};
use crate::read::tile::StoredTile;
use crate::write::cells::CellType;
use crate::{Datatype, Error, Result};

/// How a delete treats cells in which a tested attribute is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnNull {
    /// Conditions on nullable attributes are an error.
    #[default]
    Refuse,
    /// Such cells are deleted, as the engine does.
    Delete,
}

impl ArrayWriter {
    /// Deletes the cells for which `predicate` is true, for reads at or after the given time. Returns the commit's
    /// name.
    pub fn delete(&self, predicate: &Predicate, on_null: OnNull, timestamp: Option<u64>) -> Result<String> {
        if self.schema.kind == ArrayKind::Dense {
            return Err(Error::invalid("cells of dense arrays cannot be deleted"));
        }
        let nullable =
            |name: &&str| self.schema.attribute(name).is_some_and(|(_, attribute)| attribute.nullable);
        if let (OnNull::Refuse, Some(name)) = (on_null, predicate.columns().into_iter().find(nullable)) {
            return Err(Error::invalid(format!(
                "'{name}' is nullable, and a delete on it would also delete its null cells"
            ))
            .hint("allow the deletion of null cells, or use another field"));
        }
        let stamp = stamp(timestamp);
        let condition = Survival { writer: self, before: stamp.1, array: OnceCell::new() }.of(predicate)?;
        let mut payload = Vec::new();
        condition.write(&mut payload)?;
        let name = format!("{}.del", fresh_versioned(stamp, WRITE_VERSION)?);
        let bytes = GenericTile::write(&payload, WRITE_VERSION, self.key.as_ref())?;
        put(&self.location.join("__commits").join(&name), &bytes)?;
        Ok(name)
    }

    /// The datatype of a field, and whether its cells are of variable length.
    fn field(&self, name: &str) -> Result<(Datatype, bool)> {
        if let Some((_, attribute)) = self.schema.attribute(name) {
            if !attribute.is_var() && attribute.cell_val_num != 1 && attribute.datatype.size() != 1 {
                return Err(Error::invalid(format!(
                    "'{name}' has several values per cell and cannot be compared"
                )));
            }
            return Ok((attribute.datatype, attribute.is_var()));
        }
        if let Some((_, dimension)) = self.schema.dimension(name) {
            return Ok((dimension.datatype, dimension.is_var()));
        }
        let attributes = self.schema.attributes.iter().map(|attribute| attribute.name.as_str());
        let dimensions = self.schema.dimensions.iter().map(|dimension| dimension.name.as_str());
        Err(Error::unknown_name("field", name, dimensions.chain(attributes)))
    }

    /// A literal in the type of its field; for an enumerated attribute, its position.
    fn literal(&self, name: &str, value: &Scalar, equality: bool) -> Result<Vec<u8>> {
        let (datatype, is_var) = self.field(name)?;
        let enumeration =
            self.schema.attribute(name).and_then(|(_, attribute)| attribute.enumeration.as_ref());
        let value = match (value, enumeration.and_then(|list| self.enumerations.get(list))) {
            (Scalar::String(text), Some(list)) => {
                if !equality {
                    return Err(Error::invalid(format!(
                        "'{name}' is enumerated and compares only for equality"
                    )));
                }
                let position = list.values()?.iter().position(|value| *value == text.as_bytes());
                let position = position.ok_or_else(|| {
                    Error::invalid(format!("enumeration '{}' does not list '{text}'", list.name))
                })?;
                Scalar::Int(position as i128)
            }
            (Scalar::Int(number), _) if datatype.is_float() => Scalar::Float(*number as f64),
            (Scalar::Float(number), _) if !datatype.is_float() && number.fract() == 0.0 => {
                Scalar::Int(*number as i128)
            }
            (value, _) => value.clone(),
        };
        let is_byte_string = matches!(value, Scalar::String(_) | Scalar::Bytes(_));
        if value == Scalar::Null
            || is_byte_string != (datatype.size() == 1 && (is_var || datatype.is_string()))
        {
            return Err(Error::invalid(format!(
                "{value} cannot be compared with '{name}', which is {}",
                datatype.name()
            )));
        }
        let mut bytes = Vec::new();
        write_scalar(&value, datatype, &mut bytes)?;
        Ok(bytes)
    }
}

/// What the cells that survive a delete have in common.
struct Survival<'a> {
    writer: &'a ArrayWriter,
    /// The time of the delete: it concerns the cells written until then.
    before: u64,
    /// The array, once its fragments are needed.
    array: OnceCell<Array>,
}

impl Survival<'_> {
    /// The condition to store.
    fn of(&self, predicate: &Predicate) -> Result<Condition> {
        let condition = self.not_true(predicate)?;
        let mut fields = Vec::new();
        condition.fields(&mut fields);
        let is_attribute = |field: &&str| self.writer.schema.attribute(field).is_some();
        // Without evolution all fragments have all attributes.
        if !fields.iter().any(is_attribute) || schema_names(&self.writer.location)?.len() < 2 {
            return Ok(condition);
        }
        let array = self.array()?;
        let lacking = |field: &str| array.fragments.iter().filter(|fragment| fragment.lacks(field)).count();
        let condition = absent::first(condition, &lacking);
        for fragment in &array.fragments {
            absent::check(&condition, &|field| fragment.lacks(field), &|test| self.of_fill(test))?;
        }
        Ok(condition)
    }

    /// The array with the fragments that the delete concerns.
    fn array(&self) -> Result<&Array> {
        if let Some(array) = self.array.get() {
            return Ok(array);
        }
        let mut array = self.writer.open_for_reading()?;
        array
            .fragments
            .retain(|fragment| fragment.footer.has_timestamps || fragment.name.start <= self.before);
        Ok(self.array.get_or_init(|| array))
    }

    /// Whether the fill value of an attribute passes a test.
    fn of_fill(&self, test: &Condition) -> Result<bool> {
        let Condition::Compare { field, .. } = test else {
            return Err(Error::internal("a combination has no fill value"));
        };
        let (_, attribute) =
            self.writer.schema.attribute(field).ok_or_else(|| Error::internal("not an attribute"))?;
        let tiles = ColumnTiles::Fill {
            value: attribute.fill.clone(),
            valid: attribute.nullable.then_some(attribute.fill_valid),
            is_var: CellType::of_attribute(attribute).is_var(),
        };
        let cells = tiles.decode(&StoredTile::default(), 0, 1)?;
        let field = |_: &str| Some(Tested { datatype: attribute.datatype, cells: &cells, is_absent: false });
        Ok(evaluate(test, 1, &field)?.first() == Some(&true))
    }

    /// Whether a float is a NaN.
    fn nans(&self, field: &str, datatype: Datatype) -> Result<Condition> {
        let mut all = nans::usual(datatype);
        nans::add_stored(self.array()?, field, &mut all)?;
        Ok(nans::listed(field, datatype, &all))
    }

    /// True where `predicate` is not true.
    fn not_true(&self, predicate: &Predicate) -> Result<Condition> {
        match predicate {
            Predicate::Not(inner) => self.not_false(inner),
            Predicate::And(parts) => combined(Combination::Or, parts, |part| self.not_true(part)),
            Predicate::Or(parts) => combined(Combination::And, parts, |part| self.not_true(part)),
            leaf => self.leaf(leaf, true),
        }
    }

    /// True where `predicate` is not false.
    fn not_false(&self, predicate: &Predicate) -> Result<Condition> {
        match predicate {
            Predicate::Not(inner) => self.not_true(inner),
            Predicate::And(parts) => combined(Combination::And, parts, |part| self.not_false(part)),
            Predicate::Or(parts) => combined(Combination::Or, parts, |part| self.not_false(part)),
            leaf => self.leaf(leaf, false),
        }
    }

    fn leaf(&self, leaf: &Predicate, negated: bool) -> Result<Condition> {
        match leaf {
            Predicate::Compare { column, op, value } => {
                let op = match (op, negated) {
                    (Comparison::Eq, false) | (Comparison::Ne, true) => Op::Eq,
                    (Comparison::Ne, false) | (Comparison::Eq, true) => Op::Ne,
                    (Comparison::Lt, false) | (Comparison::Ge, true) => Op::Lt,
                    (Comparison::Le, false) | (Comparison::Gt, true) => Op::Le,
                    (Comparison::Gt, false) | (Comparison::Le, true) => Op::Gt,
                    (Comparison::Ge, false) | (Comparison::Lt, true) => Op::Ge,
                };
                let value = self.writer.literal(column, value, matches!(op, Op::Eq | Op::Ne))?;
                let condition = Condition::Compare { field: column.clone(), op, value, offsets: Vec::new() };
                let attribute = self.writer.schema.attribute(column).map(|(_, attribute)| attribute);
                Ok(match attribute.filter(|attribute| attribute.datatype.is_float()) {
                    // Only a list matches a NaN.
                    Some(attribute) if matches!(op, Op::Ge | Op::Gt) => Condition::Combined {
                        how: Combination::Or,
                        parts: vec![condition, self.nans(column, attribute.datatype)?],
                    },
                    _ => condition,
                })
            }
            Predicate::In { column, values } => {
                let (mut value, mut offsets) = (Vec::new(), Vec::new());
                let (datatype, _) = self.writer.field(column)?;
                for listed in values {
                    let bytes = self.writer.literal(column, listed, true)?;
                    // Engines compare the bytes of listed values.
                    for bytes in std::iter::once(&bytes).chain(&other_zero(datatype, &bytes)) {
                        offsets.push(value.len() as u64);
                        value.extend_from_slice(bytes);
                    }
                }
                let op = if negated { Op::NotIn } else { Op::In };
                Ok(Condition::Compare { field: column.clone(), op, value, offsets })
            }
            Predicate::IsNull { column } => {
                Err(Error::unsupported(format!("a delete cannot test whether '{column}' is null")))
            }
            _ => Err(Error::invalid("a delete needs a condition on a dimension or attribute")
                .hint("the array stores comparisons, IN, IS NULL, AND, OR and NOT; it has no functions")),
        }
    }
}

/// The zero of the other sign, if these are the bytes of a zero.
fn other_zero(datatype: Datatype, bytes: &[u8]) -> Option<Vec<u8>> {
    let (last, rest) = bytes.split_last().filter(|_| datatype.is_float())?;
    let is_zero = last << 1 == 0 && rest.iter().all(|byte| *byte == 0);
    is_zero.then(|| [rest, &[last ^ 0x80]].concat())
}

fn combined(
    how: Combination,
    parts: &[Predicate],
    each: impl Fn(&Predicate) -> Result<Condition>,
) -> Result<Condition> {
    match parts {
        [] => Err(Error::invalid("a delete needs a condition on a dimension or attribute")),
        [one] => each(one),
        many => {
            let mut flat = Vec::with_capacity(many.len());
            for part in many {
                match each(part)? {
                    // The engine takes no cell to survive an OR in an OR.
                    Condition::Combined { how: inner, parts } if inner == how => flat.extend(parts),
                    other => flat.push(other),
                }
            }
            Ok(Condition::Combined { how, parts: flat })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tesselle_core::Location;
    use tesselle_core::storage::MemoryStorage;

    use super::*;
    use crate::meta::attribute::Attribute;
    use crate::meta::dimension::Dimension;
    use crate::write::SchemaBuilder;

    /// The engine reads an OR in an OR as one that no cell satisfies: all cells are deleted.
    #[test]
    fn operands_of_one_kind_are_not_nested() {
        fn is_nested(condition: &Condition) -> bool {
            let Condition::Combined { how, parts } = condition else { return false };
            let same =
                |part: &Condition| matches!(part, Condition::Combined { how: inner, .. } if inner == how);
            parts.iter().any(|part| same(part) || is_nested(part))
        }
        let location = Location::new(Arc::new(MemoryStorage::new()), "array");
        let schema = SchemaBuilder::sparse()
            .dimension(Dimension::new("x", Datatype::Int32, 0, 9, 10))
            .attribute(Attribute::new("a", Datatype::Int32))
            .attribute(Attribute::new("f", Datatype::Float64))
            .build()
            .unwrap();
        let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
        for text in [
            "a > 2 AND (a < 5 AND (x < 3 AND x > 1))",
            "NOT (a < 2 OR (a > 5 OR x = 3))",
            "a > 1 AND NOT (a < 3 OR x > 6)",
            "f BETWEEN 0.5 AND 2 AND a > 1",
            "f < 1 AND (a > 3 OR f < 7)",
        ] {
            let survival = Survival { writer: &array, before: u64::MAX, array: OnceCell::new() };
            let condition = survival.of(&text.parse().unwrap()).unwrap();
            assert!(!is_nested(&condition), "{text}: {condition:?}");
        }
    }
}
