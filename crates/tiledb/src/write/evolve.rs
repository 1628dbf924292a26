//! Schema evolution: adding and dropping attributes, extending enumerations, expanding the current domain.
//!
//! Several processes may change one schema at once: each applies its changes to the newest schema while it holds the
//! lock of the array.

use std::sync::Arc;
use std::time::Duration;

use super::array::{ArrayWriter, schema_names, store_schema};
use super::name::{WRITE_VERSION, fresh, now};
use super::schema_builder::{NewSchema, check};
use crate::meta::attribute::{Attribute, DataOrder};
use crate::meta::enumeration::Enumeration;
use crate::meta::name::TimestampedName;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Bounds;
use crate::{Error, Result};

/// How long a change waits for the lock.
const WAIT: Duration = Duration::from_secs(30);

/// Changes to the schema of an array, applied together.
#[derive(Debug)]
pub struct Evolution<'a> {
    array: &'a mut ArrayWriter,
    changes: Vec<Change>,
}

/// One change of a schema.
#[derive(Debug, Clone)]
enum Change {
    AddAttribute(Box<Attribute>),
    DropAttribute(String),
    AddEnumeration(Box<Enumeration>),
    ExtendEnumeration(Box<Enumeration>),
    DropEnumeration(String),
    ExpandCurrentDomain(Vec<Bounds>),
}

impl ArrayWriter {
    /// Starts a schema change. Fragments keep the schema they were written with.
    pub fn evolve(&mut self) -> Evolution<'_> {
        Evolution { array: self, changes: Vec::new() }
    }
}

impl Evolution<'_> {
    /// Adds an attribute; cells written before read as its fill value.
    #[must_use]
    pub fn add_attribute(mut self, attribute: Attribute) -> Self {
        self.changes.push(Change::AddAttribute(Box::new(attribute)));
        self
    }

    /// Drops an attribute; its data remains in its fragments, unread.
    pub fn drop_attribute(mut self, name: &str) -> Result<Self> {
        self.array.schema.attribute(name).ok_or_else(|| unknown_attribute(&self.array.schema, name))?;
        self.changes.push(Change::DropAttribute(name.to_owned()));
        Ok(self)
    }

    /// Adds an enumeration.
    pub fn add_enumeration(mut self, enumeration: Enumeration) -> Result<Self> {
        if self.array.enumerations.contains_key(&enumeration.name) {
            return Err(Error::invalid(format!("enumeration '{}' already exists", enumeration.name)));
        }
        self.changes.push(Change::AddEnumeration(Box::new(enumeration)));
        Ok(self)
    }

    /// Replaces an enumeration by a longer one that starts with all its values.
    pub fn extend_enumeration(mut self, longer: Enumeration) -> Result<Self> {
        extended(self.array.enumerations.get(&longer.name).map(AsRef::as_ref), &longer)?;
        self.changes.push(Change::ExtendEnumeration(Box::new(longer)));
        Ok(self)
    }

    /// Drops an enumeration that no attribute uses.
    #[must_use]
    pub fn drop_enumeration(mut self, name: &str) -> Self {
        self.changes.push(Change::DropEnumeration(name.to_owned()));
        self
    }

    /// Expands the current domain: one range per dimension, each at least as wide as before.
    pub fn expand_current_domain(mut self, ranges: Vec<Bounds>) -> Result<Self> {
        grown(self.array.schema.current_domain.as_deref(), &ranges)?;
        self.changes.push(Change::ExpandCurrentDomain(ranges));
        Ok(self)
    }

    /// Stores the new schema; later writes use it. Concurrent changes by other processes are preserved.
    pub fn apply(self, timestamp: Option<u64>) -> Result<()> {
        let Self { array, changes } = self;
        // One process at a time; changes made by others in between are the starting point.
        let _lock = array.location.lock(WAIT)?;
        let newest = schema_names(&array.location)?.pop();
        let base = newest.ok_or_else(|| Error::not_found("the array no longer has a schema"))?;
        let mut at = ArrayWriter::open_schema(&array.location, &base.name, array.key.clone())?;
        at.driver.clone_from(&array.driver);
        let draft = Draft::of(&at, &changes)?;
        check(&draft.schema, &draft.all)?;
        let name = fresh(times_after(&base, timestamp)?)?;
        if name <= base.name {
            // Engines use the last name as the newest schema, and names sort as strings, not as numbers.
            return Err(Error::invalid(format!(
                "engines would keep using the schema '{}', whose name sorts after that of a new one",
                base.name
            ))
            .hint("use a time whose digits sort after those of the newest schema"));
        }
        let new = NewSchema { schema: draft.schema, enumerations: draft.new };
        store_schema(&at.location, &name, &new, at.key.as_ref())?;
        at.schema_name = name;
        for enumeration in new.enumerations {
            at.enumerations.insert(enumeration.name.clone(), Arc::new(enumeration));
        }
        at.schema = Arc::new(new.schema);
        *array = at;
        Ok(())
    }
}

/// A schema with changes.
struct Draft {
    schema: ArraySchema,
    /// The enumerations that are new.
    new: Vec<Enumeration>,
    /// All enumerations.
    all: Vec<Enumeration>,
}

impl Draft {
    fn of(array: &ArrayWriter, changes: &[Change]) -> Result<Self> {
        let all = array.enumerations.values().map(|list| Enumeration::clone(list)).collect();
        let mut draft = Self { schema: ArraySchema::clone(&array.schema), new: Vec::new(), all };
        changes.iter().try_for_each(|change| draft.apply(change))?;
        let needed = needed_version(&draft.schema);
        draft.schema.version = draft.schema.version.max(needed).min(WRITE_VERSION);
        Ok(draft)
    }

    /// Applies one change.
    fn apply(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::AddAttribute(attribute) => match self.schema.attribute(&attribute.name) {
                Some((_, known)) if **attribute == *known => {}
                Some(_) => {
                    return Err(Error::invalid(format!("attribute '{}' already exists", attribute.name)));
                }
                None => self.schema.attributes.push(Attribute::clone(attribute)),
            },
            Change::DropAttribute(name) => self.schema.attributes.retain(|known| known.name != *name),
            Change::AddEnumeration(list) => {
                if !self.schema.enumerations.iter().any(|(_, file)| *file == list.file) {
                    if self.schema.enumerations.iter().any(|(name, _)| *name == list.name) {
                        return Err(Error::invalid(format!("enumeration '{}' already exists", list.name)));
                    }
                    self.schema.enumerations.push((list.name.clone(), list.file.clone()));
                    self.keep(list);
                }
            }
            Change::ExtendEnumeration(longer) => {
                let known = self.all.iter().find(|known| known.name == longer.name);
                extended(known, longer)?;
                let place = self.schema.enumerations.iter_mut().find(|(name, _)| *name == longer.name);
                if let Some((_, file)) = place.filter(|(_, file)| *file != longer.file) {
                    file.clone_from(&longer.file);
                    self.keep(longer);
                }
            }
            Change::DropEnumeration(name) => self.schema.enumerations.retain(|(known, _)| known != name),
            Change::ExpandCurrentDomain(ranges) => {
                grown(self.schema.current_domain.as_deref(), ranges)?;
                self.schema.current_domain = Some(ranges.clone());
            }
        }
        Ok(())
    }

    fn keep(&mut self, list: &Enumeration) {
        self.all.retain(|known| known.name != list.name);
        self.all.push(list.clone());
        self.new.push(list.clone());
    }
}

/// The version needed for the features of a schema.
fn needed_version(schema: &ArraySchema) -> u32 {
    if schema.current_domain.is_some() {
        22
    } else if !schema.enumerations.is_empty() {
        20
    } else if schema.attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered) {
        17
    } else {
        0
    }
}

fn unknown_attribute(schema: &ArraySchema, name: &str) -> Error {
    Error::unknown_name("attribute", name, schema.attributes.iter().map(|attribute| attribute.name.as_str()))
}

/// Fails if the values do not start with those of the enumeration.
fn extended(known: Option<&Enumeration>, longer: &Enumeration) -> Result<()> {
    let Some(known) = known else {
        return Err(Error::not_found(format!("enumeration '{}' does not exist", longer.name)));
    };
    if !longer.values()?.starts_with(&known.values()?) || longer.datatype != known.datatype {
        return Err(Error::invalid(format!(
            "the new values of enumeration '{}' do not start with the existing ones",
            longer.name
        )));
    }
    Ok(())
}

/// Fails if a current domain is smaller than the previous one.
fn grown(before: Option<&[Bounds]>, after: &[Bounds]) -> Result<()> {
    let shrinks = |old: &[Bounds]| old.iter().zip(after).any(|(old, new)| !new.covers(old));
    if before.is_some_and(shrinks) {
        return Err(Error::invalid("the current domain can only grow"));
    }
    Ok(())
}

/// The timestamps of a schema that supersedes `base`.
fn times_after(base: &TimestampedName, timestamp: Option<u64>) -> Result<(u64, u64)> {
    let after = base.end.saturating_add(1);
    match timestamp.filter(|at| *at > 0) {
        Some(at) if at < after => Err(Error::invalid(format!(
            "the array has a schema of time {}, so a change at {at} would have no effect",
            base.end
        ))
        .hint("use a later time, or omit it for the current time")),
        Some(at) => Ok((at, at)),
        None => {
            let at = now().max(after);
            Ok((at, at))
        }
    }
}
