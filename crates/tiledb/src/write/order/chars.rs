//! The characters of texts, of which engines differ whether they are signed (spec §8.3).
//!
//! Engines sort what they write by the `char` of their machine, which is signed on most, so that bytes beyond ASCII come
//! first. They merge fragments by unsigned bytes, though, which mixes both orders; and some have unsigned characters.
//! Rectangles and non-empty domains are always those of unsigned bytes. We write as the engine with signed characters.

use std::cmp::Ordering;

use super::{GlobalOrder, Ordered};
use crate::Result;
use crate::meta::schema::ArraySchema;
use crate::write::cells::Cells;

/// What a byte of a text counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chars {
    Signed,
    Unsigned,
}

impl Chars {
    /// Bytewise, then the shorter first.
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Signed => {
                a.iter().map(|byte| byte.cast_signed()).cmp(b.iter().map(|byte| byte.cast_signed()))
            }
            Self::Unsigned => a.cmp(b),
        }
    }

    /// The byte that comes before all others.
    pub(super) fn least(self) -> u8 {
        match self {
            Self::Signed => 0x80,
            Self::Unsigned => 0,
        }
    }

    /// The first eight bytes of a text as a number. Signed characters are widened with their sign, which overwrites all
    /// that came before.
    pub(super) fn head(self, text: &[u8]) -> u64 {
        (0..8).fold(0, |head, place| {
            let widened = match (text.get(place), self) {
                (None, _) => 0,
                (Some(byte), Self::Signed) => i64::from(byte.cast_signed()).cast_unsigned(),
                (Some(byte), Self::Unsigned) => u64::from(*byte),
            };
            head << 8 | widened
        })
    }
}

/// The cells as they come, or the first that comes before its predecessor whichever way an engine compares texts.
pub(crate) fn checked_by_any(
    schema: &ArraySchema,
    coords: &[Cells],
) -> Result<std::result::Result<Ordered, usize>> {
    let strict = GlobalOrder::new(schema, coords)?.checked()?;
    let mut dims = schema.dimensions.iter().zip(coords);
    let beyond_ascii = dims.any(|(dim, column)| dim.is_var() && !column.data.is_ascii());
    if strict.is_ok() || !beyond_ascii {
        return Ok(strict);
    }
    let ways = [
        (Chars::Signed, Chars::Signed),
        (Chars::Signed, Chars::Unsigned),
        (Chars::Unsigned, Chars::Unsigned),
    ];
    let orders =
        ways.map(|(on_curve, between)| GlobalOrder::of(schema, coords, on_curve, between).explicit());
    let [order, ..] = &orders;
    let mut ordered = Ordered { indexes: (0..order.checked_count()?).collect(), repeats: Vec::new() };
    for place in 1..order.checked_count()? {
        let cell = place as usize;
        // Neighbours in a merged fragment are in the order of the fragment that both come from, or in that of the merge.
        if orders.iter().all(|order| order.compare_across(cell - 1, order, cell).is_gt()) {
            return Ok(Err(cell));
        }
        if order.same_across(cell - 1, order, cell) {
            ordered.repeats.push(place);
        }
    }
    Ok(Ok(ordered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::attribute::Attribute;
    use crate::meta::dimension::Dimension;
    use crate::meta::layout::Layout;
    use crate::{Datatype, write::SchemaBuilder};

    #[test]
    fn signed_characters_put_bytes_beyond_ascii_first() {
        assert!(
            Chars::Signed.compare(b"\xff", b"a").is_lt() && Chars::Unsigned.compare(b"\xff", b"a").is_gt()
        );
        assert!(
            Chars::Signed.compare(b"a\x80", b"a\0").is_lt() && Chars::Signed.compare(b"a", b"a\x80").is_lt()
        );
        assert!(Chars::Signed.compare(b"\x80", b"\xff").is_lt());
    }

    #[test]
    fn the_sign_overwrites_the_head_of_a_text() {
        assert_eq!(Chars::Signed.head(b"ab"), 0x6162_0000_0000_0000);
        assert_eq!(Chars::Signed.head(b"a\x80b"), 0xff80_6200_0000_0000);
        assert_eq!(Chars::Unsigned.head(b"a\x80b"), 0x6180_6200_0000_0000);
        assert_eq!(Chars::Signed.head(b"12345678\xff"), Chars::Unsigned.head(b"12345678"));
    }

    fn check(order: Layout, texts: &[&[u8]]) -> std::result::Result<Vec<u32>, usize> {
        let new = SchemaBuilder::sparse().dimension(Dimension::text("s"));
        let new = new.attribute(Attribute::new("a", Datatype::Int8)).cell_order(order).build().unwrap();
        let offsets = texts.iter().scan(0, |at, text| {
            *at += text.len() as u64;
            Some(*at - text.len() as u64)
        });
        let cells = Cells {
            count: texts.len(),
            size: 1,
            offsets: Some(offsets.collect()),
            data: arrow_buffer::Buffer::from_vec(texts.concat()),
            validity: None,
        };
        checked_by_any(&new.schema, &[cells]).unwrap().map(|ordered| ordered.repeats)
    }

    #[test]
    fn neighbours_in_any_order_of_an_engine_are_in_order() {
        let row = Layout::RowMajor;
        assert_eq!(check(row, &[b"\x80", b"\xff", b"a", b"b"]), Ok(vec![]));
        assert_eq!(check(row, &[b"a", b"b", b"\x80", b"\xff"]), Ok(vec![]));
        assert_eq!(check(row, &[b"\x80", b"a", b"\x81", b"\x81", b"b"]), Ok(vec![3]));
        assert_eq!(check(row, &[b"\x80", b"b", b"a", b"\x81"]), Err(2));
        assert_eq!(check(row, &[b"\x81", b"\x80", b"a"]), Err(1));
        assert_eq!(check(row, &[b"b", b"a"]), Err(1));
        assert_eq!(check(Layout::Hilbert, &[b"a", b"\x80", b"b\x80"]), Ok(vec![]));
        assert_eq!(check(Layout::Hilbert, &[b"a", b"b\x80", b"\x80"]), Ok(vec![]));
        assert_eq!(check(Layout::Hilbert, &[b"\x80", b"a"]), Err(1));
    }
}
