//! LZ4 blocks without frame or length.

use super::{Compressor, length_error};
use crate::{Error, Result, Within};

pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let n = lz4_flex::block::decompress_into(src, dst)
        .map_err(|e| Error::corrupt(Compressor::Lz4Block.name(), e.to_string()))?;
    if n == dst.len() { Ok(()) } else { Err(length_error(Compressor::Lz4Block, dst.len(), n)) }
}

pub(super) fn compress(src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let start = dst.len();
    dst.resize(start + lz4_flex::block::get_maximum_output_size(src.len()), 0);
    let space = dst.within_mut(start..);
    let n = lz4_flex::block::compress_into(src, space)
        .map_err(|e| Error::unencodable(Compressor::Lz4Block.name(), e.to_string()))?;
    dst.truncate(start + n);
    Ok(())
}
