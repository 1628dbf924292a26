//! The encoding cascade: encodes a page of integers in the smallest of all forms.

use tesselle_codec::intpack::{Int, delta, frame, group, pfor, rle};
use tesselle_core::Result;

use crate::meta::types::Encoding;

/// Appends `values` in their smallest form and returns it. On ties the earlier one wins, PLAIN first.
pub(crate) fn integers<T: Int>(values: &[T], out: &mut Vec<u8>) -> Result<Encoding> {
    let mut best = (values.len() * T::BYTES, Encoding::Plain);
    let mut offer = |len: Option<usize>, encoding: Encoding| {
        if len.is_some_and(|len| len < best.0) {
            best = (len.unwrap_or_default(), encoding);
        }
    };
    offer(Some(frame::encoded_len(values)), Encoding::BitpackFor);
    let differences = delta::Encoded::of(values);
    offer(Some(differences.len()), Encoding::Delta);
    offer(Some(rle::encoded_len(values)), Encoding::Rle);
    offer(group::encoded_len(values), Encoding::GroupVarint);
    offer(pfor::encoded_len(values), Encoding::PforDelta);
    match best.1 {
        Encoding::BitpackFor => frame::encode(values, out),
        Encoding::Delta => differences.write(out),
        Encoding::Rle => rle::encode(values, out),
        Encoding::GroupVarint => group::encode(values, out)?,
        Encoding::PforDelta => pfor::encode(values, out)?,
        _ => values.iter().for_each(|value| out.extend(value.widen().to_le_bytes().iter().take(T::BYTES))),
    }
    Ok(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice<T: Int>(values: &[T]) -> (Encoding, usize) {
        let mut out = Vec::new();
        let encoding = integers(values, &mut out).unwrap();
        (encoding, out.len())
    }

    #[test]
    fn the_smallest_form_wins_and_plain_wins_ties() {
        assert_eq!(choice(&[1u8, 2, 3]), (Encoding::Plain, 3));
        assert_eq!(choice(&[7i16, -2, 300]), (Encoding::Plain, 6));
        assert_eq!(choice::<i64>(&[]), (Encoding::Plain, 0));
        assert_eq!(choice(&vec![9u64; 1000]).0, Encoding::Rle);
        assert_eq!(choice(&(0..1000i64).map(|i| i * 3 + 1_000_000).collect::<Vec<_>>()).0, Encoding::Delta);
        assert_eq!(choice(&(0..1000u32).map(|i| i * 7919 % 256).collect::<Vec<_>>()).0, Encoding::BitpackFor);
        let outliers: Vec<u32> = (0..200).map(|i| if i % 50 == 0 { 4_000_000_000 } else { i % 3 }).collect();
        assert_eq!(choice(&outliers).0, Encoding::PforDelta);
    }
}
