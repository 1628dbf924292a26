//! The slots of per-field lists in fragment metadata (spec §9): attributes, the legacy coordinates, dimensions, and the
//! special columns of consolidated fragments.

use super::schema::ArraySchema;

/// A field of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// The attribute at this position of the fragment's schema.
    Attribute(usize),
    /// All coordinates in one file (before version 5); later an unused slot.
    Coords,
    /// The dimension at this position.
    Dimension(usize),
    /// The timestamp of each cell.
    Timestamps,
    /// When each cell was deleted.
    DeleteTimestamps,
    /// The condition that deleted each cell.
    DeleteCondition,
}

/// Which slots a fragment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    attributes: usize,
    dimensions: usize,
    timestamps: bool,
    deletes: bool,
}

impl Slots {
    /// The slots of a fragment of this version and schema.
    pub(crate) fn new(schema: &ArraySchema, version: u32, timestamps: bool, deletes: bool) -> Self {
        let dimensions = if version >= 5 { schema.dimensions.len() } else { 0 };
        Self { attributes: schema.attributes.len(), dimensions, timestamps, deletes }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.attributes + 1 + self.dimensions + usize::from(self.timestamps) + 2 * usize::from(self.deletes)
    }

    /// The slot of a field, if the fragment has it.
    pub(crate) fn index(&self, field: Field) -> Option<usize> {
        let special = self.attributes + 1 + self.dimensions;
        match field {
            Field::Attribute(i) => (i < self.attributes).then_some(i),
            Field::Coords => Some(self.attributes),
            Field::Dimension(i) => (i < self.dimensions).then_some(self.attributes + 1 + i),
            Field::Timestamps => self.timestamps.then_some(special),
            Field::DeleteTimestamps => self.deletes.then_some(special + usize::from(self.timestamps)),
            Field::DeleteCondition => self.deletes.then_some(special + usize::from(self.timestamps) + 1),
        }
    }

    /// All fields in slot order.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let mut out: Vec<Field> = (0..self.attributes).map(Field::Attribute).collect();
        out.push(Field::Coords);
        out.extend((0..self.dimensions).map(Field::Dimension));
        if self.timestamps {
            out.push(Field::Timestamps);
        }
        if self.deletes {
            out.extend([Field::DeleteTimestamps, Field::DeleteCondition]);
        }
        out
    }
}

/// The file stem of a field (spec §8): the plain name, from version 8 percent-encoded, from version 9 numbered.
pub(crate) fn file_stem(schema: &ArraySchema, version: u32, field: Field) -> String {
    let named = |name: &str| if version == 8 { percent_encoded(name) } else { name.to_owned() };
    match field {
        Field::Attribute(i) if version >= 9 => format!("a{i}"),
        // The anonymous attribute has a special file name.
        Field::Attribute(i) => match schema.attributes.get(i).map(|attribute| attribute.name.as_str()) {
            None | Some("") => "__attr".to_owned(),
            Some(name) => named(name),
        },
        Field::Coords => "__coords".to_owned(),
        Field::Dimension(i) if version >= 9 => format!("d{i}"),
        Field::Dimension(i) => match schema.dimensions.get(i).map(|dim| dim.name.as_str()) {
            None | Some("") => format!("__dim_{i}"),
            Some(name) => named(name),
        },
        Field::Timestamps => "t".to_owned(),
        Field::DeleteTimestamps => "dt".to_owned(),
        Field::DeleteCondition => "dci".to_owned(),
    }
}

/// An upper-case hexadecimal digit.
fn digit(value: u32) -> char {
    char::from_digit(value, 16).unwrap_or('0').to_ascii_uppercase()
}

/// Percent-encodes reserved characters; version 8 maps four of them to wrong codes, which is reproduced here.
fn percent_encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => out.push_str("%20"),
            '>' => out.push_str("%2D"),
            '\\' => out.push_str("%30"),
            '|' => out.push_str("%3C"),
            '!' | '#' | '$' | '%' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | '/' | ':' | ';' | '='
            | '?' | '@' | '[' | ']' | '"' => {
                out.extend(['%', digit(u32::from(c) >> 4), digit(u32::from(c) & 15)]);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_8_names_keep_their_four_wrong_codes() {
        assert_eq!(percent_encoded("a<b>c\\d|e\"f/g h"), "a%20b%2Dc%30d%3Ce%22f%2Fg h");
    }

    #[test]
    fn every_slot_has_its_field() {
        let slots = Slots { attributes: 2, dimensions: 3, timestamps: true, deletes: true };
        let fields = slots.fields();
        assert_eq!(fields.len(), slots.len());
        for (i, field) in fields.iter().enumerate() {
            assert_eq!(slots.index(*field), Some(i));
        }
        let plain = Slots { timestamps: false, deletes: false, ..slots };
        assert_eq!(plain.index(Field::Timestamps), None);
        assert_eq!(plain.index(Field::Attribute(2)), None);
    }
}
