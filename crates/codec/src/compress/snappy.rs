//! Raw Snappy blocks.

use super::{Compressor, length_error};
use crate::{Error, Result, Within};

pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let damaged = |e: snap::Error| Error::corrupt(Compressor::Snappy.name(), e.to_string());
    let stated = snap::raw::decompress_len(src).map_err(damaged)?;
    if stated != dst.len() {
        return Err(length_error(Compressor::Snappy, dst.len(), stated));
    }
    let n = snap::raw::Decoder::new().decompress(src, dst).map_err(damaged)?;
    if n == dst.len() { Ok(()) } else { Err(length_error(Compressor::Snappy, dst.len(), n)) }
}

pub(super) fn compress(src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let start = dst.len();
    dst.resize(start + snap::raw::max_compress_len(src.len()), 0);
    let space = dst.within_mut(start..);
    let n = snap::raw::Encoder::new()
        .compress(src, space)
        .map_err(|e| Error::unencodable(Compressor::Snappy.name(), e.to_string()))?;
    dst.truncate(start + n);
    Ok(())
}
