//! Encodes pages of strings. The plain format has one form; the extended profile has three and uses the
//! smallest.

use arrow_array::Array;
use tesselle_codec::fsst::Encoder;
use tesselle_codec::intpack::{frame, rle};
use tesselle_codec::varint;

use crate::meta::schema::write_bytes;
use crate::meta::types::Encoding;
use crate::scalars::binary_at;

/// Appends the non-null strings, each with a length prefix.
pub(crate) fn plain(array: &dyn Array, out: &mut Vec<u8>) {
    for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
        write_bytes(binary_at(array, row), out);
    }
}

/// Appends the non-null strings with a symbol table: table, packed lengths with their own length prefix,
/// codes.
pub(crate) fn fsst(array: &dyn Array, out: &mut Vec<u8>) {
    let values: Vec<&[u8]> =
        (0..array.len()).filter(|r| array.is_valid(*r)).map(|r| binary_at(array, r)).collect();
    let encoder = Encoder::train(&values);
    encoder.write_table(out);
    let mut lengths: Vec<u32> = Vec::with_capacity(values.len());
    let mut codes = Vec::new();
    for value in values {
        let coded = encoder.encode(value);
        lengths.push(coded.len() as u32);
        codes.extend_from_slice(&coded);
    }
    let mut packed = Vec::new();
    frame::encode(&lengths, &mut packed);
    varint::write(packed.len() as u64, out);
    out.append(&mut packed);
    out.append(&mut codes);
}

/// Appends dictionary codes: one byte of encoding, then the codes in the smaller of two forms.
pub(crate) fn codes(codes: &[u32], out: &mut Vec<u8>) {
    if rle::encoded_len(codes) < frame::encoded_len(codes) {
        out.push(Encoding::Rle.id());
        rle::encode(codes, out);
    } else {
        out.push(Encoding::BitpackFor.id());
        frame::encode(codes, out);
    }
}
