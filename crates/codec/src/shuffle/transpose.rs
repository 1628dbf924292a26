//! Building blocks of the shuffles, as loops that vectorize.

/// Interleaves the bytes of `a` and `b`.
#[inline]
pub(super) fn zip(a: &[u8], b: &[u8], out: &mut [u8]) {
    for ((pair, x), y) in out.as_chunks_mut::<2>().0.iter_mut().zip(a).zip(b) {
        *pair = [*x, *y];
    }
}

/// Reverts [`zip`].
#[inline]
pub(super) fn unzip(src: &[u8], even: &mut [u8], odd: &mut [u8]) {
    for ((pair, x), y) in src.as_chunks::<2>().0.iter().zip(even).zip(odd) {
        let both = u16::from_le_bytes(*pair);
        *x = both as u8;
        *y = (both >> 8) as u8;
    }
}

/// Transposes 8 rows of 8 bits (row `r` is byte `r`, column `c` its bit `c`). Its own inverse.
#[inline]
pub(super) fn bits(mut x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

/// [`bits`] of every eight bytes, in place.
#[inline]
pub(super) fn bits_in_place(bytes: &mut [u8]) {
    for eight in bytes.as_chunks_mut::<8>().0 {
        *eight = bits(u64::from_le_bytes(*eight)).to_le_bytes();
    }
}
