//! Transposes of 8 x 8 bytes and 8 x 8 bits in 64-bit words. Plain integer code on arrays, which vectorises.

/// Transposes 8 rows of 8 bytes (row `r` is word `r`, column `c` its byte `c`, least significant first).
#[inline]
pub(super) fn bytes(mut rows: [u64; 8]) -> [u64; 8] {
    const QUADS: u64 = 0x0000_0000_FFFF_FFFF;
    const PAIRS: u64 = 0x0000_FFFF_0000_FFFF;
    const ONES: u64 = 0x00FF_00FF_00FF_00FF;
    for i in 0..4 {
        let (a, b) = (rows[i], rows[i + 4]);
        rows[i] = (a & QUADS) | (b << 32);
        rows[i + 4] = (a >> 32) | (b & !QUADS);
    }
    for i in [0, 1, 4, 5] {
        let (a, b) = (rows[i], rows[i + 2]);
        rows[i] = (a & PAIRS) | ((b & PAIRS) << 16);
        rows[i + 2] = ((a >> 16) & PAIRS) | (b & !PAIRS);
    }
    for i in [0, 2, 4, 6] {
        let (a, b) = (rows[i], rows[i + 1]);
        rows[i] = (a & ONES) | ((b & ONES) << 8);
        rows[i + 1] = ((a >> 8) & ONES) | (b & !ONES);
    }
    rows
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

/// Eight bytes of `src` from `at`; zero beyond the end, which no caller reaches.
#[inline]
pub(super) fn load(src: &[u8], at: usize) -> u64 {
    src.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Stores eight bytes at `at`.
#[inline]
pub(super) fn store(dst: &mut [u8], at: usize, value: u64) {
    if let Some(space) = dst.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *space = value.to_le_bytes();
    }
}
