//! Whether files have the same columns, as the members of a collection must.

use arrow_schema::Field;
use tesselle_core::{Attribute, type_name};

use crate::open::File;
use crate::table::facts;

/// What differs between the columns of a file and those of the first one, as the end of a sentence; `None` if they are the
/// same.
pub(super) fn difference(first: &File, file: &File) -> Option<String> {
    let (known, schema) = (first.schema(), file.schema());
    let absent = known.fields().iter().find(|field| schema.field_with_name(field.name()).is_err());
    if let Some(field) = absent {
        return Some(format!("column '{}' is missing", field.name()));
    }
    let excess = schema.fields().iter().find(|field| known.field_with_name(field.name()).is_err());
    if let Some(field) = excess {
        return Some(format!("column '{}' is not in the others", field.name()));
    }
    let other = schema.fields().iter().zip(known.fields()).find(|(field, known)| field != known);
    if let Some((field, known)) = other {
        return Some(if field.name() == known.name() {
            let (own, known) = (described(field), described(known));
            format!("column '{}' is {own}, and {known} in the others", field.name())
        } else {
            format!("column '{}' is where the others have '{}'", field.name(), known.name())
        });
    }
    (notes(first) != notes(file)).then(|| "columns are recorded to have other types".to_owned())
}

fn described(field: &Field) -> String {
    let nulls = if field.is_nullable() { "" } else { " without nulls" };
    format!("{}{nulls}", type_name(field.data_type()))
}

fn notes(file: &File) -> Vec<Attribute> {
    facts(file).attributes.into_iter().filter(says_types).collect()
}

/// Whether an attribute records the original types of columns that are stored as other types.
pub(super) fn says_types(attribute: &Attribute) -> bool {
    attribute.name == Attribute::TYPES
}
