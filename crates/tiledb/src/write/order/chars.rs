//! String bytes compare signed in some engines and unsigned in others (spec §8.3).
//!
//! Engines sort written cells by the `char` of their platform, which is signed on most, so that non-ASCII bytes come
//! first. They merge fragments by unsigned bytes, which mixes both orders, and on some platforms `char` is unsigned.
//! MBRs and non-empty domains always use unsigned bytes. We write as an engine with signed characters does.

use std::cmp::Ordering;

use super::{GlobalOrder, Ordered};
use crate::Result;
use crate::meta::schema::ArraySchema;
use crate::write::cells::Cells;

/// How a byte of a string compares.
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

    /// The byte that sorts before all others.
    pub(super) fn lowest(self) -> u8 {
        match self {
            Self::Signed => 0x80,
            Self::Unsigned => 0,
        }
    }

    /// The first eight bytes of a string as a number. Signed characters are sign-extended, which overwrites all earlier
    /// ones.
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

/// The cells in their given order, or the first one that precedes its predecessor in every engine's string order.
pub(crate) fn checked_by_any(
    schema: &ArraySchema,
    coords: &[Cells],
) -> Result<std::result::Result<Ordered, usize>> {
    let strict = GlobalOrder::try_new(schema, coords)?.checked()?;
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
        // Adjacent cells of a merged fragment are in the order of their common source fragment, or in merge order.
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
    fn signed_characters_sort_non_ascii_bytes_first() {
        assert!(
            Chars::Signed.compare(b"\xff", b"a").is_lt() && Chars::Unsigned.compare(b"\xff", b"a").is_gt()
        );
        assert!(
            Chars::Signed.compare(b"a\x80", b"a\0").is_lt() && Chars::Signed.compare(b"a", b"a\x80").is_lt()
        );
        assert!(Chars::Signed.compare(b"\x80", b"\xff").is_lt());
    }

    #[test]
    fn the_sign_overwrites_the_head_of_a_string() {
        assert_eq!(Chars::Signed.head(b"ab"), 0x6162_0000_0000_0000);
        assert_eq!(Chars::Signed.head(b"a\x80b"), 0xff80_6200_0000_0000);
        assert_eq!(Chars::Unsigned.head(b"a\x80b"), 0x6180_6200_0000_0000);
        assert_eq!(Chars::Signed.head(b"12345678\xff"), Chars::Unsigned.head(b"12345678"));
    }

    fn check(order: Layout, strings: &[&[u8]]) -> std::result::Result<Vec<u32>, usize> {
        let new = SchemaBuilder::sparse().dimension(Dimension::string("s"));
        let new = new.attribute(Attribute::new("a", Datatype::Int8)).cell_order(order).build().unwrap();
        let offsets = strings.iter().scan(0, |at, text| {
            *at += text.len() as u64;
            Some(*at - text.len() as u64)
        });
        let cells = Cells {
            count: strings.len(),
            size: 1,
            offsets: Some(offsets.collect()),
            data: arrow_buffer::Buffer::from_vec(strings.concat()),
            validity: None,
        };
        checked_by_any(&new.schema, &[cells]).unwrap().map(|ordered| ordered.repeats)
    }

    #[test]
    fn neighbors_in_any_order_of_an_engine_are_in_order() {
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
