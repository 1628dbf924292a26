//! Schema evolution: attributes that come and go, enumerations that grow, a current domain that expands.

use std::sync::Arc;

use super::array::{ArrayWriter, store_schema};
use super::name::{WRITE_VERSION, fresh, stamp};
use super::schema::{NewSchema, check};
use crate::meta::attribute::Attribute;
use crate::meta::enumeration::Enumeration;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Range;
use crate::{Error, Result};

/// Changes to the schema of an array, applied together.
#[derive(Debug)]
pub struct Evolution<'a> {
    array: &'a mut ArrayWriter,
    schema: ArraySchema,
    enumerations: Vec<Enumeration>,
}

impl ArrayWriter {
    /// Starts a change of the schema. Fragments keep the schema they were written with.
    pub fn evolve(&mut self) -> Evolution<'_> {
        let mut schema = ArraySchema::clone(&self.schema);
        schema.version = WRITE_VERSION;
        Evolution { array: self, schema, enumerations: Vec::new() }
    }
}

impl Evolution<'_> {
    /// Adds an attribute; cells written before read as its fill value.
    #[must_use]
    pub fn add_attribute(mut self, attribute: Attribute) -> Self {
        self.schema.attributes.push(attribute);
        self
    }

    /// Drops an attribute; what was written stays in its fragments, unread.
    pub fn drop_attribute(mut self, name: &str) -> Result<Self> {
        let Some((index, _)) = self.schema.attribute(name) else {
            let known = self.schema.attributes.iter().map(|attribute| attribute.name.as_str());
            return Err(Error::unknown_name("attribute", name, known));
        };
        self.schema.attributes.remove(index);
        Ok(self)
    }

    /// Adds an enumeration.
    pub fn add_enumeration(mut self, enumeration: Enumeration) -> Result<Self> {
        if self.schema.enumerations.iter().any(|(name, _)| *name == enumeration.name) {
            return Err(Error::invalid(format!("there is an enumeration '{}' already", enumeration.name)));
        }
        self.schema.enumerations.push((enumeration.name.clone(), enumeration.file.clone()));
        self.enumerations.push(enumeration);
        Ok(self)
    }

    /// Replaces an enumeration by a longer one that begins with all its values.
    pub fn extend_enumeration(mut self, longer: Enumeration) -> Result<Self> {
        let known = self.array.enumerations.get(&longer.name);
        let place = self.schema.enumerations.iter_mut().find(|(name, _)| *name == longer.name);
        let (Some(known), Some(place)) = (known, place) else {
            return Err(Error::not_found(format!("enumeration '{}' does not exist", longer.name)));
        };
        if !longer.values()?.starts_with(&known.values()?) || longer.datatype != known.datatype {
            return Err(Error::invalid(format!(
                "the new values of enumeration '{}' do not begin with those it has",
                longer.name
            )));
        }
        place.1.clone_from(&longer.file);
        self.enumerations.push(longer);
        Ok(self)
    }

    /// Drops an enumeration that no attribute uses any more.
    #[must_use]
    pub fn drop_enumeration(mut self, name: &str) -> Self {
        self.schema.enumerations.retain(|(known, _)| known != name);
        self
    }

    /// Expands the current domain: one range per dimension, each at least as wide as before.
    pub fn expand_current_domain(mut self, ranges: Vec<Range>) -> Result<Self> {
        let shrinks = |old: &Vec<Range>| old.iter().zip(&ranges).any(|(old, new)| !new.covers(old));
        if self.schema.current_domain.as_ref().is_some_and(shrinks) {
            return Err(Error::invalid("the current domain can only grow"));
        }
        self.schema.current_domain = Some(ranges);
        Ok(self)
    }

    /// Stores the new schema; later writes use it.
    pub fn apply(self, timestamp: Option<u64>) -> Result<()> {
        let Self { array, schema, enumerations } = self;
        let mut all = enumerations.clone();
        let kept = array.enumerations.values().filter(|old| !all.iter().any(|new| new.name == old.name));
        let kept: Vec<Enumeration> = kept.map(|list| Enumeration::clone(list)).collect();
        all.extend(kept);
        check(&schema, &all)?;
        let new = NewSchema { schema, enumerations };
        let name = fresh(stamp(timestamp))?;
        store_schema(&array.location, &name, &new, array.key.as_ref())?;
        array.schema_name = name;
        for enumeration in new.enumerations {
            array.enumerations.insert(enumeration.name.clone(), Arc::new(enumeration));
        }
        array.schema = Arc::new(new.schema);
        Ok(())
    }
}
