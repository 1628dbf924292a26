//! Byte shuffle: all first bytes of the values, then all second bytes, and so on; the rest of a broken value as is.

use super::transpose::{bytes, load, store};
use crate::Result;
use crate::int::same_length;

/// Splits values of `width` bytes into byte planes.
pub fn byteshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length("byte shuffle", src, dst)?;
    match width {
        0 | 1 => dst.copy_from_slice(src),
        2 => split::<2>(src, dst),
        4 => split::<4>(src, dst),
        8 => split_8(src, dst),
        _ => {
            let n = src.len() / width;
            for (j, plane) in dst.chunks_exact_mut(n.max(1)).take(if n == 0 { 0 } else { width }).enumerate()
            {
                for (out, value) in plane.iter_mut().zip(src.chunks_exact(width)) {
                    *out = value[j];
                }
            }
            dst[n * width..].copy_from_slice(&src[n * width..]);
        }
    }
    Ok(())
}

/// Undoes [`byteshuffle`].
pub fn byteunshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length("byte shuffle", src, dst)?;
    match width {
        0 | 1 => dst.copy_from_slice(src),
        2 => join_2(src, dst),
        4 => join_4(src, dst),
        8 => join_8(src, dst),
        _ => {
            let n = src.len() / width;
            for (i, value) in dst.chunks_exact_mut(width).enumerate() {
                for (j, out) in value.iter_mut().enumerate() {
                    *out = src[j * n + i];
                }
            }
            dst[n * width..].copy_from_slice(&src[n * width..]);
        }
    }
    Ok(())
}

fn split<const W: usize>(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / W;
    let (body, tail) = src.split_at(n * W);
    let (planes, rest) = dst.split_at_mut(n * W);
    rest.copy_from_slice(tail);
    let (values, _) = body.as_chunks::<W>();
    for j in 0..W {
        for (out, value) in planes[j * n..(j + 1) * n].iter_mut().zip(values) {
            *out = value[j];
        }
    }
}

fn split_8(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 8;
    for first in (0..n - n % 8).step_by(8) {
        let rows: [u64; 8] = std::array::from_fn(|i| load(src, (first + i) * 8));
        for (j, row) in bytes(rows).into_iter().enumerate() {
            store(dst, j * n + first, row);
        }
    }
    for i in n - n % 8..n {
        for j in 0..8 {
            dst[j * n + i] = src[i * 8 + j];
        }
    }
    dst[n * 8..].copy_from_slice(&src[n * 8..]);
}

fn join_2(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 2;
    let (low, rest) = src.split_at(n);
    let (high, tail) = rest.split_at(n);
    let (values, end) = dst.as_chunks_mut::<2>();
    for ((out, a), b) in values.iter_mut().zip(low).zip(high) {
        *out = [*a, *b];
    }
    end.copy_from_slice(tail);
}

fn join_4(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 4;
    let (first, rest) = src.split_at(n);
    let (second, rest) = rest.split_at(n);
    let (third, rest) = rest.split_at(n);
    let (fourth, tail) = rest.split_at(n);
    let (values, end) = dst.as_chunks_mut::<4>();
    for ((((out, a), b), c), d) in values.iter_mut().zip(first).zip(second).zip(third).zip(fourth) {
        *out = [*a, *b, *c, *d];
    }
    end.copy_from_slice(tail);
}

fn join_8(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 8;
    for first in (0..n - n % 8).step_by(8) {
        let rows: [u64; 8] = std::array::from_fn(|j| load(src, j * n + first));
        for (i, row) in bytes(rows).into_iter().enumerate() {
            store(dst, (first + i) * 8, row);
        }
    }
    for i in n - n % 8..n {
        for j in 0..8 {
            dst[i * 8 + j] = src[j * n + i];
        }
    }
    dst[n * 8..].copy_from_slice(&src[n * 8..]);
}
