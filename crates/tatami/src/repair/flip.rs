//! Locates a single flipped bit by its effect on a checksum.
//!
//! CRC-32C is linear: the difference between the stored and the computed checksum depends only on the
//! position of the flipped bit, and no two positions of one footer have the same difference. So the bit can
//! be corrected.

/// The polynomial of CRC-32C, lowest bit last.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The effect of one more zero byte on a difference.
fn advance(difference: u32) -> u32 {
    (0..8).fold(difference, |d, _| if d & 1 == 0 { d >> 1 } else { (d >> 1) ^ POLYNOMIAL })
}

/// The byte and the bit whose flip causes this difference between two checksums of `len` bytes.
pub(super) fn place(len: usize, difference: u32) -> Option<(usize, u32)> {
    // The effect of flipping each bit of the last byte, then of the one before it.
    let mut flips: [u32; 8] = std::array::from_fn(|bit| advance(1 << bit));
    for at in (0..len).rev() {
        if let Some(bit) = flips.iter().position(|flip| *flip == difference) {
            return Some((at, bit as u32));
        }
        flips = flips.map(advance);
    }
    None
}

#[cfg(test)]
mod tests {
    use tesselle_codec::crc::crc32c;

    use super::*;

    #[test]
    fn every_single_flip_is_located_and_nothing_else() {
        let bytes: Vec<u8> = (0..700_u32).map(|i| (i * 37 % 251) as u8).collect();
        let right = crc32c(&bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(place(bytes.len(), right ^ crc32c(&damaged)), Some((at, bit)));
            }
        }
        let mut damaged = bytes.clone();
        damaged[5] ^= 3;
        assert_eq!(place(bytes.len(), right ^ crc32c(&damaged)), None);
        assert_eq!(place(bytes.len(), 0), None);
    }
}
