//! Zstandard: any sequence of data and skippable frames, with or without content size, checksum and dictionary.

use std::cell::RefCell;
use std::io::Cursor;
use std::thread::LocalKey;

use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DDict, ErrorCode, InBuffer, OutBuffer, ResetDirective, get_error_name,
};

use super::{Compressor, frame, length_error};
use crate::{Error, Result, Within};

/// The default level of the zstd library.
pub const DEFAULT_LEVEL: i32 = 3;

const WHAT: &str = "zstd data";

/// A context of the library that a thread keeps; `None` until it is first used.
type Kept<C> = RefCell<Option<C>>;

thread_local! {
    // A context costs a hundred kilobytes, and creating one takes longer than decoding a small page: keep one
    // per thread.
    static DECODER: Kept<DCtx<'static>> = const { RefCell::new(None) };
    // Of its own, because it holds a window and may stop inside a frame.
    static FRONT_DECODER: Kept<DCtx<'static>> = const { RefCell::new(None) };
    static ENCODER: Kept<CCtx<'static>> = const { RefCell::new(None) };
    static CHECKED_ENCODER: Kept<CCtx<'static>> = const { RefCell::new(None) };
}

/// Uses the context of this thread, which is created first if there is none.
fn kept<C, T>(
    context: &'static LocalKey<Kept<C>>,
    create: fn() -> Result<C>,
    work: impl FnOnce(&mut C) -> Result<T>,
) -> Result<T> {
    context.with_borrow_mut(|context| match context {
        Some(context) => work(context),
        none => work(none.insert(create()?)),
    })
}

fn decoder() -> Result<DCtx<'static>> {
    DCtx::try_create().ok_or(OUT_OF_MEMORY)
}

fn encoder() -> Result<CCtx<'static>> {
    CCtx::try_create().ok_or(OUT_OF_MEMORY)
}

const OUT_OF_MEMORY: Error = Error::OutOfMemory { what: WHAT };

/// Whether an allocation of the library failed.
fn is_out_of_memory(code: ErrorCode) -> bool {
    code == (ZSTD_error_memory_allocation as usize).wrapping_neg()
}

fn damaged(code: ErrorCode) -> Error {
    if is_out_of_memory(code) { OUT_OF_MEMORY } else { Error::corrupt(WHAT, get_error_name(code)) }
}

fn refused(code: ErrorCode) -> Error {
    if is_out_of_memory(code) { OUT_OF_MEMORY } else { Error::unencodable(WHAT, get_error_name(code)) }
}

/// Decompresses all frames of `src` so that they fill `dst` exactly.
pub fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    kept(&DECODER, decoder, |decoder| fill(decoder, src, dst))
}

/// Whether the first frame of `src` ends with a checksum of its content.
pub fn has_checksum(src: &[u8]) -> bool {
    frame::has_checksum(src)
}

/// Decompresses the first bytes of `src`, as many as `dst` has. What follows them is not checked, and neither is the
/// checksum of their frame.
pub fn decompress_front_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    kept(&FRONT_DECODER, decoder, |decoder| {
        decoder.reset(ResetDirective::SessionOnly).map_err(damaged)?;
        let expected = dst.len();
        let (mut input, mut output) = (InBuffer::around(src), OutBuffer::around(dst));
        while output.pos() < expected {
            let before = (input.pos(), output.pos());
            decoder.decompress_stream(&mut output, &mut input).map_err(damaged)?;
            if before == (input.pos(), output.pos()) {
                return Err(length_error(Compressor::Zstd, expected, output.pos()));
            }
        }
        Ok(())
    })
}

/// Like [`decompress_into`], with a dictionary (raw content or trained).
pub fn decompress_with_dictionary(src: &[u8], dictionary: &[u8], dst: &mut [u8]) -> Result<()> {
    let mut decoder = decoder()?;
    decoder.load_dictionary(dictionary).map_err(damaged)?;
    fill(&mut decoder, src, dst)
}

fn fill(decoder: &mut DCtx<'_>, src: &[u8], dst: &mut [u8]) -> Result<()> {
    // One call decodes every frame when all of `dst` is filled; it also accepts frames without a content size.
    let expected = dst.len();
    match decoder.decompress(dst, src) {
        Ok(n) if n == expected => Ok(()),
        Ok(n) => Err(length_error(Compressor::Zstd, expected, n)),
        Err(code) => Err(damaged(code)),
    }
}

/// A raw-content dictionary: match history only, without entropy tables or an id.
///
/// Some encoders write a dictionary id into the frame although raw content has none. The library refuses such
/// a frame as a mismatch, so the id is removed before decoding and inserted after encoding.
pub struct RawDictionary {
    content: Vec<u8>,
    /// The prepared dictionary; `None` if the content starts like a trained dictionary and would be parsed as
    /// one.
    prepared: Option<DDict<'static>>,
}

impl std::fmt::Debug for RawDictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawDictionary({} bytes)", self.content.len())
    }
}

/// The first bytes of a trained dictionary.
const TRAINED: [u8; 4] = 0xEC30_A437_u32.to_le_bytes();

impl RawDictionary {
    /// Prepares `content`, which is never parsed as a trained dictionary.
    pub fn new(content: Vec<u8>) -> Self {
        let prepared = if content.starts_with(&TRAINED) { None } else { DDict::try_create(&content) };
        Self { content, prepared }
    }

    /// The bytes of the dictionary.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Decompresses the frames of `src`, regardless of the dictionary id they name, so that they fill `dst`
    /// exactly.
    pub fn decompress_into(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let anonymous = frame::without_dictionary_id(src);
        let expected = dst.len();
        let n = if let Some(prepared) = &self.prepared {
            kept(&DECODER, decoder, |decoder| {
                decoder.decompress_using_ddict(dst, &anonymous, prepared).map_err(damaged)
            })?
        } else {
            let mut decoder = decoder()?;
            decoder.ref_prefix(&self.content).map_err(damaged)?;
            decoder.decompress(dst, &anonymous).map_err(damaged)?
        };
        if n == expected { Ok(()) } else { Err(length_error(Compressor::Zstd, expected, n)) }
    }

    /// Appends one frame with a checksum that refers back into this dictionary and names it `id`.
    pub fn compress(&self, level: i32, id: u8, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let mut plain = Vec::new();
        let mut encoder = encoder()?;
        encoder.set_parameter(CParameter::CompressionLevel(level)).map_err(refused)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true)).map_err(refused)?;
        encoder.ref_prefix(&self.content).map_err(refused)?;
        one_frame(&mut encoder, src, &mut plain)?;
        frame::append_with_dictionary_id(&plain, id, dst);
        Ok(())
    }
}

/// Appends one frame with its content size and a checksum.
pub fn compress_with_checksum(level: i32, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    kept(&CHECKED_ENCODER, encoder, |encoder| {
        encoder.set_parameter(CParameter::CompressionLevel(level)).map_err(refused)?;
        encoder.set_parameter(CParameter::ChecksumFlag(true)).map_err(refused)?;
        one_frame(encoder, src, dst)
    })
}

fn one_frame(encoder: &mut CCtx<'_>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    append(src, dst, |space| encoder.compress2(space, src))
}

/// Appends what `compress` makes of `src`, without clearing the space for it first.
fn append(
    src: &[u8],
    dst: &mut Vec<u8>,
    compress: impl FnOnce(&mut Cursor<&mut Vec<u8>>) -> std::result::Result<usize, ErrorCode>,
) -> Result<()> {
    dst.reserve(zstd::zstd_safe::compress_bound(src.len()));
    let end = dst.len() as u64;
    let mut space = Cursor::new(dst);
    space.set_position(end);
    compress(&mut space).map(drop).map_err(refused)
}

/// Like [`decompress_into`], into a new buffer of `expected` bytes.
///
/// The frame headers are checked first: a size that the frames cannot decode to is refused before allocation.
pub fn decompress(src: &[u8], expected: usize) -> Result<Vec<u8>> {
    check_size(src, expected)?;
    let mut dst = vec![0; expected];
    decompress_into(src, &mut dst)?;
    Ok(dst)
}

/// Decompresses a prefix of one frame, on demand.
///
/// Bytes after that prefix are not checked, and neither is the frame's checksum.
pub struct Front<'a> {
    decoder: DCtx<'static>,
    src: &'a [u8],
    read: usize,
    out: Vec<u8>,
    filled: usize,
}

impl std::fmt::Debug for Front<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Front({} of {} bytes)", self.filled, self.out.len())
    }
}

impl<'a> Front<'a> {
    /// Starts with no decompressed bytes. All of `src` is expected to decode to `expected` bytes, checked as
    /// far as possible.
    pub fn try_new(src: &'a [u8], expected: usize) -> Result<Self> {
        check_size(src, expected)?;
        Ok(Self { decoder: decoder()?, src, read: 0, out: vec![0; expected], filled: 0 })
    }

    /// The bytes decompressed so far.
    pub fn bytes(&self) -> &[u8] {
        self.out.within(..self.filled)
    }

    /// Decompresses about `more` further bytes; returns false at the end.
    pub fn extend(&mut self, more: usize) -> Result<bool> {
        let end = self.filled.saturating_add(more).min(self.out.len());
        let start = self.filled;
        while self.filled < end && self.read < self.src.len() {
            let mut input = InBuffer::around(self.src.within(self.read..));
            let mut output = OutBuffer::around(self.out.within_mut(self.filled..end));
            self.decoder.decompress_stream(&mut output, &mut input).map_err(damaged)?;
            let (read, written) = (input.pos(), output.pos());
            if read == 0 && written == 0 {
                break;
            }
            self.read += read;
            self.filled += written;
        }
        Ok(self.filled > start)
    }
}

/// Refuses an `expected` size that the frames of `src` cannot decode to.
pub fn check_size(src: &[u8], expected: usize) -> Result<()> {
    // Small sizes cost less to allocate than to check.
    if expected <= 1 << 16 {
        return Ok(());
    }
    match frame::largest_content(src) {
        Some(bound) if (expected as u64) <= bound => Ok(()),
        Some(bound) => Err(Error::Length { what: WHAT, expected: expected as u64, found: bound }),
        None => Err(Error::corrupt(WHAT, "a frame is incomplete")),
    }
}

/// Appends one frame with its content size and no checksum.
pub fn compress(level: i32, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    kept(&ENCODER, encoder, |encoder| append(src, dst, |space| encoder.compress(space, src, level)))
}

/// Appends one frame in the form of a streaming encoder: no content size, no checksum.
pub fn compress_without_content_size(level: i32, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let mut encoder = encoder()?;
    encoder.set_parameter(CParameter::CompressionLevel(level)).map_err(refused)?;
    encoder.set_parameter(CParameter::ContentSizeFlag(false)).map_err(refused)?;
    let mut input = InBuffer::around(src);
    let mut space = vec![0; CCtx::out_size()];
    loop {
        let ending = input.pos() == src.len();
        let mut output = OutBuffer::around(space.as_mut_slice());
        let left = if ending {
            encoder.end_stream(&mut output).map_err(refused)?
        } else {
            encoder.compress_stream(&mut output, &mut input).map_err(refused)?
        };
        dst.extend_from_slice(output.as_slice());
        if ending && left == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_allocation_is_neither_damage_nor_a_bad_value() {
        let code = (ZSTD_error_memory_allocation as usize).wrapping_neg();
        assert_eq!(get_error_name(code), "Allocation error : not enough memory");
        for error in [damaged(code), refused(code)] {
            assert_eq!(error, OUT_OF_MEMORY);
            assert_eq!(error.to_string(), "not enough memory for zstd data");
        }
    }
}
