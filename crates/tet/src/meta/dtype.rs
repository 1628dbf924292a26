//! The tags of element types.

use tesselle_core::DType;

const TAGS: [(u32, DType); 10] = [
    (1, DType::F32),
    (2, DType::F64),
    (3, DType::I32),
    (4, DType::I64),
    (5, DType::U8),
    (6, DType::U16),
    (7, DType::I16),
    (8, DType::U32),
    (9, DType::F16),
    (10, DType::U64),
];

/// The type of a tag; `None` for tags outside the closed set.
pub(crate) fn from_tag(tag: u32) -> Option<DType> {
    TAGS.iter().find(|(known, _)| *known == tag).map(|(_, dtype)| *dtype)
}

/// The tag of a type; `None` for `i8`, which the format cannot express.
pub(crate) fn tag_of(dtype: DType) -> Option<u32> {
    TAGS.iter().find(|(_, known)| *known == dtype).map(|(tag, _)| *tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_types_are_one_to_one() {
        for tag in 1..=10 {
            assert_eq!(from_tag(tag).and_then(tag_of), Some(tag));
        }
        assert_eq!((from_tag(0), from_tag(11), tag_of(DType::I8)), (None, None, None));
    }
}
